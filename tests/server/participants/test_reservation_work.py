"""The work of a reservation does not grow with the rows kept, and counts stay exact."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, func, insert, select, update
from tests.server.devices import Device, all_at_once
from tests.surveys.small_surveys import define

from masquerade.errors import QuotaFull, TooManyReservations
from masquerade.server import Services
from masquerade.server.db.tables import PARTICIPATION, QUOTA
from masquerade.server.operations.content_checks import survey_findings
from masquerade.server.surveys.quotas import begun, wrong_counts

if TYPE_CHECKING:
    from masquerade.server.surveys.survey_records import SurveyRecord

pytestmark = pytest.mark.both_databases

LONG, STORED = 150, 3000
TRIES = 5


@contextmanager
def statements(services: Services) -> Iterator[list[str]]:
    """Note the statements that a store executes."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement)

    event.listen(services.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(services.engine, "before_cursor_execute", note)


@contextmanager
def machine_steps(services: Services) -> Iterator[list[int]]:
    """Count the steps of SQLite's own machine: each row that is read, of an index too, is some."""
    total = [0]

    def step() -> int:
        total[0] += 1
        return 0

    def watch(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(step, 1)

    def leave(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(None, 1)

    event.listen(services.engine, "checkout", watch)
    event.listen(services.engine, "checkin", leave)
    try:
        yield total
    finally:
        event.remove(services.engine, "checkout", watch)
        event.remove(services.engine, "checkin", leave)


def work(services: Services, do: Callable[[], object]) -> tuple[int, int]:
    """Return how many statements, and steps of SQLite's machine, something takes.

    It is the least of several times, for beside any of them the file may be rewritten.
    """
    do()  # what is kept in memory is there from now on
    counts, steps = [], []
    for _ in range(TRIES):
        with statements(services) as found:
            do()
        counts.append(len(found))
    if services.engine.dialect.name != "sqlite":
        return min(counts), 0
    for _ in range(TRIES):
        with machine_steps(services) as total:
            do()
        steps.append(total[0])
    return min(counts), min(steps)


def test_a_long_ledger_costs_no_more(database_url: str) -> None:
    """Reserving and giving up is the same work after 300 entries as after a few, and so is refusal.

    Counted are statements and, on SQLite, the steps of its machine, of which each row takes some.
    """
    services = Services.open(database_url, today=lambda: "2026-03-14", unopened_reservations=0)
    survey = services.surveys.open_survey(define())
    device = Device()
    who = services.identity(device.participant)

    def again() -> None:
        services.participations.abandon(who, device.reserve(services, survey).id)

    def look() -> None:
        services.profiles.account(who).battery()

    before, looked = work(services, again), work(services, look)
    for _ in range(LONG):
        again()
    after, looks = work(services, again), work(services, look)
    assert (after[0], looks[0]) == (before[0], looked[0])
    assert after[1] <= before[1] + 20, (before, after)
    assert looks[1] <= looked[1] + 20, (looked, looks)
    assert services.ledger.verify() > 2 * LONG
    services.close()


def reserve_anew(services: Services, survey: SurveyRecord) -> None:
    """Begin a survey as somebody new."""
    Device().reserve(services, survey)


def test_a_full_survey_costs_no_more(database_url: str) -> None:
    """Beginning a survey with quotas is the same work where thousands have begun it before."""
    services = Services.open(database_url, today=lambda: "2026-03-14")
    empty, full = (services.surveys.open_survey(define()) for _ in range(2))
    rows = [
        {
            "id": secrets.token_hex(16),
            "survey": full.token,
            "pseudonym": secrets.token_hex(32),
            "level": "medium",
            "state": "submitted",
            "attempt": 1,
            "reports": [0, 0],
        }
        for _ in range(STORED)
    ]
    with services.engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(PARTICIPATION), rows)
    for survey in (empty, full):
        services.surveys.set_quotas(survey, {"medium": STORED + 10 * TRIES})
    costs = []
    for survey in (empty, full):
        costs.append(work(services, partial(reserve_anew, services, survey)))
    assert costs[0][0] == costs[1][0]
    assert costs[1][1] <= costs[0][1] + 20, costs
    services.close()


def counted(services: Services, token: str) -> dict[str, int]:
    """Return the counts that are kept of a survey."""
    query = select(QUOTA.c.level, QUOTA.c.begun).where(QUOTA.c.survey == token)
    with services.engine.connect() as connection:
        return {row.level: row.begun for row in connection.execute(query)}


def recounted(services: Services, token: str) -> dict[str, int]:
    """Return the same, counted one by one."""
    with services.engine.connect() as connection:
        return begun(connection, token)


def test_counts_follow_every_way_in_and_out(services: Services) -> None:
    """After each step of each way the kept count is the number of rows."""
    survey = services.surveys.open_survey(define(levels=("high", "medium")))
    early = Device().open(services, survey, level="high")
    assert early.state == "opened"
    assert counted(services, survey.token) == {}
    services.surveys.set_quotas(survey, {"high": 9, "medium": 4})

    def same(**expected: int) -> None:
        assert counted(services, survey.token) == expected
        assert recounted(services, survey.token) == {k: v for k, v in expected.items() if v}

    same(high=1, medium=0)
    device = Device()
    who = services.identity(device.participant)
    reserved = device.reserve(services, survey, level="medium")
    same(high=1, medium=1)
    services.participations.abandon(who, reserved.id)
    services.participations.abandon(who, reserved.id)
    same(high=1, medium=0)
    opened = device.open(services, survey, level="high")
    same(high=2, medium=0)
    services.participations.abandon(who, opened.id)
    same(high=1, medium=0)
    sender = Device()
    sender.send(services, survey, level="medium")
    same(high=1, medium=1)
    mine = services.profiles.invitations(services.identity(sender.participant), after="", limit=9)[
        0
    ]
    assert mine[0].participation is not None
    services.participations.withdraw(
        services.identity(sender.participant), mine[0].participation["id"]
    )
    same(high=1, medium=0)
    leaver = Device()
    leaver.reserve(services, survey, level="medium")
    same(high=1, medium=1)
    services.profiles.leave(services.identity(leaver.participant))
    same(high=1, medium=0)
    Device().reserve(services, survey, level="medium")
    services.surveys.set_quotas(survey, None)
    assert counted(services, survey.token) == {}
    services.surveys.set_quotas(survey, {"high": 1, "medium": 1})
    same(high=1, medium=1)
    with services.engine.connect() as connection:
        assert wrong_counts(connection) == []
    with pytest.raises(QuotaFull):
        Device().reserve(services, survey, level="medium")
    same(high=1, medium=1)
    services.surveys.close(survey)
    same(high=1, medium=0)


def test_reservations_that_lapse_are_counted_no_more(database_url: str) -> None:
    """A reservation that lapses in the daily sweep frees its place, on either database."""
    today = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: today[0])
    survey = services.surveys.open_survey(define())
    services.surveys.set_quotas(survey, {"medium": 2})
    for _ in range(2):
        Device().reserve(services, survey)
    today[0] = "2026-03-20"
    services.daily_jobs.run()
    assert counted(services, survey.token) == {"medium": 0}
    Device().reserve(services, survey)
    services.close()


def test_quotas_are_exact_in_a_race(services: Services) -> None:
    """While people come, leave and find the quotas changed at once, no place is lost or doubled."""
    survey = services.surveys.open_survey(define())
    services.surveys.set_quotas(survey, {"medium": 7})

    def come(leave: bool) -> bool:
        device = Device()
        begun = device.reserve(services, survey)
        if leave:
            services.participations.abandon(services.identity(device.participant), begun.id)
        return not leave

    def change() -> None:
        services.surveys.set_quotas(survey, None)
        services.surveys.set_quotas(survey, {"medium": 7})

    for turn in range(3):
        works: list[Callable[[], object]] = [partial(come, n % 3 == 0) for n in range(30)]
        if turn == 1:  # the only one in which more than seven may come: while there are no quotas
            works += [change, change]
        outcomes = all_at_once(*works)
        assert all(o in (True, False, None) or isinstance(o, QuotaFull) for o in outcomes)
        assert counted(services, survey.token) == recounted(services, survey.token)
        if turn == 0:
            assert counted(services, survey.token)["medium"] <= 7


def test_who_opens_nothing_is_slowed_down(database_url: str) -> None:
    """After so many reservations given up or left on a day the next is refused, uncharged."""
    today = ["2026-03-14"]
    services = Services.open(database_url, today=lambda: today[0], unopened_reservations=5)
    survey, *others = (
        services.surveys.open_survey(define(level="high", levels=("high",))) for _ in range(4)
    )
    device = Device()
    who = services.identity(device.participant)
    for _ in range(3):
        services.participations.abandon(who, device.reserve(services, survey).id)
    for other in others[:2]:
        device.reserve(services, other)
    before = services.ledger.balance(who.person)
    with pytest.raises(TooManyReservations, match="5 surveys"):
        device.reserve(services, survey)
    assert services.ledger.balance(who.person) == before
    # Opening what waits makes room, and so does the next day.
    device.open(services, others[0])
    device.reserve(services, survey)
    with pytest.raises(TooManyReservations):
        device.reserve(services, others[2])
    today[0] = "2026-03-15"
    device.reserve(services, others[2])
    Device().reserve(services, survey)
    services.close()


def test_ledger_rows_stop_growing(sqlite_services: Services) -> None:
    """A device that begins and gives up all day long leaves a bounded number of entries."""
    survey = sqlite_services.surveys.open_survey(define())
    device = Device()
    who = sqlite_services.identity(device.participant)
    refused = 0
    for _ in range(60):
        try:
            sqlite_services.participations.abandon(who, device.reserve(sqlite_services, survey).id)
        except TooManyReservations:
            refused += 1
    assert refused == 40
    assert sqlite_services.ledger.balance(who.person).entries == 40
    with sqlite_services.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(PARTICIPATION)).scalar() == 1


def test_a_wrong_count_is_found(services: Services) -> None:
    """Where somebody changed a count, checking finds the survey."""
    survey, other = services.surveys.open_survey(define()), services.surveys.open_survey(define())
    for one in (survey, other):
        services.surveys.set_quotas(one, {"medium": 3})
    Device().reserve(services, survey)
    with services.engine.execution_options(write=True).begin() as connection:
        connection.execute(update(QUOTA).where(QUOTA.c.survey == survey.token).values(begun=0))
    with services.engine.connect() as connection:
        found = [one for one in survey_findings(connection) if one.status != "ok"]
    assert len(found) == 1
    assert survey.token in found[0].detail
