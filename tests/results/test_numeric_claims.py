"""Numeric reports of a survey as claims for a release."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.results.made_up_reports import define, reports_of, rows_of

from masquerade.errors import EmptyTable, ParameterError
from masquerade.release import synthesize
from masquerade.results import numeric_claims, numeric_domain
from masquerade.surveys import Choice, Number, Rating

HOURS = Number("n", "How long?", -2, 40, "hours", 0.5)
RATING = Rating("r", "How good?", allow_skip=True)
CHOICE = Choice("c", "Which?", ("A", "B"))


def test_reports_become_values() -> None:
    """Codes are steps from the lowest value, ratings points; skips and choices are left out.

    People come in the order of their reports.
    """
    definition = define(HOURS, RATING, CHOICE)
    rows = rows_of([[0, 0, 0], [84, 5, 1], [-3, 4, 0]])
    claims = numeric_claims(reports_of(definition, rows))
    found = set(zip(claims["task"], claims["worker"], claims["value"], strict=True))
    assert found == {
        ("n", "medium-1", -3.5),
        ("n", "medium-2", -2.0),
        ("n", "medium-3", 40.0),
        ("r", "medium-1", 5.0),
        ("r", "medium-2", 1.0),
    }


def test_people_of_one_level() -> None:
    """Those of a level alone can be taken; there is no other level."""
    definition = define(HOURS, levels=("high", "low"))
    rows = rows_of([[1], [2]], level="high") + rows_of([[3]], level="low")
    reports = reports_of(definition, rows)
    assert numeric_claims(reports, level="low")["worker"] == ["low-1"]
    assert len(numeric_claims(reports)["worker"]) == 3
    with pytest.raises(ParameterError, match="none of high, low"):
        numeric_claims(reports, level="none")


def test_the_range_is_each_questions_own() -> None:
    """One scale keeps its step; several have their own ends."""
    one = numeric_domain(reports_of(define(HOURS), []).codebook)
    assert (one.low, one.high, one.step) == (Fraction(-2), Fraction(40), Fraction(1, 2))
    several = numeric_domain(reports_of(define(HOURS, RATING), []).codebook)
    ends = {name: tuple(map(float, pair)) for name, pair in several.of_objects.items()}
    assert ends == {"n": (-2, 40), "r": (1, 5)}
    assert several.step is None


def test_nothing_to_release() -> None:
    """A survey without numbers, or without people, says so."""
    with pytest.raises(EmptyTable, match="asks for no numbers"):
        numeric_domain(reports_of(define(CHOICE), []).codebook)
    with pytest.raises(EmptyTable, match="nobody reported"):
        numeric_claims(reports_of(define(HOURS), []))


def test_a_release_of_reports_stays_in_the_range() -> None:
    """Reports beyond the scale are moved to its ends, and so are their marks."""
    definition = define(HOURS)
    reports = reports_of(definition, rows_of([[900], [-900], [40]]))
    domain = numeric_domain(reports.codebook)
    made = synthesize(numeric_claims(reports), epsilon=1, domain=domain)
    values = made.rows["value"].to_numpy()
    assert values.min() >= -2
    assert values.max() <= 40
