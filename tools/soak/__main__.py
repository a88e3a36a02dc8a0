"""A soak: complete runs of surveys while processes, databases and clocks fail at random moments.

``python -m tools.soak --runs 20000 --kills 50`` runs a server with two workers on SQLite, a second
server on the same file, and a helper with two workers; ``--postgresql`` runs a PostgreSQL of its
own. Surveys are opened, answered and closed one after another; among them are surveys between two
parties, whose leader and helper are killed at any point. Killed are a worker, a server (``kill
-9``), the helper or one of its workers, PostgreSQL (immediately); or a server or the helper is told
to end in good order. In between come faults that pass: a clock that is wrong by up to 36 hours,
writes that fail, a database that is locked or read-only, a frozen worker, a log that is rotated. A
supervisor starts again whatever has ended. Each step that a device did not hear of is sent again.

At the end it is counted what of the acknowledged responses is lost, there twice or changed, and
whether the account of each person at the server is the one that the devices kept. The last line is
one JSON object; the exit code is 0 where nothing is lost, doubled or unequal.

The clock is turned by a small library that a C compiler makes; without one, that fault is left out.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tools.soak.audit import count
from tools.soak.faults import Faults
from tools.soak.people import People
from tools.soak.processes import PostgreSQL, Server, Supervisor, free_port, turned_clock
from tools.soak.surveyors import OPERATOR, Surveyors

from masquerade.server import Services
from masquerade.server.keys import make_server_key

_SURVEYS, _AT_ONCE, _BETWEEN_TWO, _PEOPLE_BETWEEN_TWO = 10, 2, 3, 40
_PROGRESS_SECONDS = 10


def main() -> int:
    """Run the soak and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, help="after which nobody begins; default: no end")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--seed", type=int, help="of the order of faults")
    given = parser.parse_args()
    random.seed(given.seed)
    with tempfile.TemporaryDirectory(prefix="masquerade-soak-") as name:
        folder = Path(name)
        database = PostgreSQL(folder) if given.postgresql else None
        try:
            figures = _run(folder, database, given)
        finally:
            if database is not None:
                database.stop()
    sys.stdout.write(json.dumps(figures) + "\n")
    bad = ("lost", "doubled", "taken_back_and_there", "unequal_accounts", "problems")
    sums = figures["micro_rho_by_devices"] - figures["micro_rho_by_server"]
    return int(bool(sums or any(figures[one] for one in bad)))


def _parties(
    folder: Path, database: PostgreSQL | None
) -> tuple[list[Server], Server, str, list[Path]]:
    """Return the servers on one database, the helper, the address of the first database, files."""
    files = [folder / "leader.sqlite3", folder / "helper.sqlite3"]
    urls = [f"sqlite:///{file}" for file in files]
    if database is not None:
        urls, files = [database.url("postgres"), database.url("helper")], []
    common = {"MASQUERADE_RATE_ADDRESS": "0", "MASQUERADE_RATE_PARTICIPANT": "0"}
    common |= {"MASQUERADE_HELPER_PRIVATE": "1", "MASQUERADE_RATE_SURVEY": "0"}
    common["PYTHONUNBUFFERED"] = "1"
    served = common | {
        "MASQUERADE_DATABASE": urls[0],
        "MASQUERADE_SERVER_KEY_FILE": str(folder / "server.key"),
    }
    clock = turned_clock(folder)
    servers = [
        Server(
            name,
            folder,
            ["serve", "--no-browser"],
            served | {"MASQUERADE_WORKERS": workers},
            free_port(),
            clock,
        )
        for name, workers in (("leader", "2"), ("second", "1"))
    ]
    port = free_port()
    helped = {"MASQUERADE_DATABASE": urls[1]}
    helped |= {"MASQUERADE_SERVER_KEY_FILE": str(folder / "helper.key")}
    words = ["helper", "--operator", OPERATOR, "--address", f"http://127.0.0.1:{port}"]
    words += ["--workers", "2"]
    helper = Server("helper", folder, words, common | helped, port, clock)
    return servers, helper, urls[0], files


def _run(folder: Path, database: PostgreSQL | None, given: argparse.Namespace) -> dict[str, Any]:
    key = make_server_key(folder / "server.key")
    servers, helper, url, files = _parties(folder, database)
    everything = [*servers, helper]
    servers[0].start()
    supervisor = None
    try:
        servers[0].said("Open this link once")  # has made the tables
        supervisor = Supervisor(everything)
        people = People([one.port for one in servers], clients=given.clients, total=given.runs)
        surveyors = Surveyors(servers[0], helper, people)
        faults = Faults(servers, helper, database, files)
        begin = time.monotonic()
        _work(surveyors, people, faults, given)
    finally:
        if supervisor is not None:
            supervisor.end()
        for server in everything:
            server.end(signal.SIGTERM, last=True)
    seconds = time.monotonic() - begin
    services = Services.open(url, rewrites=False, server_key=key)
    try:
        figures = count(services, people, surveyors.surveys)
    finally:
        services.close()
    return {
        "database": url.partition(":")[0],
        "seconds": round(seconds, 1),
        "acknowledged": people.acknowledged,
        "outcomes": dict(people.outcomes),
        "between_two_parties": sum(len(one.runs) for one in surveyors.surveys if one.split),
        "surveys": len(surveyors.surveys),
        "results": surveyors.results,
        "faults": dict(sorted(faults.counts.items())),
        "starts": {one.name: one.starts for one in everything},
        "repeated": people.repeated,
        "problems": dict(people.problems + surveyors.problems),
        **figures,
    }


def _work(surveyors: Surveyors, people: People, faults: Faults, given: argparse.Namespace) -> None:
    """Let people answer, surveyors survey, and everything fail, until all runs are done."""
    problems: Counter[str] = surveyors.problems
    each = max(1, given.runs // _SURVEYS)

    def again(work: Any, wanted: int) -> None:
        while not surveyors.enough.is_set():
            try:
                work(wanted)
            except (TimeoutError, KeyError, ValueError) as error:
                problems[f"{type(error).__name__}: {error}"] += 1

    small = min(_PEOPLE_BETWEEN_TWO, max(6, each // 4))
    kinds: list[tuple[Any, int]] = [(surveyors.ordinary, each)] * _AT_ONCE
    kinds += [(surveyors.between_two, small)] * _BETWEEN_TWO
    loops = [threading.Thread(target=again, args=kind, daemon=True) for kind in kinds]
    for loop in loops:
        loop.start()
    people.thread.start()
    done, began = 0, time.monotonic()
    looked = began
    while people.thread.is_alive():
        passed = (time.monotonic() - began) / 60 / given.minutes if given.minutes else 0.0
        people.enough = passed >= 1
        # Spread over the runs, or the time, each a random while after its place.
        reached = max(passed, sum(people.outcomes.values()) / given.runs)
        if done < given.kills and reached < 1 and reached >= done / given.kills:
            time.sleep(random.random())
            happened = [faults.kill(), *([faults.disturb()] if done % 2 else [])]
            done += 1
            ended = sum(people.outcomes.values())
            sys.stderr.write(f"{ended:,} runs, {done} kills: {', '.join(happened)}\n")
        if time.monotonic() - looked > _PROGRESS_SECONDS:
            looked = time.monotonic()
            told = f"{sum(people.outcomes.values()):,} runs, {surveyors.results} results"
            sys.stderr.write(f"{told}, {dict(people.problems + problems)}\n")
        time.sleep(0.05)
    surveyors.enough.set()
    for loop in loops:
        loop.join()


if __name__ == "__main__":
    sys.exit(main())
