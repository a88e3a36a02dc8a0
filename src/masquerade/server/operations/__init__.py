"""Keeping a server alive: run, backup, restore, checks, daily jobs, and several processes."""
