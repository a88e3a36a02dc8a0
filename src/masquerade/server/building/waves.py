"""Waves of a survey: how many people each asked for, how many were expected, how many came.

Of who came only the sum is counted, and of what they reported nothing is looked at.
"""

from __future__ import annotations

from typing import Any

MOST_WAVES = 5
"""As many as a selection plans."""


def timeline(runs: list[dict[str, Any]], *, responses: int) -> list[dict[str, Any]]:
    """Return the waves that were taken, in their order, and what came of each.

    Parameters
    ----------
    runs : list of dict
        Selection runs of a survey, in their order.
    responses : int
        How many people have answered so far.

    Returns
    -------
    list of dict
        Each is the run, with ``asked``: places that it opened; ``came_before``: how many had
        answered when it was taken; ``came``: how many since, until the next wave; ``over``:
        whether one follows.
    """
    taken = [run for run in runs if run["applied"] and run["wave"] is not None]
    starts = [run["responses"] for run in taken]
    ends = [*starts, responses][1:]
    return [
        {
            **run,
            "asked": sum(level["asked"] for level in run["levels"]),
            "came_before": start,
            "came": max(0, end - start),
            "over": place + 1 < len(taken),
        }
        for place, (run, start, end) in enumerate(zip(taken, starts, ends, strict=True))
    ]


def planned(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the last wave that was worked out, unless it, or one after it, was taken."""
    waves = [run for run in runs if run["wave"] is not None]
    if not waves or waves[-1]["applied"]:
        return None
    last = waves[-1]
    return {**last, "asked": sum(level["asked"] for level in last["levels"])}


def next_number(runs: list[dict[str, Any]]) -> int:
    """Return which wave comes next; above `MOST_WAVES` there is none."""
    return 1 + sum(1 for run in runs if run["applied"] and run["wave"] is not None)
