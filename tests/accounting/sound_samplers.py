"""Sound samplers of one's own, from which broken ones are made to test the audit with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


SOUND: dict[str, Callable[[], Any]] = {"own": Own, "noisy": Noisy}
