"""Noisy sums of two parties as reports to each question, and the results of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from masquerade.aggregate.noise import SumNoise
from masquerade.errors import ParameterError
from masquerade.estimation import (
    Ahead,
    Crowd,
    Estimate,
    Figures,
    Plausibility,
    Quantile,
    Test,
    first_options,
    quantile,
    ratios,
    shown_shares,
)
from masquerade.estimation.figures import CONFIDENCE, check_confidence
from masquerade.estimation.reports import Worths
from masquerade.estimation.sums import SummedPeople, TickSums
from masquerade.exact.arrays import Floats
from masquerade.results.question_reports import AnswerReports, NumberReports, QuestionReports
from masquerade.results.rank_reports import RankReports
from masquerade.surveys.question_encoding import (
    QUARTERS,
    Counts,
    NoisySums,
    QuestionEncoding,
    Ranked,
    Total,
)
from masquerade.surveys.two_party_encoding import Encoding


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
        """Return the share of each option among respondents."""
        if self.states is None:
            return ()
        places = range(len(self.ticks.values))
        return tuple(self.share_figures(at).estimates(confidence)[0] for at in places)

    def answering(self) -> float:
        """Return the estimated share of respondents, by the block that counts them."""
        if self.states is None:
            return 1.0
        return min(max(float(self.states.values[0]) / self.people.count, 0.0), 1.0)

    def mean_figures(self) -> Figures | None:
        """Return nothing: ticks have no scores."""
        return None

    def share_figures(self, place: int) -> Figures:
        """Return the share of respondents that ticks one option."""
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
        return Worths.joined(parts)

    def tiled(self, times: int) -> _SummedPairs:
        """Return the pairs so many times, for a batch as much larger."""
        return replace(self, others=self.others * times)


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
        return NumberReports(Crowd.of([ends]), *scores, scores=scores)
    if isinstance(encoding, Ranked):
        return RankReports.of_sums(encoding, sums, states, people)
    if not isinstance(encoding, Counts):
        return SummedTicks(sums, states, people)
    crowd = Crowd.of([people.sums(sums.values, sums.variance)])
    scores_of = encoding.scores
    low, high = (0.0, 1.0)
    if encoding.ends is not None:
        low, high = encoding.ends[0][0], encoding.ends[-1][1]
    elif scores_of is not None:
        low, high = min(scores_of), max(scores_of)
    reported = np.asarray(sums.values, dtype=np.float64) / people.count
    return AnswerReports(crowd, reported, encoding.answers, scores_of, low, high)


@dataclass(frozen=True, slots=True)
class QuestionSums:
    """A question's result from noisy sums.

    Attributes
    ----------
    question : str
        Its id; of a cross table, both with " x " between.
    symbols : tuple of str
        What could be sent, in order; empty where only a sum was asked for.
    shares : tuple of Estimate
        Of each symbol among all responses.
    answered : tuple of Estimate
        Of each label among those who answered; the same where everybody had to.
    mean : Estimate or None
        Of a rating or a number, among those who answered. Where several numbers share a bin, each
        counts as the bin's middle.
    quartiles : tuple of Quantile or None
        First quartile, median and third quartile of a rating or a number, among those who answered.

    Examples
    --------
    >>> from masquerade.aggregate import SumNoise
    >>> from masquerade.surveys import Choice, Encoding
    >>> encoding = Encoding((Choice("ill", "Have you worked while ill?", ("Yes", "No")),))
    >>> noise = SumNoise.of_rho(encoding.blocks, "0.5")
    >>> found = estimate_sums(encoding, [[60, 40]], noise=noise, people=100)[0]
    >>> found.symbols, [share.value for share in found.shares]
    (('Yes', 'No'), [0.6, 0.4])
    """

    question: str
    symbols: tuple[str, ...]
    shares: tuple[Estimate, ...]
    answered: tuple[Estimate, ...]
    mean: Estimate | None
    quartiles: tuple[Quantile, ...] | None = None


def question_reports(
    encoding: Encoding,
    question: str,
    sums: Sequence[Sequence[int]],
    *,
    noise: SumNoise,
    people: SummedPeople,
) -> QuestionReports:
    """Return the sums of one question of a survey, from those of all its blocks."""
    noisy = [
        NoisySums(block, float(noise.published_variance(place))) for place, block in enumerate(sums)
    ]
    states = dict(zip(encoding.states, noisy[encoding.states_from :], strict=True))
    own = noisy[encoding.place(question)]
    return summed_reports(encoding.of(question), own, states.get(question), people)


def table_crowd(
    encoding: Encoding,
    place: int,
    sums: Sequence[Sequence[int]],
    *,
    noise: SumNoise,
    people: SummedPeople,
) -> tuple[Crowd, tuple[str, ...]]:
    """Return the people of a cross table that was counted as such, and the labels of its cells."""
    block = encoding.tables_from + place
    crowd = Crowd.of([people.sums(sums[block], float(noise.published_variance(block)))])
    return crowd, encoding.cells(encoding.cross[place])


def quartiles_of(
    encoding: QuestionEncoding, reports: QuestionReports, confidence: float = CONFIDENCE
) -> tuple[Quantile, ...] | None:
    """Return the quartiles of a rating or a number, among respondents."""
    ends = encoding.ends if isinstance(encoding, Counts) else None
    if ends is None:
        return None
    return tuple(
        quantile(reports.crowd, ends, float(share), confidence=confidence) for share in QUARTERS
    )


def estimate_sums(
    encoding: Encoding,
    sums: Sequence[Sequence[int]],
    *,
    noise: SumNoise,
    people: int,
    population: int | None = None,
    confidence: float = CONFIDENCE,
) -> list[QuestionSums]:
    """Return the results of all questions of a survey between two parties, then of its tables.

    Parameters
    ----------
    encoding : Encoding
    sums : sequence
        What `Prio3.unshard` returns, with noise.
    noise : SumNoise
        Of one party; both have added it.
    people : int
        Responses added up, at least 1.
    population : int, optional
        How many people could have answered, where the result is about them alone: sampling errors
        are then smaller, and 0 if all answered.
    confidence : float
        Of each interval.

    Raises
    ------
    ParameterError
        The noise is for other blocks, nobody answered, or more people answered than there are.
    """
    if noise.blocks != encoding.blocks:
        raise ParameterError("the noise is for other blocks; expected this encoding's.")
    if people < 1:
        raise ParameterError(f"people is {people}, expected at least 1.")
    if population is not None and population < people:
        raise ParameterError(
            f"population is {population}, expected at least the {people} who answered."
        )
    check_confidence(confidence)
    counted, found = SummedPeople(people, population), []
    for name, part in encoding.parts.items():
        reports = question_reports(encoding, name, sums, noise=noise, people=counted)
        shares = reports.shares(confidence)
        mean = reports.mean_figures()
        found.append(
            QuestionSums(
                name,
                part.symbols,
                shares,
                reports.answered(confidence) or shares,
                None if mean is None else mean.estimates(confidence)[0],
                quartiles_of(part, reports, confidence),
            )
        )
    for place, pair in enumerate(encoding.cross):
        crowd, cells = table_crowd(encoding, place, sums, noise=noise, people=counted)
        shares = shown_shares(crowd.shares().estimates(confidence))
        found.append(QuestionSums(" x ".join(pair), cells, shares, shares, None))
    return found
