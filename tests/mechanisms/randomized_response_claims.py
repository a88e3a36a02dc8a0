"""Labels that tests of randomized response mask."""

from __future__ import annotations

from masquerade.answers import Claims


def yes_no_claims(n: int, *, null: bool = False) -> Claims:
    """Return n claims of one worker; with null, every third has no label."""
    labels = [("no", "yes", None if null else "no")[i % 3] for i in range(n)]
    return Claims.from_frame(
        {"task": [f"t{i}" for i in range(n)], "worker": ["w"] * n, "label": labels},
        options=["no", "yes"],
        null=null,
    )
