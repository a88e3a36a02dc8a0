"""Samplers that remember, repeat, fail or share coins from call to call, to test the audit with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.accounting.sound_samplers import Own, Rng


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


BROKEN_CALLS = (
    NewSeed,
    SeedOfAnswer,
    BatchCoin,
    SharedCoins,
    Sticky,
    Raises,
    SometimesRaises,
    Remembers,
    Memoised,
    Counting,
    Tired,
)
