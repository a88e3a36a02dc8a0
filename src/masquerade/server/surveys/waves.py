"""Waves of a survey: how many people each asked for, how many were expected, how many came.

Of who came only the sum is counted, and of what they reported nothing is looked at.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from masquerade.server.db.tables import SELECTION_RUN

#: As many as a selection plans.
MOST_WAVES = 5


def runs_of(connection: Connection, token: str) -> list[dict[str, Any]]:
    """Return the selection runs of a survey, the first one first."""
    rows = connection.execute(select(SELECTION_RUN).where(SELECTION_RUN.c.survey == token))
    found = [{"id": row.id, "day": row.day, **row.run} for row in rows]
    # The number comes first; runs from before there were numbers stand at the beginning.
    return sorted(found, key=lambda run: (run.get("number", 0), run["id"]))


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
            # Responses can be withdrawn after a wave began.
            "came": max(0, end - start),
            "over": place + 1 < len(taken),
        }
        for place, (run, start, end) in enumerate(zip(taken, starts, ends, strict=True))
    ]


def finished(runs: list[dict[str, Any]], *, responses: int) -> int | None:
    """Return the last wave that was taken, once as many have come as it expected; else None."""
    taken = timeline(runs, responses=responses)
    if not taken or taken[-1]["came"] < taken[-1]["expected"]:
        return None
    return int(taken[-1]["wave"])


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
