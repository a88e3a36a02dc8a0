"""What a reservation costs the server does not grow with what is kept, and counts stay exact."""

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
from masquerade.server import Store
from masquerade.server.db.tables import ParticipationRow, QuotaCountRow, table_of
from masquerade.server.operations.content_checks import survey_findings
from masquerade.server.surveys.quotas import begun, wrong_counts

if TYPE_CHECKING:
    from masquerade.server.store import SurveyRecord

pytestmark = pytest.mark.both_databases

_COUNT, _PARTICIPATION = table_of(QuotaCountRow), table_of(ParticipationRow)
LONG, STORED = 150, 3000
TRIES = 5


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Note the statements that a store executes."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


@contextmanager
def machine_steps(store: Store) -> Iterator[list[int]]:
    """Count the steps of SQLite's own machine: each row that is read, of an index too, is some."""
    total = [0]

    def step() -> int:
        total[0] += 1
        return 0

    def watch(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(step, 1)

    def leave(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(None, 1)

    event.listen(store.engine, "checkout", watch)
    event.listen(store.engine, "checkin", leave)
    try:
        yield total
    finally:
        event.remove(store.engine, "checkout", watch)
        event.remove(store.engine, "checkin", leave)


def work(store: Store, do: Callable[[], object]) -> tuple[int, int]:
    """Return how many statements, and steps of SQLite's machine, something takes.

    It is the least of several times, for beside any of them the file may be rewritten.
    """
    do()  # what is kept in memory is there from now on
    counts, steps = [], []
    for _ in range(TRIES):
        with statements(store) as found:
            do()
        counts.append(len(found))
    if store.engine.dialect.name != "sqlite":
        return min(counts), 0
    for _ in range(TRIES):
        with machine_steps(store) as total:
            do()
        steps.append(total[0])
    return min(counts), min(steps)


def test_a_long_ledger_costs_no_more(database_url: str) -> None:
    """Reserving and giving up is the same work after 300 entries as after a few, and so is refusal.

    Counted are statements and, on SQLite, the steps of its machine, of which each row takes some.
    """
    store = Store(database_url, today=lambda: "2026-03-14", unopened_reservations=0)
    survey = store.open_survey(define())
    device = Device()
    who = store.identity(device.participant)

    def again() -> None:
        store.participations.abandon(who, device.reserve(store, survey).id)

    def look() -> None:
        store.people.account(who).battery()

    before, looked = work(store, again), work(store, look)
    for _ in range(LONG):
        again()
    after, looks = work(store, again), work(store, look)
    assert (after[0], looks[0]) == (before[0], looked[0])
    assert after[1] <= before[1] + 20, (before, after)
    assert looks[1] <= looked[1] + 20, (looked, looks)
    assert store.accounts.verify() > 2 * LONG
    store.close()


def reserve_anew(store: Store, survey: SurveyRecord) -> None:
    """Begin a survey as somebody new."""
    Device().reserve(store, survey)


def test_a_full_survey_costs_no_more(database_url: str) -> None:
    """Beginning a survey with quotas is the same work where thousands have begun it before."""
    store = Store(database_url, today=lambda: "2026-03-14")
    empty, full = (store.open_survey(define()) for _ in range(2))
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
    with store.engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(_PARTICIPATION), rows)
    for survey in (empty, full):
        store.lifecycle.set_seats(survey, {"medium": STORED + 10 * TRIES})
    costs = []
    for survey in (empty, full):
        costs.append(work(store, partial(reserve_anew, store, survey)))
    assert costs[0][0] == costs[1][0]
    assert costs[1][1] <= costs[0][1] + 20, costs
    store.close()


def counted(store: Store, token: str) -> dict[str, int]:
    """Return the counts that are kept of a survey."""
    query = select(_COUNT.c.level, _COUNT.c.begun).where(_COUNT.c.survey == token)
    with store.engine.connect() as connection:
        return {row.level: row.begun for row in connection.execute(query)}


def recounted(store: Store, token: str) -> dict[str, int]:
    """Return the same, counted one by one."""
    with store.engine.connect() as connection:
        return begun(connection, token)


def test_counts_follow_every_way_in_and_out(store: Store) -> None:
    """After each step of each way the kept count is what counting one by one comes to."""
    survey = store.open_survey(define(levels=("high", "medium")))
    early = Device().open(store, survey, level="high")
    assert early.state == "opened"
    assert counted(store, survey.token) == {}
    store.lifecycle.set_seats(survey, {"high": 9, "medium": 4})

    def same(**expected: int) -> None:
        assert counted(store, survey.token) == expected
        assert recounted(store, survey.token) == {k: v for k, v in expected.items() if v}

    same(high=1, medium=0)
    device = Device()
    who = store.identity(device.participant)
    reserved = device.reserve(store, survey, level="medium")
    same(high=1, medium=1)
    store.participations.abandon(who, reserved.id)
    store.participations.abandon(who, reserved.id)
    same(high=1, medium=0)
    opened = device.open(store, survey, level="high")
    same(high=2, medium=0)
    store.participations.abandon(who, opened.id)
    same(high=1, medium=0)
    sender = Device()
    sender.send(store, survey, level="medium")
    same(high=1, medium=1)
    mine = store.people.invitations(store.identity(sender.participant), after="", limit=9)[0]
    assert mine[0].participation is not None
    store.participations.withdraw(store.identity(sender.participant), mine[0].participation["id"])
    same(high=1, medium=0)
    leaver = Device()
    leaver.reserve(store, survey, level="medium")
    same(high=1, medium=1)
    store.people.leave(store.identity(leaver.participant))
    same(high=1, medium=0)
    Device().reserve(store, survey, level="medium")
    store.lifecycle.set_seats(survey, None)
    assert counted(store, survey.token) == {}
    store.lifecycle.set_seats(survey, {"high": 1, "medium": 1})
    same(high=1, medium=1)
    with store.engine.connect() as connection:
        assert wrong_counts(connection) == []
    with pytest.raises(QuotaFull):
        Device().reserve(store, survey, level="medium")
    same(high=1, medium=1)
    store.close_survey(survey.token)
    same(high=1, medium=0)


def test_reservations_that_lapse_are_counted_no_more(database_url: str) -> None:
    """What the daily sweep lets lapse frees its place, on either database."""
    today = ["2026-03-14"]
    store = Store(database_url, today=lambda: today[0])
    survey = store.open_survey(define())
    store.lifecycle.set_seats(survey, {"medium": 2})
    for _ in range(2):
        Device().reserve(store, survey)
    today[0] = "2026-03-20"
    store.sweeper.sweep()
    assert counted(store, survey.token) == {"medium": 0}
    Device().reserve(store, survey)
    store.close()


def test_quotas_are_exact_in_a_race(store: Store) -> None:
    """While people come, leave and find the quotas changed at once, no place is lost or doubled."""
    survey = store.open_survey(define())
    store.lifecycle.set_seats(survey, {"medium": 7})

    def come(leave: bool) -> bool:
        device = Device()
        begun = device.reserve(store, survey)
        if leave:
            store.participations.abandon(store.identity(device.participant), begun.id)
        return not leave

    def change() -> None:
        store.lifecycle.set_seats(survey, None)
        store.lifecycle.set_seats(survey, {"medium": 7})

    for turn in range(3):
        works: list[Callable[[], object]] = [partial(come, n % 3 == 0) for n in range(30)]
        if turn == 1:  # the only one in which more than seven may come: while there are no quotas
            works += [change, change]
        outcomes = all_at_once(*works)
        assert all(o in (True, False, None) or isinstance(o, QuotaFull) for o in outcomes)
        assert counted(store, survey.token) == recounted(store, survey.token)
        if turn == 0:
            assert counted(store, survey.token)["medium"] <= 7


def test_who_opens_nothing_is_slowed_down(database_url: str) -> None:
    """After so many reservations given up or left on a day the next is refused, uncharged."""
    today = ["2026-03-14"]
    store = Store(database_url, today=lambda: today[0], unopened_reservations=5)
    survey, *others = (store.open_survey(define(level="high", levels=("high",))) for _ in range(4))
    device = Device()
    who = store.identity(device.participant)
    for _ in range(3):
        store.participations.abandon(who, device.reserve(store, survey).id)
    for other in others[:2]:
        device.reserve(store, other)
    before = store.accounts.balance(who.person)
    with pytest.raises(TooManyReservations, match="5 surveys"):
        device.reserve(store, survey)
    assert store.accounts.balance(who.person) == before
    # Opening what waits makes room, and so does the next day.
    device.open(store, others[0])
    device.reserve(store, survey)
    with pytest.raises(TooManyReservations):
        device.reserve(store, others[2])
    today[0] = "2026-03-15"
    device.reserve(store, others[2])
    Device().reserve(store, survey)
    store.close()


def test_ledger_rows_stop_growing(sqlite_store: Store) -> None:
    """A device that begins and gives up all day long leaves a bounded number of entries."""
    survey = sqlite_store.open_survey(define())
    device = Device()
    who = sqlite_store.identity(device.participant)
    refused = 0
    for _ in range(60):
        try:
            sqlite_store.participations.abandon(who, device.reserve(sqlite_store, survey).id)
        except TooManyReservations:
            refused += 1
    assert refused == 40
    assert sqlite_store.accounts.balance(who.person).entries == 40
    with sqlite_store.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(_PARTICIPATION)).scalar() == 1


def test_a_wrong_count_is_found(store: Store) -> None:
    """Where somebody changed a count, checking finds the survey."""
    survey, other = store.open_survey(define()), store.open_survey(define())
    for one in (survey, other):
        store.lifecycle.set_seats(one, {"medium": 3})
    Device().reserve(store, survey)
    with store.engine.execution_options(write=True).begin() as connection:
        connection.execute(update(_COUNT).where(_COUNT.c.survey == survey.token).values(begun=0))
    with store.engine.connect() as connection:
        found = [one for one in survey_findings(connection) if one.status != "ok"]
    assert len(found) == 1
    assert survey.token in found[0].detail
