"""Figures that a server shows while it works: responses day by day, the progress of long work."""

from __future__ import annotations

import secrets
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import insert
from tests.patience import PATIENCE_SECONDS

from masquerade.errors import UnderWay
from masquerade.server import Services
from masquerade.server.db.long_work import Report
from masquerade.server.db.tables import FIRST_TEAM, PARTICIPATION
from masquerade.server.surveys.document import read_document
from masquerade.server.surveys.templates import TEMPLATES

#: A zone, the hour (UTC) before the survey opens, and its last day there: over both changes of
#: clocks of Berlin, over half an hour's, in the zones that are the furthest ahead and behind.
ZONES = {
    "summer begins": ("Europe/Berlin", datetime(2026, 3, 27, 23, tzinfo=UTC), "2026-03-30"),
    "summer ends": ("Europe/Berlin", datetime(2026, 10, 23, 22, tzinfo=UTC), "2026-10-26"),
    "half an hour": ("Australia/Lord_Howe", datetime(2026, 4, 3, 14, tzinfo=UTC), "2026-04-06"),
    "first": ("Pacific/Kiritimati", datetime(2026, 5, 1, 11, tzinfo=UTC), "2026-05-04"),
    "last": ("Pacific/Pago_Pago", datetime(2026, 5, 1, 12, tzinfo=UTC), "2026-05-04"),
}


@contextmanager
def _store(clock: list[datetime], zone: str) -> Iterator[Services]:
    def today() -> str:
        return clock[0].astimezone(ZoneInfo(zone)).date().isoformat()

    with tempfile.TemporaryDirectory() as folder:
        services = Services.open(f"sqlite:///{Path(folder) / 's.sqlite3'}", today=today)
        try:
            yield services
        finally:
            services.close()


def response_days(runs: int, seed: int) -> dict[str, float]:
    """Return how many of a survey's days are wrong: missing, twice, not in tens, or falling.

    Some 0 to 3 people answer in each hour, and the daily jobs run once in an hour, as a server does
    it. A day's figure is that of the responses at the first run of the day; the last day is that of
    the zone, and no later one is counted.
    """
    rng = np.random.default_rng(seed)
    return {
        name: float(np.mean([_wrong_days(rng, *case) for _ in range(runs)]))
        for name, case in ZONES.items()
    }


def _wrong_days(rng: np.random.Generator, zone: str, start: datetime, closes: str) -> bool:
    clock = [start]
    with _store(clock, zone) as services:
        plan = {**TEMPLATES["pick"].document().to_json(), "plan": {"closes": closes}}
        draft, _ = services.drafts.create(read_document(plan), team=FIRST_TEAM)
        survey = services.drafts.open(draft.token, team=FIRST_TEAM)
        people, expected, shown = 0, dict[str, int](), list[tuple[str, int]]()
        while (day := clock[0].astimezone(ZoneInfo(zone)).date().isoformat()) <= closes:
            expected.setdefault(day, people // 10 * 10)
            services.daily_jobs.run()
            shown = services.surveys.days(survey.token, most=99)
            if shown != sorted(expected.items()):
                return True
            came = int(rng.integers(4))
            people += came
            _answer(services, survey.token, came)
            clock[0] += timedelta(hours=1)
        services.daily_jobs.run()
        ended = services.surveys.record(survey.token).state != "open"
    counts = [count for _, count in shown]
    return not ended or counts != sorted(counts) or len(shown) < 3


def _answer(services: Services, token: str, people: int) -> None:
    rows = [
        {
            "id": secrets.token_hex(16),
            "survey": token,
            "pseudonym": secrets.token_hex(32),
            "level": "high",
            "state": "submitted",
            "attempt": 1,
            "reports": [0],
        }
        for _ in range(people)
    ]
    if rows:
        with services.engine.execution_options(write=True).begin() as connection:
            connection.execute(insert(PARTICIPATION), rows)


def long_work(runs: int, seed: int) -> dict[str, float]:
    """Return how often progress goes back, is beyond its end, or is over before the text is there.

    Of work that reports any numbers, backwards and too large ones too, as readings that begin again
    do. The text at the end is that of the work done directly.
    """
    rng = np.random.default_rng(seed)
    found = {"back": 0, "beyond": 0, "early": 0, "other text": 0}
    with _store([datetime(2026, 5, 1, tzinfo=UTC)], "UTC") as services:
        for run in range(runs):
            for name in _odd_progress(services, rng, f"x{run}"):
                found[name] += 1
    return {name: count / runs for name, count in found.items()}


def _odd_progress(services: Services, rng: np.random.Generator, key: str) -> set[str]:
    steps = [
        (what, int(done), 100)
        for what in ("counting", "comparing")
        for done in rng.integers(0, 130, int(rng.integers(1, 6)))
    ]
    text, told, go_on = secrets.token_hex(8), threading.Semaphore(0), threading.Semaphore(0)

    def compute(report: Report) -> str:
        for step in steps:
            report(*step)
            told.release()
            assert go_on.acquire(timeout=PATIENCE_SECONDS)
        return text

    def ask() -> UnderWay | str:
        try:
            return services.long_work.require(key, compute, team="a")
        except UnderWay as error:
            return error

    odd, last = set[str](), ("", 0)
    ask()
    for what, _, _ in steps:
        assert told.acquire(timeout=PATIENCE_SECONDS)
        answer = ask()
        if isinstance(answer, str):
            odd.add("early")
        else:
            if what not in str(answer) or (last[0] == what and answer.done < last[1]):
                odd.add("back")
            if answer.done > answer.of:
                odd.add("beyond")
            last = what, answer.done
        go_on.release()
    while not isinstance(answer := ask(), str):
        threading.Event().wait(0.002)
    return odd | ({"other text"} if answer != text else set())
