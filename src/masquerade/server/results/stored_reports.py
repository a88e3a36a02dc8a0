"""The masked reports of surveys, as the database keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Text, func, select
from sqlalchemy import cast as as_type

from masquerade.server.db.tables import PARTICIPATION, SUBMITTED
from masquerade.server.db.transactions import Transactions


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """All reports of one participant to one survey, under a pseudonym of that survey only."""

    pseudonym: str
    level: str
    reports: tuple[int, ...]


class StoredReports:
    """The reports of all surveys."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_survey(self, token: str) -> list[StoredResponse]:
        """Return all responses to a survey, in an order that says nothing about arrival."""
        query = (
            select(PARTICIPATION.c.pseudonym, PARTICIPATION.c.level, PARTICIPATION.c.reports)
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            # By the random id.
            .order_by(PARTICIPATION.c.id)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return [StoredResponse(row.pseudonym, row.level, tuple(row.reports)) for row in rows]

    def rows(
        self, token: str, *, after: str = "", limit: int | None = None
    ) -> list[tuple[str, str, str]]:
        """Return pseudonym, level and reports (as JSON text) of people, by pseudonym.

        Parameters
        ----------
        token : str
        after : str
            The last pseudonym that is known already.
        limit : int, optional
            How many people at most; all by default.
        """
        pseudonym = PARTICIPATION.c.pseudonym
        query = (
            # The JSON as it lies: nothing is parsed to be written again.
            select(pseudonym, PARTICIPATION.c.level, as_type(PARTICIPATION.c.reports, Text))
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            .order_by(pseudonym)
            .limit(limit)
        )
        if after:
            query = query.where(pseudonym > after)
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return cast("list[tuple[str, str, str]]", rows)

    def counts_by_level(self, token: str) -> dict[str, int]:
        """Return how many responses each level of a survey has, where there are any."""
        level = PARTICIPATION.c.level
        query = (
            select(level, func.count())
            .where(PARTICIPATION.c.survey == token, PARTICIPATION.c.state == SUBMITTED)
            .group_by(level)
        )
        rows = self._transactions.read(lambda c: c.execute(query).all())
        return {row[0]: row[1] for row in rows}
