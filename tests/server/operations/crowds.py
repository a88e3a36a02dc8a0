"""People that are the same in each order in which they come, and parts of files to compare."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sqlalchemy import update
from tests.patience import PATIENCE_SECONDS
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.server import Services
from masquerade.server.db.tables import PARTICIPATION
from masquerade.server.surveys.rewards import Reward

if TYPE_CHECKING:
    from masquerade.server.surveys.survey_records import SurveyRecord

COUNTERS = (range(24, 28), range(40, 44), range(92, 96))
"""Where the header of an SQLite file counts changes and rewritings, of which order is no part."""


class Draws:
    """Replaces drawn names by ones that depend on the person's turn alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._who, self._count = "", 0
        monkeypatch.setattr(secrets, "token_hex", self.token_hex)

    def turn(self, who: str) -> None:
        """Begin somebody's turn."""
        self._who, self._count = who, 0

    def token_hex(self, length: int = 32) -> str:
        """Return the next name of the person with the turn."""
        self._count += 1
        return hashlib.sha256(f"{self._who} {self._count}".encode()).hexdigest()[: 2 * length]


class Crowd:
    """People with the same secrets, drawn names and reports in every order of arrival."""

    def __init__(self, draws: Draws, *, day: str = "2026-03-14") -> None:
        self.draws, self.day = draws, day

    def open(self, url: str, **settings: Any) -> Services:
        """Open a store that is rewritten only when asked."""
        return Services.open(url, today=lambda: self.day, rewrites=False, **settings)

    def empty(self, url: str) -> SurveyRecord:
        """Make a database with a survey that gives codes."""
        self.draws.turn("the server")
        services = self.open(url)
        survey = services.surveys.open_survey(define(), reward=Reward())
        services.identity("0" * 32)
        services.close()
        return survey

    def secret(self, number: int) -> str:
        """Return the secret of somebody's device."""
        return hashlib.sha256(f"person {number}".encode()).hexdigest()[:32]

    def come(
        self,
        services: Services,
        survey: SurveyRecord,
        number: int,
        *,
        long: bool = False,
        leaves: bool = False,
    ) -> None:
        """Take part: in all steps, with long reports, or with a withdrawal at the end."""
        self.draws.turn(f"person {number}")
        device = Device(self.secret(number))
        device.send(services, survey, [number % 2, number % 5])
        who = services.identity(device.participant)
        [begun], _ = services.profiles.invitations(who, after="", limit=9)
        assert begun.participation is not None
        mine = begun.participation["id"]
        if long:  # what does not fit into a page lies on others
            reports = [(number * i) % 5 for i in range(250 * (number % 11))]
            change = update(PARTICIPATION).where(PARTICIPATION.c.id == mine)
            services.transactions.write(lambda c: c.execute(change.values(reports=reports)))
        if leaves:
            services.participations.withdraw(who, mine)


def orders(people: int, count: int) -> list[list[int]]:
    """Return fixed orders in which people come."""
    rng = np.random.default_rng(20261122)
    return [rng.permutation(people).tolist() for _ in range(count)]


def differing(one: bytes, other: bytes) -> list[int]:
    """Return the places at which two files differ."""
    assert len(one) == len(other)
    a, b = (np.frombuffer(content, dtype=np.uint8) for content in (one, other))
    return np.flatnonzero(a != b).tolist()


def in_key_order(file: Path) -> bool:
    """Return whether a file that nobody has open is as a rewriting would leave it."""
    again = Path(shutil.copy(file, f"{file}.again"))
    with closing(sqlite3.connect(again, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("VACUUM")
    one, other = file.read_bytes(), again.read_bytes()
    return len(one) == len(other) and all(
        any(place in counter for counter in COUNTERS) for place in differing(one, other)
    )


def plain(file: Path) -> sqlite3.Connection:
    """Open a connection of somebody else."""
    return sqlite3.connect(file, isolation_level=None, timeout=PATIENCE_SECONDS)
