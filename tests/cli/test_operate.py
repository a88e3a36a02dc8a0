"""``masquerade backup``, ``restore``, ``migrate`` and ``doctor``."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.server.db.test_migrations import database_of_before

from masquerade.cli.terminal import disk_trouble
from masquerade.server import Services
from masquerade.server.db.engine import revisions
from masquerade.server.demo import seed_demo
from masquerade.server.settings import sqlite_url

if TYPE_CHECKING:
    from tests.cli.conftest import Run

NEWEST = list(revisions())[-1]


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database in which somebody answered, to be copied."""
    folder = tmp_path_factory.mktemp("answered") / "data"
    folder.mkdir(mode=0o700)
    services = Services.open(sqlite_url(folder / "masquerade.sqlite3"))
    seed_demo(services)
    services.close()
    return folder


@pytest.fixture
def data(tmp_path: Path, answered: Path) -> Path:
    """A folder of the test's own with a database in which somebody answered."""
    return Path(shutil.copytree(answered, tmp_path / "data"))


def test_there_and_back(run: Run, data: Path, tmp_path: Path) -> None:
    """A backup is restored, and the commands tell the amounts; the doctor is content."""
    file = tmp_path / "one.backup"
    made = run("backup", file, "--data-dir", data, "--json")
    assert (made.code, made.json["revision"]) == (0, NEWEST)
    assert made.json["rows"]["participation"] == 200
    assert made.json["bytes"] == file.stat().st_size
    other = tmp_path / "other"
    refused = run("restore", file, "--data-dir", other)
    assert "there is no server key" in refused.err
    key = data / "server.key"
    done = run("restore", file, "--data-dir", other, "--server-key-file", key, "--json")
    assert (done.code, done.json["authenticated"]) == (0, True)
    assert (other / "server.key").read_bytes() == key.read_bytes()
    assert done.json["rows"] == made.json["rows"]
    assert done.json["ledger_entries_checked"] == made.json["rows"]["ledger_entry"]
    assert run("doctor", "--data-dir", other, "--json").json["ok"]
    again = run("restore", file, "--data-dir", other)
    assert again.code == 1
    assert "not empty" in again.err


def test_a_backup_replaces_no_file(run: Run, data: Path, tmp_path: Path) -> None:
    """A file that is there stays, and the exit code says so."""
    (tmp_path / "precious").write_text("x")
    done = run("backup", tmp_path / "precious", "--data-dir", data)
    assert (done.code, done.out) == (1, "")
    assert (tmp_path / "precious").read_text() == "x"


def test_through_a_pipe(data: Path, tmp_path: Path) -> None:
    """``-`` is standard output and standard input, so that nothing is kept in between."""
    words = [sys.executable, "-m", "masquerade"]
    copied = subprocess.run(
        [*words, "backup", "-", "--data-dir", str(data)], capture_output=True, check=True
    )
    done = subprocess.run(
        [*words, "restore", "-", "--data-dir", str(tmp_path / "new"), "--unauthenticated"],
        input=copied.stdout,
        capture_output=True,
        check=True,
    )
    assert b"Restored" in done.stdout
    with sqlite3.connect(tmp_path / "new" / "masquerade.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM participation").fetchone() == (200,)
    database.close()


@pytest.mark.parametrize("command", [("backup", "x"), ("migrate", "--dry-run")])
def test_no_database(run: Run, command: tuple[str, ...], tmp_path: Path) -> None:
    """A database that is not there is said, and nothing is made."""
    done = run(*command, "--data-dir", tmp_path / "none")
    assert done.code == 1
    assert "there is no database" in done.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_backup(run: Run, tmp_path: Path) -> None:
    """A file of something else, or of nothing, is said."""
    (tmp_path / "x").write_text("something")
    words = ("--data-dir", tmp_path / "d", "--unauthenticated")
    assert "no backup" in run("restore", tmp_path / "x", *words).err
    assert "cannot read" in run("restore", tmp_path / "y", *words).err


def test_a_forged_backup(run: Run, data: Path, tmp_path: Path) -> None:
    """A changed backup is refused; an option that names its price takes it all the same."""
    file = tmp_path / "one.backup"
    run("backup", file, "--data-dir", data)
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)[:-2]
    end = json.loads(gzip.decompress(file.read_bytes()).splitlines()[-2])
    end["sha256"] = hashlib.sha256(b"".join(lines)).hexdigest()
    forged = tmp_path / "two.backup"
    forged.write_bytes(gzip.compress(b"".join(lines) + json.dumps(end).encode() + b"\n"))
    words = ("restore", forged, "--data-dir", tmp_path / "new")
    refused = run(*words, "--server-key-file", data / "server.key")
    assert (refused.code, "nothing of it was read" in refused.err) == (1, True)
    taken = run(*words, "--unauthenticated", "--json")
    assert (taken.code, taken.json["authenticated"]) == (0, False)


def test_a_new_key(run: Run, data: Path, tmp_path: Path) -> None:
    """The server gets another key, and the old one stays beside it for old backups."""
    run("backup", tmp_path / "a", "--data-dir", data)
    old = (data / "server.key").read_text()
    done = run("new-key", "--data-dir", data, "--json")
    assert done.code == 0
    assert (data / "server.key.old").read_text() == old
    assert (data / "server.key").read_text() != old
    assert run("doctor", "--data-dir", data, "--json").json["ok"]
    assert run("new-key", "--data-dir", data).code == 1


def test_migrating(run: Run, tmp_path: Path) -> None:
    """A dry run tells the changes and makes none; then they are made, once."""
    database_of_before(sqlite_url(tmp_path / "masquerade.sqlite3")).dispose()
    dry = run("migrate", "--dry-run", "--data-dir", tmp_path, "--json").json
    assert (dry["revision"], dry["newest"], dry["dry_run"]) == ("0013", NEWEST, True)
    assert [step[:4] for step in dry["steps"]] == list(revisions())
    wet = run("migrate", "--data-dir", tmp_path, "--json").json
    assert (wet["before"], wet["revision"], wet["steps"]) == ("0013", NEWEST, dry["steps"])
    assert run("migrate", "--data-dir", tmp_path, "--json").json["steps"] == []


def test_the_doctor_fails_where_something_is_broken(run: Run, data: Path) -> None:
    """A problem gives exit code 1, in words and as JSON; warnings alone do not."""
    fine = run("doctor", "--data-dir", data)
    assert (fine.code, "problem" in fine.out) == (0, False)
    with sqlite3.connect(data / "masquerade.sqlite3") as database:
        person = database.execute("SELECT min(person) FROM ledger_entry").fetchone()[0]
        database.execute(
            "UPDATE ledger_entry SET day = '2026-01-01' WHERE person = ? AND sequence = 0",
            (person,),
        )
    database.close()
    broken = run("doctor", "--data-dir", data, "--json")
    assert (broken.code, broken.json["ok"]) == (1, False)
    found = [one for one in broken.json["findings"] if one["status"] == "problem"]
    assert [one["check"] for one in found] == ["ledger"]
    assert f"entry 0 of {person}" in found[0]["detail"]
    told = run("doctor", "--data-dir", data)
    assert told.code == 1
    assert "problem" in told.out


def test_settings_from_a_file(run: Run, data: Path, tmp_path: Path) -> None:
    """``--config`` names the database for these commands too; a misspelt setting stops them."""
    (tmp_path / "a.toml").write_text(f'data_dir = "{data}"\n')
    assert run("migrate", "--config", tmp_path / "a.toml", "--json").json["revision"] == NEWEST
    (tmp_path / "b.toml").write_text(f'datadir = "{data}"\n')
    wrong = run("doctor", "--config", tmp_path / "b.toml")
    assert wrong.code == 1
    assert "Did you mean data_dir?" in wrong.err


@pytest.mark.postgres
def test_a_database_that_cannot_be_reached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so, without the password."""
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:geheim@127.0.0.1:1/none"
    monkeypatch.setenv("MASQUERADE_DATABASE", url)
    for words in (("backup", "x"), ("migrate",), ("restore", __file__, "--unauthenticated")):
        done = run(*words)
        assert done.code == 1
        assert "geheim" not in done.err
        assert done.err.count("\n") == 1


def test_a_read_only_disk_ends_in_a_message(run: Run) -> None:
    """Where no folder can be made the server ends with one line, and no traceback."""
    done = run("serve", "--data-dir", "/proc/self/masquerade", "--port", 0, "--no-browser")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.count("\n") == 1


def test_a_database_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """SQLite's words on a read-only file become a sentence; other errors stay as they are."""
    sqlite3.connect(tmp_path / "a").execute("CREATE TABLE t (x)").connection.close()
    database = sqlite3.connect(f"file:{tmp_path / 'a'}?mode=ro", uri=True)
    with pytest.raises(sqlite3.OperationalError) as raised:
        database.execute("INSERT INTO t VALUES (1)")
    database.close()
    assert "read-only" in str(disk_trouble(raised.value))
    with pytest.raises(sqlite3.OperationalError) as refused:
        sqlite3.connect(":memory:").execute("SELECT * FROM nowhere")
    said = str(disk_trouble(refused.value))
    assert "refused: no such table: nowhere (SQLITE_ERROR)" in said
    assert "does not answer" not in said
    assert "No space left" in str(disk_trouble(OSError(errno.ENOSPC, "No space left", "here")))
    assert disk_trouble(ValueError("x")) is None


def test_a_server_whose_database_does_not_answer_ends_in_a_message(tmp_path: Path) -> None:
    """As where PostgreSQL is still starting, or another program holds SQLite's lock."""
    file = tmp_path / "locked.sqlite3"
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        closing(sqlite3.connect(file, timeout=0)) as late,  # meant to pass
    ):
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as raised:
            late.execute("INSERT INTO t VALUES (1)")
    said = str(disk_trouble(raised.value))
    assert "somebody else holds its lock" in said
    assert "SQLITE_BUSY" in said
    settings = {
        "MASQUERADE_SERVER_KEY_FILE": str(tmp_path / "key"),
        "MASQUERADE_DATABASE": "postgresql+psycopg://me:geheim@127.0.0.1:1/none",
        "MASQUERADE_HELPER_OPERATOR": "The works council",
    }
    for words in (("serve", "--no-browser"), ("helper",)):
        done = subprocess.run(
            [sys.executable, "-m", "masquerade", *words, "--port", "0"],
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "does not answer" in done.stderr
        assert "geheim" not in done.stderr
        assert "Traceback" not in done.stderr
