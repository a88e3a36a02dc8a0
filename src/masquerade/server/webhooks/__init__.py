"""Webhooks: events for other programs, signed, sent again until they arrive."""
