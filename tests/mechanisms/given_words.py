"""Randomness that a test chooses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class GivenWords:
    """A source of words that a test chooses; it remembers how many were asked for."""

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)
        self.asked: list[int] = []

    @property
    def taken(self) -> int:
        """How many words were taken so far."""
        return sum(self.asked)

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return the next `size` words."""
        self.asked.append(size)
        taken, self.left = self.left[:size], self.left[size:]
        assert len(taken) == size, "more words were asked for than the test gave"
        return np.array(taken, dtype=np.uint64)

    def one(self) -> int:
        """Return the next word."""
        return int(self.words(1)[0])


def codes(*values: int) -> NDArray[np.int32]:
    """Return an array of codes."""
    return np.array(values, dtype=np.int32)
