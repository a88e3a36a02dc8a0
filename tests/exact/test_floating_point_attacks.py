"""Floating-point noise gives answers away by its last bits; whole-number noise cannot.

The attacks of Mironov ("On significance of the least significant bits for differential privacy",
CCS 2012), on numpy's own noise and on ours.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from masquerade.exact import SimulatedCoins
from masquerade.mechanisms import DiscreteGaussian, DiscreteLaplace, LatticeMechanism

N = 1_000_000
LOW, HIGH = 1.0, 5.0
GRID = 1 << 53
FINE = 2.0**-51


def numpy_laplace(uniform: float, answer: float, scale: float) -> float:
    """Return the value of numpy's ``Generator.laplace`` for a uniform number."""
    if uniform >= 0.5:
        return answer - scale * math.log(2.0 - uniform - uniform)
    return answer + scale * math.log(uniform + uniform)


def reachable(report: float, answer: float, scale: float) -> bool:
    """Return whether any of the 2**53 uniform numbers turns this answer into this report."""
    tail = math.exp(-abs(report - answer) / scale) / 2
    near = round((1 - tail if report >= answer else tail) * GRID)
    return any(
        numpy_laplace(k / GRID, answer, scale) == report
        for k in range(max(near - 8, 1), min(near + 9, GRID))
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_numpy_laplace_noise_gives_answers_away(epsilon: float) -> None:
    """Most reports rule out the answer that was not given, for certain, and never the one given.

    Of 3,000 reports of 1 with Laplace(4 / epsilon) noise, more than half cannot come from 5.
    """
    scale = (HIGH - LOW) / epsilon
    reports = np.random.default_rng(19).laplace(LOW, scale, 3_000).tolist()
    assert all(reachable(report, LOW, scale) for report in reports)
    identified = sum(not reachable(report, HIGH, scale) for report in reports)
    assert identified > len(reports) / 2


def test_numpy_gaussian_noise_gives_answers_away() -> None:
    """Close to 0, reports of 5 are multiples of 2**-51, and half of the reports of 1 are not."""
    rng = np.random.default_rng(5)
    share = {}
    for answer in (LOW, HIGH):
        reports = answer + 3.0 * rng.standard_normal(N)
        close = reports[np.abs(reports) < 0.25]
        assert close.size > 1_000
        share[answer] = float(np.mean(close % FINE == 0))
    assert share[HIGH] == 1
    assert 0.4 < share[LOW] < 0.6


def drawn(mechanism: LatticeMechanism, answer: float) -> NDArray[np.float64]:
    """Return a million reports of an answer, on the question's scale."""
    index = mechanism.lattice.indices(np.full(N, answer))
    source = SimulatedCoins(np.random.default_rng(int(answer)))
    return mechanism.lattice.values(mechanism.mask(index, np.zeros(N, np.int32), source))


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplace(1, 5, epsilon="0.1"),
        DiscreteLaplace(1, 5, epsilon=1),
        DiscreteLaplace(1, 5, epsilon=10),
        DiscreteLaplace(1, 5, "0.001", epsilon=1),
        DiscreteGaussian(1, 5, sigma=3),
        DiscreteGaussian(1, 5, "0.001", sigma=12),
    ],
    ids=str,
)
def test_whole_number_noise_gives_no_answer_away(mechanism: LatticeMechanism) -> None:
    """Of a million reports of each end, none rules out the other end, by reach or by last bits.

    Each report is the float nearest to a lattice point, whatever the answer was, and each point has
    a probability above 0 from either end.
    """
    for answer, other in ((LOW, HIGH), (HIGH, LOW)):
        reports = drawn(mechanism, answer)
        steps = np.rint(mechanism.lattice.offsets(reports)).astype(np.int64)
        assert np.array_equal(mechanism.lattice.values(steps), reports)
        identified = np.count_nonzero(mechanism.probability(other, reports) == 0)
        assert identified == 0


def test_the_last_bits_of_our_reports_say_nothing() -> None:
    """The attack on multiples of 2**-51 finds the same among reports of 1 and of 5: all are."""
    for answer in (LOW, HIGH):
        reports = drawn(DiscreteGaussian(1, 5, sigma=3), answer)
        assert np.all(reports % FINE == 0)
