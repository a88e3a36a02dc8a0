"""What services say to a surveyor: found in the catalogue with its values, or left as it is."""

from __future__ import annotations

import ast
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.bad_values import bad_values, issues
from tests.server.conftest import Site

import masquerade
from masquerade.errors import InvalidDocument
from masquerade.server.http.page_words import page_words
from masquerade.server.http.service_messages import MESSAGES, in_language
from masquerade.server.surveys.document import Document, Issue, changed, survey_or_issues
from masquerade.surveys.builder_form import FormField
from masquerade.surveys.kinds import kinds

PLACE = re.compile(r"\{\w+\}")


@cache
def source_texts() -> str:
    """Return all texts of the package's modules, those with values in them in pieces."""
    texts = []
    for path in sorted(Path(masquerade.__file__).parent.rglob("*.py")):
        if path.name == "service_messages.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts).lower()


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_refusal_of_a_typed_value_is_said_in_german(kind: str) -> None:
    """Each bad value of each field of each kind is refused in German, with the value in it."""
    german, form = in_language(page_words("de")), kinds()[kind].builder
    fields = [*(one for row in form.rows for one in row), *form.advanced]
    said = 0
    for field in (FormField("text", "Question"), FormField("id", "Name"), *fields):
        values: list[object] = list(bad_values(form, field))
        if field.type in ("number", "whole"):
            values = [1.5, math.inf, -1, 10**9]
        for value in values:
            for _, message in issues(kind, form.blank, field, value):
                assert german(message) != message, f"{field.name}: {message}"
                said += 1
    assert said


def wrong(fields: dict[str, Any], question: dict[str, Any]) -> list[Issue]:
    """Return what is wrong with fields of a survey, whether they can be kept or not."""
    try:
        document = changed(Document(title="T"), {"questions": [question], **fields})
    except InvalidDocument as error:
        return list(error.issues)
    return survey_or_issues(document, allow_clear=False, today="2026-01-01")[1]


def test_every_refusal_of_a_survey_is_said_in_german() -> None:
    """What can be wrong with titles, looks, ways, plans and pages is refused in German."""
    asked = {"kind": "choice", "id": "q1", "text": "Ill?", "options": ["Yes", "No"]}
    question: dict[str, Any] = {**asked, "allow_skip": False}
    page = {"heading": "", "shuffle": False, "items": ["q1"]}
    long = "x" * 6000
    nasty: tuple[dict[str, Any], ...] = (
        {"title": ""},
        {"title": "x" * 201},
        {"description": "x" * 2001},
        {"questions": []},
        {"questions": [question, question]},
        {"levels": []},
        {"levels": ["none"]},
        {"plan": {"closes": "2020-01-01"}},
        {"plan": {"shares": {"low": 0}}},
        {"plan": {"prices": {"other": 1}}},
        {"listed": True, "tickets": {"phases": 1}},
        {"tickets": {"phases": 2}},
        {"tickets": {"phases": 2, "answers_from": "2020-01-01"}},
        {"panel": {"parameters": ["1x"]}},
        {"panel": {"parameters": ["A", "A"]}},
        {"panel": {"complete": "http://example.org"}},
        {"panel": {"complete": "https://example.org/{B}"}},
        {"origins": ["example.org"]},
        {"look": {"colour": "red", "logo": "", "logo_text": ""}},
        {"look": {"colour": "#ffffff", "logo": "", "logo_text": ""}},
        {"thanks": long},
        {"return_address": "example.org"},
        {"asked": 5},
        {"pages": [page, {**page, "items": []}]},
        {"pages": [{**page, "heading": "x" * 300}]},
        {"pages": [{**page, "items": ["q1", {"block": "text", "text": ""}]}]},
        {"pages": [{**page, "items": ["q1", {"block": "text", "text": long}]}]},
        {"pages": [{**page, "items": ["q1", {"block": "image", "image": "", "alt": ""}]}]},
        {"trust": "two-parties"},
        {"trust": "two-parties", "asked": 1},
    )
    for fields in nasty:
        found = wrong(fields, question)
        assert found, fields
        for pointer, message in found:
            assert in_language(page_words("de"))(message) != message, f"{pointer}: {message}"


#: Modules whose refusals the pages of accounts, teams, helpers and relations show.
SHOWN = (
    *(f"accounts/{name}.py" for name in ("accounts", "passkeys", "teams", "tokens")),
    *(f"routes/{name}.py" for name in ("accounts", "relations", "sign_in", "teams")),
    "parties/team_helpers.py",
    "results/relations.py",
)
#: Written with a value at its beginning, or said of what only a program or a command gives.
APART = ("7 is 7, expected 1 to 7 visible", "there is no account", "7; choose", "7 is no question")


def refusals(module: str) -> list[str]:
    """Return what a module raises, with 7 for each value."""
    tree = ast.parse((Path(masquerade.__file__).parent / "server" / module).read_text("utf-8"))
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def text(node: ast.expr | None) -> str:
        if isinstance(node, ast.Name):
            node = named.get(node.id)
        if isinstance(node, ast.JoinedStr):
            return "".join(text(one) for one in node.values)
        if isinstance(node, ast.FormattedValue):
            return "7"
        return node.value if isinstance(node, ast.Constant) and type(node.value) is str else ""

    called = (one.exc for one in ast.walk(tree) if isinstance(one, ast.Raise))
    found = [text(one.args[0]) for one in called if isinstance(one, ast.Call) and one.args]
    return [one for one in found if one and not one.startswith(APART)]


@pytest.mark.parametrize("module", SHOWN)
def test_every_refusal_of_accounts_helpers_and_relations_is_said_in_german(module: str) -> None:
    """Each message that these modules raise, with any values, is known in German."""
    german, found = in_language(page_words("de")), refusals(module)
    assert found
    for message in found:
        assert german(message) != message, message


def test_no_message_is_of_the_past() -> None:
    """Of the fixed words of every message, fifteen letters in a row stand in a module."""
    texts = source_texts()
    for message in MESSAGES:
        longest = max(PLACE.split(message), key=len).strip().lower()
        size = min(15, len(longest))
        parts = (longest[at : at + size] for at in range(len(longest) - size + 1))
        assert any(part in texts for part in parts), message


def test_what_is_unknown_or_put_together_stays_or_is_said_whole() -> None:
    """An unknown text stays; two sentences are said only where both are known; values are kept."""
    german = in_language(
        {
            "Shorten this to {most} characters.": "Kürzen Sie das auf {most} Zeichen.",
            "Give a text.": "Geben Sie einen Text an.",
            "{first}, {second}": "{first}; {second}",
        }
    )
    assert german("Something else, or nothing.") == "Something else, or nothing."
    assert german("Shorten this to 1,000.5 characters.") == "Kürzen Sie das auf 1.000,5 Zeichen."
    assert german("give a text.") == "Geben Sie einen Text an."
    both = "Geben Sie einen Text an. Geben Sie einen Text an."
    assert german("Give a text. Give a text.") == both
    assert german("Give a text. Stop.") == "Give a text. Stop."
    assert german("") == ""
    assert in_language({})("Add a question.") == "Add a question."


def test_pages_are_refused_in_german_and_programs_in_english(site: Site) -> None:
    """A German page's own requests are answered in German; a program's stay in English."""
    page = site.owner.post("/surveys/new", data={"template": "blank"})
    token = page.url.path.split("/")[2]
    german = {"Accept-Language": "de"}
    known = site.owner.get(f"/surveys/{token}/edit", headers=german).text
    assert "Geben Sie der Umfrage einen Titel." in known
    assert 'id="script-words"' in known
    assert 'id="script-words"' not in site.owner.get(f"/surveys/{token}/edit").text


def test_a_text_that_repeats_the_words_of_a_message_is_read_once() -> None:
    """Words between places, 3,000 times each, leave a text as it is: none goes back over them."""
    german = in_language(page_words("de"))
    for message in MESSAGES:
        fixed = PLACE.split(message)
        if len(fixed) > 3 and not fixed[0] and fixed[-1]:
            hostile = "".join(words * 3000 for words in fixed[1:-1] if words)
            assert german(hostile) == hostile, message
