"""Either party stops at any point, or is away: nothing is lost, and nobody counts twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.server.parties.pairs import HELPER_KEY, LEADER, Pair, helper_at, open_leader
from tests.server.parties.test_two_parties import near

from masquerade.errors import OperationError, WrongState
from masquerade.server.db.transactions import Transactions
from masquerade.server.keys import ServerKey
from masquerade.server.parties import leader_jobs
from masquerade.server.parties.helper_services import HelperServices

PEOPLE, IN_JOB = 3, 2  # two jobs, the last of them not full
TRUTH = [[1, 1, 1], [0, 0, 0, PEOPLE, 0, 0]]


class Killed(Exception):
    """The process ends here."""


@contextmanager
def killed_at(transactions: Transactions, write: int, *, after: bool) -> Iterator[list[int]]:
    """End a process at its n-th transaction, before anything of it is kept or once all is."""
    real, count = transactions.write, [0]

    def deadly(work: Callable[..., Any]) -> Any:
        count[0] += 1
        if count[0] != write:
            return real(work)
        if after:
            real(work)
        raise Killed

    transactions.write = deadly  # type: ignore[method-assign]
    try:
        yield count
    finally:
        transactions.write = real  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(False, id="before", marks=pytest.mark.both_databases),
        # After a write a database is as before the next one, so one kind is enough.
        pytest.param(True, id="after"),
    ],
)
@pytest.mark.slow
def test_killed_at_every_step_of_adding_up(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """Wherever leader or helper ends, the next run goes on: each response counts exactly once."""
    monkeypatch.setattr(leader_jobs, "MOST_IN_JOB", IN_JOB)
    points = 0
    for place in ("leader", "helper"):
        party = pair.leader if place == "leader" else pair.helper
        number, reached = 0, True
        while reached:
            number += 1
            record = pair.open(rho="1.4", title=f"{place} {number}")
            pair.crowd(record, PEOPLE)
            participant, id_ = pair.send(record, {"lunch": "soup", "mood": "1"})
            pair.leader.participations.withdraw(pair.leader.identity(participant), id_)
            pair.close(record)
            with killed_at(party.transactions, number, after=after) as count:
                try:
                    pair.leader.aggregation.run()
                except Killed:
                    assert place == "leader"
            reached = count[0] >= number
            points += reached
            pair.leader.aggregation.run()
            result = pair.result(record)
            assert (result["responses"], result["refused"]) == (PEOPLE, 0)
            assert near(pair, record.token, TRUTH)
    assert points >= 10


@pytest.mark.both_databases
def test_killed_while_a_survey_is_proposed_and_answered(pair: Pair) -> None:
    """A proposal, an approval, an opening or a response that was cut off is made again."""
    pair.add_helper()
    survey = pair.define()
    for number in (1, 2):
        for after in (False, True):
            token = f"{number}{int(after)}".zfill(16)
            with killed_at(pair.leader.transactions, number, after=after):
                try:
                    asked = pair.ask(survey, token)
                    pair.helper.tasks.decide(asked["task"], approve=True)
                    pair.ask(survey, token)
                except Killed:
                    pass
            asked = pair.ask(survey, token)
            if asked["state"] == "proposed":
                pair.helper.tasks.decide(asked["task"], approve=True)
            assert pair.ask(survey, token)["state"] == "approved"
            with killed_at(pair.leader.transactions, 1, after=False), pytest.raises(Killed):
                pair.leader.surveys.open_survey(survey, token=token)
            assert pair.leader.surveys.open_survey(survey, token=token).state == "open"


def test_a_helper_may_be_away_for_the_whole_survey(tmp_path: Path, migrated_file: Path) -> None:
    """Responses are accepted, closing waits and says why, and nothing is lost."""
    leader_file = shutil.copy(migrated_file, tmp_path / "leader.sqlite3")
    helper_file = shutil.copy(migrated_file, tmp_path / "helper.sqlite3")
    leader = open_leader(f"sqlite:///{leader_file}")
    with helper_at(f"sqlite:///{helper_file}") as (helper, address):
        token = helper.access.new_leader_token()
        assert token is not None
        pair = Pair(leader, helper, address, token)
        record = pair.open()
    pair.crowd(record, PEOPLE)
    pair.close(record)
    assert leader.aggregation.run() == 0
    assert "does not answer" in str(leader.aggregation.progress(record.token)["obstacle"])
    with pytest.raises(WrongState, match="does not answer"):
        pair.result(record)
    port = int(address.rpartition(":")[2])
    # Another one at its address, with another key and no task, gets nothing and ends nothing.
    stranger = shutil.copy(migrated_file, tmp_path / "stranger.sqlite3")
    with helper_at(f"sqlite:///{stranger}", key=ServerKey("66" * 32), port=port):
        assert leader.aggregation.run() == 0
        assert leader.aggregation.progress(record.token)["state"] == "verifying"
    with helper_at(f"sqlite:///{helper_file}", port=port):
        assert leader.aggregation.run() == 1
        assert pair.result(record)["responses"] == PEOPLE
        assert leader.aggregation.progress(record.token)["obstacle"] is None
    leader.close()


def test_a_helper_does_not_start_with_another_key(tmp_path: Path, migrated_file: Path) -> None:
    """Its database belongs to its key, so that its fingerprint never changes unnoticed."""
    url = f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'h.sqlite3')}"
    opened = partial(HelperServices.open, url, address=LEADER, operator="Somebody")
    opened(server_key=HELPER_KEY).close()
    with pytest.raises(OperationError, match="another server key"):
        opened(server_key=ServerKey("66" * 32))


def test_one_database_is_never_of_both_parties(sqlite_pair: Pair) -> None:
    """The holder of both halves reads every answer, so no process opens the other's database."""
    sqlite_pair.open()
    leader, helper = (str(one.engine.url) for one in (sqlite_pair.leader, sqlite_pair.helper))
    with pytest.raises(OperationError, match="has surveys"):
        HelperServices.open(leader, server_key=ServerKey("1d" * 32), address=LEADER, operator="x")
    with pytest.raises(OperationError, match="is a helper's"):
        open_leader(helper)


def test_an_expired_task_is_forgotten(sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its last day a task has no keys any more, and the survey says so."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 4)
    sqlite_pair.close(record)
    tasks = sqlite_pair.helper.tasks
    assert tasks.expire() == 0
    end = tasks.tasks()[0].split.terms.expires
    monkeypatch.setattr(tasks, "_clock", lambda: float(end))
    assert tasks.expire() == 1
    assert sqlite_pair.leader.aggregation.run() == 1
    with pytest.raises(WrongState, match="expired"):
        sqlite_pair.result(record)
