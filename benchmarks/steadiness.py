"""The goals of a server that survives its load, each with the number measured in this run.

    python benchmarks/steadiness.py [POSTGRESQL_URL] [GOAL ...]

1. Pages while the database is blocked: somebody else holds its write lock (in PostgreSQL, locks the
   tables of participants), 60 people begin a survey, and probes ask for liveness, a static file and
   the participant's page on connections of their own. 2. The longest wait of somebody who writes
   to the part of a survey whose rows are rewritten, beside the longest in the seconds before.
3. The first look at a large result, where few responses differ and where nearly all do. 4. A run's
   processor time with 40 clients and with one, beside a bare committed row. 5. Lines in the log
   while people are refused. 6. Closing a survey with many reservations. 7. SQLite's log beside
   `doctor` while people answer. 8. Truth from a folder on a cluster that is there already, beside
   one process.

Goals 1, 2 and 4 are measured on PostgreSQL too where its address is given; the database is filled.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from sqlalchemy import Connection, insert, text

import exports
from card import Cards, sized
from masquerade.server import Services, Settings
from masquerade.server.db.partitions import parts_of
from masquerade.server.db.tables import BALANCE, ENTRY, PARTICIPATION, RESERVED
from masquerade.server.operations.doctor import examine
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.simulate import crowd as crowd_of_workers
from masquerade.surveys.survey import Survey
from masquerade.truth import TruthDiscovery
from masquerade.truth.scale import DaskCluster, Partitions, Stream, fit_partitions
from protocol import (
    EVERY,
    PROGRAM,
    QUESTIONS,
    Person,
    Processor,
    crowd,
    people_of,
    populate,
    postmaster,
)

CARDS = Cards(__file__)
BLOCKED_SECONDS = 6.0
GOAL_MILLISECONDS = 50
Goal = Callable[[str], None]


def survey_of(services: Services) -> SurveyRecord:
    return services.surveys.open_survey(Survey.at_levels(title="Load", questions=QUESTIONS))


def kind(url: str) -> str:
    return "SQLite" if url.startswith("sqlite") else "PostgreSQL"


@contextlib.contextmanager
def served(url: str, log: Path) -> Iterator[tuple[int, int]]:
    """Serve a database in a process of its own; give its port and the process."""
    command = [sys.executable, "-c", PROGRAM, url, "1"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline()), server.pid
        finally:
            server.terminate()


# --- 1 and 5


async def probe(port: int, path: str, until: float) -> list[float]:
    """Return milliseconds of requests for a page, one each 50 ms, until a moment."""
    found = []
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    while time.perf_counter() < until:
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        head = await reader.readuntil(b"\r\n")
        await reader.read()
        found.append(1000 * (time.perf_counter() - start))
        writer.close()
        assert b" 200 " in head, head
        await asyncio.sleep(0.05)
    return found


async def seconds_ready(port: int, until: float) -> float:
    """Return for how long readiness went on saying that all is well."""
    start = time.perf_counter()
    while time.perf_counter() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head = await reader.readuntil(b"\r\n")
        await reader.read()
        writer.close()
        if b" 503 " in head:
            return time.perf_counter() - start
        await asyncio.sleep(0.1)
    return float("inf")


async def begin(port: int, person: Person) -> int:
    """Begin the survey; return the status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(person.reserve())
    head = await reader.readuntil(b"\r\n")
    writer.close()
    return int(head.split()[1])


async def begin_after(unready: asyncio.Task[float], port: int, people: list[Person]) -> list[int]:
    """Let people begin once readiness says that writes wait; return the statuses."""
    await unready
    return await asyncio.gather(*(begin(port, one) for one in people))


async def probes(
    port: int, survey: SurveyRecord, people: int, release: Callable[[], object] = lambda: None
) -> tuple[list[list[float]], int, float]:
    """Return the milliseconds of each page while people begin, and how many were told to wait.

    The last is after how many seconds readiness said that writes wait; infinite if it never did.

    `release` ends what is in the way once the pages were asked for.
    """
    until = time.perf_counter() + BLOCKED_SECONDS
    paths = ("/healthz", "/static/base.css", f"/s/{survey.token}")
    beginning = [asyncio.create_task(begin(port, one)) for one in people_of(survey, people)]
    unready = asyncio.create_task(seconds_ready(port, until))
    # More who come once writes have waited for too long are told to come again.
    late = asyncio.create_task(begin_after(unready, port, people_of(survey, people)))
    found = await asyncio.gather(*(probe(port, path, until) for path in paths))
    release()
    statuses = [*await asyncio.gather(*beginning), *await late]
    return list(found), sum(status == 503 for status in statuses), await unready


def blocked_pages(url: str) -> None:
    services = Services.open(url)
    survey = survey_of(services)
    with tempfile.TemporaryDirectory() as folder, served(url, Path(folder) / "log") as (port, _):
        asyncio.run(crowd(port, people_of(survey, 20), 5, *EVERY))
        free, _, _ = asyncio.run(probes(port, survey, 0))
        free = [times[3:] for times in free]  # the first ones load what the others need
        with services.engine.execution_options(write=True).connect() as other:
            lock = other.begin()
            if services.engine.dialect.name == "postgresql":
                other.execute(text("LOCK TABLE participation, ledger_balance, ledger_entry"))
            held, refused, unready = asyncio.run(probes(port, survey, 60, lock.rollback))
        lines = [line for line in (Path(folder) / "log").read_bytes().splitlines() if line]
    for name, before, times in zip(
        ("liveness", "a static file", "the participant's page"), free, held, strict=True
    ):
        note = (
            f"median {statistics.median(times):.0f} ms of {len(times)}; before the lock median "
            f"{statistics.median(before):.0f}, worst {max(before):.0f} ms"
        )
        what = f"1: {name} while {kind(url)} is blocked, worst"
        CARDS.add(what, max(times), "ms", at_most=GOAL_MILLISECONDS, note=note)
        CARDS.add(f"{what[:-5]}median", statistics.median(times), "ms", at_most=GOAL_MILLISECONDS)
    what = f"1: readiness while {kind(url)} is blocked, until it says that writes wait"
    CARDS.add(what, unready, "s", at_most=BLOCKED_SECONDS, note="asked once writes wait for 5 s")
    what = f"5: lines in the log while 120 people wait for {kind(url)}"
    CARDS.add(what, len(lines), "", at_most=3, note=f"{refused} people were told to come again")
    services.close()


# --- 2


def rewritten_rows(url: str) -> None:
    rows = sized(100_000, 1_000_000)
    services = Services.open(url)
    ended = survey_of(services)
    if services.engine.dialect.name == "sqlite":
        fill_reservations(services, ended, sized(20_000, 100_000))
        rows = sized(20_000, 100_000)
    else:
        with services.engine.connect() as connection:
            [part] = parts_of(connection, "participation", ended.token)
        fill_in_database(services, ended, rows)
    other = survey_of(services)
    while services.engine.dialect.name != "sqlite":  # in the same part
        with services.engine.connect() as connection:
            if parts_of(connection, "participation", other.token) == [part]:
                break
        other = survey_of(services)
    stop, waits = threading.Event(), [0.0]

    def write() -> None:
        while not stop.is_set():
            row = {
                "id": secrets.token_hex(16),
                "survey": other.token,
                "level": "medium",
                "pseudonym": secrets.token_hex(32),
                "state": RESERVED,
                "attempt": 1,
            }
            start = time.perf_counter()
            services.transactions.write(partial(store, row=row))
            waits.append(time.perf_counter() - start)
            time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(2)
    before = 1000 * max(waits)
    waits[:] = [0.0]
    start = time.perf_counter()
    assert services.transactions.rewrite(ended.token, patience=600)
    took = time.perf_counter() - start
    stop.set()
    writer.join()
    note = f"worst in the two seconds before {before:.0f} ms; the rewriting took {took:.1f} s"
    what = f"2: longest wait of a writer while {rows:,} rows are rewritten, {kind(url)}"
    CARDS.add(what, max(waits), "s", at_most=1, note=note)
    services.close()


def store(connection: Connection, *, row: dict[str, object]) -> None:
    connection.execute(insert(PARTICIPATION), row)


def fill_in_database(services: Services, survey: SurveyRecord, rows: int) -> None:
    """Fill PostgreSQL with responses, by itself."""
    name = "md5(random()::text || i)"
    query = f"""INSERT INTO participation (id, survey, pseudonym, level, state, attempt,
    idempotency, commitment, reports) SELECT {name}, :survey, {name} || {name}, 'medium',
    'submitted', 0, {name} || {name}, {name} || {name}, '[1,0,4,2,3]'
    FROM generate_series(1, {rows}) i"""
    with services.engine.begin() as connection:
        connection.execute(text(query), {"survey": survey.token})


# --- 3


def large_results(url: str) -> None:
    for name, asked in (("5 choices", exports.SHORT), ("10 questions", exports.QUESTIONS)):
        people = sized(30_000, 1_000_000)
        survey, first = exports.fill(url, people, asked), exports.fill(url, 10, asked)
        found, used, taken = exports.counted(url, survey.token, first.token)
        what = f"3: a result of {found:,} responses to {name}"
        # In proportion, where it is smaller: a quick run still says something.
        CARDS.add(f"{what}, processor", used, "s", at_most=max(0.5, 3 * people / 1e6))
        CARDS.add(f"{what}, memory above before", taken, "MB", at_most=60)


# --- 4


def price_of_a_run(url: str) -> None:
    services = Services.open(url)
    survey = survey_of(services)
    before = sized(10_000, 150_000)
    populate(services, survey, before)
    Processor.database = postmaster(services)
    runs = sized(300, 1000)
    with tempfile.TemporaryDirectory() as folder, served(url, Path(folder) / "log") as server:
        port, pid = server
        asyncio.run(crowd(port, people_of(survey, 80), 40, *EVERY))
        sqlite = kind(url) == "SQLite"
        for clients, goal in ((40, 2.5 if sqlite else 3.5), (1, 8)):
            people = people_of(survey, runs if clients > 1 else runs // 5)
            with Processor(pid) as spent:
                found = asyncio.run(crowd(port, people, clients, *EVERY))
            note = f"of it {1000 * spent.stored / len(people):.2f} in the database; {found}"
            what = (
                f"4: processor of a run, {clients} clients, {before:,} people before, {kind(url)}"
            )
            CARDS.add(what, 1000 * spent.all / len(people), "ms", at_most=goal, note=note)
    services.close()


# --- 6


def many_reservations(url: str) -> None:
    people = sized(20_000, 100_000)
    services = Services.open(url)
    survey = survey_of(services)
    fill_reservations(services, survey, people)
    services.transactions.rewrite(patience=600)
    start, cpu = time.perf_counter(), time.process_time()
    services.surveys.close(survey)
    took, used = time.perf_counter() - start, time.process_time() - cpu
    what = f"6: closing a survey with {people:,} reservations"
    CARDS.add(what, took, "s", at_most=1, note=f"{used:.2f} s of processor")
    start, cpu = time.perf_counter(), time.process_time()
    services.held_places.look()
    took, used = time.perf_counter() - start, time.process_time() - cpu
    CARDS.add(f"{what}: the rest, afterwards", took, "s", note=f"{used:.2f} s of processor")
    services.close()


def fill_reservations(services: Services, survey: SurveyRecord, people: int) -> None:
    """Store people who have begun a survey, with their accounts, like the first who does."""
    who, key = services.identity(secrets.token_hex(16)), secrets.token_hex(16)
    services.participations.reserve(who, survey.token, "medium", idempotency_key=key)
    with services.engine.connect() as connection:
        mine = BALANCE.c.person == who.person
        balance = dict(connection.execute(BALANCE.select().where(mine)).one()._mapping)
        entry = ENTRY.select().where(ENTRY.c.person == who.person)
        first = dict(connection.execute(entry).one()._mapping)
    for start in range(0, people - 1, 10_000):
        names = [secrets.token_hex(32) for _ in range(min(10_000, people - 1 - start))]
        rows = [
            {
                "id": one[:32],
                "survey": survey.token,
                "pseudonym": one,
                "level": "medium",
                "state": RESERVED,
                "attempt": 1,
                "day": first["day"],
                "idempotency": one,
            }
            for one in names
        ]
        with services.engine.execution_options(write=True).begin() as connection:
            connection.execute(insert(PARTICIPATION), rows)
            connection.execute(insert(BALANCE), [{**balance, "person": one} for one in names])
            entries = [{**first, "person": one, "key": secrets.token_hex(32)} for one in names]
            connection.execute(insert(ENTRY), entries)


# --- 7


def log_beside_a_reader(url: str) -> None:
    people = sized(5_000, 50_000)
    services = Services.open(url)
    survey = survey_of(services)
    populate(services, survey, people)
    file = Path(services.engine.url.database or "")
    stop, largest = threading.Event(), [0]

    def answer() -> None:
        with served(url, file.with_suffix(".log")) as (port, _):
            while not stop.is_set():
                asyncio.run(crowd(port, people_of(survey, 40), 10, *EVERY))
                largest.append(file.with_name(f"{file.name}-wal").stat().st_size)

    writer = threading.Thread(target=answer)
    writer.start()
    for _ in examine(Settings(url)):
        largest.append(file.with_name(f"{file.name}-wal").stat().st_size)
    stop.set()
    writer.join()
    what = f"7: SQLite's log beside doctor, {people:,} people, others answer"
    CARDS.add(what, max(largest) / 1e6, "MB", at_most=100)
    services.close()


# --- 8


def truth_on_a_cluster(_url: str) -> None:
    """Fit partitions of very different sizes with a client that is there already."""
    if find_spec("distributed") is None:
        print("8: dask is not installed")
        return
    distributed = import_module("distributed")
    tasks, rng = sized(5_000, 100_000), np.random.default_rng(8)
    claims, _ = crowd_of_workers(rng, tasks=tasks, workers=200, accuracy=(6, 3))
    table, part = claims.to_arrow(), np.minimum(claims.task % 40, 12)
    expected = labels_of(TruthDiscovery().fit(claims).truths_)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(13):  # the last has more than all others
            rows = table.filter(pa.array(part == number))
            pa_parquet.write_table(rows, Path(folder) / f"{number:02}.parquet")
        partitions = Partitions.at(folder)
        start = time.perf_counter()
        with Stream() as engine:
            fit_partitions(partitions, TruthDiscovery(), engine=engine)
        alone = time.perf_counter() - start
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            start = time.perf_counter()
            with DaskCluster(client) as engine:
                found = fit_partitions(partitions, TruthDiscovery(), engine=engine)
                labels = labels_of(found.truths_)
            took = time.perf_counter() - start
            assert client.status == "running"  # it is its owner's
    same = float(np.mean([labels[task] == label for task, label in expected.items()]))
    note = f"{took:.1f} s on two processes, {alone:.1f} s in one; 13 files, one has two thirds"
    what = f"8: labels of {tasks:,} tasks by a client of yours that are those in memory"
    CARDS.add(what, same, "", better="higher", at_least=1, note=note)


def labels_of(truths: pa.Table) -> dict[object, object]:
    return dict(zip(*(column.to_pylist() for column in truths.columns[:2]), strict=True))


GOALS: dict[str, tuple[Goal, bool]] = {
    "1": (blocked_pages, True),
    "2": (rewritten_rows, True),
    "3": (large_results, False),
    "4": (price_of_a_run, True),
    "5": (blocked_pages, True),  # while people are refused, as they are in 1
    "6": (many_reservations, False),
    "7": (log_beside_a_reader, False),
    "8": (truth_on_a_cluster, False),
}


def main() -> None:
    addresses = [one for one in sys.argv[1:] if "://" in one]
    wanted = [one for one in sys.argv[1:] if "://" not in one] or list(GOALS)
    for measure, everywhere in dict.fromkeys(GOALS[name] for name in wanted):
        with tempfile.TemporaryDirectory(prefix="masquerade-goals-") as folder:
            file = f"sqlite:///{Path(folder) / 'goals.sqlite3'}"
            for url in [file, *(addresses if everywhere else ())]:
                measure(url)


if __name__ == "__main__":
    main()
