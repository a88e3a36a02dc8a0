"""Translations go out as files and come back the same, and follow the texts that they are of."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import UnreadableFile
from masquerade.surveys.translations import (
    MOST_FILE,
    carried,
    missing,
    read_file,
    to_csv,
    to_po,
    translations,
)

DOCUMENT: dict[str, Any] = {
    "title": "Work",
    "description": "",
    "questions": [
        {"kind": "choice", "id": "ill", "text": "Ill?", "options": ["Yes", "No", "=1+1"]},
        {"kind": "number", "id": "n/1", "text": "Hours?", "unit": "hours"},
    ],
    "pages": [{"heading": "First", "items": [{"block": "text", "text": "Read **this**."}]}],
    "languages": {
        "languages": ["en", "de", "ar"],
        "texts": {"de": {"title": "Arbeit", "questions/ill/options/0": "Ja"}, "ar": {}},
    },
}


def test_what_is_missing_is_counted() -> None:
    """Each text is a row, and each language but the first has a count of missing ones."""
    rows = translations(DOCUMENT)
    assert [row.place for row in rows] == [
        *("Title", "Question 1", "Option 1", "Option 2", "Option 3", "Question 2", "Unit"),
        *("Page", "Page"),
    ]
    assert missing(rows) == {"de": 7, "ar": 9}


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=20
)


@given(title=texts, option=texts)
def test_prop_files_come_back_as_they_went_out(title: str, option: str) -> None:
    """Quotes, formulas, line breaks and backslashes survive a table and a catalogue."""
    document = copy.deepcopy(DOCUMENT)
    given = {"title": title, "questions/ill/options/2": option}
    document["languages"]["texts"]["de"] = given
    rows, codes = translations(document), ["en", "de", "ar"]
    expected = {address: text.strip() for address, text in given.items() if text.strip()}
    for content in (to_csv(rows, codes), to_po(rows, "de")):
        assert read_file(content.encode(), codes).get("de", {}) == expected


def test_a_catalogue_is_one_to_other_programs() -> None:
    """Babel reads the .po file: addresses are contexts, texts are ids."""
    import io

    found = read_po(io.BytesIO(to_po(translations(DOCUMENT), "de").encode()), abort_invalid=True)
    message = found.get("Work", context="title")
    assert message is not None
    assert message.string == "Arbeit"
    assert len(list(found)) == 1 + len(translations(DOCUMENT))


def test_a_table_holds_no_formula() -> None:
    """A text that a spreadsheet would compute stands there as a text."""
    assert "'=1+1" in to_csv(translations(DOCUMENT), ["en", "de", "ar"])


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"\xff", "no text in UTF-8"),
        (b"", "no column"),
        (b"where,de\ntitle,Arbeit\n", "no column"),
        (b"address,fr\ntitle,Travail\n", "none of the languages"),
        (b'msgid ""\nmsgstr "Language: fr\\n"\n', "catalogue is of the language fr"),
        (b'msgid ""\nmsgstr ""\n', "none"),
        (b"x" * (MOST_FILE + 1), "MB"),
    ],
)
def test_other_files_are_refused_with_a_message(content: bytes, wrong: str) -> None:
    """A file of another form or language is told the expected one."""
    with pytest.raises(UnreadableFile, match=wrong):
        read_file(content, ["en", "de", "ar"])


def test_uncertain_messages_are_not_taken() -> None:
    """A message that a translator has marked as fuzzy stays out."""
    content = (
        'msgid ""\nmsgstr "Language: de\\n"\n\n#, fuzzy\nmsgctxt "title"\nmsgid "W"\nmsgstr "A"\n'
    )
    assert read_file(content.encode(), ["en", "de"]) == {"de": {}}


def test_a_text_that_moves_takes_its_translation_along() -> None:
    """Options in another order keep theirs; so does a text that is rewritten or gone."""
    new = copy.deepcopy(DOCUMENT)
    new["questions"][0]["options"] = ["No", "=1+1", "Yes"]
    new["title"] = "Working"
    assert carried(DOCUMENT, new)["de"] == {"title": "Arbeit", "questions/ill/options/2": "Ja"}
    new["questions"] = new["questions"][1:]
    assert carried(DOCUMENT, new)["de"] == DOCUMENT["languages"]["texts"]["de"]
