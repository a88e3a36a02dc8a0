"""More databases, and servers as processes of their own."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.server.operations.crowds import Crowd, Draws

if TYPE_CHECKING:
    from tests.conftest import PostgresServer

NewDatabase = Callable[[str], str]


@pytest.fixture
def new_database(
    request: pytest.FixtureRequest, tmp_path: Path, waiting_for_the_disk: Any
) -> Iterator[NewDatabase]:
    """Make more empty databases, of a kind that is named."""
    numbers = itertools.count(1)
    made: list[tuple[PostgresServer, str]] = []

    def make(kind: str) -> str:
        number = next(numbers)
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / f'more-{number}.sqlite3'}"
        server: PostgresServer = request.getfixturevalue("postgres_server")
        name = f"more_{os.getpid()}_{abs(hash(tmp_path))}_{number}"
        server.execute(f"CREATE DATABASE {name}")
        made.append((server, name))
        return server.url(name)

    yield make
    for server, name in made:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Served:
    """``masquerade serve`` as a process, from its first line on."""

    def __init__(self, data: Path, *words: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "masquerade",
                "serve",
                "--no-browser",
                "--port",
                "0",
                "--data-dir",
                str(data),
                *words,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        assert self.process.stdout is not None
        said = ""
        while not (found := re.search(r"(http://\S+?)/owner", said)):
            line = self.process.stdout.readline()
            if not line:
                pytest.fail(f"ended early: {said}{self.process.communicate()[1]}")
            said += line
        self.url = found.group(1)

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it ended meanwhile
            if parent == self.process.pid and b"spawn_main" in words:
                found.append(int(folder.name))
        return sorted(found)

    def end(self) -> tuple[int, str]:
        """Tell it to end; return its exit code and its log."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, log


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start servers as processes; none outlives the test."""
    started: list[Served] = []

    def start(*words: str, **environment: str) -> Served:
        started.append(Served(tmp_path / "data", *words, **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch, waiting_for_the_disk: Any) -> Crowd:
    """Return people with the same names and answers in each order."""
    return Crowd(Draws(monkeypatch))
