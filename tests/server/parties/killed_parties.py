"""A leader and a helper as processes of their own, each of which ends itself at a point one names.

What runs are the real commands. Before they do, a program puts a trap into transactions: the write
that a point names kills the process (SIGKILL), before anything of it is kept or once all of it is.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.patience import PATIENCE_SECONDS as PATIENCE
from tests.server.parties.pairs import OPERATOR

#: A process that begins on a busy machine takes a minute.
PATIENCE_SECONDS = 10 * PATIENCE

PROGRAM = """
import functools, os, signal, sys
from masquerade.server import app
from masquerade.server.db.transactions import Transactions
from masquerade.server.parties import leader_jobs

app._ADDING_SECONDS = 0.2
assert leader_jobs._FIRST_PAUSE_SECONDS == 5  # else nothing is set here
leader_jobs._FIRST_PAUSE_SECONDS = leader_jobs._LONGEST_PAUSE_SECONDS = 0.2
leader_jobs.MOST_IN_JOB = 2
name, _, when = sys.argv.pop(1).partition(":")
real = Transactions.write

def write(self, work):
    inner = work.func if isinstance(work, functools.partial) else work
    place = inner.__qualname__
    if place.startswith("writes."):  # a method that is a transaction, within what makes it one
        [place] = [c.cell_contents.__qualname__ for c in inner.__closure__ if c.cell_contents
                   and hasattr(c.cell_contents, "__qualname__")]
    deadly = name and (place == name or place.startswith(name + "."))
    if deadly and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = real(self, work)
    if deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

def springs(item, point):  # steps of participants are made together, and named by their kind
    if name == type(item).__name__ and when == point:
        os.kill(os.getpid(), signal.SIGKILL)

together, awaited = Transactions.together, Transactions.awaited

def trapped(self, apply, item):
    springs(item, "before")
    done = together(self, apply, item)
    springs(item, "after")
    return done

async def trapped_and_awaited(self, apply, item):
    springs(item, "before")
    done = await awaited(self, apply, item)
    springs(item, "after")
    return done

Transactions.write = write
Transactions.together, Transactions.awaited = trapped, trapped_and_awaited
from masquerade.cli import main
main()
"""


@dataclass
class Party:
    """A process that is started again, with the next trap, whenever it was killed."""

    command: Sequence[str]
    address: str
    folder: Path
    traps: list[str]  # the write that kills it, and "before" or "after"
    kills: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        trap = self.traps.pop(0) if self.traps else ""
        log = self.folder / "log.txt"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, trap, *self.command],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "MASQUERADE_HELPER_PRIVATE": "1",
                    "MASQUERADE_RATE_ADDRESS": "0",
                    "MASQUERADE_RATE_PARTICIPANT": "0",
                },
            )
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                if self.process.returncode == -signal.SIGKILL:
                    break  # a trap may be in what the start does
                raise AssertionError(log.read_text())
            try:
                if httpx.get(f"{self.address}/healthz", trust_env=False).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.05)

    def alive(self) -> bool:
        """Start the process again where its trap has killed it; return whether it lived."""
        if self.process is not None and self.process.poll() is None:
            return True
        assert self.process is None or self.process.returncode == -signal.SIGKILL
        self.kills += self.process is not None
        self.start()
        return False

    def kill(self) -> None:
        """Kill the process from outside."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None
        self.kills += 1

    def ask(self, client: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask until an answer comes, for all deaths meanwhile; every step can be asked again."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self.alive()
            try:
                return client.request(method, path, **options)
            except httpx.HTTPError:
                assert self.process is not None
                self.process.wait()  # a line breaks off because the trap has sprung
        raise AssertionError(f"no answer to {method} {path}")

    @contextmanager
    def visitor(self) -> Iterator[httpx.Client]:
        """Give a browser."""
        with httpx.Client(
            base_url=self.address,
            trust_env=False,
            follow_redirects=True,
            timeout=PATIENCE_SECONDS,
        ) as client:
            yield client


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def running(folder: Path, name: str, traps: Sequence[str] = (), *more: str) -> Iterator[Party]:
    """Run a ``leader`` or a ``helper`` in a folder of its own."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    place = folder / name
    place.mkdir(exist_ok=True)
    command = ["serve", "--no-browser"]
    if name == "helper":
        command = ["helper", "--operator", OPERATOR, "--address", address]
    party = Party(
        [*command, "--port", str(port), "--data-dir", str(place / "data"), *more],
        address,
        place,
        list(traps),
    )
    party.start()
    try:
        yield party
    finally:
        if party.process is not None and party.process.poll() is None:
            party.kill()


def said(party: Party, pattern: str) -> str:
    """Return the last line of a process, once it is there."""
    found: list[str] = []

    def reached() -> bool:
        found[:] = re.findall(pattern, (party.folder / "log.txt").read_text())
        return bool(found)

    until(f"it did not say {pattern}", (), reached)
    return found[-1]


def until(fault: str, parties: Sequence[Party], reached: Callable[[], bool]) -> None:
    """Wait for something, and restart every process killed meanwhile."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > end:
            raise AssertionError(fault)
        for party in parties:
            party.alive()
        time.sleep(0.05)
