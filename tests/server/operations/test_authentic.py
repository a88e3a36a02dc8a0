"""Backups that nobody but the server can have made, and secrets that a copy does not hold."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, text
from tests.server.devices import Device, everything
from tests.surveys.small_surveys import define

from masquerade.errors import BrokenBackup, NotEmpty, OperationError, ParameterError
from masquerade.server import Services, Settings
from masquerade.server.accounts.totp import code_at, new_secret
from masquerade.server.db.engine import connect
from masquerade.server.db.seals import Seals, plain_texts
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.outgoing import Target
from masquerade.server.keys import ServerKey, make_server_key
from masquerade.server.operations import archive
from masquerade.server.operations.backup import backup
from masquerade.server.operations.doctor import examine, settings_findings
from masquerade.server.operations.new_key import renew, require_alone
from masquerade.server.operations.restore import restore
from masquerade.server.webhooks.sender import SIGNATURE, Sender, signature
from masquerade.server.webhooks.webhooks import EVENTS

if TYPE_CHECKING:
    from tests.server.operations.conftest import NewDatabase

KEY, OTHER = ServerKey("ab" * 32), ServerKey("cd" * 32)
DAY = "2026-03-14"
PASSWORD = "three words in a row"


@pytest.fixture
def keyed_services(empty_database_url: str) -> Iterator[Services]:
    """A store with a server key, on each kind of database."""
    services = Services.open(empty_database_url, today=lambda: DAY, server_key=KEY)
    yield services
    services.close()


@pytest.fixture
def answered(keyed_services: Services) -> Services:
    """The same with a survey and some responses."""
    survey = keyed_services.surveys.open_survey(define(levels=("high", "low")))
    for number in range(3):
        Device().send(keyed_services, survey, [number % 2, number % 5], level="low")
    return keyed_services


def copy_of(services: Services, key: ServerKey | None = KEY) -> bytes:
    """Return a backup of a store."""
    file = io.BytesIO()
    backup(services.engine, file, server_key=key)
    return file.getvalue()


def contents(file: bytes) -> list[Any]:
    """Return the lines of a backup, without its authentication code."""
    lines = [json.loads(line) for line in gzip.decompress(file).splitlines()]
    return lines[:-1] if "hmac_sha256" in lines[-1] else lines


def forged(lines: list[Any]) -> bytes:
    """Return a backup of other content, with the hash that this content has."""
    body = [json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines[:-1]]
    rows: dict[str, int] = {}
    for line in lines[1:-1]:
        rows[line[0]] = rows.get(line[0], 0) + 1
    digest = hashlib.sha256(b"".join(body)).hexdigest()
    end = json.dumps({"rows": rows, "sha256": digest}).encode() + b"\n"
    return gzip.compress(b"".join(body) + end)


def first(lines: list[Any], table: str) -> tuple[list[Any], list[str]]:
    """Return the first row of a table, and the names of its columns."""
    row = next(line for line in lines if isinstance(line, list) and line[0] == table)
    return row, [column for column, _ in lines[0]["tables"][table]]


def changed(lines: list[Any], how: str) -> None:
    """Change a backup as an attacker with a wish for another result would."""
    if how == "report":
        row, names = first(lines, "participation")
        place = names.index("reports") + 1
        found = json.loads(row[place])
        row[place] = json.dumps([1 - found[0], *found[1:]])
    elif how == "account":
        row, names = first(lines, "team")
        row[names.index("name") + 1] = "Mine"
    elif how == "removed":
        row, _ = first(lines, "participation")
        lines.remove(row)
    elif how == "swapped":
        rows = [line for line in lines if isinstance(line, list) and line[0] == "participation"]
        one, two = (lines.index(row) for row in rows[:2])
        lines[one], lines[two] = lines[two], lines[one]
    elif how == "day":
        lines[0]["day"] = "2026-03-15"


CHANGES = ("report", "account", "removed", "swapped", "day")


@pytest.mark.parametrize("how", CHANGES)
def test_a_changed_backup_with_a_new_hash_is_refused(
    answered: Services, tmp_path: Path, how: str
) -> None:
    """A backup changed and hashed anew is found out, with or without the old code."""
    whole = copy_of(answered)
    lines = contents(whole)
    changed(lines, how)
    bare = forged(lines)
    url = f"sqlite:///{tmp_path / 'target.sqlite3'}"
    seal = whole[-archive._SEAL_BYTES :]
    with pytest.raises(BrokenBackup, match="no authentication code"):
        restore(io.BytesIO(bare), url, server_key=KEY)
    with pytest.raises(BrokenBackup, match="was changed, or made with another"):
        restore(io.BytesIO(bare + seal), url, server_key=KEY)
    assert list(tmp_path.glob("target*")) == []
    # What is given up without the check: the very same file is taken.
    assert restore(io.BytesIO(bare), url, server_key=None).day


def test_a_changed_entry_of_the_ledger_is_refused_first(answered: Services, tmp_path: Path) -> None:
    """Of a ledger's entry that was changed not even the chain is asked: nothing is read."""
    lines = contents(copy_of(answered))
    row, names = first(lines, "ledger_entry")
    row[names.index("day") + 1] = "2026-01-01"
    with pytest.raises(BrokenBackup, match="nothing of it was read"):
        restore(io.BytesIO(forged(lines)), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=KEY)


def test_nothing_is_unpacked_before_it_is_checked(
    answered: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is not genuine meets neither the unpacking nor the reader of JSON."""
    whole = bytearray(copy_of(answered))
    whole[len(whole) // 2] ^= 1
    gone = "masquerade.server.operations.archive.gzip.GzipFile"
    monkeypatch.setattr(gone, lambda *_, **__: 1 / 0)
    with pytest.raises(BrokenBackup, match="nothing of it was read"):
        restore(io.BytesIO(whole), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=KEY)


def test_every_bit_of_a_backup_counts(sqlite_services: Services, tmp_path: Path) -> None:
    """Whichever byte is changed, and wherever the file is cut or made longer, it is refused."""
    whole = copy_of(sqlite_services)
    url = f"sqlite:///{tmp_path / 'x.sqlite3'}"
    places = sorted({*range(0, len(whole), 97), *range(len(whole) - 120, len(whole))})
    for place in places:
        spoilt = bytearray(whole)
        spoilt[place] ^= 1
        with pytest.raises(BrokenBackup):
            restore(io.BytesIO(spoilt), url, server_key=KEY)
        with pytest.raises(BrokenBackup):
            restore(io.BytesIO(whole[:place]), url, server_key=KEY)
    for longer in (whole + b"\0", b"\0" + whole, whole + whole, whole + b"{}\n"):
        with pytest.raises(BrokenBackup):
            restore(io.BytesIO(longer), url, server_key=KEY)
    assert list(tmp_path.glob("x.*")) == []


def test_another_servers_key_vouches_for_nothing(answered: Services, tmp_path: Path) -> None:
    """A backup that another key vouches for is refused."""
    whole = copy_of(answered)
    with pytest.raises(BrokenBackup, match="another server key"):
        restore(io.BytesIO(whole), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=OTHER)
    with pytest.raises(OperationError, match="another server key"):
        copy_of(answered, OTHER)


def test_an_older_backup_is_as_genuine(answered: Services, tmp_path: Path) -> None:
    """A limit of the check: an older backup of the same server is taken, with its day."""
    older = copy_of(answered)
    Device().send(answered, answered.surveys.records()[0], level="low")
    done = restore(io.BytesIO(older), f"sqlite:///{tmp_path / 'x.sqlite3'}", server_key=KEY)
    assert done.entries < answered.ledger.verify()


def told(services: Services) -> dict[str, list[list[Any]]]:
    """Return all rows, with JSON as values: SQLite keeps it as text, PostgreSQL does not."""
    return {
        name: [
            [
                json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
                for value in row
            ]
            for row in rows
        ]
        for name, rows in everything(services).items()
    }


def test_a_genuine_backup_comes_back(answered: Services, new_database: NewDatabase) -> None:
    """A whole backup is restored, and any program for gzip unpacks it."""
    whole = copy_of(answered)
    assert contents(whole)[0]["masquerade_backup"] == 1
    url = new_database("sqlite")
    restore(io.BytesIO(whole), url, server_key=KEY)
    again = Services.open(url, today=lambda: DAY, server_key=KEY)
    assert told(again) == told(answered)
    again.close()


def test_what_changes_after_the_check_is_not_read(answered: Services, tmp_path: Path) -> None:
    """The bytes that are read are those that were checked, for all later changes of the file."""
    path = tmp_path / "a.backup"
    path.write_bytes(copy_of(answered))
    with path.open("rb") as file, archive.authentic(file, KEY) as genuine:
        path.write_bytes(b"something else")
        assert archive.ArchiveReader(genuine).header.revision


def with_codes(services: Services, secret: str) -> str:
    """Return the id of an owner with a password and codes."""
    owner = services.teams.first_owner()
    assert owner is not None
    accounts = services.accounts
    accounts.set_password(owner.id, PASSWORD)
    now = int(time.time()) // 30
    assert accounts.ask_for_codes(owner.id, secret, code_at(secret, now - 1))
    return owner.id


def signs_in(services: Services, secret: str) -> bool:
    """Return whether the owner signs in with the code of a secret."""
    code = code_at(secret, int(time.time()) // 30)
    return services.accounts.recognise("owner", PASSWORD, code) is not None


def with_webhook(services: Services) -> str:
    """Return the secret of a new webhook."""
    services.webhooks.private = True
    hooks = services.webhooks
    made, secret = hooks.create(FIRST_TEAM, url="http://127.0.0.1:9/", events=EVENTS)
    hooks.test(FIRST_TEAM, made.id)
    return secret


def rows_of(services: Services) -> str:
    """Return everything that a database holds, as text."""
    with services.engine.connect() as connection:
        found = [
            connection.execute(text(f"SELECT * FROM {t}")).all() for t in ("account", "webhook")
        ]
    return repr(found)


def sent_with(services: Services, key: ServerKey) -> list[str]:
    """Return the signatures of webhooks' messages, and the bodies' own."""
    told: list[str] = []

    def send(_target: Target, _address: str, body: bytes, headers: Mapping[str, str]) -> int:
        told.extend([headers[SIGNATURE], body.decode()])
        return 200

    sends = Sender(
        services.transactions, private=True, seals=Seals(key), send=send, clock=lambda: 1000.0
    )
    assert sends.deliver() == 1
    return told


def test_a_copy_of_the_database_has_no_secret_of_codes_or_webhooks(
    keyed_services: Services,
) -> None:
    """The secrets of codes and signatures are sealed, and work all the same."""
    codes = new_secret()
    with_codes(keyed_services, codes)
    signing = with_webhook(keyed_services)
    kept = rows_of(keyed_services)
    assert codes not in kept
    assert signing not in kept
    assert plain_texts_of(keyed_services) == 0
    assert codes.encode() not in gzip.decompress(copy_of(keyed_services))
    assert signs_in(keyed_services, codes)
    header, body = sent_with(keyed_services, KEY)
    assert header == signature(signing, body.encode(), seconds=1000)


def plain_texts_of(services: Services) -> int:
    """Return how many secrets of a store are not sealed."""
    with services.engine.connect() as connection:
        return plain_texts(connection)


def test_the_first_start_with_a_key_seals_what_is_there(empty_database_url: str) -> None:
    """Secrets of an older version, which lie there as they are, are sealed and go on working."""
    before = Services.open(empty_database_url)
    codes = new_secret()
    with_codes(before, codes)
    signing = with_webhook(before)
    assert codes in rows_of(before)
    before.close()
    services = Services.open(empty_database_url, server_key=KEY)
    kept = rows_of(services)
    assert codes not in kept
    assert signing not in kept
    assert signs_in(services, codes)
    services.close()


@pytest.mark.parametrize("key", [OTHER, None])
def test_another_key_opens_nothing(empty_database_url: str, key: ServerKey | None) -> None:
    """With another key, or none, the server does not start, and gives advice."""
    services = Services.open(empty_database_url, server_key=KEY)
    with_codes(services, new_secret())
    services.close()
    with pytest.raises(OperationError, match="new-key --forget"):
        Services.open(empty_database_url, server_key=key)
    found = list(examine(Settings(empty_database_url, server_key=key)))
    assert "problem" in [one.status for one in found if one.check == "server key"]


def test_a_sealed_secret_holds_in_its_place_only() -> None:
    """A writer of rows cannot put the secret of one account into another's, or change it."""
    seals = Seals(KEY)
    kept = seals.seal("secret", "account.totp_secret:1")
    assert seals.unseal(kept, "account.totp_secret:1") == "secret"
    assert kept != seals.seal("secret", "account.totp_secret:1")
    for spoilt, place in (
        (kept, "account.totp_secret:2"),
        (kept[:-6] + "AAAAA=", "account.totp_secret:1"),
        ("sealed1:", "account.totp_secret:1"),
        ("sealed1:!", "account.totp_secret:1"),
    ):
        with pytest.raises(OperationError, match="another server key, or was changed"):
            seals.unseal(spoilt, place)
    with pytest.raises(OperationError):
        Seals(OTHER).unseal(kept, "account.totp_secret:1")
    assert "ab" not in repr(KEY)


def settings_in(folder: Path) -> Settings:
    """Return settings of a server with data in a folder."""
    return Settings.from_environment(data_dir=folder).with_server_key()


def test_the_first_start_makes_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made once, for this account alone, also where several processes start together."""
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE", raising=False)
    threads, found = [], []
    for _ in range(8):
        make = threading.Thread(target=lambda: found.append(settings_in(tmp_path / "data")))
        threads.append(make)
        make.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 8
    assert len({one.server_key.hexadecimal for one in found if one.server_key}) == 1
    path = tmp_path / "data" / "server.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["server.key"]


def test_where_the_key_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting names another place or the key itself, not both; other values are told."""
    monkeypatch.setenv("MASQUERADE_SERVER_KEY_FILE", str(tmp_path / "keys" / "a.key"))
    assert settings_in(tmp_path / "data").server_key_file == tmp_path / "keys" / "a.key"
    assert (tmp_path / "keys" / "a.key").is_file()
    monkeypatch.setenv("MASQUERADE_SERVER_KEY", "ab" * 32)
    with pytest.raises(ParameterError, match="both"):
        settings_in(tmp_path / "data")
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE")
    assert settings_in(tmp_path / "data").server_key == KEY
    monkeypatch.setenv("MASQUERADE_SERVER_KEY", "short")
    with pytest.raises(ParameterError, match="64 hexadecimal"):
        settings_in(tmp_path / "data")
    (tmp_path / "file").write_text("")
    with pytest.raises(OperationError, match="openssl rand"):
        make_server_key(tmp_path / "file" / "server.key")


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX's")
def test_the_doctor_finds_a_key_beside_what_it_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the data folder is a warning, and one that others may read a problem."""
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE", raising=False)
    found = [
        one for one in settings_findings(settings_in(tmp_path)) if "server's key" in one.detail
    ]
    assert [one.status for one in found] == ["warning"]
    assert "server_key_file" in found[0].detail
    (tmp_path / "server.key").chmod(0o644)
    statuses = [one.status for one in settings_findings(settings_in(tmp_path))]
    assert "problem" in statuses
    monkeypatch.setenv("MASQUERADE_SERVER_KEY_FILE", str(tmp_path / "keys" / "a.key"))
    away = settings_findings(settings_in(tmp_path / "data"))
    assert [one for one in away if "server's key" in one.detail] == []


def test_a_new_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets go on working under a new key; backups of before need the old one."""
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE", raising=False)
    settings = settings_in(tmp_path / "data")
    codes = new_secret()
    services = Services.open(settings.database, server_key=settings.server_key)
    with_codes(services, codes)
    old = copy_of(services, settings.server_key)
    services.close()
    engine = connect(settings.database)
    done = renew(engine, settings)
    engine.dispose()
    after = settings_in(tmp_path / "data")
    assert after.server_key != settings.server_key
    assert done["accounts_without_codes"] == 0
    services = Services.open(after.database, server_key=after.server_key)
    assert signs_in(services, codes)
    with pytest.raises(BrokenBackup):
        restore(io.BytesIO(old), f"sqlite:///{tmp_path / 'x'}", server_key=after.server_key)
    restore(io.BytesIO(old), f"sqlite:///{tmp_path / 'x'}", server_key=settings.server_key)
    with pytest.raises(NotEmpty, match=r"server\.key\.old"):
        renew(services.engine, after)
    services.close()


def test_a_new_key_while_a_server_runs(database_url: str) -> None:
    """A database that a server has open is refused; once the server has ended, it is not."""
    services = Services.open(database_url)
    services.teams.first()
    engine = connect(database_url)
    with pytest.raises(OperationError, match="End the server"):
        require_alone(engine)
    services.close()
    engine.dispose()
    require_alone(engine)
    engine.dispose()


def test_a_new_key_that_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure before the commit leaves no new key; from then on it is kept, and named."""
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE", raising=False)
    settings = settings_in(tmp_path / "data")
    Services.open(settings.database, server_key=settings.server_key).close()
    new = tmp_path / "data" / "server.key.new"
    engine = connect(settings.database)
    other = replace(settings, server_key=OTHER)
    with pytest.raises(OperationError, match="another server key"):
        renew(engine, other)
    assert not new.exists()

    def fails(_connection: object) -> None:
        if new.exists():  # later than the look at the schema
            raise KeyboardInterrupt

    event.listen(engine, "commit", fails)
    with pytest.raises(KeyboardInterrupt):
        renew(engine, settings)
    event.remove(engine, "commit", fails)
    assert new.exists()
    assert settings_in(tmp_path / "data").server_key == settings.server_key
    with pytest.raises(NotEmpty, match="interrupted"):
        renew(engine, settings)
    engine.dispose()


def test_a_lost_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator without the key gives up codes and webhooks, by name, and the server starts."""
    monkeypatch.delenv("MASQUERADE_SERVER_KEY_FILE", raising=False)
    settings = settings_in(tmp_path / "data")
    services = Services.open(settings.database, server_key=settings.server_key)
    owner = with_codes(services, new_secret())
    with_webhook(services)
    services.close()
    (tmp_path / "data" / "server.key").unlink()
    engine = connect(settings.database)
    lost = Settings.from_environment(data_dir=tmp_path / "data")
    with pytest.raises(OperationError, match="no server key"):
        renew(engine, lost)
    done = renew(engine, lost, forget=True)
    engine.dispose()
    assert (done["accounts_without_codes"], done["webhooks_removed"]) == (1, 1)
    services = Services.open(
        settings.database, server_key=settings_in(tmp_path / "data").server_key
    )
    assert not services.accounts.get(owner).has_totp
    assert services.webhooks.of_team(FIRST_TEAM) == []
    services.close()
