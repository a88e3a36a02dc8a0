"""Every address of the server, and nothing else: requests in, services called, responses out."""
