"""The choice of pairs of a list that a person is shown, by plans from masked reports so far."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from masquerade.server.results.cache import StoredReports
from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.surveys.pair_votes import Drawing, lists_of

if TYPE_CHECKING:
    from masquerade.results.leaderboard import NextVotes

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


#: Responses before the first plan; until then all pairs are drawn at random.
FEWEST = 30
#: A plan is made anew when there are so many times the responses that it was made of.
GROWTH = 1.25
#: Pairs of a plan, and how many of the best are to be told from the others.
BATCH, TOP = 200, 3


class PairPlans:
    """Plans by survey, in the memory of one process.

    A plan follows from masked reports and public numbers alone, so whoever is shown its pairs
    learns no answer of anybody that the reports do not tell.
    """

    def __init__(self, reports: StoredReports) -> None:
        self._reports = reports
        self._lock = threading.Lock()
        self._plans: dict[str, NextVotes] = {}
        self._due: dict[str, float] = {}
        self._arrived: dict[str, int] = {}

    def plan(self, survey: str) -> Sequence[tuple[int, int]]:
        """Return the pairs to ask about next; none until there are enough responses."""
        found = self._plans.get(survey)
        return () if found is None else found.pairs

    def decided(self, survey: str) -> int | None:
        """Return of how many best items it is decided which they are; None before it is."""
        found = self._plans.get(survey)
        return found.top if found is not None and found.decided else None

    def concern(self, survey: FrozenSurvey) -> bool:
        """Return whether there are plans for a survey."""
        return survey.survey.two_parties is None and bool(lists_of(survey.survey.questions))

    def arrived(self, survey: FrozenSurvey) -> None:
        """Count a response to a survey with lists, and make the plan anew where it is due."""
        token = survey.token
        with self._lock:
            self._arrived[token] = self._arrived.get(token, 0) + 1
            due = self._arrived[token] >= self._due.get(token, FEWEST)
            if due:
                # Set before the work, so that one request does it.
                self._due[token] = max(FEWEST, self._arrived[token] * GROWTH)
        if due:
            plan, responses = self._made(survey)
            with self._lock:
                if plan is not None:
                    self._plans[token] = plan
                # Also of responses that came before this process began.
                self._arrived[token] = max(responses, self._arrived[token])
                self._due[token] = max(FEWEST, self._arrived[token] * GROWTH)

    def _made(self, survey: FrozenSurvey) -> tuple[NextVotes | None, int]:
        from masquerade.results import Codebook
        from masquerade.results.leaderboard import next_votes

        reports = self._reports.counted(Codebook(survey.token, survey.survey, survey.hash))
        if len(reports) < FEWEST:
            return None, len(reports)
        # Looks by all processes come at about the same numbers of responses.
        look = 1 + math.floor(math.log(len(reports) / FEWEST, GROWTH))
        return next_votes(reports, batch=BATCH, top=TOP, look=look), len(reports)
