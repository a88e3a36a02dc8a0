"""People over all surveys: reservations that lapse, caps, leaving, invitations."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from tests.server.devices import Device, all_at_once, everything
from tests.server.participants.participation_runs import SALT, STATES, Run
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.errors import (
    ConfirmationNeeded,
    WrongState,
)
from masquerade.exact import Loss
from masquerade.server import Store
from masquerade.server.participants.participations import (
    OPENED,
    RESERVED,
    SEALED,
    WITHDRAWN,
)
from masquerade.server.surveys.frozen_surveys import SUBMITTED
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
    store = Store(database_url, today=today, reservation_days=2)
    survey = store.open_survey(define(levels=("medium",)))
    runs = {state: Run(store, survey, Device()).bring_to(state) for state in STATES}
    today.day = "2026-03-16"
    assert store.rewrite()  # a sweep does it too, and PostgreSQL keeps its day
    before = everything(store)
    assert store.sweeper.sweep().released == 0
    assert everything(store) == before
    fresh = Run(store, survey, Device())
    today.day = "2026-03-17"
    assert store.sweeper.sweep().released == 1
    with pytest.raises(WrongState, match="is expired"):
        runs[RESERVED].step("open")
    assert store.accounts.balance(runs[RESERVED].who.person).open == 0
    assert fresh.step("open").state == OPENED
    for state in (OPENED, SEALED, SUBMITTED):
        assert runs[state].step("abandon" if state != SUBMITTED else "respond").state
    after = everything(store)
    assert store.sweeper.sweep().released == 0
    assert everything(store) == after
    store.accounts.verify()
    store.close()


def test_a_sweep_that_was_cut_short_is_finished_by_the_next(store: Store) -> None:
    """Where the process ends between expiry and release, the next sweep gives the rest back."""
    survey = store.open_survey(define())
    run = Run(store, survey, Device())

    def gone(_: Any) -> int:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.sweeper, "_release", gone)
        with pytest.raises(KeyboardInterrupt):
            store.close_survey(survey.token)
    assert store.accounts.balance(run.who.person).open == 1
    with pytest.raises(WrongState):
        run.step("open")
    assert store.sweeper.sweep().released == 1
    assert store.accounts.balance(run.who.person).open == 0


def test_opening_while_it_lapses(database_url: str) -> None:
    """Either the questions are shown and paid for, or the reservation is given back: never both."""
    today = Calendar()
    store = Store(database_url, today=today, reservation_days=0)
    survey = store.open_survey(define(levels=("medium",)))
    runs = [Run(store, survey, Device()) for _ in range(12)]
    today.day = "2026-03-15"
    outcomes = all_at_once(
        *(lambda run=run: run.step("open") for run in runs), *[store.sweeper.sweep] * 2
    )
    for run, outcome in zip(runs, outcomes, strict=False):
        last = store.ledger(run.device.participant)[-1].charge.kind
        if isinstance(outcome, Exception):
            assert isinstance(outcome, WrongState)
            assert last == "release"
        else:
            assert (outcome.state, last) == (OPENED, "commit")
    store.accounts.verify()
    store.close()


def test_caps_go_down_at_once_and_up_later(database_url: str) -> None:
    """Lower caps hold at once; higher ones need a confirmation and a day, and can be undone."""
    today = Calendar()
    store = Store(database_url, today=today)
    who = store.identity(secrets.token_hex(16))
    low, high = Caps(Loss(3_000_000)), Caps(Loss(12_000_000))
    assert store.people.set_caps(who, lambda _: low, confirm=False)
    assert store.people.account(who).balance.caps == low
    with pytest.raises(ConfirmationNeeded):
        store.people.set_caps(who, lambda _: high, confirm=False)
    assert not store.people.set_caps(who, lambda _: high, confirm=True)
    assert store.people.caps_to_come(who) == (high, "2026-03-16")
    today.day = "2026-03-15"
    assert store.sweeper.sweep().raised == 0
    assert store.people.account(who).balance.caps == low
    today.day = "2026-03-16"
    assert store.sweeper.sweep().raised == 1
    assert store.people.account(who).balance.caps == high
    assert store.people.caps_to_come(who) is None
    assert not store.people.set_caps(who, lambda _: Caps(Loss(20_000_000)), confirm=True)
    assert store.people.set_caps(who, lambda _: low, confirm=False)
    today.day = "2026-04-01"
    assert store.sweeper.sweep().raised == 0
    assert store.people.account(who).balance.caps == low
    store.accounts.verify()
    store.close()


def test_leaving(store: Store) -> None:
    """Reports of open surveys go, those of closed ones and the ledger stay, all else is ended."""
    device = Device()
    states: dict[str, Run] = {}
    for state in STATES:
        survey = store.open_survey(define(Choice("c", "?", ("A", "B")), levels=("medium",)))
        run = Run(store, survey, device)
        if state in (SEALED, SUBMITTED, WITHDRAWN):
            run.step("open")
            commitment = commitment_of(run.begun.id, [1], SALT)
            store.participations.seal(run.who, run.begun.id, commitment)
            if state != SEALED:
                device.respond(store, run.begun, [1], SALT)
            if state == WITHDRAWN:
                run.step("withdraw")
        else:
            run.bring_to(state)
        states[state] = run
    closed = store.open_survey(define(Choice("c", "?", ("A", "B"))))
    device.send(store, closed, [1])
    store.close_survey(closed.token)
    entries = len(store.ledger(device.participant))
    who = store.identity(device.participant)
    left = store.people.leave(who)
    assert (left.withdrawn, left.given_up, left.kept) == (1, 3, 1)
    assert store.responses(states[SUBMITTED].survey.token) == []
    assert len(store.responses(closed.token)) == 1
    assert len(store.ledger(device.participant)) == entries + 1  # one reservation was given back
    again = store.people.leave(who)
    assert (again.withdrawn, again.given_up, again.kept) == (0, 0, 1)
    store.accounts.verify()


def test_invitations(store: Store) -> None:
    """A person sees what they have begun and what is listed and open, page by page, once each."""
    begun = [store.open_survey(define()) for _ in range(3)]
    listed = [store.open_survey(define(), listed=True) for _ in range(3)]
    over = store.open_survey(define(), listed=True)
    store.close_survey(over.token)
    store.open_survey(define())
    device = Device()
    for survey in begun:
        device.reserve(store, survey)
    who = store.identity(device.participant)
    found, cursor = store.people.invitations(who, after="", limit=4)
    more, end = store.people.invitations(who, after=cursor or "", limit=4)
    assert (len(found), len(more), end) == (4, 2, None)
    tokens = [one.survey.token for one in (*found, *more)]
    assert tokens == sorted({s.token for s in (*begun, *listed)})
    for one in (*found, *more):
        mine = one.survey.token in {s.token for s in begun}
        assert (one.participation is not None) == mine
    stranger = store.people.invitations(store.identity("0" * 32), after="", limit=9)[0]
    assert {one.survey.token for one in stranger} == {s.token for s in listed}
