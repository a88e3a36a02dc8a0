"""Quantised response: rounding keeps the mean, and the mask keeps the promise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.mechanisms.given_words import GivenWords

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import Micro, SimulatedCoins
from masquerade.mechanisms import (
    QuantisedResponse,
    RandomizedResponse,
    choose_levels,
    parse_mechanism,
)


def exp_from_below(exponent: Fraction) -> Fraction:
    """Return a fraction just below e**exponent: a partial sum of positive terms."""
    total = term = Fraction(1)
    for k in range(1, 60):
        term = term * exponent / k
        total += term
    return total


@pytest.mark.parametrize(("points", "levels"), [(2, 2), (5, 2), (5, 3), (5, 5), (11, 4), (21, 5)])
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "2.5", "7"])
def test_exact_the_whole_table_keeps_the_epsilon_asked_for(
    points: int, levels: int, null: bool, epsilon: str
) -> None:
    """Over every pair of answers, "no answer" included, no ratio is above e**epsilon.

    Proved in fractions, by a sum below it; the table's loss is that of randomized response on the
    levels.
    """
    mechanism = QuantisedResponse(1, points, epsilon=epsilon, levels=levels, null=null)
    channel = mechanism.channel()
    assert len(channel.table) == points + null
    assert all(len(row) == levels + null and sum(row) == 1 for row in channel.table)
    worst = channel.worst_ratio()
    assert isinstance(worst, Fraction)
    assert worst <= exp_from_below(Fraction(epsilon))
    inner = RandomizedResponse(levels + null, epsilon=epsilon)
    assert worst == inner.channel().worst_ratio()
    assert mechanism.guarantee(answers=3) == inner.guarantee(answers=3)
    assert (
        channel.epsilon()
        == mechanism.guarantee().epsilon_single
        == Micro.of_amount(Fraction(epsilon))
    )


@pytest.mark.parametrize(("points", "levels"), [(5, 3), (11, 4), (201, 5)])
def test_exact_rounding_keeps_every_answer_on_average(points: int, levels: int) -> None:
    """The mean level of each answer is the answer, in fractions."""
    mechanism = QuantisedResponse(0, points - 1, epsilon=1, levels=levels)
    for answer, row in enumerate(mechanism.rounding()):
        assert sum(row) == 1
        mean = sum(Fraction(points - 1, levels - 1) * j * share for j, share in enumerate(row))
        assert mean == answer


@pytest.mark.parametrize(("points", "levels"), [(4, 3), (6, 3), (7, 4)])
def test_exact_counting_all_draws_gives_the_table(points: int, levels: int) -> None:
    """Over every rounding draw and a mask that keeps, levels come up as the table says."""
    mechanism = QuantisedResponse(0, points - 1, epsilon=40, levels=levels, null=True)
    steps, keep = points - 1, mechanism.grid[1] - 1
    for answer in range(points + 1):
        words = [*range(steps), *([keep] * steps)]
        reports = mechanism.mask(
            np.full(steps, answer), np.zeros(steps, np.int32), GivenWords(words)
        )
        shares = tuple(Fraction(int((reports == y).sum()), steps) for y in range(levels + 1))
        assert shares == mechanism.rounding()[answer]


def test_all_rounding_is_drawn_before_all_masks() -> None:
    """A batch takes a rounding word for each answer, then a response word for each."""
    mechanism = QuantisedResponse(0, 200, epsilon=2, levels=5, null=True)
    source = GivenWords([0, 199, 7, *([mechanism.grid[1] - 1] * 3)])
    reports = mechanism.mask(np.array([1, 1, 201]), np.zeros(3, np.int32), source)
    assert reports.tolist() == [1, 0, 5]
    assert source.asked == [3, 3]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize(("points", "levels"), [(2, 2), (9, 3), (11, 4), (201, 5), (201, 201)])
@pytest.mark.parametrize("epsilon", ["0.3", "2", "6"])
def test_the_variance_is_the_largest_of_all_answers(
    null: bool, points: int, levels: int, epsilon: str
) -> None:
    """The worst case over answers equals that of the whole table, and the estimate is unbiased."""
    mechanism = QuantisedResponse(
        -3, -3 + 0.5 * (points - 1), 0.5, epsilon=epsilon, levels=levels, null=null
    )
    other, total = mechanism.grid
    signal = float(1 - Fraction(mechanism.symbols * other, total))
    answers = mechanism.lattice.values(np.arange(points))
    middle = (answers[0] + answers[-1]) / 2
    values = np.append(mechanism.level_values, [middle] * null)
    estimate = middle + (values - middle) / signal
    reports = np.append(mechanism.level_values, [math.nan] * null)
    table = mechanism.probability(answers[:, None], reports)
    assert table @ estimate == pytest.approx(answers, abs=1e-9)
    spread = table @ estimate**2 - answers**2
    assert mechanism.variance() == pytest.approx(spread.max(), rel=1e-6)


@pytest.mark.parametrize(
    ("points", "levels", "null"), [(5, 3, True), (11, 4, False), (21, 5, True)]
)
def test_probabilities_are_those_of_the_table(points: int, levels: int, null: bool) -> None:
    """The float probabilities are the fractions of the table, "no answer" included."""
    mechanism = QuantisedResponse(1, points, epsilon="1.3", levels=levels, null=null)
    answers = np.append(mechanism.lattice.values(np.arange(points)), [math.nan] * null)
    reports = np.append(mechanism.level_values, [math.nan] * null)
    ours = mechanism.probability(answers[:, None], reports)
    assert ours == pytest.approx(mechanism.channel().matrix(), abs=1e-12)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_five_levels_tell_most_up_to_epsilon_two(rate: float) -> None:
    """With 201 answers, five levels are best at epsilon 0.5 to 2, and five to nine at 4."""
    for epsilon in (0.5, 1, 2):
        assert choose_levels(epsilon, 201, rate) == 5
    assert choose_levels(4, 201, rate) in (5, 7, 9)
    for epsilon in (0.1, 0.5, 1, 2, 4, 8):
        assert choose_levels(epsilon, 201, rate) > 2


@given(points=st.integers(2, 10**9), epsilon=st.floats(0.01, 50), rate=st.floats(0.001, 1))
def test_prop_the_levels_chosen_are_levels(points: int, epsilon: float, rate: float) -> None:
    """Every range has at least two levels and never more than answers or nine."""
    assert 2 <= choose_levels(epsilon, points, rate) <= min(points, 9)


@given(
    points=st.integers(2, 1 << 20),
    epsilon=st.fractions("1/100", 20, max_denominator=10**6),
    levels=st.integers(2, 100),
    null=st.booleans(),
)
def test_prop_text_and_mechanism_are_inverse(
    points: int, epsilon: Fraction, levels: int, null: bool
) -> None:
    """Reading a mechanism's text gives the same mechanism, with the same draws."""
    mechanism = QuantisedResponse(
        0, points - 1, epsilon=epsilon, levels=min(levels, points), null=null
    )
    again = parse_mechanism(str(mechanism))
    assert isinstance(again, QuantisedResponse)
    assert again == mechanism
    assert again.device_form() == mechanism.device_form()


def test_the_text_names_the_levels_chosen() -> None:
    """Levels chosen automatically stand in the text as a number, so that they never change."""
    text = "quantised-response:low=-100,high=100,step=1,epsilon=2,levels=auto,null=true"
    assert str(parse_mechanism(text)) == text.replace("auto", "5")
    assert QuantisedResponse(1, 2, epsilon=1).levels == 2


def test_the_device_draws_from_the_same_numbers() -> None:
    """The device's form holds points, levels, and the grid of randomized response on them."""
    mechanism = QuantisedResponse(-100, 100, epsilon=2, levels=5, null=True)
    inner = RandomizedResponse(5, epsilon=2, null=True).device_form()
    assert mechanism.device_form() == {
        **inner,
        "name": "quantised-response",
        "points": 201,
        "levels": 5,
        "null": True,
        "symbols": 6,
    }


def test_reports_are_levels_or_no_answer() -> None:
    """Reports are claims with levels as values; "no answer" comes up for given answers too."""
    claims = Claims.from_frame(
        {"task": np.arange(3000), "worker": ["w"] * 3000, "value": [-100.0, 33.0, 100.0] * 1000}
    )
    reports = QuantisedResponse(-100, 100, epsilon=1, levels=5, null=True).simulate(
        claims, np.random.default_rng(1), presence="assigned"
    )
    assert reports.null
    found = {None if math.isnan(value) else value for value in reports.value.tolist()}
    assert found == {-100.0, -50.0, 0.0, 50.0, 100.0, None}
    plain = QuantisedResponse(-100, 100, epsilon=1, levels=5).randomize(claims)
    assert not plain.null
    assert not np.isnan(plain.value).any()


@pytest.mark.parametrize(
    ("points", "levels", "null"), [(5, 3, True), (11, 4, False), (201, 5, True)]
)
def test_audit_samples_follow_the_table_and_do_not_refute_the_claim(
    points: int, levels: int, null: bool
) -> None:
    """Seeded reports, n = 300,000 an answer, fit the table and bound epsilon from below.

    Chi-square over the rows, and Clopper-Pearson bounds for every pair of answers and report; false
    alarm at most 1e-6 for each. The audit would notice a claim a fifth too small.
    """
    n = 300_000
    mechanism = QuantisedResponse(0, points - 1, epsilon="1.5", levels=levels, null=null)
    answers = sorted({0, 1, points // 3, points - 1, *([points] if null else [])})
    source = SimulatedCoins(np.random.default_rng(2_018))
    counts = np.array(
        [
            np.bincount(
                mechanism.mask(np.full(n, a), np.zeros(n, np.int32), source),
                minlength=mechanism.symbols,
            )
            for a in answers
        ]
    )
    wanted = n * mechanism.channel().matrix()[answers]
    statistic = ((counts - wanted) ** 2 / wanted).sum()
    assert statistic < stats.chi2.isf(1e-6, len(answers) * (mechanism.symbols - 1))
    tail = 1e-6 / (2 * counts.size)
    low = stats.beta.ppf(tail, counts, n - counts + 1)
    high = stats.beta.isf(tail, counts + 1, n - counts)
    best = max((low[a] / high[b]).max() for a, b in itertools.permutations(range(len(answers)), 2))
    assert 0.8 * 1.5 < math.log(best) <= mechanism.guarantee().epsilon_single.epsilon


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0, expected above 0"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"epsilon": math.inf}, "epsilon is inf"),
        ({"epsilon": 1, "levels": 1}, "levels is 1, expected 2 to 5"),
        ({"epsilon": 1, "levels": 6}, "levels is 6, expected 2 to 5"),
        ({"epsilon": 1, "levels": "many"}, "levels is 'many'"),
        ({"epsilon": 1, "levels": 2.5}, "levels is 2.5"),
    ],
)
def test_a_bad_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    """Each parameter outside its range is an error that names it and its value."""
    with pytest.raises(ParameterError, match=message):
        QuantisedResponse(1, 5, **parameters)


def test_a_bad_choice_of_levels_is_named() -> None:
    """An answering rate outside 0 to 1 and a table too large to write down are errors."""
    for rate in (0, -0.1, 1.1, math.nan):
        with pytest.raises(ParameterError, match="answering_rate is"):
            choose_levels(1, 201, rate)
    with pytest.raises(ParameterError, match="points is 1"):
        choose_levels(1, 1, 1)
    with pytest.raises(ParameterError, match=r"more than 2..22 entries"):
        QuantisedResponse(0, 10**7, epsilon=1).channel()
