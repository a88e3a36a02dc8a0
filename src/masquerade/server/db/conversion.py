"""Conversion of a database from before the schema of the first release."""

from __future__ import annotations

import logging
from typing import Final

from sqlalchemy import JSON, Connection, column, select, table, text, update

from masquerade.server.db.ledger_conversion import convert_ledgers

_LOGGER = logging.getLogger(__name__)
#: The revision that is converted; databases of earlier ones were never released.
CONVERTED: Final = "0013"
_OWED = """SELECT team, currency, sum(balance) AS amount FROM book_account
           WHERE kind IN ('wallet', 'clearing') AND balance > 0 GROUP BY team, currency"""
_SURVEY = table("survey", column("token"), column("reward", JSON), column("document", JSON))
_DRAFT = table("draft", column("token"), column("document", JSON))


def convert(connection: Connection) -> None:
    """Bring the tables and rows of revision `CONVERTED` to the first schema, in one transaction."""
    _convert_rewards(connection)
    convert_ledgers(connection)


def _convert_rewards(connection: Connection) -> None:
    """Drop the book of money, and let surveys that paid into wallets give completion codes."""
    for team, currency, amount in connection.execute(text(_OWED)):
        _LOGGER.warning(
            "wallets are gone with this version: team %s owed participants %s %s.",
            *(team, amount, currency),
        )
    for name in ("payout", "book_transfer", "book_account"):
        connection.execute(text(f"DROP TABLE {name}"))
    connection.execute(
        text("ALTER TABLE completion_code ADD COLUMN amount BIGINT DEFAULT '0' NOT NULL")
    )
    for row in connection.execute(select(_SURVEY).where(_SURVEY.c.reward.is_not(None))).all():
        if row.reward is not None:  # JSON's null is none of SQL's
            reward = {"currency": row.reward["currency"], "prices": row.reward["prices"]}
            change = update(_SURVEY).where(_SURVEY.c.token == row.token)
            connection.execute(change.values(reward=reward))
    for documents in (_SURVEY, _DRAFT):
        columns = documents.c.token, documents.c.document
        for row in connection.execute(select(*columns)).all():
            plan = (row.document or {}).get("plan", {})
            if plan.get("reward") == "wallet":
                plan["reward"] = "codes"
                change = update(documents).where(documents.c.token == row.token)
                connection.execute(change.values(document=row.document))
