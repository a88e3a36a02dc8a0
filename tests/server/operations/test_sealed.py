"""A sealed database says nothing without its key, and everything works with it."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.errors import OperationError, ParameterError, UnreadableFile
from masquerade.server import Services, Settings
from masquerade.server.db.engine import connect, sealed_driver
from masquerade.server.operations.backup import backup
from masquerade.server.operations.doctor import examine, settings_findings
from masquerade.server.operations.restore import restore

KEY, OTHER = "5e" * 32, "a1" * 32


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _sealing() -> None:
    pytest.importorskip("sqlcipher3", reason="no SQLCipher; pip install '.[sealed]'")


@pytest.fixture
def sealed(tmp_path: Path, _sealing: None) -> Iterator[Services]:
    """An empty store in an encrypted file."""
    services = Services.open(f"sqlite:///{tmp_path / 'data' / 'a.sqlite3'}", key=KEY)
    yield services
    services.close()


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()


def answered(services: Services, people: int = 12) -> list[str]:
    """Let people answer; return names that stand in the tables."""
    survey = services.surveys.open_survey(define(title="Needle"))
    for _ in range(people):
        Device().send(services, survey)
    names = [response.pseudonym for response in services.reports.of_survey(survey.token)]
    return [*names, *services.profiles.persons(), survey.token, "Needle"]


def test_nothing_can_be_read_in_a_sealed_file_or_its_log(sealed: Services, tmp_path: Path) -> None:
    """No name of a person, id or title stands in the files, and their bytes look random."""
    names = answered(sealed)
    for _ in range(2):
        parts = [
            file.read_bytes()
            for file in (tmp_path / "data").glob("a.sqlite3*")
            if not file.name.endswith("-shm")
        ]
        content = b"".join(parts)
        assert len(content) > 10**5
        for name in names:
            assert name.encode() not in content
        counts = Counter(content)
        # Each of 256 bytes is expected equally often: with 1e5 bytes and more a count is off by
        # a fifth with a probability below 1e-10; text in SQLite's pages is off by far more.
        mean = len(content) / 256
        assert max(abs(count - mean) for count in counts.values()) < 0.4 * mean
        assert sealed.transactions.rewrite(patience=PATIENCE_SECONDS)


@pytest.mark.parametrize("key", [None, OTHER])
def test_without_the_key_a_sealed_database_does_not_open(sealed: Services, key: str | None) -> None:
    """No key and another key are refused, with advice; so is a key for a plain database."""
    answered(sealed, 1)
    url = sealed.engine.url.render_as_string()
    sealed.close()
    with pytest.raises(OperationError, match="its key is another one"):
        Services.open(url, key=key)
    Services.open(url, key=KEY).close()


@pytest.mark.usefixtures("_sealing")
def test_a_plain_database_does_not_open_with_a_key(sqlite_services: Services) -> None:
    """It is not sealed by naming a key; the refusal says how it can be."""
    answered(sqlite_services, 1)
    url = sqlite_services.engine.url.render_as_string()
    sqlite_services.close()
    with pytest.raises(OperationError, match="back it up and restore it"):
        Services.open(url, key=KEY)


def test_a_sealed_database_is_rewritten_too(sealed: Services, tmp_path: Path) -> None:
    """The log is emptied, and nobody's rows are lost."""
    answered(sealed)
    rows = everything(sealed)
    assert sealed.transactions.rewrite(patience=PATIENCE_SECONDS)
    assert (tmp_path / "data" / "a.sqlite3-wal").stat().st_size == 0
    assert everything(sealed) == rows


@pytest.mark.usefixtures("_sealing")
def test_sealing_by_backup_and_restore(sqlite_services: Services, tmp_path: Path) -> None:
    """A backup of a plain database can be restored into a sealed one, and back, whole."""
    answered(sqlite_services)
    rows = everything(sqlite_services)
    url, plain = f"sqlite:///{tmp_path / 'data' / 'b.sqlite3'}", tmp_path / "data" / "c.sqlite3"
    for engine, target, key in (
        (sqlite_services.engine, url, KEY),
        (connect(url, key=KEY), f"sqlite:///{plain}", None),
    ):
        file = io.BytesIO()
        backup(engine, file, server_key=None)
        file.seek(0)
        restore(file, target, key=key, server_key=None)
    with Services.open(url, key=KEY).engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM ledger_balance").scalar() == 12
    back = Services.open(f"sqlite:///{plain}")
    assert everything(back) == rows
    back.close()
    with (
        closing(sqlite3.connect(tmp_path / "data" / "b.sqlite3")) as connection,
        pytest.raises(sqlite3.DatabaseError),
    ):
        connection.execute("SELECT * FROM survey")


@pytest.mark.usefixtures("_sealing")
def test_the_commands_take_the_key_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``migrate``, ``backup``, ``restore`` and ``doctor`` work on a sealed database."""
    place = tmp_path / "keys"
    place.mkdir()
    (place / "database.key").write_text(KEY + "\n")
    (place / "database.key").chmod(0o600)
    monkeypatch.setenv("MASQUERADE_DATABASE_KEY_FILE", str(place / "database.key"))
    data = ["--data-dir", str(tmp_path / "data")]
    runner = CliRunner()

    def run(*words: str) -> Any:
        done = runner.invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    run("migrate", *data)
    run("backup", str(tmp_path / "a.backup"), *data)
    run(
        "restore",
        str(tmp_path / "a.backup"),
        "--data-dir",
        str(tmp_path / "other"),
        "--server-key-file",
        str(tmp_path / "data" / "server.key"),
    )
    found = run("doctor", *data)
    assert found["ok"]
    with pytest.raises(OperationError):
        Services.open(f"sqlite:///{tmp_path / 'other' / 'masquerade.sqlite3'}")


def test_doctor_wants_the_key_elsewhere(
    sealed: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the data folder, or one that others may read, is a problem; another key too."""
    url = sealed.engine.url.render_as_string()
    sealed.close()
    for place, mode, words in (
        (tmp_path / "data" / "key", 0o600, ["in the folder of the database"]),
        (tmp_path / "key", 0o644, ["others may read it"]),
        (tmp_path / "key", 0o600, []),
    ):
        place.write_text(KEY)
        place.chmod(mode)
        settings = Settings(url, database_key=KEY, database_key_file=place)
        found = [one for one in settings_findings(settings) if one.status == "problem"]
        assert len(found) == len(words)
        for one, word in zip(found, words, strict=True):
            assert word in one.detail
            assert KEY not in one.detail
    (tmp_path / "data" / "masquerade.toml").write_text(f"database_key = '{KEY}'\n")
    monkeypatch.setenv("MASQUERADE_DATABASE", url)
    named = Settings.from_environment(config=tmp_path / "data" / "masquerade.toml")
    assert any("in the folder" in one.detail for one in settings_findings(named))
    wrong = list(examine(Settings(url, database_key=OTHER)))
    assert any(one.status == "problem" and "another one" in one.detail for one in wrong)


def test_keys_in_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key comes from a variable or a file, is checked, is shown nowhere, and is for SQLite."""
    monkeypatch.setenv("MASQUERADE_DATABASE_KEY", KEY.upper())
    settings = Settings.from_environment()
    assert settings.database_key == KEY
    assert KEY not in repr(settings)
    monkeypatch.setenv("MASQUERADE_DATABASE_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(ParameterError, match="both database_key"):
        Settings.from_environment()
    monkeypatch.delenv("MASQUERADE_DATABASE_KEY")
    with pytest.raises(UnreadableFile, match="openssl rand"):
        Settings.from_environment()
    (tmp_path / "none").write_text("secret-but-short")
    with pytest.raises(ParameterError, match="expected 64 hexadecimal digits") as caught:
        Settings.from_environment()
    assert "secret-but-short" not in str(caught.value)
    (tmp_path / "none").write_text(KEY)
    monkeypatch.setenv("MASQUERADE_DATABASE", "postgresql+psycopg://somewhere/else")
    with pytest.raises(ParameterError, match="only those can be sealed"):
        Settings.from_environment()


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLCipher is missing, a key is refused with the extra's name."""
    import sys

    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with pytest.raises(OperationError, match=r"\[sealed\]"):
        sealed_driver()
