"""What two groups differ by, with an interval that holds as often as it says."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind
from tests.results.made_up_reports import codebook, define, masks, reports_of, rows_of

from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Integers
from masquerade.mechanisms import CategoricalMechanism
from masquerade.results import (
    Difference,
    SurveyReports,
    SurveyResult,
    difference,
    group_difference,
    survey_result,
)
from masquerade.surveys import Choice, Number, Rating
from masquerade.surveys.survey import Survey

ILL = Choice("ill", "?", ("Yes", "No"))
NIGHT = Choice("night", "?", ("Yes", "No", "At times"))
STRESS = Rating("stress", "?", allow_skip=True)


def in_clear(answers: Sequence[Sequence[int]], *questions: Any, title: str = "Work") -> Any:
    """Return the reports of people who answer without a mask."""
    survey = define(*(questions or (ILL,)), levels=("none",), title=title)
    return reports_of(survey, rows_of(answers, level="none"))


def seen_through(
    mechanisms: Sequence[CategoricalMechanism], answers: Integers, rng: np.random.Generator
) -> Integers:
    """Return seeded reports of answers."""
    columns = []
    for place, mechanism in enumerate(mechanisms):
        chances = np.array(mechanism.channel().matrix(), dtype=float)[answers[:, place]]
        at = rng.random(len(answers))[:, None] > np.cumsum(chances, axis=1)[:, :-1]
        columns.append(at.sum(axis=1))
    return np.stack(columns, axis=1)


def at_levels(
    survey: Survey, answers: Integers, rng: np.random.Generator, *, token: str = "0" * 16
) -> SurveyReports:
    """Return seeded reports of people spread over all levels of a survey."""
    level = rng.integers(len(survey.levels), size=len(answers))
    table = np.zeros_like(answers)
    for place, offered in enumerate(survey.levels):
        here = level == place
        table[here] = seen_through(masks(survey, offered.name), answers[here], rng)
    names = np.array([f"{token}{n:05}" for n in range(len(answers))], dtype=np.str_)
    return SurveyReports.from_arrays(codebook(survey), names, level, table)


def test_two_surveys_in_clear_differ_as_textbooks_say() -> None:
    """A mean has Welch's interval and probability, a share the sum of both variances."""
    rng = np.random.default_rng(3)
    asked = (Number("n", "?", 0, 100, "h"), ILL)
    samples = [rng.integers(0, top, size=n) for top, n in ((60, 35), (90, 50))]
    one, other = (
        in_clear([[int(x), int(x) % 2] for x in some], *asked, title=f"Year {i}")
        for i, some in enumerate(samples)
    )
    found = difference(one, survey_result(other), "n")
    welch = ttest_ind(*samples, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert found.value == pytest.approx(samples[0].mean() - samples[1].mean())
    assert found.probability == pytest.approx(welch.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.first_group, found.second_group) == ("Year 0", "Year 1")
    share = difference(SurveyResult.of(one), other, "ill", option="Yes", confidence=0.9)
    shares = [SurveyResult.of(some).question("ill").option("Yes").share for some in (one, other)]
    error = math.hypot(*(figure.standard_error or math.nan for figure in shares))
    assert share.standard_error == pytest.approx(error)
    assert share.high - share.low == pytest.approx(2 * 1.6448536 * error)


def test_the_interval_of_two_masked_surveys_holds_as_often_as_it_says() -> None:
    """At two levels each, 95 % intervals hold in 93 to 98 of 100 of 300 pairs of surveys."""
    rng = np.random.default_rng(5)
    survey = define(ILL, levels=("medium", "low"))
    held = 0
    for _ in range(300):
        one, other = (
            at_levels(survey, (rng.random((600, 1)) < share).astype(np.int64), rng)
            for share in (0.7, 0.4)
        )
        found = difference(one, other, "ill", option="Yes")
        held += found.low <= -0.3 <= found.high
    assert 0.93 * 300 <= held <= 300


def test_the_interval_of_masked_groups_holds_as_often_as_it_says() -> None:
    """Groups that a masked answer makes, at two levels: 95 % intervals hold in 92 to 98 of 100."""
    rng = np.random.default_rng(7)
    survey = define(ILL, NIGHT, levels=("medium", "low"))
    held = 0
    for _ in range(300):
        night = rng.choice(3, size=4000, p=[0.4, 0.5, 0.1])
        ill = rng.random(4000) < np.array([0.3, 0.6, 0.5])[night]  # code 1: no
        reports = at_levels(survey, np.stack([ill.astype(np.int64), night], axis=1), rng)
        found = group_difference(reports, "ill", by="night", groups=("Yes", "No"), option="Yes")
        held += found.low <= 0.3 <= found.high
    assert 0.92 * 300 <= held <= 0.98 * 300


def test_groups_in_clear_differ_as_two_samples() -> None:
    """Without masks shares and means are those of groups, with skipped ones left out."""
    rng = np.random.default_rng(11)
    rows = [[int(rng.integers(2)), int(rng.integers(3)), int(rng.integers(6))] for _ in range(900)]
    reports = in_clear(rows, ILL, NIGHT, STRESS)
    table = np.array(rows)
    parts = [table[table[:, 1] == code] for code in (0, 2)]
    found = group_difference(reports, "ill", by="night", groups=("Yes", "At times"), option="Yes")
    shares = [np.mean(part[:, 0] == 0) for part in parts]
    assert (found.first, found.second) == pytest.approx(tuple(shares))
    variance = sum(p * (1 - p) / len(part) for p, part in zip(shares, parts, strict=True))
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=2e-3)
    rated = group_difference(reports, "stress", by="night", groups=("Yes", "At times"))
    scores = [part[part[:, 2] < 5, 2] + 1 for part in parts]
    assert (rated.first, rated.second) == pytest.approx(tuple(some.mean() for some in scores))
    variance = sum(some.var() / len(some) for some in scores)
    assert rated.standard_error == pytest.approx(math.sqrt(variance), rel=2e-3)
    asked = (NIGHT, Number("h", "?", 0, 9, "h"))
    for option in (None, "5"):
        with pytest.raises(ParameterError, match=r"asks for a number|no answer '5'"):
            group_difference(
                in_clear([[n % 2, 5] for n in range(60)], *asked),
                "h",
                by="night",
                groups=("Yes", "No"),
                option=option,
            )


def test_a_difference_is_a_result(tmp_path: Path) -> None:
    """It is a row of a table, and the same again from its file."""
    found = Difference("ill", "Yes", "a", "b", 0.6, 0.5, 0.1, 0.04, 0.02, 0.18, 0.95, 0.012)
    assert found.to_arrow().to_pylist()[0]["first_group"] == "a"
    found.save(tmp_path / "d.json")
    assert Difference.load(tmp_path / "d.json") == found
    json.dumps(found.to_dict())


def test_what_cannot_be_compared_is_refused() -> None:
    """The same reports, unknown questions, options and groups, no mean, nobody, faint groups."""
    one = in_clear([[0]] * 30 + [[1]] * 30)
    other = in_clear([[0]] * 20 + [[1]] * 40)
    for given, message in (
        ({"second": one, "option": "Yes"}, "same reports"),
        ({"question": "il", "option": "Yes"}, "Did you mean 'ill'"),
        ({"option": "Perhaps"}, "no option 'Perhaps'"),
        ({}, "has no mean; give option="),
        ({"option": "Yes", "confidence": 95}, "confidence is 95"),
        ({"first": 5, "option": "Yes"}, "expected the reports of a survey"),
    ):
        arguments: dict[str, Any] = {"first": one, "second": other, "question": "ill", **given}
        with pytest.raises(ParameterError, match=message):
            difference(
                arguments.pop("first"),
                arguments.pop("second"),
                arguments.pop("question"),
                **arguments,
            )
    nobody = reports_of(define(ILL, levels=("none",)), [])
    with pytest.raises(EmptyTable):
        difference(one, nobody, "ill", option="Yes")
    survey = define(ILL, NIGHT, levels=("high",))
    rng = np.random.default_rng(1)
    answers = np.stack([rng.integers(2, size=300), rng.integers(3, size=300)], axis=1)
    faint = at_levels(survey, answers, rng)
    for by, groups, option, message in (
        ("night", ("Yes", "No"), "Yes", "an interval would not hold"),
        ("night", ("Yes", "Never"), "Yes", "no answer 'Never'"),
        ("night", ("Yes", "Yes"), "Yes", "two different answers"),
        ("ill", ("Yes", "No"), "Yes", "makes the groups itself"),
        ("night", ("Yes", "No"), None, "give option="),
    ):
        with pytest.raises(ParameterError, match=message):
            group_difference(faint, "ill", by=by, groups=groups, option=option)
    few = in_clear([[0, 0]] * 60 + [[0, 1]] * 19, ILL, NIGHT)
    with pytest.raises(ParameterError, match="19 reports to 'night' say 'No'"):
        group_difference(few, "ill", by="night", groups=("Yes", "No"), option="Yes")
