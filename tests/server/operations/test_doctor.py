"""Everything that can be broken on purpose is found, and nothing else is."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, event, make_url, text
from sqlalchemy.exc import OperationalError
from tests.patience import PATIENCE_SECONDS
from tests.server.db.test_migrations import database_of_before
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.accounting import Caps
from masquerade.exact import Micro
from masquerade.server import Services, Settings
from masquerade.server.operations import content_checks, database_checks
from masquerade.server.operations.content_checks import reference_findings
from masquerade.server.operations.database_checks import CheckResult
from masquerade.server.operations.doctor import _why, examine, settings_findings

if TYPE_CHECKING:
    from tests.conftest import PostgresServer

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MASQUERADE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def furnished(services: Services) -> Services:
    """A store in use: two people with entries."""
    survey = services.surveys.open_survey(define())
    for _ in range(2):
        Device().send(services, survey)
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    return services


def url_of(services: Services) -> str:
    """Return the address of a store's database."""
    return services.engine.url.render_as_string(hide_password=False)


def wrong(services: Services, **settings: Any) -> list[CheckResult]:
    """Return all that the doctor does not find in order."""
    now = datetime.now(UTC) if services.engine.dialect.name == "postgresql" else NOW
    found = examine(Settings(url_of(services), **settings), now=lambda: now)
    return [one for one in found if one.status in ("problem", "warning")]


def change(services: Services, *statements: str) -> None:
    """Run statements."""
    with services.engine.execution_options(write=True).begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def only(found: list[CheckResult], check: str, *words: str, status: str = "problem") -> None:
    """Fail unless there is just one finding, of this check and with these words."""
    assert [(one.check, one.status) for one in found] == [(check, status)], found
    for word in words:
        assert word in found[0].detail


def first_person(services: Services) -> str:
    """Return the ledger's name of somebody."""
    return min(services.profiles.persons())


def test_a_healthy_server(furnished: Services) -> None:
    """A server in use has neither problems nor warnings, and every check tells its findings."""
    assert wrong(furnished) == []
    found = {one.check: one for one in examine(Settings(url_of(furnished)))}
    assert "4 entries of 2 people" in found["ledger"].detail
    assert {"settings", "schema", "tables", "clock", "surveys", "room"} <= set(found)


def test_a_quick_look_takes_as_long_whatever_there_is(
    furnished: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks at one page of accounts, and tells the number left out; it tells its findings."""
    monkeypatch.setattr(content_checks, "PAGE", 1)
    statements: list[int] = []
    for _ in range(2):
        asked: list[str] = []
        listen = partial(lambda seen, *told: seen.append(told[2]), asked)
        event.listen(Engine, "before_cursor_execute", listen)
        found = {one.check: one for one in examine(Settings(url_of(furnished)), quick=True)}
        event.remove(Engine, "before_cursor_execute", listen)
        assert "of 1 person:" in found["ledger"].detail
        assert "others were not looked at" in found["ledger"].detail
        assert {one for one in found if found[one].status == "skipped"} >= {"order", "surveys"}
        # Begun beyond the last account, it asks once more.
        statements.append(sum("ledger_entry" in one for one in asked))
        survey = furnished.surveys.open_survey(define())
        for _ in range(4):
            Device().send(furnished, survey)
    assert abs(statements[0] - statements[1]) <= 2
    change(furnished, "UPDATE ledger_entry SET previous_hash = hash WHERE sequence = 0")
    broken = list(examine(Settings(url_of(furnished)), quick=True))
    assert [one.check for one in broken if one.status == "problem"] == ["ledger"]


@pytest.mark.postgres
def test_rows_of_what_is_gone(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's divided tables have no foreign keys; rows without what they name are found."""
    if services.engine.dialect.name != "postgresql":
        pytest.skip("SQLite looks for them itself")
    monkeypatch.setattr(content_checks, "_ROWS_AT_ONCE", 3)
    survey = services.surveys.open_survey(define())
    for _ in range(5):
        Device().send(services, survey)
    found = {one.check: one for one in examine(Settings(url_of(services)))}
    assert "15 rows of 8 tables name only what is there" in found["references"].detail
    change(
        services,
        "UPDATE participation SET survey = 'c0ffee' WHERE id IN "
        "(SELECT id FROM participation ORDER BY id OFFSET 3)",
        "UPDATE ledger_entry SET cost = repeat('0', 64) WHERE sequence = 1",
    )
    monkeypatch.setattr(content_checks, "token_hex", lambda _: "")  # a sample from the first on
    for quick in (False, True):
        looked = examine(Settings(url_of(services)), quick=quick)
        told = [one.detail for one in looked if one.check == "references"]
        assert len(told) == 2
        assert any(one.startswith("5 rows of ledger_entry name a ledger_cost") for one in told)
        assert any(one.startswith("2 rows of participation name a survey") for one in told)
    # A sample costs the same however much there is.
    monkeypatch.setattr(content_checks, "SAMPLE", 2)
    with services.engine.connect() as connection:
        sizes, real = [], content_checks._pages
        for _ in range(2):
            counts: list[int] = []

            def counted(*given: Any, counts: list[int] = counts, **how: Any) -> Any:
                for page in real(*given, **how):
                    counts.append(len(page))
                    yield page

            with monkeypatch.context() as patch:
                patch.setattr(content_checks, "_pages", counted)
                list(reference_findings(connection, sample=True))
            sizes.append(len(counts))
            assert max(counts) <= 2
            for _ in range(4):
                Device().send(services, services.surveys.open_survey(define()))
        assert sizes == [8, 8]


def test_accounts_are_looked_at_in_pages(
    sqlite_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, and between two pages SQLite's log can be emptied while people take part."""
    monkeypatch.setattr(content_checks, "PAGE", 2)
    survey = sqlite_services.surveys.open_survey(define())
    for _ in range(5):
        Device().send(sqlite_services, survey)
    busy: list[int] = []

    def look(_count: int, _whole: int) -> None:
        Device().send(sqlite_services, survey)
        with closing(sqlite3.connect(str(sqlite_services.engine.url.database))) as other:
            busy.append(other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    found = {one.check: one for one in examine(Settings(url_of(sqlite_services)), progress=look)}
    assert found["ledger"].status == "ok"
    assert len(busy) >= 3
    assert not any(busy)


def test_a_changed_entry(furnished: Services) -> None:
    """A changed entry is found, with the person's name in the ledger and the entry's number."""
    person = first_person(furnished)
    change(
        furnished,
        f"UPDATE ledger_entry SET day = '2026-01-01' WHERE person = '{person}' AND sequence = 1",
    )
    only(wrong(furnished), "ledger", "entry 1", person)


def test_all_broken_accounts_are_told(furnished: Services) -> None:
    """One broken account does not hide another."""
    change(furnished, "UPDATE ledger_entry SET previous_hash = hash WHERE sequence = 0")
    found = wrong(furnished)
    assert [one.check for one in found] == ["ledger", "ledger"]
    for person in furnished.profiles.persons():
        assert sum(person in one.detail for one in found) == 1


def test_a_removed_last_entry(furnished: Services) -> None:
    """An entry that is missing from the end is found by the balance."""
    person = first_person(furnished)
    change(furnished, f"DELETE FROM ledger_entry WHERE person = '{person}' AND sequence = 1")
    only(wrong(furnished), "ledger", person, "balance")


def test_a_changed_balance(furnished: Services) -> None:
    """A balance that differs from the sum of its entries is found, with the difference."""
    person = first_person(furnished)
    change(furnished, f"UPDATE ledger_balance SET spent_epsilon = 0 WHERE person = '{person}'")
    only(wrong(furnished), "ledger", person, "spent_epsilon")


def test_a_lost_balance(furnished: Services) -> None:
    """A balance that is gone is found."""
    person = first_person(furnished)
    change(furnished, f"DELETE FROM ledger_balance WHERE person = '{person}'")
    only(wrong(furnished), "ledger", person, "gone")


def test_an_unreadable_cost(furnished: Services) -> None:
    """An amount that is none is found, and is no crash."""
    change(furnished, "UPDATE ledger_cost SET amounts = '{}'")
    assert {one.check for one in wrong(furnished)} == {"ledger"}


@pytest.mark.parametrize(
    "index", ["one_step_of_a_kind", "participation_of_survey", "balance_with_reservations"]
)
def test_a_missing_index(furnished: Services, index: str) -> None:
    """Each missing index is named, and the rest is looked at all the same."""
    change(furnished, f"DROP INDEX {index}")
    only(wrong(furnished), "tables", index, "missing")


def test_a_missing_table(furnished: Services) -> None:
    """A missing table is named; the checks that need it are left out."""
    change(furnished, "DROP TABLE caps_to_come")
    only(wrong(furnished), "tables", "caps_to_come", "missing")


def test_a_missing_column(furnished: Services) -> None:
    """A missing column is named."""
    change(furnished, "ALTER TABLE participation DROP COLUMN commitment")
    only(wrong(furnished), "tables", "commitment", "participation")


def test_a_foreign_table(furnished: Services) -> None:
    """A table that is none of ours is a warning."""
    change(furnished, "CREATE TABLE foreign_one (x INTEGER)")
    only(wrong(furnished), "tables", "foreign_one", status="warning")


def test_a_schema_behind(empty_database_url: str) -> None:
    """A schema of an earlier version asks for the upgrade."""
    database_of_before(empty_database_url).dispose()
    found = {one.check: one for one in examine(Settings(empty_database_url))}
    assert found["schema"].status == "problem"
    assert "migrate" in found["schema"].detail
    assert found["ledger"].status == "skipped"


def test_a_schema_ahead(furnished: Services) -> None:
    """A schema of a newer version asks for that version."""
    change(furnished, "UPDATE alembic_version SET version_num = '9999'")
    only(wrong(furnished), "schema", "9999", "ahead")


def test_a_clock_behind_what_is_kept(furnished: Services) -> None:
    """Where the ledger has a day that has not come yet, the clock is suspect."""
    person = first_person(furnished)
    far = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    change(furnished, f"UPDATE survey SET closed = '{far}'")
    only(wrong(furnished), "clock", far)
    change(furnished, "UPDATE survey SET closed = NULL")
    change(
        furnished,
        f"UPDATE ledger_entry SET day = '{far}' WHERE person = '{person}' AND sequence = 1",
    )
    assert {one.check for one in wrong(furnished)} == {"clock", "ledger"}


@pytest.mark.postgres
@pytest.mark.parametrize("seconds", [-300, 300])
def test_a_clock_that_is_not_the_databases(furnished: Services, seconds: int) -> None:
    """A clock minutes before or after PostgreSQL's is found, with how much."""
    if furnished.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no clock of its own")
    now = datetime.now(UTC) + timedelta(seconds=seconds)
    found = examine(Settings(url_of(furnished)), now=lambda: now)
    only(
        [one for one in found if one.status == "problem"],
        "clock",
        "ahead of" if seconds > 0 else "behind",
    )


def test_a_survey_that_was_changed(furnished: Services) -> None:
    """A survey that asks another thing than when it was opened is found."""
    column = "CAST(definition AS TEXT)"
    changed = f"REPLACE({column}, 'Have you', 'Had you')"
    if furnished.engine.dialect.name == "postgresql":
        changed = f"CAST({changed} AS JSON)"
    change(furnished, f"UPDATE survey SET definition = {changed}")
    only(wrong(furnished), "surveys", furnished.surveys.records()[0].token)


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX's")
def test_a_file_that_others_may_read(sqlite_services: Services) -> None:
    """An SQLite file that other accounts can reach is found; in a private folder it is not."""
    file = Settings(url_of(sqlite_services)).sqlite_file
    assert file is not None
    assert file.stat().st_mode & 0o777 == 0o600
    file.parent.chmod(0o755)
    file.chmod(0o644)
    only(wrong(sqlite_services), "permissions", str(file), "chmod 600")
    file.parent.chmod(0o700)
    assert wrong(sqlite_services) == []


def test_rows_in_the_order_of_arrival(sqlite_services: Services) -> None:
    """A file or a log that tells the order of arrival is a problem once it is not fresh."""
    survey = sqlite_services.surveys.open_survey(define())
    file = Settings(url_of(sqlite_services)).sqlite_file
    assert file is not None
    url = url_of(sqlite_services)
    sqlite_services.close()
    services = Services.open(url, rewrites=False)

    def order(seconds: int) -> list[CheckResult]:
        later = datetime.now(UTC) + timedelta(seconds=seconds)
        found = examine(Settings(url), now=lambda: later)
        return [one for one in found if one.check == "order"]

    for _ in range(12):
        Device().send(services, survey)
    only(order(0), "order", "look again", status="skipped")
    only(order(120), "order", "-wal has held")
    with services.engine.connect() as connection:
        connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    only(order(120), "order", "rows lie in the order of arrival")
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    only(order(120), "order", "as after a rewriting", status="ok")
    services.close()


def test_a_file_too_large_to_be_rewritten_often(
    sqlite_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large file the doctor says how seldom it is rewritten, and names a remedy."""
    sqlite_services.close()
    monkeypatch.setattr(database_checks, "LARGE", 10**5)
    only(wrong(sqlite_services), "order", "once a day only", "sealed", status="warning")


@pytest.mark.postgres
def test_what_postgresql_keeps_of_the_order_of_arrival(
    services: Services, postgres_server: Any
) -> None:
    """Rows not rewritten for days are a problem; an account without rights is warned."""
    if services.engine.dialect.name == "sqlite":
        pytest.skip("SQLite's file is looked at itself")
    survey = services.surveys.open_survey(define())
    for _ in range(2):
        Device().send(services, survey)
    only(wrong(services), "order", "never", "xmin")
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    assert wrong(services) == []
    change(
        services,
        "UPDATE setting SET value = '2026-03-01' WHERE key = 'rewritten'",
        "UPDATE ledger_balance SET open = open",
    )
    Device().send(services, survey)
    only(wrong(services), "order", "on 2026-03-01")
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    database = services.engine.url.database
    change(services, f"ALTER DATABASE {database} SET log_statement = 'all'")
    only(wrong(services), "order", "log_statement is all", status="warning")
    change(services, f"ALTER DATABASE {database} RESET log_statement")
    change(services, f"ALTER DATABASE {database} SET wal_recycle = on")
    only(wrong(services), "order", "wal_recycle is on", status="warning")
    change(services, f"ALTER DATABASE {database} RESET wal_recycle")
    name = f"nobody_{os.getpid()}"
    postgres_server.execute(f"CREATE ROLE {name} LOGIN")
    try:
        change(services, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        url = services.engine.url.set(username=name).render_as_string(hide_password=False)
        found = list(examine(Settings(url), now=lambda: datetime.now(UTC)))
        only([one for one in found if one.check == "order"], "order", "GRANT", status="warning")
    finally:
        change(services, f"DROP OWNED BY {name}")
        postgres_server.execute(f"DROP ROLE {name}")


def test_a_full_disk(sqlite_services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without room is a problem, and one with little a warning."""
    usage = shutil.disk_usage("/")
    file = Settings(url_of(sqlite_services)).sqlite_file
    assert file is not None
    sqlite_services.close()
    with file.open("r+b") as opened:
        opened.truncate(15 * 10**7)
    for free, status in ((10**8, "problem"), (25 * 10**7, "problem"), (35 * 10**7, "warning")):
        left = usage._replace(free=free)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _, left=left: left)
            only(wrong(sqlite_services), "room", "free", status=status)


def test_a_damaged_file(sqlite_services: Services) -> None:
    """A file with overwritten pages is a problem, and no crash."""
    survey = sqlite_services.surveys.open_survey(define())
    for _ in range(20):
        Device().send(sqlite_services, survey)
    file = Settings(url_of(sqlite_services)).sqlite_file
    assert file is not None
    with sqlite_services.engine.connect() as connection:
        connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sqlite_services.close()
    content = file.read_bytes()
    content = content[: 2 * 4096] + os.urandom(len(content) - 2 * 4096)
    file.write_bytes(content)
    found = [one for one in examine(Settings(url_of(sqlite_services))) if one.status == "problem"]
    assert found
    assert {one.check for one in found} <= {"file", "database", "ledger", "surveys", "tables"}


def test_no_database(tmp_path: Path) -> None:
    """A database that is not there is a problem and is not made."""
    file = tmp_path / "none.sqlite3"
    found = [one for one in examine(Settings(f"sqlite:///{file}")) if one.status == "problem"]
    only(found, "database", str(file))
    assert not file.exists()


@pytest.mark.postgres
def test_a_database_that_cannot_be_reached() -> None:
    """A PostgreSQL that does not answer is a problem without a password in it."""
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:geheim@127.0.0.1:1/none"
    found = [one for one in examine(Settings(url)) if one.status == "problem"]
    only(found, "database")
    assert "geheim" not in found[0].detail


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("change", "reason", "advice"),
    [
        ({"port": 1}, "Connection refused", "is it running, and are host and port"),
        ({"host": "nowhere.invalid"}, "nowhere.invalid", "check the host"),
        ({"database": "absent"}, 'database "absent" does not exist', "make this database"),
        ({"username": "nobody"}, 'role "nobody" does not exist', "make this user"),
    ],
)
def test_why_a_database_cannot_be_reached(
    postgres_server: PostgresServer, change: dict[str, Any], reason: str, advice: str
) -> None:
    """A wrong host, port, user and database are each told, with advice."""
    url = make_url(postgres_server.url("postgres")).set(password="geheim", **change)
    address = url.render_as_string(hide_password=False)
    found = [one for one in examine(Settings(address)) if one.status == "problem"]
    only(found, "database", reason, advice)
    assert "geheim" not in found[0].detail


def test_a_missing_right_is_told_before_the_name_beside_it() -> None:
    """A database that an account may not use is there: the advice is not to make it."""
    error = OperationalError("", {}, Exception('FATAL:  permission denied for database "surveys"'))
    assert _why(error).endswith('for database "surveys"; give this account the right to it.')


def test_a_wrong_password_is_told() -> None:
    """The server's words on a password are told with the setting to check."""
    words = (
        'connection failed: connection to server at "::1", port 5432 failed: FATAL:  password '
        'authentication failed for user "ann"'
    )
    said = _why(OperationalError("SELECT 1", {}, Exception(words)))
    assert 'password authentication failed for user "ann"; check the user and the password' in said


@pytest.mark.parametrize(
    ("settings", "status", "word"),
    [
        ({"public_url": "http://surveys.example"}, "problem", "in the clear"),
        ({"public_url": "https://surveys.example"}, None, ""),
        ({"public_url": "http://localhost:8080"}, None, ""),
        ({"public_url": "http://[::1]:8080"}, None, ""),
        ({"host": "0.0.0.0"}, "warning", "TLS"),
        ({"host": "0.0.0.0", "public_url": "https://surveys.example"}, None, ""),
        ({"allow_clear": True}, "warning", "allow_clear"),
        ({"trusted_proxies": "*"}, "problem", "trusted_proxies"),
        ({"metrics": "open"}, "warning", "/metrics"),
        ({"metrics": "local"}, None, ""),
        ({"rate_address": 0, "public_url": "https://surveys.example"}, "warning", "rate_address"),
        ({"rate_participant": 0}, None, ""),
        ({"caps": Caps(Micro(1), Caps().delta, 3)}, "warning", "cap_clear"),
        ({"caps": Caps(Micro(0), Caps().delta)}, "warning", "cap_epsilon"),
    ],
)
def test_dangerous_settings(settings: dict[str, Any], status: str | None, word: str) -> None:
    """Each setting that endangers people is told, and each that does not is not."""
    found = list(settings_findings(Settings("sqlite://", **settings)))
    if status is None:
        assert [one.status for one in found] == ["ok"]
    else:
        only(found, "settings", word, status=status)


def test_settings_that_are_dangerous_together() -> None:
    """Answers in clear over a connection in the clear are worse than either."""
    both = Settings("sqlite://", public_url="http://surveys.example", allow_clear=True)
    assert [one.status for one in settings_findings(both)] == ["problem", "problem"]


def test_a_misspelt_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is no setting is told, with the one that was probably meant."""
    monkeypatch.setenv("MASQUERADE_PUBLIC_URI", "https://surveys.example")
    monkeypatch.setenv("MASQUERADE_SERVER", "https://surveys.example")  # of the surveyor's commands
    monkeypatch.setenv("MASQUERADE_TOKEN", "mq_1")
    only(
        list(settings_findings(Settings("sqlite://"))),
        "settings",
        "MASQUERADE_PUBLIC_URI",
        "MASQUERADE_PUBLIC_URL",
        status="warning",
    )


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are POSIX's")
def test_a_password_that_others_may_read(tmp_path: Path) -> None:
    """A file of settings with the database's password must be private."""
    file = tmp_path / "masquerade.toml"
    url = "postgresql+psycopg://me:geheim@db/masquerade"
    file.write_text(f'database = "{url}"\n')
    for mode, status in ((0o644, "problem"), (0o600, "ok")):
        file.chmod(mode)
        found = list(settings_findings(Settings(url, config=file)))
        assert [one.status for one in found] == [status]
        assert "geheim" not in found[0].detail
