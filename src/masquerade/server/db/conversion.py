"""Conversion of a database from before the schema of the first release."""

from __future__ import annotations

import logging
from typing import Final

from sqlalchemy import JSON, Connection, column, inspect, select, table, text, update

from masquerade.accounting import Balance, Entry
from masquerade.accounting.balance import by_today, rebuilt
from masquerade.accounting.storage import Change, Decision
from masquerade.errors import BrokenChain
from masquerade.server.db.ledger_storage import LedgerTables

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
    add_pairs(connection)


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


def add_pairs(connection: Connection) -> None:
    """Add the column of the pairs that a person is shown, where it is not there yet."""
    known = {one["name"] for one in inspect(connection).get_columns("participation")}
    if "pairs" not in known:
        connection.execute(text("ALTER TABLE participation ADD COLUMN pairs JSON"))


_TABLE: Final = "ledger_balance"
_GONE: Final = ("spent_rho", "reserved_rho", "spent_other", "reserved_other")
_NEW: Final = {
    "spent_divergence": "BIGINT",
    "reserved_divergence": "BIGINT",
    "spent_clock": "BIGINT",
    "reserved_clock": "BIGINT",
    "spent_unclocked": "INTEGER",
    "reserved_unclocked": "INTEGER",
}


def convert_ledgers(connection: Connection) -> None:
    """Replace sums of rho by those of today, and end each chain with a step to today's rule.

    Entries and their hashes stay as they are. Each chain is checked, and its balance is worked out
    from its entries again. Where the columns are there already, nothing is done.

    Raises
    ------
    BrokenChain
        The entries of a person are no unbroken chain; nothing is changed.
    """
    if "spent_divergence" in {one["name"] for one in inspect(connection).get_columns(_TABLE)}:
        return
    for name, kind in _NEW.items():
        connection.execute(
            text(f"ALTER TABLE {_TABLE} ADD COLUMN {name} {kind} DEFAULT '0' NOT NULL")
        )
    for name in _GONE:
        connection.execute(text(f"ALTER TABLE {_TABLE} DROP COLUMN {name}"))
    tables = LedgerTables(connection)
    for person in tables.persons():
        _, entries = tables.read(person)
        step = by_today(entries)
        if step is None:
            raise BrokenChain(f"the ledger of {person} does not say under which caps it was kept.")
        tables.change(person, "", _bring(step, rebuilt([*entries, step])))


def _bring(step: Entry, balance: Balance) -> Decision:
    def decide(_balance: Balance | None, _latest: Entry | None) -> Change:
        return step, balance

    return decide
