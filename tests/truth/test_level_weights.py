"""Three ways to weigh privacy levels: what each is, and what its interval holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from masquerade.errors import ParameterError
from masquerade.surveys.survey import EB, ESTIMATORS, IVW, RESPONDENT
from masquerade.truth.level_weights import (
    Heterogeneity,
    LevelValues,
    cochran,
    combine,
    pool_counts,
)

SHARES = np.array([0.137, 0.244, 0.389, 0.229])
NOISE = np.array([0.0, 3.0, 6.0, 12.0])


def one_number(value: list[float], variance: list[float], n: list[float]) -> LevelValues:
    """Return one number at each level, the pool having a million times as many people."""
    counts = np.array(n)
    column = np.array(variance)[:, None]
    return LevelValues(
        counts, np.array(value)[:, None], column / 4, column * 3 / 4, pool=1e6 * counts
    )


def test_the_formulas() -> None:
    """Each estimate and variance is that of the formulas, written out with matrices."""
    m, v, n = np.array([2.0, 3.5, 3.0]), np.array([0.01, 0.09, 0.3]), np.array([20.0, 50.0, 30.0])
    found = combine(one_number(m.tolist(), v.tolist(), n.tolist()), width=4)
    w = n / n.sum()
    assert found[RESPONDENT].value[0] == pytest.approx(w @ m)
    assert found[IVW].value[0] == pytest.approx((m / v).sum() / (1 / v).sum())
    q = ((m - found[IVW].value[0]) ** 2 / v).sum()
    inverse = 1 / v
    moments = (q - 2) / (inverse.sum() - (inverse**2).sum() / inverse.sum())
    between = max(moments, 0.3**2)
    pull = 1 / (v + between)
    kept = between / (between + v)
    draw = np.diag(kept) + np.outer(1 - kept, pull) / pull.sum()
    c = w @ draw
    assert found[EB].weights == pytest.approx(c)
    assert found[EB].value[0] == pytest.approx(c @ m)
    estimate = found[EB].estimate(quantile=1.96)
    total = (c**2 * v).sum() + ((w - c) ** 2).sum() * between
    assert estimate.standard_error**2 == pytest.approx(total)
    assert estimate.sampling_error**2 == pytest.approx((c**2 * v).sum() / 4)
    assert estimate.mechanism_error**2 == pytest.approx((c**2 * v).sum() * 3 / 4)
    assert estimate.level_error**2 == pytest.approx(((w - c) ** 2).sum() * between)
    assert found[IVW].estimate(quantile=1).standard_error ** 2 == pytest.approx(1 / inverse.sum())


def test_weights_sum_to_one_and_lie_between() -> None:
    """Weights of every estimator sum to 1, those of eb are between the other two's."""
    found = combine(one_number([1, 2, 3, 4], [0.01, 0.1, 0.5, 2], [137, 244, 389, 229]), width=4)
    for name in ESTIMATORS:
        assert found[name].weights.sum() == pytest.approx(1)
    respondent, ivw, eb = (found[name].weights[0] for name in ESTIMATORS)
    assert respondent < eb < ivw


def test_one_level_is_itself() -> None:
    """With one level all three estimates are that level's, with nothing added."""
    levels = one_number([2.5], [0.04], [100])
    for found in combine(levels, width=4).values():
        estimate = found.estimate(quantile=2, low=1, high=5)
        assert estimate.value == pytest.approx(2.5)
        assert estimate.standard_error == pytest.approx(0.2)
        assert [estimate.low, estimate.high] == pytest.approx([2.1, 2.9])
    assert cochran(levels).degrees == 0
    assert not cochran(levels).differ


def test_what_adds_up_at_each_level_adds_up_over_all() -> None:
    """Several numbers that sum to 1 at each level sum to 1 over all, by each estimator."""
    value = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [-0.2, 1.3, -0.1]])
    n = np.array([30.0, 40.0, 50.0])
    levels = LevelValues(n, value, 0.2 / n[:, None] * np.ones(3), np.ones((3, 3)) / n[:, None])
    for found in combine(levels).values():
        assert found.value.sum() == pytest.approx(1)


def test_a_level_of_the_pool_where_nobody_answered() -> None:
    """It counts in eb at the common number, with its error; the others are of those who did."""
    levels = LevelValues(
        np.array([50.0, 0.0]),
        np.array([[3.0], [0.0]]),
        np.array([[0.02], [0.0]]),
        np.array([[0.0], [0.0]]),
        pool=np.array([100.0, 100.0]),
    )
    found = combine(levels, width=4)
    assert [found[name].value[0] for name in ESTIMATORS] == [3, 3, 3]
    assert found[EB].level[0] == pytest.approx((0.5**2 + 0.5**2) * 0.3**2)
    assert cochran(levels).degrees == 0


def test_cochran_is_chi_squared() -> None:
    """The probability is that of scipy's chi-squared; equal levels have 1."""
    test = cochran(one_number([2, 3, 3.5], [0.1, 0.2, 0.4], [10, 10, 10]))
    weight = np.array([10, 5, 2.5])
    mean = weight @ [2, 3, 3.5] / weight.sum()
    q = weight @ (np.array([2, 3, 3.5]) - mean) ** 2
    assert test.degrees == 2
    assert test.statistic == pytest.approx(q)
    assert test.probability == pytest.approx(stats.chi2.sf(q, 2))
    assert cochran(one_number([2, 2], [0.1, 0.1], [10, 10])).probability == 1
    assert Heterogeneity.of(3, 0).probability == 1


@pytest.mark.parametrize("pool", [{"a": 1}, {"a": 1, "b": -1}, {"a": 0, "b": 0}])
def test_a_pool_must_fit(pool: dict[str, int]) -> None:
    """A pool of other levels, of nobody or of fewer than nobody is refused."""
    with pytest.raises(ParameterError, match="the pool is"):
        pool_counts(["a", "b"], pool)


def test_nobody_anywhere_is_refused() -> None:
    """Levels without a single person give an error, not a number."""
    nothing = np.zeros((1, 1))
    with pytest.raises(ParameterError, match="nobody answered"):
        combine(LevelValues(np.zeros(1), nothing, nothing, nothing))


@pytest.mark.parametrize(
    ("n", "spread", "ivw_covers"),
    [(1000, 0.0, (0.92, 0.98)), (1000, 0.3, (0.3, 0.6)), (10_000, 0.3, (0.05, 0.3))],
)
def test_coverage_of_means(n: int, spread: float, ivw_covers: tuple[float, float]) -> None:
    """Intervals of eb and respondent hold, those of ivw fail where levels and opinions differ.

    1,500 made-up surveys; a coverage of 0.95 gives less than 0.92 of 1,500 with a chance of 5e-7.
    """
    rng = np.random.default_rng(5)
    size = n * SHARES
    hits = dict.fromkeys(ESTIMATORS, 0)
    for _ in range(1500):
        level = rng.normal(0, spread, 4)
        value = level + rng.normal(0, np.sqrt((1 + NOISE**2) / size))
        levels = LevelValues(
            size,
            value[:, None],
            (1 / size)[:, None],
            (NOISE**2 / size)[:, None],
            pool=1e9 * SHARES,
        )
        truth = float(SHARES @ level / SHARES.sum())
        for name, found in combine(levels, width=4).items():
            estimate = found.estimate(quantile=1.959964)
            hits[name] += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits[EB] / 1500 <= 0.99
    assert 0.92 <= hits[RESPONDENT] / 1500 <= 0.98
    assert ivw_covers[0] <= hits[IVW] / 1500 <= ivw_covers[1]


def test_the_parts_of_the_error_add_up() -> None:
    """Squares of the parts sum to that of the whole, where no pool is known too."""
    levels = LevelValues(
        np.array([20.0, 80.0]),
        np.array([[1.0], [4.0]]),
        np.array([[0.05], [0.01]]),
        np.array([[0.0], [0.4]]),
    )
    for found in combine(levels, width=4).values():
        e = found.estimate(quantile=1)
        parts = e.sampling_error**2 + e.mechanism_error**2 + e.level_error**2
        assert e.standard_error == pytest.approx(math.sqrt(parts))
    assert combine(levels, width=4)[RESPONDENT].level[0] > 0
    assert combine(levels, width=4)[IVW].level[0] == 0
