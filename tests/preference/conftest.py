"""Every registered mechanism keeps the promises, those that were published on the shelf too."""

import masquerade_papers.preferences  # noqa: F401
