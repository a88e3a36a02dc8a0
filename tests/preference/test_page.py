"""The page of preferences names everything that there is, and its code runs."""

from __future__ import annotations

import dataclasses
import doctest
from pathlib import Path

import pytest

from masquerade.preference import MECHANISMS
from masquerade.preference.metrics import REFERENCES

FOLDER = Path(__file__).parents[2] / "docs/explanation"
#: In the order in which they are read: each continues the examples of those before.
PAGES = [
    FOLDER / f"{name}.md"
    for name in ("preference", "preference-mechanisms", "preference-menus", "preference-results")
]
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


OURS = sorted(n for n, kind in MECHANISMS.items() if kind.__module__.startswith("masquerade."))


@pytest.mark.parametrize("name", OURS)
def test_every_mechanism_and_parameter_is_documented(name: str) -> None:
    """Each mechanism has a place on the page, as has each of its parameters."""
    assert f"`{name}" in TEXT
    for field in dataclasses.fields(MECHANISMS[name]):
        assert field.name in TEXT


def test_every_reference_is_documented() -> None:
    """The page defines r1 to r4."""
    for name in REFERENCES:
        assert f"| {name} |" in TEXT


def test_the_pages_run() -> None:
    """The Python of the pages gives the printed output, from the first to the last."""
    names: dict[str, object] = {"__name__": "__page__"}
    tried = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
        test.globs = names  # the parser copies: names would not reach the next page
        found = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False)
        assert found.failed == 0
        tried += found.attempted
    assert tried >= 30
