"""Take part in a survey in processes that are killed, again and again, at every step.

``python tests/client/crashes.py URL SURVEY FOLDER RUN...``

Each run is a new person with a home of their own. A first process begins to take part and kills
itself (``SIGKILL``) before or after one of its requests, or before or after one of its files is
put in place: at the point whose number is that of the run, modulo their count. A run numbered -1 is
killed from outside at a random moment. A second process does the same again, with other answers, to
the end. One line of JSON a run tells what went over the line, what was on the disk after the kill,
and what the server then holds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import httpx

from masquerade.client import Client, atomic_files

REQUESTS, RECORDS = 5, 10
"""Requests of a run; files that it puts in place, of records and of the device's ledger."""
POINTS = [
    *((when, n) for n in range(REQUESTS) for when in ("before request", "after request")),
    *((when, n) for n in range(RECORDS) for when in ("before record", "after record")),
]
ANSWERS = (
    {"ill": "No", "stress": 4, "hours": 7.5, "pay": "More time"},
    {"ill": None, "stress": 1, "hours": 3, "pay": "More pay"},
)


def die() -> NoReturn:
    """End as a crash does: at once, without any last words."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


class Line(httpx.BaseTransport):
    """Carries requests, writes down each one sent and acknowledged, and may kill the process."""

    def __init__(self, log: Path, point: tuple[str, int]) -> None:
        self.log, self.point, self.count = log, point, 0
        self.carrier = httpx.HTTPTransport(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Carry one request."""
        step = request.url.path.rpartition("/")[2]
        if self.point == ("before request", self.count):
            die()
        self.note("sent", step, request.read())
        answer = self.carrier.handle_request(request)
        answer.read()
        if answer.is_success:
            self.note("acknowledged", step, b"{}")
        if self.point == ("after request", self.count):
            die()
        self.count += 1
        return answer

    def note(self, what: str, step: str, body: bytes) -> None:
        """Write a line that outlives this process."""
        entry = {"what": what, "step": step, "body": json.loads(body or b"{}")}
        with self.log.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def take_part(url: str, survey: str, home: Path, answers: Any, point: tuple[str, int]) -> None:
    """Do the whole of it, as a program of a user would."""
    replace, count = os.replace, 0

    def killing_replace(old: Any, new: Any) -> None:
        nonlocal count
        if point == ("before record", count):
            die()
        replace(old, new)
        if point == ("after record", count):
            die()
        count += 1

    atomic_files.os.replace = killing_replace  # type: ignore[attr-defined]
    try:
        with Client(url, home=home, transport=Line(home / "line.log", point)) as client:
            client.begin(survey, "high").answer(answers)
    finally:
        atomic_files.os.replace = replace  # type: ignore[attr-defined]


def forked(work: Any, *, kill_after: float | None = None) -> int:
    """Run work in a process of its own and return how that ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # the child must never go on with the parent's work
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(url: str, survey: str, home: Path, number: int) -> dict[str, Any]:
    """Crash once, go on, and return the outcome."""
    home.mkdir()
    point = POINTS[number % len(POINTS)] if number >= 0 else ("at random", 0)
    delay = random.uniform(0, 0.5) if point[0] == "at random" else None
    first = forked(lambda: take_part(url, survey, home, ANSWERS[0], point), kill_after=delay)
    written = [json.loads(p.read_text()) for p in home.rglob(f"{survey}.json")]
    second = forked(lambda: take_part(url, survey, home, ANSWERS[1], ("never", 0)))
    log = home / "line.log"
    line = [json.loads(text) for text in log.read_text().splitlines()]
    with Client(url, home=home, transport=httpx.HTTPTransport(trust_env=False)) as client:
        held, entries, own = client.export(), client.ledger_on_server(), client.ledger()
        open_reservations = client.me_on_server()["open_reservations"]
        own_reservations = client.me()["open_reservations"]

    def sent(step: str, name: str) -> list[Any]:
        return [e["body"][name] for e in line if (e["what"], e["step"]) == ("sent", step)]

    return {
        "point": point,
        "ended": [first, second],
        "on_disk": [record["reports"] for record in written if "reports" in record],
        "commitments": sent("seal", "commitment"),
        "reports": sent("response", "reports"),
        "acknowledged": any((e["what"], e["step"]) == ("acknowledged", "response") for e in line),
        "held": [(one["state"], one["reports"]) for one in held["participations"]],
        "charges": sum(entry["kind"] == "commit" for entry in entries),
        "own_charges": sum(entry["kind"] == "commit" for entry in own),
        "open_reservations": open_reservations + own_reservations,
    }


def main() -> None:
    """Run as often as asked."""
    url, survey, folder, *runs = sys.argv[1:]
    # Once without a crash, so that what is worked out once need not be in each process again.
    (Path(folder) / "first").mkdir()
    take_part(url, survey, Path(folder) / "first", ANSWERS[0], ("never", 0))
    for place, number in enumerate(map(int, runs)):
        print(json.dumps(run(url, survey, Path(folder) / str(place), number)), flush=True)


def faults(found: dict[str, Any]) -> list[str]:
    """Return the broken promises of a run."""
    draws = {tuple(reports) for reports in (*found["on_disk"], *found["reports"])}
    broken = {
        "the second process did not end well": found["ended"][1] != 0,
        "two draws": len(draws) > 1 or len(set(found["commitments"])) > 1,
        "a lost response": len(found["held"]) != 1
        or found["held"][0][0] != "submitted"
        or tuple(found["held"][0][1]) not in draws,
        "not acknowledged": not found["acknowledged"],
        "not one charge": (found["charges"], found["own_charges"]) != (1, 1),
        "a reservation left": found["open_reservations"] != 0,
    }
    return [f"{found['point']}: {name}" for name, is_so in broken.items() if is_so]


if __name__ == "__main__":
    main()
