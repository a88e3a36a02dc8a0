"""The cost of masks: nanoseconds a report, and how many times that of other libraries.

Run with ``python benchmarks/mechanisms.py``. OpenDP and pure-ldp are measured where they are
installed (``pip install opendp pure-ldp statsmodels scikit-learn``). Each figure is processor
time, the best of a few runs.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from card import Cards, sized
from masquerade.exact import Coins
from masquerade.exact.noise import discrete_gaussian, discrete_laplace
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse, TwoLayer

CARDS = Cards(__file__)
RESPONSES = sized(1_000_000, 10_000_000)
NUMBERS = sized(100_000, 1_000_000)
PEER_CALLS = sized(1_000, 5_000)
RUNS = 3
SCALES = ("0.5", "4", "1000", "1000000")
SIGMAS = ("0.5", "3", "12.3456", "1000", "1000000")


def main() -> None:
    """Measure and print."""
    opendp, pure_ldp = peer("opendp.prelude"), peer("pure_ldp.frequency_oracles.direct_encoding")
    if opendp is not None:
        opendp.enable_features("contrib")
    responses(opendp, pure_ldp)
    for name, draw, squared, parameters in (
        ("discrete Laplace, scale", discrete_laplace, 1, SCALES),
        ("discrete Gaussian, sigma", discrete_gaussian, 2, SIGMAS),
    ):
        for text in parameters:
            parameter = Fraction(text) ** squared
            ours = best(partial(draw, Coins(), parameter, NUMBERS), NUMBERS)
            CARDS.add(
                f"{name} {text}, of {NUMBERS:,} numbers",
                ours,
                "ns",
                peer="OpenDP's vector form",
                peer_value=opendp_noise(opendp, squared, float(text)),
                libraries=("opendp",),
            )
    promises()


def responses(opendp: Any, pure_ldp: Any) -> None:
    """Print the time of one masked category."""
    mechanism = RandomizedResponse(4, epsilon=1)
    answers = np.random.default_rng(1).integers(0, 4, RESPONSES, dtype=np.int32)
    persons = np.zeros(RESPONSES, dtype=np.int32)
    ours = best(lambda: mechanism.mask(answers, persons, Coins()), RESPONSES)
    what, theirs = f"randomized response, of {RESPONSES:,} answers", None
    if pure_ldp is not None:
        client = pure_ldp.DEClient(epsilon=1, d=4)
        given = (answers[:PEER_CALLS] + 1).tolist()
        theirs = best(lambda: [client.privatise(a) for a in given], PEER_CALLS)
    CARDS.add(what, ours, "ns", peer="pure-ldp", peer_value=theirs, libraries=("pure-ldp",))
    theirs = None
    if opendp is not None:
        keep = float(mechanism.keep_probability)
        measure = opendp.m.make_randomized_response([0, 1, 2, 3], keep)
        few = answers[: PEER_CALLS // 5].tolist()
        theirs = best(lambda: [measure(a) for a in few], len(few))
    CARDS.add(what, ours, "ns", peer="OpenDP per call", peer_value=theirs, libraries=("opendp",))


def opendp_noise(opendp: Any, squared: int, scale: float) -> float | None:
    """Return OpenDP's nanoseconds for one number of a vector."""
    if opendp is None:
        return None
    atoms = opendp.vector_domain(opendp.atom_domain(T="i64"))
    if squared == 1:
        measure = opendp.m.make_laplace(atoms, opendp.l1_distance(T="i64"), scale)
    else:
        measure = opendp.m.make_gaussian(atoms, opendp.l2_distance(T="i64"), scale)
    zeros = [0] * PEER_CALLS
    return best(lambda: measure(zeros), PEER_CALLS)


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


def peer(name: str) -> Any:
    """Return another library, or None with a line that it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name.partition('.')[0]} is not measured: {error}")
        return None


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
