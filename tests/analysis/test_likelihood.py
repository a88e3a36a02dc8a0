"""The likelihood through masks: its derivatives, its limits, and its reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.analysis.golden_crowd import MASKS, golden_crowd, response

from masquerade.analysis import FitOptions, Regression, correlation, regress
from masquerade.analysis.likelihood import Model, Seen
from masquerade.analysis.maximum import Objective, Penalty
from masquerade.analysis.outcomes import Linear, Logistic, Multinomial, Ordered, Outcome
from masquerade.analysis.profile import Bend
from masquerade.analysis.second_unknown import SharedChance
from masquerade.errors import EmptyTable, MissingValue, ParameterError, UnknownLabel

CROWD = golden_crowd()


def objective(outcome: Outcome, reported: Seen) -> Objective:
    """Return a likelihood of 600 people with two masked predictors, weights and a penalty."""
    columns = np.column_stack([np.ones(600), CROWD["g"] - 0.5, CROWD["x"]])
    masked = (
        Seen(response(3, 2), CROWD["ra"].astype(np.int32)),
        Seen(response(2, 2), CROWD["rb"].astype(np.int32)),
    )
    codings = (np.array([[-1.0], [0.0], [1.0]]), np.eye(2)[:, 1:])
    model = Model(columns, outcome, reported, masked, codings, CROWD["weight"], chunk=250)
    scale = np.linspace(0.5, 2, model.size)
    cells = slice(model.outcome_size, model.outcome_size + 5)
    scale[cells] = 0
    return Objective(model, Penalty(0.5, scale, cells), np.ones(model.size))


THREE = Seen(response(3, 2), CROWD["ry"].astype(np.int32))
NUMBER = Seen((CROWD["x"] + CROWD["ry"])[:, None], np.arange(600, dtype=np.int32))
BILINEAR = Seen(
    np.array([[-1, 1, 0.2, -0.2, 0.0, 1], [1, 0, 0.2, -0.2, 0.0, 1]], dtype=float),
    CROWD["second"].astype(np.int32),
)


@pytest.mark.parametrize(
    ("outcome", "reported"),
    [
        (Logistic(), Seen(response(2, 2), CROWD["second"].astype(np.int32))),
        (Multinomial(3), THREE),
        (Ordered(3), THREE),
        (Linear(), NUMBER),
        (SharedChance(), BILINEAR),
    ],
    ids=["logistic", "multinomial", "ordered", "linear", "a second unknown"],
)
def test_scores_and_information_are_the_derivatives(outcome: Outcome, reported: Seen) -> None:
    """Equal to central differences, weights, cells and penalty in it; complete is positive."""
    found = objective(outcome, reported)
    rng = np.random.default_rng(4)
    theta = found.model.start() + 0.1 * rng.normal(size=found.model.size)
    value, gradient, information = found.slopes(theta)
    assert value == pytest.approx(found.value(theta), abs=1e-9)
    for place in range(len(theta)):
        step = np.zeros_like(theta)
        step[place] = 1e-5
        slope = (found.value(theta + step) - found.value(theta - step)) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)
        bend = (found.slopes(theta - step)[1] - found.slopes(theta + step)[1]) / 2e-5
        np.testing.assert_allclose(information[place], bend, atol=2e-5)
    assert np.linalg.eigvalsh(found.slopes(theta, complete=True)[2]).min() > 0


def test_chunks_do_not_matter() -> None:
    """Sums over chunks of 7 people are those of one chunk, to rounding."""
    found = objective(Multinomial(3), THREE)
    theta = found.model.start() + 0.1
    whole = replace(found.model, chunk=10_000).totals(theta)
    small = replace(found.model, chunk=7).totals(theta)
    assert small.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(small.observed, whole.observed, rtol=1e-9, atol=1e-9)


def test_a_bend_is_w_less_its_parabola() -> None:
    """Along a line, with all people, it is exact."""
    found = objective(Logistic(), Seen(response(2, 2), CROWD["second"].astype(np.int32)))
    theta = found.model.start()
    step = np.full(len(theta), 0.2)
    value, gradient, information = found.slopes(theta)
    w = 2 * (value + gradient @ step - found.value(theta + step)) - step @ information @ step
    assert Bend(found, theta)(step) == pytest.approx(w, abs=1e-9)


def told(**more: Any) -> Regression:
    """Return a regression of the golden crowd."""
    return regress(CROWD, "second ~ g + ra", mechanisms={"ra": MASKS["ra"]}, **more)


def test_people_in_clear_and_people_behind_masks_go_together() -> None:
    """A mask for each level: all in clear is the fit without a mask, and mixed lies between."""
    levels = {"level": np.where(np.arange(600) % 2, "clear", "masked")}
    data = CROWD | levels
    mixed = regress(
        data,
        "second ~ g + ra",
        mechanisms={"ra": {"clear": None, "masked": MASKS["ra"]}},
        fitting=FitOptions(levels="level"),
    )
    masked = told()
    assert 0 < (mixed.term("ra").error or 0) < (masked.term("ra").error or 0)
    with pytest.raises(ParameterError, match="several masks"):
        regress(data, "second ~ ra", mechanisms={"ra": {"clear": None, "masked": MASKS["ra"]}})
    odd = data | {"level": np.where(np.arange(600) == 5, "odd", levels["level"])}
    with pytest.raises(UnknownLabel, match="row 6: 'odd'"):
        regress(
            odd,
            "second ~ ra",
            mechanisms={"ra": {"clear": None, "masked": MASKS["ra"]}},
            fitting=FitOptions(levels="level"),
        )


def test_a_missing_report_is_named_left_out_or_unknown() -> None:
    """By default an error with its row; dropped, or kept with the likelihood of any answer."""
    reports: list[int | None] = CROWD["ra"].tolist()
    reports[3] = None
    data = {"second": CROWD["second"], "g": CROWD["g"], "ra": reports}
    with pytest.raises(MissingValue, match="column 'ra', row 4"):
        regress(data, "second ~ g + ra", mechanisms={"ra": MASKS["ra"]})
    people = {
        missing: regress(
            data,
            "second ~ g + ra",
            mechanisms={"ra": MASKS["ra"]},
            fitting=FitOptions(missing=missing, intervals=False),
        ).people
        for missing in ("drop", "keep")
    }
    assert people == {"drop": 599, "keep": 600}


def test_order_of_rows_does_not_matter() -> None:
    """The same people in another order give the same numbers, to rounding."""
    order = np.random.default_rng(1).permutation(600)
    turned = {name: column[order] for name, column in CROWD.items()}
    other = regress(turned, "second ~ g + ra", mechanisms={"ra": MASKS["ra"]})
    for one, two in zip(told().terms, other.terms, strict=True):
        assert one.estimate == pytest.approx(two.estimate, abs=1e-8)
        assert one.low == pytest.approx(two.low, abs=1e-6)


def test_nobody_one_value_and_a_doubtful_order() -> None:
    """No rows; a column with one value; texts without a known order as codes."""
    with pytest.raises(EmptyTable, match="no rows"):
        regress({"y": [], "x": []}, "y ~ x")
    with pytest.raises(ValueError, match="one value alone"):
        regress({"y": [0, 1] * 20, "x": [1] * 40}, "y ~ x")
    people = {"y": ["ja", "nein"] * 20, "x": [1, 2, 3, 4] * 10}
    with pytest.raises(ParameterError, match="order of the options of y is not clear"):
        regress(people, "y ~ x", mechanisms={"y": "warner:p=0.8"})
    fit = regress(people, "y ~ x", mechanisms={"y": "warner:p=0.8"}, options={"y": ["nein", "ja"]})
    assert fit.answers == ("nein", "ja")


def test_all_say_the_same() -> None:
    """Forty of forty said no: finite numbers, wide intervals, and no sentence."""
    fit = regress({"y": [0] * 40, "x": [0, 1] * 20}, "y ~ x", mechanisms={"y": "warner:p=0.8"})
    assert fit.sentences() == ()
    term = fit.term("x")
    assert term.low is None or term.low < 0
    assert term.high is None or term.high > 0


def test_a_masked_rating_by_least_squares() -> None:
    """Unbiased worths: in clear it is numpy's least squares; masked, the truth is within reach."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=4000)
    answer = np.clip(np.round(2 + 0.5 * x + rng.normal(size=4000)), 0, 4).astype(int)
    slope = float(np.polyfit(x, answer, 1)[0])
    kept = rng.random(4000) < (np.exp(2) - 1) / (np.exp(2) + 4)
    said = np.where(kept, answer, rng.integers(0, 5, 4000))
    fit = regress(
        {"x": x, "said": said},
        "said ~ x",
        mechanisms={"said": "randomized-response:options=5,epsilon=2"},
        model="linear",
    )
    term = fit.term("x")
    assert (term.low or 9) < slope < (term.high or -9)
    assert abs(fit.naive_of(term) or 9) < abs(term.estimate or 0)


def test_a_correlation_in_clear_is_pearsons() -> None:
    """And it lies inside its interval."""
    a, b = CROWD["a"], CROWD["x"]
    found = correlation({"a": a, "b": b}, "a", "b")
    assert found.value == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert found.low < (found.value or 9) < found.high
