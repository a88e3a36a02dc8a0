"""Results and files of fifty made-up surveys stay as they are, to the last byte."""

from __future__ import annotations

import json

from tests.results.golden_surveys import HASHES, golden_files, hashes


def test_fifty_surveys_give_the_same_bytes() -> None:
    """Result, tables, files, cross tables and differences of fifty surveys are as recorded."""
    found = hashes(list(golden_files()))
    expected = json.loads(HASHES.read_text())
    assert list(found) == list(expected)
    assert [name for name in found if found[name] != expected[name]] == []
