"""Ledgers that an earlier version kept, brought under the rule of today."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, inspect, text

from masquerade.accounting import Balance, Entry
from masquerade.accounting.balance import by_today, rebuilt
from masquerade.accounting.storage import Change, Decision
from masquerade.errors import BrokenChain
from masquerade.server.db.ledger_storage import LedgerTables

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
