"""Characters of texts that others will read: those that draw over, turn or hide are refused."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.cli.terminal import plain, show
from masquerade.surveys.characters import (
    MOST_MARKS,
    composed,
    skeleton,
    wrong_character,
    wrong_texts,
)

GOOD = [
    "Have you worked while ill?",
    "Ti\u1ebfng Vi\u1ec7t",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a joiner
    "\u0915\u094d\u200d\u0937",  # Hindi
    "\u05e9\u05bc\u05c1\u05dc\u05d5\u05dd",  # pointed Hebrew
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    "50 % \u2013 \u201cyes\u201d",
]
BAD = {
    "a title that covers what is above it": "W" + "\u0302" * 40,
    "another direction": "abc\u202edef",
    "an isolate without an end": "\u2067abc",
    "a space of no width": "Yes\u200b",
    "a joiner behind a letter": "Yes\u200d",
    "a joiner between letters that need none": "Y\u200ces",
    "a soft hyphen": "Ye\u00ads",
    "an escape sequence": "\x1b[2J",
    "a line break": "a\rb",
    "no character at all": "\U000e0fff",
    "half a pair": "\ud800",
    "a blank letter": "a\u3164",
    "nothing": "\0",
}


@pytest.mark.parametrize("text", GOOD)
def test_languages_can_be_written(text: str) -> None:
    """Characters that a language or an emoji needs are allowed."""
    assert wrong_character(text) is None


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_harms_other_words_is_refused_with_its_place(text: str) -> None:
    """The message says which character, and is itself harmless."""
    fault = wrong_character(text)
    assert fault is not None
    assert fault.isascii()
    document = {"title": "A", "questions": [{"options": ["B", text]}]}
    assert [pointer for pointer, _ in wrong_texts(document)] == ["/questions/0/options/1"]


def test_a_description_has_lines() -> None:
    """A line break is allowed there, and no other control."""
    assert wrong_texts({"description": "One.\nTwo."}) == []
    assert len(wrong_texts({"description": "One.\r\nTwo."})) == 1


@given(st.text())
def test_prop_what_passes_steers_nothing(text: str) -> None:
    """An accepted text has no control, no direction, and few marks in a row."""
    if wrong_character(text) is None:
        kinds = [unicodedata.category(one) for one in text]
        assert not {"Cc", "Cs", "Co", "Cn"} & set(kinds)
        marks = "".join("m" if kind in ("Mn", "Me") else " " for kind in kinds)
        assert "m" * (MOST_MARKS + 1) not in marks
    assert composed(composed(text)) == composed(text)


@given(st.text(max_size=20), st.sampled_from(" \u200b\u00ad\u2060\u202e\u3164\n"))
def test_prop_what_hardly_shows_is_no_difference(text: str, unseen: str) -> None:
    """Invisible characters at the end, spaces and case change no skeleton."""
    assert skeleton(text + unseen) == skeleton(text)
    assert skeleton(text) == skeleton(skeleton(text))


@given(st.text())
def test_prop_no_text_steers_a_terminal(text: str) -> None:
    """Text printed in words has no control but line breaks, and JSON has none either."""
    shown = plain(text)
    assert all(one == "\n" or unicodedata.category(one) != "Cc" for one in shown)


def test_json_for_machines_is_safe_on_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile title within a result is escaped as JSON escapes, so that programs read it."""
    import json

    screen = io.StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    show({"title": "a\x1b[2J\x9b2J\u202e"}, as_json=True, title="x")
    assert json.loads(screen.getvalue())["title"] == "a\x1b[2J\x9b2J\u202e"
    assert screen.getvalue().isascii()
