"""Readings of a server's state for operators: waiting work, sizes, delays."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, func, select, text

from masquerade.server.db.account_tables import DELIVERY
from masquerade.server.db.party_tables import SPLIT_TASK, UNDER_WAY
from masquerade.server.db.tables import CANCELLED, FINISHED, SURVEY
from masquerade.server.db.transactions import Transactions
from masquerade.server.webhooks.webhooks import WAITING


def readings(transactions: Transactions, file: Path | None) -> dict[str, float]:
    """Return the readings of a database by the names of `masquerade.server.http.metrics.GAUGES`.

    All are counts and sizes over everybody; `file` is that of SQLite.
    """
    found = transactions.read(_waiting)
    if file is not None:
        found["masquerade_database_bytes"] = _bytes(file)
        found["masquerade_database_log_bytes"] = _bytes(file.with_name(f"{file.name}-wal"))
    else:
        size = text("SELECT pg_database_size(current_database())")
        found["masquerade_database_bytes"] = float(transactions.read(lambda c: c.scalar(size)) or 0)
    found["masquerade_rewriting_seconds"] = transactions.rewriting_seconds()
    found["masquerade_unordered_seconds"] = transactions.unordered_seconds()
    return found


def _waiting(connection: Connection) -> dict[str, float]:
    over = SURVEY.c.state.in_((*FINISHED, CANCELLED))
    tasks = (
        select(func.count())
        .select_from(SPLIT_TASK)
        .join(SURVEY, SURVEY.c.token == SPLIT_TASK.c.survey)
        .where(SPLIT_TASK.c.state.in_(UNDER_WAY), over)
    )
    messages = select(func.count()).where(DELIVERY.c.state == WAITING)
    return {
        "masquerade_helper_tasks_waiting": float(connection.scalar(tasks) or 0),
        "masquerade_webhooks_waiting": float(connection.scalar(messages) or 0),
    }


def _bytes(file: Path) -> float:
    try:
        return float(file.stat().st_size)
    except OSError:  # there is no log yet
        return 0.0
