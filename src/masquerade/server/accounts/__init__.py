"""Surveyors: accounts, teams, roles, and the ways to sign in."""
