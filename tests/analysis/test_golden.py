"""Regressions come out as in a prototype that was written by itself, to five digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.analysis.golden_crowd import MASKS, golden_crowd

from masquerade.analysis import FitOptions, Regression, regress

PLAIN = FitOptions(penalty=0)
ALONE = FitOptions(penalty=0, cells="independent")


@pytest.fixture(scope="module")
def crowd() -> dict[str, Any]:
    """Return the crowd; its first person and the counts of its reports are known."""
    found = golden_crowd()
    assert [found[name][0] for name in ("g", "ra", "rb", "ry")] == [1, 1, 1, 2]
    assert np.bincount(found["ra"]).tolist() == [184, 228, 188]
    assert np.bincount(found["ry"]).tolist() == [164, 236, 200]
    return found


def masked(*names: str) -> dict[str, Any]:
    """Return the masks of some columns."""
    return {name: MASKS[name] for name in names}


def slopes(fit: Regression) -> list[float]:
    """Return the slopes of a fit."""
    return [one.estimate or np.nan for one in fit.slopes]


def errors(fit: Regression) -> list[float]:
    """Return the errors of the slopes of a fit."""
    return [one.error or np.nan for one in fit.slopes]


def ends(fit: Regression) -> list[float]:
    """Return the ends of the intervals of the slopes."""
    return [end or np.nan for one in fit.slopes for end in (one.low, one.high)]


def test_a_masked_outcome_of_three_options(crowd: dict[str, Any]) -> None:
    """Multinomial, predictors in clear: coefficients, errors and log-likelihood."""
    fit = regress(
        crowd,
        "ry ~ g + x + a + b",
        mechanisms=masked("ry"),
        model="multinomial",
        fitting=PLAIN,
    )
    assert slopes(fit) == pytest.approx(
        [0.64208, -0.10514, 0.31875, 0.84834, 0.78163, 0.55692, 0.77247, 0.02032], abs=1e-5
    )
    constants = [one.estimate for one in fit.terms if not one.slope]
    assert constants == pytest.approx([-0.12254, -0.07174], abs=1e-5)
    assert errors(fit) == pytest.approx(
        [0.34029, 0.28944, 0.22029, 0.34204, 0.36585, 0.30806, 0.23525, 0.37900], abs=1e-5
    )
    assert fit.log_likelihood == pytest.approx(-633.119198, abs=1e-6)


def test_a_masked_outcome_in_order(crowd: dict[str, Any]) -> None:
    """Ordered: cuts, slopes, errors and log-likelihood."""
    fit = regress(crowd, "ry ~ g + x + a + b", mechanisms=masked("ry"), fitting=PLAIN)
    assert fit.model == "ordered"
    every = [one.estimate for one in fit.terms]
    assert every == pytest.approx(
        [-1.01188, 0.91524, 0.46132, 0.41078, 0.51356, -0.08938], abs=1e-5
    )
    assert [one.error for one in fit.terms] == pytest.approx(
        [0.21631, 0.21079, 0.24040, 0.20180, 0.15375, 0.23856], abs=1e-5
    )
    assert fit.log_likelihood == pytest.approx(-642.293485, abs=1e-6)


def test_two_masked_predictors(crowd: dict[str, Any]) -> None:
    """Cells by constants alone, and with main effects of the clear columns."""
    formula = "second ~ g + x + ra + rb"
    alone = regress(crowd, formula, mechanisms=masked("ra", "rb"), fitting=ALONE)
    assert slopes(alone) == pytest.approx([0.09539, 0.61569, 0.64238, -0.30661], abs=1e-5)
    assert errors(alone) == pytest.approx([0.18624, 0.16218, 0.18303, 0.24915], abs=1e-5)
    assert ends(alone) == pytest.approx(
        [-0.268808, 0.462709, 0.301100, 0.938352, 0.295759, 1.020280, -0.802673, 0.180665],
        abs=1e-6,
    )
    assert alone.log_likelihood == pytest.approx(-1441.527070, abs=1e-6)
    # the constant where a is in its middle and b is 0
    at_middle = (alone.terms[0].estimate or 0) + (alone.term("ra").estimate or 0)
    assert at_middle == pytest.approx(-0.61679, abs=1e-5)
    both = regress(crowd, formula, mechanisms=masked("ra", "rb"), fitting=PLAIN)
    assert slopes(both) == pytest.approx([0.14325, 0.60311, 0.64214, -0.32372], abs=1e-5)
    assert both.log_likelihood == pytest.approx(-1428.539791, abs=1e-6)


def test_half_a_person(crowd: dict[str, Any]) -> None:
    """The default penalty, with its profile intervals."""
    fit = regress(
        crowd,
        "second ~ g + x + ra + rb",
        mechanisms=masked("ra", "rb"),
        fitting=FitOptions(cells="independent"),
    )
    assert slopes(fit) == pytest.approx([0.09349, 0.60978, 0.63572, -0.30136], abs=1e-5)
    assert ends(fit) == pytest.approx(
        [-0.268599, 0.458536, 0.296901, 0.930501, 0.291328, 1.010242, -0.792059, 0.181043],
        abs=1e-6,
    )


def test_all_masked(crowd: dict[str, Any]) -> None:
    """Outcome and two predictors, each through its own mask."""
    fit = regress(
        crowd,
        "ry ~ g + x + ra + rb",
        mechanisms=masked("ra", "rb", "ry"),
        model="multinomial",
        fitting=PLAIN,
    )
    assert slopes(fit) == pytest.approx(
        [0.65259, -0.05203, 0.21438, 1.03202, 0.75295, 0.57588, 0.78019, 0.37270], abs=1e-5
    )
    assert errors(fit) == pytest.approx(
        [0.35148, 0.29866, 0.33079, 0.46343, 0.38078, 0.31636, 0.34390, 0.51189], abs=1e-5
    )
    assert fit.log_likelihood == pytest.approx(-1697.314063, abs=1e-6)


def test_weights_and_clusters(crowd: dict[str, Any]) -> None:
    """Errors are robust, and take clusters for the units."""
    formula, masks = "second ~ g + x + ra + rb", masked("ra", "rb")
    weighted = regress(crowd, formula, mechanisms=masks, weights="weight", fitting=ALONE)
    assert slopes(weighted) == pytest.approx([0.12011, 0.67390, 0.61183, -0.30237], abs=1e-5)
    assert errors(weighted) == pytest.approx([0.19407, 0.16354, 0.18354, 0.26121], abs=1e-5)
    assert weighted.log_likelihood == pytest.approx(-2162.641313, abs=1e-6)
    both = regress(
        crowd, formula, mechanisms=masks, weights="weight", clusters="cluster", fitting=ALONE
    )
    assert errors(both) == pytest.approx([0.18948, 0.15119, 0.17985, 0.25811], abs=1e-5)
    unweighted = regress(crowd, formula, mechanisms=masks, clusters="cluster", fitting=ALONE)
    assert errors(unweighted) == pytest.approx([0.17636, 0.14720, 0.16650, 0.25253], abs=1e-5)


SEPARATED = {
    "x": [-0.5] * 20 + [0.5] * 20,
    "y": [1] * 2 + [0] * 18 + [1] * 12 + [0] * 8,
}


def test_an_optimum_at_infinity() -> None:
    """Half a person makes it finite; the plain fit prints no number where there is none."""
    masks = {"y": "randomized-response:options=2,epsilon=2"}
    fit = regress(SEPARATED, "y ~ x", mechanisms=masks)
    # the prototype stopped where a fall of 1e-10 was left, so that its points have four digits
    assert fit.terms[0].estimate == pytest.approx(-1.03990, abs=5e-5)
    assert fit.term("x").estimate == pytest.approx(2.91090, abs=5e-5)
    assert ends(fit) == pytest.approx([0.917837, 6.586956], abs=2e-6)
    plain = regress(SEPARATED, "y ~ x", mechanisms=masks, fitting=PLAIN)
    assert plain.term("x").estimate is None
    assert plain.naive[0].estimate == pytest.approx(2.60269, abs=1e-5)
    assert any("no optimum" in note for note in plain.notes)
