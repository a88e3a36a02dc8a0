"""The contents of a page of results: the result's numbers, by each estimator, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server.devices import Device
from tests.server.results.reading import read_page
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.results import Figure
from masquerade.server import Services
from masquerade.server.http.pages import _templates
from masquerade.server.results.figures import Axis, Figures
from masquerade.server.results.view import result_view
from masquerade.surveys import Choice, Comparison, Number, Question, Ranking, Rating

QUESTIONS: tuple[Question, ...] = (
    Choice("c", "Which?", ("A", "B", "C")),
    Rating("r", "How good?"),
    Number("n", "How long?", 0, 40, "hours"),
    Comparison("p", "Which?", "X", "Y"),
)


def shown(services: Services, *questions: Question, people: int = 24, **asked: Any) -> Any:
    """Return the view of a closed survey and its result."""
    survey = services.surveys.open_survey(define(*(questions or QUESTIONS), **asked))
    for number in range(people):
        level = survey.survey.levels[number % len(survey.survey.levels)]
        reports = [(number + 2 * place) % 2 for place in range(len(level.mechanisms))]
        Device().send(services, survey, reports, level=level.name)
    closed = services.surveys.close(survey)
    result = services.results.result(closed)
    return result_view(closed.survey, result), result.to_json()


def test_bars_are_the_shares_of_the_result(sqlite_services: Services) -> None:
    """Each option has a bar, or its interval alone; how levels are put together is said."""
    view, result = shown(sqlite_services, levels=("high", "medium"))
    assert view.level_words.startswith("We allow that people at no level differ")
    for question, found in zip(view.questions, result["questions"], strict=True):
        for row, option in zip(question.bars, found["options"], strict=True):
            assert (row.value, row.low, row.high) == (
                option["shown"],
                option["low"],
                option["high"],
            )
    view, _ = shown(sqlite_services)
    assert view.level_words == ""


def test_means_stand_on_the_scale_that_was_asked(sqlite_services: Services) -> None:
    """Everybody comes first, then each level with its people; the axis is the question's."""
    view, result = shown(sqlite_services, levels=("high", "medium"))
    mean = view.questions[1].mean
    assert (mean.axis.low, mean.axis.high) == (1, 5)
    assert [row.label for row in mean.rows] == ["Everybody", "high", "medium"]
    assert [row.people_there for row in mean.rows] == [None, 12, 12]
    assert mean.everybody.value == result["questions"][1]["mean"]["shown"]
    hours = view.questions[2]
    assert hours.headline.kind in ("interval", "estimate")
    assert hours.mean.everybody.between.endswith(" hours")


def test_few_people_at_a_level_are_not_shown_apart(sqlite_services: Services) -> None:
    """With four at a level that level has no line of its own anywhere."""
    view, _ = shown(sqlite_services, people=8, levels=("high", "medium"))
    for question in view.questions:
        assert question.by_level == []
        assert question.mean is None or len(question.mean.rows) == 1


def test_what_makes_it_unsure_is_that_of_the_estimate(sqlite_services: Services) -> None:
    """Parts are of the variance of the option with the largest share."""
    view, result = shown(sqlite_services, levels=("high", "medium"))
    found = result["questions"][0]["options"]
    best = max(found, key=lambda option: float(option["value"]))
    sure = view.questions[0].sure
    assert sure.of == best["label"]
    assert sum(part.part for part in sure.errors) == pytest.approx(1, abs=2e-3)
    errors = {part.name: part.part for part in sure.errors}
    total = best["sampling_error"] ** 2 + best["mechanism_error"] ** 2
    assert errors["Masks"] == pytest.approx(best["mechanism_error"] ** 2 / total)


def test_pairs_asked_in_the_same_words_can_be_told_apart(sqlite_services: Services) -> None:
    """At a glance a pair is named by its items."""
    pairs = (Comparison("p", "Which?", "X", "Y"), Comparison("q", "Which?", "Y", "Z"))
    view, result = shown(sqlite_services, *pairs, people=60)
    assert [one.short for one in view.questions] == ["Which? X / Y", "Which? Y / Z"]
    [group] = view.ranking
    assert [row.label for row in group.rows] == [row["item"] for row in result["ranking"]]
    assert not any(group.axis.outside(getattr(row, end)) for row in group.rows for end in ("low",))


def test_nobody_answered(sqlite_services: Services) -> None:
    """An empty result has an empty view."""
    view, _ = shown(sqlite_services, people=0)
    assert (view.questions, view.ranking, view.few) == ([], [], False)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (0.417, "42 %"), (1.0, "100 %"), (None, "–")],
)
def test_shares_in_words(value: float | None, text: str) -> None:
    """A share is a percentage, unknown is a dash."""
    assert Figures(True, Axis(0, 1, percent=True), 0).text(value) == text


def test_shares_of_a_question_add_to_100() -> None:
    """Rounded together; a share that is shown as 0, for any reason, is said to be about 0."""
    figures = Figures(True, Axis(0, 1, percent=True), 0)
    numbers: tuple[tuple[str, float, float, float, float], ...] = (
        ("A", 0.43, 0.335, 0.331, 0.334),
        ("B", 0.43, 0.335, 0.2, 0.4),
        ("C", 0.44, 0.33, 0.2, 0.4),
        ("D", -0.33, 0.0, 0.0, 0.1),
        ("E", 0.03, 0.0, 0.0, 0.5),
    )
    rows = figures.rows(
        [
            (label, Figure(value, shown, low, high, None, None, None))
            for label, value, shown, low, high in numbers
        ]
    )
    assert [row.text for row in rows] == ["34 %", "33 %", "33 %", "about 0 %", "about 0 %"]
    assert rows[0].between == "33 to 34 %"  # outwards, so that it holds what is shown


def test_means_in_words() -> None:
    """A mean has its unit and a minus that is one; half an interval of shares is in points."""
    figures = Figures(False, Axis(-5, 5), 2, "°C")
    assert figures.text(-1.005) == "−1.00 °C"
    assert figures.text(-0.001) == "0.00 °C"
    assert figures.between(-2.001, 1.501) == "−2.01 to 1.51 °C"
    assert figures.between(-5, 5, "and") == "−5.00 and 5.00 °C"
    assert figures.spread(0.123) == "0.12"
    assert Figures(True, Axis(0, 1), 1).spread(0.123) == "12.3 %-points"


def test_a_ranking_has_mean_ranks_and_what_a_model_says(sqlite_services: Services) -> None:
    """Strengths and first places stand in a table of their own, labelled as a model's."""
    question = Ranking("k", "Which topic?", ("Ada", "Bell", "Cy"))
    view, result = shown(sqlite_services, question, people=40, levels=("medium",))
    [found] = view.questions
    ranks = result["questions"][0]["ranks"]
    assert [row.label for row in found.mean.rows] == ["Ada", "Bell", "Cy"]
    for (item, first, strength, between), rank in zip(found.mean.first_choices, ranks, strict=True):
        assert (item, first) == (rank["item"], f"{100 * rank['first_choice']:.0f} %")
        assert (
            rank["strength"]["low"] <= float(strength.replace("−", "-")) <= rank["strength"]["high"]
        )
        assert " to " in between
    macros: Any = _templates.env.get_template("result/result.html").module
    page = read_page(macros.results(view))
    table = page.first("table", "first-choices")
    assert table is not None
    assert [head.text for head in table.all("th")][:4] == [
        *("Item", "Ranked first", "Strength", "Interval"),
    ]
    assert "If one set of strengths fits everybody" in page.text


def test_masks_are_blamed_for_no_error_of_answers_in_clear(tmp_path: Path) -> None:
    """In clear all unmasked answers count; beside masks no margin contradicts the interval."""
    address = f"sqlite:///{tmp_path / 'clear.sqlite3'}"
    services = Services.open(address, allow_clear=True, caps=Caps(clear=1))
    view, _ = shown(services, QUESTIONS[0], levels=("none",))
    [alone] = view.questions
    assert [part.name for part in alone.sure.errors] == ["People"]
    assert alone.sure.unmasked == alone.n
    survey = services.surveys.open_survey(define(QUESTIONS[0], levels=("high", "none")))
    for number in range(44):
        level = "none" if number % 3 else "high"
        Device().send(services, survey, [number % 2], level=level)
    closed = services.surveys.close(survey)
    [mixed] = result_view(closed.survey, services.results.result(closed)).questions
    assert mixed.sure is not None
    assert mixed.sure.interval
    assert (mixed.sure.margin, mixed.sure.more, mixed.sure.unmasked) == ("", (), None)
