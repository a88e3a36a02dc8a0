"""Surveys that were opened by earlier versions keep their text and their hash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from masquerade.surveys.survey import Survey

FILE = Path(__file__).parents[1] / "vectors" / "surveys.json"
STORED: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("stored", STORED, ids=[one["name"] for one in STORED])
def test_a_stored_survey_has_the_text_and_the_hash_that_it_had(stored: dict[str, Any]) -> None:
    """Read from its text or from the database's JSON, a survey has the hash seen by devices.

    The file was written before kinds of question were modules of their own.
    """
    for survey in (Survey.from_text(stored["text"]), Survey.from_json(stored["json"])):
        assert survey.text() == stored["text"]
        assert survey.content_hash() == stored["hash"]
    assert Survey.from_json(stored["json"]).to_json() == stored["json"]
