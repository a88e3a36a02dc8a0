"""Plans of which pairs of a list to ask about next, from the masked reports so far."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from masquerade.server.results.cache import StoredReports
from masquerade.server.surveys.survey_records import FrozenSurvey
from masquerade.surveys.pair_votes import lists_of

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
        self._plans: dict[str, Sequence[tuple[int, int]]] = {}
        self._due: dict[str, float] = {}
        self._arrived: dict[str, int] = {}

    def plan(self, survey: str) -> Sequence[tuple[int, int]]:
        """Return the pairs to ask about next; none until there are enough responses."""
        return self._plans.get(survey, ())

    def arrived(self, survey: FrozenSurvey) -> None:
        """Count a response, and make the plan anew where it is due."""
        if survey.survey.two_parties is not None or not lists_of(survey.survey.questions):
            return
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
                self._plans[token] = plan
                # Also of responses that came before this process began.
                self._arrived[token] = max(responses, self._arrived[token])
                self._due[token] = max(FEWEST, self._arrived[token] * GROWTH)

    def _made(self, survey: FrozenSurvey) -> tuple[Sequence[tuple[int, int]], int]:
        import numpy as np

        from masquerade.preference.masked_votes import leaderboard_of_masked
        from masquerade.preference.next_pair import next_pairs
        from masquerade.results import Codebook, SurveyReports
        from masquerade.results.leaderboard import list_votes

        rows = self._reports.rows(survey.token)
        if not rows:
            return (), 0
        book = Codebook(survey.token, survey.survey, survey.hash)
        votes = list_votes(SurveyReports.from_rows(book, *zip(*rows, strict=True)))
        # With several lists in one survey the pairs of all are drawn at random.
        if len(votes) != 1 or len(rows) < FEWEST:
            return (), len(rows)
        board = leaderboard_of_masked(next(iter(votes.values())))
        place = {item: number for number, item in enumerate(board.items)}
        top = min(TOP, len(place) - 1)
        # The pairs are public, so any generator may draw the part that is random.
        pairs = next_pairs(board, np.random.default_rng(), batch=BATCH, top=top)
        return [(place[first], place[second]) for first, second in pairs], len(rows)
