"""Messages of services to a surveyor: found in the catalogue with values, or left as they are."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.bad_values import bad_values, issues
from tests.server.conftest import Site

import masquerade
from masquerade.errors import InvalidDocument
from masquerade.server.http import pages
from masquerade.server.http.page_words import page_words
from masquerade.server.http.security import COOKIE
from masquerade.server.http.service_messages import MESSAGES, in_language
from masquerade.server.surveys.document import Document, Issue, changed
from masquerade.server.surveys.document_survey import survey_or_issues
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
    """Return the faults of fields of a survey, whether they can be kept or not."""
    try:
        document = changed(Document(title="T"), {"questions": [question], **fields})
    except InvalidDocument as error:
        return list(error.issues)
    return survey_or_issues(document, allow_clear=False, today="2026-01-01")[1]


def test_every_refusal_of_a_survey_is_said_in_german() -> None:
    """Faults of titles, looks, ways, plans and pages are refused in German."""
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


SERVER = Path(masquerade.__file__).parent / "server"
#: Modules and folders whose refusals no page for surveyors shows.
ELSEWHERE = (
    # Whoever runs a server reads them in a terminal, or in its log.
    *("db/", "operations/", "settings.py", "keys.py", "helper_app.py", "demo.py"),
    # A participant's device says them in its own words, by the type of the problem.
    *("participants/", "parties/split_reports.py", "routes/dependencies.py"),
    "routes/participations.py",
    # Programs that do not speak HTTP as they should.
    *("http/bodies.py", "http/connections.py", "http/front.py", "http/limit_table.py"),
)
#: Beginnings of refusals that no page shows, of modules with others that one does.
APART = (
    # Of commands and of the start of a server.
    *("there is no account", "there is no leader", "the operator is", "this database"),
    *("openid_issuer is set", "openid_issuer is 7, expected an address", "7 approved survey"),
    # Of programs.
    *("seats is", "policy is", "the request ", "a change is a JSON", "this survey is 7, so"),
    *("the token is not this", "a key is no", "7 bytes are", "the answer has more"),
    # For a device, which says them in its own words.
    *("several people in your", "many people have begun", "as many people as this survey"),
    *("this survey is closed; nobody", "the blinded message", "there is no such ticket"),
    *("this ticket was", "people enrol", "this survey takes people"),
    # Of an OpenID provider, for the log.
    *("it calls itself", "its 7 is no address", "no answer came", "it answers 7, and"),
    # Values that begin or end a message; what they can be is listed as messages of their own.
    *(" ", ":", "7 is 7, expected 1 to 7 visible", "of the subject 7.", "of the text 7."),
    *("the two parties are adding up the answers (7 of 7 so far). 7", "7 is no question"),
)


def refusals(module: Path) -> list[str]:
    """Return the messages of a module, with 7 for each value, in each possible wording."""
    tree = ast.parse(module.read_text("utf-8"))
    found: list[str] = []

    def assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
        named: dict[str, list[ast.expr]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        named.setdefault(target.id, []).append(node.value)
        return named

    top = assigned(tree.body)

    def texts(node: ast.expr, named: dict[str, list[ast.expr]], depth: int = 0) -> list[str]:
        said: list[str] = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = [node.value]
        elif isinstance(node, ast.Name) and depth < 5:
            values = named.get(node.id) or top.get(node.id) or []
            said = [one for value in values for one in texts(value, named, depth + 1)]
            said = [one for one in said if one != "7"]
        elif isinstance(node, ast.JoinedStr):
            parts = [texts(one, named, depth + 1) for one in node.values]
            said = ["".join(one) for one in itertools.product(*parts)]
        elif isinstance(node, ast.FormattedValue) and node.conversion == -1:
            said = texts(node.value, named, depth + 1)
        elif isinstance(node, ast.IfExp):
            said = [*texts(node.body, named, depth), *texts(node.orelse, named, depth)]
        return said or ["7"]

    def visit(node: ast.AST, named: dict[str, list[ast.expr]]) -> None:
        if isinstance(node, ast.FunctionDef):
            named = assigned(ast.walk(node))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            said = node.exc.args[0]
            issues = said.elts if isinstance(said, ast.List) else []
            pairs = [one.elts[-1] for one in issues if isinstance(one, ast.Tuple)]
            found.extend(one for each in pairs or [said] for one in texts(each, named))
        for child in ast.iter_child_nodes(node):
            visit(child, named)

    visit(tree, {})
    return [one for one in dict.fromkeys(found) if re.search("[a-z]{2}", one)]


def test_every_refusal_that_a_page_can_show_is_said_in_german() -> None:
    """Each message that the server's modules raise, with any values, is known in German."""
    german, missing, known = in_language(page_words("de")), [], 0
    for path in sorted(SERVER.rglob("*.py")):
        module = path.relative_to(SERVER).as_posix()
        if module.startswith(ELSEWHERE):
            continue
        for message in refusals(path):
            if message.startswith(APART):
                continue
            known += 1
            if german(message) == message:
                missing.append(f"{module}: {message}")
    assert not missing, "\n".join(missing)
    assert known > 150


def test_what_is_left_out_of_german_is_still_said() -> None:
    """No module or message is excepted that is not there, or that German knows."""
    german = in_language(page_words("de"))
    paths = [path.relative_to(SERVER).as_posix() for path in sorted(SERVER.rglob("*.py"))]
    assert all(any(path.startswith(one) for path in paths) for one in ELSEWHERE)
    said = [
        message
        for path in paths
        if not path.startswith(ELSEWHERE)
        for message in refusals(SERVER / path)
        if german(message) == message
    ]
    assert [one for one in APART if not any(each.startswith(one) for each in said)] == []


def test_progress_is_said_in_german() -> None:
    """Each stage of long work is, with numbers as they are written there."""
    german = in_language(page_words("de"))
    said = "this is being worked out, counting: 400,000 of 1,000,000; ask again in a moment."
    assert german(said) == (
        "Das wird berechnet, beim Zählen: 400.000 von 1.000.000; fragen Sie gleich noch einmal."
    )
    stages = ("counting the survey before", "estimating", "comparing", "crossing", "fitting")
    for stage in (*stages, "weighting", "beginning", "waiting for its turn"):
        found = german(f"this is being worked out, {stage}; ask again in a moment.")
        assert stage not in found
        assert found.startswith("Das wird")
    for whose in ("", " of your team"):
        busy = f"too many large results{whose} wait to be worked out; ask again in 30 seconds."
        assert german(busy).startswith("Zu viele große Ergebnisse")


def test_no_message_is_of_the_past() -> None:
    """Of the fixed words of every message, ten letters in a row stand in a module."""
    texts = source_texts()
    for message in MESSAGES:
        longest = max(PLACE.split(message), key=len).strip().lower()
        size = min(10, len(longest))
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
    said = in_language(page_words("de"))
    assert said("Option none stands twice; drop one.") == (
        "Die Option none steht zweimal da; streichen Sie eine."
    )
    why = "the helper refuses: this task has expired."
    assert said(f"the answers could not be added up: {why}") == (
        "Die Antworten konnten nicht addiert werden: Der Helfer lehnt ab: "
        "Diese Aufgabe ist abgelaufen."
    )
    assert in_language({})("Add a question.") == "Add a question."


@pytest.mark.parametrize("own", ["none", "all", "1.500", "English", "Give a text."])
def test_what_somebody_wrote_is_said_as_it_is(own: str) -> None:
    """A login or a team's name that is a word of the pages, or a number, is not translated."""
    german = in_language(page_words("de"))
    for message in ("the login {} is taken; choose another.", "You are in the team {} already."):
        message = message.format(own)
        assert german(message) != message
        assert own in german(message)


def test_sentences_of_results_are_said_in_german_with_their_names_as_they_are() -> None:
    """Headlines, differences and relations are German; options keep their name, numbers a comma."""
    german = in_language(page_words("de"))
    for said, expected in (
        (
            "95 % sure of the order; 62 %, between 50 and 73 %",
            "Reihenfolge zu 95 % sicher; 62 %, zwischen 50 und 73 %",
        ),
        ("no is ahead", "no liegt vorn"),
        (
            "mean rating, between 2.73 and 3.61; median 1 to 5",
            "mittlere Bewertung, zwischen 2,73 und 3,61; Median 1 bis 5",
        ),
        ("13.6 to 21.7 hours", "13,6 bis 21,7 hours"),
        ("17.7 Stunden", "17,7 Stunden"),
        ("1,200.5 none", "1.200,5 none"),
        ("−52.7 to −14.4", "−52,7 bis −14,4"),
        (
            "“low” is more frequent among “none” than among “all”, by 3 to 12 points. *",
            "„low“ ist unter „none“ häufiger als unter „all“, um 3 bis 12 Punkte. *",
        ),
        (
            "People who answered Yes to “Ill?” gave higher answers to “Well?”: odds 2.3, between "
            "1.2 and 3.1 times.",
            "Menschen, die „Ill?“ mit Yes beantworteten: höhere Antworten auf „Well?“, Chancen 2,3 "
            "Mal, zwischen 1,2 und 3,1 Mal.",
        ),
    ):
        assert german(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1 entry: every chain holds.", "1 Eintrag: Jede Kette stimmt."),
        ("1,200 entries: every chain holds.", "1.200 Einträge: Jede Kette stimmt."),
        (
            "1 entry of 1 person: every chain and balance holds.",
            "1 Eintrag von einem Menschen: Jede Kette und jeder Stand stimmen.",
        ),
        (
            "2 entries of 1 person: every chain and balance holds.",
            "2 Einträge von einem Menschen: Jede Kette und jeder Stand stimmen.",
        ),
    ],
)
def test_one_is_said_as_one(said: str, expected: str) -> None:
    """What the check of the records counts is in the singular where it is one."""
    assert in_language(page_words("de"))(said) == expected


def test_pages_are_refused_in_german_and_programs_in_english(site: Site) -> None:
    """A German page's own requests are answered in German; a program's stay in English."""
    page = site.owner.post("/surveys/new", data={"template": "blank"})
    token = page.url.path.split("/")[2]
    german = {"Accept-Language": "de"}
    known = site.owner.get(f"/surveys/{token}/edit", headers=german).text
    assert "Geben Sie der Umfrage einen Titel." in known
    assert 'id="script-words"' in known
    assert 'id="script-words"' not in site.owner.get(f"/surveys/{token}/edit").text


def test_a_stranger_has_no_messages_searched(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header of a page's script alone has only messages without values said in German."""
    searched: list[str] = []
    words = in_language(page_words("de"))

    def search(_language: str) -> Callable[[object], str]:
        def said(text: object) -> str:
            searched.append(str(text))
            return words(str(text))

        return said

    monkeypatch.setattr(pages, "_service_words", search)
    script = {"Accept": "application/json", "Accept-Language": "de", "X-CSRF-Token": "0" * 64}
    address = f"/api/v1/surveys/{'0' * 16}"
    program = site.visitor.get(address, headers={"Accept": "application/json"}).json()
    for cookie in ("", f"{COOKIE}=made-up"):
        answer = site.visitor.get(address, headers={**script, "Cookie": cookie})
        assert answer.status_code == 401
        assert answer.json()["detail"] == page_words("de").get(program["detail"], program["detail"])
    assert not searched
    own = {"X-CSRF-Token": site.owner.headers["X-CSRF-Token"]}
    assert site.owner.get(address, headers={**script, **own}).status_code == 404
    assert len(searched) == 1


def test_a_text_that_repeats_the_words_of_a_message_is_read_once() -> None:
    """Words between places, 3,000 times each, leave a text as it is: none goes back over them."""
    german = in_language(page_words("de"))
    for message in MESSAGES:
        fixed = PLACE.split(message)
        if len(fixed) > 3 and not fixed[0] and fixed[-1]:
            hostile = "".join(words * 3000 for words in fixed[1:-1] if words)
            assert german(hostile) == hostile, message
