"""The page of preferences names everything that there is, and its code runs."""

from __future__ import annotations

import dataclasses
import doctest
from pathlib import Path

import pytest

from masquerade.preference import MECHANISMS
from masquerade.preference.metrics import REFERENCES

PAGE = Path(__file__).parents[2] / "docs/explanation/preference.md"


OURS = sorted(n for n, kind in MECHANISMS.items() if kind.__module__.startswith("masquerade."))


@pytest.mark.parametrize("name", OURS)
def test_every_mechanism_and_parameter_is_documented(name: str) -> None:
    """Each mechanism has a place on the page, as has each of its parameters."""
    page = PAGE.read_text(encoding="utf-8")
    assert f"`{name}" in page
    for field in dataclasses.fields(MECHANISMS[name]):
        assert field.name in page


def test_every_reference_is_documented() -> None:
    """The page says what r1 to r4 are."""
    page = PAGE.read_text(encoding="utf-8")
    for name in REFERENCES:
        assert f"| {name} |" in page


def test_the_page_runs() -> None:
    """The Python of the page gives what it says."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 10
    assert failed == 0
