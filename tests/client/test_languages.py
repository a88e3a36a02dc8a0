"""Somebody reads a survey in another language: the same codes are masked and sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from masquerade.errors import ParameterError
from masquerade.surveys import Choice
from masquerade.surveys.languages import Languages

if TYPE_CHECKING:
    from tests.client.conftest import Place

GERMAN = {"title": "Arbeit", "questions/ill/text": "Krank?", "questions/ill/options/0": "Ja"}


def test_questions_are_read_in_a_language_of_the_survey(place: Place) -> None:
    """Texts and labels are translated; answers in them are sent, and the language is not."""
    languages = Languages.from_json({"languages": ["en", "de"], "texts": {"de": GERMAN}})
    record = place.survey(
        Choice("ill", "Ill?", ("Yes", "No")), levels=("low",), languages=languages
    )
    client = place.client()
    invitation = client.invitation(record.token)
    assert invitation["languages"]["texts"] == {"de": {"title": "Arbeit"}}
    part = client.begin(record.token)
    assert part.languages == ("en", "de")
    part.read_in("de")
    [question] = part.open()
    assert (question.text, question.labels) == ("Krank?", ("Ja", "No"))
    with pytest.raises(ParameterError, match="not in 'fr'"):
        part.read_in("fr")
    receipt = part.answer({"ill": "Ja"})
    assert receipt.reports[0].text in ("Ja", "No")
