"""A response and its charge are kept together, once, under names that do not lead to a person."""

from __future__ import annotations

import random
import secrets
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import Device, all_at_once, everything
from tests.surveys.small_surveys import define

from masquerade.errors import ParameterError, WrongState
from masquerade.server import Services
from masquerade.server.db.tables import METADATA
from masquerade.server.parties.proposals import _expiry
from masquerade.server.surveys.rewards import Reward
from masquerade.surveys import Choice
from masquerade.surveys.survey import commitment_of

if TYPE_CHECKING:
    from collections.abc import Sequence


pytestmark = pytest.mark.both_databases

THREADS = 16


def test_a_survey_opens_and_closes(services: Services) -> None:
    """An opened survey comes back as it was defined, and closing it ends it on this day."""
    definition = define()
    opened = services.surveys.open_survey(definition)
    assert services.surveys.record(opened.token) == opened
    assert (opened.state, opened.opened, opened.closed) == ("open", "2026-03-14", None)
    assert (opened.survey, opened.hash) == (definition, definition.content_hash())
    closed = services.surveys.close(opened)
    assert (closed.state, closed.closed, closed.responses) == ("closed", "2026-03-14", 0)
    assert services.surveys.record(opened.token) == closed


def test_closing_again_keeps_the_first_day(database_url: str) -> None:
    """Closing a closed survey on a later day is refused, and changes nothing."""
    days = ["2026-01-02"]
    services = Services.open(database_url, today=lambda: days[-1])
    survey = services.surveys.open_survey(define())
    closed = services.surveys.close(survey)
    assert closed.closed == "2026-01-02"
    days.append("2026-01-03")
    with pytest.raises(WrongState):
        services.surveys.close(closed)
    assert services.surveys.record(survey.token).closed == "2026-01-02"
    services.close()


def test_tokens_are_unguessable(services: Services) -> None:
    """Two surveys of the same definition have different tokens of at least 64 bits."""
    tokens = {services.surveys.open_survey(define()).token for _ in range(5)}
    assert len(tokens) == 5
    assert all(len(token) == 16 and int(token, 16) >= 0 for token in tokens)


def test_surveys_come_open_ones_first(services: Services) -> None:
    """The list of surveys shows open ones first, each group by title, with counts."""
    old = services.surveys.open_survey(define(title="A"))
    second = services.surveys.open_survey(define(title="C"))
    first = services.surveys.open_survey(define(title="B"))
    Device().send(services, old)
    services.surveys.close(old)
    found = [(s.token, s.responses) for s in services.surveys.records()]
    assert found == [(first.token, 0), (second.token, 0), (old.token, 1)]


def test_a_survey_with_answers_in_clear_needs_the_server_to_allow_it(tmp_path: Path) -> None:
    """Level none is refused unless the server allows it, and its cost is counted apart."""
    definition = define(levels=("none", "low"))
    services = Services.open(f"sqlite:///{tmp_path / 'a.sqlite3'}")
    with pytest.raises(ParameterError, match="MASQUERADE_ALLOW_CLEAR"):
        services.surveys.open_survey(definition)
    assert services.surveys.records() == []
    services.close()
    services = Services.open(f"sqlite:///{tmp_path / 'b.sqlite3'}", allow_clear=True)
    assert services.surveys.open_survey(definition).survey == definition
    services.close()


def test_many_participants_at_once(services: Services) -> None:
    """Responses of many participants at once are all kept, each charged to its own ledger."""
    survey = services.surveys.open_survey(define())
    crowds = [[Device() for _ in range(4)] for _ in range(THREADS)]

    def send_all(crowd: list[Any]) -> int:
        return len([device.send(services, survey, [1, 4]) for device in crowd])

    outcomes = all_at_once(*(lambda crowd=crowd: send_all(crowd) for crowd in crowds))
    assert outcomes == [4] * THREADS
    assert (
        services.surveys.record(survey.token).responses
        == len(services.profiles.persons())
        == 4 * THREADS
    )
    assert services.ledger.verify() == 2 * 4 * THREADS


def test_closing_while_responses_arrive(services: Services) -> None:
    """Accepted responses are counted at the close, and nothing is accepted or charged after it."""
    survey = services.surveys.open_survey(define())
    pause = random.Random(5).uniform(0.01, 0.1)

    def send_some() -> list[bool]:
        accepted = []
        for _ in range(6):
            try:
                Device().send(services, survey)
                accepted.append(True)
            except WrongState:
                accepted.append(False)
        return accepted

    def close() -> int:
        time.sleep(pause)
        return services.surveys.close(survey).responses

    *sent, at_close = all_at_once(*[send_some] * (THREADS - 1), close)
    assert [outcome for outcome in sent if isinstance(outcome, Exception)] == []
    accepted = sum(sum(outcome) for outcome in sent)
    assert at_close == accepted == len(services.reports.of_survey(survey.token))
    assert services.ledger.statistics().reservations == 0
    assert all(outcome == sorted(outcome, reverse=True) for outcome in sent)


def test_the_owner_token_works_once(services: Services) -> None:
    """An owner token is good for one use, is kept as a hash only, and ends with the next one."""
    first = services.values.new_owner_token()
    second = services.values.new_owner_token()
    assert len({first, second}) == 2
    assert min(len(first), len(second)) >= 32
    assert not services.values.spend_owner_token(first)
    assert not services.values.spend_owner_token("")
    assert not services.values.spend_owner_token(second[:-1])
    assert services.values.spend_owner_token(second)
    assert not services.values.spend_owner_token(second)
    assert not services.values.spend_owner_token("")


def test_the_owner_token_is_not_kept(services: Services) -> None:
    """The database holds no owner token that could be used."""
    token = services.values.new_owner_token()
    assert token not in repr(everything(services))


def test_the_owner_token_works_once_at_once(services: Services) -> None:
    """Of many that spend one owner token at once, one succeeds."""
    token = services.values.new_owner_token()
    outcomes = all_at_once(*[lambda: services.values.spend_owner_token(token)] * THREADS)
    assert sorted(outcomes) == [False] * (THREADS - 1) + [True]


def test_everything_survives_reopening(database_url: str) -> None:
    """Surveys, responses, ledgers and secrets are the same after the store is opened again."""
    services = Services.open(database_url)
    survey = services.surveys.open_survey(define(), simulated_truth={"ill": [0.25, 0.75]})
    device, token = Device(), services.values.new_owner_token()
    device.send(services, survey, [1, 4])
    key, ledger = (
        services.values.secret("challenge_key"),
        services.ledger.entries(services.identity(device.participant).person),
    )
    before = everything(services)
    services.close()
    again = Services.open(database_url)
    assert everything(again) == before
    assert again.ledger.verify() == 2
    assert again.values.secret("challenge_key") == key
    assert again.ledger.entries(again.identity(device.participant).person) == ledger
    assert again.surveys.record(survey.token).simulated_truth == {"ill": [0.25, 0.75]}
    assert again.values.spend_owner_token(token)
    with pytest.raises(WrongState, match="is submitted"):
        device.send(again, survey)
    again.close()


def test_processes_can_start_together(empty_database_url: str) -> None:
    """Several processes that open an empty database at once all succeed, with one set of keys."""
    program = (
        "import sys\n"
        "from masquerade.server import Services\n"
        "services = Services.open(sys.argv[1])\n"
        "print(services.values.secret('challenge_key'))\n"
        "services.close()\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, empty_database_url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=PATIENCE_SECONDS) for process in running]
    assert [process.returncode for process in running] == [0, 0], outcomes
    assert len({output for output, _ in outcomes}) == 1


def test_names_do_not_lead_to_a_person(services: Services) -> None:
    """A participant has another pseudonym in every survey, none of them the ledger's name."""
    surveys = [services.surveys.open_survey(define()) for _ in range(3)]
    devices = [Device(), Device()]
    for survey in surveys:
        for device in devices:
            device.send(services, survey)
    names = [r.pseudonym for survey in surveys for r in services.reports.of_survey(survey.token)]
    names += [
        services.ledger.entries(services.identity(device.participant).person)[0].charge.person
        for device in devices
    ]
    assert len(set(names)) == len(names) == 8
    assert all(len(name) == 64 for name in names)


def test_the_participant_secret_is_nowhere(services: Services, tmp_path: Path) -> None:
    """No table and no file of the database contains a participant's secret."""
    survey = services.surveys.open_survey(define())
    device = Device()
    device.send(services, survey)
    assert device.participant not in repr(everything(services))
    secret, raw = device.participant.encode(), bytes.fromhex(device.participant)
    for file in tmp_path.rglob("*"):
        held = file.read_bytes() if file.is_file() else b""
        assert secret not in held
        assert raw not in held


def test_what_was_withdrawn_is_in_no_file(sqlite_services: Services, tmp_path: Path) -> None:
    """After the daily sweep no file holds a withdrawn commitment, and the log of changes is empty.

    The log holds side by side what was changed together: a participation and a ledger's entry.
    """
    survey = sqlite_services.surveys.open_survey(define())
    gone, stays = Device(), Device()
    salt = secrets.token_hex(16)
    commitments: list[bytes] = []

    def held() -> list[bool]:
        files = b"".join(file.read_bytes() for file in tmp_path.glob("store.sqlite3*"))
        return [commitment in files for commitment in commitments]

    for device in (gone, stays):
        begun = device.open(sqlite_services, survey)
        commitments.append(commitment_of(begun.id, [0, 0], salt).encode())
        who = sqlite_services.identity(device.participant)
        sqlite_services.participations.seal(who, begun.id, commitments[-1].decode())
        device.respond(sqlite_services, begun, [0, 0], salt)
        # Asked before the withdrawal: from then on a rewriting by itself may come at any time.
        assert held()[-1]
        if device is gone:
            sqlite_services.participations.withdraw(who, begun.id)

    sqlite_services.daily_jobs.run()
    assert (tmp_path / "store.sqlite3-wal").stat().st_size == 0
    assert held() == [False, True]


def test_two_servers_give_one_person_two_names(tmp_path: Path) -> None:
    """The ledger's name of a participant depends on the server's own key."""
    device, people = Device(), set()
    for number in range(2):
        services = Services.open(f"sqlite:///{tmp_path / f'{number}.sqlite3'}")
        device.send(services, services.surveys.open_survey(define()))
        people.add(services.profiles.persons()[0])
        services.close()
    assert len(people) == 2


def test_the_order_of_arrival_is_not_kept(services: Services) -> None:
    """Responses come in the order of their random ids, and no row number tells another order."""
    survey = services.surveys.open_survey(define(Choice("q", "?", tuple("abcdefghij"))))
    names = []
    for report in range(10):
        device = Device()
        device.send(services, survey, [report])
        [begun], _ = services.profiles.invitations(
            services.identity(device.participant), after="", limit=9
        )
        assert begun.participation is not None
        names.append(begun.participation["id"])
    arrived = [response.reports[0] for response in services.reports.of_survey(survey.token)]
    assert [names[report] for report in arrived] == sorted(names)
    if services.engine.dialect.name == "sqlite":
        for table in ("participation", "ledger_entry", "ledger_balance"):
            with (
                services.engine.connect() as connection,
                pytest.raises(DBAPIError, match="no such"),
            ):
                connection.execute(text(f"SELECT rowid FROM {table}"))


_ADDRESSES_KEPT = {
    ("helper", "address"),  # of a second party's server, not of a person
    # Of invitations by e-mail: sealed, and deleted once nobody can begin the survey any more.
    ("recipient", "address"),
}


def test_no_column_for_what_must_not_be_kept() -> None:
    """No table has a column for a time, an address or a browser; participations have these only."""
    columns = {name: set(table.columns.keys()) for name, table in METADATA.tables.items()}
    assert columns["participation"] == {
        *("id", "survey", "pseudonym", "level", "state", "attempt", "day"),
        *("idempotency", "commitment", "reports"),
        "pairs",  # of a list that are shown: drawn before any answer of this person
    }
    for name, table in METADATA.tables.items():
        for column in table.columns:
            kind = str(column.type)
            assert not any(word in kind for word in ("DATE", "TIME", "FLOAT", "INET")), name
            for word in ("time", "stamp", "created", "updated", "ip", "address", "agent", "email"):
                if (name, column.key) in _ADDRESSES_KEPT:
                    continue
                assert word not in column.key.split("_"), (name, column.key)


def test_days_are_all_that_is_kept_of_time(services: Services) -> None:
    """No value in the database is finer than a day, and none says when questions were answered."""
    survey = services.surveys.open_survey(define())
    device = Device()
    reserved = Device().reserve(services, survey)
    device.send(services, survey)
    now = str(int(time.time()))[:6]
    with services.engine.connect() as connection:
        for table in METADATA.sorted_tables:
            for row in connection.execute(table.select()):
                for name, value in row._mapping.items():
                    if name in ("day", "opened", "closed") and value is not None:
                        assert value == "2026-03-14"
                    assert not (isinstance(value, int) and str(value).startswith(now))
    held = everything(services)["participation"]
    days = {row[0]: "2026-03-14" in row for row in held}
    assert sum(days.values()) == 1
    assert days[reserved.id]


def test_nothing_joins_a_person_and_a_pseudonym(services: Services) -> None:
    """No value but the survey's token and the day is both in the ledger and in participations."""
    surveys = [services.surveys.open_survey(define(level=level)) for level in ("high", "low")]
    for _ in range(3):
        device = Device()
        for survey in surveys:
            device.send(services, survey)
        Device().reserve(services, surveys[0])
    found = everything(services)

    def values(*tables: str) -> set[str]:
        return {
            value for t in tables for row in found[t] for value in row if isinstance(value, str)
        }

    shared = values("ledger_entry", "ledger_balance", "ledger_cost") & values("participation")
    assert shared == {survey.token for survey in surveys} | {"2026-03-14"}


def test_errors_of_the_database_do_not_tell_what_was_sent(services: Services) -> None:
    """The text of a database's error does not contain the values of the statement."""
    with services.engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(
            text("INSERT INTO nothing VALUES (:person, :reports)"),
            {"person": "cafe1234", "reports": "[3, 1, 4]"},
        )
    assert "cafe1234" not in str(caught.value)
    assert "[3, 1, 4]" not in str(caught.value)


def test_titles_of_any_script(services: Services) -> None:
    """Texts come back as they were written, in every script."""
    definition = define(
        Choice("q", "¿Qué? 何? 🎭", ("да", "non\u2028", "\\\"'")),
        title="🎭 مرحبا",
        description="a\nb\t",
    )
    survey = services.surveys.open_survey(definition)
    assert services.surveys.record(survey.token).survey == definition
    assert definition.content_hash() == survey.hash


def test_what_is_kept_is_on_the_disk(waiting_for_the_disk: Any, tmp_path: Path) -> None:
    """SQLite answers once the rows are on the disk, and overwrites deleted ones."""
    with closing(sqlite3.connect(tmp_path / "a.sqlite3")) as connection:
        waiting_for_the_disk(connection, None)
        values = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "secure_delete", "foreign_keys")
        ]
    assert values == [2, "wal", 1, 1]  # 2 is FULL


@pytest.mark.parametrize("paying", [False, True])
def test_who_came_back_after_a_lapse_is_not_told_by_a_row(services: Services, paying: bool) -> None:
    """Once the questions are shown, a participation does not tell how often it lapsed before.

    The ledger does, so that the one person who came back would be joined with their response.
    """
    reward = Reward("credits", {"medium": 3}) if paying else None
    survey = services.surveys.open_survey(define(), reward=reward)
    devices = [Device() for _ in range(3)]
    for _ in range(2):
        begun = devices[0].reserve(services, survey)
        services.participations.abandon(services.identity(devices[0].participant), begun.id)
    salt = "5a" * 16
    for device in devices:
        who = services.identity(device.participant)
        begun = device.open(services, survey)
        services.participations.seal(who, begun.id, commitment_of(begun.id, [0, 0], salt))
        first, new = device.respond(services, begun, [0, 0], salt)
        again, repeated = device.respond(services, begun, [0, 0], salt)
        assert (new, repeated) == (True, False)
        assert first.account is not None
        assert again.account is not None
        assert first.account.bill(first.key, first.level) == again.account.bill(
            again.key, again.level
        )
        assert (first.completion_code is not None) == paying
    attempts = {row.attempt for row in rows_of(services, "participation")}
    assert attempts == {0}
    kinds = sorted(
        len(services.ledger.entries(services.identity(device.participant).person))
        for device in devices
    )
    assert kinds == [2, 2, 6]


def rows_of(services: Services, table: str) -> Sequence[Any]:
    """Return the rows of a table."""
    with services.engine.connect() as connection:
        return connection.execute(text(f"SELECT * FROM {table}")).all()


def test_days_are_those_of_a_time_zone(tmp_path: Path) -> None:
    """A survey is opened on the day of the server's zone, from 26 hours of zones."""
    for place, name in enumerate(("Pacific/Kiritimati", "Etc/GMT+12", "UTC")):
        before = datetime.now(ZoneInfo(name)).date().isoformat()
        services = Services.open(f"sqlite:///{tmp_path / str(place)}", time_zone=name)
        opened = services.surveys.open_survey(define()).opened
        services.close()
        assert before <= opened <= datetime.now(ZoneInfo(name)).date().isoformat()


def test_the_last_day_ends_with_the_day_of_the_zone() -> None:
    """The day until which a helper keeps data ends at the midnight of the server's zone."""
    berlin = ZoneInfo("Europe/Berlin")
    utc, there = (_expiry(0, "2026-07-01", zone) for zone in (UTC, berlin))
    assert utc - there == 2 * 3600
