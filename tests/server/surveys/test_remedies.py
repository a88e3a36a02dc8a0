"""Remedies for questions that will tell little: each with the forecast of the changed survey."""

from __future__ import annotations

import re
from typing import Any

import pytest

from masquerade.accounting import Caps
from masquerade.server.surveys.document import Document, changed
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.server.surveys.forecast import forecast
from masquerade.server.surveys.remedies import SHORTER, Remedy, WeakQuestion, weak_questions
from masquerade.surveys import Choice, Matrix, PromoterScore, Question, Rating
from masquerade.surveys.offered_levels import share_of_cap
from masquerade.surveys.survey import Survey


def opened(document: Document) -> Survey | None:
    """Return the survey that a document opens as."""
    return survey_or_issues(document, allow_clear=False, today="2026-03-14")[0]


def document_of(
    *questions: Question, conditions: dict[str, Any] | None = None, **fields: Any
) -> Document:
    """Return a document with these questions."""
    asked = [
        one.to_json()
        | ({"show_if": (conditions or {})[one.id]} if one.id in (conditions or {}) else {})
        for one in questions
    ]
    return changed(Document(title="T"), {"questions": asked, **fields})


def weak(document: Document, caps: Caps | None = None) -> list[WeakQuestion]:
    """Return the weak questions of a document."""
    caps, survey = caps or Caps(), opened(document)
    assert survey is not None
    figures = forecast(document, survey, caps=caps)
    return weak_questions(document, survey, figures, caps=caps, opened=opened)


def named(remedies: tuple[Remedy, ...], words: str) -> Remedy:
    """Return the remedy with these words."""
    [found] = [one for one in remedies if words in one.what]
    return found


def yes_no(name: str, *, skip: bool = False) -> Choice:
    """Return a question of two options."""
    return Choice(name, f"{name}?", ("Yes", "No"), allow_skip=skip)


def test_each_remedy_has_the_forecast_of_the_survey_that_it_leads_to() -> None:
    """Two parties, a level, some of the questions, and more people: each is opened and measured."""
    document = document_of(
        *(yes_no(f"q{n}") for n in range(8)), levels=["high"], plan={"people": 400}
    )
    found = weak(document)
    assert len(found) == 8
    remedies, caps = found[3].remedies, Caps()
    for one in remedies:
        assert one.margin is None or (
            one.margin["words"].startswith("±") and one.margin["id"] == "q3"
        )
    medium = changed(document, {"levels": ["medium"]})
    survey = opened(medium)
    assert survey is not None
    expected = forecast(medium, survey, caps=caps)["questions"][3]
    assert named(remedies, "Level medium for everybody").margin == expected

    some = named(remedies, "level low")
    match = re.search(r"each person (\d) of 8 questions", some.what)
    assert match is not None
    assert some.also == SHORTER
    drawn = changed(document, {"levels": ["low"], "asked": int(match[1])})
    survey = opened(drawn)
    assert survey is not None
    assert some.margin == forecast(drawn, survey, caps=caps)["questions"][3]
    now = opened(document)
    assert now is not None
    most = share_of_cap(now.levels[0], caps)
    assert share_of_cap(survey.levels[0], caps) <= most
    more = opened(changed(drawn, {"asked": int(match[1]) + 1}))
    assert more is not None
    assert share_of_cap(more.levels[0], caps) > most

    people = named(remedies, "people instead of 400")
    count = int(people.what.split()[0].replace(",", ""))
    larger = changed(document, {"plan": {"people": count}})
    expected = forecast(larger, now, caps=caps)["questions"][3]
    assert people.margin == expected
    assert named(remedies, "Two parties").margin is not None
    assert "instead of" in named(remedies, "Leave it out").also


def test_rows_of_a_matrix_are_named_and_can_be_left_out_one_by_one() -> None:
    """Each row is a question of its own, with its own text, beside those after the matrix."""
    document = document_of(
        Matrix("m", "How good were", rows=("Talks", "Food", "Rooms")),
        PromoterScore("s", "Recommend?"),
        levels=["high"],
        plan={"people": 40},
    )
    found = weak(document)
    assert [(one.place, one.text) for one in found] == [
        (0, "How good were – Talks"),
        (0, "How good were – Food"),
        (0, "How good were – Rooms"),
        (1, "Recommend?"),
    ]
    for one in found:
        also = named(one.remedies, "Leave it out").also
        before, after = (float(part) for part in reversed(re.findall(r"([\d.]+) %", also)))
        assert after == pytest.approx(before * 3 / 4, abs=1.1)


def test_linked_questions_are_drawn_in_groups() -> None:
    """Some of the groups at a level that hides less, where questions depend on each other."""
    document = document_of(
        *(yes_no(f"q{n}", skip=n % 2 == 1) for n in range(8)),
        conditions={f"q{n}": {"question": f"q{n - 1}", "answers": ["Yes"]} for n in (1, 3, 5, 7)},
        levels=["high"],
        plan={"people": 1000},
    )
    [first, *_] = weak(document)
    assert "of 4 groups of questions, at level" in "".join(one.what for one in first.remedies)


def test_a_survey_that_asks_some_already_can_go_to_two_parties() -> None:
    """Two parties ask everybody all; the remedy is measured so."""
    document = document_of(
        *(Rating(f"q{n}", "?") for n in range(6)), asked=2, levels=["high"], plan={"people": 100}
    )
    [first, *_] = weak(document)
    margin = named(first.remedies, "Two parties").margin
    assert margin is not None
    assert margin["tells"] == "enough"
