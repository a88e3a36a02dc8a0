"""The faults of a soak: kills of processes, and others that pass after seconds."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from tools.soak.processes import PostgreSQL, Server

_PASSES = (2.0, 6.0)  # seconds


class Faults:
    """All kinds of faults, each as often as the others, in a random order.

    `servers`: the leader first, on one database; `files`: SQLite's, where there are any.
    """

    def __init__(
        self,
        servers: list[Server],
        helper: Server,
        database: PostgreSQL | None,
        files: list[Path],
    ) -> None:
        self._servers, self._helper = servers, helper
        self._database, self._files = database, files
        self.counts: Counter[str] = Counter()
        leader = servers[0]
        self._kills: dict[str, Callable[[], None]] = {
            "worker": lambda: _kill_worker(leader),
            "leader": lambda: leader.end(signal.SIGKILL),
            "leader, told to end": lambda: leader.end(signal.SIGTERM),
            "second server": lambda: servers[-1].end(signal.SIGKILL),
            "helper": lambda: helper.end(signal.SIGKILL),
            "helper, told to end": lambda: helper.end(signal.SIGTERM),
            "worker of the helper": lambda: _kill_worker(helper),
        }
        self._passing: dict[str, Callable[[], None]] = {
            "writes fail": self._writes_fail,
            "frozen worker": self._freeze,
            "log rotated": self._rotate,
        }
        if leader.library is not None:
            self._passing["clock forward"] = lambda: self._turn_clock(random.uniform(1, 36))
            self._passing["clock back"] = lambda: self._turn_clock(-random.uniform(1, 36))
        if database is not None:
            self._kills["PostgreSQL"] = self._kill_database
            self._passing["database read-only"] = self._read_only
        else:
            self._passing["database locked"] = self._lock
        self._next_kills: list[str] = []
        self._next_passing: list[str] = []

    def kill(self) -> str:
        """Kill something."""
        return self._do(self._kills, self._next_kills)

    def disturb(self) -> str:
        """Let something fail that passes."""
        return self._do(self._passing, self._next_passing)

    def _do(self, known: dict[str, Callable[[], None]], waiting: list[str]) -> str:
        if not waiting:
            waiting.extend(random.sample(sorted(known), len(known)))
        kind = waiting.pop()
        known[kind]()
        self.counts[kind] += 1
        return kind

    def _any(self) -> Server:
        return random.choice([*self._servers, self._helper])

    def _kill_database(self) -> None:
        assert self._database is not None
        self._database.stop()
        time.sleep(random.random() * 2)
        self._database.start()

    def _read_only(self) -> None:
        assert self._database is not None
        self._database.read_only(True)
        _pass()
        self._database.read_only(False)

    def _lock(self) -> None:
        """Hold SQLite's lock, as another program would that reads the file in a wrong way."""
        with closing(sqlite3.connect(random.choice(self._files), timeout=30)) as connection:
            connection.isolation_level = None
            connection.execute("BEGIN IMMEDIATE")
            _pass()
            connection.execute("ROLLBACK")

    def _writes_fail(self) -> None:
        """Let every write to a file fail, as on a disk that turned read-only."""
        server = self._any()
        server.limit_files(0)
        _pass()
        server.limit_files(-1)

    def _freeze(self) -> None:
        workers = self._any().workers()
        if workers:
            worker = random.choice(workers)
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
                _pass()
                os.kill(worker, signal.SIGCONT)

    def _turn_clock(self, hours: float) -> None:
        server = self._any()
        server.turn_clock(hours)
        _pass()
        server.turn_clock(0)

    def _rotate(self) -> None:
        self._any().rotate()


def _kill_worker(server: Server) -> None:
    workers = server.workers()
    if workers:
        with suppress(ProcessLookupError):
            os.kill(random.choice(workers), signal.SIGKILL)


def _pass() -> None:
    time.sleep(random.uniform(*_PASSES))
