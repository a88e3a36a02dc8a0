"""No page, picture or file of results shows an impossible number, however few people answered."""

from __future__ import annotations

import csv
import io
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.server.results.reading import Element, numbers, read_page, table_rows

from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.results import (
    Codebook,
    SurveyReports,
    SurveyResult,
    cross_table,
    result_table,
    survey_result,
)
from masquerade.server.http.pages import _templates
from masquerade.server.results.view import result_view
from masquerade.surveys import Choice, Comparison, Number, Question, Rating, ShowIf
from masquerade.surveys.survey import Survey

SIZES = (1, 19, 60, 400)

EVERY_KIND: tuple[Question, ...] = (
    Choice("c", "Which?", ("A", "B", "C")),
    Choice("s", "Which, if any?", ("A", "B", "C", "D"), allow_skip=True),
    Rating("r", "How good?"),
    Rating("t", "How good, if you like?", allow_skip=True),
    Number("n", "How long?", 0, 40, "hours"),
    Number("m", "How warm?", -5, 5, "°C", 0.5),
    Comparison("p", "Which of these?", "X", "Y"),
    Comparison("q", "Which, or neither?", "Y", "Z", "Neither"),
)
ITEMS = tuple(
    Choice(f"i{n}", f"Item {n}", ("cat", "dog"), truth=("cat", None, "dog")[n % 3])
    for n in range(6)
)
LEVELS = ("high", "medium", "low")


def surveys() -> dict[str, Survey]:
    """Return surveys of every kind."""
    asked: dict[str, dict[str, Any]] = {
        "one level": {"questions": EVERY_KIND, "levels": ("medium",)},
        "three levels": {"questions": EVERY_KIND, "levels": LEVELS},
        "respondents": {"questions": EVERY_KIND, "levels": LEVELS, "estimator": "respondent"},
        "in clear": {"questions": EVERY_KIND, "levels": ("none", "high")},
        "noisy ratings": {
            "questions": (Rating("r", "How good?"),),
            "levels": LEVELS,
            "rating_mask": "gaussian",
        },
        "one mask a person": {
            "questions": (EVERY_KIND[0], EVERY_KIND[2]),
            "levels": ("low",),
            "masking": "per-person",
        },
        "skip logic": {
            "questions": (EVERY_KIND[0], EVERY_KIND[1]),
            "levels": LEVELS,
            "conditions": (None, ShowIf("c", ("A",))),
        },
        "labels": {"questions": ITEMS, "levels": ("medium", "low"), "template": "label"},
    }
    return {name: Survey.at_levels(title=name, **given) for name, given in asked.items()}


def reports_of(definition: Survey, people: int) -> SurveyReports:
    """Return masked reports of people with the first answer, with a fixed seed.

    One answer for all is where noise carries estimates farthest out of what is possible.
    """
    rng = np.random.default_rng(people)
    book = Codebook("0123456789abcdef", definition, definition.content_hash())
    names = [level.name for level in definition.levels]
    chosen = [names[int(rng.integers(len(names)) if n > 2 else 0)] for n in range(people)]
    sent = [
        [_masked(mechanism, rng) for mechanism in definition.level(name).mechanisms]
        for name in chosen
    ]
    return SurveyReports.from_rows(book, [f"{n:08}" for n in range(people)], chosen, sent)


def _masked(mechanism: Mechanism, rng: np.random.Generator) -> int:
    if isinstance(mechanism, DiscreteGaussian):
        return round(rng.normal(0, float(mechanism.sigma / mechanism.lattice.step)))
    assert isinstance(mechanism, CategoricalMechanism)
    kept = rng.random() < float(mechanism.keep_probability)
    return 0 if kept else int(rng.integers(1, mechanism.symbols))


@cache
def computed(name: str, people: int) -> tuple[Survey, SurveyReports, dict[str, Any]]:
    """Return a survey with its reports and result."""
    definition = surveys()[name]
    reports = reports_of(definition, people)
    return definition, reports, survey_result(reports).to_json()


CASES = [pytest.param(name, n, id=f"{name}-{n}") for name in surveys() for n in SIZES]


def possible(found: dict[str, Any], low: float, high: float) -> None:
    """Check that an estimate lies in its interval and that in its range; unknown is null."""
    assert low <= found["low"] <= found["high"] <= high
    if found["shown"] is not None:
        assert found["low"] <= found["shown"] <= found["high"]


def sum_to_one(options: list[dict[str, Any]]) -> None:
    """Check that shares are possible, and sum to 1 where all are shown."""
    if all(option["shown"] is not None for option in options):
        assert sum(option["shown"] for option in options) == pytest.approx(1)
    for option in options:
        possible(option, 0, 1)


@pytest.mark.parametrize(("name", "people"), CASES)
def test_every_number_of_the_json_is_possible(name: str, people: int) -> None:
    """By every estimator, at each level, with all answers at once and for the cross table."""
    definition, reports, result = computed(name, people)
    for question, found in zip(definition.questions, result["questions"], strict=True):
        if found["options"]:
            parts = [found["options"], *(level["options"] for level in found["by_level"])]
            for options in parts:
                sum_to_one(options)
            for option in found["options"]:
                at_once = (option["simultaneous_low"], option["simultaneous_high"])
                assert at_once[0] <= option["low"] <= option["high"] <= at_once[1]
        if found["mean"]:
            assert isinstance(question, Rating | Number)
            means = [found["mean"]]
            means += [level["mean"] for level in found["by_level"]]
            for mean in means:
                possible(mean, question.low, question.high)
        said = found["headline"]
        assert (said["kind"] == "few") == (people < 20)
        if said["kind"] == "estimate":
            assert said["low"] <= said["shown"] <= said["high"]
        else:
            assert said["shown"] is None
    for label in result["labels"]:
        assert 0.5 <= label["probability"] <= 1
    if name == "three levels" and people > 1:
        cells = [c for row in cross_table(reports, "c", "s").to_json()["cells"] for c in row if c]
        for cell in cells:
            possible(cell, 0, 1)


@pytest.mark.parametrize(("name", "people"), CASES)
def test_every_number_of_the_table_is_possible(name: str, people: int) -> None:
    """In the CSV, `shown` lies in its interval and `value` is the unbiased estimate."""
    _, _, result = computed(name, people)
    for row in csv.DictReader(io.StringIO(result_table(SurveyResult.of(result)), newline="")):
        if row["shown"]:
            assert float(row["low"]) <= float(row["shown"]) <= float(row["high"])


@pytest.mark.parametrize(("name", "people"), CASES)
def test_every_number_of_the_pages_is_possible(name: str, people: int) -> None:
    """Charts, table twins and headlines: in range and interval; percentages add to 100."""
    definition, _, result = computed(name, people)
    view = result_view(definition, SurveyResult.of(result))
    macros: Any = _templates.env.get_template("result/result.html").module
    page = read_page(macros.results(view))
    for question in definition.questions:
        section = next(
            part
            for part in page.all("section", "question")
            if part.attributes["id"] == f"question-{question.id}"
        )
        _check_headlines(section, question, people)
        for chart in section.all("ul", "plot"):
            _check_chart(chart, question)
        for table in section.all("table"):
            _check_table(table, question)
    glance = page.first("section", "card")
    if people < 20 and glance is not None and glance.attributes.get("id") == "glance":
        for line in glance.all("li"):
            said = line.first("span", "finding")
            assert said is not None
            assert "too few responses" in said.text
    embed = _templates.env.get_template("result/embed.html").render(
        record={"shown": definition, "responses": people}, view=view, public_link="/r/x"
    )
    small = read_page(embed.replace("<!doctype html>", ""))
    sections = list(small.all("section"))
    kinds = [question for question in definition.questions if definition.template != "label"]
    for section, question in zip(sections[len(view.ranking) :], kinds, strict=True):
        for chart in section.all("ul", "plot"):
            _check_chart(chart, question)


def _ends(question: Question, *, share: bool) -> tuple[float, float]:
    if share:
        return 0.0, 100.0
    assert isinstance(question, Rating | Number)
    return float(question.low), float(question.high)


def _check_figure(text: str, between: str, ends: tuple[float, float]) -> float:
    if text == "–" or len(numbers(text)) == 2:
        low, high = numbers(between if text == "–" else text)  # no point is shown
        assert ends[0] <= low <= high <= ends[1], (text, between)
        return math.nan
    [shown] = numbers(text)
    assert ends[0] <= shown <= ends[1], text
    if between not in ("", "–"):
        low, high = numbers(between)
        assert ends[0] <= low <= shown <= high <= ends[1], (text, between)
    return shown


def _check_chart(chart: Element, question: Question) -> None:
    total = 0.0
    for line in chart.all("li"):
        figures = line.first("span", "plot-figures")
        if figures is None:
            continue  # the axis
        shown, between = figures.first("b"), figures.first("small")
        assert shown is not None
        share = "%" in shown.text
        ends = _ends(question, share=share)
        total += _check_figure(shown.text, between.text if between else "", ends)
    if chart.attributes["aria-label"] == "Share of each answer":
        assert math.isnan(total) or total == pytest.approx(100)


def _check_table(table: Element, question: Question) -> None:
    totals: dict[str, float] = {}
    for row in table_rows(table):
        if "Estimate" not in row:
            return  # what more people would bring
        share = "%" in row["Estimate"] + row["Interval"]
        ends = _ends(question, share=share)
        shown = _check_figure(row["Estimate"], row["Interval"], ends)
        if share:
            # Shares of all people, then of those who answered, where some may not have.
            among = (
                "of those who answered" if "of those who answered" in row.get("Answer", "") else ""
            )
            level = row.get("Level", among)
            totals[level] = totals.get(level, 0.0) + shown
    assert all(math.isnan(total) or total == pytest.approx(100) for total in totals.values())


def _check_headlines(section: Element, question: Question, people: int) -> None:
    large = list(section.all("b", "big-number"))
    if people < 20:
        assert not large
        assert section.first("p", "headline", "few") is not None
    if question.lattice is None:
        return  # an option that is ahead, or several that may be
    for one in large:
        ends = _ends(question, share=False)
        assert all(ends[0] <= number <= ends[1] for number in numbers(one.text)), one.text
