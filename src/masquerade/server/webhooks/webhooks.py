"""Webhooks: which addresses of a team are told of which events."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.server.db.account_tables import DELIVERY, WEBHOOK
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions, reads, writes
from masquerade.server.http.outgoing import read_address, resolve
from masquerade.server.webhooks.deliveries import (
    EVENTS,
    TEST,
    WAITING,
    Delivery,
    forget_old,
    log,
    record,
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
        self,
        transactions: Transactions,
        *,
        today: Callable[[], str],
        private: bool,
        seals: Seals,
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
            raise ParameterError(f"{what}; choose from {', '.join(EVENTS)}.")
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
