"""The choice of pairs of a list that a person is shown, before they answer anything."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TypeVar

from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.surveys.pair_votes import Drawing

#: Pairs to ask about next, by survey; none where nothing is known yet.
Plans = Callable[[str], Sequence[tuple[int, int]]]

#: One pair in so many is drawn at random, so that the other items are learnt too.
ONE_AT_RANDOM = 5
_Entry = TypeVar("_Entry")


class PairChoice:
    """Draws the pairs of a person: of the plan for the survey, and some of all pairs.

    `plans`: gives pairs to ask about next. They may depend on masked reports of others, and on
    nothing else.

    Privacy
    -------
    The pairs depend on no answer of the person who is shown them, and on those of others by way of
    masked reports alone. So they may be known to everybody.
    """

    def __init__(self, plans: Plans = lambda _: ()) -> None:
        self._plans = plans

    def drawing(self, survey: FrozenSurvey) -> Drawing:
        """Return the function that draws pairs of a survey's lists."""
        plan = self._plans(survey.token)

        def draw(items: int, votes: int) -> list[tuple[int, int]]:
            wanted = [pair for pair in plan if max(pair) < items]
            found: list[tuple[int, int]] = []
            seen: set[frozenset[int]] = set()
            while len(found) < votes:
                planned = wanted and secrets.randbelow(ONE_AT_RANDOM)
                pair = _taken(wanted) if planned else _any_pair(items)
                # Each pair once a person, so that no answer of theirs is masked twice.
                if frozenset(pair) not in seen:
                    seen.add(frozenset(pair))
                    found.append(pair if secrets.randbelow(2) else (pair[1], pair[0]))
            return found

        return draw


def _any_pair(items: int) -> tuple[int, int]:
    first, second = secrets.randbelow(items), secrets.randbelow(items - 1)
    return first, second + (second >= first)


def _taken(entries: list[_Entry]) -> _Entry:
    """Take an entry out of a list, at random."""
    return entries.pop(secrets.randbelow(len(entries)))
