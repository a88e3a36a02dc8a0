"""The bytes on the disk after a rewriting are a function of the rows, not of their arrival."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlalchemy import text
from tests.patience import PATIENCE_SECONDS, wait_until
from tests.server.devices import everything
from tests.server.operations.crowds import (
    COUNTERS,
    Crowd,
    differing,
    in_key_order,
    orders,
    plain,
)
from tests.server.operations.page_layout import arrival, chance, joined

from masquerade.server import Services

if TYPE_CHECKING:
    pass


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
        services = crowd.open(f"sqlite:///{file}")
        for person in order:
            crowd.come(services, survey, person, long=long, leaves=person < leaving)
        with closing(sqlite3.connect(file)) as reader:
            reader.execute("PRAGMA wal_checkpoint(PASSIVE)")
        before.append(file.read_bytes())
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        services.close()
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
        services = crowd.open(f"sqlite:///{file}")
        for place, person in enumerate(order):
            crowd.come(services, survey, person)
            if number and place % 3 == 0:
                assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        services.close()
        contents.append(file.read_bytes())
    found = differing(*contents)
    assert found
    assert all(any(place in counter for counter in COUNTERS) for place in found)


def linked(
    crowd: Crowd, file: Path, order: Sequence[int], *, rewritten: bool, salt: int
) -> tuple[int, list[float]]:
    """Attack the file of people that came in an order.

    Returns
    -------
    int, list of float
        How many participations were joined with their account of the ledger, and of each how many
        of the other accounts seemed likelier, as a share: a half by chance.
    """
    survey = crowd.empty(f"sqlite:///{file}")
    services = crowd.open(f"sqlite:///{file}")
    secrets_ = [crowd.secret(1000 * salt + person) for person in order]
    for person in order:
        crowd.come(services, survey, 1000 * salt + person)
    with services.engine.connect() as connection:
        key = connection.execute(text("SELECT pseudonym_key FROM survey")).scalar_one()
        rows = connection.execute(text("SELECT id, pseudonym, idempotency FROM participation"))
        participations = [tuple(row) for row in rows]
    truth = {i.pseudonym(key): i.person for i in map(services.identity, secrets_)}
    if rewritten:
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    services.close()
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
    [
        pytest.param(8, 8, marks=pytest.mark.exhaustive),
        pytest.param(12, 6, marks=pytest.mark.exhaustive),
        (24, 8),
        pytest.param(50, 16, marks=pytest.mark.exhaustive),
    ],
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
    services = Services.open(f"sqlite:///{file}", today=lambda: crowd.day)
    for person in range(12):
        crowd.come(services, survey, person)
    log = file.with_name(f"{file.name}-wal")
    wait_until("the log is not emptied", lambda: log.stat().st_size == 0)
    content = file.read_bytes()
    asked = crowd.open(f"sqlite:///{copy}")
    for person in reversed(range(12)):
        crowd.come(asked, survey, person)
    assert asked.transactions.rewrite(patience=PATIENCE_SECONDS)
    asked.close()
    found = differing(content, copy.read_bytes())
    assert all(any(place in counter for counter in COUNTERS) for place in found)
    services.close()


@pytest.mark.parametrize("event", ["close a survey", "sweep", "stop", "start"])
def test_a_file_is_rewritten_at_each_event(crowd: Crowd, tmp_path: Path, event: str) -> None:
    """Closing a survey, the daily sweep, the end and the beginning of a server rewrite the file."""
    file = tmp_path / "a.sqlite3"
    survey = crowd.empty(f"sqlite:///{file}")
    services = Services.open(f"sqlite:///{file}", today=lambda: crowd.day, rewrites=event == "stop")
    for person in range(12):
        crowd.come(services, survey, person)
    if event == "close a survey":
        services.surveys.close(survey)
    elif event == "sweep":
        services.daily_jobs.run()
    services.close()
    if event == "start":
        assert not in_key_order(file)
        services = Services.open(f"sqlite:///{file}", today=lambda: crowd.day)
        assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
        services.close()
    assert in_key_order(file)


KILLED = """
import os, sys, threading
from masquerade.server import Services

def rewrite_until_killed(seconds):
    services = Services.open(sys.argv[1], rewrites=False)
    threading.Timer(seconds, lambda: os.kill(os.getpid(), 9)).start()
    while True:
        services.transactions.rewrite()

# Each in a process of its own, which need not import everything again.
for seconds in sys.stdin:
    child = os.fork()
    if child == 0:
        rewrite_until_killed(float(seconds))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are POSIX's")
def test_killed_while_rewriting(crowd: Crowd, tmp_path: Path) -> None:
    """``kill -9`` in the middle of rewritings leaves a whole file with all rows."""
    file = tmp_path / "a.sqlite3"
    survey = crowd.empty(f"sqlite:///{file}")
    services = crowd.open(f"sqlite:///{file}")
    for person in range(60):
        crowd.come(services, survey, person, long=True)
    rows = everything(services)
    services.close()
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, f"sqlite:///{file}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(8):
            process.stdin.write(f"{0.05 + 0.013 * number}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "-9\n"
            with closing(plain(file)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0
    services = Services.open(f"sqlite:///{file}", today=lambda: crowd.day)
    assert services.transactions.rewrite(patience=PATIENCE_SECONDS)
    assert everything(services) == rows
    services.close()
    assert in_key_order(file)
