"""Reports of people at one level, as the likelihood sees them: counts with unbiased worths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.estimation.bounded_reports import BoundedReport
from masquerade.estimation.sides import HALF
from masquerade.exact.arrays import Flags, Floats, on_simplex
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, SubsetSelection

_NOTHING_LEFT = 1e-7  # of a variance: the figure is known


@dataclass(frozen=True, slots=True, eq=False)
class Worths:
    """Counts of the reports of one group with their worths, for a batch of linear figures.

    Attributes
    ----------
    count, worth : float array, shape (n_figures, n_reports)
        The mean worth estimates the figure without bias.
    far : float array, shape (n_figures, 2), or None
        Worths of half a person at the low and the high end; None for those of the reports.
    noise, shift : float array, shape (n_figures,)
        Variance of noise on the figure itself, and what it came to.
    people : float array, shape (n_figures,)
        Variance of one person's figure, of what people differ by alone.
    half : float array, shape (n_figures,), or float
        How many people are added at the far end.
    ends : float array, shape (n_figures, 2), optional
        Least and largest possible values of each figure, where scores and `far` do not say them.
    clear : bool, or bool array, shape (n_figures,)
        Whether reports are the answers, so that all of the variance is of people.
    """

    count: Floats
    worth: Floats
    far: Floats | None
    noise: Floats
    shift: Floats
    people: Floats
    half: Floats | float = HALF
    ends: Floats | None = None
    clear: Flags | bool = False

    @classmethod
    def joined(cls, parts: Sequence[Worths]) -> Worths:
        """Return several batches of figures as one, of worths that say their ends themselves."""
        return cls(
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.worth for part in parts]),
            None,
            np.concatenate([part.noise for part in parts]),
            np.concatenate([part.shift for part in parts]),
            np.concatenate([part.people for part in parts]),
            np.concatenate([np.broadcast_to(part.half, part.shift.shape) for part in parts]),
            clear=np.concatenate([np.broadcast_to(part.clear, part.shift.shape) for part in parts]),
        )

    def of_population(self, left: Floats | float) -> Worths:
        """Return the worths where only a part of the variance is unknown.

        The reports weigh as many as would leave that part; so does the half person, for intervals
        of small populations are too short with an unscaled one (.80 of 1 in 20, 16 asked).
        """
        part = np.broadcast_to(left, self.shift.shape)
        some = np.maximum(part, _NOTHING_LEFT)
        half = np.where(part > _NOTHING_LEFT, self.half / some, 0.0)
        return replace(self, count=self.count / some[:, None], half=half)

    @property
    def mean(self) -> Floats:
        """The unbiased estimates; NaN without reports."""
        total = self.count.sum(axis=-1)
        safe = np.where(total > 0, total, np.nan)
        mean: Floats = (self.count * self.worth).sum(axis=-1) / safe + self.shift
        return mean


class LinearReports(Protocol):
    """Reports of one group of people, of which linear figures can be estimated.

    Attributes
    ----------
    n : float
        Number of people.
    symbols : int
        Number of possible answers ("no answer" and cells of a table are answers too).
    """

    @property
    def n(self) -> float:
        """Number of people."""
        ...

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        ...

    def worths(self, scores: Floats) -> Worths:
        """Return the worths for figures, given as rows of scores of each answer."""
        ...

    def tiled(self, times: int) -> LinearReports:
        """Return the reports for a batch of figures so many times as large."""
        ...


@runtime_checkable
class Reports(LinearReports, Protocol):
    """Reports of one group of people, of which the share of each answer can be estimated too."""

    def shares(self) -> Worths:
        """Return the worths for the share of each answer."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How many people sent each report to one question, through a symmetric mask.

    Attributes
    ----------
    count : float array, shape (n_symbols,)
    other, signal : float
        Of the mask: probability of each other symbol, and what the answer's own has more; 0 and 1
        where reports are the answers.
    unasked : float
        (N - n) / (N - 1) of a population of N; 1 where it is large.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> Counts.of([60, 40], RandomizedResponse(2, flip_probability=0.25)).shares().mean.tolist()
    [0.7, 0.3]
    """

    count: Floats
    other: float = 0.0
    signal: float = 1.0
    unasked: float = 1.0

    @classmethod
    def of(
        cls,
        counts: ArrayLike | Mapping[Any, int],
        mechanism: CategoricalMechanism | None = None,
        *,
        options: Sequence[Any] | None = None,
    ) -> Counts:
        """Return the counts of reports of a mechanism; of answers in clear without one.

        Counts with labels (a mapping, a Counter, a pandas Series) are read by their labels, which
        are codes or one of `options`.
        """
        counted = counts_by_label(counts, mechanism, options)
        count = np.asarray(counted, dtype=np.float64)
        if mechanism is None:
            return cls(count)
        if count.shape != (mechanism.symbols,) or not (count >= 0).all():
            raise ParameterError(
                f"counts are {count.tolist()}, expected {mechanism.symbols} numbers of at least 0."
            )
        return cls(count, float(mechanism.other_probability), float(mechanism.signal))

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return len(self.count)

    @property
    def clear(self) -> bool:
        """Whether reports are the answers."""
        return self.signal == 1 and self.other == 0

    @property
    def held(self) -> Floats:
        """Nearest possible shares of answers."""
        if not self.n or not self.signal:
            return np.full(self.symbols, 1 / self.symbols)
        return on_simplex((self.count / self.n - self.other) / self.signal)

    def tiled(self, times: int) -> Counts:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        worth = (scores - self.other * scores.sum(axis=-1, keepdims=True)) / self.signal
        count = np.broadcast_to(self.count, worth.shape)
        return self._finite(count, worth, variance_of(self.held, scores))

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        # A share knows two reports only: this option, and another.
        count = np.stack([self.count, self.n - self.count], axis=-1)
        worth = np.array([1 - self.other, -self.other]) / self.signal
        held = self.held
        return self._finite(count, np.broadcast_to(worth, count.shape), held * (1 - held))

    def _finite(self, count: Floats, worth: Floats, people: Floats) -> Worths:
        zero = np.zeros(len(count))
        worths = Worths(count, worth, None, zero, zero, people, clear=self.clear)
        if self.unasked >= 1:
            return worths
        # Who did not answer is all that is unknown of the people; the masks stay as they are.
        n = max(self.n, 1.0)
        mean = (count * worth).sum(axis=-1, keepdims=True) / n
        total = (count * (worth - mean) ** 2).sum(axis=-1) / n
        part = np.minimum(people / np.where(total > 0, total, 1.0), 1.0)
        return worths.of_population(1 - (1.0 if self.clear else part) * (1 - self.unasked))


@dataclass(frozen=True, slots=True, eq=False)
class Levelled:
    """Reports of numbers as levels; figures are the sum of numbers and their count.

    A number is rounded to a level at random so that its mean is the number, so the mean of levels
    among those who gave one is that of the numbers.

    Attributes
    ----------
    levels : Counts
        Of each level, and last of "no answer" where that can be.
    basis : float array, shape (1 or 2, n_symbols)
        The number of each level; then 1 for each level and 0 for "no answer", where that can be.
    """

    levels: Counts
    basis: Floats

    @classmethod
    def of(cls, levels: Counts, values: ArrayLike) -> Levelled:
        """Return the reports of levels at these numbers, one symbol more being "no answer"."""
        number = np.asarray(values, dtype=np.float64)
        if levels.symbols == len(number):
            return cls(levels, number[None, :])
        given = np.append(np.ones(len(number)), 0.0)
        return cls(levels, np.stack([np.append(number, 0.0), given]))

    @property
    def n(self) -> float:
        """Number of people."""
        return self.levels.n

    @property
    def symbols(self) -> int:
        """The sum of numbers, and their count."""
        return len(self.basis)

    def tiled(self, times: int) -> Levelled:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the sum and of the count."""
        each = scores @ self.basis
        # Of one person: a level's number less a ratio, or 0 without an answer.
        ends = np.stack([each.min(axis=-1), each.max(axis=-1)], axis=-1)
        return replace(self.levels.worths(each), ends=ends)

    def shares(self) -> Worths:
        """Return the worths for the sum, and for the count."""
        return self.worths(np.eye(len(self.basis)))


@dataclass(frozen=True, slots=True, eq=False)
class Subsets:
    """How many people sent each set of answers, through subset selection.

    Attributes
    ----------
    count : float array, shape (n_reports,)
    held : float array, shape (n_reports, n_symbols)
        1 for the answers in a report, else 0.
    other, signal : float
        P(a certain other answer is in a report), and what the answer's own has more.
    size : int
        Number of answers in a report.

    Examples
    --------
    >>> from masquerade.mechanisms import SubsetSelection
    >>> mask = SubsetSelection(3, size=2, epsilon=50)
    >>> Subsets.of([0, 1, 2], [50, 30, 20], mask).shares().mean.round(3).tolist()
    [0.6, 0.4, 0.0]
    """

    count: Floats
    held: Floats
    other: float
    signal: float
    size: int

    @classmethod
    def of(cls, reports: ArrayLike, people: ArrayLike, mechanism: SubsetSelection) -> Subsets:
        """Return reports, each with the number of its people."""
        held = mechanism.members(np.asarray(reports)).astype(np.float64)
        other, signal = float(mechanism.other_probability), float(mechanism.signal)
        return cls(np.asarray(people, dtype=np.float64), held, other, signal, mechanism.size)

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return int(self.held.shape[1])

    def tiled(self, times: int) -> Subsets:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        sums = scores.sum(axis=-1, keepdims=True)
        worth = (scores @ self.held.T - self.other * sums) / self.signal
        # Of all reports that are possible, those with the lowest and with the highest scores.
        order = np.sort(scores, axis=-1)
        ends = np.stack([order[:, : self.size].sum(-1), order[:, -self.size :].sum(-1)], axis=-1)
        far = (ends - self.other * sums) / self.signal
        zero = np.zeros(len(worth))
        people = variance_of(self._held, scores)
        count = np.broadcast_to(self.count, worth.shape)
        return Worths(count, worth, far, zero, zero, people, clear=self._clear)

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        with_it = self.count @ self.held
        count = np.stack([with_it, self.n - with_it], axis=-1)
        worth = np.array([1 - self.other, -self.other]) / self.signal
        zero, held = np.zeros(self.symbols), self._held
        each = np.broadcast_to(worth, count.shape)
        return Worths(count, each, None, zero, zero, held * (1 - held), clear=self._clear)

    @property
    def _clear(self) -> bool:
        return self.signal == 1 and self.other == 0  # a set is the answer alone

    @property
    def _held(self) -> Floats:
        if not self.n or not self.signal:
            return np.full(self.symbols, 1 / self.symbols)
        return on_simplex((self.count @ self.held / self.n - self.other) / self.signal)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """How many people sent each pair of reports to two questions, masked independently.

    Answers are numbered row by row.

    Attributes
    ----------
    count : float array, shape (n_rows, n_columns)
    rows, columns : (float, float)
        Other probability and signal of the masks of the two questions.
    """

    count: Floats
    rows: tuple[float, float] = (0.0, 1.0)
    columns: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(
        cls,
        counts: ArrayLike,
        rows: CategoricalMechanism | None = None,
        columns: CategoricalMechanism | None = None,
    ) -> Table:
        """Return the table of counts of pairs of reports."""
        channels = [
            (0.0, 1.0) if one is None else (float(one.other_probability), float(one.signal))
            for one in (rows, columns)
        ]
        return cls(np.asarray(counts, dtype=np.float64), *channels)

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return int(self.count.size)

    def tiled(self, times: int) -> Table:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        shaped = scores.reshape(-1, *self.count.shape)
        (other, signal), (across, strength) = self.rows, self.columns
        worth = (shaped - other * shaped.sum(axis=1, keepdims=True)) / signal
        worth = (worth - across * worth.sum(axis=2, keepdims=True)) / strength
        flat = worth.reshape(scores.shape)
        count = np.broadcast_to(self.count.ravel(), flat.shape)
        zero, people = np.zeros(len(flat)), variance_of(self.held, scores)
        return Worths(count, flat, None, zero, zero, people, clear=self._clear)

    @property
    def _clear(self) -> bool:
        return self.rows == self.columns == (0.0, 1.0)

    @property
    def held(self) -> Floats:
        """Nearest possible shares of pairs of answers."""
        if not self.n:
            return np.full(self.symbols, 1 / self.symbols)
        value = self.count / self.n
        value = (value - self.rows[0] * value.sum(axis=0)) / self.rows[1]
        value = (value - self.columns[0] * value.sum(axis=1, keepdims=True)) / self.columns[1]
        return on_simplex(value.ravel())

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        # A cell knows four reports only: of each question this symbol, and another.
        both, row = self.count, self.count.sum(axis=1, keepdims=True)
        column = self.count.sum(axis=0, keepdims=True)
        parts = [both, row - both, column - both, self.n - row - column + both]
        count = np.stack([one.ravel() for one in parts], axis=-1)
        first = np.array([1 - self.rows[0], -self.rows[0]]) / self.rows[1]
        second = np.array([1 - self.columns[0], -self.columns[0]]) / self.columns[1]
        worth = np.broadcast_to(np.outer(first, second).ravel(), count.shape)
        zero, held = np.zeros(len(count)), self.held
        return Worths(count, worth, None, zero, zero, held * (1 - held), clear=self._clear)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Noisy reports of a number, one figure only: their mean.

    Attributes
    ----------
    count, worth : float array, shape (n_values,)
    low, high : float
        Ends of the range of answers.
    mask : float
        Variance that the noise adds to one report.
    """

    count: Floats
    worth: Floats
    low: float
    high: float
    mask: float = 0.0

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        low: float,
        high: float,
        mechanism: DiscreteGaussian | None = None,
        *,
        people: ArrayLike | None = None,
    ) -> Numbers:
        """Return the reports of numbers on the question's scale, those of a mask bounded.

        `people`: of how many people each report is, which then keep their order; by default of one.

        Examples
        --------
        >>> Numbers.of([0, 0, 40], 0, 40).worths(np.ones((1, 1))).mean.round(3).tolist()
        [13.333]
        """
        value = np.asarray(values, dtype=np.float64)
        odd = np.flatnonzero(~np.isfinite(value))
        if odd.size:
            raise ParameterError(f"report {odd[0] + 1} is no finite number; leave it out.")
        mask = 0.0
        if mechanism is not None:
            size = len(value) if people is None else round(float(np.sum(people)))
            bounded = BoundedReport.of(mechanism, size)
            value, mask = bounded.values(value), bounded.variance
        if people is not None:
            each = np.asarray(people, dtype=np.float64)
            return cls(each, value, float(low), float(high), mask)
        worth, count = np.unique(value, return_counts=True)
        return cls(count.astype(np.float64), worth, float(low), float(high), mask)

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return 1

    def tiled(self, times: int) -> Numbers:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of multiples of the mean."""
        worth = scores * self.worth
        ends = scores * np.array([self.low, self.high])
        total = float(self.count @ (self.worth - self.count @ self.worth / max(self.n, 1)) ** 2)
        people = max(total / max(self.n, 1) - self.mask, 0.0) * scores[:, 0] ** 2
        zero, far = np.zeros(len(worth)), np.sort(ends, axis=-1)
        count = np.broadcast_to(self.count, worth.shape)
        return Worths(count, worth, far, zero, zero, people, clear=self.mask == 0)


def counts_by_label(
    counts: Any, mechanism: CategoricalMechanism | None, options: Sequence[Any] | None
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return labelled or plain counts in the order of codes.

    Labels are `options`, or the codes of a mechanism's symbols; a label that is missing counts 0.
    """
    if not callable(getattr(counts, "items", None)):
        return np.asarray(counts)
    if mechanism is None and options is None:
        raise ParameterError(
            f"the counts have the labels {list(counts.keys())}; say with options= which there are, "
            "in their order."
        )
    labels = (
        list(range(mechanism.symbols)) if options is None and mechanism else list(options or ())
    )
    symbols = len(labels) if mechanism is None else mechanism.symbols
    if mechanism is not None and len(labels) not in (mechanism.options, mechanism.symbols):
        raise ParameterError(
            f"options are {labels} for {mechanism.options} options; give one label each."
        )
    code = {label: place for place, label in enumerate(labels)}
    found = np.zeros(symbols, dtype=np.int64)
    for label, count in counts.items():
        if label not in code:
            hint = "" if options is not None else "; say which labels they are with options="
            raise ParameterError(
                f"counts have the label {label!r}, which is none of {labels}{hint}."
            )
        if count != int(count):
            raise ParameterError(f"the count of {label!r} is {count}, expected a whole number.")
        found[code[label]] += int(count)
    return found


def variance_of(held: Floats, scores: Floats) -> Floats:
    """Return the variance of scores by the shares of their answers."""
    mean = scores @ held
    variance: Floats = (scores**2) @ held - mean**2
    return np.maximum(variance, 0.0)


def stacked(groups: Sequence[Worths]) -> Worths:
    """Return groups of one batch of figures as one, shape (n_figures, n_groups, n_reports)."""
    most = max(one.count.shape[-1] for one in groups)

    def pad(values: Floats) -> Floats:
        return np.pad(values, [(0, 0), (0, most - values.shape[-1])], mode="edge")

    def count(one: Worths) -> Floats:
        missing = most - one.count.shape[-1]
        return np.pad(one.count, [(0, 0), (0, missing)])

    far = None
    if any(one.far is not None for one in groups):
        far = np.stack([_far(one) for one in groups], axis=1)
    return Worths(
        np.stack([count(one) for one in groups], axis=1),
        np.stack([pad(one.worth) for one in groups], axis=1),
        far,
        np.stack([one.noise for one in groups], axis=1),
        np.stack([one.shift for one in groups], axis=1),
        np.stack([one.people for one in groups], axis=1),
        np.stack([np.broadcast_to(one.half, one.shift.shape) for one in groups], axis=1),
        clear=np.stack([np.broadcast_to(one.clear, one.shift.shape) for one in groups], axis=1),
    )


def _far(one: Worths) -> Floats:
    if one.far is not None:
        return one.far
    return np.stack([one.worth.min(axis=-1), one.worth.max(axis=-1)], axis=-1)
