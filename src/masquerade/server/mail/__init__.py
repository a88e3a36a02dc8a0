"""Invitations by e-mail: a list of addresses, a message, a queue, and what came back."""
