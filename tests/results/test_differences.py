"""The difference of two groups, with an interval that holds as often as it says."""

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
    all_differences,
    difference,
    group_comparisons,
    group_difference,
    survey_result,
)
from masquerade.results.reports import PersonRows
from masquerade.surveys import Choice, Number, Rating
from masquerade.surveys.survey import Survey

ILL = Choice("ill", "?", ("Yes", "No"))
NIGHT = Choice("night", "?", ("Yes", "No", "At times"))
STRESS = Rating("stress", "?", allow_skip=True)


def in_clear(answers: Sequence[Sequence[int]], *questions: Any, title: str = "Work") -> Any:
    """Return the reports of people without a mask."""
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
    survey_book = codebook(survey)
    names = np.array([f"{token}{n:05}" for n in range(len(answers))], dtype=np.str_)
    return PersonRows.from_arrays(survey_book, names, level, table).counted(survey_book)


def test_two_surveys_in_clear_differ_nearly_as_textbooks_say() -> None:
    """Of means, Welch's interval within a seventh of its width; a share of numbers in between."""
    rng = np.random.default_rng(3)
    asked = (Number("n", "?", 0, 100, "h"), ILL)
    samples = [rng.integers(0, top, size=n) for top, n in ((60, 35), (90, 50))]
    one, other = (
        in_clear([[int(x), int(x) % 2] for x in some], *asked, title=f"Year {i}")
        for i, some in enumerate(samples)
    )
    found = difference(one, other, "n")
    interval = ttest_ind(*samples, equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(samples[0].mean() - samples[1].mean())
    width = interval.high - interval.low
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=width / 7)
    assert (found.first_group, found.second_group) == ("Year 0", "Year 1")
    share = difference(SurveyResult.of(one), other, "ill", option="Yes", confidence=0.9)
    again = difference(one, other, "ill", option="Yes", confidence=0.9)
    assert (share.low, share.high) == pytest.approx((again.low, again.high))
    with pytest.raises(ParameterError, match="give the reports"):
        difference(one, survey_result(other), "n")


def test_nobody_of_twenty_is_no_proof_of_a_difference() -> None:
    """0 of 20 against 20 of 1,000, in clear: p is 1, and the interval reaches from -.03 to .13."""
    one = in_clear([[1]] * 20, title="Small")
    other = in_clear([[0]] * 20 + [[1]] * 980, title="Large")
    found = difference(one, other, "ill", option="Yes")
    assert found.probability == pytest.approx(1)
    assert (found.low, found.high) == pytest.approx((-0.030526, 0.133777), abs=1e-6)


def test_all_differences_of_two_waves_are_corrected_for_their_number() -> None:
    """Options and means of all questions are one family, and hold together."""
    asked = (NIGHT, Rating("mood", "?"))
    rng = np.random.default_rng(2)
    waves = [
        in_clear([[int(x), int(y)] for x, y in zip(a, b, strict=True)], *asked, title=f"Wave {i}")
        for i, (a, b) in enumerate(
            (rng.integers(3, size=90), rng.integers(5, size=90)) for _ in range(2)
        )
    ]
    found = all_differences(waves[0], waves[1])
    assert [(one.question, one.option) for one in found] == [
        *(("night", label) for label in NIGHT.labels),
        ("mood", None),
    ]
    alone = [
        difference(waves[0], waves[1], "night", option=label).probability for label in NIGHT.labels
    ]
    assert min(one.probability for one in found[:3]) == pytest.approx(min(1.0, 4 * min(alone)))
    assert {one.family for one in found} == {4}
    assert all(
        one.simultaneous_low <= one.low <= one.high <= one.simultaneous_high for one in found
    )


def test_groups_are_compared_for_every_question() -> None:
    """Figures of each group and all pairs; questions that cannot be crossed are left out."""
    rng = np.random.default_rng(4)
    rows = [[int(rng.integers(3)), int(rng.integers(2)), int(rng.integers(6))] for _ in range(300)]
    reports = in_clear(rows, NIGHT, ILL, STRESS)
    found = group_comparisons(reports, by="night")
    assert [(one.question, one.option) for one in found] == [
        ("ill", "Yes"),
        ("ill", "No"),
        ("stress", None),
    ]
    for one in found:
        assert [row.group for row in one.groups] == list(NIGHT.labels)
        assert len(one.differences) == 3
        pair = one.differences[0]
        [alone] = [
            group_difference(
                reports, one.question, by="night", groups=("Yes", "No"), option=one.option
            )
        ]
        assert (pair.low, pair.high) == pytest.approx((alone.low, alone.high))
        assert pair.probability >= alone.probability - 1e-12
    few = in_clear([[0, 0]] * 60 + [[1, 1]] * 19, NIGHT, ILL)
    with pytest.raises(ParameterError, match="1 of the answers to 'night' have 20 reports"):
        group_comparisons(few, by="night")


def test_the_interval_of_masked_groups_holds_as_often_as_it_says() -> None:
    """Groups that a masked answer makes: 95 % intervals hold in 91 to 100 of 100 (seed 7).

    60 surveys of 800 people at one level; 60 draws at .95 hold fewer than 46 times with a
    probability below 1e-6.
    """
    rng = np.random.default_rng(7)
    survey = define(ILL, NIGHT, levels=("low",))
    held = 0
    for _ in range(60):
        night = rng.choice(3, size=800, p=[0.4, 0.5, 0.1])
        ill = rng.random(800) < np.array([0.3, 0.6, 0.5])[night]  # code 1: no
        reports = at_levels(survey, np.stack([ill.astype(np.int64), night], axis=1), rng)
        found = group_difference(reports, "ill", by="night", groups=("Yes", "No"), option="Yes")
        held += found.low <= 0.3 <= found.high
    assert held >= 46


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
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=2e-2)
    rated = group_difference(reports, "stress", by="night", groups=("Yes", "At times"))
    scores = [part[part[:, 2] < 5, 2] + 1 for part in parts]
    assert (rated.first, rated.second) == pytest.approx(tuple(some.mean() for some in scores))
    variance = sum(some.var() / len(some) for some in scores)
    assert rated.standard_error == pytest.approx(math.sqrt(variance), rel=2e-2)
    asked = (NIGHT, Number("h", "?", 0, 9, "h"))
    for option in (None, "5"):
        with pytest.raises(ParameterError, match=r"has no mean here|no answer '5'"):
            group_difference(
                in_clear([[n % 2, 5] for n in range(60)], *asked),
                "h",
                by="night",
                groups=("Yes", "No"),
                option=option,
            )


def test_a_difference_is_a_result(tmp_path: Path) -> None:
    """It is a row of a table, and the same again from its file."""
    found = Difference(
        "ill", "Yes", "a", "b", 0.6, 0.5, 0.1, 0.04, 0.02, 0.18, 0.95, 0.012, 0, 0.2, 2
    )
    assert not found.differ
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
        ("night", ("Yes", "Never"), "Yes", "no answer 'Never'"),
        ("night", ("Yes", "Yes"), "Yes", "two different answers"),
        ("ill", ("Yes", "No"), "Yes", "makes the groups itself"),
        ("night", ("Yes", "No"), None, "give option="),
    ):
        with pytest.raises(ParameterError, match=message):
            group_difference(faint, "ill", by=by, groups=groups, option=option)
    # A group that is hidden by its mask may be empty: nothing is known of it.
    unknown = group_difference(faint, "ill", by="night", groups=("Yes", "No"), option="Yes")
    assert (unknown.low, unknown.high) == (-1, 1)
