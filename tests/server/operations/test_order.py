"""What lies on the disk after a rewriting is a function of the rows, not of their arrival."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from sqlalchemy import Connection, create_engine, text, update
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import Device, everything
from tests.server.operations.page_layout import arrival, chance, joined
from tests.surveys.small_surveys import define

from masquerade.server import Store
from masquerade.server.db import sqlite_order
from masquerade.server.db.postgresql_order import PostgresqlOrder
from masquerade.server.db.sqlite_order import LARGE, SqliteOrder
from masquerade.server.db.tables import ParticipationRow, table_of
from masquerade.server.payments.rewards import Reward

if TYPE_CHECKING:
    from tests.conftest import LiveServers

    from masquerade.server.surveys.frozen_surveys import SurveyRecord

_PARTICIPATION = table_of(ParticipationRow)
COUNTERS = (range(24, 28), range(40, 44), range(92, 96))
"""Where the header of an SQLite file counts changes and rewritings, of which order is no part."""


class Draws:
    """Replaces drawn names by ones that depend on whose turn it is alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._who, self._count = "", 0
        monkeypatch.setattr(secrets, "token_hex", self.token_hex)

    def turn(self, who: str) -> None:
        """Begin somebody's turn."""
        self._who, self._count = who, 0

    def token_hex(self, length: int = 32) -> str:
        """Return the next name of whose turn it is."""
        self._count += 1
        return hashlib.sha256(f"{self._who} {self._count}".encode()).hexdigest()[: 2 * length]


class Crowd:
    """People whose secrets, drawn names and reports are the same in whatever order they come."""

    def __init__(self, draws: Draws, *, day: str = "2026-03-14") -> None:
        self.draws, self.day = draws, day

    def open(self, url: str, **settings: Any) -> Store:
        """Open a store that is rewritten only when asked."""
        return Store(url, today=lambda: self.day, rewrites=False, **settings)

    def empty(self, url: str) -> SurveyRecord:
        """Make a database with a survey that gives codes."""
        self.draws.turn("the server")
        store = self.open(url)
        survey = store.open_survey(define(), reward=Reward("codes", "", {}))
        store.identity("0" * 32)
        store.close()
        return survey

    def secret(self, number: int) -> str:
        """Return the secret of somebody's device."""
        return hashlib.sha256(f"person {number}".encode()).hexdigest()[:32]

    def come(
        self,
        store: Store,
        survey: SurveyRecord,
        number: int,
        *,
        long: bool = False,
        leaves: bool = False,
    ) -> None:
        """Take part: in all steps, with long reports, or with a withdrawal at the end."""
        self.draws.turn(f"person {number}")
        device = Device(self.secret(number))
        device.send(store, survey, [number % 2, number % 5])
        who = store.identity(device.participant)
        [begun], _ = store.people.invitations(who, after="", limit=9)
        assert begun.participation is not None
        mine = begun.participation["id"]
        if long:  # what does not fit into a page lies on others
            reports = [(number * i) % 5 for i in range(250 * (number % 11))]
            change = update(_PARTICIPATION).where(_PARTICIPATION.c.id == mine)
            store.desk.transactions.write(lambda c: c.execute(change.values(reports=reports)))
        if leaves:
            store.participations.withdraw(who, mine)


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """Return people who are the same in each order."""
    return Crowd(Draws(monkeypatch))


def orders(people: int, count: int) -> list[list[int]]:
    """Return fixed orders in which people come."""
    rng = np.random.default_rng(20261122)
    return [rng.permutation(people).tolist() for _ in range(count)]


def differing(one: bytes, other: bytes) -> list[int]:
    """Return the places at which two files differ."""
    assert len(one) == len(other)
    a, b = (np.frombuffer(content, dtype=np.uint8) for content in (one, other))
    return np.flatnonzero(a != b).tolist()


@pytest.mark.parametrize(
    ("people", "long", "leaving"),
    [
        (12, False, 0),
        (50, False, 0),
        (50, True, 10),
        pytest.param(300, False, 30, marks=[pytest.mark.slow, pytest.mark.exhaustive]),
    ],
)
def test_a_rewritten_file_is_the_same_whatever_the_order_of_arrival(
    crowd: Crowd, tmp_path: Path, people: int, long: bool, leaving: int
) -> None:
    """Three orders of arrival give one file, byte for byte, its header included."""
    base = tmp_path / "base.sqlite3"
    survey = crowd.empty(f"sqlite:///{base}")
    before, after = [], []
    for number, order in enumerate(orders(people, 3)):
        file = Path(shutil.copy(base, tmp_path / f"{number}.sqlite3"))
        store = crowd.open(f"sqlite:///{file}")
        for person in order:
            crowd.come(store, survey, person, long=long, leaves=person < leaving)
        with closing(sqlite3.connect(file)) as reader:
            reader.execute("PRAGMA wal_checkpoint(PASSIVE)")
        before.append(file.read_bytes())
        assert store.rewrite()
        store.close()
        after.append(file.read_bytes())
        assert not file.with_name(f"{file.name}-wal").exists()
    assert len(set(before)) == 3
    assert len(set(after)) == 1


def test_how_often_a_file_was_rewritten_changes_its_counters_alone(
    crowd: Crowd, tmp_path: Path
) -> None:
    """A file that was rewritten all along differs from one rewritten once in three counters."""
    base = tmp_path / "base.sqlite3"
    survey = crowd.empty(f"sqlite:///{base}")
    contents = []
    for number, order in enumerate(orders(20, 2)):
        file = Path(shutil.copy(base, tmp_path / f"{number}.sqlite3"))
        store = crowd.open(f"sqlite:///{file}")
        for place, person in enumerate(order):
            crowd.come(store, survey, person)
            if number and place % 3 == 0:
                assert store.rewrite()
        assert store.rewrite()
        store.close()
        contents.append(file.read_bytes())
    found = differing(*contents)
    assert found
    assert all(any(place in counter for counter in COUNTERS) for place in found)


def linked(
    crowd: Crowd, file: Path, order: Sequence[int], *, rewritten: bool, salt: int
) -> tuple[int, list[float]]:
    """Attack the file that people left who came in an order.

    Returns
    -------
    int, list of float
        How many participations were joined with their account of the ledger, and of each how many
        of the other accounts seemed likelier, as a share: a half by chance.
    """
    survey = crowd.empty(f"sqlite:///{file}")
    store = crowd.open(f"sqlite:///{file}")
    secrets_ = [crowd.secret(1000 * salt + person) for person in order]
    for person in order:
        crowd.come(store, survey, 1000 * salt + person)
    with store.engine.connect() as connection:
        key = connection.execute(text("SELECT pseudonym_key FROM survey")).scalar_one()
        rows = connection.execute(text("SELECT id, pseudonym, idempotency FROM participation"))
        participations = [tuple(row) for row in rows]
    truth = {i.pseudonym(key): i.person for i in map(store.identity, secrets_)}
    if rewritten:
        assert store.rewrite()
    store.close()
    names = {name: row[0] for row in participations for name in row}
    came = arrival(file, names | {person: person for person in truth.values()})
    ours = {row[0]: came[row[0]] for row in participations}
    theirs = {person: came[person] for person in truth.values()}
    right = {row[0]: truth[row[1]] for row in participations}
    found = joined(ours, theirs)
    likelier = []
    for row, (moment, _) in ours.items():
        distances = {person: abs(moment - when) for person, (when, _) in theirs.items()}
        mine = distances.pop(right[row])
        closer = sum(1.0 if d < mine else 0.5 if d == mine else 0.0 for d in distances.values())
        likelier.append(closer / len(distances))
    return sum(found[row] == right[row] for row in ours), likelier


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "files"),
    [(8, 8), (12, 6), (24, 8), pytest.param(50, 16, marks=pytest.mark.exhaustive)],
)
def test_audit_an_attack_on_a_stolen_file_is_at_chance_after_a_rewriting(
    crowd: Crowd, tmp_path: Path, people: int, files: int
) -> None:
    """Places in pages join participations and accounts before a rewriting, and not after it.

    Names are fixed, so the outcome is too. As a test of chance: n = 64 to 800 people; before it
    must be below 1e-6, after it above 1e-3, whose false-alarm rate counts only when names change.
    """
    outcome = {}
    for rewritten in (False, True):
        links = 0
        likelier: list[float] = []
        for number, order in enumerate(orders(people, files)):
            file = tmp_path / f"{number}-{rewritten}.sqlite3"
            found, shares = linked(crowd, file, order, rewritten=rewritten, salt=number)
            links, likelier = links + found, [*likelier, *shares]
        # A share is spread evenly between 0 and 1 by chance: variance 1/12.
        deviations = (0.5 - float(np.mean(likelier))) * (12 * len(likelier)) ** 0.5
        outcome[rewritten] = (chance(links, [people] * files), deviations)
    if people < 50:
        assert outcome[False][0] < 1e-6
    assert outcome[False][1] > 4.8  # one-sided 1e-6
    assert outcome[True][0] > 1e-3
    assert abs(outcome[True][1]) < 3.1  # 1e-3


def test_a_commit_is_followed_by_a_rewriting_by_itself(crowd: Crowd, tmp_path: Path) -> None:
    """A server that nobody asks to leaves the same file and an empty log soon after a change."""
    file = tmp_path / "a.sqlite3"
    survey = crowd.empty(f"sqlite:///{file}")
    copy = Path(shutil.copy(file, tmp_path / "b.sqlite3"))
    store = Store(f"sqlite:///{file}", today=lambda: crowd.day)
    for person in range(12):
        crowd.come(store, survey, person)
    log = file.with_name(f"{file.name}-wal")
    wait_until("the log is not emptied", lambda: log.stat().st_size == 0)
    content = file.read_bytes()
    asked = crowd.open(f"sqlite:///{copy}")
    for person in reversed(range(12)):
        crowd.come(asked, survey, person)
    assert asked.rewrite()
    asked.close()
    found = differing(content, copy.read_bytes())
    assert all(any(place in counter for counter in COUNTERS) for place in found)
    store.close()


@pytest.mark.parametrize("event", ["close a survey", "sweep", "stop", "start"])
def test_a_file_is_rewritten_at_each_event(crowd: Crowd, tmp_path: Path, event: str) -> None:
    """Closing a survey, the daily sweep, the end and the beginning of a server rewrite the file."""
    file = tmp_path / "a.sqlite3"
    survey = crowd.empty(f"sqlite:///{file}")
    store = Store(f"sqlite:///{file}", today=lambda: crowd.day, rewrites=event == "stop")
    for person in range(12):
        crowd.come(store, survey, person)
    if event == "close a survey":
        store.close_survey(survey.token)
    elif event == "sweep":
        store.sweeper.sweep()
    store.close()
    if event == "start":
        assert not in_key_order(file)
        store = Store(f"sqlite:///{file}", today=lambda: crowd.day)
        assert store.rewrite()
        store.close()
    assert in_key_order(file)


def in_key_order(file: Path) -> bool:
    """Return whether a file that nobody has open is as a rewriting would leave it."""
    again = Path(shutil.copy(file, f"{file}.again"))
    with closing(sqlite3.connect(again, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("VACUUM")
    one, other = file.read_bytes(), again.read_bytes()
    return len(one) == len(other) and all(
        any(place in counter for counter in COUNTERS) for place in differing(one, other)
    )


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def plain(file: Path) -> sqlite3.Connection:
    """Open a connection of somebody else."""
    return sqlite3.connect(file, isolation_level=None, timeout=PATIENCE_SECONDS)


@pytest.fixture
def ordered(tmp_path: Path) -> Any:
    """Return a file with rows in the order of arrival, its order, a clock, and another's write."""
    file = tmp_path / "a.sqlite3"
    engine = create_engine(f"sqlite:///{file}")
    open_all_along = plain(file)  # else the log ends with whoever wrote
    open_all_along.execute("PRAGMA journal_mode=WAL")
    open_all_along.execute("CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID")
    clock = Clock()

    def write(*keys: str) -> None:
        with closing(plain(file)) as connection:
            for key in keys:
                connection.execute("INSERT INTO t VALUES (?, 'x')", (key,))

    yield file, partial(SqliteOrder, engine, clock=clock), clock, write
    open_all_along.close()
    engine.dispose()


def test_a_reader_delays_a_rewriting_and_does_not_prevent_it(
    ordered: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """While somebody reads the log stays, which is told after a minute; later tries succeed."""
    file, order_of, clock, write = ordered
    order, log = order_of(), Path(f"{file}-wal")
    reader = plain(file)
    write("c", "a")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM t").fetchall()
    write("b")
    order.changed()
    assert not order.attempt()
    size = log.stat().st_size
    assert size > 0
    assert order.seconds() == sqlite_order.LOOK_SECONDS
    for _ in range(4):
        clock.now += 20.0
        assert not order.attempt()
    assert log.stat().st_size == size, "tries must not make the log longer"
    assert "somebody reads" in order.overdue()
    [line] = caplog.records
    assert line.getMessage() == "the database is not rewritten"
    reader.execute("COMMIT")
    clock.now += 1.0
    assert order.attempt()
    assert log.stat().st_size == 0
    assert order.overdue() is None
    assert len(caplog.records) == 2
    reader.close()
    assert in_key_order(file)


def test_what_another_process_wrote_is_rewritten_too(ordered: Any) -> None:
    """The one process that rewrites looks once a second whether others have written."""
    file, order_of, clock, write = ordered
    order = order_of()
    assert order.attempt()
    clock.now += 1.0
    assert order.attempt()
    write("c", "a", "b")
    assert order.seconds() == 0.0
    assert order.attempt()
    assert Path(f"{file}-wal").stat().st_size == 0


def test_of_several_processes_one_rewrites_unless_asked(ordered: Any) -> None:
    """A process that does not rewrite by itself waits for ever, and does it when asked."""
    file, order_of, _, write = ordered
    order = order_of(by_itself=False)
    write("c", "a", "b")
    order.changed()
    assert order.seconds() is None
    assert order.attempt()
    assert Path(f"{file}-wal").stat().st_size > 0
    order.ask()
    assert order.seconds() == 0.0
    assert order.attempt()
    assert Path(f"{file}-wal").stat().st_size == 0
    assert order.seconds() is None


def test_rewritings_take_a_fifth_of_the_time_at_most(
    ordered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a rewriting that took long the next one waits four times as long."""
    _, order_of, clock, _ = ordered
    order = order_of()

    def slow(_self: SqliteOrder, *, whole: bool) -> str:
        clock.now += 0.1
        return ""

    monkeypatch.setattr(SqliteOrder, "_rewrite", slow)
    order.changed()
    order.attempt()
    order.changed()
    assert order.seconds() == pytest.approx(0.5)


def test_a_large_file_is_rewritten_on_request_and_its_log_emptied_always(
    ordered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond 200 MB only the log is emptied soon; rows wait for a sweep or the end of a survey."""
    file, order_of, clock, write = ordered
    order = order_of()
    assert order.attempt()
    real, huge = SqliteOrder._bytes, LARGE + 1
    monkeypatch.setattr(
        SqliteOrder, "_bytes", staticmethod(lambda f: huge if f == file else real(f))
    )
    write(*(f"{number * 7919 % 1000:04}" for number in range(1000)))
    clock.now += 10.0
    order.changed()
    assert order.attempt()
    assert Path(f"{file}-wal").stat().st_size == 0
    content = file.read_bytes()
    order.ask()
    clock.now += 10.0
    assert order.attempt()
    assert file.read_bytes() != content


def test_without_room_nothing_is_rewritten_and_it_is_told(
    ordered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk has less than twice the file free, that is the reason that is given."""
    _, order_of, clock, _ = ordered
    order = order_of()
    usage = shutil.disk_usage("/")._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    order.changed()
    for _ in range(70):
        assert not order.attempt()
        clock.now += 1.0
    assert "bytes of free disk and there are 10" in order.overdue()


KILLED = """
import os, sys, threading
from masquerade.server import Store
from masquerade.server.db import sqlite_order

store = Store(sys.argv[1], rewrites=False)
threading.Timer(float(sys.argv[2]), lambda: os.kill(os.getpid(), 9)).start()
print("ready", flush=True)
while True:
    store.rewrite()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX's")
def test_killed_while_rewriting(crowd: Crowd, tmp_path: Path) -> None:
    """``kill -9`` in the middle of rewritings leaves a whole file with all rows."""
    file = tmp_path / "a.sqlite3"
    survey = crowd.empty(f"sqlite:///{file}")
    store = crowd.open(f"sqlite:///{file}")
    for person in range(60):
        crowd.come(store, survey, person, long=True)
    rows = everything(store)
    store.close()
    for number in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, f"sqlite:///{file}", str(0.05 + 0.013 * number)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.wait(PATIENCE_SECONDS) == -9
        with closing(plain(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = Store(f"sqlite:///{file}", today=lambda: crowd.day)
    assert store.rewrite()
    assert everything(store) == rows
    store.close()
    assert in_key_order(file)


@pytest.mark.postgres
def test_rewritten_tables_of_postgresql_tell_no_order(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """After a rewriting all rows name one transaction and lie by their keys."""
    name = "order_of_rows"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    store = crowd.open(url)
    for person in orders(50, 1)[0]:
        crowd.come(store, survey, person, long=True, leaves=person % 7 == 0)
    keys = {"participation": "id", "ledger_entry": "person, sequence", "ledger_balance": "person"}

    def column(table: str, what: str, by: str) -> list[Any]:
        query = text(f"SELECT {what} FROM {table} ORDER BY {by}")
        with store.engine.connect() as connection:
            return list(connection.scalars(query))

    for table, key in keys.items():
        assert len(set(column(table, "xmin::text", key))) > 40
        assert column(table, "ctid", key) != column(table, "ctid", "ctid")
    assert store.rewrite()
    seen = {xmin for table in keys for xmin in column(table, "xmin::text", keys[table])}
    assert len(seen) == 1
    for table, key in keys.items():
        assert column(table, "ctid", key) == column(table, "ctid", "ctid")
    store.close()


@pytest.mark.postgres
def test_long_values_of_postgresql_tell_no_order(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """Reports that lie apart from their rows are numbered by key after a rewriting."""
    name = "order_of_long_values"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    store = crowd.open(url)
    rng, order = np.random.default_rng(1), orders(30, 1)[0]
    for person in order:
        crowd.come(store, survey, person)
        reports = rng.integers(10**8, 10**9, 600).tolist()  # too varied to be made shorter
        [newest] = [r.pseudonym for r in store.responses(survey.token) if len(r.reports) == 2]
        change = update(_PARTICIPATION).where(_PARTICIPATION.c.pseudonym == newest)
        lengthened = change.values(reports=reports)
        store.desk.transactions.write(partial(Connection.execute, statement=lengthened))
    before = store.responses(survey.token)

    def numbers() -> list[int]:
        """Return the numbers of long values in the order of the rows' keys."""
        with store.engine.connect() as connection:
            apart = connection.execute(
                text("SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = "
                     "'participation'::regclass")
            ).scalar_one()  # fmt: skip
            rows = connection.execute(
                text(f"SELECT chunk_id, chunk_data FROM {apart} WHERE chunk_seq = 0")
            ).all()
        found = {bytes(data)[:30].decode(): int(number) for number, data in rows}
        return [found[str(list(r.reports)).replace(" ", "")[:30]] for r in before]

    assert numbers() != sorted(numbers())
    assert store.rewrite()
    assert numbers() == sorted(numbers())
    assert store.responses(survey.token) == before
    store.close()


def test_no_rows_lie_in_temporary_files(sqlite_store: Store) -> None:
    """Every connection sorts in memory, and after a rewriting still does."""

    def places() -> set[int]:
        connections = [sqlite_store.engine.connect() for _ in range(3)]
        found = {c.exec_driver_sql("PRAGMA temp_store").scalar_one() for c in connections}
        for connection in connections:
            connection.close()
        return found

    assert places() == {2}  # memory
    assert sqlite_store.rewrite()
    assert places() == {2}


def test_the_copy_of_a_large_file_lies_beside_it(tmp_path: Path) -> None:
    """Above 200 MB a rewriting takes no memory for the file, and no room in another folder."""
    asked: list[str] = []

    class Raw:
        def execute(self, statement: str) -> None:
            asked.append(statement)

    with sqlite_order._room(Raw(), tmp_path, LARGE + 1):
        assert asked == [
            f"PRAGMA temp_store_directory='{tmp_path.resolve()}'",
            "PRAGMA temp_store=FILE",
        ]
    assert asked[-1] == "PRAGMA temp_store=MEMORY"


def test_readyz_tells_what_is_overdue(
    live_server: LiveServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose rows cannot be rewritten is ready all the same, and warns."""
    server = live_server()
    said = httpx.get(f"{server.url}/readyz", trust_env=False).json()
    assert set(said) == {"status", "version"}
    monkeypatch.setattr(SqliteOrder, "overdue", lambda _self: "rows have lain there for long")
    answer = httpx.get(f"{server.url}/readyz", trust_env=False)
    assert answer.status_code == 200
    assert answer.json()["warnings"] == ["rows have lain there for long"]


def test_a_rewriting_without_a_free_connection_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever goes wrong with one rewriting, `overdue` tells of it, and the next is made."""
    now = [0.0]
    outcomes: list[Exception | str] = [PoolTimeout("all connections are in use"), ""]

    def rewrite(_engine: object) -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr("masquerade.server.db.postgresql_order.rewrite_tables", rewrite)
    order = PostgresqlOrder(create_engine("sqlite://"), clock=lambda: now[0])
    assert not order.rewrite().result(PATIENCE_SECONDS)
    now[0] = 3600.0
    assert "TimeoutError" in (order.overdue() or "")
    assert order.rewrite().result(PATIENCE_SECONDS)
    assert order.overdue() is None
    order.close()


@pytest.mark.postgres
def test_whoever_reads_in_postgresql_keeps_seeing_all_rows(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """A rewriting beside an older reading is not called whole, takes nothing from it, and is later.

    What the reading may still look at stays in the files, with the transactions that wrote it.
    """
    name = "order_beside_a_reader"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    store = crowd.open(url)
    for person in range(8):
        crowd.come(store, survey, person)
    reading = store.engine.execution_options(isolation_level="REPEATABLE READ")
    with reading.connect() as reader, reader.begin():
        # From here on it sees one moment, and holds no lock of the tables.
        reader.execute(text("SELECT 1 FROM survey")).all()
        assert not store.rewrite(patience=PATIENCE_SECONDS)
        assert reader.execute(text("SELECT count(*) FROM participation")).scalar() == 8
        assert reader.execute(text("SELECT count(*) FROM ledger_entry")).scalar() == 16
    assert store.rewrite(patience=PATIENCE_SECONDS)
    store.close()


@pytest.mark.postgres
def test_the_log_of_postgresql_is_let_go(
    crowd: Crowd, postgres_server: Any, migrated_template: str, request: pytest.FixtureRequest
) -> None:
    """After a rewriting no id stands in PostgreSQL's own log, where rights and settings allow."""
    name = "order_in_the_log"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_template}")
    request.addfinalizer(lambda: postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)"))
    url = postgres_server.url(name)
    survey = crowd.empty(url)
    store = crowd.open(url)
    for person in range(12):
        crowd.come(store, survey, person)
    with store.engine.connect() as connection:
        folder = Path(connection.execute(text("SHOW data_directory")).scalar_one()) / "pg_wal"
        ids = list(connection.scalars(text("SELECT id FROM participation")))
    if not os.access(folder, os.R_OK | os.X_OK):
        pytest.skip("only the account of PostgreSQL sees its log")

    def told() -> int:
        log = b"".join(part.read_bytes() for part in folder.glob("0*"))
        return sum(one.encode() in log for one in ids)

    assert told() == 12
    assert store.rewrite(patience=PATIENCE_SECONDS)
    assert told() == 0
    store.close()
