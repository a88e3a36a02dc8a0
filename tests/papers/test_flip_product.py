"""The product of flip probabilities: closed forms against quadrature and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from masquerade.errors import ParameterError
from masquerade_papers.two_layer.error_bounds import FlipProduct


@pytest.mark.parametrize(("workers", "chance"), [(1, 0.5), (5, 0.732), (10, 0.837), (50, 0.992)])
def test_the_chance_to_beat_one_layer_has_its_golden_values(workers: int, chance: float) -> None:
    """P(product <= (high / 2)^n) does not depend on high."""
    for high in (0.3, 1.0):
        product = FlipProduct(workers, high)
        assert product.below_one_layer == pytest.approx(chance, abs=6e-4)
        assert float(product.distribution(product.mean)) == pytest.approx(product.below_one_layer)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("high", [0.3, 1.0])
def test_density_distribution_and_mean_agree_by_quadrature(workers: int, high: float) -> None:
    """The density integrates to the distribution, and x times it to the mean."""
    product = FlipProduct(workers, high)
    top = high**workers

    def in_logs(drop: float, power: int) -> float:  # x = top exp(-drop), where nothing is steep
        x = top * math.exp(-drop)
        return float(product.density(x)) * x ** (power + 1)

    for x in (0.03 * top, 0.4 * top, 0.9 * top):
        below, _ = quad(in_logs, math.log(top / x), 80, args=(0,), epsabs=1e-12)
        assert float(product.distribution(x)) == pytest.approx(below, abs=1e-9)
    mean, _ = quad(in_logs, 0, 80, args=(1,), epsabs=1e-14)
    assert product.mean == pytest.approx(mean, rel=1e-8)


def test_draws_follow_the_distribution() -> None:
    """20 000 products of four draws pass a Kolmogorov-Smirnov test at a level of 1e-6."""
    rng = np.random.default_rng(20)
    draws = rng.uniform(0, 0.6, size=(20_000, 4)).prod(axis=1)
    product = FlipProduct(4, 0.6)
    assert kstest(draws, lambda x: product.distribution(x)).pvalue > 1e-6
    assert draws.mean() == pytest.approx(product.mean, rel=0.1)


def test_quantiles_undo_the_distribution() -> None:
    """The distribution of a quantile is its probability; the ends are 0 and high^n."""
    product = FlipProduct(7, 0.4)
    chances = np.array([0.01, 0.3, 0.5, 0.99])
    assert product.distribution(product.quantile(chances)) == pytest.approx(chances, rel=1e-9)
    assert product.quantile([0, 1]).tolist() == pytest.approx([0, 0.4**7])
    assert float(product.quantile(0.5)) < product.mean


def test_outside_its_range_there_is_nothing() -> None:
    """Below 0 and above high^n the density is 0 and the distribution 0 or 1."""
    product = FlipProduct(2, 0.5)
    assert product.density([-0.1, 0.26, 1]).tolist() == [0, 0, 0]
    assert product.distribution([-0.1, 0, 0.25, 1]).tolist() == [0, 0, 1, 1]
    assert float(product.density(0)) == math.inf
    assert FlipProduct(1, 0.5).density([-1, 0, 0.5, 0.6]).tolist() == pytest.approx([0, 2, 2, 0])


@pytest.mark.parametrize(
    ("workers", "high", "message"),
    [
        (0, 0.5, "workers is 0"),
        (1.5, 0.5, "workers is 1.5"),
        (2, 0, "high is 0"),
        (2, 2, "high is 2"),
    ],
)
def test_bad_parameters_are_refused(workers: int, high: float, message: str) -> None:
    """The number of workers is whole and positive, the end of the range above 0 and at most 1."""
    with pytest.raises(ParameterError, match=message):
        FlipProduct(workers, high)
