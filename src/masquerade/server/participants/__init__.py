"""Participants: their participations, profile, commitments and privacy balance."""
