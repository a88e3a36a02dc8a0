"""Surveyors: their accounts and teams, and who may do what."""

from masquerade.server.team.guard import Actor, Guard

__all__ = ["Actor", "Guard"]
