"""Keeping a server alive: backup, restore, checks, metrics, logs, and more than one process."""
