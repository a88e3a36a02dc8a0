"""The time of a file's rewriting, and the reasons to delay it."""

from __future__ import annotations

import shutil
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import create_engine
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tests.patience import PATIENCE_SECONDS
from tests.server.operations.crowds import (
    in_key_order,
    plain,
)

from masquerade.server import Services
from masquerade.server.db import sqlite_order
from masquerade.server.db.postgresql_order import PostgresqlOrder
from masquerade.server.db.sqlite_order import LARGE, SqliteOrder

if TYPE_CHECKING:
    from tests.conftest import LiveServers


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


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


def test_rewritings_take_a_twentieth_of_the_time_at_most(
    ordered: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a rewriting that took long the next one waits twenty times as long."""
    _, order_of, clock, _ = ordered
    order = order_of()

    def slow(_self: SqliteOrder, *, whole: bool) -> str:
        clock.now += 0.1
        return ""

    monkeypatch.setattr(SqliteOrder, "_rewrite", slow)
    order.changed()
    order.attempt()
    order.changed()
    assert order.seconds() == pytest.approx(2.0)


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


def test_no_rows_lie_in_temporary_files(sqlite_services: Services) -> None:
    """Every connection sorts in memory, and after a rewriting still does."""

    def places() -> set[int]:
        connections = [sqlite_services.engine.connect() for _ in range(3)]
        found = {c.exec_driver_sql("PRAGMA temp_store").scalar_one() for c in connections}
        for connection in connections:
            connection.close()
        return found

    assert places() == {2}  # memory
    assert sqlite_services.transactions.rewrite(patience=PATIENCE_SECONDS)
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
    """A server with rows that cannot be rewritten is ready all the same, and warns."""
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
    """For every failure of one rewriting, `overdue` tells of it, and the next is made."""
    now = [0.0]
    outcomes: list[Exception | str] = [PoolTimeout("all connections are in use"), ""]

    def rewrite(_engine: object, _survey: str | None) -> str:
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
