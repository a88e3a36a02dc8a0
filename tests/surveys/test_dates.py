"""Dates: from a list, or a range that is cut into few stretches under masks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from masquerade.errors import ParameterError, UnknownLabel
from masquerade.results.question_reports import question_reports
from masquerade.results.reports import SentReports
from masquerade.surveys import Choice, DateQuestion, question_from_json
from masquerade.surveys.question import MaskRules
from masquerade.surveys.survey import DEFAULT_ESTIMATOR

MONTHS = DateQuestion("d", "Since when?", first="2024-01", last="2025-12", bins=4)


@pytest.mark.parametrize(
    ("step", "first", "last", "count", "some"),
    [
        ("month", "2024-11", "2025-02", 4, "2025-01"),
        ("year", "1999", "2026", 28, "2000"),
        ("day", "2024-02-28", "2024-03-01", 3, "2024-02-29"),
    ],
)
def test_every_date_of_a_range_has_a_code(
    step: str, first: str, last: str, count: int, some: str
) -> None:
    """Days, months and years of a range have codes without gaps, over ends of months and years."""
    question = DateQuestion("d", "When?", first=first, last=last, step=step)
    assert question.answer_count == count
    dates = [str(question.answer(code)) for code in range(count)]
    assert (dates[0], dates[-1]) == (first, last)
    assert [question.code(one) for one in dates] == list(range(count))
    assert question.answer(question.code(some)) == some


def test_what_is_masked_is_a_stretch_of_the_range() -> None:
    """24 months in four stretches: each has six, and the mask has as many options."""
    assert MONTHS.labels == (
        *("2024-01 – 2024-06", "2024-07 – 2024-12", "2025-01 – 2025-06", "2025-07 – 2025-12"),
    )
    assert [MONTHS.masked_code(code) for code in range(24)] == [n // 6 for n in range(24)]
    assert MONTHS.mask("medium", MaskRules()).domain.labels == 4
    assert "bins" not in replace(MONTHS, bins=12).to_json()


def test_the_mean_is_counted_from_the_first_date() -> None:
    """In clear, half in the first stretch and half in the last have a mean of 11.5 months."""
    mask = MONTHS.mask("none", MaskRules())
    sent = SentReports(np.array([0, 3]), np.array([50, 50]), mask)
    mean = question_reports(MONTHS, {"none": sent}, estimator=DEFAULT_ESTIMATOR).mean_figures()
    assert mean is not None
    assert mean.estimates()[0].value == pytest.approx(11.5)
    assert MONTHS.unit == "months after 2024-01"


def test_a_list_of_days_is_a_choice() -> None:
    """Days of a list are labels without a mean; the mask is that of a choice."""
    days = ("2026-05-17", "2026-05-18", "2026-06-01")
    question = DateQuestion("d", "Which day?", dates=days)
    assert (question.labels, question.scores) == (days, None)
    same = Choice("c", "Which?", days)
    assert question.mask("low", MaskRules()) == same.mask("low", MaskRules())
    assert question_from_json(question.to_json()) == question
    with pytest.raises(UnknownLabel):
        question.code("2026-05-19")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"first": "2024-13"}, "first"),
        ({"last": "2024"}, "last"),
        ({"last": "2023-12"}, "last"),
        ({"step": "week"}, "step"),
        ({"bins": 1}, "bins"),
        ({"bins": 101}, "bins"),
        ({"first": "0001-01-01", "last": "2026-01-01", "step": "day"}, "last"),
        ({"dates": ("2026-05-17", "2026-05-18")}, "dates"),
        ({"dates": ("2026-05-17", "May"), "first": "", "last": ""}, "dates/1"),
    ],
)
def test_a_wrong_date_is_refused_at_its_field(changes: dict[str, object], field: str) -> None:
    """Each refused value has one message at its field."""
    with pytest.raises(ParameterError) as raised:
        replace(MONTHS, **changes)  # type: ignore[arg-type]
    assert raised.value.field == field
