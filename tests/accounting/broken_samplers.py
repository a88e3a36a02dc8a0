"""Samplers with reports that each tell too much, in one way, to test the audit with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.accounting.sound_samplers import RARE, Noisy, Own, Rng, kept_at, response


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
    """Laplace noise in floats: the values that are possible near 0 tell the answer."""

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


class Correlated(Own):
    """A report is a row of two numbers that are equal where the answer is 1."""

    inputs: Any = (0, 1)

    def sample(self, answer: int, size: int, rng: Rng) -> Any:
        """Return reports."""
        one = rng.integers(0, 1000, size)
        return np.stack([one, one if answer else rng.integers(0, 1000, size)], axis=1)


class Ordered(Own):
    """A report is a row of two numbers, and their order is the answer."""

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


BROKEN_SAMPLERS = (
    Parity,
    Correlated,
    WrongAtOne,
    WrongInTable,
    WrongNull,
    TypeLeak,
    ItemTypeLeak,
    SignedZero,
    RowLength,
    WrongTailInTable,
    RoundsToAnswer,
    ScaledByAnswer,
    Lying,
)

UNSEEN = (
    LastBit,
    MiddleBit,
    FloatBits,
    Mantissa,
    Rare,
    RareNumber,
    RareFloat,
    Ordered,
    WidthLeak,
    NotANumber,
    TextLength,
    WrongTail,
    BoundedNoise,
)
"""What an audit does not see, and says so."""
