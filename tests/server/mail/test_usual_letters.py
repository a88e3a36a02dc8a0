"""Suggested e-mails: in the languages of the survey, with a link in each part."""

from __future__ import annotations

from typing import Any

from tests.surveys.small_surveys import define

from masquerade.server.mail.mailings import LINK, Letter
from masquerade.server.mail.usual_letters import invitation_of, reminder_of
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.languages import Languages


def record(**asked: Any) -> SurveyRecord:
    """Return an open survey."""
    return SurveyRecord("t" * 16, define(**asked), "0" * 64, "open", "2026-05-01", None, 0, None)


def test_letters_speak_each_language_of_the_survey() -> None:
    """Each language with words has its part, with its title and a link; others have none."""
    texts = {"en": {"title": "Work"}, "ar": {}, "it": {}, "es": {}, "fr": {}}
    spoken = Languages.from_json({"languages": ["de", *texts], "texts": texts})
    asked = record(title="Arbeit", languages=spoken)
    invitation, reminder = invitation_of(asked), reminder_of(asked, invitation_of(asked))
    assert (invitation.subject, reminder.subject) == ("Einladung: Arbeit", "Erinnerung: Arbeit")
    for letter in (invitation, reminder):
        assert letter.text.count(LINK) == 5
        assert all(one in letter.text for one in ("„Arbeit“", "“Work”", "« Arbeit »", "«Arbeit»"))


def test_words_of_ones_own_are_reminded_of_as_they_were() -> None:
    """A survey in one language has English words; other words than the usual ones come again."""
    own = Letter("Please", "Come: {link}")
    assert invitation_of(record()).subject == "Invitation: Work"
    assert reminder_of(record(), own) == Letter("Reminder: Please", own.text)
