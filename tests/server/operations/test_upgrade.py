"""A database of any earlier revision, or a backup of one, comes to this version with every row."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Engine, MetaData, Table, insert, select

from masquerade.accounting import Caps, Charge, Cost, Entry, Ledger, append
from masquerade.errors import WrongSchema
from masquerade.exact import Micro
from masquerade.mechanisms import parse_mechanism
from masquerade.server import Services, Settings
from masquerade.server.db.engine import (
    VERSION_TABLE,
    connect,
    migrate,
    newest_revision,
    revision,
    revisions,
)
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.operations.backup import backup
from masquerade.server.operations.doctor import examine
from masquerade.server.operations.restore import restore

if TYPE_CHECKING:
    from tests.server.operations.conftest import NewDatabase

pytestmark = pytest.mark.both_databases

MECHANISM = "randomized-response:options=2,flip_probability=0.25"
PEOPLE, SURVEYS = 12, ("aa", "bb")
FIRST_DEFINITION = {
    "title": "Old",
    "description": "",
    "template": "pick",
    "level": "medium",
    "questions": [
        {
            "kind": "choice",
            "id": "c",
            "text": "?",
            "options": ["A", "B"],
            "allow_skip": False,
            "truth": None,
        }
    ],
    "mechanisms": [MECHANISM],
}

Rows = dict[str, list[dict[str, Any]]]


def person_of(number: int) -> str:
    """Return a name of the ledger."""
    return hashlib.sha256(f"person {number}".encode()).hexdigest()


def tables_of(engine: Engine) -> dict[str, Table]:
    """Return the tables that are there."""
    metadata = MetaData()
    metadata.reflect(engine)
    return {name: table for name, table in metadata.tables.items() if name != VERSION_TABLE}


def rows_of(engine: Engine) -> Rows:
    """Return every row of every table."""
    with engine.connect() as connection:
        return {
            name: [dict(row._mapping) for row in connection.execute(select(table))]
            for name, table in tables_of(engine).items()
        }


def put(engine: Engine, table: str, rows: list[dict[str, Any]]) -> None:
    """Write rows."""
    with engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(tables_of(engine)[table]), rows)


def fill_surveys(engine: Engine, **more: Any) -> None:
    """Write the surveys and a secret, as both early revisions did."""
    canonical = json.dumps(FIRST_DEFINITION, sort_keys=True, separators=(",", ":"))
    common: dict[str, Any] = {
        "title": "Old",
        "definition": FIRST_DEFINITION,
        "hash": hashlib.sha256(canonical.encode()).hexdigest(),
        "pseudonym_key": "ab" * 32,
        "opened": "2026-01-01",
    }
    rows: list[dict[str, Any]] = [
        {**common, "token": "aa", "state": "open", "closed": None},
        {**common, "token": "bb", "state": "closed", "closed": "2026-01-09"},
    ]
    put(engine, "survey", [{**row, **more} for row in rows])
    put(engine, "setting", [{"key": "person_key", "value": "cd" * 32}])


def fill_first(engine: Engine) -> None:
    """Write what the first revision holds."""
    fill_surveys(engine)
    cost = parse_mechanism(MECHANISM).guarantee().epsilon_user.micro
    responses, entries = [], []
    for number in range(PEOPLE):
        previous: Entry | None = None
        for place, survey in enumerate(SURVEYS[: 1 + number % 2]):
            name = hashlib.sha256(f"{number}{survey}".encode()).hexdigest()
            responses.append(
                {"id": name[:32], "survey": survey, "pseudonym": name, "reports": [number % 2]}
            )
            spent = Cost(survey, (MECHANISM,), Micro(cost), Micro(cost))
            previous = append(Charge(person_of(number), spent, "2026-01-02"), previous)
            entries.append(
                {
                    "person": person_of(number),
                    "sequence": place,
                    "survey": survey,
                    "mechanisms": [MECHANISM],
                    "event_micro": cost,
                    "user_micro": cost,
                    "day": "2026-01-02",
                    "previous_hash": previous.previous_hash,
                    "hash": previous.hash,
                }
            )
    put(engine, "response", responses)
    put(engine, "ledger_entry", entries)


def fill_second(engine: Engine) -> None:
    """Write what the second revision holds."""
    fill_surveys(engine, listed=True)
    states = ("reserved", "opened", "sealed", "submitted", "withdrawn", "expired", "abandoned")
    participations = []
    with engine.execution_options(write=True).begin() as connection:
        ledger = Ledger(LedgerTables(connection), clock=lambda: "2026-01-02", caps=Caps())
        for number in range(PEOPLE):
            state = states[number % len(states)]
            name = hashlib.sha256(f"{number}".encode()).hexdigest()
            participations.append(
                {
                    "id": name[:32],
                    "survey": SURVEYS[number % 2],
                    "pseudonym": name,
                    "level": "medium",
                    "state": state,
                    "attempt": 1,
                    "day": "2026-01-02" if state == "reserved" else None,
                    "idempotency": name,
                    "commitment": name if state in ("sealed", "submitted") else None,
                    "reports": [number % 2] if state == "submitted" else None,
                }
            )
            cost = Cost.of(SURVEYS[number % 2], [parse_mechanism(MECHANISM)])
            ledger.reserve(person_of(number), name, cost)
            if state == "expired":
                ledger.release(person_of(number), name)
            elif state != "reserved":
                ledger.commit(person_of(number), name)
    put(engine, "participation", participations)
    put(engine, "caps_to_come", [{"person": person_of(0), "caps": "12,1/2,0", "day": "2026-09-09"}])


def require_kept(before: Rows, after: Rows, columns: dict[str, set[str]] | None = None) -> None:
    """Fail where a row of before is not there after, with all that it held."""
    for name, rows in before.items():
        for row in rows:
            kept = {k: v for k, v in row.items() if columns is None or k in columns[name]}
            assert any(kept.items() <= other.items() for other in after[name]) or any(
                all(other.get(k) == v for k, v in kept.items()) for other in after[name]
            ), (name, kept)
        assert len(rows) == len(after[name])


def require_sound(url: str) -> None:
    """Fail where the doctor finds a problem in the database."""
    found = [one for one in examine(Settings(url)) if one.check in ("schema", "tables", "ledger")]
    assert [one.detail for one in found if one.status != "ok"] == []


@pytest.mark.parametrize("through", ["migration", "backup"])
def test_from_the_second_revision(
    empty_database_url: str, new_database: NewDatabase, through: str
) -> None:
    """Every row of every table of the second revision is there afterwards, as it was."""
    engine = connect(empty_database_url)
    migrate(engine, to="0002")
    fill_second(engine)
    before = rows_of(engine)
    assert len(before["participation"]) == PEOPLE
    for row in before["participation"]:  # how often one lapsed is forgotten once it is open
        row["attempt"] *= row["state"] in ("reserved", "expired")
    url = empty_database_url
    if through == "backup":
        file = io.BytesIO()
        assert backup(engine, file, server_key=None).revision == "0002"
        file.seek(0)
        url = new_database("sqlite")
        assert restore(file, url, server_key=None).made_at == "0002"
    engine.dispose()
    services = Services.open(url)
    require_kept(before, rows_of(services.engine))
    assert services.ledger.verify() == len(before["ledger_entry"])
    assert services.values.secret("person_key") == "cd" * 32
    services.close()
    require_sound(url)


@pytest.mark.parametrize("through", ["migration", "backup"])
def test_from_the_first_revision(
    empty_database_url: str, new_database: NewDatabase, through: str
) -> None:
    """Surveys and secrets stay as they were; every response and every charge is there, once."""
    engine = connect(empty_database_url)
    migrate(engine, to="0001")
    fill_first(engine)
    before = rows_of(engine)
    url = empty_database_url
    if through == "backup":
        file = io.BytesIO()
        assert backup(engine, file, server_key=None).revision == "0001"
        file.seek(0)
        url = new_database("sqlite")
        assert restore(file, url, server_key=None).made_at == "0001"
    engine.dispose()
    services = Services.open(url)
    after = rows_of(services.engine)
    same = {name: before[name] for name in ("survey", "setting")}
    require_kept(same, after)
    names = ("id", "survey", "pseudonym", "reports")
    kept = [{name: row[name] for name in names} for row in after["participation"]]
    assert sorted(kept, key=repr) == sorted(
        [{name: row[name] for name in names} for row in before["response"]], key=repr
    )
    charges = {(row["person"], row["hash"]) for row in before["ledger_entry"]}
    assert {(row["person"], row["key"]) for row in after["ledger_entry"]} == charges
    assert services.ledger.verify() == len(charges)
    services.close()
    require_sound(url)


def test_a_schema_from_the_future_is_refused(empty_database_url: str) -> None:
    """A database that a newer version made is an error that says so, and stays as it is."""
    engine = connect(empty_database_url)
    migrate(engine)
    with engine.execution_options(write=True).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(WrongSchema, match="9999"):
        migrate(engine)
    with engine.connect() as connection:
        assert revision(connection) == "9999"
    engine.dispose()


def test_revisions_are_a_line() -> None:
    """The revisions follow each other from the first, each with words for people."""
    known = revisions()
    assert list(known)[:2] == ["0001", "0002"]
    assert list(known) == sorted(known)
    assert all(known.values())
    assert newest_revision() == list(known)[-1]
