"""Shares over several privacy levels: unbiased, with honest errors, and a warning where due."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation import estimate_shares
from masquerade.exact.arrays import on_simplex
from masquerade.mechanisms import CategoricalMechanism, RandomizedResponse, level_named
from masquerade.truth import ESTIMATORS, level_shares, likeliest_shares
from masquerade.truth.channel_view import SymbolChannel

NAMES = ("high", "medium", "low")


def masks(options: int, *, null: bool = False) -> dict[str, RandomizedResponse]:
    """Return the mechanisms of the three levels."""
    return {name: level_named(name).randomized_response(options, null=null) for name in NAMES}


def drawn(
    rng: np.random.Generator,
    mechanisms: dict[str, RandomizedResponse],
    sizes: list[int],
    held: list[list[float]],
) -> dict[str, tuple[list[int], CategoricalMechanism]]:
    """Return counts of reports of people who hold answers with the given shares."""
    groups: dict[str, tuple[list[int], CategoricalMechanism]] = {}
    for (name, mask), n, shares in zip(mechanisms.items(), sizes, held, strict=True):
        reported = SymbolChannel.of(mask).reported(np.array(shares))
        groups[name] = (rng.multinomial(n, reported).tolist(), mask)
    return groups


def test_one_level_is_the_estimate_of_that_level() -> None:
    """With one level every estimator gives what `estimate_shares` gives, intervals and all."""
    mask = masks(4)["medium"]
    shares = level_shares({"medium": ([30, 20, 10, 40], mask), "low": ([0] * 4, masks(4)["low"])})
    alone = estimate_shares([30, 20, 10, 40], mask)
    for name in ESTIMATORS:
        assert shares.estimates(name) == alone.estimates
    wide = estimate_shares([30, 20, 10, 40], mask, confidence=1 - 0.05 / 4).estimates
    assert shares.estimates(simultaneous=True) == wide
    assert shares.heterogeneity.degrees == 0
    assert shares.names == ("medium",)


def test_respondents_count_once() -> None:
    """``respondent`` is the levels' own estimates, weighted by people, and its error theirs."""
    groups = drawn(np.random.default_rng(1), masks(3), [200, 300, 100], [[0.5, 0.3, 0.2]] * 3)
    found = level_shares(groups).estimates("respondent")
    for code, estimate in enumerate(found):
        parts = [estimate_shares(*group) for group in groups.values()]
        assert estimate.value == pytest.approx(
            sum(p.n * p.estimates[code].value for p in parts) / 600
        )
    assert sum(estimate.value for estimate in found) == pytest.approx(1)
    signal = SymbolChannel.of(groups["high"][1]).signal
    assert found[0].mechanism_error > 200 / 600 * np.sqrt(0.2 / 200) / signal


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=1, max_size=3))
def test_prop_every_estimate_is_finite_and_sums_to_one(counts: list[list[int]]) -> None:
    """Whatever was reported, shares sum to 1 and intervals hold their value where possible."""
    groups = dict(
        zip(NAMES, zip(counts, masks(3).values(), strict=False), strict=False)
    )  # as many levels as lists
    if not any(map(sum, counts)):
        with pytest.raises(EmptyTable):
            level_shares(groups)
        return
    shares = level_shares(groups)
    for name in ESTIMATORS:
        found = shares.estimates(name)
        assert sum(e.value for e in found) == pytest.approx(1, abs=1e-6)
        for e, wide in zip(found, shares.estimates(name, simultaneous=True), strict=True):
            assert 0 <= wide.low <= e.low <= e.high <= wide.high <= 1
            assert e.low - 1e-9 <= min(max(e.value, 0), 1) <= e.high + 1e-9
        assert shares.top_probability(name, draws=50).sum() == pytest.approx(1)


@pytest.mark.parametrize("spread", [0.0, 0.075])
def test_coverage(spread: float) -> None:
    """Intervals of eb hold in 92 to 99 of 100 surveys while levels differ as much as allowed for.

    300 surveys of 1,500 people at a fixed seed; the benchmark has thousands.
    """
    rng = np.random.default_rng(8)
    base, sizes, hits, warned = np.array([0.3, 0.45, 0.25]), [400, 700, 400], 0, 0
    for _ in range(300):
        shift = rng.normal(0, spread, (3, 1)) * [1, -0.5, -0.5]
        held = np.clip(base + shift, 0.01, None)
        held /= held.sum(axis=1, keepdims=True)
        shares = level_shares(drawn(rng, masks(3), sizes, held.tolist()))
        estimate = shares.estimates("eb")[0]
        hits += estimate.low <= float(np.array(sizes) @ held[:, 0] / sum(sizes)) <= estimate.high
        warned += shares.heterogeneity.differ
    assert 0.92 <= hits / 300 <= 0.99
    if spread == 0:  # one of ten by design
        assert 0.04 <= warned / 300 <= 0.18


def test_the_warning_fires() -> None:
    """Where people who think otherwise choose the stronger level, it is said: 100 of 100 surveys.

    Six standard errors lie between the levels, so that one in 100 misses with a chance below 1e-4.
    """
    rng = np.random.default_rng(10)
    held = [[0.1, 0.9], [0.5, 0.5], [0.9, 0.1]]
    for _ in range(100):
        shares = level_shares(drawn(rng, masks(2), [700, 700, 700], held))
        assert shares.heterogeneity.differ


def test_the_test_of_differences_is_pearsons_without_masks() -> None:
    """For answers in clear the statistic is near Pearson's chi-squared of the table of counts."""
    clear = RandomizedResponse(3, flip_probability=0)
    table = [[300, 500, 200], [330, 460, 210], [280, 520, 200]]
    shares = level_shares(dict(zip(NAMES, ((row, clear) for row in table), strict=True)))
    pearson = stats.chi2_contingency(table)
    assert shares.heterogeneity.degrees == pearson.dof
    assert shares.heterogeneity.statistic == pytest.approx(pearson.statistic, rel=0.02)


def test_with_two_options_the_test_is_cochrans() -> None:
    """The test for several shares is Cochran's Q of the one share there is."""
    rng = np.random.default_rng(3)
    groups = drawn(rng, masks(2), [400, 300, 200], [[0.5, 0.5], [0.6, 0.4], [0.3, 0.7]])
    shares = level_shares(groups)
    held = np.clip(shares.estimates("respondent")[0].value, 0, 1)
    q = 0.0
    value, weight = [], []
    for counts, mask in groups.values():
        channel, n = SymbolChannel.of(mask), sum(counts)
        seen = channel.other + channel.signal * held
        value.append((counts[0] / n - channel.other) / channel.signal)
        weight.append(n * channel.signal**2 / (seen * (1 - seen)))
    mean = np.average(value, weights=weight)
    q = float(np.array(weight) @ (np.array(value) - mean) ** 2)
    assert shares.heterogeneity.statistic == pytest.approx(q, rel=0.01)
    assert shares.heterogeneity.degrees == 2


def test_a_known_pool() -> None:
    """Levels count as in the pool, and a level that all answered has no error of sampling."""
    clear = RandomizedResponse(2, flip_probability=0)
    groups = {"a": ([30, 70], clear), "b": ([40, 10], clear)}
    shares = level_shares(groups, pool={"a": 100, "b": 300})
    [first, _] = shares.estimates("respondent")
    assert first.value == pytest.approx(0.25 * 0.3 + 0.75 * 0.8)
    held = (150 * first.value + 1.96**2 / 2) / (150 + 1.96**2)
    expected = 0.75**2 * held * (1 - held) / 50 * (1 - 50 / 300)
    assert first.standard_error**2 == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("null", [False, True])
def test_means_are_those_of_the_shares(null: bool) -> None:
    """The respondent mean is the mean of the respondent shares, of those who answered."""
    rng = np.random.default_rng(2)
    held = [0.1, 0.2, 0.3, 0.2, 0.2] if not null else [0.1, 0.2, 0.2, 0.15, 0.1, 0.25]
    shares = level_shares(drawn(rng, masks(5, null=null), [300, 400, 200], [held] * 3))
    mean = shares.mean([1, 2, 3, 4, 5])
    values = [e.value for e in shares.estimates("respondent")][:5]
    expected = sum(s * v for s, v in enumerate(values, 1)) / sum(values)
    assert mean.estimate("respondent").value == pytest.approx(expected)
    for name in ESTIMATORS:
        estimate = mean.estimate(name)
        assert 1 <= estimate.low <= estimate.value <= estimate.high <= 5
        assert abs(estimate.value - 3) < 6 * estimate.standard_error
    assert mean.at_level("low").mechanism_error < mean.at_level("high").mechanism_error


def test_a_mean_of_nobody_is_unknown() -> None:
    """Where nobody seems to have answered, the mean is not a number and its interval is all."""
    mask = masks(5, null=True)["medium"]
    mean = level_shares({"medium": ([0, 0, 0, 0, 0, 40], mask)}).mean([1, 2, 3, 4, 5])
    assert np.isnan(mean.estimate().value)
    assert (mean.estimate().low, mean.estimate().high) == (1, 5)
    assert np.isnan(mean.at_level("medium").value)
    assert np.isnan(mean.sensitivity().value)


def log_likelihood(
    held: np.ndarray, groups: dict[str, tuple[list[int], CategoricalMechanism]]
) -> float:
    """Return the logarithm of the likelihood of shares, written out."""
    total = 0.0
    for counts, mask in groups.values():
        seen = np.array(counts) > 0
        reported = SymbolChannel.of(mask).reported(held)
        total += float(np.array(counts)[seen] @ np.log(np.maximum(reported[seen], 1e-300)))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_the_likeliest_shares_are_a_maximum(seed: int) -> None:
    """Expectation and maximisation ends there, and a general optimizer finds nothing likelier."""
    rng = np.random.default_rng(seed)
    held = rng.dirichlet(np.ones(4) * 0.5)
    groups = drawn(rng, masks(4), [80, 60, 90], [held.tolist()] * 3)
    found = likeliest_shares(list(groups.values()))
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    n = sum(sum(counts) for counts, _ in groups.values())
    step = np.zeros(4)
    for counts, mask in groups.values():
        channel = SymbolChannel.of(mask)
        ratio = np.array(counts) / channel.reported(found)
        step += channel.other * ratio.sum() + channel.signal * ratio
    assert found * step / n == pytest.approx(found, abs=1e-8)
    best = optimize.minimize(
        lambda x: -log_likelihood(np.exp(x) / np.exp(x).sum(), groups), np.zeros(4)
    )
    assert log_likelihood(found, groups) >= -best.fun - 1e-7


def test_the_likeliest_shares_of_answers_in_clear() -> None:
    """Without masks they are the shares of answers, also where nobody gave one."""
    clear = RandomizedResponse(3, flip_probability=0)
    assert likeliest_shares([([5, 0, 15], clear)]).tolist() == pytest.approx([0.25, 0, 0.75])
    with pytest.raises(EmptyTable):
        likeliest_shares([([0, 0, 0], clear)])


def test_the_top_option() -> None:
    """A clear winner is on top in every draw, two equals in half; the same again every time."""
    groups = drawn(np.random.default_rng(4), masks(3), [900, 900, 900], [[0.8, 0.1, 0.1]] * 3)
    shares = level_shares(groups)
    assert shares.top_probability()[0] > 0.999
    assert shares.top_probability().tolist() == shares.top_probability().tolist()
    even = level_shares({"low": ([50, 50], masks(2)["low"])})
    assert even.top_probability()[0] == pytest.approx(0.5, abs=0.04)


def test_the_top_option_agrees_with_the_interval() -> None:
    """For two options in clear it is the normal probability that the first has most."""
    clear = RandomizedResponse(2, flip_probability=0)
    chance = level_shares({"a": ([54, 46], clear)}).top_probability(draws=40_000)[0]
    n = 100
    exact = stats.binom.sf(50, n, 0.54) + 0.5 * stats.binom.pmf(50, n, 0.54)
    assert chance == pytest.approx(exact, abs=0.015)


def test_sensitivity_allows_for_more() -> None:
    """Allowing for twice the difference, eb moves to respondent and its interval widens."""
    groups = drawn(
        np.random.default_rng(9), masks(2), [300, 300, 300], [[0.3, 0.7], [0.35, 0.65], [0.4, 0.6]]
    )
    shares = level_shares(groups)
    eb, wider, respondent = (
        shares.estimates("eb")[0],
        shares.sensitivity()[0],
        shares.estimates("respondent")[0],
    )
    assert wider.standard_error >= eb.standard_error
    assert abs(wider.value - respondent.value) <= abs(eb.value - respondent.value)


def test_on_simplex() -> None:
    """The nearest shares are found: those of a general optimizer."""
    given_shares = np.array([0.9, 0.4, -0.3, 0.05])
    found = on_simplex(given_shares)
    best = optimize.minimize(
        lambda x: float(((x - given_shares) ** 2).sum()),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    assert found == pytest.approx(best.x, abs=1e-6)


def test_what_cannot_be_combined_is_refused() -> None:
    """Counts that do not fit, masks of different questions and useless masks are errors."""
    mask = masks(3)["low"]
    with pytest.raises(ParameterError, match="counts are"):
        level_shares({"low": ([1, 2], mask)})
    with pytest.raises(ParameterError, match="different questions"):
        level_shares({"low": ([1, 2, 3], mask), "high": ([1, 2], masks(2)["high"])})
    with pytest.raises(ParameterError, match="nothing can be"):
        level_shares({"x": ([1, 2], RandomizedResponse(2, flip_probability=0.5))})
    with pytest.raises(ParameterError, match="confidence"):
        level_shares({"low": ([1, 2, 3], mask)}, confidence=1)
    with pytest.raises(ParameterError, match="estimator"):
        level_shares({"low": ([1, 2, 3], mask)}).estimates("mean")
    with pytest.raises(ParameterError, match="scores"):
        level_shares({"low": ([1, 2, 3], mask)}).mean([1, 2])
