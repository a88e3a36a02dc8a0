"""The log of messages to webhooks: each event, with its state and its attempts.

A message says that something happened to a survey. It carries no report, no count of people and no
name of a participant.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Final

from pydantic import Field
from sqlalchemy import Connection, delete, select

from masquerade.server.db.account_tables import DELIVERY, WEBHOOK
from masquerade.server.db.transactions import insert_unless_there

OPENED, ENDED = "survey.opened", "survey.closed"
RESULTS_READY, TEST = "survey.results_ready", "test"
WAVE_FINISHED = "wave.finished"

#: Each event with what it says.
EVENTS: Final = {
    OPENED: "a survey is open",
    ENDED: "a survey takes no more responses, or was cancelled",
    RESULTS_READY: "the results of a closed survey can be read",
    WAVE_FINISHED: "as many have come as a wave expected, told once a day",
}

#: How many days the log goes back.
KEPT_DAYS = 30

WAITING, DELIVERED, FAILED = "waiting", "delivered", "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery: a message to a webhook, and its outcome."""

    id: str
    webhook: Annotated[str, Field(exclude=True)]  # in the address under which it is listed
    event: str
    survey: str | None
    state: str
    attempts: int
    outcome: str
    day: str


def enqueue(
    connection: Connection,
    team: str,
    event: str,
    *,
    survey: str,
    day: str,
    about: str | None = None,
    **facts: str,
) -> None:
    """Have the webhooks of a team told of an event, if the transaction is kept.

    `about` (optional): what is told once only; default: the event of this survey.
    `facts`: further fields of the message.
    """
    rows = connection.execute(select(WEBHOOK).where(WEBHOOK.c.team == team)).all()
    for row in rows:
        if event in row.events:
            record(connection, row.id, event, about or f"{event} {survey}", day, survey, facts)


def record(
    connection: Connection,
    webhook: str,
    event: str,
    about: str,
    day: str,
    survey: str | None,
    facts: dict[str, str],
) -> None:
    """Enqueue an event for one webhook, unless one is there already for the same `about`."""
    id_ = secrets.token_hex(16)
    row = {
        "id": id_,
        "webhook": webhook,
        "about": about,
        "payload": {"id": id_, "event": event, "day": day, "survey": survey, **facts},
        "state": WAITING,
        "attempts": 0,
        "outcome": "",
        "day": day,
    }
    # A thing is told once: the same event may be found by several processes.
    insert_unless_there(connection, DELIVERY, row)


def log(
    connection: Connection, team: str, *, webhook: str | None = None, limit: int = 100
) -> list[Delivery]:
    """Return the messages to a team's webhooks, or to one: waiting ones first, then newest."""
    query = (
        select(DELIVERY)
        .join(WEBHOOK, WEBHOOK.c.id == DELIVERY.c.webhook)
        .where(WEBHOOK.c.team == team)
        .order_by((DELIVERY.c.state == WAITING).desc(), DELIVERY.c.day.desc())
        .order_by(DELIVERY.c.about, DELIVERY.c.id)
        .limit(limit)
    )
    if webhook is not None:
        query = query.where(DELIVERY.c.webhook == webhook)
    return [_delivery_of(row) for row in connection.execute(query)]


def forget_old(connection: Connection, today: str) -> None:
    """Delete messages that are more than 30 days old and do not wait."""
    before = (date.fromisoformat(today) - timedelta(days=KEPT_DAYS)).isoformat()
    old = (DELIVERY.c.day < before) & (DELIVERY.c.state != WAITING)
    connection.execute(delete(DELIVERY).where(old))


def _delivery_of(row: Any) -> Delivery:
    """Return the delivery in a row of its table."""
    told = row.payload
    return Delivery(
        id=row.id,
        webhook=row.webhook,
        event=told["event"],
        survey=told["survey"],
        state=row.state,
        attempts=row.attempts,
        outcome=row.outcome,
        day=row.day,
    )
