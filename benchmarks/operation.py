"""Backup, restore and doctor against copying the SQLite file; a request mix over workers.

``python benchmarks/operation.py [PEOPLE]`` prints seconds and ratios of the same run.
"""

from __future__ import annotations

import io
import secrets
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from card import Cards, sized
from masquerade.server import Services, Settings
from masquerade.server.demo import take_part
from masquerade.server.operations.backup import backup
from masquerade.server.operations.doctor import examine
from masquerade.server.operations.restore import restore
from masquerade.server.operations.run import address, listen
from masquerade.server.operations.workers import Workers
from masquerade.server.settings import sqlite_url
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey

CARDS = Cards(__file__)
CLIENTS, REQUESTS = 8, sized(20, 60)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def survey_of(services: Services) -> str:
    definition = Survey.at_levels(
        title="Work",
        description="",
        template="pick",
        levels=("medium",),
        questions=(Choice("ill", "Ill?", ("Yes", "No")),),
    )
    return services.surveys.open_survey(definition).token


def fill(folder: Path, people: int) -> Services:
    services = Services.open(sqlite_url(folder / "full.sqlite3"))
    survey = services.surveys.record(survey_of(services))

    def some(count: int) -> None:
        for _ in range(count):
            take_part(services, survey, [0])

    threads = [threading.Thread(target=some, args=(people // 16,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return services


def compare_backup(folder: Path, people: int) -> None:
    services = fill(folder, people)
    file = io.BytesIO()

    def peer() -> None:
        with (
            sqlite3.connect(folder / "full.sqlite3") as source,
            sqlite3.connect(folder / "peer.sqlite3") as target,
        ):
            source.backup(target)

    copied = timed(peer)
    made = timed(lambda: backup(services.engine, file, server_key=None))
    file.seek(0)
    put = timed(lambda: restore(file, sqlite_url(folder / "again.sqlite3"), server_key=None))
    looked = timed(lambda: list(examine(Settings(services.engine.url.render_as_string()))))
    services.close()
    size = (folder / "peer.sqlite3").stat().st_size
    archive = len(file.getvalue())
    sizes = f"a SQLite file of {size / 1e6:.1f} MB, a backup of {archive / 1e6:.1f} MB"
    peer_name = "copying the pages of the SQLite file"
    what = f"backup, {people:,} people"
    CARDS.add(what, made, "s", peer=peer_name, peer_value=copied, note=sizes)
    CARDS.add(f"restore, {people:,} people", put, "s", peer=peer_name, peer_value=copied)
    CARDS.add(f"doctor, {people:,} people", looked, "s")


def serve_with(folder: Path, workers: int) -> None:
    settings = Settings(
        sqlite_url(folder / f"workers-{workers}.sqlite3"),
        rate_address=0,
        rate_participant=0,
        workers=workers,
    )
    services = Services.open(settings.database)
    token = survey_of(services)
    services.close()
    bound = listen("127.0.0.1", 0)
    url = address(bound)
    run = Workers(settings, bound)

    def load() -> None:
        read, wrote = measure(url, token)
        what = f"with {workers} worker{'s' if workers > 1 else ''}, {CLIENTS} clients"
        CARDS.add(f"invitations {what}", read, "a second", better="higher")
        CARDS.add(f"reservations {what}", wrote, "a second", better="higher")
        run.end()

    run.run(ready=lambda: threading.Thread(target=load).start())


def measure(url: str, token: str) -> tuple[float, float]:
    def reader(client: httpx.Client) -> None:
        client.get(f"/api/v1/surveys/{token}/invitation").raise_for_status()

    def writer(client: httpx.Client) -> None:
        headers = {
            "Masquerade-Participant": "w" + secrets.token_hex(16),
            "Idempotency-Key": secrets.token_hex(16),
        }
        body = {"survey": token, "level": "medium"}
        client.post("/api/v1/participations", json=body, headers=headers).raise_for_status()

    def many(ask: Callable[[httpx.Client], None]) -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            for _ in range(REQUESTS):
                ask(client)

    rates = []
    for ask in (reader, writer):
        threads = [threading.Thread(target=many, args=(ask,)) for _ in range(CLIENTS)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rates.append(CLIENTS * REQUESTS / (time.perf_counter() - begin))
    return rates[0], rates[1]


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else sized(200, 2000)
    with tempfile.TemporaryDirectory() as name:
        compare_backup(Path(name), people)
        for workers in (1, 2):
            serve_with(Path(name), workers)


if __name__ == "__main__":
    main()
