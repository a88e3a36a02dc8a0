"""Surveyors: accounts, teams, roles, and how they show who they are."""
