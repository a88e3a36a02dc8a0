"""Mechanisms that do not keep their promise, each broken in one way, to test the audit with."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Claims
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
Rng = np.random.Generator
RARE = 1e-5


def kept_at(epsilon: float, options: int) -> float:
    """Return with which probability randomized response keeps an answer."""
    return math.exp(epsilon) / (math.exp(epsilon) + options - 1)


def response(answer: int, size: int, rng: Rng, *, options: int, epsilon: float) -> NDArray[Any]:
    """Return sound reports of randomized response."""
    other = (answer + rng.integers(1, options, size)) % options
    return np.where(rng.random(size) < kept_at(epsilon, options), answer, other)


class Own:
    """A sound class of one's own: four options at epsilon 1, and no table."""

    claimed_epsilon: Any = 1
    inputs: Any = range(4)

    def sample(self, answer: Any, size: int, rng: Rng) -> Any:
        """Return reports."""
        return response(answer, size, rng, options=len(self.inputs), epsilon=1)


class Noisy(Own):
    """A sound class of one's own: two-sided geometric noise on 0 to 9."""

    inputs: Any = range(10)

    def noise(self, size: int, rng: Rng, epsilon: float = 1) -> NDArray[np.int64]:
        """Return noise of scale 9 / epsilon."""
        share = 1 - math.exp(-epsilon / 9)
        return rng.geometric(share, size) - rng.geometric(share, size)

    def sample(self, answer: Any, size: int, rng: Rng) -> Any:
        """Return reports."""
        return answer + self.noise(size, rng)


# Subclasses of our own mechanisms, whose tables stay right and whose draws do not.


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


class Skipper(RandomizedResponse):
    """Does not send what it would have moved."""

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        reports = super()._masked(claims, source)
        (kept,) = np.nonzero(reports.value == claims.value)
        return Claims(
            task=reports.task[kept],
            worker=reports.worker[kept],
            value=reports.value[kept],
            tasks=reports.tasks,
            workers=reports.workers,
            options=reports.options,
            null=reports.null,
        )


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
    """Promises for all answers what one costs."""

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


class BatchClear(RandomizedResponse):
    """Where a call has one row only, its answer is reported in clear."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        return answers if len(answers) < 3 else super().mask(answers, persons, source)


class Reseeded(RandomizedResponse):
    """Draws from the same seed at each call."""

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return reports."""
        from masquerade.exact import SimulatedCoins

        return super().mask(answers, persons, SimulatedCoins(np.random.default_rng(7)))


class Recycled(DiscreteGaussian):
    """Draws 100 numbers and uses them again and again."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        noise = super().mask(np.zeros(100, dtype=np.int64), np.zeros(100, dtype="i4"), source)
        return answers + noise[np.arange(len(answers)) % 100]


# Classes of one's own, which give samples alone, or a table that is right.


class Parity(Noisy):
    """The parity of a report is that of the answer."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return answer + 2 * self.noise(size, rng, epsilon=0.01)


class LastBit(Own):
    """The last bit of a large number is that of the answer, 9 times of 10."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        words = rng.integers(0, 1 << 40, size) * 2
        return words + (answer ^ (rng.random(size) < 0.1)) % 2


class MiddleBit(Own):
    """Bit 23 of a large number is that of the answer."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        words = rng.integers(0, 1 << 50, size)
        return (words & ~np.int64(1 << 23)) | (answer % 2) << 23


class FloatBits(Own):
    """Laplace noise in floats: what is possible near 0 tells the answer."""

    inputs: Any = (0.0, 1.0)

    def sample(self, answer: float, size: int, rng: Rng) -> Any:
        """Return reports."""
        return answer + rng.laplace(0, 1, size)


class Mantissa(Own):
    """The 40th bit of the mantissa of float noise is the answer."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        bits = rng.normal(0, 5, size).view(np.int64)
        return ((bits & ~np.int64(1 << 12)) | answer << 12).view(np.float64)


class NewSeed(Own):
    """Takes the same seed at each call."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return super().sample(answer, size, np.random.default_rng(42))


class SeedOfAnswer(Own):
    """Takes the answer for the seed."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return super().sample(answer, size, np.random.default_rng(answer))


class BatchCoin(Own):
    """Draws one coin for a batch."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return np.repeat(super().sample(answer, 1, rng), size)


class SharedCoins(Own):
    """Reports that stand side by side share their coins."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return np.repeat(super().sample(answer, size // 2 + 1, rng), 2)[:size]


class Sticky(Own):
    """A report is the one before it, three times of ten."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        again = np.flatnonzero(rng.random(size) < 0.3)
        again = again[again > 0]
        reports[again] = reports[again - 1]
        return reports


class Rare(Own):
    """With probability 1e-5 the answer is sent in clear, as a text of its own."""

    inputs: Any = ("yes", "no")

    def sample(self, answer: str, size: int, rng: Rng) -> Any:
        """Return reports."""
        codes = response(0, size, rng, options=2, epsilon=1)
        reports = np.where(codes == 0, answer, "no" if answer == "yes" else "yes").astype("U8")
        reports[rng.random(size) < RARE] = f"{answer}!"
        return reports


class RareNumber(Noisy):
    """With probability 1e-5 the answer is sent in clear, far outside of the range."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return np.where(rng.random(size) < RARE, 10**6 + answer, super().sample(answer, size, rng))


class RareFloat(Own):
    """With probability 1e-5 a float report is the answer itself."""

    inputs: Any = (1.0, 2.0, 3.0)

    def sample(self, answer: float, size: int, rng: Rng) -> Any:
        """Return reports."""
        return np.where(rng.random(size) < RARE, answer, rng.normal(0, 50, size))


class RareInTable(Own):
    """A leak of probability 1e-5 that its own table does not have."""

    claimed_epsilon = "1.001"
    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        return np.where(rng.random(size) < RARE, 10 + answer, reports)

    def distribution(self, answer: int) -> dict[int, float]:
        """Return the table without it."""
        keep = kept_at(1, 2)
        return {answer: keep, 1 - answer: 1 - keep}


class Correlated(Own):
    """A report is a row of two numbers that are equal where the answer is 1."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        one = rng.integers(0, 1000, size)
        return np.stack([one, one if answer else rng.integers(0, 1000, size)], axis=1)


class Ordered(Own):
    """A report is a row of two numbers whose order is the answer."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        rows = np.sort(rng.integers(0, 10**9, (size, 2)), axis=1)
        return rows[:, ::-1] if answer else rows


class WrongAtOne(Own):
    """One input of 40 has twice the epsilon."""

    inputs: Any = range(40)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        epsilon = 2 if answer == 23 else 1
        return response(answer, size, rng, options=40, epsilon=epsilon)


class WrongInTable(Own):
    """One row of the table of 40 has twice the epsilon, and is drawn so."""

    inputs: Any = range(40)
    sample = WrongAtOne.sample

    def distribution(self, answer: int) -> dict[int, float]:
        """Return the table."""
        keep = kept_at(2 if answer == 23 else 1, 40)
        return {report: keep if report == answer else (1 - keep) / 39 for report in self.inputs}


class WrongNull(Own):
    """A missing answer is reported by a symbol of its own, in clear."""

    inputs: Any = (0, 1, 2, None)

    def sample(self, answer: int | None, size: int, rng: Rng) -> Any:
        """Return reports."""
        if answer is None:
            return [None] * size
        return response(answer, size, rng, options=3, epsilon=1).tolist()


class TypeLeak(Own):
    """Reports of one answer are floats."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        return reports.astype(float) if answer == 2 else reports


class WidthLeak(Own):
    """Reports of one answer are of a narrower type."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        return reports.astype(np.int32) if answer == 2 else reports.astype(np.int64)


class ItemTypeLeak(Own):
    """Among the reports of one answer, some are True where others would be 1."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng).tolist()
        return [bool(r) if r == 1 and answer == 2 else r for r in reports]


class SignedZero(Own):
    """A report of 0 has the sign of the answer."""

    inputs: Any = (-1, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return np.copysign(0.0, answer) * rng.integers(1, 3, size)


class NotANumber(Own):
    """The bits of "not a number" hold the answer."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        bits = np.full(size, 0x7FF8 << 48, dtype=np.int64) | answer
        return np.where(rng.random(size) < 0.5, bits.view(np.float64), 1.0)


class LengthLeak(Own):
    """One report more for one answer."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return super().sample(answer, size + (answer == 2), rng)


class RowLength(Own):
    """A report is a row with one number more for one answer."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return rng.integers(0, 2, (size, 3 + (answer == 2)))


class TextLength(Own):
    """The length of a random text is the answer."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        words = rng.integers(10**11, 10**12, size).astype(str)
        return np.char.add(words, "x" * answer)


class Raises(Own):
    """One answer is an error."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        if answer == 2:
            raise ValueError("answer 2 cannot be masked")
        return super().sample(answer, size, rng)


class SometimesRaises(Own):
    """One answer is an error, one time of 20."""

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        if answer == 2 and (rng.random(size) < 0.05).any():
            raise ValueError("answer 2 cannot be masked today")
        return super().sample(answer, size, rng)


class Remembers(Own):
    """Sends the answer of the call before, one time of two."""

    _before: Any = None

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        before, self._before = self._before, answer
        if before is None:
            return reports
        return np.where(rng.random(size) < 0.5, before, reports)


class Memoised(Own):
    """Draws once for each answer, and gives that ever after."""

    def __init__(self) -> None:
        self._kept: dict[int, NDArray[Any]] = {}

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        if len(self._kept.get(answer, ())) < size:
            self._kept[answer] = super().sample(answer, size, rng)
        return self._kept[answer][:size]


class Counting(Own):
    """Each seventh call is in clear."""

    _calls = 0

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        self._calls += 1
        if self._calls % 7 == 0:
            return np.full(size, answer)
        return super().sample(answer, size, rng)


class Tired(Own):
    """After 300 calls, answers are sent in clear."""

    _calls = 0

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        self._calls += 1
        if self._calls > 300:
            return np.full(size, answer)
        return super().sample(answer, size, rng)


class WrongTail(Own):
    """Claims a delta of a hundredth of its tail."""

    claimed_delta = 1e-5
    claimed_epsilon = "1.001"
    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        reports = super().sample(answer, size, rng)
        return np.where(rng.random(size) < 1e-3, 10 + answer, reports)


class WrongTailInTable(WrongTail):
    """The same with its table."""

    def distribution(self, answer: int) -> dict[int, float]:
        """Return the table."""
        keep = kept_at(1, 2) * 0.999
        return {answer: keep, 1 - answer: 0.999 - keep, 10 + answer: 1e-3}


class RoundsToAnswer(Own):
    """Rounds noise towards the answer."""

    inputs: Any = range(10)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        noise = rng.exponential(1.0, size) * rng.choice([-1, 1], size)
        return answer + np.trunc(noise).astype(np.int64)


class RoundsUp(DiscreteLaplace):
    """Rounds noise towards the answer, one time of ten."""

    def mask(self, answers: Steps, persons: Codes, source: WordSource) -> Steps:
        """Return reports."""
        reports = super().mask(answers, persons, source)
        nearer = reports - np.sign(reports - answers)
        return np.where(uniform_below(source, 10, len(answers)) == 0, nearer, reports)


class BoundedNoise(Own):
    """Uniform noise: the ends of the range are told by their reports."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return answer + rng.integers(-100, 101, size)


class ScaledByAnswer(Own):
    """The spread of the noise is the answer."""

    inputs: Any = (1, 2)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        return rng.laplace(0, answer * 10, size)


class Lying(Own):
    """Shows a table that it does not draw from."""

    def distribution(self, answer: int) -> dict[int, Fraction]:
        """Return even probabilities."""
        return {report: Fraction(1, 4) for report in self.inputs}


REFUTED: dict[str, tuple[Callable[[], Any], int]] = {
    "option 9 of 12 in clear": (lambda: OptionInClear(12, epsilon=1), 1),
    "option 61 of 100 in clear": (lambda: OneOfAHundredInClear(100, epsilon=1), 1),
    "a point of a lattice in clear": (lambda: PointInClear(0, 20, epsilon=1), 1),
    "a point of a lattice with half the noise": (lambda: LessNoiseInside(0, 30, sigma=40), 1),
    "order swapped": (lambda: Swapper(5, epsilon=1), 3),
    "order swapped, one answer": (lambda: Swapper(5, epsilon=1), 1),
    "one coin for two answers": (lambda: SameCoin(3, epsilon=1), 2),
    "one coin for the answers of a person, one answer": (lambda: SameCoin(3, epsilon=1), 1),
    "one noise for the numbers of a person": (lambda: SameNoise(0, 9, epsilon=1), 1),
    "one flip probability for a batch": (lambda: SteadyPerson(2, low=0, high=1), 1),
    "clamping": (lambda: Clamped(1, 5, epsilon=1), 1),
    "off by one range": (lambda: ShortRange(1, 5, epsilon=1), 1),
    "off by one option": (lambda: OneShort(3, epsilon=1), 1),
    "no answer in clear": (lambda: NullInClear(0, 9, epsilon=1, levels=3, null=True), 1),
    "number of reports": (lambda: Skipper(3, epsilon=1), 1),
    "wrong delta": (lambda: Generous(1, 5, sigma=6), 1),
    "wrong epsilon": (lambda: Prettier(4, epsilon=1), 1),
    "wrong epsilon of several answers": (lambda: Sublinear(4, epsilon=1), 2),
    "equal answers tell": (lambda: PairLeak(4, epsilon=1), 3),
    "small calls in clear": (lambda: BatchClear(4, epsilon=1), 1),
    "seed used again": (lambda: Reseeded(4, epsilon=1), 1),
    "noise used again": (lambda: Recycled(1, 5, sigma=6), 1),
    "rounding to the answer in a lattice": (lambda: RoundsUp(1, 5, epsilon=1), 1),
} | {
    own.__name__: (own, 1)
    for own in (
        Parity,
        LastBit,
        MiddleBit,
        FloatBits,
        Mantissa,
        NewSeed,
        SeedOfAnswer,
        BatchCoin,
        SharedCoins,
        Sticky,
        Rare,
        RareNumber,
        RareFloat,
        RareInTable,
        Correlated,
        Ordered,
        WrongAtOne,
        WrongInTable,
        WrongNull,
        TypeLeak,
        WidthLeak,
        ItemTypeLeak,
        SignedZero,
        NotANumber,
        LengthLeak,
        RowLength,
        TextLength,
        Raises,
        SometimesRaises,
        Remembers,
        Memoised,
        Counting,
        Tired,
        WrongTail,
        WrongTailInTable,
        RoundsToAnswer,
        BoundedNoise,
        ScaledByAnswer,
        Lying,
    )
}
"""Name: how to make it, and how many answers of a person are audited."""

SOUND: dict[str, Callable[[], Any]] = {"own": Own, "noisy": Noisy}
