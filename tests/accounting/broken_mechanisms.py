"""The mechanisms of the library, each broken in one way: tables stay right, draws do not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.exact import Guarantee
from masquerade.exact.arrays import Codes
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    QuantisedResponse,
    RandomizedResponse,
    TwoLayer,
)

Steps = NDArray[np.int64]


class OptionInClear(RandomizedResponse):
    """Option 9 of 12 is reported in clear."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        return np.where(answers == 9, answers, super().mask(answers, persons, source)).astype("i4")


class OneOfAHundredInClear(RandomizedResponse):
    """Option 61 of 100 is reported in clear."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        return np.where(answers == 61, answers, super().mask(answers, persons, source)).astype("i4")


class PointInClear(DiscreteLaplace):
    """A point inside the lattice gets no noise."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        return np.where(answers == 7, answers, super().mask(answers, persons, source))


class LessNoiseInside(DiscreteGaussian):
    """A point inside the lattice gets half of the noise."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        noise = super().mask(answers, persons, source) - answers
        return answers + np.where(answers == 13, noise // 2, noise)


class Swapper(RandomizedResponse):
    """A first answer of 3 swaps the order of the reports of the next two."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        reports = super().mask(answers, persons, source)
        first = np.flatnonzero(np.r_[True, persons[1:] != persons[:-1]])
        first = first[np.r_[first[1:], len(persons)] - first > 2]
        first = first[answers[first] == 3]
        reports[first + 1], reports[first + 2] = reports[first + 2], reports[first + 1].copy()
        return reports


class SameCoin(RandomizedResponse):
    """All answers of a person are masked by one coin."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        many = int(persons.max()) + 1
        zeros = np.zeros(many, dtype=np.int32)
        moved = super().mask(zeros, np.arange(many, dtype=np.int32), source)
        return ((answers + moved[persons]) % self.symbols).astype(np.int32)


class SameNoise(DiscreteLaplace):
    """All numbers of a person get the same noise."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        many = int(persons.max()) + 1
        zeros = np.zeros(many, dtype=np.int64)
        return answers + super().mask(zeros, np.arange(many, dtype=np.int32), source)[persons]


class SteadyPerson(TwoLayer):
    """Draws one flip probability for a whole batch."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        return super().mask(answers, np.zeros_like(persons), source)


class Clamped(DiscreteLaplace):
    """Reports are clamped to the range after the noise, and the table does not say so."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        return np.clip(super().mask(answers, persons, source), 0, self.lattice.points - 1)


class ShortRange(DiscreteLaplace):
    """The scale is that of a range that is one step shorter."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        lattice = self.lattice
        short = DiscreteLaplace(lattice.low, lattice.high - lattice.step, epsilon=self.epsilon)
        return short.mask(answers, persons, source)


class OneShort(RandomizedResponse):
    """Counts the options one short."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        other, total = RandomizedResponse(self.options - 1, epsilon=1).grid
        words = uniform_below(source, total, len(answers))
        moved = words < np.uint64(other) * np.uint64(self.options - 1)
        shift = np.where(moved, words // np.uint64(other) + np.uint64(1), np.uint64(0))
        return ((answers + shift.astype(np.int64)) % self.options).astype(np.int32)


class NullInClear(QuantisedResponse):
    """A missing answer is passed on as it is."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        reports = super().mask(answers, persons, source)
        return np.where(answers == self.lattice.points, self.levels, reports)


class Generous(DiscreteGaussian):
    """Claims half of the delta that the noise has."""

    def guarantee(self, *, answers: int = 1, delta: Any = Fraction(1, 10**6)) -> Guarantee:
        """Return a promise for twice the noise."""
        better = DiscreteGaussian(self.lattice.low, self.lattice.high, sigma=12)
        return better.guarantee(answers=answers, delta=delta)


class Prettier(RandomizedResponse):
    """Promises less than it loses."""

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return half of the loss."""
        return RandomizedResponse(self.options, epsilon=Fraction(1, 2)).guarantee(answers=answers)


class Sublinear(RandomizedResponse):
    """Promises the cost of one answer for all answers."""

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the promise of one answer."""
        return super().guarantee(answers=min(answers, 1))


class PairLeak(RandomizedResponse):
    """Where the two answers before were equal, the next is moved less often."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        reports = super().mask(answers, persons, source)
        (equal,) = np.nonzero(
            (answers[2:] == answers[1:-1])
            & (answers[1:-1] == answers[:-2])
            & (persons[2:] == persons[:-2])
        )
        reports[equal + 2] = answers[equal + 2]
        return reports


class Recycled(DiscreteGaussian):
    """Draws 100 numbers and uses them again and again."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        noise = super().mask(np.zeros(100, dtype=np.int64), np.zeros(100, dtype="i4"), source)
        return answers + noise[np.arange(len(answers)) % 100]


class RoundsUp(DiscreteLaplace):
    """Rounds noise towards the answer, one time of ten."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        reports = super().mask(answers, persons, source)
        nearer = reports - np.sign(reports - answers)
        return np.where(uniform_below(source, 10, len(answers)) == 0, nearer, reports)


BROKEN_MECHANISMS: dict[str, tuple[Callable[[], Any], int]] = {
    "option 9 of 12 in clear": (lambda: OptionInClear(12, epsilon=1), 1),
    "option 61 of 100 in clear": (lambda: OneOfAHundredInClear(100, epsilon=1), 1),
    "a point of a lattice in clear": (lambda: PointInClear(0, 20, epsilon=1), 1),
    "a point of a lattice with half the noise": (lambda: LessNoiseInside(0, 30, sigma=40), 1),
    "order swapped": (lambda: Swapper(5, epsilon=1), 3),
    "one coin for two answers": (lambda: SameCoin(3, epsilon=1), 2),
    "one noise for the numbers of a person": (lambda: SameNoise(0, 9, epsilon=1), 2),
    "one flip probability for a batch": (lambda: SteadyPerson(2, low=0, high=1), 1),
    "clamping": (lambda: Clamped(1, 5, epsilon=1), 1),
    "off by one range": (lambda: ShortRange(1, 5, epsilon=1), 1),
    "off by one option": (lambda: OneShort(3, epsilon=1), 1),
    "no answer in clear": (lambda: NullInClear(0, 9, epsilon=1, levels=3, null=True), 1),
    "wrong delta": (lambda: Generous(1, 5, sigma=6), 1),
    "wrong epsilon": (lambda: Prettier(4, epsilon=1), 1),
    "wrong epsilon of several answers": (lambda: Sublinear(4, epsilon=1), 2),
    "equal answers tell": (lambda: PairLeak(4, epsilon=1), 3),
    "noise used again": (lambda: Recycled(1, 5, sigma=6), 1),
    "rounding to the answer in a lattice": (lambda: RoundsUp(1, 5, epsilon=1), 1),
}
"""Name: how to make it, and how many answers of a person are audited."""
