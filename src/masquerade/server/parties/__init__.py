"""Surveys between two parties: the leader's role, which this server has, and the helper's."""
