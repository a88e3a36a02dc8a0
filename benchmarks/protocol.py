"""Complete runs of the participants' protocol a second, over real HTTP, server and client here.

``python benchmarks/protocol.py [DATABASE_URL ...] [--runs N] [--clients N] [--workers N] ...``

The server is a process of its own, as ``masquerade serve`` runs it but without rate limits; the
client is this process, with one connection a participant and hand-made requests, so that it costs
little beside the server. Without an address of a database it is SQLite in a temporary folder, on
the disk: where that is a memory file system, durability costs nothing and the numbers flatter.

Prints for each database: complete runs (reserve, open, seal, send) a second with every connection
busy all the time, and the 50th and 95th percentile of one request; final submissions a second alone
likewise; the percentiles where runs begin at a steady pace; with ``--stored``, submissions a second
with so many stored reports compared to none; and whether everything acknowledged is there. Before
them comes a baseline: a bare route of the same framework that commits one row, a request at a time
likewise. "Processor" is how much of one core the server and this process take meanwhile. A run's
milliseconds of processor are the server's, and with PostgreSQL on this computer the database's own.
With ``--people`` so many others have taken part before, with their accounts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sqlalchemy import insert, text

from card import Cards, sized
from masquerade.accounting import Balance, Caps, Charge
from masquerade.accounting.balance import after
from masquerade.accounting.chain import entry_at
from masquerade.server import Services
from masquerade.server.db.tables import BALANCE, ENTRY, PARTICIPATION
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.survey import Survey, commitment_of

CARDS = Cards(__file__)

PROGRAM = """
import sys
from masquerade.server import Settings, create_app
from masquerade.server.operations.workers import Workers
from masquerade.server.operations.run import listen, serve

def ready():
    print(bound.getsockname()[1], flush=True)

if __name__ == "__main__":
    bound = listen("127.0.0.1", 0)
    workers = int(sys.argv[2])
    free = {"rate_participant": 0, "rate_address": 0, "rate_survey": 0}
    settings = Settings(sys.argv[1], **free, workers=workers)
    if workers > 1:
        Workers(settings, bound).run(ready=ready)
    else:
        serve(create_app(settings), bound, ready=ready)
"""
BARE = """
import sys
from fastapi import FastAPI, Header
from pydantic import BaseModel
from sqlalchemy import Column, MetaData, String, Table, insert
from masquerade.server import Settings
from masquerade.server.db.engine import connect
from masquerade.server.operations.run import listen, serve

class Row(BaseModel):
    survey: str
    level: str

engine = connect(sys.argv[1])
table = Table("bare", MetaData(), Column("id", String(32), primary_key=True),
              Column("level", String(32)))
table.metadata.create_all(engine)
app = FastAPI()

@app.post("/api/v1/participations", status_code=201)
def keep(row: Row, idempotency_key: str = Header()) -> dict[str, str]:
    with engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(table), {"id": idempotency_key, "level": row.level})
    return {"id": idempotency_key}

bound = listen("127.0.0.1", 0)
serve(app, bound, ready=lambda: print(bound.getsockname()[1], flush=True))
"""
LEVELS = ("high", "medium")
EVERY = ("reserve", "open", "seal", "send")
QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No")),
    *(Rating(f"r{n}", f"How stressful was week {n}?") for n in range(4)),
)
REPORTS = [1, 0, 4, 2, 3]


@dataclass
class Person:
    """A participant with the bytes that each step sends."""

    survey: SurveyRecord
    level: str
    secret: str = field(default_factory=lambda: "w" + secrets.token_hex(16))
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    id: str = ""

    def request(self, method: str, path: str, body: object = None, extra: str = "") -> bytes:
        """Return the bytes of a request."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} /api/v1/participations{path} HTTP/1.1\r\nHost: x\r\n"
            f"Masquerade-Participant: {self.secret}\r\nContent-Type: application/json\r\n"
            f"{extra}Content-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    def reserve(self) -> bytes:
        """Choose a level."""
        body = {"survey": self.survey.token, "level": self.level}
        return self.request("POST", "", body, f"Idempotency-Key: {secrets.token_hex(16)}\r\n")

    def open(self) -> bytes:
        """Ask for the questions."""
        return self.request("POST", f"/{self.id}/open")

    def seal(self) -> bytes:
        """Commit to the reports."""
        commitment = commitment_of(self.id, REPORTS, self.salt)
        return self.request("POST", f"/{self.id}/seal", {"commitment": commitment})

    def send(self) -> bytes:
        """Send the reports."""
        body = {
            "reports": REPORTS,
            "salt": self.salt,
            "level": self.level,
            "survey_hash": self.survey.hash,
        }
        return self.request("PUT", f"/{self.id}/response", body)


class Line:
    """One connection, and how long each request on it took."""

    def __init__(self, seconds: list[float]) -> None:
        self.seconds = seconds

    async def connect(self, port: int) -> None:
        """Open the connection."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)

    async def ask(self, request: bytes) -> bytes:
        """Send a request and return the body of its answer, which must be a success."""
        start = time.perf_counter()
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await self.reader.readexactly(length)
        self.seconds.append(time.perf_counter() - start)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(body.rstrip(b' "}').decode())
        return body


@dataclass
class Measured:
    """Figures of a crowd: people a second, and milliseconds of one request."""

    rate: float
    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{self.rate:8.1f} a second; one request p50 {self.p50:6.1f} p95 {self.p95:6.1f} ms"


async def crowd(
    port: int, people: list[Person], clients: int, *steps: str, pace: float | None = None
) -> Measured:
    """Let people take steps, each on one of so many connections.

    Each connection goes on at once, or where there is a pace begins with its next person in time
    for so many people a second over all connections.
    """
    seconds: list[float] = []
    waiting = list(reversed(people))
    start = time.perf_counter()

    async def client(place: int) -> None:
        line = Line(seconds)
        await line.connect(port)
        turn = 0
        while waiting:
            person = waiting.pop()
            if pace is not None:
                due = start + (place + turn * clients) / pace
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                turn += 1
            for step in steps:
                answer = await line.ask(getattr(person, step)())
                if step == "reserve":
                    person.id = json.loads(answer)["id"]
        line.writer.close()

    await asyncio.gather(*(client(place) for place in range(clients)))
    took = time.perf_counter() - start
    seconds.sort()
    return Measured(
        len(people) / took,
        1000 * seconds[len(seconds) // 2],
        1000 * seconds[int(0.95 * len(seconds))],
    )


def fill(services: Services, survey: SurveyRecord, count: int) -> None:
    """Store so many responses of others, directly."""
    table = PARTICIPATION
    for start in range(0, count, 50_000):
        rows = [
            {
                "id": secrets.token_hex(16),
                "survey": survey.token,
                "level": "medium",
                "state": "submitted",
                "attempt": 1,
                "pseudonym": secrets.token_hex(32),
                "reports": REPORTS,
                "commitment": secrets.token_hex(32),
                "idempotency": secrets.token_hex(32),
            }
            for _ in range(min(50_000, count - start))
        ]
        with services.engine.execution_options(write=True).begin() as connection:
            connection.execute(insert(table), rows)


def baseline(database: str, survey: SurveyRecord, options: argparse.Namespace) -> None:
    """Measure a bare route that commits one row."""
    with subprocess.Popen(
        [sys.executable, "-c", BARE, database], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            people = people_of(survey, 2 * options.runs)
            asyncio.run(crowd(port, people_of(survey, options.warm), options.clients, "reserve"))
            with Processor(server.pid) as spent:
                found = asyncio.run(crowd(port, people, options.clients, "reserve"))
            row = 1000 * spent.all / (2 * options.runs)
            print(f"  bare committed row {found}; {spent}, {row:.2f} ms a row")
            keep("a bare route of the same framework that commits a row", found, options)
        finally:
            server.terminate()


def measure(database: str, options: argparse.Namespace) -> None:
    services = Services.open(database)
    definition = Survey.at_levels(title="Load", questions=QUESTIONS)
    survey = services.surveys.open_survey(definition)
    populate(services, survey, options.people)
    Processor.database = postmaster(services)
    baseline(database, survey, options)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, database, str(options.workers)],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            for _ in range(options.rounds):
                one_round(server.pid, survey, port, options)
            if options.stored:
                stored(services, survey, port, options)
        finally:
            server.terminate()
    expected = options.rounds * (options.runs * 3 + options.warm) + (
        2 * options.runs + options.stored if options.stored else 0
    )
    expected += options.people
    kept = services.surveys.record(survey.token).responses
    print(
        f"  acknowledged {expected}, there {kept}, ledger entries intact {services.ledger.verify()}"
    )
    services.close()


def people_of(survey: SurveyRecord, count: int) -> list[Person]:
    """Return new participants; five questions at the third level would not fit the cap."""
    return [Person(survey, LEVELS[n % 2]) for n in range(count)]


def one_round(server: int, survey: SurveyRecord, port: int, options: argparse.Namespace) -> None:
    """Measure complete runs, final submissions alone, and requests at the pace of the target."""

    def meet(people: list[Person], *steps: str, pace: float | None = None) -> Measured:
        return asyncio.run(crowd(port, people, options.clients, *steps, pace=pace))

    meet(people_of(survey, options.warm), *EVERY)
    people = people_of(survey, options.runs)
    with Processor(server) as spent:
        found = meet(people, *EVERY)
    a_run = 1000 * spent.all / options.runs
    print(f"  complete runs      {found}; {spent}, {a_run:.2f} ms a run")
    told = f"processor of one run, {options.clients} connections"
    CARDS.add(told, a_run, "ms")
    keep("complete runs", found, options)
    people = people_of(survey, options.runs)
    meet(people, *EVERY[:3])
    with Processor(server) as spent:
        found = meet(people, "send")
    print(f"  final submissions  {found}; {spent}")
    keep("final submissions", found, options)
    paced = people_of(survey, options.runs)
    with Processor(server) as spent:
        found = meet(paced, *EVERY, pace=options.pace)
    print(f"  runs at a pace     {found}; {spent}")
    CARDS.add(f"95th percentile of a request, {options.pace:g} runs a second", found.p95, "ms")


def keep(what: str, found: Measured, options: argparse.Namespace) -> None:
    """Keep how many a second, and how long a request took."""
    told = f"{what}, {options.clients} connections, all busy"
    CARDS.add(told, found.rate, "a second", better="higher")
    CARDS.add(f"{told}: 95th percentile of a request", found.p95, "ms")


class Processor:
    """Seconds of processor time that server, database and this process take in a block."""

    #: The process of the database, where it is one of its own on this computer.
    database: ClassVar[int | None] = None

    def __init__(self, server: int) -> None:
        self._process = server
        self.server = self.stored = self.own = self.passed = 0.0

    @property
    def all(self) -> float:
        """Of server and database together."""
        return self.server + self.stored

    def _of_database(self) -> float:
        return 0.0 if self.database is None else processor_seconds(self.database)

    def __enter__(self) -> Processor:
        self._before = self._of_database()
        self._began = processor_seconds(self._process), time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        server, own, start = self._began
        self.server = processor_seconds(self._process) - server
        self.stored = self._of_database() - self._before
        self.own = time.process_time() - own
        self.passed = time.perf_counter() - start

    def __str__(self) -> str:
        database = f", database {self.stored / self.passed:.0%}" if self.stored else ""
        return (
            f"processor server {self.server / self.passed:.0%}{database}, "
            f"here {self.own / self.passed:.0%}"
        )


def processor_seconds(process: int) -> float:
    """Return the processor time that a process and its workers have taken (Linux; 0 elsewhere)."""
    folder = Path(f"/proc/{process}")
    if not folder.exists():
        return 0.0
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    workers = (folder / "task" / str(process) / "children").read_text().split()
    return own + sum(processor_seconds(int(worker)) for worker in workers)


def postmaster(services: Services) -> int | None:
    """Return the process of PostgreSQL, where it is on this computer and says so."""
    if services.engine.dialect.name != "postgresql":
        return None
    query = text("SELECT pg_read_file('postmaster.pid')")
    number = int(services.transactions.read(lambda c: c.scalar(query)).split()[0])
    return number if Path(f"/proc/{number}").exists() else None


def populate(services: Services, survey: SurveyRecord, people: int) -> None:
    """Store people of earlier surveys, with their participations and accounts, directly."""
    cost, caps = survey.survey.level("medium").cost(survey.token), Caps()
    fill(services, survey, people)
    for start in range(0, people, 10_000):
        entries, balances = [], []
        for _ in range(min(10_000, people - start)):
            person, key = secrets.token_hex(32), secrets.token_hex(32)
            balance = Balance(caps)
            for kind in ("reserve", "commit"):
                stated = None if balance.entries else caps
                charge = Charge(person, cost, "2026-01-01", kind, key, stated)
                entry = entry_at(charge, balance.entries, balance.head)
                balance = after(balance, entry, reserved=kind == "commit")
                entries.append(
                    {
                        "person": person,
                        "sequence": entry.sequence,
                        "kind": kind,
                        "key": key,
                        "cost": cost.digest,
                        "day": "2026-01-01",
                        "caps": None if stated is None else stated.text,
                        "previous_hash": entry.previous_hash,
                        "hash": entry.hash,
                    }
                )
            numbers = dict(zip(Balance._fields[1:], balance[1:], strict=True))
            balances.append({"person": person, "caps": caps.text, **numbers})
        with services.engine.execution_options(write=True).begin() as connection:
            connection.execute(insert(ENTRY), entries)
            connection.execute(insert(BALANCE), balances)


def stored(
    services: Services, survey: SurveyRecord, port: int, options: argparse.Namespace
) -> None:
    rates = []
    for count in (0, options.stored):
        fill(services, survey, count)
        people = people_of(survey, options.runs)
        asyncio.run(crowd(port, people, options.clients, "reserve", "open", "seal"))
        rates.append(asyncio.run(crowd(port, people, options.clients, "send")).rate)
    print(
        f"  with {options.stored} stored reports more: {rates[1]:.1f} submissions a second, "
        f"{rates[1] / rates[0]:.2f} of {rates[0]:.1f} without"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", nargs="*")
    parser.add_argument("--runs", type=int, default=sized(100, 1000))
    parser.add_argument("--warm", type=int, default=sized(20, 100))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--clients", type=int, default=sized(20, 100))
    parser.add_argument("--stored", type=int, default=0)
    parser.add_argument("--people", type=int, default=0, help="who took part before")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--pace", type=float, default=sized(10, 80), help="runs a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for database in options.database or [f"sqlite:///{Path(folder) / 'load.sqlite3'}"]:
            print(database.partition("://")[0])
            measure(database, options)


if __name__ == "__main__":
    main()
