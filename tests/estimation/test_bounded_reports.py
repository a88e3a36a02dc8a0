"""The count of one noisy report is bounded, right on average, and costs little."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masquerade.estimation import BoundedReport
from masquerade.estimation.bounded_reports import BIAS, NEAREST_CUT
from masquerade.mechanisms import LEVELS, DiscreteGaussian

MASKS = [
    *(DiscreteGaussian(0, 40, 1, sigma=40 / level.mu) for level in LEVELS),
    *(DiscreteGaussian(1, 5, 1, sigma=4 / level.mu) for level in LEVELS),
    DiscreteGaussian(0, 1, 1, sigma=2),
    DiscreteGaussian(0, 100, 1, sigma=5),
    DiscreteGaussian(-3, 3, "0.5", sigma="0.01"),
    DiscreteGaussian(0, 2**31, 1, sigma=2**33),
]
SIZES = (1, 20, 205, 3000, 100_000)


def distribution(mechanism: DiscreteGaussian) -> tuple[np.ndarray, np.ndarray]:
    """Return noise on the question's scale and its probabilities, summed another way."""
    sigma, step = float(mechanism.sigma), float(mechanism.lattice.step)
    jump = max(1, int(sigma / step / 500))
    steps = jump * np.arange(-math.ceil(9 * sigma / step / jump) - 1, 0)
    steps = np.concatenate([steps, [0], -steps[::-1]])
    noise = step * steps
    weight = np.exp(-(noise**2) / (2 * sigma**2))
    return noise, weight / weight.sum()


@pytest.mark.parametrize("mechanism", MASKS, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_exact_values_are_right_on_average(mechanism: DiscreteGaussian, n: int) -> None:
    """Every answer's value is right within 1/20 of a standard error; ends and middle to 1e-4."""
    bounded = BoundedReport.of(mechanism, n)
    noise, chance = distribution(mechanism)
    sigma = float(mechanism.sigma)
    low, high = float(mechanism.lattice.low), float(mechanism.lattice.high)
    points = np.unique(np.rint(np.linspace(0, mechanism.lattice.points - 1, 41)))
    answers = low + float(mechanism.lattice.step) * points
    value = bounded.values(answers[:, None] + noise)
    mean = value @ chance
    error = math.sqrt(mechanism.variance() / n)
    assert np.abs(mean - answers).max() <= BIAS * error * 1.05 + 2e-5 * sigma
    assert mean[[0, -1]] == pytest.approx([low, high], abs=1e-4 * (sigma + high - low))
    assert bounded.bias <= BIAS * error
    variance = (value**2) @ chance - mean**2
    scale = mechanism.variance()
    assert variance.max() <= bounded.variance * 1.001 + 1e-6 * scale
    assert np.abs(value - answers[:, None]).max() <= bounded.most * (1 + 1e-9)


def test_bounding_costs_little() -> None:
    """At every level the variance grows by a twelfth at most, less the more people there are."""
    for mechanism in MASKS[:6]:
        efficiency = [BoundedReport.of(mechanism, n).efficiency for n in SIZES]
        assert min(efficiency) > 0.92
        assert efficiency == sorted(efficiency)


@pytest.mark.parametrize("mechanism", MASKS[:3], ids=str)
def test_no_report_counts_more_than_one_at_the_cut(mechanism: DiscreteGaussian) -> None:
    """A report of a million counts like one at the cut, which is a sigma or a few outside."""
    bounded = BoundedReport.of(mechanism, 205)
    assert bounded.cut >= NEAREST_CUT
    edge = bounded.middle + bounded.reach
    assert bounded.values([1e6, edge]).tolist() == [bounded.values(edge)] * 2
    assert bounded.most < 3.0 * float(mechanism.sigma)
