"""The end of a survey: reservations lapse, webhooks hear of it.

In the transaction that ends a survey are its messages, and the reservations of a small one: nobody
can open these any more. Those of a large one lapse after it, some hundreds in a transaction, and so
are the ledger's given back. What is left, also by a crash, is looked for every minute.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, select, update

from masquerade.accounting import Caps, Ledger
from masquerade.errors import NotReserved
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.row_sets import Changes, Journal, by_index
from masquerade.server.db.tables import (
    CLOSED,
    CLOSING,
    EXPIRED,
    FINISHED,
    OPEN,
    PARTICIPATION,
    RESERVED,
    SURVEY,
    TAKING,
)
from masquerade.server.db.transactions import Transactions, writes
from masquerade.server.surveys.quotas import leave
from masquerade.server.surveys.tickets import forget_invitations
from masquerade.server.webhooks.webhooks import ENDED, RESULTS_READY, enqueue

#: People whose reservations are given back in one transaction: a tenth of a second of writing.
_AT_ONCE = 500
# For so long a request waits for the rewriting of what it ended.
_REWRITING_SECONDS = 0.5


class SurveyEndings:
    """The steps that follow the end of surveys and of reservations."""

    def __init__(self, transactions: Transactions, *, today: Callable[[], str], caps: Caps) -> None:
        self._transactions = transactions
        self._today = today
        self._ledger_of = partial(Ledger, clock=today, caps=caps)

    def end(self, connection: Connection, token: str) -> None:
        """Expire a survey's reservations, in the transaction that ends or closes it."""
        # The caller has changed the survey's row: nobody begins it, nor do its quotas change.
        if len(_reserved(connection, PARTICIPATION.c.survey == token)) <= _AT_ONCE:
            self._expire(connection, PARTICIPATION.c.survey == token)
        forget_invitations(connection, token)
        self._announce(connection, token)

    def end_due(self, connection: Connection, *, until: str) -> None:
        """Close surveys after their last day; open ones take begun responses `until` a day."""
        # ISO dates compare as texts.
        day = self._today()
        past = SURVEY.c.closes < day
        # First those that are closing: what begins to close below keeps its days of grace.
        closed = connection.scalars(
            update(SURVEY)
            .where(SURVEY.c.state == CLOSING, past)
            .values(state=CLOSED, closed=day, closes=None)
            .returning(SURVEY.c.token)
        ).all()
        late = update(SURVEY).where(SURVEY.c.state == OPEN, past)
        closing = late.values(state=CLOSING, closes=until).returning(SURVEY.c.token)
        for token in connection.scalars(closing).all():
            forget_invitations(connection, token)
        for token in closed:
            self._announce(connection, token)

    def expire(self, connection: Connection, condition: Any) -> None:
        """Let reservations of any surveys lapse."""
        # Locked, so that no survey begins to count while they leave.
        connection.execute(
            select(SURVEY.c.token).where(SURVEY.c.state.in_(TAKING)).with_for_update(read=True)
        )
        self._expire(connection, condition)

    def places(self) -> list[str]:
        """Return the participations that hold a place of a survey with quotas, not opened yet."""
        query = (
            select(PARTICIPATION.c.id)
            .join(SURVEY, SURVEY.c.token == PARTICIPATION.c.survey)
            .where(PARTICIPATION.c.state == RESERVED, SURVEY.c.seats.is_not(None))
        )
        return list(self._transactions.read(lambda c: c.scalars(query).all()))

    def free(self, places: list[str]) -> None:
        """Let places be taken by others; their privacy reservations lapse with the day."""
        condition = PARTICIPATION.c.id.in_(places)
        self._transactions.write(lambda c: self.expire(c, condition))

    def _expire(self, connection: Connection, condition: Any) -> None:
        """Let reservations lapse, with the quotas that were set aside for them."""
        special = select(SURVEY.c.token).where(SURVEY.c.seats.is_not(None))
        change = update(PARTICIPATION).where(PARTICIPATION.c.state == RESERVED, condition)
        change = change.values(state=EXPIRED, day=None)
        # Most surveys have no quotas: one statement, without reading a row.
        connection.execute(change.where(PARTICIPATION.c.survey.not_in(special)))
        lapsed = change.where(PARTICIPATION.c.survey.in_(special))
        rows = connection.execute(lapsed.returning(PARTICIPATION.c.survey, PARTICIPATION.c.level))
        # Sorted, so that two processes lock counts in one order.
        for (survey, level), count in sorted(Counter(map(tuple, rows)).items()):
            leave(connection, survey, level, count)

    def _announce(self, connection: Connection, token: str) -> None:
        """Tell the team's webhooks that a survey is over."""
        columns = (SURVEY.c.team, SURVEY.c.state, SURVEY.c.closed, SURVEY.c.definition)
        row = connection.execute(select(*columns).where(SURVEY.c.token == token)).one()
        if row.state in TAKING:
            return
        enqueue(connection, row.team, ENDED, survey=token, day=row.closed, state=row.state)
        # Of two parties, once both have added up.
        if row.state in FINISHED and not row.definition.get("two_parties"):
            enqueue(connection, row.team, RESULTS_READY, survey=token, day=row.closed)

    def release_reservations(self, token: str) -> None:
        """Give people's reservations for an ended survey back, after its commit.

        The first hundreds here, so that closing answers soon; the rest within a minute or two.
        """
        self.release(lambda tables: tables.reservations_of(token, _AT_ONCE))
        # Before anybody reads results: from here on nothing more comes to it. It goes on by itself.
        self._transactions.rewrite(token, patience=_REWRITING_SECONDS)

    def finish(self) -> int:
        """Let what is still reserved in ended surveys lapse, and give it back; return how much."""
        ended: set[str] = set()
        while lapsed := self._transactions.write(self._lapse):
            ended |= lapsed
        released = self.release(LedgerTables.reservations_of_closed)
        for token in sorted(ended):
            self._transactions.rewrite(token)
        return released

    def _lapse(self, connection: Connection) -> set[str]:
        """Let some hundreds of reservations of ended surveys lapse; return the surveys."""
        over = select(SURVEY.c.token).where(SURVEY.c.state.not_in(TAKING))
        rows = _reserved(connection, PARTICIPATION.c.survey.in_(over))[:_AT_ONCE]
        surveys = {row.survey for row in rows}
        if rows:
            # The survey is named too, by which PostgreSQL finds the partition.
            ids = PARTICIPATION.c.id.in_([row.id for row in rows])
            self._expire(connection, ids & PARTICIPATION.c.survey.in_(sorted(surveys)))
        return surveys

    def release(
        self,
        find: Callable[[LedgerTables], list[tuple[str, str]]],
    ) -> int:
        """Give back the reservations, by person and key, that `find` reads; return how many."""
        # Sorted, so that two processes lock accounts in one order.
        waiting = sorted(self._transactions.read(lambda c: find(LedgerTables(c))))
        starts = range(0, len(waiting), _AT_ONCE)
        return sum(self._release(waiting[start : start + _AT_ONCE]) for start in starts)

    @writes
    def _release(self, connection: Connection, reservations: list[tuple[str, str]]) -> int:
        by_index(connection)
        journal = Journal()
        tables, released = LedgerTables(connection, journal), 0
        ledger = self._ledger_of(tables)
        tables.load(reservations)
        for person, key in reservations:
            # Whether it was committed is decided by the ledger under its own lock: the questions
            # may have been shown in the meantime.
            with contextlib.suppress(NotReserved), journal.attempt():
                ledger.release(person, key)
                released += 1
        changes = Changes(connection)
        tables.flush(changes)
        changes.send()
        return released


def _reserved(connection: Connection, condition: Any) -> Sequence[Any]:
    """Return id and survey of reservations, at most one more than `_AT_ONCE`."""
    rows = PARTICIPATION.c
    query = select(rows.id, rows.survey).where(condition, rows.state == RESERVED)
    return connection.execute(query.limit(_AT_ONCE + 1)).all()
