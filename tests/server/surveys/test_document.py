"""A written survey: files, templates, missing parts and their places."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import Caps
from masquerade.errors import InvalidDocument, NotFound
from masquerade.server.surveys.document import Document, changed, read_document, read_document_text
from masquerade.server.surveys.document_survey import document_of, survey_or_issues
from masquerade.server.surveys.forecast import expected_levels, forecast
from masquerade.server.surveys.templates import TEMPLATES, template_named
from masquerade.surveys import Choice, Rating, ShowIf
from masquerade.surveys.survey import Survey

TODAY = "2026-03-14"


def places(document: Document) -> list[tuple[str, str]]:
    """Return the missing parts, on a server that allows no answers in clear."""
    return survey_or_issues(document, allow_clear=False, today=TODAY)[1]


def survey_of(document: Document) -> Survey:
    """Return the survey that a finished document opens as."""
    survey, issues = survey_or_issues(document, allow_clear=True, today="2026-03-14")
    assert survey is not None, issues
    return survey


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_template_can_be_opened_as_it_is(name: str) -> None:
    """Nothing is missing, everybody can afford every level, and each question has a forecast."""
    template = TEMPLATES[name]
    document = template.document()
    assert (document.template, document.masquerade) == (name, 1)
    assert places(document) == []
    definition = survey_of(document)
    found = forecast(document, definition, caps=Caps())
    assert all(level["share_of_cap"] <= 1 for level in found["levels"])
    # Votes on a list of pairs have the forecast of the first one.
    own = [q.id for q in definition.questions if q.votes_asked or not q.takes_pair]
    assert [one["id"] for one in found["questions"]] == own
    assert all(one["margin"] is not None and one["margin"] > 0 for one in found["questions"])
    assert found["asked"] == document.plan.people


def test_there_are_the_templates_that_were_promised() -> None:
    """Ratings, picks, comparisons, labels, numbers, a sensitive one, and a mixed one."""
    assert {"rate", "pick", "compare", "label", "number", "sensitive", "pulse"} <= set(TEMPLATES)
    assert TEMPLATES["sensitive"].document().topic == "sensitive"
    with pytest.raises(NotFound, match="choose one of rate"):
        template_named("nothing")


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_export_and_import_give_the_same_file(name: str) -> None:
    """A file that is read and written again is the same, byte for byte."""
    text = TEMPLATES[name].document().text()
    assert read_document_text(text).text() == text
    assert text.endswith("}\n")


_TEXT = st.text(min_size=1, max_size=20)


@given(
    title=_TEXT,
    topic=st.sampled_from(["everyday", "personal", "sensitive"]),
    levels=st.lists(st.sampled_from(["high", "medium", "low"]), unique=True, max_size=3),
    questions=st.lists(
        st.dictionaries(_TEXT, st.one_of(_TEXT, st.integers(), st.booleans(), st.none())),
        max_size=3,
    ),
    people=st.integers(1, 100_000),
)
def test_prop_any_draft_survives_its_file(**fields: Any) -> None:
    """Also an unfinished one, with all contents of its questions; missing parts are told."""
    people = fields.pop("people")
    document = read_document({**fields, "plan": {"people": people}})
    again = read_document_text(document.text())
    assert again == document
    assert again.text() == document.text()
    assert places(document) == [] or all(detail for _, detail in places(document))


@pytest.mark.parametrize(
    ("text", "pointer", "says"),
    [
        ("{", "", r"line 1, column 2"),
        ('{\n "title": "A",\n "title" 5}', "", r"line 3, column 10"),
        ("[1]", "", "JSON object"),
        ('{"masquerade": 2}', "/masquerade", "reads format 1"),
        ('{"title": 5}', "/title", "Give a text"),
        ('{"colour": "red"}', "/colour", "has no such field"),
        ('{"questions": [1]}', "/questions/0", "valid dict"),
        ('{"plan": {"alpha": 2}}', "/plan/alpha", "Give 1 or less, not 2"),
        ('{"plan": {"prices": {"high": -1}}}', "/plan/prices/high", "Give 0 or more, not -1"),
        ('{"title": "' + "x" * 20_001 + '"}', "/title", "Shorten this to 20,000"),
        ("[" * 100_000, "", "nested too deeply|no JSON"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(text: str, pointer: str, says: str) -> None:
    """The error names line and column, or the pointer of the field."""
    with pytest.raises(InvalidDocument, match=says) as caught:
        read_document_text(text)
    assert caught.value.issues[0][0] == pointer


def test_a_survey_with_masks_of_its_own_keeps_them() -> None:
    """A survey opened without a draft is exported with its mechanisms, and opens as the same."""
    definition = Survey.at_levels(
        title="Own",
        questions=(Choice("a", "?", ("x", "y")), Rating("b", "?", allow_skip=True)),
        levels=("high", "low"),
        conditions=(None, ShowIf("a", ("x",))),
        reveal="after_send",
    )
    document = document_of(definition, listed=True)
    assert read_document_text(document.text()) == document
    assert survey_of(document) == definition
    assert survey_of(document).content_hash() == definition.content_hash()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"title": " "}, "/title"),
        ({"questions": []}, "/questions"),
        ({"levels": []}, "/levels"),
        ({"levels": ["none"]}, "/levels"),
        ({"levels": ["nearly"]}, "/levels"),
        ({"plan": {"closes": "2026-03-13"}}, "/plan/closes"),
        ({"plan": {"prices": {"low": 1}}, "levels": ["high"]}, "/plan/prices/low"),
        ({"plan": {"shares": {"high": 0, "low": 0}}}, "/plan/shares"),
    ],
)
def test_what_is_missing_has_a_place(change: dict[str, Any], pointer: str) -> None:
    """Each thing that keeps a survey from being opened is named where it is."""
    assert [at for at, _ in places(changed(TEMPLATES["pick"].document(), change))] == [pointer]


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ({"text": ""}, "/text"),
        ({"text": "x" * 501}, "/text"),
        ({"options": ["A"]}, "/options"),
        ({"options": ["A", " "]}, "/options/1"),
        ({"options": ["A", "A"]}, "/options"),
        ({"truth": "C"}, "/truth"),
        ({"kind": "essay"}, "/kind"),
        ({"show_if": {"question": "later", "answers": ["A"]}, "allow_skip": True}, "/show_if"),
        ({"kind": "rating", "low": 3, "high": 1}, "/high"),
        ({"kind": "number", "low": 0, "high": 1, "step": 0, "unit": "h"}, "/step"),
        ({"kind": "number", "low": 0, "high": 9, "step": 1, "unit": ""}, "/unit"),
    ],
)
def test_a_question_says_which_field_is_wrong(question: dict[str, Any], pointer: str) -> None:
    """The pointer leads to the field of the question."""
    base: dict[str, Any] = {"kind": "choice", "id": "q", "text": "?"}
    if question.get("kind", "choice") == "choice":
        base["options"] = ["A", "B"]
    document = changed(TEMPLATES["pick"].document(), {"questions": [{**base, **question}]})
    [(at, detail)] = places(document)
    assert at == f"/questions/0{pointer}"
    assert detail


def test_two_questions_of_one_name_are_found() -> None:
    """The second one is named."""
    one = {"kind": "choice", "id": "q", "text": "?", "options": ["A", "B"]}
    document = changed(TEMPLATES["pick"].document(), {"questions": [one, one]})
    assert [at for at, _ in places(document)] == ["/questions/1/id"]


def test_expected_people_add_up() -> None:
    """For all shares, the levels' people are all people."""
    for people in (1, 2, 7, 400):
        for shares in ({}, {"high": 1}, {"high": 0.2, "low": 0.1}):
            found = expected_levels(["high", "medium", "low"], shares, people)
            assert sum(found.values()) == people
    assert expected_levels(["high", "low"], {"high": 1}, 9) == {"high": 9, "low": 0}
