"""Plans of which pairs of a list to ask about next, and whether to: from masked reports so far."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from masquerade.server.results.cache import StoredReports
from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.surveys.pair_votes import lists_of

if TYPE_CHECKING:
    from masquerade.results.leaderboard import NextVotes

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
