"""Noisy sums of a known number of people, from two parties, as reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from masquerade.estimation.reports import Worths, variance_of
from masquerade.estimation.sides import HALF
from masquerade.exact.arrays import Floats, on_simplex


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Noisy counts of the answers of a known number of people, from two parties.

    Attributes
    ----------
    sums : float array, shape (n_symbols,)
    variance : float
        Of the noise of each count.
    people : int
        How many are in the sums.
    unasked : float
        (N - n) / (N - 1) of a population of N; 1 where it is large.
    """

    sums: Floats
    variance: float
    people: int
    unasked: float = 1.0
    held: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sums = self.sums
        # The nearest counts that could be: noise on empty options is no spread of answers.
        object.__setattr__(self, "held", on_simplex(sums, float(self.people)))

    @classmethod
    def of(
        cls, sums: ArrayLike, *, variance: float, people: int, population: int | None = None
    ) -> Sums:
        """Return the sums of some people, of a population of known size or of a large one.

        Examples
        --------
        >>> Sums.of([41, 63], variance=9, people=100).shares().mean.round(2).tolist()
        [0.39, 0.61]
        """
        values = np.asarray(sums, dtype=np.float64)
        return SummedPeople(people, population).sums(values, float(variance))

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.people)

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return len(self.sums)

    def tiled(self, times: int) -> Sums:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        n = float(self.people)
        middle = scores.mean(axis=-1)
        # The sums are known to add to n but for noise: scores around their mean carry the least.
        away = scores - middle[:, None]
        value = away @ self.sums / n + middle
        count = np.broadcast_to(self.held, scores.shape)
        shift = value - scores @ self.held / n
        noise = self.variance * (away**2).sum(axis=-1) / n**2
        people = variance_of(self.held / n, scores)
        worths = Worths(count, scores, None, noise, shift, people, clear=self.variance == 0)
        return worths.of_population(self.unasked) if self.unasked < 1 else worths

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        one = self.worths(np.eye(self.symbols))
        n = float(self.people)
        count = np.stack([self.held, n - self.held], axis=-1)
        pairs = replace(one, count=count, worth=np.broadcast_to([1.0, 0.0], count.shape), half=HALF)
        return pairs.of_population(self.unasked) if self.unasked < 1 else pairs


@dataclass(frozen=True, slots=True)
class SummedPeople:
    """The people with answers in sums.

    Attributes
    ----------
    count : int
    population : int or None
        How many people could have answered, where the result is about them alone.
    """

    count: int
    population: int | None = None

    @property
    def unasked(self) -> float:
        """Factor by which sampling variances shrink: (N - n) / (N - 1)."""
        if self.population is None:
            return 1.0
        return max(self.population - self.count, 0) / max(self.population - 1, 1)

    def sums(self, values: Sequence[float] | Floats, variance: float) -> Sums:
        """Return sums that add to the number of people, but for noise."""
        return Sums(np.asarray(values, dtype=np.float64), variance, self.count, self.unasked)


@dataclass(frozen=True, eq=False)
class TickSums:
    """Noisy counts of those who tick an option, of the others who answered, and of the rest.

    Attributes
    ----------
    ticked, answered : float
        Noisy counts; all who tick have answered.
    noise : (float, float)
        Variances of the two; the second is 0 where everybody answered.
    people : SummedPeople
    """

    ticked: float
    answered: float
    noise: tuple[float, float]
    people: SummedPeople

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.people.count)

    @property
    def symbols(self) -> int:
        """Ticked, not ticked, not answered."""
        return 3

    @cached_property
    def _sums(self) -> Floats:
        return np.array([self.ticked, self.answered - self.ticked, self.n - self.answered])

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        n, held = self.n, on_simplex(self._sums, self.n)
        # scores @ sums is linear in the two noisy counts.
        rates = np.stack([scores[:, 0] - scores[:, 1], scores[:, 1] - scores[:, 2]], axis=-1)
        noise = rates**2 @ np.array(self.noise) / n**2
        shift = scores @ (self._sums - held) / n
        mean = scores @ held / n
        people = np.maximum(scores**2 @ held / n - mean**2, 0.0)
        count = np.broadcast_to(held, scores.shape)
        clear = not any(self.noise)
        worths = Worths(count, scores, None, noise, shift, people, clear=clear)
        return worths.of_population(self.people.unasked) if self.people.unasked < 1 else worths

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        return self.worths(np.eye(3))

    def tiled(self, times: int) -> TickSums:
        """Return the sums themselves, which serve any batch."""
        return self
