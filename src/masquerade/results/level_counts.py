"""How many people chose each level, as far as that is told."""

from __future__ import annotations

from collections.abc import Mapping

FEWEST_SHOWN = 5
"""People at a level below which that level is not shown by itself."""


def shown_counts(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return how many people chose each level; None where that is not told.

    A level that some, but fewer than five, people chose is not counted apart, and where all other
    counts and the total would tell it, neither is the smallest other level. What is not counted
    apart is told as a sum only: the total less the counts that are told.

    Examples
    --------
    >>> shown_counts({"high": 3, "medium": 40, "low": 90})
    {'high': None, 'medium': None, 'low': 90}
    >>> shown_counts({"high": 0, "medium": 40})
    {'high': 0, 'medium': 40}
    """
    hidden = {name for name, count in counts.items() if 0 < count < FEWEST_SHOWN}
    # The smallest that anybody chose first; levels that nobody chose only where nothing else is.
    others = sorted(counts, key=lambda name: (counts[name] == 0, counts[name]))
    others = [name for name in others if name not in hidden]
    while (
        hidden
        and others
        and (len(hidden) < 2 or sum(counts[name] for name in hidden) < FEWEST_SHOWN)
    ):
        hidden.add(others.pop(0))
    if len(counts) == 1:  # the level is fixed, so its count is the total
        hidden = set()
    return {name: None if name in hidden else count for name, count in counts.items()}
