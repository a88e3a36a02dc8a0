"""Surveys on the server: drafts, lifecycle, forecasts, waves, quotas and invitations."""
