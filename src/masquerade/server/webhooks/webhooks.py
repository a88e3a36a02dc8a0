"""Webhooks of teams, and the log of their messages: each event, with its state and its attempts.

A message says that something happened to a survey. It carries no report, no count of people and no
name of a participant.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Final

from pydantic import Field
from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.account_tables import DELIVERY, WEBHOOK
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, insert_unless_there, reads, writes
from masquerade.server.http.outgoing import read_address, resolve

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

#: In which order a survey's events come about.
ORDER: Final = (OPENED, WAVE_FINISHED, ENDED, RESULTS_READY, TEST)

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


MOST_OF_A_TEAM = 20


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook: an address of a team, and the events that it is told."""

    id: str
    url: str
    events: tuple[str, ...]
    day: str


class Webhooks:
    """The webhooks of all teams, and the log of their messages.

    `today`: gives the ISO date.
    `private`: whether addresses of this computer and its network are allowed.
    `seals`: seals the secrets that sign messages.
    """

    def __init__(
        self, transactions: Transactions, *, today: Callable[[], str], private: bool, seals: Seals
    ) -> None:
        self._seals = seals
        self._transactions = transactions
        self._today = today
        self.private = private

    def create(self, team: str, *, url: str, events: Iterable[str]) -> tuple[Webhook, str]:
        """Keep a new webhook and return it with its secret, which is not shown again.

        Raises `ParameterError` (the address cannot be told anything, or an event is unknown, or
        there are too many).
        """
        wanted = [name for name in EVENTS if name in set(events)]
        unknown = sorted(set(events) - set(EVENTS))
        if unknown or not wanted:
            what = f"{unknown[0]!r} is no event" if unknown else "no event was chosen"
            raise ParameterError(f"{what}; choose from these events: {', '.join(EVENTS)}.")
        url = url.strip()
        # To refuse at once what cannot work; it is looked up again for each message.
        resolve(read_address(url, private=self.private), private=self.private)
        secret = secrets.token_hex(32)
        made = Webhook(secrets.token_hex(16), url, tuple(wanted), self._today())
        kept = self._seals.seal(secret, place_of(WEBHOOK, "secret", made.id))
        row = {"id": made.id, "team": team, "url": url, "secret": kept, "day": made.day}

        self._keep({**row, "events": wanted})
        return made, secret

    @writes
    def _keep(self, connection: Connection, row: dict[str, object]) -> None:
        if len(_of_team(connection, str(row["team"]))) >= MOST_OF_A_TEAM:
            raise ParameterError(f"a team has at most {MOST_OF_A_TEAM} webhooks; remove one.")
        connection.execute(insert(WEBHOOK), row)

    def of_team(self, team: str) -> list[Webhook]:
        """Return a team's webhooks, by address."""
        return self._transactions.read(lambda c: _of_team(c, team))

    @writes
    def remove(self, connection: Connection, team: str, webhook: str) -> None:
        """Remove a webhook with its messages.

        Raises `NotFound`.
        """
        _require(connection, team, webhook)
        connection.execute(delete(DELIVERY).where(DELIVERY.c.webhook == webhook))
        connection.execute(delete(WEBHOOK).where(WEBHOOK.c.id == webhook))

    @writes
    def test(self, connection: Connection, team: str, webhook: str) -> None:
        """Have a webhook told a message that means nothing.

        Raises `NotFound` or `WrongState` (ten such messages wait already).
        """
        _require(connection, team, webhook)
        waiting = select(DELIVERY.c.id).where(
            DELIVERY.c.webhook == webhook, DELIVERY.c.state == WAITING
        )
        if len(connection.execute(waiting.limit(10)).all()) == 10:
            raise WrongState("ten messages wait for this webhook; wait until they arrive.")
        about = f"{TEST} {secrets.token_hex(8)}"
        record(connection, webhook, TEST, about, self._today(), None, {})

    @reads
    def log(
        self, connection: Connection, team: str, *, webhook: str | None = None
    ) -> list[Delivery]:
        """Return the latest messages to a team's webhooks, or to one of them.

        Raises `NotFound` (there is no such webhook of this team).
        """
        if webhook is not None:
            _require(connection, team, webhook)
        return log(connection, team, webhook=webhook)

    def forget_old(self) -> None:
        """Delete messages that are more than 30 days old and do not wait."""
        self._transactions.write(lambda c: forget_old(c, self._today()))


def _of_team(connection: Connection, team: str) -> list[Webhook]:
    query = select(WEBHOOK).where(WEBHOOK.c.team == team).order_by(WEBHOOK.c.url, WEBHOOK.c.id)
    return [
        Webhook(row.id, row.url, tuple(row.events), row.day) for row in connection.execute(query)
    ]


def _require(connection: Connection, team: str, webhook: str) -> None:
    query = select(WEBHOOK.c.id).where(WEBHOOK.c.team == team, WEBHOOK.c.id == webhook)
    if connection.execute(query).first() is None:
        raise NotFound("there is no such webhook; reload the page.")
