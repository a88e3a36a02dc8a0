"""Noisy sums of two parties as reports to a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from masquerade.estimation import (
    Ahead,
    Crowd,
    Estimate,
    Figures,
    Plausibility,
    Test,
    first_options,
    ratios,
)
from masquerade.estimation.figures import CONFIDENCE
from masquerade.estimation.reports import Worths
from masquerade.estimation.sums import SummedPeople, TickSums
from masquerade.exact.arrays import Floats
from masquerade.results.question_reports import AnswerReports, NumberReports, QuestionReports
from masquerade.surveys.question_encoding import Counts, NoisySums, QuestionEncoding, Total


@dataclass(frozen=True, eq=False)
class SummedTicks:
    """Sums of a question with several answers.

    Attributes
    ----------
    ticks : NoisySums
        Of each option.
    states : NoisySums or None
        Of those who answered, then of each reason not to.
    people : SummedPeople
    """

    ticks: NoisySums
    states: NoisySums | None
    people: SummedPeople

    @cached_property
    def _crowds(self) -> tuple[Crowd, ...]:
        return tuple(Crowd.of([self._option(ticked)]) for ticked in self.ticks.values)

    def _option(self, ticked: float) -> TickSums:
        answered, noise = float(self.people.count), 0.0
        if self.states is not None:
            answered, noise = float(self.states.values[0]), self.states.variance
        return TickSums(float(ticked), answered, (self.ticks.variance, noise), self.people)

    @property
    def crowd(self) -> Crowd:
        """The people by their first option."""
        return self._crowds[0]

    @property
    def plausibility(self) -> Plausibility | None:
        """None: sums have no reports of single people."""
        return None

    @property
    def reported(self) -> list[float]:
        """Noisy counts by the number of people."""
        rest = [] if self.states is None else self.states.values[1:]
        return [one / max(self.people.count, 1) for one in (*self.ticks.values, *rest)]

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of people who tick each option, then of those who did not answer."""
        options = [crowd.figures([[1.0, 0.0, 0.0]]) for crowd in self._crowds]
        found = tuple(figures.estimates(confidence)[0] for figures in options)
        if self.states is None:
            return found
        said = Crowd.of([self.people.sums(self.states.values, self.states.variance)])
        return (*found, *said.shares().estimates(confidence)[1:])

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of each option among those who answered."""
        if self.states is None:
            return ()
        places = range(len(self.ticks.values))
        return tuple(self.share_figures(at).estimates(confidence)[0] for at in places)

    def mean_figures(self) -> Figures | None:
        """Return nothing: ticks have no scores."""
        return None

    def share_figures(self, place: int) -> Figures:
        """Return the share that ticks one option, of those who answered."""
        unit = [[1.0, 0.0, 0.0]]
        if self.states is None:
            return self._crowds[place].figures(unit)
        return ratios(self._crowds[place], unit, [1.0, 1.0, 0.0])

    def ahead(self) -> Ahead | None:
        """Return which option most people tick, or which may be."""
        return first_options(list(self.ticks.values), self._pairs, n=self.people.count)

    def _pairs(self, first: int, others: Sequence[int]) -> Figures:
        return Crowd.of([_SummedPairs(self.ticks, self.people, first, tuple(others))]).figures(
            np.tile([1.0, -1.0, 0.0], (len(others), 1))
        )

    def levels_alike(self) -> Test:
        """Return no test: there are no levels."""
        return Test(0.0, 0, 1.0)

    def at_level(self, place: int) -> QuestionReports:
        """Return all: there are no levels."""
        return self


@dataclass(frozen=True, eq=False)
class _SummedPairs:
    """One option against others, each figure a pair of its own.

    How many tick both is in no sum: as few as can be are taken, which makes differences widest.
    """

    ticks: NoisySums
    people: SummedPeople
    first: int
    others: tuple[int, ...]

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.people.count)

    @property
    def symbols(self) -> int:
        """The first alone, the other alone, both or neither."""
        return 3

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of each pair."""
        n, parts = self.people.count, []
        for row, other in zip(scores, self.others, strict=True):
            one, two = self.ticks.values[self.first], self.ticks.values[other]
            if one + two > n:
                one, two = n - two, n - one
            sums = self.people.sums([one, two, n - one - two], self.ticks.variance)
            parts.append(sums.worths(row[None, :]))
        return Worths(
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.worth for part in parts]),
            None,
            np.concatenate([part.noise for part in parts]),
            np.concatenate([part.shift for part in parts]),
            np.concatenate([part.people for part in parts]),
            np.concatenate([np.broadcast_to(part.half, part.shift.shape) for part in parts]),
        )

    def tiled(self, times: int) -> _SummedPairs:
        """Return the pairs so many times, for a batch as much larger."""
        return replace(self, others=self.others * times)

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        raise NotImplementedError


def summed_reports(
    encoding: QuestionEncoding, sums: NoisySums, states: NoisySums | None, people: SummedPeople
) -> QuestionReports:
    """Return the sums of a question as reports to it."""
    if isinstance(encoding, Total):
        # The mean of whole steps whose spread is not known: all at the two ends have the widest.
        largest = encoding.lattice.points - 1
        most = sums.values[0] / largest
        ends = people.sums([people.count - most, most], 2 * sums.variance / largest**2)
        scores = (float(encoding.lattice.low), float(encoding.lattice.high))
        return NumberReports(Crowd.of([ends]), scores=scores)
    if not isinstance(encoding, Counts):
        return SummedTicks(sums, states, people)
    crowd = Crowd.of([people.sums(sums.values, sums.variance)])
    scores_of = encoding.scores
    low, high = (0.0, 1.0)
    if encoding.ends is not None:
        low, high = encoding.ends[0][0], encoding.ends[-1][1]
    reported = np.asarray(sums.values, dtype=np.float64) / people.count
    return AnswerReports(crowd, reported, encoding.answers, scores_of, low, high)
