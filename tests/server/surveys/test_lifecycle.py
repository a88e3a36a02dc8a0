"""Drafts and surveys in the store, on both kinds of database."""

from __future__ import annotations

import pytest
from tests.server.devices import Device, all_at_once

from masquerade.errors import NotFound, QuotaFull, StaleVersion
from masquerade.server import Services
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import read_document
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.server.webhooks.webhooks import EVENTS
from masquerade.surveys.survey import commitment_of

pytestmark = pytest.mark.both_databases


def test_of_two_who_change_a_draft_one_is_told(services: Services) -> None:
    """Several changes of one version at once: one is kept, the others are refused."""
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    outcomes = all_at_once(
        *(
            lambda n=n: services.drafts.change(
                draft.token, {"title": f"T{n}"}, team=FIRST_TEAM, version=1
            )
            for n in range(6)
        )
    )
    kept = [one for one in outcomes if not isinstance(one, Exception)]
    assert len(kept) == 1
    assert all(isinstance(one, StaleVersion) for one in outcomes if one is not kept[0])
    assert services.drafts.draft(draft.token, team=FIRST_TEAM) == kept[0]


def test_opened_twice_at_once_it_opens_once(services: Services) -> None:
    """Two presses of the button open one survey, under the draft's token."""
    draft, _ = services.drafts.create(TEMPLATES["rate"].document(), team=FIRST_TEAM)
    outcomes = all_at_once(
        *(lambda: services.drafts.open(draft.token, team=FIRST_TEAM) for _ in range(4))
    )
    opened = [one for one in outcomes if not isinstance(one, Exception)]
    assert [one.token for one in opened] == [draft.token]
    assert all(isinstance(one, NotFound) for one in outcomes if one is not opened[0])
    assert services.drafts.find(draft.token, team=FIRST_TEAM) is None


def test_drafts_are_their_teams(services: Services) -> None:
    """Another team finds no draft, with any request."""
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    other = "1" * 32
    for work in (
        lambda: services.drafts.draft(draft.token, team=other),
        lambda: services.drafts.change(draft.token, {}, team=other, version=1),
        lambda: services.drafts.delete(draft.token, team=other),
        lambda: services.drafts.open(draft.token, team=other),
        lambda: services.drafts.draft("x\0y", team=FIRST_TEAM),
    ):
        with pytest.raises(NotFound):
            work()
    assert services.surveys.listed(team=other) == []


def test_the_last_seat_is_taken_once(services: Services) -> None:
    """Of eight people at once at a level with two seats, two begin; an abandoned one is free."""
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM, quotas={"high": 2})
    devices = [Device() for _ in range(8)]
    outcomes = all_at_once(
        *(lambda d=d: d.reserve(services, survey, level="high") for d in devices)
    )
    begun = [one for one in outcomes if not isinstance(one, Exception)]
    assert len(begun) == 2
    assert all(isinstance(one, QuotaFull) for one in outcomes if isinstance(one, Exception))
    with pytest.raises(QuotaFull):
        Device().reserve(services, survey, level="low")
    place = outcomes.index(begun[0])
    services.participations.abandon(services.identity(devices[place].participant), begun[0].id)
    assert Device().reserve(services, survey, level="high")


def test_days_end_surveys(database_url: str) -> None:
    """After its last day a survey is closing for a day, then closed; a reservation is released."""
    day = "2026-03-14"
    services = Services.open(database_url, today=lambda: day)
    document = read_document(
        {**TEMPLATES["pick"].document().to_json(), "plan": {"closes": "2026-03-15"}}
    )
    draft, _ = services.drafts.create(document, team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    reserved, begun = Device(), Device()
    reserved.reserve(services, survey, level="high")
    answering = begun.open(services, survey, level="high")
    states = []
    for day in ("2026-03-15", "2026-03-16", "2026-03-17", "2026-03-18"):  # noqa: B007
        services.daily_jobs.run()
        kept = services.surveys.record(survey.token)
        states.append((kept.state, kept.closes))
        if kept.state == "closing":
            who, salt = services.identity(begun.participant), "ab" * 16
            commitment = commitment_of(answering.id, [1], salt)
            services.participations.seal(who, answering.id, commitment)
            begun.respond(services, answering, [1], salt)
    assert states == [
        ("open", "2026-03-15"),
        ("closing", "2026-03-17"),
        ("closing", "2026-03-17"),
        ("closed", None),
    ]
    assert services.surveys.record(survey.token).responses == 1
    assert [
        e.charge.kind
        for e in services.ledger.entries(services.identity(reserved.participant).person)
    ] == ["reserve", "release"]
    services.close()


def test_days_are_counted_once_in_whole_tens_and_forgotten_at_the_end(database_url: str) -> None:
    """Each sweep notes the number there, rounded down; a second one of a day and the end add none.

    So of somebody who comes between two days nothing shows, but of each tenth person.
    """
    day = "2026-03-14"
    services = Services.open(database_url, today=lambda: day)
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    services.daily_jobs.run()
    for day, people in (("2026-03-15", 9), ("2026-03-16", 2), ("2026-03-17", 0)):  # noqa: B007
        for _ in range(people):
            Device().send(services, survey, [0], level="high")
        services.daily_jobs.run()
        services.daily_jobs.run()
    expected = [
        ("2026-03-14", 0),
        ("2026-03-15", 0),
        ("2026-03-16", 10),
        ("2026-03-17", 10),
    ]
    assert services.surveys.days(survey.token, most=9) == expected
    assert services.surveys.days(survey.token, most=2) == expected[2:]
    services.surveys.close(survey)
    services.daily_jobs.run()
    assert services.surveys.days(survey.token, most=9) == []
    services.close()


@pytest.mark.parametrize("end", ["close", "cancel"])
def test_a_crash_after_the_end_loses_no_message(
    services: Services, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A survey has ended with all its messages, for all later failures, or has not ended at all."""
    services.webhooks.create(FIRST_TEAM, url="https://8.8.8.8/x", events=EVENTS)
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    survey = services.drafts.open(draft.token, team=FIRST_TEAM)
    reserved = Device()
    reserved.reserve(services, survey, level="high")
    finish = getattr(services.surveys, end)

    def crash(*_: object, **__: object) -> None:
        raise OSError("the power is gone")

    def events() -> list[str]:
        return sorted(one.event for one in services.webhooks.log(FIRST_TEAM))

    with monkeypatch.context() as failing:
        failing.setattr("masquerade.server.surveys.ending.enqueue", crash)
        with pytest.raises(OSError, match="power"):
            finish(survey)
    assert services.surveys.record(survey.token).state == "open"
    assert events() == ["survey.opened"]
    with monkeypatch.context() as failing:
        failing.setattr(SurveyEndings, "release", crash)
        with pytest.raises(OSError, match="power"):
            finish(survey)
    assert services.surveys.record(survey.token).state != "open"
    ready = ["survey.results_ready"] if end == "close" else []
    assert events() == sorted([*ready, "survey.closed", "survey.opened"])
    # What the crash left is given back by the daily jobs, which send nothing twice.
    services.daily_jobs.run()
    person = services.identity(reserved.participant).person
    assert [e.charge.kind for e in services.ledger.entries(person)] == ["reserve", "release"]
    assert events() == sorted([*ready, "survey.closed", "survey.opened"])


def test_a_draft_is_told_to_no_participant(services: Services) -> None:
    """A draft's token is no survey's until it is opened."""
    draft, _ = services.drafts.create(TEMPLATES["pick"].document(), team=FIRST_TEAM)
    with pytest.raises(NotFound):
        services.surveys.frozen(draft.token)
    services.drafts.open(draft.token, team=FIRST_TEAM)
    assert services.surveys.frozen(draft.token)[1] == "open"
