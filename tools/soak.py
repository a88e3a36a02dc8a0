"""A soak: complete runs of a survey while its processes are killed at random moments.

``python -m tools.soak --runs 20000 --kills 50`` runs a server with two workers on SQLite, and a
second server on the same file; ``--postgresql`` runs a PostgreSQL of its own for one server.
Killed are, at random: a worker, the whole server (``kill -9``), the second server, PostgreSQL
(immediately); or the server is told to end in good order. Each step that a client did not hear of
is sent again. At the end the survey is closed while the server is told to end. Then it is counted
what of the acknowledged runs is lost, or there twice, and whether all accounts add up. The last
line is one JSON object; the exit code is 0 where nothing is lost or doubled.

Not covered: a jump of the system's clock, a disk that turns read-only, and kills of a helper; tests
of the operations, and of interruptions between two parties, cover these one at a time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from masquerade.server import Services
from masquerade.server.keys import make_server_key
from masquerade.surveys import Choice, Rating
from masquerade.surveys.survey import Survey, commitment_of

_LEVELS = ("high", "medium", "low")
_SECONDS = 120  # for which a step is sent again


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class PostgreSQL:
    """A PostgreSQL of the soak's own, which can be killed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder / "postgresql", _free_port()
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        self._folder.mkdir()
        if os.geteuid() == 0:
            folder.chmod(0o755)
            shutil.chown(self._folder, "postgres")
        data = str(self._folder / "data")
        self._run("initdb", "-D", data, "-U", "masquerade", "-A", "trust", "-E", "UTF8")
        self.start()
        self.url = f"postgresql+psycopg://masquerade@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1"
        self._run("pg_ctl", "start", "-w", "-D", str(self._folder / "data"), "-o", options)

    def kill(self) -> None:
        """End it as a crash would, and start it again."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """End it as a crash would."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._folder / "data"))

    def _run(self, program: str, *words: str) -> None:
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*prefix, str(self._programs / program), *words]
        with (self._folder.parent / "postgresql.log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd=self._folder)


class Server:
    """A server as a process of its own, at one address over all its restarts."""

    def __init__(self, folder: Path, database: str, *, workers: int, port: int) -> None:
        self.port = port
        self._log = folder / f"server-{port}.log"
        self._command = [sys.executable, "-m", "masquerade", "serve", "--no-browser"]
        self._command += ["--port", str(port)]
        self._settings = {
            "MASQUERADE_DATABASE": database,
            "MASQUERADE_SERVER_KEY_FILE": str(folder / "server.key"),
            "MASQUERADE_WORKERS": str(workers),
            "MASQUERADE_RATE_PARTICIPANT": "0",
            "MASQUERADE_RATE_ADDRESS": "0",
        }
        self.start()

    def start(self) -> None:
        """Start it, with a log that was moved away, as a rotation does."""
        if self._log.exists():
            self._log.replace(self._log.with_suffix(".1"))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=os.environ | self._settings
            )

    def end(self, how: signal.Signals) -> None:
        """Send a signal, and wait for the end; workers that are left over end with it."""
        workers = self.workers()
        self._process.send_signal(how)
        self._process.wait()
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def workers(self) -> list[int]:
        """Return the ids of its processes that serve."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
                if (
                    parent == self._process.pid
                    and b"spawn_main" in (place / "cmdline").read_bytes()
                ):
                    found.append(int(place.name))
        return sorted(found)


@dataclass
class Run:
    """One person's run through the survey."""

    level: str
    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    reports: list[int] = field(default_factory=lambda: [secrets.randbelow(2), secrets.randbelow(5)])


class Soak:
    """Clients, and the kills of the servers under them."""

    def __init__(self, servers: list[Server], survey: Any, runs: int) -> None:
        self.servers, self.survey, self.wanted = servers, survey, runs
        self.done: list[Run] = []
        self.problems: Counter[str] = Counter()
        self.repeated = 0
        self._begun = 0
        self._lock = threading.Lock()

    def work(self) -> None:
        """Take part again and again, as somebody else each time."""
        while True:
            with self._lock:
                if self._begun >= self.wanted:
                    return
                self._begun += 1
            run = Run(random.choice(_LEVELS))
            try:
                self._take_part(run)
            except (RuntimeError, TimeoutError) as error:
                self.problems[str(error)] += 1
                continue
            with self._lock:
                self.done.append(run)

    def _take_part(self, run: Run) -> None:
        begun = {"survey": self.survey.token, "level": run.level}
        mine = self._step(run, "POST", "", begun)["id"]
        self._step(run, "POST", f"/{mine}/open", None)
        commitment = commitment_of(mine, run.reports, run.salt)
        self._step(run, "POST", f"/{mine}/seal", {"commitment": commitment})
        sent = {"reports": run.reports, "salt": run.salt, "level": run.level}
        self._step(run, "PUT", f"/{mine}/response", sent | {"survey_hash": self.survey.hash})

    def _step(self, run: Run, method: str, path: str, body: Any) -> dict[str, Any]:
        end = time.monotonic() + _SECONDS
        content = None if body is None else json.dumps(body)
        headers = {"Masquerade-Participant": run.secret, "Idempotency-Key": run.key}
        headers["Content-Type"] = "application/json"
        while time.monotonic() < end:
            port = random.choice(self.servers).port
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request(method, f"/api/v1/participations{path}", content, headers)
                answer = connection.getresponse()
                found: dict[str, Any] = json.loads(answer.read())
                if answer.status in (200, 201):
                    return found
                if answer.status < 500 and answer.status != 429:
                    raise RuntimeError(
                        f"{answer.status} {found.get('type')} at {method} {path[-9:]}"
                    )
            except (OSError, http.client.HTTPException, ValueError):
                pass  # it was killed: the step is sent again
            finally:
                connection.close()
            self.repeated += 1
            time.sleep(0.1)
        raise TimeoutError(f"{method} was not answered for {_SECONDS} s")


def _kill_something(servers: list[Server], database: PostgreSQL | None) -> str:
    kinds = ["worker", "server", "end"] + (["postgresql"] if database else ["second server"])
    kind = random.choice(kinds)
    if kind == "postgresql" and database is not None:
        database.kill()
    elif kind == "worker":
        workers = servers[0].workers()
        if workers:
            os.kill(random.choice(workers), signal.SIGKILL)
    else:
        server = servers[-1] if kind == "second server" else servers[0]
        server.end(signal.SIGTERM if kind == "end" else signal.SIGKILL)
        server.start()
    return kind


def _count(services: Services, soak: Soak) -> dict[str, int]:
    """Return the acknowledged responses that are lost, doubled or unequal."""
    kept = {
        row.pseudonym: list(row.reports) for row in services.reports.of_survey(soak.survey.token)
    }
    query = text("SELECT pseudonym_key FROM survey")
    with services.engine.connect() as connection:
        key = str(connection.scalar(query))
    names = [(run, services.identity(run.secret).pseudonym(key)) for run in soak.done]
    lost = sum(kept.get(name) != run.reports for run, name in names)
    unequal = 0
    for run in soak.done:
        entries = services.ledger.entries(services.identity(run.secret).person)
        unequal += [entry.charge.kind for entry in entries] != ["reserve", "commit"]
    return {
        "acknowledged": len(soak.done),
        "kept": len(kept),
        "lost": lost,
        "doubled": len(kept) - len({name for _, name in names} & kept.keys()),
        "unequal_accounts": unequal,
        "entries": services.ledger.verify(),
    }


def main() -> int:
    """Run the soak and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="masquerade-soak-") as name:
        folder = Path(name)
        database = PostgreSQL(folder) if given.postgresql else None
        url = database.url if database else f"sqlite:///{folder / 'soak.sqlite3'}"
        try:
            figures = _run(folder, url, database, given)
        finally:
            if database is not None:
                database.stop()
    sys.stdout.write(json.dumps(figures) + "\n")
    bad = figures["lost"] + figures["doubled"] + figures["unequal_accounts"]
    return int(bool(bad or figures["problems"] or figures["state"] != "closed"))


def _run(
    folder: Path, url: str, database: PostgreSQL | None, given: argparse.Namespace
) -> dict[str, Any]:
    key = make_server_key(folder / "server.key")
    services = Services.open(url, rewrites=False, server_key=key)
    questions = (Choice("ill", "Ill?", ("Yes", "No")), Rating("sleep", "Sleep?", 1, 5))
    definition = Survey.at_levels(
        title="Soak", description="", template="pick", levels=_LEVELS, questions=questions
    )
    survey = services.surveys.open_survey(definition)
    services.close()
    servers = [Server(folder, url, workers=2, port=_free_port())]
    if database is None:
        servers.append(Server(folder, url, workers=1, port=_free_port()))
    soak = Soak(servers, survey, given.runs)
    begin, kills = time.monotonic(), Counter[str]()
    clients = [threading.Thread(target=soak.work) for _ in range(given.clients)]
    for client in clients:
        client.start()
    for number in range(given.kills):
        # Spread over the runs, each a random while after its place.
        while len(soak.done) < given.runs * number / given.kills and any(
            client.is_alive() for client in clients
        ):
            time.sleep(0.05)
        time.sleep(random.random())
        kills[_kill_something(servers, database)] += 1
        sys.stderr.write(f"{len(soak.done):,} runs, {sum(kills.values())} kills\n")
    for client in clients:
        client.join()
    seconds = time.monotonic() - begin
    # Told to end while the survey is closed.
    services = Services.open(url, rewrites=False, server_key=key)
    closing = threading.Thread(target=lambda: services.surveys.close(survey))
    closing.start()
    for server in servers:
        server.end(signal.SIGTERM)
    closing.join()
    figures = _count(services, soak)
    state = services.surveys.record(survey.token).state
    services.close()
    return {
        "database": url.partition(":")[0],
        "seconds": round(seconds, 1),
        "kills": dict(kills),
        "repeated": soak.repeated,
        "problems": dict(soak.problems),
        "state": state,
        **figures,
    }


if __name__ == "__main__":
    sys.exit(main())
