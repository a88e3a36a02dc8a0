"""Tickets from Python, against a running server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from tests.server.surveys.test_tickets import document, set_day

from masquerade.client import Client
from masquerade.errors import (
    BrokenPromise,
    ParameterError,
    TicketRefused,
    TicketUsed,
    WrongState,
)
from masquerade.server.db.tables import FIRST_TEAM, PARTICIPATION
from masquerade.surveys.reach import ticket_link

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Place

    from masquerade.server.surveys.survey_records import SurveyRecord


def opened(place: Place, **fields: Any) -> SurveyRecord:
    """Open a survey that needs a ticket."""
    services = place.services
    draft, _ = services.drafts.create(document(**fields), team=FIRST_TEAM)
    return services.drafts.open(draft.token, team=FIRST_TEAM)


def link_of(place: Place, survey: SurveyRecord, **wrong: str) -> str:
    """Return the link of a new ticket."""
    [code] = place.services.tickets.make(survey, 1)
    return ticket_link(f"{place.url}/s/{survey.token}", code, wrong.get("hash", survey.hash))


def test_a_ticket_admits_one_device(place: Place, tmp_path: Path) -> None:
    """The link alone is enough; a second device with it, and one without, are refused."""
    survey = opened(place)
    link = link_of(place, survey)
    with Client(link, home=tmp_path / "a") as first:
        part = first.begin(survey.token)
        assert part.answer({"q": "Yes"}).bill.surveys == 1
        assert first.begin(link).step == "sent"
    with Client(link, home=tmp_path / "b") as second, pytest.raises(TicketUsed):
        second.begin(survey.token)
    with Client(place.url, home=tmp_path / "c") as third, pytest.raises(TicketRefused):
        third.begin(survey.token)
    kept = [path.read_text() for path in (tmp_path / "a").rglob("tickets/*.json")]
    assert [sorted(json.loads(text)) for text in kept] == [["hash", "ticket"]]


def test_a_link_of_another_survey_is_a_broken_promise(place: Place, tmp_path: Path) -> None:
    """Where the hash is not that of the invitation nothing is exchanged, so no key marks people."""
    survey = opened(place)
    link = link_of(place, survey, hash="0" * 64)
    with Client(link, home=tmp_path / "a") as client, pytest.raises(BrokenPromise):
        client.begin(survey.token)
    assert place.services.tickets.counts(survey.token).exchanged == 0


def test_consent_is_asked_for_before_anything_is_exchanged(place: Place, tmp_path: Path) -> None:
    """Without agreeing nothing begins, and the ticket is as good as before."""
    survey = opened(place, consent="We keep it for a year.")
    link = link_of(place, survey)
    with Client(link, home=tmp_path / "a") as client:
        with pytest.raises(ParameterError, match="for a year"):
            client.begin(survey.token)
        assert client.begin(survey.token, agree=True).answer({"q": "No"}).reports


def test_people_enrol_first_and_answer_later(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two phases the ticket waits on this device until the first day of answers."""
    survey = opened(place, tickets={"phases": 2, "answers_from": "2999-01-01"})
    link = link_of(place, survey)
    with Client(link, home=tmp_path / "a") as client:
        client.enrol(survey.token)
        client.enrol(link)
        with pytest.raises(WrongState, match="2999-01-01"):
            client.begin(survey.token)
        assert client.participations() == []
    set_day(monkeypatch, place.services, "2999-01-01")
    with Client(place.url, home=tmp_path / "a") as client:
        with pytest.raises(WrongState, match="enrol for this survey now"):
            client.begin(survey.token)
        monkeypatch.setattr(client._tickets, "_today", lambda: "2999-01-01")
        assert client.begin(survey.token).answer({"q": "No"}).reports


def test_no_participation_follows_on_an_exchange_in_two_phases(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every server: before the day no secret is sent, from it on no code."""
    survey = opened(place, tickets={"phases": 2, "answers_from": "2999-01-01"})
    with Client(link_of(place, survey), home=tmp_path / "a") as client:
        with pytest.raises(WrongState, match="enrol for this survey now"):
            client.begin(survey.token)
        monkeypatch.setattr(client._tickets, "_today", lambda: "2999-01-01")
        with pytest.raises(WrongState, match="too late"):
            client.begin(survey.token)
    assert place.services.tickets.counts(survey.token).exchanged == 0
    named = PARTICIPATION.c.survey == survey.token
    begun = place.services.transactions.read(
        lambda c: c.execute(select(PARTICIPATION).where(named)).all()
    )
    assert not begun
