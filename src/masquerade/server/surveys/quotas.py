"""Quota counts: people who have begun a survey of limited quotas, counted as they come and go.

A count changes in the transaction of what it counts, so that it is exact however many compete, and
taking part costs the same whether ten have come or a million.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from masquerade.errors import QuotaFull
from masquerade.server.db.tables import (
    OPENED,
    PARTICIPATION,
    QUOTA,
    RESERVED,
    SEALED,
    SUBMITTED,
)

#: States of a participation that takes up a place of its level's quota.
COUNTED = (RESERVED, OPENED, SEALED, SUBMITTED)

_AT = (QUOTA.c.survey == bindparam("one"), QUOTA.c.level == bindparam("at"))
_BEGIN = (
    # One conditional update counts and decides: of two who want the last place one gets it.
    update(QUOTA).where(*_AT, QUOTA.c.begun < bindparam("most")).values(begun=QUOTA.c.begun + 1)
)
_LEAVE = update(QUOTA).where(*_AT).values(begun=QUOTA.c.begun - bindparam("how_many"))


def begin(connection: Connection, survey: str, level: str, *, most: int) -> None:
    """Count somebody who begins a survey at a level of which there is a count.

    Raises
    ------
    QuotaFull
        As many as the survey asks for have.
    """
    given = {"one": survey, "at": level, "most": most}
    # No row, or none that is below the limit: either way nothing was counted.
    if connection.execute(_BEGIN, given).rowcount != 1:
        raise QuotaFull(
            "as many people as this survey asks for at this level have begun it. Nothing was "
            "charged; another level may still be open."
        )


def leave(connection: Connection, survey: str, level: str, how_many: int = 1) -> None:
    """Count those who leave, where there is a count; the survey's row is held by the caller."""
    connection.execute(_LEAVE, {"one": survey, "at": level, "how_many": how_many})


def count_anew(connection: Connection, survey: str, seats: Mapping[str, Any] | None) -> None:
    """Begin to count, or stop where there are no quotas; the survey's row is held by the caller."""
    # All rows anew, also of levels that are not offered any more.
    connection.execute(delete(QUOTA).where(QUOTA.c.survey == survey))
    if seats:
        found = begun(connection, survey)
        rows = [{"survey": survey, "level": one, "begun": found.get(one, 0)} for one in seats]
        connection.execute(insert(QUOTA), rows)


def wrong_counts(connection: Connection) -> list[str]:
    """Return the surveys whose counts are not what counting one by one comes to."""
    kept: dict[str, dict[str, int]] = {}
    for row in connection.execute(select(QUOTA).order_by(QUOTA.c.survey)):
        kept.setdefault(row.survey, {})[row.level] = row.begun
    found = {survey: begun(connection, survey) for survey in kept}
    return [
        survey
        for survey, counts in kept.items()
        if any(counts[level] != found[survey].get(level, 0) for level in counts)
    ]


def begun(connection: Connection, survey: str) -> dict[str, int]:
    """Return how many participations take up a place at each level, counted one by one."""
    query = (
        select(PARTICIPATION.c.level, func.count().label("people"))
        .where(PARTICIPATION.c.survey == survey, PARTICIPATION.c.state.in_(COUNTED))
        .group_by(PARTICIPATION.c.level)
    )
    return {row.level: row.people for row in connection.execute(query)}
