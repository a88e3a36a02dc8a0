"""The cost of masks: nanoseconds a report, and the time to state a guarantee.

Run with ``python benchmarks/mechanisms.py``; `peers` compares with other libraries. Each figure is
processor time, the best of a few runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from card import Cards, sized
from masquerade.exact import Coins
from masquerade.exact.noise import discrete_gaussian, discrete_laplace
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse, TwoLayer

CARDS = Cards(__file__)
RESPONSES = sized(1_000_000, 10_000_000)
NUMBERS = sized(100_000, 1_000_000)
RUNS = 3
SCALES = ("0.5", "4", "1000", "1000000")
SIGMAS = ("0.5", "3", "12.3456", "1000", "1000000")


def main() -> None:
    """Measure and print."""
    mechanism = RandomizedResponse(4, epsilon=1)
    answers = np.random.default_rng(1).integers(0, 4, RESPONSES, dtype=np.int32)
    persons = np.zeros(RESPONSES, dtype=np.int32)
    each = best(lambda: mechanism.mask(answers, persons, Coins()), RESPONSES)
    CARDS.add(f"randomized response, of {RESPONSES:,} answers", each, "ns")
    for name, draw, squared, parameters in (
        ("discrete Laplace, scale", discrete_laplace, 1, SCALES),
        ("discrete Gaussian, sigma", discrete_gaussian, 2, SIGMAS),
    ):
        for text in parameters:
            parameter = Fraction(text) ** squared
            ours = best(partial(draw, Coins(), parameter, NUMBERS), NUMBERS)
            CARDS.add(f"{name} {text}, of {NUMBERS:,} numbers", ours, "ns")
    promises()


def promises() -> None:
    """Print how long it takes to state a guarantee."""
    for name, promise in (
        (
            "two-layer, 10,000 answers",
            lambda: TwoLayer(2, low=0, high="0.5379").guarantee(answers=10_000),
        ),
        ("discrete Gaussian, 20 answers, 5 points", lambda: fresh(5)),
        ("discrete Gaussian, 20 answers, 1,000,001 points", lambda: fresh(1_000_001)),
    ):
        CARDS.add(f"guarantee of {name}", best(promise, 1) / 1e6, "ms")


def fresh(points: int) -> object:
    """Return a guarantee that nothing remembers."""
    from masquerade.exact.epsilon_at_delta import epsilon_of_one_report

    epsilon_of_one_report.cache_clear()
    sigma = Fraction(3 * (points - 1), 4)
    return DiscreteGaussian(1, points, sigma=sigma).guarantee(answers=20)


def best(work: Callable[[], object], size: int) -> float:
    """Return the best nanoseconds for each of `size` things."""
    taken = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken) / size * 1e9


if __name__ == "__main__":
    main()
