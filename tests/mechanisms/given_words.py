"""Randomness that a test chooses or records, and the files of cases shared with the device."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD_VALUES = 1 << 64


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


class RecordedWords:
    """A source of some chosen words, then arbitrary ones; it remembers all words taken."""

    def __init__(self, chosen: Iterable[int], draw: Callable[[], int]) -> None:
        self.chosen = iter(chosen)
        self.draw = draw
        self.taken: list[int] = []

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return the next `size` words."""
        words = [next(self.chosen, None) for _ in range(size)]
        self.taken += [self.draw() if word is None else word for word in words]
        return np.array(self.taken[len(self.taken) - size :], dtype=np.uint64)


def read_cases(file: Path) -> list[dict[str, Any]]:
    """Return the cases of a shared file."""
    cases: list[dict[str, Any]] = json.loads(file.read_text())
    return cases


def write(file: Path, cases: Iterable[dict[str, Any]]) -> None:
    """Write a shared file, one case a line."""
    lines = ",\n".join(json.dumps(case) for case in cases)
    file.write_text(f"[\n{lines}\n]\n")
