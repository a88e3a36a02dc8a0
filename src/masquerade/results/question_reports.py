"""The reports to one question as its figures need them, for every kind and trust."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from masquerade.estimation import (
    ALIKE,
    OWN,
    WITHIN,
    Ahead,
    Counts,
    Crowd,
    Estimate,
    Figures,
    Levelled,
    Numbers,
    Plausibility,
    Reports,
    Subsets,
    Table,
    Test,
    first_options,
    levels_alike,
    number_plausibility,
    ratios,
    share_plausibility,
    shown_shares,
)
from masquerade.estimation.figures import CONFIDENCE
from masquerade.estimation.reports import LinearReports, Worths
from masquerade.estimation.weights import RowWeights
from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import BitwiseResponse, CategoricalMechanism
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Orders, Scale, Sets
from masquerade.mechanisms.lattice import Lattice
from masquerade.results.reports import SentReports
from masquerade.surveys import Question
from masquerade.surveys.survey import EB, IVW, LEVEL_RULES, RESPONDENT

#: How far a level's own figure may be from everybody's, in widths of the range, by estimator.
BOUNDS = {EB: WITHIN, RESPONDENT: OWN, IVW: ALIKE}
BOUNDS |= {LEVEL_RULES[code]: bound for code, bound in BOUNDS.items()}

#: The reports to a question at each level.
Sent = Mapping[str, SentReports]


class QuestionReports(Protocol):
    """The reports to a question, from which its figures follow.

    Attributes
    ----------
    crowd : Crowd
        Of the people by the answer that they gave, where it is one; else by their first option.
    """

    @property
    def crowd(self) -> Crowd:
        """The people, for their number and levels."""
        ...

    @property
    def plausibility(self) -> Plausibility | None:
        """Whether honest devices send such reports; None of sums, as their proofs were checked."""
        ...

    @property
    def reported(self) -> list[float]:
        """Share of the reports with each option, masks and all."""
        ...

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of people behind each option; none for numbers."""
        ...

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of each option among respondents, where an answer is optional."""
        ...

    def answering(self) -> float:
        """Return the estimated share of respondents."""
        ...

    def mean_figures(self) -> Figures | None:
        """Return the mean, among respondents, where answers have scores."""
        ...

    def share_figures(self, place: int) -> Figures:
        """Return the share of one option among respondents."""
        ...

    def ahead(self) -> Ahead | None:
        """Return which option is ahead, or may be; None where options are no rivals."""
        ...

    def levels_alike(self) -> Test:
        """Test whether levels have the same figures."""
        ...

    def at_level(self, place: int) -> QuestionReports:
        """Return the reports of one level by themselves."""
        ...


@dataclass(frozen=True, eq=False)
class AnswerReports:
    """Reports to a question with one answer each: counts of each level, or of two parties.

    Attributes
    ----------
    crowd : Crowd
    reported_share : float array
    answers : int
        Number of answers; symbols after them are of those who did not answer.
    scores : tuple of float or None
        Of the answers, of the first ones where others have none.
    low, high : float
        Ends of their range.
    plausibility : Plausibility or None
        Of masked reports.
    """

    crowd: Crowd
    reported_share: Floats
    answers: int
    scores: tuple[float, ...] | None
    low: float = 0.0
    high: float = 1.0
    plausibility: Plausibility | None = None

    @property
    def reported(self) -> list[float]:
        """Share of the reports with each option, masks and all."""
        share: list[float] = self.reported_share.tolist()
        return share

    @cached_property
    def _shares(self) -> Figures:
        return self.crowd.shares()

    @property
    def _whole(self) -> Floats:
        return (np.arange(self.crowd.symbols) < self.answers).astype(np.float64)

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of people behind each option."""
        return shown_shares(self._shares.estimates(confidence))

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of each option among respondents."""
        if self.answers == self.crowd.symbols:
            return ()
        part = np.eye(self.crowd.symbols)[: self.answers]
        found = ratios(self.crowd, part, self._whole).estimates(confidence)
        return shown_shares(found) if np.isfinite([one.value for one in found]).all() else found

    def answering(self) -> float:
        """Return the estimated share of respondents."""
        return 1 - math.fsum(one.value for one in self.shares()[self.answers :])

    def mean_figures(self) -> Figures | None:
        """Return the mean of those whose answer has a score."""
        if self.scores is None:
            return None
        scored = len(self.scores)
        score = np.zeros(self.crowd.symbols)
        score[:scored] = self.scores
        if scored == self.crowd.symbols:
            return self.crowd.mean(score.tolist())
        whole = (np.arange(self.crowd.symbols) < scored).astype(np.float64)
        return ratios(self.crowd, [score], whole, low=self.low, high=self.high)

    def share_figures(self, place: int) -> Figures:
        """Return the share of one option among respondents."""
        unit = np.eye(self.crowd.symbols)[[place]]
        if self.answers == self.crowd.symbols or place >= self.answers:
            return self.crowd.figures(unit)
        return ratios(self.crowd, unit, self._whole)

    def ahead(self) -> Ahead | None:
        """Return which option is ahead, or may be; ratings are read by their mean."""
        if self.scores is not None:
            return None
        unit = np.eye(self.crowd.symbols)

        def pairs(first: int, others: Sequence[int]) -> Figures:
            return self.crowd.figures(unit[first] - unit[list(others)])

        return first_options(self._shares.value[: self.answers], pairs, n=self.crowd.n)

    def levels_alike(self) -> Test:
        """Test whether levels have the same shares."""
        return levels_alike(self.crowd)

    def at_level(self, place: int) -> AnswerReports:
        """Return the reports of one level by themselves."""
        group = self.crowd.groups[place]
        seen = group.count if isinstance(group, Counts) else _of_subsets(group)
        reported = seen / max(group.n, 1)
        crowd = Crowd.of([group])
        return AnswerReports(crowd, reported, self.answers, self.scores, self.low, self.high)


@dataclass(frozen=True, eq=False)
class TickReports:
    """Reports to a question with several answers; their bits are masked independently.

    Attributes
    ----------
    bits : tuple of int array, shape (n_distinct, n_options)
        For each level; "no answer" is the last bit where there is one.
    people : tuple of int array, shape (n_distinct,)
        For each level, how many people sent these bits.
    masks : tuple of BitwiseResponse
    options : int
        Number of options.
    pool : tuple of float or None
    bound : float
    """

    bits: tuple[Integers, ...]
    people: tuple[Integers, ...]
    masks: tuple[BitwiseResponse, ...]
    options: int
    pool: tuple[float, ...] | None
    bound: float
    plausibility: Plausibility | None = None
    weights: tuple[RowWeights, ...] = ()

    @cached_property
    def _crowds(self) -> tuple[Crowd, ...]:
        return tuple(self._crowd(bit) for bit in range(self.bits[0].shape[1]))

    @cached_property
    def _shares(self) -> tuple[Figures, ...]:
        return tuple(crowd.shares() for crowd in self._crowds)

    def _crowd(self, bit: int) -> Crowd:
        groups = []
        for level, (rows, mask) in enumerate(zip(self.bits, self.masks, strict=True)):
            own, people = rows[:, bit], self._people(level)
            plain = Counts.of([people.sum() - people @ own, people @ own], mask.bit)
            groups.append(self._weighed(level, plain, own))
        return Crowd.of(groups, pool=self.pool, bound=self.bound)

    def _pair(self, first: int, second: int) -> Crowd:
        groups = [self._table(level, (first, second)) for level in range(len(self.masks))]
        return Crowd.of(groups, pool=self.pool, bound=self.bound)

    def _table(self, level: int, pair: tuple[int, int]) -> Reports:
        """Return how many people at a level report each pair of two bits."""
        first, second = (self.bits[level][:, bit] for bit in pair)
        cell, bit = 2 * first + second, self.masks[level].bit
        count = _counts(cell, self._people(level), 4).reshape(2, 2)
        return self._weighed(level, Table.of(count, bit, bit), cell)

    def _people(self, level: int) -> Integers | Floats:
        return self.weights[level].people if self.weights else self.people[level]

    def _weighed(self, level: int, plain: Reports, place: Integers) -> Reports:
        return self.weights[level].weigh(plain, place) if self.weights else plain

    @property
    def crowd(self) -> Crowd:
        """The people by their first option."""
        return self._crowds[0]

    @property
    def reported(self) -> list[float]:
        """Share of the reports in which each option is ticked."""
        everybody, people = np.concatenate(self.bits), np.concatenate(self.people)
        share: list[float] = (people @ everybody / max(people.sum(), 1)).tolist()
        return share

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of people who tick each option."""
        return tuple(figures.estimates(confidence)[1] for figures in self._shares)

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return the share of respondents that ticks each option."""
        if self.options == len(self._crowds):
            return ()
        return tuple(
            self.share_figures(place).estimates(confidence)[0] for place in range(self.options)
        )

    def answering(self) -> float:
        """Return the estimated share of respondents."""
        return 1 - math.fsum(one.value for one in self.shares()[self.options :])

    def mean_figures(self) -> Figures | None:
        """Return nothing: ticks have no scores."""
        return None

    def share_figures(self, place: int) -> Figures:
        """Return the share of respondents that ticks one option."""
        if self.options == len(self._crowds) or place >= self.options:
            return self._crowds[place].figures([[0.0, 1.0]])
        # cells: neither, "no answer", ticked, both, which cannot be
        pair = self._pair(place, self.options)
        return ratios(pair, [[0.0, 0.0, 1.0, 0.0]], [1.0, 0.0, 1.0, 0.0])

    def ahead(self) -> Ahead | None:
        """Return which option most people tick, or which may be."""
        values = [float(figures.value[1]) for figures in self._shares[: self.options]]
        return first_options(values, self._pairs, n=self.crowd.n)

    def _pairs(self, first: int, others: Sequence[int]) -> Figures:
        groups = [
            TickPairs(tuple(self._table(level, (first, other)) for other in others))
            for level in range(len(self.masks))
        ]
        crowd = Crowd.of(groups, pool=self.pool, bound=self.bound)
        return crowd.figures(np.tile([1.0, -1.0, 0.0], (len(others), 1)))

    def levels_alike(self) -> Test:
        """Test whether levels tick alike, by the most telling option (Bonferroni)."""
        tests = [levels_alike(crowd) for crowd in self._crowds]
        telling = min(tests, key=lambda test: test.probability)
        probability = min(1.0, telling.probability * len(tests))
        return Test(telling.statistic, telling.degrees, probability)

    def at_level(self, place: int) -> TickReports:
        """Return the reports of one level by themselves."""
        one = slice(place, place + 1)
        here = (self.bits[one], self.people[one], self.masks[one])
        return TickReports(*here, self.options, None, self.bound)


@dataclass(frozen=True, eq=False)
class TickPairs:
    """The ticks of one option against those of others at one level, each pair a figure."""

    tables: tuple[Reports, ...]

    @property
    def n(self) -> float:
        """Number of people."""
        return self.tables[0].n

    @property
    def symbols(self) -> int:
        """Only the first is ticked, only the other, or both or neither."""
        return 3

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of each pair."""
        # Cells of a table: neither, the other alone, the first alone, both.
        cells = scores[:, [2, 1, 0, 2]]
        parts = [table.worths(row[None, :]) for table, row in zip(self.tables, cells, strict=True)]
        return Worths.joined(parts)

    def tiled(self, times: int) -> TickPairs:
        """Return the pairs so many times, for a batch as much larger."""
        return TickPairs(self.tables * times)


@dataclass(frozen=True, eq=False)
class NumberReports:
    """Reports of numbers, with noise, as levels or as they are: a mean, and no options.

    `low`, `high`: ends of the range.
    """

    crowd: Crowd
    low: float
    high: float
    plausibility: Plausibility | None = None
    scores: tuple[float, ...] = (1.0,)  # of what the crowd counts: the numbers themselves

    @property
    def reported(self) -> list[float]:
        """No shares."""
        return []

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return nothing: numbers have no options."""
        return ()

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return nothing: numbers have no options."""
        return ()

    @property
    def _skipped(self) -> bool:
        # the sum of numbers, and who gave one
        return self.crowd.symbols > len(self.scores)

    def answering(self) -> float:
        """Return the estimated share of people with a number."""
        given = self.crowd.figures([[0.0, 1.0]]) if self._skipped else None
        return 1.0 if given is None else min(max(float(given.value[0]), 0.0), 1.0)

    def mean_figures(self) -> Figures | None:
        """Return the mean of people with a number."""
        if self._skipped:
            return ratios(self.crowd, [[1.0, 0.0]], [0.0, 1.0], low=self.low, high=self.high)
        return self.crowd.mean(self.scores)

    def share_figures(self, place: int) -> Figures:
        """Return nothing: numbers have no options."""
        raise IndexError(place)

    def ahead(self) -> Ahead | None:
        """Return nothing: numbers have no options."""
        return None

    def levels_alike(self) -> Test:
        """Test whether levels have the same mean, or sum and number of answers."""
        return levels_alike(self.crowd, np.eye(self.crowd.symbols))

    def at_level(self, place: int) -> NumberReports:
        """Return the reports of one level by themselves."""
        return NumberReports(Crowd.of([self.crowd.groups[place]]), self.low, self.high)


def question_reports(
    question: Question,
    sent: Sent,
    *,
    estimator: str,
    pool: Sequence[float] | None = None,
    weights: tuple[RowWeights, ...] = (),
) -> QuestionReports:
    """Return the reports to a question, one group a level; `EmptyTable` where there are none.

    Parameters
    ----------
    question : Question
    sent : mapping of str to SentReports
    estimator : str
        Of the survey; see `BOUNDS`.
    pool : sequence of float, optional
        People at each level, where that is known.
    weights : tuple of RowWeights
        Of each level, one for each of the reports in `sent`, which may stand several times. The
        test of reports is of people, and left out then.
    """
    bound, domains = BOUNDS[estimator], {type(one.mask.domain) for one in sent.values()}
    if Orders in domains:
        from masquerade.results.rank_reports import RankReports

        return RankReports.of(list(sent.values()), pool, bound, weights)
    if Sets in domains:
        return _ticks(question, sent, pool, bound, weights)
    if Scale in domains or not question.labels:
        return _numbers(question, sent, pool, bound, weights)
    groups: list[LinearReports] = []
    counted, reported = {}, np.zeros(0)
    for level, (name, one) in enumerate(sent.items()):
        subsets, rows = one.mask.as_subsets, weights[level] if weights else None
        if subsets is not None:
            plain = Subsets.of(one.code, one.people, subsets)
            seen, place = _of_subsets(plain), np.arange(len(one.code))
            if rows is not None:
                plain = Subsets.of(one.code, rows.people, subsets)
            groups.append(plain if rows is None else rows.weigh(plain, place))
        else:
            mask = _categories(one.mask)
            counts = _counts(one.code, one.people, mask.symbols)
            counted[name] = (counts.tolist(), mask)
            seen = counts.astype(np.float64)
            if rows is None:
                groups.append(Counts.of(counts, mask))
            else:
                spread = _counts(one.code, rows.people, mask.symbols)
                groups.append(rows.weigh(Counts.of(spread, mask), one.code))
        reported = seen + (reported if reported.size else 0)
    crowd = Crowd.of(groups, pool=pool, bound=bound)
    reported = reported / max(crowd.n, 1)
    scores = None if question.scores is None else tuple(map(float, question.scores))
    low, high = (0.0, 1.0) if scores is None else (min(scores), max(scores))
    answers = len(question.labels)
    plausible = None if weights else share_plausibility(counted)
    return AnswerReports(crowd, np.asarray(reported), answers, scores, low, high, plausible)


def _of_subsets(group: LinearReports) -> Floats:
    """Return how many reports hold each symbol, a report of several counting as a part each."""
    assert isinstance(group, Subsets)
    seen: Floats = group.count @ group.held / group.size
    return seen


def _ticks(
    question: Question,
    sent: Sent,
    pool: Sequence[float] | None,
    bound: float,
    weights: tuple[RowWeights, ...],
) -> TickReports:
    bits, masks = [], []
    for one in sent.values():
        several = one.mask.as_sets
        assert several is not None
        bits.append(one.code[:, None] >> np.arange(several.bits) & 1)
        masks.append(several)
    tests = []
    for bit in range(bits[0].shape[1]):
        counted = {}
        for (name, one), rows, mask in zip(sent.items(), bits, masks, strict=True):
            ticked = int(one.people @ rows[:, bit])
            counted[name] = ([one.n - ticked, ticked], mask.bit)
        test = share_plausibility(counted)
        tests.append((test.probability, test.reason))
    sizes = None if pool is None else tuple(pool)
    options, plausible = len(question.labels), None if weights else Plausibility.of(tests)
    people = tuple(one.people for one in sent.values())
    return TickReports(tuple(bits), people, tuple(masks), options, sizes, bound, plausible, weights)


def _numbers(
    question: Question,
    sent: Sent,
    pool: Sequence[float] | None,
    bound: float,
    weights: tuple[RowWeights, ...],
) -> NumberReports:
    lattice = question.lattice
    assert lattice is not None
    low, high = float(lattice.low), float(lattice.high)
    groups: list[LinearReports] = []
    masks, counted = {}, {}
    for level, (name, one) in enumerate(sent.items()):
        values, response = levels_of(one.mask, lattice)
        own = weights[level] if weights else None
        if response is not None:
            people = one.people if own is None else own.people
            count = _counts(one.code, people, response.symbols)
            levelled = Levelled.of(Counts.of(count, response), values)
            groups.append(levelled if own is None else own.weigh(levelled, one.code))
            counted[name] = (count.tolist(), response)
            continue
        if own is not None:
            value = low + float(lattice.step) * one.code
            noise = one.mask.as_gaussian
            plain = Numbers.of(value, low, high, noise, people=own.people)
            groups.append(own.weigh(plain, np.arange(len(value))))
            continue
        rows = one.each
        value = low + float(lattice.step) * rows
        groups.append(Numbers.of(value, low, high, one.mask.as_gaussian))
        masks[name] = (rows, one.mask)
    crowd = Crowd.of(groups, pool=pool, bound=bound)
    if weights:
        return NumberReports(crowd, low, high)
    plausible = number_plausibility(masks) if masks else share_plausibility(counted)
    return NumberReports(crowd, low, high, plausible)


def levels_of(
    mask: DeviceMechanism, lattice: Lattice
) -> tuple[Floats, CategoricalMechanism | None]:
    """Return the number of each level that a mask reports, and the mechanism of the level.

    Without one where reports are numbers themselves: with noise, or in clear without "no answer".
    """
    numbers, labels = mask.as_numbers, mask.label_response
    if numbers is not None and numbers.level_values is not None:
        return numbers.level_values, numbers.level_response
    # More labels than numbers are "no answer", or answers beside the scale.
    if labels is not None and labels.symbols > lattice.points:
        return lattice.values(np.arange(lattice.points)), labels
    return np.empty(0), None


def _counts(code: Integers, people: Integers | Floats, symbols: int) -> Integers | Floats:
    # exact of whole people: sums of floats are, below 2**53 people
    total = np.bincount(code, weights=people, minlength=symbols)
    return total if people.dtype.kind == "f" else total.astype(np.int64)


def _categories(mask: DeviceMechanism) -> CategoricalMechanism:
    response = mask.label_response
    assert response is not None
    return response
