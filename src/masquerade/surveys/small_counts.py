"""The rule on small counts: how many people chose each level, shown where they are not too few.

One rule for the page of an open survey, its plans and its results: two rules that hide different
levels could be held against each other.
"""

from __future__ import annotations

from collections.abc import Mapping

#: People at a level below which that level is not shown by itself.
FEWEST_AT_LEVEL = 5


def shown_counts(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return how many people chose each level; None where that is hidden.

    A level that some, but fewer than five, people chose is hidden, and where all other counts and
    the total would give it away, so is the smallest other level. Of hidden levels only the sum is
    known: the total less the counts that are shown.

    Examples
    --------
    >>> shown_counts({"high": 3, "medium": 40, "low": 90})
    {'high': None, 'medium': None, 'low': 90}
    >>> shown_counts({"high": 0, "medium": 40})
    {'high': 0, 'medium': 40}
    """
    if len(counts) == 1:  # the level is fixed, so its count is the total
        return {**counts}
    hidden = {name for name, count in counts.items() if 0 < count < FEWEST_AT_LEVEL}
    # The smallest that anybody chose first; levels that nobody chose only where nothing else is.
    others = sorted(counts, key=lambda name: (counts[name] == 0, counts[name]))
    others = [name for name in others if name not in hidden]
    # One hidden count follows from the total; two of a small sum nearly do.
    while (
        hidden
        and others
        and (len(hidden) < 2 or sum(counts[name] for name in hidden) < FEWEST_AT_LEVEL)
    ):
        hidden.add(others.pop(0))
    return {name: None if name in hidden else count for name, count in counts.items()}
