"""Participants: their participations, profile and privacy balance."""
