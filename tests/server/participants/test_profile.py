"""People over all surveys: reservations that lapse, caps, leaving, invitations."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import Device, all_at_once, everything
from tests.server.participants.participation_runs import SALT, STATES, Run
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.errors import (
    ConfirmationNeeded,
    WrongState,
)
from masquerade.exact import Micro
from masquerade.server import Services
from masquerade.server.db.tables import (
    OPENED,
    PARTICIPATION,
    RESERVED,
    SEALED,
    SUBMITTED,
    WITHDRAWN,
)
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.surveys import Choice
from masquerade.surveys.survey import commitment_of


class Calendar:
    """A day that tests can move on."""

    day = "2026-03-14"

    def __call__(self) -> str:
        """Return the day."""
        return self.day


def test_reservations_lapse(database_url: str) -> None:
    """After its days a reservation is given back, and nothing else is."""
    today = Calendar()
    services = Services.open(database_url, today=today, reservation_days=2)
    survey = services.surveys.open_survey(define(levels=("medium",)))
    runs = {state: Run(services, survey, Device()).bring_to(state) for state in STATES}
    today.day = "2026-03-16"
    assert services.transactions.rewrite(
        patience=PATIENCE_SECONDS
    )  # a sweep does it too, and PostgreSQL keeps its day
    assert services.daily_jobs.run().released == 0  # the first of a day counts as it begins
    before = everything(services)
    assert services.daily_jobs.run().released == 0
    assert everything(services) == before
    fresh = Run(services, survey, Device())
    today.day = "2026-03-17"
    assert services.daily_jobs.run().released == 1
    with pytest.raises(WrongState, match="is expired"):
        runs[RESERVED].step("open")
    assert services.ledger.balance(runs[RESERVED].who.person).open == 0
    assert fresh.step("open").state == OPENED
    for state in (OPENED, SEALED, SUBMITTED):
        assert runs[state].step("abandon" if state != SUBMITTED else "respond").state
    after = everything(services)
    assert services.daily_jobs.run().released == 0
    assert everything(services) == after
    services.ledger.verify()
    services.close()


def test_a_sweep_that_was_cut_short_is_finished_by_the_next(services: Services) -> None:
    """Where the process ends between expiry and release, the next sweep gives the rest back."""
    survey = services.surveys.open_survey(define())
    run = Run(services, survey, Device())

    def gone(*_: Any, **__: Any) -> int:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SurveyEndings, "release", gone)
        with pytest.raises(KeyboardInterrupt):
            services.surveys.close(survey)
    assert services.ledger.balance(run.who.person).open == 1
    with pytest.raises(WrongState):
        run.step("open")
    assert services.daily_jobs.run().released == 1
    assert services.ledger.balance(run.who.person).open == 0


def test_opening_while_it_lapses(database_url: str) -> None:
    """Either the questions are shown and paid for, or the reservation is given back: never both."""
    today = Calendar()
    services = Services.open(database_url, today=today, reservation_days=0)
    survey = services.surveys.open_survey(define(levels=("medium",)))
    runs = [Run(services, survey, Device()) for _ in range(12)]
    today.day = "2026-03-15"
    outcomes = all_at_once(
        *(lambda run=run: run.step("open") for run in runs), *[services.daily_jobs.run] * 2
    )
    for run, outcome in zip(runs, outcomes, strict=False):
        last = services.ledger.entries(services.identity(run.device.participant).person)[
            -1
        ].charge.kind
        if isinstance(outcome, Exception):
            assert isinstance(outcome, WrongState)
            assert last == "release"
        else:
            assert (outcome.state, last) == (OPENED, "commit")
    services.ledger.verify()
    services.close()


def test_caps_go_down_at_once_and_up_later(database_url: str) -> None:
    """Lower caps hold at once; higher ones need a confirmation and a day, and can be undone."""
    today = Calendar()
    services = Services.open(database_url, today=today)
    who = services.identity(secrets.token_hex(16))
    low, high = Caps(Micro(3_000_000)), Caps(Micro(12_000_000))
    assert services.profiles.set_caps(who, lambda _: low, confirm=False)
    assert services.profiles.account(who).balance.caps == low
    with pytest.raises(ConfirmationNeeded):
        services.profiles.set_caps(who, lambda _: high, confirm=False)
    assert not services.profiles.set_caps(who, lambda _: high, confirm=True)
    assert services.profiles.caps_to_come(who) == (high, "2026-03-16")
    today.day = "2026-03-15"
    assert services.daily_jobs.run().raised == 0
    assert services.profiles.account(who).balance.caps == low
    today.day = "2026-03-16"
    assert services.daily_jobs.run().raised == 1
    assert services.profiles.account(who).balance.caps == high
    assert services.profiles.caps_to_come(who) is None
    assert not services.profiles.set_caps(who, lambda _: Caps(Micro(20_000_000)), confirm=True)
    assert services.profiles.set_caps(who, lambda _: low, confirm=False)
    today.day = "2026-04-01"
    assert services.daily_jobs.run().raised == 0
    assert services.profiles.account(who).balance.caps == low
    services.ledger.verify()
    services.close()


def test_leaving(services: Services) -> None:
    """Reports of open surveys go, those of closed ones and the ledger stay, all else is ended."""
    device = Device()
    states: dict[str, Run] = {}
    for state in STATES:
        survey = services.surveys.open_survey(
            define(Choice("c", "?", ("A", "B")), levels=("medium",))
        )
        run = Run(services, survey, device)
        if state in (SEALED, SUBMITTED, WITHDRAWN):
            run.step("open")
            commitment = commitment_of(run.begun.id, [1], SALT)
            services.participations.seal(run.who, run.begun.id, commitment)
            if state != SEALED:
                device.respond(services, run.begun, [1], SALT)
            if state == WITHDRAWN:
                run.step("withdraw")
        else:
            run.bring_to(state)
        states[state] = run
    closed = services.surveys.open_survey(define(Choice("c", "?", ("A", "B"))))
    device.send(services, closed, [1])
    services.surveys.close(closed)
    entries = len(services.ledger.entries(services.identity(device.participant).person))
    who = services.identity(device.participant)
    left = services.profiles.leave(who)
    assert (left.withdrawn, left.given_up, left.kept) == (1, 3, 1)
    assert services.reports.of_survey(states[SUBMITTED].survey.token) == []
    assert len(services.reports.of_survey(closed.token)) == 1
    assert (
        len(services.ledger.entries(services.identity(device.participant).person)) == entries + 1
    )  # one reservation was given back
    again = services.profiles.leave(who)
    assert (again.withdrawn, again.given_up, again.kept) == (0, 0, 1)
    services.ledger.verify()


def test_invitations(services: Services) -> None:
    """A person sees their own surveys and those listed and open, page by page, once each."""
    begun = [services.surveys.open_survey(define()) for _ in range(3)]
    listed = [services.surveys.open_survey(define(), listed=True) for _ in range(3)]
    over = services.surveys.open_survey(define(), listed=True)
    services.surveys.close(over)
    services.surveys.open_survey(define())
    device = Device()
    for survey in begun:
        device.reserve(services, survey)
    who = services.identity(device.participant)
    found, cursor = services.profiles.invitations(who, after="", limit=4)
    more, end = services.profiles.invitations(who, after=cursor or "", limit=4)
    assert (len(found), len(more), end) == (4, 2, None)
    tokens = [one.survey.token for one in (*found, *more)]
    assert tokens == sorted({s.token for s in (*begun, *listed)})
    for one in (*found, *more):
        mine = one.survey.token in {s.token for s in begun}
        assert (one.participation is not None) == mine
    stranger = services.profiles.invitations(services.identity("0" * 32), after="", limit=9)[0]
    assert {one.survey.token for one in stranger} == {s.token for s in listed}


def test_a_stranger_costs_no_more_where_there_are_many_surveys(services: Services) -> None:
    """Listing, exporting and leaving read the surveys of the person, and not all of the server."""
    mine = Device()
    run = services.surveys.open_survey(define(title="Mine"))
    mine.send(services, run)
    for number in range(40):
        services.surveys.open_survey(define(title=f"Other {number}"))
    read: list[str] = []
    frozen = services.surveys._surveys.frozen

    def counted(connection: Any, token: str) -> Any:
        read.append(token)
        return frozen(connection, token)

    services.surveys._surveys.frozen = counted  # type: ignore[method-assign]
    stranger = services.identity(secrets.token_hex(16))
    assert services.profiles.invitations(stranger, after="", limit=9) == ([], None)
    assert services.profiles.everything(stranger).participations == []
    assert services.profiles.leave(stranger).withdrawn == 0
    assert read == []
    who = services.identity(mine.participant)
    assert len(services.profiles.everything(who).participations) == 1
    assert services.profiles.leave(who).withdrawn == 1
    assert set(read) == {run.token}


@pytest.mark.both_databases
def test_many_reservations_of_a_closed_survey_are_given_back_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing gives back the first of them; the next look the rest, once, in chains that hold.

    Where there are many they lapse at that look too; until then none can be opened.
    """
    monkeypatch.setattr("masquerade.server.surveys.ending._AT_ONCE", 3)
    survey = services.surveys.open_survey(define())
    devices = [Device() for _ in range(8)]
    begun = [device.reserve(services, survey) for device in devices]
    services.surveys.close(survey)

    def waiting() -> int:
        people = (services.identity(one.participant).person for one in devices)
        return sum(services.ledger.balance(person).open for person in people)

    def reserved() -> int:
        query = select(func.count()).where(PARTICIPATION.c.state == RESERVED)
        return int(services.transactions.read(lambda c: c.execute(query).scalar_one()))

    assert (waiting(), reserved()) == (5, 8)
    with pytest.raises(WrongState):
        services.participations.open(services.identity(devices[0].participant), begun[0].id)
    # Whichever server is there next.
    again = Services.open(str(services.engine.url.render_as_string(hide_password=False)))
    again.held_places.look()
    again.close()
    assert (waiting(), reserved()) == (0, 0)
    assert services.held_places.look() == 0
    assert services.ledger.verify() == 16
