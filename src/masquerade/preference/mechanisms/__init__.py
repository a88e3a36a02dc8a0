"""Mechanisms: each in a module of its own, which the registry finds."""
