"""A survey in several languages is one survey: texts differ, answers are the same codes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tools.kinds import FOLDER

from masquerade.errors import ParameterError
from masquerade.surveys import Choice, Number, Rating, SeveralOf, ShowIf, question_from_json
from masquerade.surveys.kinds import kinds
from masquerade.surveys.languages import Languages, path_of, texts_of
from masquerade.surveys.survey import Survey

QUESTIONS = (
    Choice("ill/1", "Ill?", ("Yes", "No"), truth="Yes"),
    Rating("r~", "How?", low_label="bad", high_label="good", allow_skip=True),
    SeveralOf("s", "Which?", ("Cat", "Dog")),
    Number("n", "Hours?", 0, 10, "hours"),
)
CONDITIONS = (None, ShowIf("ill/1", ("Yes",)), None, None)
GERMAN = {
    "title": "Arbeit",
    "questions/ill~11/text": "Krank?",
    "questions/ill~11/options/0": "Ja",
    "questions/ill~11/options/1": "Nein",
    "questions/r~0/low_label": "schlecht",
    "questions/s/options/1": "Hund",
    "questions/n/unit": "Stunden",
}


def spoken(texts: dict[str, str] = GERMAN, codes: tuple[str, ...] = ("en", "de")) -> Languages:
    """Return languages of which the second has these texts."""
    others = dict.fromkeys(codes[1:], texts)
    return Languages.from_json({"languages": list(codes), "texts": others})


def survey(languages: Languages | None = None) -> Survey:
    """Return a survey of four kinds, with a condition."""
    return Survey.at_levels(
        title="Work", questions=QUESTIONS, conditions=CONDITIONS, languages=languages
    )


def test_each_text_has_an_address() -> None:
    """Every text that people read is listed, in reading order, and nothing else."""
    texts = texts_of(survey().to_json())
    assert list(texts)[:4] == [
        "title",
        "questions/ill~11/text",
        "questions/ill~11/options/0",
        "questions/ill~11/options/1",
    ]
    assert set(GERMAN) <= set(texts)
    assert "Yes" in texts.values()
    for question in QUESTIONS:
        for place, text in question.texts().items():
            assert texts[path_of("questions", question.id, *place.split("/"))] == text


def test_a_translation_changes_texts_and_no_code() -> None:
    """In another language labels differ, and codes, masks and conditions say the same."""
    one = survey(spoken())
    other = one.in_language("de")
    assert other.title == "Arbeit"
    assert other.questions[0].labels == ("Ja", "Nein")
    assert other.questions[0].right_answer == "Ja"
    assert other.conditions[1] == ShowIf("ill/1", ("Ja",))
    assert other.questions[2].labels == ("Cat", "Hund")  # a missing text is the first language's
    assert other.questions[0].code("Nein") == one.questions[0].code("No")
    assert other.levels == one.levels
    assert one.in_language("en") == survey()


def test_languages_are_within_the_hash() -> None:
    """The canonical text holds every translation, and reads back as the same survey."""
    one = survey(spoken())
    assert Survey.from_text(one.text()).text() == one.text()
    assert one.content_hash() != survey().content_hash()
    changed = survey(spoken({**GERMAN, "title": "Arbeiten"}))
    assert changed.content_hash() != one.content_hash()


def test_a_survey_without_languages_keeps_its_hash() -> None:
    """Nothing is added to the text of a survey that does not say its language."""
    assert "languages" not in json.loads(survey().text())


@pytest.mark.parametrize(
    ("texts", "codes", "wrong"),
    [
        ({"titel": "Arbeit"}, ("en", "de"), "no text of the survey"),
        ({"questions/ill~11/id": "x"}, ("en", "de"), "no text of the survey"),
        ({"questions/ill~11/options/2": "x"}, ("en", "de"), "no text of the survey"),
        ({"questions/ill~11/options/0": "No"}, ("en", "de"), "stands twice"),
        ({"questions/ill~11/text": "x" * 501}, ("en", "de"), "shorten it to 500"),
        ({"title": "x" * 201}, ("en", "de"), "longer than 200"),
        ({"title": " "}, ("en", "de"), "is empty"),
        ({}, ("en", "en"), "each once"),
        ({}, ("en", "DE"), "no language tag"),
        ({}, (), "give 1 to 20"),
        ({}, tuple(f"a{chr(97 + n)}" for n in range(21)), "give 1 to 20"),
    ],
)
def test_wrong_translations_are_refused(
    texts: dict[str, str], codes: tuple[str, ...], wrong: str
) -> None:
    """A translation of nothing, one too long or alike another, or a wrong language is an error."""
    with pytest.raises(ParameterError, match=wrong):
        survey(spoken(texts, codes))


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"languages": ["en"]},
        {"languages": "en", "texts": {}},
        {"languages": ["en", "de"], "texts": {}},
        {"languages": ["en"], "texts": {"de": {}}},
        {"languages": ["en", "de"], "texts": {"de": {"title": 1}}},
        {"languages": ["en", "de"], "texts": {"de": []}},
        {"languages": [1], "texts": {}},
        {"languages": ["en"], "texts": {}, "more": 1},
    ],
)
def test_other_json_is_no_languages(data: Any) -> None:
    """JSON of another form is refused, with a message and no other exception."""
    with pytest.raises(ParameterError):
        Languages.from_json(data)


#: Fields of a kind that are the same in every language: dates as ISO 8601 writes them.
WITHOUT_WORDS = {"date": ("dates", "first", "last", "step")}


@pytest.mark.parametrize("name", list(kinds()))
def test_each_kind_lists_its_texts(name: str) -> None:
    """Every field of a kind that holds words is translated, on the device as in Python."""
    kind = kinds()[name]
    blank = {**kind.builder.blank, "id": "q", "text": "Which?"}
    question = question_from_json({**blank, "kind": name})
    values = question.to_json()
    for field, value in values.items():
        words = isinstance(value, str) or (
            isinstance(value, list) and any(isinstance(one, str) for one in value)
        )
        if words and field not in ("id", "kind", *kind.secret, *WITHOUT_WORDS.get(name, ())):
            assert field in kind.translatable, field
    assert ["text", *device_texts(name)] == list(kind.translatable)


def device_texts(name: str) -> list[str]:
    """Return the fields with texts that the device's module of a kind lists."""
    script = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    listed = re.search(r"^  texts: \[(.*)\],$", script, re.MULTILINE)
    inherited = re.findall(r"\.\.\.(\w+)\.texts", listed[1]) if listed else []
    own = re.findall(r'"(\w+)"', listed[1]) if listed else []
    return [field for one in inherited for field in device_texts(one)] + own
