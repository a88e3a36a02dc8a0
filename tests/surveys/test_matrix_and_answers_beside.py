"""Matrices, words on points, answers beside a scale, and pictures of options."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.results.forecasts import forecast
from masquerade.results.question_reports import question_reports
from masquerade.results.reports import SentReports
from masquerade.surveys import Choice, Matrix, Rating, SeveralOf, ShowIf, question_from_json
from masquerade.surveys.pair_votes import parts_of
from masquerade.surveys.question import GAUSSIAN_MASK, MaskRules
from masquerade.surveys.survey import DEFAULT_ESTIMATOR, Survey

MATRIX = Matrix("m", "How good were", rows=("The talks", "The food", "The room"), allow_skip=True)
BESIDE = Rating("r", "How good?", dont_know="Don't know")
#: A dot, 1 x 1, without any data about itself.
DOT = "data:image/png;base64," + (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


def test_a_matrix_is_as_many_ratings_as_it_has_rows() -> None:
    """Each row is a question of its own, with the condition of the whole and its own mask."""
    first = Choice("were", "Were you there?", ("Yes", "No"))
    questions, conditions = parts_of((first, MATRIX), (None, ShowIf("were", ("Yes",))))
    assert [one.id for one in questions] == ["were", "m", "m-2", "m-3"]
    assert conditions[1] == conditions[2] == conditions[3] != conditions[0]
    survey = Survey.at_levels(
        title="T", questions=(first, MATRIX), levels=("medium",), conditions=(None, conditions[1])
    )
    assert [str(mask) for mask in survey.levels[0].mechanisms[1:]] == [
        "randomized-response:options=5,epsilon=0.999188,null=true"
    ] * 3
    assert Survey.from_text(survey.text()) == survey
    assert questions[2].whole_text == "How good were – The food"
    again, _ = parts_of(questions, ())
    assert again == questions, "what is written out already is not split again"


def test_rows_of_a_matrix_are_different_texts() -> None:
    """One row, too many, an empty one and one that stands twice are refused at their field."""
    for rows, field in (
        (("One",), "rows"),
        (tuple(map(str, range(31))), "rows"),
        (("One", " "), "rows/1"),
        (("One", "One"), "rows"),
    ):
        with pytest.raises(ParameterError) as raised:
            replace(MATRIX, rows=rows)
        assert raised.value.field == field


def test_an_answer_beside_the_scale_counts_in_no_mean() -> None:
    """People that do not know are among the shares, and not in the mean of the ratings."""
    mask = BESIDE.mask("none", MaskRules())
    sent = SentReports(np.array([0, 4, 5]), np.array([100, 100, 200]), mask)
    found = question_reports(BESIDE, {"none": sent}, estimator=DEFAULT_ESTIMATOR)
    mean = found.mean_figures()
    assert mean is not None
    assert mean.estimates()[0].value == pytest.approx(3)
    assert [round(one.value, 2) for one in found.shares()] == [0.25, 0, 0, 0, 0.25, 0.5]
    assert BESIDE.code("Don't know") == 5
    assert BESIDE.answer(5) == BESIDE.report_in_words(5, mask) == "Don't know"


def test_the_forecast_of_a_rating_with_an_answer_beside_it_is_of_the_mean() -> None:
    """At a level one symbol more costs the mean next to nothing, and it stays a mean."""
    plain = replace(BESIDE, dont_know="")
    margins = []
    for question in (plain, BESIDE):
        survey = Survey.at_levels(title="T", questions=(question,), levels=("medium",))
        found = forecast(survey, 0, {"medium": 400})
        assert found.kind == "mean"
        margins.append(found.margin)
    assert margins[1] == pytest.approx(margins[0], rel=0.1)


def test_noise_on_a_scale_has_no_answer_beside_it() -> None:
    """Noise has no report for an answer that is no number, so it is refused at that field."""
    with pytest.raises(ParameterError) as raised:
        BESIDE.mask("medium", MaskRules(rating_mask=GAUSSIAN_MASK))
    assert raised.value.field == "dont_know"


def test_points_have_all_a_word_or_none() -> None:
    """Words stand in the codebook and in results, and are one for each point."""
    words = ("bad", "poor", "fair", "good", "great")
    rated = Rating("r", "How?", words=words, allow_skip=True)
    assert rated.labels == ("1", "2", "3", "4", "5")
    assert rated.codes == [
        "1 (bad)",
        *(f"{n} ({w})" for n, w in list(enumerate(words, 1))[1:]),
        ("Prefer not to say"),
    ]
    with pytest.raises(ParameterError) as raised:
        Rating("r", "How?", words=words[:4])
    assert raised.value.field == "words"


def test_further_answers_stand_last_and_are_unlike_the_others() -> None:
    """Other and don't know are labels like all, after the options; a double one is refused."""
    choice = Choice("c", "Which?", ("A", "B"), other="Other", dont_know="Don't know")
    assert choice.labels == ("A", "B", "Other", "Don't know")
    ticks = SeveralOf("s", "Which?", ("A", "B"), other="Other", most=3)
    assert ticks.code(["B", "Other"]) == 0b110
    assert ticks.mask("medium", MaskRules()).options == 3  # type: ignore[attr-defined]
    for wrong in ({"other": "A"}, {"dont_know": "B"}, {"other": " "}):
        with pytest.raises(ParameterError) as raised:
            replace(choice, **wrong)  # type: ignore[arg-type]
        assert raised.value.field == next(iter(wrong))


def test_definitions_of_earlier_versions_stay_as_they_were() -> None:
    """New fields at their defaults are in no definition, so that no hash changes."""
    for question in (
        Choice("c", "Which?", ("A", "B")),
        Rating("r", "How?"),
        SeveralOf("s", "Which?", ("A", "B")),
    ):
        data = question.to_json()
        assert not {"other", "dont_know", "words", "pictures"} & set(data)
        assert question_from_json(data) == question


def test_pictures_are_small_and_say_nothing_else() -> None:
    """Each option has a picture or none has; large ones, no images and metadata are refused."""
    shown = Choice("c", "Which?", ("A dot", "Another"), pictures=(DOT, DOT))
    assert question_from_json(shown.to_json()) == shown
    exif = base64.b64encode(b"\xff\xd8\xff\xe1\x00\x08Exif\x00\x00\xff\xd9").decode()
    wrong: tuple[Any, ...] = (
        None,
        (DOT,),
        (DOT, ""),
        (DOT, "data:image/png;base64," + "A" * 50_000),
        (DOT, "https://example.org/a.png"),
        (DOT, "data:image/svg+xml;base64,PHN2Zy8+"),
        (DOT, f"data:image/jpeg;base64,{exif}"),
    )
    for pictures in wrong:
        with pytest.raises(ParameterError) as raised:
            Choice("c", "Which?", ("A dot", "Another"), pictures=pictures)
        assert str(raised.value.field).startswith("pictures")
