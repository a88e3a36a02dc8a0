"""How many people give an interval of a wanted width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.estimation import Counts, Crowd, difference
from masquerade.exact import Micro
from masquerade.mechanisms import parse_mechanism
from masquerade.selection import (
    TwoPartySums,
    parse_plan,
    participants_needed,
    precision_of,
)


@pytest.mark.parametrize(
    "text",
    [
        "randomized-response:options=2,epsilon=1",
        "randomized-response:options=5,epsilon=2",
        "two-layer:options=2,low=0,high=0.5",
        "discrete-gaussian:low=1,high=5,step=1,sigma=6",
        "quantised-response:low=0,high=10,step=1,epsilon=2,levels=3",
    ],
)
def test_the_planned_number_gives_the_planned_interval(text: str) -> None:
    """A margin half as wide takes four times as many, within 3 % (less noise is cut)."""
    mechanism = parse_mechanism(text)
    margin = 0.05 if mechanism.kind == "categorical" else 0.5
    n = participants_needed(mechanism, margin=margin)
    assert participants_needed(mechanism, margin=margin * np.sqrt(n / (4 * n))) == pytest.approx(
        4 * n, rel=0.03
    )


def test_without_a_mask_it_is_the_textbook_number() -> None:
    """392 for five points at 95 %, half the people on either side; 385 by the normal formula."""
    clear = parse_mechanism("randomized-response:options=2,flip_probability=0")
    assert participants_needed(clear, margin=0.05) == 392


def test_simulated_surveys_of_that_size_have_that_error() -> None:
    """Two standard errors of 4,000 simulated shares are the margin, within 5 %."""
    mechanism = parse_mechanism("randomized-response:options=2,epsilon=1")
    n = participants_needed(mechanism, margin=0.1, confidence=0.9545)
    keep = 1 / (1 + np.exp(-1))
    seen = 2 * keep - 1
    counts = np.random.default_rng(1).binomial(n, 0.5, 4_000)
    shares = (counts / n - (1 - keep)) / seen
    assert 2 * shares.std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("text", "change", "said"),
    [
        (
            "randomized-response:options=2,epsilon=1",
            {"margin": 0},
            "margin is 0, expected above 0.$",
        ),
        ("randomized-response:options=2,epsilon=1", {"confidence": 1.0}, "confidence is 1"),
        ("randomized-response:options=2,flip_probability=0.5", {}, "say nothing"),
        ("discrete-gaussian:low=1,high=5,step=1,sigma=6", {"spread": -1.0}, "spread is -1"),
    ],
)
def test_what_cannot_be_planned_is_an_error(text: str, change: dict[str, Any], said: str) -> None:
    """Each message says why."""
    with pytest.raises(ParameterError, match=said):
        participants_needed(parse_mechanism(text), **{"margin": 0.05, **change})


def test_faint_reports_are_counted_exactly() -> None:
    """With an epsilon of 1e-15 reports differ by 5e-16, without an error of floats."""
    faint = participants_needed(
        parse_mechanism("randomized-response:options=2,epsilon=1e-15"), margin=0.05
    )
    clearer = participants_needed(
        parse_mechanism("randomized-response:options=2,epsilon=1e-3"), margin=0.05
    )
    assert faint / clearer == pytest.approx(1e24, rel=2e-3)  # the grid of probabilities is coarser


def test_many_options_are_planned_without_a_table() -> None:
    """A hundred thousand options take no table of as many rows."""
    mechanism = parse_mechanism("randomized-response:options=100000,epsilon=12")
    assert 500 < participants_needed(mechanism, margin=0.05) < 1000


@pytest.mark.parametrize(
    "spec", ["randomized-response:options=2,epsilon=1", "discrete-laplace:low=1,high=5,epsilon=1"]
)
def test_a_margin_beyond_counting_is_refused(spec: str) -> None:
    """A margin with a vanishing square is named instead of dividing by zero."""
    with pytest.raises(ParameterError, match="the margin is so small"):
        participants_needed(parse_mechanism(spec), margin=1e-200)


def test_a_text_is_taken_for_its_mechanism() -> None:
    """Mechanisms and two parties are planned by their text forms as by themselves."""
    for text in (
        "two-layer:options=2,low=0,high=1/2",
        "two-parties:questions=10,options=5,rho=0.5",
    ):
        needed = participants_needed(parse_plan(text), margin=0.1)
        assert participants_needed(text, margin=0.1) == needed
    with pytest.raises(ParameterError, match="is no Mechanism"):
        participants_needed(5, margin=0.1)  # type: ignore[arg-type]


SUMS = TwoPartySums(questions=10, options=5, rho="0.5")


def test_ten_questions_of_two_parties_err_as_the_formula_says() -> None:
    """400 people, ten questions of five options, rho 0.5: noise of 40 a count, its sum known."""
    margin, noise, sampling = precision_of(SUMS).margins(400)
    assert noise == pytest.approx(1.959964 * (40 * 0.8) ** 0.5 / 400, rel=1e-6)
    # half a person more or less
    assert sampling == pytest.approx(1.959964 * (0.25 / 400) ** 0.5, rel=1e-2)
    assert margin == pytest.approx((noise**2 + sampling**2) ** 0.5, rel=2e-2)


@pytest.mark.parametrize("population", [None, 2_000])
@pytest.mark.parametrize(
    "plan",
    [
        SUMS,
        "randomized-response:options=3,epsilon=2",
        "bitwise-response:options=4,epsilon=3",
        "discrete-gaussian:low=0,high=1,step=0.1,sigma=0.4",
    ],
)
def test_the_planned_number_is_the_least(plan: TwoPartySums | str, population: int | None) -> None:
    """So many participants give the margin, and one fewer does not."""
    precision = precision_of(plan)
    n = precision.participants(0.06, population=population)
    assert precision.margins(n, population=population)[0] <= 0.06 * (1 + 1e-12)
    assert precision.margins(n - 1, population=population)[0] > 0.06


def test_a_whole_population_leaves_the_noise_alone() -> None:
    """Where all answer, nothing is sampled, and a margin below the noise cannot be had."""
    precision = precision_of(SUMS)
    margin, noise, sampling = precision.margins(300, population=300)
    assert sampling == 0.0
    assert margin == pytest.approx(noise, rel=0.02)
    with pytest.raises(ParameterError, match="all 300 people of the population together"):
        precision.participants(margin * 0.99, population=300)


def test_two_groups_of_the_planned_size_are_told_apart() -> None:
    """With a power of 0.8, 0.76 to 0.84 of 3,000 simulated pairs differ significantly.

    Clear, 45 % against 55 %; the standard error of the rate is .0073.
    """
    plan = "randomized-response:options=2,flip_probability=0"
    n = precision_of(plan).participants_of_each_group(0.1, power=0.8)
    rng = np.random.default_rng(1)
    said = rng.binomial(n, [[0.45], [0.55]], (2, 3_000))
    told = 0
    for pair in zip(*said.tolist(), strict=True):
        groups = [Crowd.of([Counts.of([k, n - k])]).figures([[1, 0]]) for k in pair]
        told += difference(*groups).probabilities(0.0)[0] < 0.05
    assert 0.76 < told / 3_000 < 0.84


def test_the_plan_of_two_parties_is_written_as_it_is_read() -> None:
    """Text form and value are inverse; a missing or too large part is named."""
    plan = parse_plan("two-parties:questions=10,options=5,rho=1/6")
    assert plan == TwoPartySums(10, 5, "1/6")
    assert parse_plan(str(plan)) == plan
    assert plan.guarantee().trust == "two-parties"
    for text, said in (
        ("two-parties:questions=10", "does not say options and rho or epsilon"),
        ("two-parties:questions=1,options=5,rho=1,epsilon=1", "rho or epsilon, .* and not both"),
        ("two-parties:questions=1,options=5,epsilon=0", "epsilon is 0, expected at least"),
        ("two-parties:questions=1,options=5,epsilon=0.000001", "more noise than is offered"),
        ("two-parties:questions=0,options=5,rho=1", "questions is 0, expected at least 1"),
        ("two-parties:questions=1,options=5,rho=0", "rho is 0, expected above 0"),
        ("two-parties:questions=1,options=5,rho=1,bins=3", "no parameter 'bins'"),
    ):
        with pytest.raises(ParameterError, match=said):
            parse_plan(text)


def test_two_parties_are_planned_by_epsilon_too() -> None:
    """Epsilon gives the largest rho, in millionths, that keeps to it; the text has rho."""
    plan = parse_plan("two-parties:questions=10,options=5,epsilon=1")
    assert plan == TwoPartySums(10, 5, epsilon="1")
    assert str(plan) == "two-parties:questions=10,options=5,rho=0.024355"
    assert plan.guarantee().epsilon_user <= Micro(1_000_000)
    assert TwoPartySums(10, 5, "0.024356").guarantee().epsilon_user > Micro(1_000_000)
    with pytest.raises(ParameterError, match=r"rho=0\.024355 is epsilon=1 at delta 1e-6"):
        TwoPartySums(10, 5)


@pytest.mark.parametrize("people", [1, 2, 20, 400])
@pytest.mark.parametrize(
    "spec",
    ["randomized-response:options=2,epsilon=1", "two-parties:questions=10,options=5,rho=0.5"],
)
def test_no_part_of_a_margin_is_above_the_whole(spec: str, people: int) -> None:
    """Also where the range cuts the interval, as of one person."""
    half, noise, sampling = precision_of(parse_plan(spec)).margins(people)
    assert 0 <= noise <= half <= 0.5
    assert 0 <= sampling <= half
