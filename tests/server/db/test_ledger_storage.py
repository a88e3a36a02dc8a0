"""The ledger in a database: no race spends a budget twice, and no change goes unnoticed."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from tests.server.devices import Device, all_at_once
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage
from masquerade.accounting.chain import verify_chain
from masquerade.errors import (
    AlreadyParticipated,
    BrokenChain,
    CommitmentMismatch,
    InsufficientBudget,
    MasqueradeError,
)
from masquerade.exact import Micro
from masquerade.mechanisms import parse_mechanism
from masquerade.server import Services
from masquerade.server.db.ledger_storage import LedgerDatabase, LedgerTables
from masquerade.server.db.tables import BALANCE, COST, ENTRY
from masquerade.surveys.survey import commitment_of

pytestmark = pytest.mark.both_databases

ROUNDS, THREADS = 20, 64


def test_a_race_for_the_last_budget_has_one_winner(database_url: str) -> None:
    """64 threads reserve two surveys, with a cap for one: exactly one succeeds, in every round."""
    probe = Services.open(database_url)
    definitions = [define(title=title) for title in ("One", "Other")]
    surveys = [probe.surveys.open_survey(definition) for definition in definitions]
    cost = surveys[0].survey.levels[0].cost("").pure
    probe.close()
    services = Services.open(database_url, caps=Caps(Micro(cost), Caps().delta))
    for _ in range(ROUNDS):
        secret = secrets.token_hex(16)
        who = services.identity(secret)

        def attempt(place: int, who: Any = who) -> bool:
            return services.participations.reserve(
                who, surveys[place % 2].token, "medium", idempotency_key=secrets.token_hex(16)
            )[1]

        outcomes = all_at_once(*(lambda place=n: attempt(place) for n in range(THREADS)))
        expected = (bool, InsufficientBudget)
        assert [repr(o) for o in outcomes if not isinstance(o, expected)] == []
        assert outcomes.count(True) == 1
        assert outcomes.count(False) == THREADS // 2 - 1  # the winner's survey, asked again
        balance = services.ledger.balance(who.person)
        assert (balance.entries, balance.open, balance.reserved_epsilon) == (1, 1, cost)
    assert services.ledger.verify() == ROUNDS
    services.close()


@pytest.mark.parametrize("step", ["reserve", "open", "seal", "respond"])
def test_one_step_many_times_at_once(services: Services, step: str) -> None:
    """The same step sent many times at once happens once, and everybody gets the same answer."""
    survey = services.surveys.open_survey(define())
    device, key, salt = Device(), secrets.token_hex(16), "ab" * 16
    who, steps = services.identity(device.participant), services.participations

    def reserve() -> Any:
        return steps.reserve(who, survey.token, "medium", idempotency_key=key)[0]

    begun = reserve() if step != "reserve" else None
    work: Any = reserve
    if begun is not None:
        commitment = commitment_of(begun.id, [1, 4], salt)
        work = {
            "open": lambda: steps.open(who, begun.id),
            "seal": lambda: steps.seal(who, begun.id, commitment),
            "respond": lambda: device.respond(services, begun, [1, 4], salt)[0],
        }[step]
        if step in ("seal", "respond"):
            steps.open(who, begun.id)
        if step == "respond":
            steps.seal(who, begun.id, commitment)
    outcomes = all_at_once(*[work] * 16)
    assert {(o.id, o.state) for o in outcomes} == {(outcomes[0].id, outcomes[0].state)}
    assert len(services.ledger.entries(services.identity(device.participant).person)) == (
        1 if step == "reserve" else 2
    )
    services.ledger.verify()


def test_two_draws_at_once_leave_one(services: Services) -> None:
    """Of many different draws for one participation, one is sealed and the others are refused."""
    survey = services.surveys.open_survey(define())
    device = Device()
    begun = device.open(services, survey)
    who = services.identity(device.participant)
    commitments = [commitment_of(begun.id, [n % 2, n % 5], "ab" * 16) for n in range(10)]
    outcomes = all_at_once(
        *(lambda c=c: services.participations.seal(who, begun.id, c) for c in commitments)
    )
    refused = [o for o in outcomes if isinstance(o, Exception)]
    assert len(refused) == 9
    assert all(isinstance(error, CommitmentMismatch) for error in refused)


def test_two_levels_at_once_leave_one(services: Services) -> None:
    """Of one participant's attempts at several levels at once, those of one level succeed."""
    survey = services.surveys.open_survey(define(levels=("high", "medium", "low")))
    device = Device()
    levels = [level.name for level in survey.survey.levels] * 5
    outcomes = all_at_once(
        *(lambda name=name: device.reserve(services, survey, level=name) for name in levels)
    )
    chosen = {o.level.name for o in outcomes if not isinstance(o, Exception)}
    assert len(chosen) == 1
    refused = [o for o in outcomes if isinstance(o, Exception)]
    assert len(refused) == 10
    assert all(isinstance(error, AlreadyParticipated) for error in refused)


def test_many_surveys_of_one_participant_at_once(services: Services) -> None:
    """Runs of one participant in many surveys at once are all kept, in one unbroken chain."""
    surveys = [services.surveys.open_survey(define(level="high")) for _ in range(12)]
    device = Device()
    outcomes = all_at_once(*(lambda s=s: device.send(services, s) for s in surveys))
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    entries = services.ledger.entries(services.identity(device.participant).person)
    assert verify_chain(entries) == 24
    assert {entry.charge.survey for entry in entries} == {survey.token for survey in surveys}
    assert services.ledger.verify() == 24


def test_the_tables_are_a_storage_like_the_one_in_memory(services: Services) -> None:
    """Every operation of a ledger gives the same entries, balances and errors as in memory."""
    day = ["2026-03-14"]
    memory = Ledger(MemoryStorage(), clock=lambda: day[0], caps=Caps(clear=3))
    from masquerade.server.db.ledger_storage import LedgerDatabase

    tables = Ledger(LedgerDatabase(services.transactions), clock=lambda: day[0], caps=Caps(clear=3))
    texts = (
        "randomized-response:options=2,epsilon=1.5",
        "discrete-gaussian:low=0,high=10,step=1,sigma=20",
        "two-layer:options=3,low=0,high=0.5",
        "randomized-response:options=2,flip_probability=0",
        "randomized-response:options=2,epsilon=9.9",
    )
    costs = [
        Cost.of(f"survey {n} ü\n", [parse_mechanism(text)] * 2) for n, text in enumerate(texts)
    ]
    operations: list[tuple[Any, ...]] = [
        *(("reserve", "p", f"k{n}", cost) for n, cost in enumerate(costs)),
        *(("reserve", "p", f"k{n}", cost) for n, cost in enumerate(costs)),
        ("commit", "p", "k0"),
        ("commit", "p", "k0"),
        ("release", "p", "k1"),
        ("release", "p", "k0"),
        ("reserve", "p", "k1", costs[1]),
        ("charge", "p", "k9", costs[2]),
        ("charge", "q", "k3", costs[3]),
        ("commit", "p", "k3"),
        ("lower_caps", "p", Caps(Micro(5_000_000), Caps().delta, 1)),
        ("raise_caps", "p", Caps(Micro(50_000_000), Caps().delta, 9)),
        ("lower_caps", "p", Caps(Micro(60_000_000))),
        ("reserve", "p", "k4", costs[4]),
        ("expire", "2026-03-14"),
        ("expire", "2026-03-15"),
    ]
    for name, *arguments in operations:
        outcomes = []
        for ledger in (memory, tables):
            try:
                outcomes.append(getattr(ledger, name)(*arguments))
            except MasqueradeError as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1], name
        for person in ("p", "q", "nobody"):
            assert memory.balance(person) == tables.balance(person)
            assert memory.entries(person) == tables.entries(person)
    assert memory.verify() == tables.verify() > 8
    assert memory.statistics() == tables.statistics()
    assert memory.explain("p") == tables.explain("p")


ENTRY_CHANGES: dict[str, Any] = {
    "person": "f" * 64,
    "sequence": 17,
    "kind": "release",
    "key": "e" * 64,
    "day": "2026-03-15",
    "caps": "99000000,1/1000000,0",
    "previous_hash": "0" * 64,
    "hash": "1" * 64,
}


def test_tampering_in_the_database_is_found(services: Services) -> None:
    """A change to any column of an entry, a balance or a cost, or a removal, is found."""
    surveys = [services.surveys.open_survey(define(level="high")) for _ in range(3)]
    other = services.surveys.open_survey(define(level="low"))
    columns = set(ENTRY.c.keys())
    digest = other.survey.levels[0].cost(other.token).digest
    changes = {**ENTRY_CHANGES, "cost": digest}
    assert set(changes) == columns
    for column, value in [*changes.items(), ("removed", None), ("end", None)]:
        device = Device()
        for survey in surveys:
            device.send(services, survey)
        person = services.identity(device.participant).person
        services.ledger.rebuild(person)
        sequence = 5 if column == "end" else 2
        place = (ENTRY.c.person == person) & (ENTRY.c.sequence == sequence)
        change = update(ENTRY).values({column: value}) if value else delete(ENTRY)
        with services.engine.connect() as connection:
            connection.execute(change.where(place))
            connection.commit()
        with pytest.raises(BrokenChain):
            services.ledger.verify()
        with services.engine.connect() as connection:  # the next change must be found by itself
            for table in (ENTRY, BALANCE):
                connection.execute(delete(table))
            connection.commit()
        assert services.ledger.verify() == 0


@pytest.mark.parametrize("column", [c.key for c in BALANCE.c if c.key != "person"])
def test_tampering_with_a_balance_is_found(sqlite_services: Services, column: str) -> None:
    """A balance that differs from the sum of its entries is found, for each wrong number."""
    device = Device()
    device.send(sqlite_services, sqlite_services.surveys.open_survey(define()))
    values: dict[str, Any] = {"caps": "99000000,1/1000000,0", "head": "2" * 64}
    with sqlite_services.engine.connect() as connection:
        connection.execute(update(BALANCE).values({column: values.get(column, 77)}))
        connection.commit()
    with pytest.raises(BrokenChain):
        sqlite_services.ledger.verify()


def test_tampering_with_a_cost_is_found(services: Services) -> None:
    """A cost that is made smaller after it was charged is found, in every amount of it."""
    device = Device()
    device.send(services, services.surveys.open_survey(define()))
    with services.engine.connect() as connection:
        found = connection.execute(select(COST.c.digest, COST.c.amounts)).all()
        used = connection.scalars(select(ENTRY.c.cost)).first()
        amounts = next(row.amounts for row in found if row.digest == used)
    changes: list[dict[str, Any]] = [
        {"survey": "0" * 16},
        {"mechanisms": ["randomized-response:options=2,flip_probability=0.5"]},
        *({"amounts": {**amounts, name: 1}} for name in ("event", "pure", "clock")),
        {"amounts": {**amounts, "orders": [1] * 17}},
    ]
    for change in changes:
        with services.engine.connect() as connection:
            kept = connection.execute(
                select(COST.c.survey, COST.c.mechanisms, COST.c.amounts).where(
                    COST.c.digest == used
                )
            ).one()
        # A transaction of its own: one that has read before cannot write once another wrote.
        with services.engine.connect() as connection:
            connection.execute(update(COST).where(COST.c.digest == used).values(**change))
            connection.commit()
        with pytest.raises(BrokenChain):
            services.ledger.verify()
        with services.engine.connect() as connection:
            restored = dict(kept._mapping)
            connection.execute(update(COST).where(COST.c.digest == used).values(**restored))
            connection.commit()
        assert services.ledger.verify() == 2


def test_a_balance_is_never_written_over(services: Services) -> None:
    """A second entry at one place of a chain is impossible in the table itself."""
    device = Device()
    device.reserve(services, services.surveys.open_survey(define()))
    with services.engine.connect() as connection:
        [row] = connection.execute(select(ENTRY)).all()
    twice = dict(row._mapping)
    for change in ({}, {"sequence": 1}):
        with services.engine.connect() as connection, pytest.raises(Exception, match=r"(?i)unique"):
            connection.execute(insert(ENTRY), {**twice, **change})


def test_without_its_lock_an_account_is_not_overspent_either(services: Services) -> None:
    """A change between check and entry makes the entry fail, and it leaves nothing behind."""
    ledger = Ledger(LedgerDatabase(services.transactions), clock=lambda: "2026-03-14")
    cost = Cost.of("S", [parse_mechanism("randomized-response:options=2,epsilon=1")])
    ledger.reserve("p", "first", cost)

    def work(connection: Connection, step: str) -> None:
        mine, other = LedgerTables(connection), LedgerTables(connection)
        mine.hold("p")  # as it was before the other one's entry
        Ledger(other, clock=lambda: "2026-03-14").reserve("p", "between", cost)
        if step == "entry gone":  # even if the key of the table did not refuse the same place
            connection.execute(delete(ENTRY).where(ENTRY.c.key == "between"))
        Ledger(mine, clock=lambda: "2026-03-14").reserve("p", "second", cost)

    before = ledger.entries("p")
    for step, refused in (("as it is", IntegrityError), ("entry gone", BrokenChain)):
        with pytest.raises(refused):
            services.transactions.write(partial(work, step=step))
        assert ledger.entries("p") == before
        assert ledger.verify() == 1


def test_a_cost_is_remembered_once_its_row_is_kept(services: Services) -> None:
    """A cost with an insertion taken back is inserted again, for all that saw it meanwhile."""
    cost = Cost.of("S", [parse_mechanism("randomized-response:options=2,epsilon=1")])
    found = select(COST.c.digest).where(COST.c.digest == cost.digest)
    with services.engine.connect() as connection:
        transaction = connection.begin()
        for _ in range(3):  # changes in one transaction, as SQLite's writer puts them together
            LedgerTables(connection).keep_cost(cost)
        transaction.rollback()
        with connection.begin():
            LedgerTables(connection).keep_cost(cost)
        assert connection.scalars(found).all() == [cost.digest]


def test_amounts_come_back_exactly(services: Services) -> None:
    """Amounts are the same whole numbers of millionths, and infinite ones stay infinite."""
    for masking, level in (("per-answer", "low"), ("per-person", "high")):
        survey = services.surveys.open_survey(define(level=level, masking=masking))
        device = Device()
        device.send(services, survey)
        charge = services.ledger.entries(services.identity(device.participant).person)[0].charge
        assert charge.cost == survey.survey.levels[0].cost(survey.token)
        assert type(charge.user.micro) is int
