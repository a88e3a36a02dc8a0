"""The rule on small counts: how many people chose each level, shown where none are too few.

One rule for plans and results: two rules that hide different levels could be held against each
other. While people answer, only the total is shown, whatever the counts are: who looks after each
response would see in which order levels were chosen, and what was hidden by what was shown before.
"""

from __future__ import annotations

from collections.abc import Mapping

#: People at a level below which levels are not counted apart.
FEWEST_AT_LEVEL = 5

_COARSE = 10


def in_tens(count: int) -> int:
    """Return a count in whole tens, rounded down: what is told of people who come and go.

    Examples
    --------
    >>> in_tens(9), in_tens(10), in_tens(128)
    (0, 10, 120)
    """
    return count // _COARSE * _COARSE


def shown_counts(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return how many people chose each level; None for all where some, but too few, chose one.

    Then the total alone is known. Every order of the same counts is hidden with it, so that no
    count of a level follows (shown for every table of up to 60 people by enumeration). To hide the
    small ones and another is not enough: of 5, 4 and 4 people with 5 shown and a total of 13 only
    one table is possible.

    Examples
    --------
    >>> shown_counts({"high": 3, "medium": 40, "low": 90})
    {'high': None, 'medium': None, 'low': None}
    >>> shown_counts({"high": 0, "medium": 40})
    {'high': 0, 'medium': 40}
    """
    if len(counts) == 1:  # the level is fixed, so its count is the total
        return {**counts}
    few = any(0 < count < FEWEST_AT_LEVEL for count in counts.values())
    return {name: None if few else count for name, count in counts.items()}
