"""Daily jobs: surveys end, reservations lapse, confirmed caps begin."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Final

from sqlalchemy import Connection, delete, select

from masquerade.accounting import Caps, Ledger
from masquerade.server.db.ledger_storage import LedgerTables, caps_of
from masquerade.server.db.tables import (
    CAPS_RAISE,
    CLOSING,
    OPEN,
    PARTICIPATION,
    RESPONSE_DAY,
    SURVEY,
    TAKING,
)
from masquerade.server.db.transactions import Transactions, insert_unless_there, reads, writes
from masquerade.server.http.rate_limit import HELD_SECONDS
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.server.surveys.selection_runs import finished_wave, runs_of
from masquerade.server.surveys.survey_records import counts
from masquerade.server.webhooks.webhooks import WAVE_FINISHED, enqueue
from masquerade.surveys.offered_levels import in_tens

#: At most so many are freed in one transaction, for which writers wait.
_AT_ONCE: Final = 500


class HeldPlaces:
    """Frees places that were held for half an hour, and reservations of closed surveys."""

    def __init__(
        self, endings: SurveyEndings, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._endings = endings
        self._now = now
        self._seen: dict[str, float] = {}

    def look(self) -> int:
        """Free places first seen half an hour ago or earlier and still held; return their number.

        What is reserved for privacy in surveys that are over is given back, too.
        """
        now = self._now()
        held = self._endings.places()
        self._seen = {place: self._seen.get(place, now) for place in held}
        late = sorted(one for one, since in self._seen.items() if now - since >= HELD_SECONDS)
        for start in range(0, len(late), _AT_ONCE):
            self._endings.free(late[start : start + _AT_ONCE])
        self._endings.finish()
        return len(late)


@dataclass(frozen=True, slots=True)
class DailySummary:
    """The counts of one day's jobs."""

    # released, raised: reservations given back, and caps that began.
    released: int
    raised: int


class DailyJobs:
    """Ends surveys, gives back reservations that lapsed and lets confirmed caps begin.

    `caps`: of a person without own ones. `reservation_days`: how many days after its own a
        reservation stays.
    """

    def __init__(
        self,
        transactions: Transactions,
        endings: SurveyEndings,
        *,
        today: Callable[[], str],
        caps: Caps,
        reservation_days: int,
    ) -> None:
        self._transactions = transactions
        self._endings = endings
        self._today = today
        self._ledger_of = partial(Ledger, clock=today, caps=caps)
        self._days = reservation_days

    def run(self) -> DailySummary:
        """Do all jobs that are due; a second run, or one in another process, changes nothing more.

        Afterwards all rows are rewritten, so that none tells by its place when it came.
        """
        before = (date.fromisoformat(self._today()) - timedelta(days=self._days)).isoformat()
        # First the participations: one that is expired can never be opened, and only then is what
        # it reserved given back.
        everywhere = PARTICIPATION.c.survey.in_(select(SURVEY.c.token))  # by the index
        lapsed = everywhere & (PARTICIPATION.c.day < before)
        self._transactions.write(lambda c: self._endings.expire(c, lapsed))
        until = (date.fromisoformat(self._today()) + timedelta(days=1)).isoformat()
        self._transactions.write(lambda c: self._endings.end_due(c, until=until))
        closing = PARTICIPATION.c.survey.in_(
            select(SURVEY.c.token).where(SURVEY.c.state == CLOSING)
        )
        self._transactions.write(lambda c: self._endings.expire(c, closing))
        self._transactions.write(self._tell_of_waves)
        self._transactions.write(self._count_days)
        released = self._endings.finish()
        released += self._endings.release(lambda tables: tables.reservations(before))
        raised = self._raise()
        # Last, as everything above wrote rows.
        self._transactions.rewrite()
        return DailySummary(released, raised)

    def _tell_of_waves(self, connection: Connection) -> None:
        """Tell of full waves once a day; a message at the last response would tell its hour."""
        taking = (SURVEY.c.seats.is_not(None), SURVEY.c.state == OPEN)
        surveys = connection.execute(select(SURVEY.c.token, SURVEY.c.team).where(*taking)).all()
        for token, team in surveys:
            responses = counts(connection, [token]).get(token, 0)
            wave = finished_wave(runs_of(connection, token), responses=responses)
            if wave is not None:
                about, day = f"{WAVE_FINISHED} {token} {wave}", self._today()
                enqueue(connection, team, WAVE_FINISHED, survey=token, day=day, about=about)

    def _count_days(self, connection: Connection) -> None:
        """Note the responses of surveys that take some, once a day and in whole tens.

        A number of one day would tell that one person answered on it.
        """
        taking = select(SURVEY.c.token).where(SURVEY.c.state.in_(TAKING))
        connection.execute(delete(RESPONSE_DAY).where(RESPONSE_DAY.c.survey.not_in(taking)))
        tokens = sorted(connection.scalars(taking))
        people = counts(connection, tokens)
        for token in tokens:
            row = {
                "survey": token,
                "day": self._today(),
                "responses": in_tens(people.get(token, 0)),
            }
            insert_unless_there(connection, RESPONSE_DAY, row)

    def _raise(self) -> int:
        return sum(self._begin_caps(person, caps) for person, caps in self._due())

    @reads
    def _due(self, connection: Connection) -> list[tuple[str, str]]:
        query = select(CAPS_RAISE).where(CAPS_RAISE.c.day <= self._today())
        return [(row.person, row.caps) for row in connection.execute(query)]

    @writes
    def _begin_caps(self, connection: Connection, person: str, caps: str) -> int:
        # The deletion decides: of two processes one raises the caps, and a wish that was replaced
        # meanwhile is left alone.
        condition = (CAPS_RAISE.c.person == person) & (CAPS_RAISE.c.caps == caps)
        if connection.execute(delete(CAPS_RAISE).where(condition)).rowcount:
            self._ledger_of(LedgerTables(connection)).raise_caps(person, caps_of(caps))
            return 1
        return 0  # taken back in the meantime
