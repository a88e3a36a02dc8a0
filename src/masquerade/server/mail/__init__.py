"""Invitations by e-mail: a list of addresses, a message, a queue, and returned mail."""
