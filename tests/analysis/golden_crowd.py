"""The made-up crowd of the golden values: 600 people from a written generator of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from masquerade.exact.arrays import Floats

MASKS = {
    "ra": "randomized-response:options=3,epsilon=2",
    "rb": "randomized-response:options=2,epsilon=2",
    "ry": "randomized-response:options=3,epsilon=2",
}


class Numbers:
    """Numbers of s = (1103515245 s + 12345) mod 2**31, from s = 1."""

    def __init__(self) -> None:
        self._state = 1

    def uniform(self) -> float:
        """Return the next number, 0 to 1."""
        self._state = (1103515245 * self._state + 12345) % 2**31
        return self._state / 2**31

    def pick(self, chances: Any) -> int:
        """Return a place by its chance."""
        t = self.uniform()
        return int((np.cumsum(chances)[:-1] <= t).sum())


def response(options: int, epsilon: float) -> Floats:
    """Return the table of randomised response."""
    kept = np.exp(epsilon)
    table = np.full((options, options), 1 / (kept + options - 1))
    np.fill_diagonal(table, kept / (kept + options - 1))
    return table


def golden_crowd() -> dict[str, Any]:
    """Return the people as columns."""
    numbers, rows = Numbers(), []
    three, two = response(3, 2), response(2, 2)
    for _ in range(600):
        g = numbers.pick([0.5, 0.5])
        x = 2 * numbers.uniform() - 1
        a = numbers.pick([0.3, 0.4, 0.3])
        b = numbers.pick([0.6 - 0.2 * g, 0.4 + 0.2 * g])
        odds = np.exp([0, -0.3 + 0.6 * g + 0.8 * b, 0.2 + 0.5 * x + 0.7 * (a - 1)])
        y = numbers.pick(odds / odds.sum())
        rows.append((g, x, a, b, y, *(numbers.pick(row) for row in (three[a], two[b], three[y]))))
    names = ("g", "x", "a", "b", "y", "ra", "rb", "ry")
    found = {
        name: np.array(part) for name, part in zip(names, zip(*rows, strict=True), strict=True)
    }
    number = np.arange(600)
    return found | {
        "a": found["a"] - 1,
        "second": (found["y"] == 2).astype(int),
        "weight": 1 + (number % 3) / 2,
        "cluster": number // 5,
    }
