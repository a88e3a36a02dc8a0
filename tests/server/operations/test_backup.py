"""A backup holds one moment, and comes back exactly or not at all."""

from __future__ import annotations

import gzip
import io
import json
import secrets
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, inspect, text
from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define

from masquerade.errors import BrokenBackup, BrokenChain, NotEmpty, OperationError, WrongSchema
from masquerade.server import Services
from masquerade.server.db.engine import connect, revisions
from masquerade.server.operations.backup import backup, new_file
from masquerade.server.operations.restore import restore

if TYPE_CHECKING:
    from tests.server.operations.conftest import NewDatabase

pytestmark = pytest.mark.both_databases

THREADS, BEFORE, MEANWHILE = 6, 24, 12
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


def copy_of(services: Services) -> io.BytesIO:
    """Return a backup of a store."""
    file = io.BytesIO()
    backup(services.engine, file, server_key=None)
    file.seek(0)
    return file


def furnished(url: str, people: int = 4) -> Services:
    """Return a store with a survey, some responses, and a text that is easily spoilt."""
    services = Services.open(url, today=lambda: "2026-03-14")
    survey = services.surveys.open_survey(
        define(title="Wörk \u2028 “at” 你好 \\ \n\x01", levels=("high", "low"))
    )
    for number in range(people):
        Device().send(services, survey, [number % 2, number % 5], level=("high", "low")[number % 2])
    Device().reserve(services, survey)
    return services


def lines_of(file: io.BytesIO) -> list[Any]:
    """Return the content of a backup."""
    return [json.loads(line) for line in gzip.decompress(file.getvalue()).splitlines()]


def packed(lines: list[Any]) -> io.BytesIO:
    """Return a file of given content."""
    return io.BytesIO(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


def parsed(tables: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows with JSON as values; PostgreSQL gives it so, SQLite as its text."""

    def value(one: Any) -> Any:
        return json.loads(one) if isinstance(one, str) and one[:1] in ("[", "{") else one

    return {
        name: sorted((tuple(map(value, row)) for row in rows), key=repr)
        for name, rows in tables.items()
    }


@pytest.mark.parametrize("target", KINDS)
def test_every_row_comes_back(database_url: str, new_database: NewDatabase, target: str) -> None:
    """A restored database has every row of every table, on the same kind of database or another."""
    services = furnished(database_url)
    url = new_database(target)
    done = restore(copy_of(services), url, server_key=None)
    assert done.revision == list(revisions())[-1]
    assert done.entries == 4 * 2 + 1
    again = Services.open(url, today=lambda: "2026-03-14")
    # How JSON is written is the database's own matter; nothing else may differ.
    assert parsed(everything(services)) == parsed(everything(again))
    assert again.values.secret("person_key") == services.values.secret("person_key")
    Device().send(again, again.surveys.records()[0], [1, 4], level="low")
    services.close()
    again.close()


def test_a_backup_during_load(database_url: str, new_database: NewDatabase) -> None:
    """While threads write, a backup has all acknowledged before it began, and one moment only."""
    services = Services.open(database_url)
    survey = services.surveys.open_survey(define(levels=("high", "medium", "low")))
    lock, enough, end = threading.Lock(), threading.Event(), threading.Event()
    sent: list[tuple[str, int]] = []  # participants with their acknowledged response

    def load() -> None:
        while not end.is_set():
            device = Device()
            answer = secrets.randbelow(5)
            Device.send(device, services, survey, [answer % 2, answer])
            with lock:
                sent.append((device.participant, answer))
                if len(sent) >= BEFORE:
                    enough.set()

    threads = [threading.Thread(target=load) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    with lock:
        acknowledged = list(sent)
    first = copy_of(services)
    target = len(sent) + MEANWHILE
    while len(sent) < target:
        enough.wait(0.01)
    second = copy_of(services)
    end.set()
    for thread in threads:
        thread.join(60)
    for file, least in ((first, acknowledged), (second, sent[:target])):
        url = new_database("sqlite")
        # Verifies every chain, and every balance against its chain.
        done = restore(file, url, server_key=None)
        again = Services.open(url)
        kept = {row.pseudonym: row.reports for row in again.reports.of_survey(survey.token)}
        for participant, answer in least:
            who = again.identity(participant)
            key = again.surveys.frozen(survey.token)[0].pseudonym_key
            assert kept[who.pseudonym(key)] == (answer % 2, answer)
            kinds = [
                entry.charge.kind
                for entry in again.ledger.entries(again.identity(participant).person)
            ]
            assert kinds == ["reserve", "commit"]
        assert done.entries == again.ledger.verify() >= 2 * len(kept)
        for person in again.profiles.persons():
            assert again.ledger.rebuild(person) == again.ledger.balance(person)
        # No response is there without its charge: at most one a thread is on its way.
        assert len(kept) <= len(again.profiles.persons()) <= len(kept) + THREADS
        again.close()
    assert len(services.reports.of_survey(survey.token)) == len(sent)
    services.close()


def test_a_backup_lets_the_log_be_emptied(sqlite_services: Services) -> None:
    """While it is written, people take part and SQLite's log stays short; no copy is left."""
    survey = sqlite_services.surveys.open_survey(define())
    for _ in range(3):
        Device().send(sqlite_services, survey)
    database = Path(str(sqlite_services.engine.url.database))
    busy: list[int] = []

    class Slow(io.BytesIO):
        def write(self, content: Any) -> int:
            if len(busy) < 3:
                Device().send(sqlite_services, survey)
                with closing(sqlite3.connect(database)) as other:
                    busy.append(other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            return super().write(content)

    file = Slow()
    copied = backup(sqlite_services.engine, file, server_key=None)
    assert busy == [0] * 3
    # Of the moment at which it began.
    assert copied.rows["participation"] == 3
    assert not list(database.parent.glob(".backup-*"))


def test_a_backup_does_not_tell_the_order_of_arrival(services: Services) -> None:
    """Rows are in the order of their random keys, so the same data give the same bytes."""
    survey = services.surveys.open_survey(define())
    for _ in range(12):
        Device().send(services, survey)
    file = copy_of(services)
    lines = lines_of(file)
    for name, columns in lines[0]["tables"].items():
        key = 1 if columns[0][0] in ("id", "person", "token", "key", "digest") else None
        values = [line[key] for line in lines[1:-1] if key and line[0] == name]
        assert values == sorted(values)
    assert copy_of(services).getvalue() == file.getvalue()


def test_all_columns_have_a_form(sqlite_services: Services) -> None:
    """Every column of every table has a kind that backups know; JSON stays as it is written."""
    sqlite_services.surveys.open_survey(define())
    with sqlite_services.engine.begin() as connection:
        connection.exec_driver_sql("""UPDATE survey SET definition = '{"b" : 1.0, "a":1e2}'""")
    url = f"{sqlite_services.engine.url}-copy"
    restore(copy_of(sqlite_services), url, server_key=None)
    engine = connect(url)
    with engine.connect() as connection:
        kept = connection.execute(text("SELECT definition FROM survey")).scalar()
    engine.dispose()
    assert kept == '{"b" : 1.0, "a":1e2}'


def test_only_an_empty_database_is_filled(
    empty_database_url: str, sqlite_services: Services
) -> None:
    """A database with tables is refused and keeps its rows."""
    there = furnished(empty_database_url)
    before = everything(there)
    with pytest.raises(NotEmpty, match="not empty"):
        restore(copy_of(sqlite_services), empty_database_url, server_key=None)
    assert everything(there) == before
    there.close()


def spoil(lines: list[Any], how: str) -> io.BytesIO:
    """Return a backup that was spoilt in one way."""
    place = 0
    if how in ("value", "kind", "missing", "extra", "table"):
        found = [isinstance(line, list) and line[0] == "participation" for line in lines]
        place = found.index(True)
    if how == "value":
        lines[place][4] = "low" if lines[place][4] != "low" else "high"
    elif how == "kind":
        lines[place][6] = "1"
    elif how == "missing":
        del lines[place]
    elif how == "extra":
        lines[place].append(1)
    elif how == "table":
        lines[place][0] = "elsewhere"
    elif how == "cut":
        lines.pop()
    elif how == "more":
        lines.append(lines[1])
    elif how == "form":
        lines[0]["masquerade_backup"] = 2
    elif how == "columns":
        lines[0]["tables"]["setting"].pop()
    elif how == "no header":
        lines.pop(0)
    return packed(lines)


@pytest.mark.parametrize(
    "how",
    ["value", "kind", "missing", "extra", "table", "cut", "more", "form", "columns", "no header"],
)
def test_a_spoilt_backup_is_refused_whole(
    sqlite_services: Services, tmp_path: Path, how: str
) -> None:
    """However a backup was changed or cut, nothing of it is kept, and no file is left behind."""
    survey = sqlite_services.surveys.open_survey(define())
    Device().send(sqlite_services, survey)
    file = spoil(lines_of(copy_of(sqlite_services)), how)
    target = tmp_path / "target.sqlite3"
    with pytest.raises(BrokenBackup):
        restore(file, f"sqlite:///{target}", server_key=None)
    assert list(tmp_path.glob("target*")) == []


@pytest.mark.postgres
def test_a_refused_restore_leaves_postgresql_empty(
    sqlite_services: Services, new_database: NewDatabase
) -> None:
    """Where the last line does not hold, PostgreSQL is as empty as before."""
    sqlite_services.surveys.open_survey(define())
    url = new_database("postgresql")
    with pytest.raises(BrokenBackup):
        restore(spoil(lines_of(copy_of(sqlite_services)), "cut"), url, server_key=None)
    engine = create_engine(url)
    assert inspect(engine).get_table_names() == []
    engine.dispose()


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"[]\n"), b"\x1f\x8b\x08"],
    ids=["empty", "text", "of nothing", "cut"],
)
def test_what_is_no_backup_is_said(tmp_path: Path, content: bytes) -> None:
    """A file of something else is an error, and no database is made."""
    with pytest.raises(BrokenBackup):
        restore(io.BytesIO(content), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=None)
    assert list(tmp_path.iterdir()) == []


def test_a_half_downloaded_backup_is_refused(sqlite_services: Services, tmp_path: Path) -> None:
    """A file that lost its last bytes is refused."""
    sqlite_services.surveys.open_survey(define())
    whole = copy_of(sqlite_services).getvalue()
    with pytest.raises(BrokenBackup):
        restore(
            io.BytesIO(whole[: len(whole) * 2 // 3]),
            f"sqlite:///{tmp_path / 'x.sqlite3'}",
            server_key=None,
        )


def test_a_newer_backup_is_refused(sqlite_services: Services, tmp_path: Path) -> None:
    """A backup of a revision that this version does not know asks for a newer version."""
    lines = lines_of(copy_of(sqlite_services))
    lines[0]["revision"] = "9999"
    with pytest.raises(WrongSchema, match="9999"):
        restore(packed(lines), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=None)


def test_a_broken_ledger_is_backed_up_and_not_restored(
    sqlite_services: Services, tmp_path: Path
) -> None:
    """A chain that was broken before the backup stops the restoring, which names the entry."""
    survey = sqlite_services.surveys.open_survey(define())
    Device().send(sqlite_services, survey)
    with sqlite_services.engine.begin() as connection:
        connection.execute(text("UPDATE ledger_entry SET day = '2026-01-01' WHERE sequence = 1"))
    with pytest.raises(BrokenChain, match="ledger entry 1"):
        restore(copy_of(sqlite_services), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=None)
    assert not (tmp_path / "x.sqlite3").exists()


def test_an_empty_database_has_nothing_to_back_up(empty_database_url: str) -> None:
    """A database without our tables is an error and not an empty backup."""
    engine = connect(empty_database_url)
    with pytest.raises(WrongSchema):
        backup(engine, io.BytesIO(), server_key=None)
    engine.dispose()


def test_a_backup_file_appears_whole_and_private(tmp_path: Path) -> None:
    """The file is there only once it is whole, is for its owner alone, and replaces none."""
    path = tmp_path / "a.backup"

    def fail() -> None:
        with new_file(path) as file:
            file.write(b"half")
            assert not path.exists()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with new_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(NotEmpty), new_file(path):
        pass
    assert path.read_bytes() == b"whole"
    with pytest.raises(OperationError, match="cannot write"), new_file(tmp_path / "no" / "a"):
        pass


@pytest.mark.postgres
def test_columns_that_count_go_on(new_database: NewDatabase) -> None:
    """A table of rows numbered by PostgreSQL goes on after the highest number restored."""
    from sqlalchemy import Column, Integer, MetaData, Table, insert

    from masquerade.server.operations.restore import _go_on_counting

    engine = create_engine(new_database("postgresql"))
    table = Table("numbered", MetaData(), Column("id", Integer, primary_key=True))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(insert(table), [{"id": 7}])
        _go_on_counting(connection, table)
        assert connection.execute(insert(table).returning(table.c.id)).scalar() == 8
    engine.dispose()
