"""Quotas: the places of a survey at each level, and exact counts of people that begin it.

A count changes in the transaction of what it counts, so that it is exact however many compete, and
taking part costs the same whether ten have come or a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from masquerade.errors import ParameterError, QuotaFull
from masquerade.server.db.row_sets import Changes, Journal, RowSet
from masquerade.server.db.tables import (
    OPENED,
    PARTICIPATION,
    QUOTA,
    RESERVED,
    SEALED,
    SUBMITTED,
)

MOST_PEOPLE = 1_000_000  # that the quota of a level can name
#: States of a participation that counts towards its level's quota.
COUNTED = (RESERVED, OPENED, SEALED, SUBMITTED)

_AT = (QUOTA.c.survey == bindparam("one"), QUOTA.c.level == bindparam("at"))
_COUNTS = RowSet(QUOTA, ("survey", "level", "begun"))
_LEAVE = update(QUOTA).where(*_AT).values(begun=QUOTA.c.begun - bindparam("how_many"))


def check_quotas(quotas: Mapping[str, Any], levels: Iterable[str]) -> None:
    """Raise `ParameterError` unless there is one number of people for each level."""
    names = sorted(levels)
    if sorted(quotas) != names:
        raise ParameterError(
            f"quotas are given for {sorted(quotas)}, expected one number for each of {names}; or "
            "none at all, for as many as come."
        )
    for name, count in quotas.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_PEOPLE:
            raise ParameterError(
                f"level {name!r} has the quota {count!r}, expected a number from 0 to "
                f"{MOST_PEOPLE}."
            )


class QuotaCounts:
    """The counts in a transaction of many steps; nobody else changes them until it ends.

    Changes are in memory, where `journal` takes them back, until `flush` writes them.
    """

    def __init__(self, connection: Connection, journal: Journal) -> None:
        self._connection = connection
        self._journal = journal
        # What the database has, and what it shall have; None where nothing is counted.
        self._stored: dict[tuple[str, str], int | None] = {}
        self._counts: dict[tuple[str, str], int | None] = {}

    def load(self, places: Iterable[tuple[str, str]]) -> None:
        """Read the counts of some levels of surveys, and let nobody else change them."""
        unread = sorted(set(places) - self._counts.keys())
        rows = _COUNTS.read(self._connection, ("survey", "level"), unread, lock="FOR UPDATE")
        read: dict[tuple[str, str], int] = {row[:2]: row[2] for row in rows}
        for place in unread:
            self._counts[place] = self._stored[place] = read.get(place)

    def begin(self, survey: str, level: str, *, most: int) -> None:
        """Count a person who begins a survey; `QuotaFull` where all places are taken."""
        self.load([(survey, level)])
        count = self._counts[survey, level]
        if count is None or count >= most:
            raise QuotaFull(
                "as many people as this survey asks for at this level have begun it. Nothing was "
                "charged; another level may still be open."
            )
        self._journal.keep(self._counts, (survey, level), count + 1)

    def leave(self, survey: str, level: str) -> None:
        """Count a person out, where there is a count; the survey's row is locked."""
        self.load([(survey, level)])
        count = self._counts[survey, level]
        if count is not None:
            self._journal.keep(self._counts, (survey, level), count - 1)

    def flush(self, changes: Changes) -> None:
        """Add the counts that changed to what is sent."""
        changed = [one for one, count in self._counts.items() if count != self._stored[one]]
        rows = [(*one, self._counts[one], *one) for one in changed]
        _COUNTS.update(changes, ("survey", "level"), rows)
        self._stored = dict(self._counts)


def leave(connection: Connection, survey: str, level: str, how_many: int = 1) -> None:
    """Count people out as they leave, where there is a count; the survey's row is locked."""
    connection.execute(_LEAVE, {"one": survey, "at": level, "how_many": how_many})


def count_anew(connection: Connection, survey: str, quotas: Mapping[str, Any] | None) -> None:
    """Begin to count, or stop where there are no quotas; the caller has locked the survey's row."""
    # All rows anew, also of levels that are not offered any more.
    connection.execute(delete(QUOTA).where(QUOTA.c.survey == survey))
    if quotas:
        people = begun(connection, survey)
        rows = [{"survey": survey, "level": one, "begun": people.get(one, 0)} for one in quotas]
        connection.execute(insert(QUOTA), rows)


def wrong_counts(connection: Connection) -> list[str]:
    """Return the surveys with stored counts that differ from counting one by one."""
    stored: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(QUOTA).order_by(QUOTA.c.survey)):
        stored.setdefault(row.survey, {})[row.level] = row.begun
    people = {survey: begun(connection, survey) for survey in stored}
    return [
        survey
        for survey, counts in stored.items()
        if any(counts[level] != people[survey].get(level, 0) for level in counts)
    ]


def begun(connection: Connection, survey: str) -> dict[str, int]:
    """Return how many participations count towards each level's quota, one by one."""
    query = (
        select(PARTICIPATION.c.level, func.count().label("people"))
        .where(PARTICIPATION.c.survey == survey, PARTICIPATION.c.state.in_(COUNTED))
        .group_by(PARTICIPATION.c.level)
    )
    return {row.level: row.people for row in connection.execute(query)}
