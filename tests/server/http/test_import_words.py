"""What the import of another tool's questionnaire says to a German surveyor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import Site
from tests.server.http.test_german_pages import ENGLISH, GERMAN, STOPWORDS, read
from tests.surveys.test_questionnaires import SMALL

from masquerade.server.http.page_words import page_words
from masquerade.server.http.service_messages import in_language
from masquerade.surveys import questionnaires
from masquerade.surveys.questionnaires import import_questionnaire

MODULES = sorted(Path(questionnaires.__file__).parent.glob("*.py"))
FILES = sorted(SMALL.iterdir())
#: Names of elements and columns of other tools, and what stands in the place of another text.
NO_SENTENCES = {
    *("return address", "“Other” is an option", "an option stands", "list name"),
    *("phone number", "start time", "end time"),
    "table with 7 7",  # a count with its noun
}


def sentences(module: Path) -> Iterator[str]:
    """Yield the texts of several words in a module, with 7 for each value."""
    tree = ast.parse(module.read_text("utf-8"))
    apart: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            apart.add(id(first.value))
        if isinstance(node, ast.JoinedStr):
            apart |= {id(one) for one in ast.walk(node)} - {id(node)}
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(map(_piece, node.values))
        if id(node) not in apart and re.match(r"[a-z“'7].*[a-z]{2} [a-z]", text):
            yield text


def _piece(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    return "'7'" if node.conversion == ord("r") else "7"


def test_every_reason_and_refusal_is_said_in_german() -> None:
    """Each sentence of the modules that import, with any values, is known in German."""
    german = in_language(page_words("de"))
    said = {text for module in MODULES for text in sentences(module)}
    assert {text for text in said if german(text) == text} == NO_SENTENCES
    assert len(said) > 200


@pytest.mark.parametrize("file", FILES, ids=[one.name for one in FILES])
def test_the_report_of_an_import_is_german(site: Site, file: Path) -> None:
    """No text of a German report is the English one; names and types of the file stay."""
    found = import_questionnaire(file.read_bytes())
    own = {"JSON", "Masquerade", "English", "Deutsch", found.format}
    own |= {text for line in found.lines for text in (line.name, line.what)}
    pages = [
        site.owner.post(
            "/surveys/import", files={"file": (file.name, file.read_bytes())}, headers=language
        )
        for language in (GERMAN, ENGLISH)
    ]
    german, english = (read(page.text) for page in pages)
    assert {line.why for line in found.lines if line.why} <= english
    names = {"Status", "Team", "Webhooks", "Tokens", "Element", "Text"}
    assert german & english <= own | names
    assert not [one for one in german - own if STOPWORDS.search(re.sub("„[^“]*“", "", one))]


def test_a_file_that_cannot_be_imported_is_refused_in_german(site: Site) -> None:
    """A refusal stands on the German page in German."""
    page = site.owner.post(
        "/surveys/import", files={"file": ("a.txt", b"Hello\tall")}, headers=GERMAN
    )
    assert "Die Datei ist keine, die gelesen werden kann" in page.text
