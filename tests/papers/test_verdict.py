"""Verdicts follow from numbers alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masquerade_papers.verdict import Estimate, Row, Statements


def paper(*, own: bool = True, tolerance: float = 0.1, note: str = "") -> Statements:
    """Return a paper with one statement, which prints 1."""
    entry = {"artifact": "f", "quantity": "x", "statement": "s", "note": note}
    return Statements({"x": {**entry, "paper": 1.0, "tolerance": tolerance}}, "d", own)


def of_value(ours: Estimate | float, *, own: bool = True, tolerance: float = 0.1) -> Row:
    """Return the row of a value that is printed as 1."""
    return paper(own=own, tolerance=tolerance).value("x", ours)


def of_claim(*differences: Estimate, own: bool = True) -> Row:
    """Return the row of a claim."""
    return paper(own=own).claim("x", differences)


@pytest.mark.parametrize(
    ("ours", "own", "verdict"),
    [
        (1.05, True, "reproduced"),
        (1.05, False, "in shape"),
        (1.11, True, "not reproduced"),
        (0.89, True, "not reproduced"),
        (Estimate(1.15, 0.03), True, "reproduced"),
        (Estimate(1.15, 0.02), True, "not reproduced"),
        (Estimate(1.0, 0.11), True, "undecided"),
        (Estimate(1.0, math.nan), True, "undecided"),
    ],
)
def test_a_value_agrees_within_tolerance_and_two_errors(
    ours: Estimate | float, own: bool, verdict: str
) -> None:
    """Off by at most the tolerance plus two standard errors agrees, unless it is all noise."""
    assert of_value(ours, own=own).verdict == verdict


def test_what_is_far_off_is_not_called_noisy() -> None:
    """A value beyond doubt off says by how much; one that noise swamps says so."""
    assert "off by +4" in of_value(Estimate(5.0, 1.0)).reason
    assert "too noisy" in of_value(Estimate(1.3, 1.0)).reason


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([Estimate(0.2, 0.05)] * 5, "reproduced"),
        ([Estimate(0.2, 0.05)] * 4 + [Estimate(-0.1, 0.05)], "reproduced"),
        ([Estimate(0.2, 0.05)] * 3 + [Estimate(-0.1, 0.05)] * 2, "not reproduced"),
        ([Estimate(0.2, 0.15)], "undecided"),
        ([Estimate(-0.2, 0.01)], "not reproduced"),
        ([Estimate(0.0)], "not reproduced"),
        ([Estimate(1e-9)], "reproduced"),
        ([], "undecided"),
        ([Estimate(1.0, math.nan)], "undecided"),
    ],
)
def test_a_claim_needs_most_comparisons_and_a_clear_mean(
    differences: list[Estimate], verdict: str
) -> None:
    """Four of five comparisons and a mean above two standard errors, or it does not agree."""
    assert of_claim(*differences).verdict == verdict


def test_the_reason_counts_and_tells_noise_from_contradiction() -> None:
    """A reason says in how many comparisons a claim holds, and whether noise is to blame."""
    assert "within the noise" in of_claim(Estimate(0.2, 0.15)).reason
    contradicted = of_claim(Estimate(-0.2, 0.01))
    assert "0 of 1" in contradicted.reason
    assert "noise" not in contradicted.reason


def test_a_note_stands_behind_the_reason() -> None:
    """The known cause is told after the numbers, with every verdict."""
    noted = paper(note="because")
    rows = [
        noted.claim("x", [Estimate(1.0, 0.1)]),
        noted.alike("x", [Estimate(1.0, 0.1)]),
        noted.value("x", 2.0),
    ]
    assert all(row.reason.endswith("; because") for row in rows)
    assert rows[1].paper is None


def test_alike_looks_at_distances_not_at_their_mean() -> None:
    """Differences that cancel are not alike; small ones are."""
    far = paper().alike("x", [Estimate(0.5), Estimate(-0.5)])
    near = paper(own=False).alike("x", [Estimate(0.05), Estimate(-0.05)])
    none = paper().alike("x", [])
    assert [each.verdict for each in (far, near, none)] == [
        "not reproduced",
        "in shape",
        "undecided",
    ]


def test_estimates_are_means_with_their_errors() -> None:
    """The error is the sample deviation over the root of the number; one trial has none."""
    trials = np.array([1.0, 2.0, 3.0, 6.0])
    found = Estimate.of(trials)
    assert found.mean == 3.0
    assert found.error == pytest.approx(trials.std(ddof=1) / 2)
    assert math.isnan(Estimate.of([1.0]).error)
    assert (Estimate(1.0, 3.0) - Estimate(3.0, 4.0)) == Estimate(-2.0, 5.0)


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [(0.3, "better"), (-0.3, "worse"), (0.1, "no clear difference")],
)
def test_ours_is_better_only_where_it_is_clear(difference: float, outcome: str) -> None:
    """Two standard errors decide in both directions."""
    found = paper().compare("x", [Estimate(difference, 0.1)])
    assert found.outcome == outcome


def test_a_count_put_in_by_hand_shows_nothing() -> None:
    """It is by construction where it is the printed one, and never in shape."""
    paper = Statements({"size": {"artifact": "table 1", "quantity": "{name}"}}, "simulated")
    same = paper.given("size", 26, {"name": "questions"}, paper=26)
    assert (same.verdict, same.quantity) == ("by construction", "questions")
    assert paper.given("size", 25, {"name": "questions"}, paper=26).verdict == "not reproduced"
