"""Suggested e-mails: in the languages of the survey, with a link in each part."""

from __future__ import annotations

from types import SimpleNamespace
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
    invitation = invitation_of(asked, zone="UTC")
    reminder = reminder_of(asked, invitation, zone="UTC")
    assert (invitation.subject, reminder.subject) == ("Einladung: Arbeit", "Erinnerung: Arbeit")
    for letter in (invitation, reminder):
        assert letter.text.count(LINK) == 5
        assert all(one in letter.text for one in ("„Arbeit“", "“Work”", "« Arbeit »", "«Arbeit»"))


def test_words_of_ones_own_are_reminded_of_as_they_were() -> None:
    """A survey in one language has English words; other words than the usual ones come again."""
    own = Letter("Please", "Come: {link}")
    assert invitation_of(record(), zone="UTC").subject == "Invitation: Work"
    assert reminder_of(record(), own, zone="UTC") == Letter("Reminder: Please", own.text)


def test_each_day_is_named_with_its_time_zone() -> None:
    """People enrol by days of UTC; the survey closes with a day of the server's zone."""
    terms = SimpleNamespace(answers_from="2026-05-20")
    reach = SimpleNamespace(invitations=terms, asked_by="")
    asked = SimpleNamespace(title="Work", languages=None, reach=reach)
    closing: Any = SimpleNamespace(survey=asked, closes="2026-06-01")
    letter = invitation_of(closing, zone="Asia/Tokyo").text
    assert "before 2026-05-20 (UTC)" in letter
    assert "closes on 2026-06-01 (Asia/Tokyo)." in letter
