"""Discrete Laplace reports: true sensitivity, exact loss, skipping protected by filling in."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import NO_LOSS, Micro, SimulatedCoins
from masquerade.mechanisms import DiscreteLaplace, parse_mechanism


def exponent(mechanism: DiscreteLaplace, answer: int, report: int) -> Fraction:
    """Return x with P(report | answer) proportional to exp(-x); the factor is common to all."""
    if answer == mechanism.lattice.points:
        assert isinstance(mechanism.fill, int)
        answer = mechanism.fill
    return abs(report - answer) / mechanism.scale


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [("1", "5", "1"), ("0", "1", "0.1"), ("-100", "100", "10"), ("0", "3", "3"), ("1", "7", "1/3")],
)
@pytest.mark.parametrize("epsilon", ["0.001", "0.123456789", "1", "7.5"])
@pytest.mark.parametrize("fill", [None, "midpoint", "low", "high"])
def test_exact_no_pair_of_answers_differs_by_more_than_epsilon(
    low: str, high: str, step: str, epsilon: str, fill: str | None
) -> None:
    """Over all answers, "no answer" included, and a window of reports, the log ratio is bounded.

    Log ratios are differences of fractions, so nothing is rounded. Beyond the window ratios are
    constant. The bound is reached.
    """
    mechanism = DiscreteLaplace(
        low,
        high,
        step,
        epsilon=epsilon,
        null=fill is not None,
        fill={"low": low, "high": high}.get(fill or "", fill),
    )
    points = mechanism.lattice.points
    answers = range(points + mechanism.null)
    worst = max(
        exponent(mechanism, b, y) - exponent(mechanism, a, y)
        for y in range(-3, points + 3)
        for a, b in itertools.permutations(answers, 2)
    )
    assert worst == Fraction(epsilon)
    assert mechanism.guarantee().epsilon_single == Micro.of_amount(Fraction(epsilon))


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_exact_a_fill_drawn_evenly_is_within_epsilon_of_every_answer(epsilon: str) -> None:
    """The mean of all answers' tables, to 60 digits, is within e**epsilon of each of them."""
    mechanism = DiscreteLaplace(1, 5, epsilon=epsilon, null=True, fill="uniform")
    with mpmath.workdps(60):
        q = mpmath.exp(-mpmath.mpf(mechanism.scale.denominator) / mechanism.scale.numerator)
        limit = mpmath.exp(mpmath.mpf(epsilon)) * (1 + mpmath.mpf(10) ** -50)
        for y in range(-30, 35):
            table = [q ** abs(y - x) for x in range(5)]
            mean = mpmath.fsum(table) / 5
            assert max(table) <= limit * min(table)
            assert mean <= limit * min(table)
            assert max(table) <= limit * mean


def test_noise_has_the_true_sensitivity() -> None:
    """The scale is width / epsilon in steps; known promises come out."""
    mechanism = DiscreteLaplace(1, 5, epsilon=1)
    assert mechanism.scale == 4
    promise = mechanism.guarantee(answers=7)
    assert promise.epsilon_single == promise.epsilon_event == Micro(10**6)
    assert promise.epsilon_user == Micro(7 * 10**6)
    assert promise.delta == 0
    assert promise.rho_event is promise.rho_user is None
    assert DiscreteLaplace(0, 100, 10, epsilon="0.5").scale == 20
    assert mechanism.guarantee(answers=0).epsilon_event == NO_LOSS
    third = DiscreteLaplace(1, 5, epsilon="1/3").guarantee(answers=3)
    assert (third.epsilon_event, third.epsilon_user) == (Micro(333_334), Micro(10**6))


def test_the_published_scale_is_refused_where_it_protects_too_little() -> None:
    """K / epsilon loses epsilon (K - 1) / K on unit steps, and is refused where it loses more."""
    paper = DiscreteLaplace(1, 5, epsilon=1, scale_rule="paper")
    assert paper.scale == 5
    assert paper.guarantee().epsilon_single == Micro(800_000)
    assert str(paper).endswith("epsilon=1,scale_rule=paper")
    for low, high, step, times in ((0, 100, 10, "100/11"), (0, 3, 3, "1.5"), (0, 10, 5, "10/3")):
        with pytest.raises(ParameterError, match=rf"loses {times} times epsilon 1"):
            DiscreteLaplace(low, high, step, epsilon=1, scale_rule="paper")
    fine = DiscreteLaplace(0, 1, "0.1", epsilon=1, scale_rule="paper")
    assert fine.guarantee().epsilon_single == Micro(90_910)


@given(
    points=st.integers(2, 1 << 32),
    epsilon=st.fractions(min_value="1/1000", max_value=100, max_denominator=10**18),
)
def test_prop_the_scale_is_rounded_towards_more_noise(points: int, epsilon: Fraction) -> None:
    """The scale drawn is at least width / epsilon, larger by less than 1e-6 of it, and 48 bits."""
    mechanism = DiscreteLaplace(0, points - 1, epsilon=epsilon)
    wanted = (points - 1) / epsilon
    assert wanted <= mechanism.scale <= wanted * (1 + Fraction(1, 10**6)) + Fraction(1, 10**6)
    assert max(mechanism.scale.numerator, mechanism.scale.denominator) <= 1 << 48
    assert mechanism.guarantee().epsilon_single <= Micro.of_amount(epsilon)


@given(
    points=st.integers(2, 1000),
    epsilon=st.fractions("1/100", 20, max_denominator=10**6),
    fill=st.sampled_from([None, "midpoint", "uniform", "last"]),
)
def test_prop_text_and_mechanism_are_inverse(
    points: int, epsilon: Fraction, fill: str | None
) -> None:
    """Reading a mechanism's text gives the same mechanism, with the same draws."""
    mechanism = DiscreteLaplace(
        1,
        points,
        epsilon=epsilon,
        null=fill is not None,
        fill=points if fill == "last" else fill,
    )
    again = parse_mechanism(str(mechanism))
    assert isinstance(again, DiscreteLaplace)
    assert again == mechanism
    assert again.device_form() == mechanism.device_form()


def test_the_middle_is_the_lower_of_two() -> None:
    """The default fill is the point nearest the middle, the lower one on a tie."""
    assert DiscreteLaplace(1, 5, epsilon=1, null=True).fill == 2
    assert DiscreteLaplace(1, 4, epsilon=1, null=True).fill == 1
    assert DiscreteLaplace(1, 4, epsilon=1, null=True, fill=3).fill == 2
    assert DiscreteLaplace(1, 5, epsilon=1).fill is None


def test_the_device_draws_from_the_same_numbers() -> None:
    """The device's form holds points, fill and scale."""
    assert DiscreteLaplace(1, 5, epsilon="0.3").device_form() == {
        "name": "discrete-laplace",
        "points": 5,
        "null": False,
        "fill": None,
        "scale": ["40", "3"],
    }
    filled = DiscreteLaplace(1, 5, epsilon=1, null=True).device_form()
    assert (filled["null"], filled["fill"]) == (True, 2)
    drawn = DiscreteLaplace(1, 5, epsilon=1, null=True, fill="uniform").device_form()
    assert drawn["fill"] == "uniform"


@pytest.mark.parametrize("fill", ["midpoint", "uniform", "2"])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "9"])
def test_probabilities_add_up_and_give_the_variance(fill: str, epsilon: str) -> None:
    """Each row of the table sums to 1; the second moment is the variance; the fill is the mean."""
    mechanism = DiscreteLaplace(0, 3, "0.5", epsilon=epsilon, null=True, fill=fill)
    reports = np.arange(-4000, 4001) * 0.5
    answers = np.array([0.0, 1.5, 3.0, math.nan])
    table = mechanism.probability(answers[:, None], reports)
    assert table.sum(axis=1) == pytest.approx(1, abs=1e-9)
    assert (table[1] * (reports - 1.5) ** 2).sum() == pytest.approx(mechanism.variance(), rel=1e-6)
    if fill == "uniform":
        every = mechanism.probability(np.arange(7)[:, None] * 0.5, reports)
        assert table[3] == pytest.approx(every.mean(axis=0), abs=1e-12)
    else:
        assert np.array_equal(table[3], mechanism.probability(1.5 if fill != "2" else 2.0, reports))
    alone = DiscreteLaplace(0, 3, "0.5", epsilon=epsilon)
    assert np.isnan(alone.probability(math.nan, 1.0))


def test_weak_and_strong_noise_have_a_variance() -> None:
    """Extreme scales neither overflow nor lose digits."""
    assert DiscreteLaplace(0, 1, epsilon=1 << 20).variance() == 0
    wide = DiscreteLaplace(0, 10**9, epsilon="0.001")
    assert wide.variance() == pytest.approx(2 * 10**24, rel=1e-6)


def test_skipped_answers_become_reports_like_any_other() -> None:
    """With null, a missing answer becomes a number, and reports have no missing values."""
    claims = Claims.from_frame(
        {"task": np.arange(4000), "worker": ["w"] * 4000, "value": [math.nan] * 4000}, null=True
    )
    for fill, mean in (("midpoint", 3), ("uniform", 3), (5, 5)):
        mechanism = DiscreteLaplace(1, 5, epsilon=1, null=True, fill=fill)
        reports = mechanism.randomize(claims, presence="assigned")
        assert not reports.null
        assert not np.isnan(reports.value).any()
        assert abs(reports.value.mean() - mean) < 7 * math.sqrt((mechanism.variance() + 2) / 4000)


@pytest.mark.parametrize(
    "text",
    [
        "discrete-laplace:low=1,high=5,step=1,epsilon=1",
        "discrete-laplace:low=1,high=5,step=1,epsilon=0.3,null=true,fill=midpoint",
        "discrete-laplace:low=0,high=1,step=0.25,epsilon=2,null=true,fill=uniform",
    ],
)
def test_audit_samples_follow_the_table_and_do_not_refute_the_claim(text: str) -> None:
    """Seeded reports, n = 500,000 an answer, fit the table and bound epsilon from below.

    Chi-square for each answer, and Clopper-Pearson bounds for every pair of answers and half-line;
    false alarm at most 1e-6 each. The audit would notice a claim a fifth too small.
    """
    n = 500_000
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, DiscreteLaplace)
    points = mechanism.lattice.points
    answers = [*range(points), *([points] if mechanism.null else [])]
    source = SimulatedCoins(np.random.default_rng(2_018))
    reach = math.ceil(20 * mechanism.scale)
    places = np.arange(-reach, points + reach)
    values = [*mechanism.lattice.values(np.arange(points)), math.nan]
    counts = []
    for answer in answers:
        drawn = mechanism.mask(np.full(n, answer), np.zeros(n, np.int32), source)
        wanted = n * mechanism.probability(values[answer], mechanism.lattice.values(places))
        found = np.bincount(np.clip(drawn + reach, 0, len(places) - 1), minlength=len(places))
        common = wanted >= 20
        statistic = ((found - wanted)[common] ** 2 / wanted[common]).sum()
        assert statistic < stats.chi2.isf(1e-6, common.sum() - 1)
        counts.append(found)
    at_most = np.cumsum(counts, axis=1)
    events = np.concatenate([at_most, n - at_most], axis=1)
    tail = 1e-6 / (2 * events.size)
    low = np.nan_to_num(stats.beta.ppf(tail, events, n - events + 1))
    high = np.nan_to_num(stats.beta.isf(tail, events + 1, n - events), nan=1.0)
    best = max((low[a] / high[b]).max() for a, b in itertools.permutations(range(len(answers)), 2))
    claim = mechanism.guarantee().epsilon_single.epsilon
    assert 0.8 * claim < math.log(best) <= claim


def test_audit_opendp_accounts_the_same() -> None:
    """OpenDP's map for integer Laplace noise gives the same loss for each scale."""
    dp: Any = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")
    for epsilon in ("0.25", "1", "2", "0.3"):
        mechanism = DiscreteLaplace(1, 5, epsilon=epsilon)
        theirs = dp.m.make_laplace(*space, scale=float(mechanism.scale)).map(4)
        assert mechanism.guarantee().epsilon_single.epsilon == pytest.approx(theirs, abs=1.1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0, expected above 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"epsilon": math.inf}, "epsilon is inf"),
        ({"epsilon": 1 << 21}, "epsilon is 2097152"),
        ({"epsilon": "1e-18"}, "epsilon is too small for so wide a range"),
        ({"epsilon": 1, "fill": "midpoint"}, "fill is for mechanisms with null=true"),
        ({"epsilon": 1, "null": True, "fill": 6}, "fill is 6, expected 'midpoint', 'uniform'"),
        ({"epsilon": 1, "null": True, "fill": "2.5"}, "fill is 2.5"),
        ({"epsilon": 1, "null": True, "fill": math.nan}, "fill is nan"),
        ({"epsilon": 1, "null": True, "fill": "middle"}, "fill is 'middle'"),
        ({"epsilon": 1, "scale_rule": "true"}, "scale_rule is 'true'"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    """Each parameter outside its range is an error that names it and its value."""
    with pytest.raises(ParameterError, match=message):
        DiscreteLaplace(1, 5, **parameters)
    with pytest.raises(ParameterError, match="answers is -1"):
        DiscreteLaplace(1, 5, epsilon=1).guarantee(answers=-1)
