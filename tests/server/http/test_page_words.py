"""Surveyors' pages in German: no message is missing, and every template still works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import httpx
import pytest
from jinja2 import Environment
from tests.server.conftest import Site
from tools.page_words import TEMPLATES, extracted, translations, unsaid

from masquerade.server.http.page_words import (
    LANGUAGES,
    TRANSLATED,
    language_of,
    page_words,
    script_words,
    translated,
)
from masquerade.surveys.kinds import kinds

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_missing(language: str) -> None:
    """Every message of the templates is translated, with as many expressions as it has."""
    words, faults = translations(language, extracted())
    assert faults == []
    assert len(words) > 500


@pytest.mark.parametrize("language", LANGUAGES)
def test_forms_of_questions_speak_the_language(language: str) -> None:
    """Every word of the form of every kind is translated, and its fields work as before."""
    words = page_words(language)
    for kind in kinds().values():
        asked: list[str] = []
        form = kind.builder

        def said(message: str, asked: list[str] = asked) -> str:
            asked.append(message)
            return words[message]

        other = form.translated(said)
        fields = [*chain(*form.rows), *form.advanced]
        others = [*chain(*other.rows), *other.advanced]
        texts = {form.name, *(one.label for one in fields), *(one.hint for one in fields)} - {""}
        assert texts <= set(asked)
        assert [(one.name, one.type, one.of) for one in fields] == [
            (one.name, one.type, one.of) for one in others
        ]
        assert all(one.label != two.label for one, two in zip(fields, others, strict=True))
        assert (other.line, other.place, other.blank.keys()) == (
            form.line,
            form.place,
            form.blank.keys(),
        )


def test_the_builder_gets_its_forms_in_the_readers_language(site: Site) -> None:
    """A German builder page has the forms in German; an English one as they are written."""
    page = site.owner.post("/surveys/new", data={"template": "pick"})
    address = f"/surveys/{page.url.path.split('/')[2]}/edit"
    for accepted, name, label in (
        ("de", "Eine auswählen", "Optionen"),
        ("en", "Pick one", "Options"),
    ):
        html = site.owner.get(address, headers={"Accept-Language": accepted}).text
        block = re.search(r'<script type="application/json" id="forms">(.*?)</script>', html)
        assert block is not None
        form = json.loads(block[1])["choice"]
        assert (form["name"], form["rows"][0][0]["label"]) == (name, label)
        assert form["blank"]["options"] == (["Ja", "Nein"] if accepted == "de" else ["Yes", "No"])


def test_new_questions_hold_words_of_the_readers_language() -> None:
    """A new question of every kind is German on a German page, codes and numbers as they were."""
    words = page_words("de")
    for kind in kinds().values():
        form = kind.builder
        other = form.translated(lambda one: words[one])
        for name, value in form.blank.items():
            texts = [one for one in (value if isinstance(value, list) else [value]) if one]
            spoken = [one for one in texts if (isinstance(one, str) and " " in one) or one == "Yes"]
            if spoken:
                assert other.blank[name] != value, name
        for code in ("step", "low", "high", "allow_skip", "first"):
            assert other.blank.get(code) == form.blank.get(code)


def test_a_page_has_the_words_of_the_scripts_that_it_loads() -> None:
    """Words are those of a script and of what it imports, in German alone, and no others."""
    words = page_words("de")
    head = '<script type="module" src="/static/surveyor/audience.js"></script>'
    found = script_words(head, words)
    assert found["What you can expect"] == "Was Sie erwarten können"
    assert found["Saving…"] == "Wird gespeichert …"
    assert "Question {place}" not in found
    assert script_words(head, {}) == script_words("", words) == {}


def test_words_that_a_script_does_not_translate_are_found() -> None:
    """A literal that people would read is named, wherever it is given; code is not."""
    code = (
        'at("x").textContent = `Page ${place(1)} of it`; b({ className: "a b" }); // Like This one'
    )
    assert unsaid(code) == ["Page  of it"]
    assert unsaid('button("Saved.")') == ["Saved."]
    assert unsaid('button(said("Saved."), `${said("Two words")} x`)') == []
    assert unsaid("export const said = (message) => message; said(message)") == ["said(message)"]


def test_files_are_in_step() -> None:
    """The catalogue and the server's words are the output of `make catalogues`."""
    check = [sys.executable, "-m", "tools.page_words", "--check"]
    result = subprocess.run(check, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_translated_templates_have_the_same_tags_and_statements(language: str) -> None:
    """A translation changes words alone: each template still parses, with the same forms."""
    words = page_words(language)
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = path.relative_to(TEMPLATES).as_posix()
        if not name.startswith(TRANSLATED):
            continue
        source = path.read_text(encoding="utf-8")
        other = translated(source, lambda one: words.get(one, one))
        Environment().parse(other)
        for mark in ("<", "{%", "{{", 'name="', 'href="', 'action="', "csrf"):
            assert other.count(mark) == source.count(mark), f"{name}: {mark}"


def test_the_language_is_the_one_chosen_else_the_browsers(site: Site) -> None:
    """German browsers see German; a choice is kept; other languages see English."""
    german = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"}
    url = str(site.owner.base_url)
    with httpx.Client(base_url=url, verify=False, follow_redirects=True) as client:
        page = client.get("/sign-in", headers={"Accept": "text/html", **german})
        assert '<html lang="de">' in page.text
        assert "Anmelden" in page.text
        assert "Sign in" not in page.text
        page = client.get("/sign-in", headers={"Accept": "text/html"})
        assert '<html lang="en">' in page.text
        client.get("/language", params={"to": "de", "next": "/sign-in"})
        assert "Anmelden" in client.get("/sign-in", headers={"Accept": "text/html"}).text
        for away in ("//example.org", "https://example.org", "/\\example.org"):
            answer = client.get(
                "/language", params={"to": "en", "next": away}, follow_redirects=False
            )
            assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "fr,de", "en"),
        ("xx", "de", "de"),
        ("DE", "en", "de"),
        ("", "*", "en"),
        ("", ";;;,,", "en"),
    ],
)
def test_nasty_headers_are_english(cookie: str, accepted: str, language: str) -> None:
    """For every browser, the page has a language."""
    assert language_of(cookie, accepted) == language
