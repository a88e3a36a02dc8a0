"""Tickets: each admits one participation, forged and used ones none, and nothing stays of them."""

from __future__ import annotations

import base64
import secrets
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Table, select
from tests.server.devices import Device, everything

from masquerade.errors import (
    ParameterError,
    TicketRefused,
    TicketUsed,
    WrongState,
)
from masquerade.server import Services
from masquerade.server.db.reach_tables import SPENT_TICKET, TICKET, TICKET_KEY
from masquerade.server.db.tables import FIRST_TEAM, PARTICIPATION
from masquerade.server.surveys.document import Document, read_document
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.blind_rsa import PREFIX_BYTES
from masquerade.surveys.reach import TicketTerms, read_code, shown_code

pytestmark = pytest.mark.both_databases

QUESTION = {"kind": "choice", "id": "q", "text": "Tea?", "options": ["Yes", "No"]}


def document(**fields: Any) -> Document:
    """Return a document that asks for a ticket."""
    asked = {
        "title": "Tea",
        "questions": [QUESTION],
        "levels": ["medium"],
        "tickets": {"phases": 1},
    }
    return read_document({**asked, **fields})


def opened(services: Services, **fields: Any) -> SurveyRecord:
    """Open a survey that needs a ticket."""
    draft, _ = services.drafts.create(document(**fields), team=FIRST_TEAM)
    return services.drafts.open(draft.token, team=FIRST_TEAM)


@dataclass
class Holder:
    """Somebody with a ticket."""

    code: str
    prefix: bytes = field(default_factory=lambda: secrets.token_bytes(PREFIX_BYTES))
    device: Device = field(default_factory=Device)
    ticket: str = ""
    blinded: bytes = b""

    def exchange(self, services: Services, survey: SurveyRecord) -> str:
        """Exchange the code for a ticket that cannot be joined with it."""
        terms = survey.survey.reach.invitations
        assert terms is not None
        key, message = terms.public_key, terms.message(survey.token, self.prefix)
        self.blinded, inverse = key.blind(message)
        signed = services.tickets.exchange(survey.token, self.code, self.blinded)
        self.ticket = base64.b64encode(
            self.prefix + key.finalize(message, signed, inverse)
        ).decode()
        return self.ticket

    def begin(self, services: Services, survey: SurveyRecord) -> None:
        """Begin the survey with the ticket."""
        services.participations.reserve(
            services.identity(self.device.participant),
            survey.token,
            "medium",
            idempotency_key=secrets.token_hex(16),
            ticket=self.ticket,
        )


def begun(services: Services) -> int:
    """Return how many participations there are."""
    return len(services.transactions.read(lambda c: c.execute(select(PARTICIPATION.c.id)).all()))


def set_day(monkeypatch: pytest.MonkeyPatch, services: Services, day: str) -> None:
    """Let it be another day at enrolment and at the start of a survey."""
    monkeypatch.setattr(services.tickets, "_today", lambda: day)
    monkeypatch.setattr(services.participations.rules, "utc_today", lambda: day)


def rows_of(services: Services, *tables: Table) -> list[Any]:
    """Return all rows of some tables."""
    return services.transactions.read(
        lambda c: [row for table in tables for row in c.execute(select(table))]
    )


def test_a_ticket_admits_one_person_once(services: Services) -> None:
    """Ten identities with one ticket take one place; without one nobody takes any."""
    survey = opened(services)
    [code] = services.tickets.make(survey, 1)
    holder = Holder(code)
    with pytest.raises(TicketRefused, match="with a ticket"):
        holder.begin(services, survey)
    holder.exchange(services, survey)
    others = [Holder(code, device=Device(), ticket=holder.ticket) for _ in range(10)]
    others[0].begin(services, survey)
    for other in others[1:]:
        with pytest.raises(TicketUsed):
            other.begin(services, survey)
    # Coming back is no second use.
    others[0].begin(services, survey)
    assert begun(services) == 1


def test_two_at_once_with_one_ticket_are_one(services: Services) -> None:
    """Of eight threads that spend one ticket at once, one succeeds."""
    survey = opened(services)
    [code] = services.tickets.make(survey, 1)
    ticket = Holder(code).exchange(services, survey)
    outcomes: list[str] = []

    def spend() -> None:
        try:
            Holder(code, ticket=ticket).begin(services, survey)
            outcomes.append("begun")
        except TicketUsed:
            outcomes.append("used")

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["begun"] + ["used"] * 7
    assert begun(services) == 1


def test_a_code_is_exchanged_once(services: Services) -> None:
    """The same request is answered by the same bytes, and another message is not signed."""
    survey = opened(services)
    [code] = services.tickets.make(survey, 1)
    holder = Holder(code)
    holder.exchange(services, survey)
    again = [services.tickets.exchange(survey.token, code, holder.blinded) for _ in range(3)]
    assert len(set(again)) == 1
    typed = services.tickets.exchange(survey.token, shown_code(code).lower(), holder.blinded)
    assert typed == again[0]
    with pytest.raises(TicketUsed):
        Holder(code).exchange(services, survey)
    for wrong in ("", "A" * 20, code[::-1], "é" * 20):
        with pytest.raises(TicketRefused):
            services.tickets.exchange(survey.token, wrong, holder.blinded)
    for blinded in (b"", bytes(383), b"\1" * 512):
        with pytest.raises(ParameterError):
            services.tickets.exchange(survey.token, code, blinded)


def test_a_ticket_is_of_one_survey_and_wave(services: Services) -> None:
    """A ticket of another survey, or of another wave, is refused."""
    first, second = opened(services), opened(services, tickets={"phases": 1, "wave": 2})
    [code] = services.tickets.make(first, 1)
    ticket = Holder(code).exchange(services, first)
    with pytest.raises(TicketRefused):
        Holder(code, ticket=ticket).begin(services, second)
    assert first.survey.reach.invitations != second.survey.reach.invitations
    content = base64.b64decode(ticket)
    terms = first.survey.reach.invitations
    assert terms is not None
    next_wave = TicketTerms(terms.key, wave=2)
    with pytest.raises(ParameterError):
        next_wave.read(first.token, base64.b64encode(content).decode())


def test_in_two_phases_nobody_answers_before_and_nobody_enrols_after(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the day tickets are exchanged, from it on they are spent, and never the other."""
    survey = opened(services, tickets={"phases": 2, "answers_from": "2026-03-20"})
    first, late = (Holder(code) for code in services.tickets.make(survey, 2))
    frozen, state = services.surveys.frozen(survey.token)
    assert services.tickets.state(frozen, state) == "enrolling"
    first.exchange(services, survey)
    with pytest.raises(WrongState, match="answer from 2026-03-20"):
        first.begin(services, survey)
    monkeypatch.setattr(services.tickets, "_today", lambda: "2026-03-20")
    monkeypatch.setattr(services.participations.rules, "utc_today", lambda: "2026-03-20")
    assert services.tickets.state(frozen, state) == "open"
    with pytest.raises(WrongState, match="too late"):
        late.exchange(services, survey)
    first.begin(services, survey)
    assert begun(services) == 1


def test_the_first_day_of_answers_is_compared_with_the_day_in_utc() -> None:
    """Where the server's zone has another day, enrolling may begin as devices count."""
    tickets = {"phases": 2, "key": "a", "answers_from": "2026-03-14"}
    document = read_document({"title": "T", "tickets": tickets})
    for zone, utc, late in (
        ("2026-03-14", "2026-03-13", False),
        ("2026-03-13", "2026-03-14", True),
    ):
        _, issues = survey_or_issues(document, allow_clear=False, today=zone, utc_today=utc)
        assert ("/tickets/answers_from" in dict(issues)) == late


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_phases_change_with_the_day_of_devices_in_every_zone(tmp_path: Path, zone: str) -> None:
    """From UTC+14 to UTC-12 a server enrols and admits by the day in UTC, as devices do.

    Else a device is locked out of enrolling, or names the person while others still enrol.
    """
    before = datetime.now(UTC).date()
    services = Services.open(f"sqlite:///{tmp_path / 'server'}", time_zone=zone)
    # Wherever the clock stands, one of the two zones has another day than UTC.
    for days, enrols in ((0, False), (1, True)):
        day = (before + timedelta(days=days)).isoformat()
        later = (before + timedelta(days=9)).isoformat()
        survey = opened(services, tickets={"phases": 2, "answers_from": later})
        terms = survey.survey.reach.invitations
        assert terms is not None
        reach = SimpleNamespace(invitations=replace(terms, answers_from=day))
        moved: Any = SimpleNamespace(survey=SimpleNamespace(reach=reach))
        told = services.tickets.state(moved, "open")
        day_of_steps = services.participations.rules.utc_today()
        if datetime.now(UTC).date() == before:  # unless midnight passed meanwhile
            assert told == ("enrolling" if enrols else "open")
            assert day_of_steps == before.isoformat()
    services.close()


def test_nothing_of_tickets_stays_once_nobody_can_begin(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing, and the last day, delete codes, spent tickets and the key that signs."""
    for ending in ("close", "grace", "cancel", "last day"):
        survey = opened(services, plan={"closes": "2026-03-15"})
        holder = Holder(services.tickets.make(survey, 3)[0])
        holder.exchange(services, survey)
        services.participations.open(
            services.identity(holder.device.participant),
            services.participations.reserve(
                services.identity(holder.device.participant),
                survey.token,
                "medium",
                idempotency_key=secrets.token_hex(16),
                ticket=holder.ticket,
            )[0].id,
        )
        if ending == "close":
            services.surveys.close(survey)
        elif ending == "grace":
            services.surveys.close(survey, grace_days=1)
        elif ending == "cancel":
            services.surveys.cancel(survey)
        else:
            monkeypatch.setattr(services.daily_jobs._endings, "_today", lambda: "2026-03-16")
            services.daily_jobs.run()
        assert not rows_of(services, TICKET, SPENT_TICKET, TICKET_KEY)
        with pytest.raises(WrongState):
            services.tickets.make(survey, 1)


def test_codes_and_keys_are_not_stored(services: Services) -> None:
    """No code and no unblinded ticket is in any row; a draft's key goes with the draft."""
    survey = opened(services)
    codes = services.tickets.make(survey, 5)
    holder = Holder(codes[0])
    holder.exchange(services, survey)
    holder.begin(services, survey)
    rows = everything(services)
    for text in (*codes, holder.ticket, holder.prefix.hex(), holder.blinded.hex()):
        assert text not in rows
    draft, _ = services.drafts.create(document(), team=FIRST_TEAM)
    services.drafts.delete(draft.token, team=FIRST_TEAM)
    keys = services.transactions.read(lambda c: c.execute(select(TICKET_KEY.c.id)).all())
    assert [row.id for row in keys] == [survey.token]


def test_a_copied_document_gets_a_key_of_its_own(services: Services) -> None:
    """The key of another survey, or one made up, is replaced by the server's own."""
    survey = opened(services)
    copy, _ = services.drafts.create(services.surveys.document(survey), team=FIRST_TEAM)
    assert copy.document.tickets.key != document_key(survey)
    changed = services.drafts.change(
        copy.token,
        {"tickets": {"phases": 1, "key": "f" * 768}},
        team=FIRST_TEAM,
        version=copy.version,
    )
    assert changed.document.tickets.key == copy.document.tickets.key
    none, _ = services.drafts.create(read_document({"title": "x"}), team=FIRST_TEAM)
    assert none.document.tickets.key == ""
    keyed = services.drafts.change(
        none.token, {"tickets": {"phases": 1}}, team=FIRST_TEAM, version=1
    )
    assert len(keyed.document.tickets.key) == 768


def document_key(survey: SurveyRecord) -> str:
    """Return the public key of a survey's tickets."""
    assert survey.survey.reach.invitations is not None
    return survey.survey.reach.invitations.key


def test_typed_codes_are_read_as_they_were_meant() -> None:
    """Spaces, hyphens, small letters and letters that look like digits are one code."""
    assert read_code("o1ilA-bcdef ghjkm-npqrs") == "0111ABCDEFGHJKMNPQRS"
