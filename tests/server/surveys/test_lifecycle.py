"""Drafts and surveys in the store, on both kinds of database."""

from __future__ import annotations

import pytest
from tests.server.devices import Device, all_at_once

from masquerade.errors import NotFound, QuotaFull, StaleVersion
from masquerade.server import Store
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import read_document
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys.survey import commitment_of

pytestmark = pytest.mark.both_databases


def test_of_two_who_change_a_draft_one_is_told(store: Store) -> None:
    """Several changes of one version at once: one is kept, the others are refused."""
    draft, _ = store.lifecycle.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    outcomes = all_at_once(
        *(
            lambda n=n: store.lifecycle.drafts.change(
                draft.token, {"title": f"T{n}"}, team=FIRST_TEAM, version=1
            )
            for n in range(6)
        )
    )
    kept = [one for one in outcomes if not isinstance(one, Exception)]
    assert len(kept) == 1
    assert all(isinstance(one, StaleVersion) for one in outcomes if one is not kept[0])
    assert store.lifecycle.drafts.draft(draft.token, team=FIRST_TEAM) == kept[0]


def test_opened_twice_at_once_it_opens_once(store: Store) -> None:
    """Two presses of the button open one survey, under the draft's token."""
    draft, _ = store.lifecycle.drafts.create(TEMPLATES["rate"].document(), team=FIRST_TEAM)
    outcomes = all_at_once(
        *(lambda: store.lifecycle.drafts.open(draft.token, team=FIRST_TEAM) for _ in range(4))
    )
    opened = [one for one in outcomes if not isinstance(one, Exception)]
    assert [one.token for one in opened] == [draft.token]
    assert all(isinstance(one, NotFound) for one in outcomes if one is not opened[0])
    assert not store.lifecycle.drafts.is_draft(draft.token, team=FIRST_TEAM)


def test_drafts_are_their_teams(store: Store) -> None:
    """Another team finds no draft, whatever it asks for."""
    draft, _ = store.lifecycle.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    other = "1" * 32
    for work in (
        lambda: store.lifecycle.drafts.draft(draft.token, team=other),
        lambda: store.lifecycle.drafts.change(draft.token, {}, team=other, version=1),
        lambda: store.lifecycle.drafts.delete(draft.token, team=other),
        lambda: store.lifecycle.drafts.open(draft.token, team=other),
        lambda: store.lifecycle.drafts.draft("x\0y", team=FIRST_TEAM),
    ):
        with pytest.raises(NotFound):
            work()
    assert store.lifecycle.listed(team=other) == []


def test_the_last_seat_is_taken_once(store: Store) -> None:
    """Of eight people at once at a level with two seats, two begin; an abandoned one is free."""
    draft, _ = store.lifecycle.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = store.lifecycle.drafts.open(draft.token, team=FIRST_TEAM, seats={"high": 2})
    devices = [Device() for _ in range(8)]
    outcomes = all_at_once(*(lambda d=d: d.reserve(store, survey, level="high") for d in devices))
    begun = [one for one in outcomes if not isinstance(one, Exception)]
    assert len(begun) == 2
    assert all(isinstance(one, QuotaFull) for one in outcomes if isinstance(one, Exception))
    with pytest.raises(QuotaFull):
        Device().reserve(store, survey, level="low")
    place = outcomes.index(begun[0])
    store.participations.abandon(store.identity(devices[place].participant), begun[0].id)
    assert Device().reserve(store, survey, level="high")


def test_days_end_surveys(database_url: str) -> None:
    """After its last day a survey is closing for a day, then closed; a reservation is released."""
    day = "2026-03-14"
    store = Store(database_url, today=lambda: day)
    document = read_document(
        {**TEMPLATES["pick"].document().to_json(), "plan": {"closes": "2026-03-15"}}
    )
    draft, _ = store.lifecycle.drafts.create(document, team=FIRST_TEAM)
    survey = store.lifecycle.drafts.open(draft.token, team=FIRST_TEAM)
    reserved, begun = Device(), Device()
    reserved.reserve(store, survey, level="high")
    answering = begun.open(store, survey, level="high")
    states = []
    for day in ("2026-03-15", "2026-03-16", "2026-03-17", "2026-03-18"):  # noqa: B007
        store.sweeper.sweep()
        kept = store.survey(survey.token)
        states.append((kept.state, kept.closes))
        if kept.state == "closing":
            who, salt = store.identity(begun.participant), "ab" * 16
            commitment = commitment_of(answering.id, [1], salt)
            store.participations.seal(who, answering.id, commitment)
            begun.respond(store, answering, [1], salt)
    assert states == [
        ("open", "2026-03-15"),
        ("closing", "2026-03-17"),
        ("closing", "2026-03-17"),
        ("closed", None),
    ]
    assert store.survey(survey.token).responses == 1
    assert [e.charge.kind for e in store.ledger(reserved.participant)] == ["reserve", "release"]
    store.close()


def test_a_draft_is_told_to_no_participant(store: Store) -> None:
    """A draft's token is no survey's until it is opened."""
    draft, _ = store.lifecycle.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    with pytest.raises(NotFound):
        store.asked(draft.token)
    store.lifecycle.drafts.open(draft.token, team=FIRST_TEAM)
    assert store.asked(draft.token)[1] == "open"
