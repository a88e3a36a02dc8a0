"""Somebody reads a survey in another language: the same codes are masked and sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.client.test_surveyor import answered, reach, token_of

from masquerade.errors import ParameterError
from masquerade.surveys import Choice
from masquerade.surveys.languages import Languages

if TYPE_CHECKING:
    from pathlib import Path

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


def test_results_have_the_labels_of_a_language(place: Place, tmp_path: Path) -> None:
    """Figures are the same with the labels of each language; another one names those there are."""
    spoken = Languages.from_json({"languages": ["en", "de"], "texts": {"de": GERMAN}})
    record = place.survey(Choice("ill", "Ill?", ("Yes", "No")), levels=("low",), languages=spoken)
    answered(place, record.token, 2)
    with reach(place, token_of(place)) as surveyor:
        surveyor.close(record.token)
        plain, german = (surveyor.result(record.token, language=one) for one in (None, "de"))
        assert plain == surveyor.result(record.token, language="en")
        assert german["title"] == "Arbeit"
        [asked], [gefragt] = plain["questions"], german["questions"]
        assert [one.pop("label") for one in gefragt["options"]] == ["Ja", "No"]
        assert [one.pop("label") for one in asked["options"]] == ["Yes", "No"]
        assert asked["options"] == gefragt["options"]
        assert "Ja" in surveyor.table(record.token, language="de")["option"].to_pylist()
        path = surveyor.export(record.token, tmp_path / "r.csv", language="de")
        assert "Ja" in path.read_text()
        with pytest.raises(ParameterError, match="no language 'fr'; there are en, de"):
            surveyor.result(record.token, language="fr")
        with pytest.raises(ParameterError, match="Leave language out"):
            surveyor.export(record.token, tmp_path / "c.json", "codebook", language="de")
