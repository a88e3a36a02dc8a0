"""How quickly a survey's result and files come, and how much memory the server takes for them.

A survey of ten questions, answered by a tenth as many people as there are reports, on a server of
its own process; files are downloaded over HTTP. Memory is the server's peak, above what it had
before, when it had given out a survey of ten people; the baseline reads everything and writes one
JSON text.

Then so many people's responses are counted for a result, processor time and memory above before:
where few responses differ, and where nearly all do.

    python benchmarks/exports.py [reports] [database URL]
"""

from __future__ import annotations

import json
import multiprocessing
import os
import secrets
import sys
import tempfile
import time
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import Connection as DatabaseConnection
from sqlalchemy import insert

from card import Cards, sized
from masquerade.mechanisms import CategoricalMechanism
from masquerade.server import Services, Settings, create_app
from masquerade.server.db.tables import PARTICIPATION
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.survey import Survey

CARDS = Cards(__file__)
QUESTIONS: tuple[Question, ...] = (
    *(Choice(f"c{n}", f"Choice {n}?", ("A", "B", "C", "D")) for n in range(4)),
    *(Rating(f"r{n}", f"Rating {n}?", allow_skip=True) for n in range(3)),
    Number("n", "How long?", 0, 40, "hours", 0.5),
    Comparison("p1", "Which?", "X", "Y", "Neither"),
    Comparison("p2", "Which?", "Y", "Z"),
)
SHORT = tuple(Choice(f"c{n}", f"Choice {n}?", ("A", "B", "C", "D")) for n in range(5))
_BATCH = 10_000
_FEW = 10  # people of the survey that is looked at before anything is measured


def main() -> None:
    reports = int(sys.argv[1]) if len(sys.argv) > 1 else sized(10_000, 1_000_000)
    people = reports // len(QUESTIONS)
    with tempfile.TemporaryDirectory(prefix="masquerade-exports-") as folder:
        url = sys.argv[2] if len(sys.argv) > 2 else f"sqlite:///{Path(folder) / 'b.sqlite3'}"
        survey, first = fill(url, people), fill(url, _FEW)
        print(f"{people} people, {people * len(QUESTIONS)} reports, {url.partition(':')[0]}")
        compute(url, survey, first)
        for kind in ("csv", "jsonl", "parquet"):
            download(url, survey.token, first.token, kind)
        baseline(url, survey)
        for name, asked in (("5 choices", SHORT), ("10 questions, a number too", QUESTIONS)):
            count(url, fill(url, reports, asked).token, fill(url, _FEW, asked).token, name)


def fill(url: str, people: int, asked: tuple[Question, ...] = QUESTIONS) -> SurveyRecord:
    """Return a closed survey with made-up reports of so many people."""
    services = Services.open(url, rewrites=False)
    definition = Survey.at_levels(
        title="Exports", questions=asked, levels=("high", "medium", "low")
    )
    survey = services.surveys.open_survey(definition)
    rng = np.random.default_rng(1)
    for start in range(0, people, _BATCH):
        size = min(_BATCH, people - start)
        rows: list[dict[str, Any]] = []
        for level, share in zip(definition.levels, (0.3, 0.45, 0.25), strict=True):
            n = round(size * share) if level.name != "low" else size - len(rows)
            columns = [
                rng.integers(m.symbols, size=n)
                if isinstance(m, CategoricalMechanism)
                else np.rint(rng.normal(40, 60, n)).astype(int)
                for m in level.mechanisms
            ]
            rows += [
                {
                    "id": secrets.token_hex(16),
                    "survey": survey.token,
                    "level": level.name,
                    "pseudonym": secrets.token_hex(32),
                    "state": "submitted",
                    "attempt": 1,
                    "reports": row,
                }
                for row in np.stack(columns, axis=1).tolist()
            ]
        services.transactions.write(partial(_insert, rows=rows))
    survey = services.surveys.close(survey)
    services.close()
    return survey


def _insert(connection: DatabaseConnection, *, rows: list[dict[str, Any]]) -> None:
    connection.execute(insert(PARTICIPATION), rows)


def compute(url: str, survey: SurveyRecord, first: SurveyRecord) -> None:
    """Print how long the first look at a result takes, and a later one."""
    services = Services.open(url)
    results = services.results
    results.result_text(first)  # libraries are loaded with a server's first result

    started, cpu = time.perf_counter(), time.process_time()
    text = results.result_text(survey)
    done, used = time.perf_counter(), time.process_time() - cpu
    assert results.result_text(survey) == text
    again = time.perf_counter()
    people = json.loads(text)["responses"]
    what = f"the result of {people:,} people"
    note = f"{used:.2f} s of one core, {len(text)} bytes"
    CARDS.add(f"{what}, first look", done - started, "s", note=note)
    CARDS.add(f"{what}, a later look", again - done, "s")
    services.close()


def count(url: str, token: str, first: str, name: str) -> None:
    """Print the time and memory of the first look at a result."""
    people, used, taken = counted(url, token, first)
    what = f"a result of {people:,} responses to {name}"
    wanted = people == 1_000_000 and name.startswith("5")
    CARDS.add(f"{what}, processor", used, "s", at_most=3 if wanted else None)
    CARDS.add(f"{what}, memory above before", taken, "MB", at_most=60 if wanted else None)


def counted(url: str, token: str, first: str) -> tuple[int, float, float]:
    """Return people, seconds of processor and megabytes of a first look, in its own process."""
    here, there = multiprocessing.Pipe()
    arguments = (url, token, first, there)
    process = multiprocessing.get_context("spawn").Process(target=_count, args=arguments)
    process.start()
    there.close()  # a process that fails ends this one too, which would wait for ever
    found: tuple[int, float, float] = here.recv()
    process.join()
    return found


def _count(url: str, token: str, first: str, pipe: Connection) -> None:
    services = Services.open(url)
    results, surveys = services.results, services.surveys
    results.result_text(surveys.record(first))  # loads the libraries
    before, cpu = memory(os.getpid()), time.process_time()
    text = results.result_text(surveys.record(token))
    used = time.process_time() - cpu
    pipe.send((json.loads(text)["responses"], used, memory(os.getpid(), "VmHWM") - before))
    services.close()


def serve(url: str, pipe: Connection) -> None:
    """Run a server until the pipe says so."""
    import threading

    from masquerade.server.operations.run import address, listen, server_of

    bound, ready = listen("127.0.0.1", 0), threading.Event()
    settings = Settings(url, rate_participant=0, rate_address=0)
    app = create_app(settings)
    server = server_of(app, settings, ready=ready.set)
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    ready.wait()
    pipe.send((address(bound), app.state.services.values.new_owner_token(), os.getpid()))
    pipe.recv()
    server.should_exit = True
    thread.join()


def download(url: str, token: str, first: str, kind: str) -> None:
    """Print how long a file takes over HTTP, and the server's memory."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(url, there))
    process.start()
    address, owner, pid = here.recv()
    with httpx.Client(base_url=address, timeout=600, trust_env=False) as client:
        client.get("/owner", params={"token": owner}, follow_redirects=True)
        # Libraries are loaded with a server's first file.
        client.get(f"/api/v1/surveys/{first}/reports.{kind}").raise_for_status()
        before, size, cpu = memory(pid), 0, core_seconds(pid)
        started = time.perf_counter()
        with client.stream("GET", f"/api/v1/surveys/{token}/reports.{kind}") as answer:
            answer.raise_for_status()
            for piece in answer.iter_raw():
                size += len(piece)
        seconds, used = time.perf_counter() - started, core_seconds(pid) - cpu
    peak = memory(pid, "VmHWM")
    here.send("end")
    process.join()
    note = f"{used:.1f} s of one core, a file of {size / 1e6:.1f} MB"
    CARDS.add(f"{kind} over HTTP", seconds, "s", note=note)
    CARDS.add(f"memory of the server for {kind}, above before", peak - before, "MB")


def memory(pid: int, name: str = "VmRSS") -> float:
    """Return a process's resident memory in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return float(status.partition(f"{name}:")[2].split()[0]) / 1024


def core_seconds(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def baseline(url: str, survey: SurveyRecord) -> None:
    """Measure the memory of reading everything at once, in a process of its own."""
    here, there = multiprocessing.Pipe()
    arguments = (url, survey.token, there)
    process = multiprocessing.get_context("spawn").Process(target=_all, args=arguments)
    process.start()
    seconds, size, taken = here.recv()
    process.join()
    CARDS.add("all in one JSON text", seconds, "s", note=f"{size / 1e6:.0f} MB of text")
    CARDS.add("memory for all in one JSON text, above before", taken, "MB")


def _all(url: str, token: str, pipe: Connection) -> None:
    services = Services.open(url)
    before = memory(os.getpid())
    started = time.perf_counter()
    text = json.dumps(
        [[r.pseudonym, r.level, r.reports] for r in services.reports.of_survey(token)]
    )
    seconds = time.perf_counter() - started
    pipe.send((seconds, len(text), memory(os.getpid(), "VmHWM") - before))
    services.close()


if __name__ == "__main__":
    main()
