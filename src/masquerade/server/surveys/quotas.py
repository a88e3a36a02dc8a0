"""Quotas: the places of a survey at each level, and exact counts of people that begin it.

A count changes in the transaction of what it counts, so that it is exact however many compete, and
taking part costs the same whether ten have come or a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from masquerade.errors import ParameterError, QuotaFull
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
_BEGIN = (
    # One conditional update counts and decides: of two who come last one gets in.
    update(QUOTA).where(*_AT, QUOTA.c.begun < bindparam("most")).values(begun=QUOTA.c.begun + 1)
)
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


def begin(connection: Connection, survey: str, level: str, *, most: int) -> None:
    """Count a person at a level as they begin a survey; `QuotaFull` where all places are taken."""
    values = {"one": survey, "at": level, "most": most}
    # No row, or none that is below the limit: either way nothing was counted.
    if connection.execute(_BEGIN, values).rowcount != 1:
        raise QuotaFull(
            "as many people as this survey asks for at this level have begun it. Nothing was "
            "charged; another level may still be open."
        )


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
