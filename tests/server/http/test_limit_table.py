"""Limits that several processes share: two together admit as many as one."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from masquerade.server.http.limit_table import LimitTable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

QUOTA, SECONDS = 50, 60.0


def admitted(table: LimitTable, asker: bytes, tries: int, now: float = 1000.0) -> int:
    """Return how many of so many requests at one moment are admitted."""
    return sum(not table.take(asker, now, quota=QUOTA, seconds=SECONDS)[1] for _ in range(tries))


def ask(table: LimitTable, told: Connection) -> None:
    """Ask in a process of its own, once it is told to, and tell how often it was admitted."""
    told.send("ready")
    told.recv()
    told.send([admitted(table, asker, QUOTA) for asker in (b"a", b"b")])


def test_processes_admit_together_what_one_admits() -> None:
    """Two processes that ask at once for two askers admit each of them the quota, exactly."""
    table, context = LimitTable.shared(), multiprocessing.get_context("spawn")
    lines, processes = [], []
    for _ in range(2):
        here, there = context.Pipe()
        process = context.Process(target=ask, args=(table, there))
        process.start()
        lines.append(here)
        processes.append(process)
    for line in lines:
        assert line.poll(60)
        assert line.recv() == "ready"
    for line in lines:
        line.send("go")
    found = []
    for line in lines:
        assert line.poll(60)
        found.append(line.recv())
    for process in processes:
        process.join(60)
    assert [sum(one) for one in zip(*found, strict=True)] == [QUOTA, QUOTA]
    assert admitted(table, b"a", 3) == 0
    table.close()


def test_allowances_come_back_evenly() -> None:
    """A share of the window brings one back, a whole window all, and never more."""
    table = LimitTable()
    assert admitted(table, b"a", QUOTA + 5) == QUOTA
    left, wait = table.take(b"a", 1000.0, quota=QUOTA, seconds=SECONDS)
    assert left == 0
    assert wait == pytest.approx(SECONDS / QUOTA)
    assert admitted(table, b"a", 5, now=1000.0 + SECONDS / QUOTA) == 1
    assert admitted(table, b"a", QUOTA + 5, now=5000.0) == QUOTA


def test_what_came_to_nothing_is_given_back() -> None:
    """A request that is given back can be made again; giving back another one is nothing."""
    table = LimitTable()
    table.give_back(b"a", quota=QUOTA, seconds=SECONDS)
    assert admitted(table, b"a", QUOTA + 1) == QUOTA
    table.give_back(b"a", quota=QUOTA, seconds=SECONDS)
    assert admitted(table, b"a", 3) == 1


def test_a_small_table_forgets_those_who_rested_most() -> None:
    """For any number of askers, the table stays as it is; a refused asker stays refused."""
    table = LimitTable(places=8)
    assert admitted(table, b"busy", QUOTA + 1) == QUOTA
    for number in range(1000):
        assert admitted(table, str(number).encode(), 1) == 1
    assert admitted(table, b"busy", 1) == 0


def test_nothing_of_an_asker_is_written() -> None:
    """The shared memory holds no asker, and not the key that names are made with."""
    table = LimitTable.shared(places=64)
    assert admitted(table, b"192.0.2.77-and-more", 1) == 1
    memory = table._memory[:]
    assert any(memory)
    assert b"192.0.2.77" not in memory
    assert table._key[:8] not in memory
    table.close()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs memory of no folder (Linux)")
def test_a_shared_table_needs_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody may write to a folder of temporary files, processes share a table too."""

    def refused(**_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    table = LimitTable.shared(places=64)
    assert admitted(table, b"a", QUOTA + 1) == QUOTA
    table.close()


def test_a_shared_table_in_a_file_that_is_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where there is no memory without a folder, the table's file is in no folder's list."""
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = LimitTable.shared(places=64)
    assert admitted(table, b"a", QUOTA + 1) == QUOTA
    assert list(tmp_path.iterdir()) == []
    table.close()


def test_a_table_of_one_process_is_not_handed_over() -> None:
    """A table that is not shared cannot be given to another process by mistake."""
    with pytest.raises(TypeError, match="make a shared one"):
        pickle.dumps(LimitTable())
