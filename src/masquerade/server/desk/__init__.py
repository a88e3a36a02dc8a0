"""The desk: money, completion codes, messages to other programs, and who did what."""
