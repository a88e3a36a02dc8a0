"""Sending messages to webhooks: signed, to public addresses, again until they arrive.

When to try again is remembered in this process only: no time finer than a day is kept. After a
restart whatever waits is tried at once.
"""

from __future__ import annotations

import hmac
import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from masquerade import __version__
from masquerade.errors import MasqueradeError, OperationError
from masquerade.server.db.account_tables import DELIVERY, WEBHOOK
from masquerade.server.db.seals import Seals, place_of
from masquerade.server.db.transactions import Transactions
from masquerade.server.http.outgoing import Target, exchange, read_address, resolve
from masquerade.server.webhooks.webhooks import DELIVERED, FAILED, ORDER, WAITING

SIGNATURE = "Masquerade-Signature"
#: How long after each attempt that failed the next one is made: a day all together.
PAUSES_SECONDS = (60, 300, 1800, 7200, 21600, 55000)

_PATIENCE_SECONDS = 10.0
_AT_ONCE = 20
_LOGGER = logging.getLogger(__name__)

#: Takes target, address, body and headers; gives the status of the answer.
Send = Callable[[Target, str, bytes, Mapping[str, str]], int]


def signature(secret: str, body: bytes, *, seconds: int) -> str:
    """Return the header that proves a message's sender and time.

    `secret`: of the webhook.
    `body`: as it is sent.
    `seconds`: now, since 1970; a receiver refuses messages that are minutes old.

    Examples
    --------
    >>> signature("00", b"{}", seconds=1)[:20]
    't=1,v1=9850829f9fde2'
    """
    # The time is signed too, so that an old message cannot be sent again by somebody else.
    mac = hmac.digest(secret.encode(), b"%d." % seconds + body, "sha256").hex()
    return f"t={seconds},v1={mac}"


class Sender:
    """The sender of waiting messages.

    `private`: whether addresses of this computer and its network are allowed.
    `seals` (optional): opens the secrets that sign messages.
    `before` (optional): what is done before an event is told, by its name, with the survey's token.
    `send` (optional): replaced in tests.
    `clock`: gives seconds since 1970.
    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        private: bool,
        seals: Seals | None = None,
        before: Mapping[str, Callable[[str], object]] | None = None,
        send: Send | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._transactions = transactions
        self._private = private
        self._seals = seals or Seals(None)
        self._before = dict(before or {})
        self._send = send or post
        self._clock = clock
        self._due: dict[str, float] = {}
        self._ending = threading.Event()

    def end(self) -> None:
        """Begin no further delivery."""
        self._ending.set()

    def deliver(self) -> int:
        """Try each message that is due once; return the number that arrived.

        A webhook is told what happened to a survey in the order in which it happened: what comes
        after a message that waits waits too.
        """
        arrived = 0
        for messages in self._transactions.read(self._waiting):
            for row in messages:
                if self._ending.is_set():
                    return arrived
                if not self._try(row):
                    break
                arrived += 1
        return arrived

    def _waiting(self, connection: Connection) -> list[list[Any]]:
        """Return the messages on each survey to each webhook, where the first of them is due."""
        query = (
            select(DELIVERY, WEBHOOK.c.url, WEBHOOK.c.secret)
            .join(WEBHOOK, WEBHOOK.c.id == DELIVERY.c.webhook)
            .where(DELIVERY.c.state == WAITING)
            # What was tried least comes first: an address that never answers does not hold up the
            # others.
            .order_by(DELIVERY.c.attempts, DELIVERY.c.id)
        )
        now = self._clock()
        rows = connection.execute(query).all()
        # What was delivered or removed meanwhile is forgotten.
        self._due = {row.id: self._due[row.id] for row in rows if row.id in self._due}
        together: dict[tuple[str, str], list[Any]] = {}
        for row in rows:
            together.setdefault((row.webhook, row.payload["survey"] or row.id), []).append(row)
        ordered = [sorted(messages, key=_place) for messages in together.values()]
        return [one for one in ordered if self._due.get(one[0].id, 0.0) <= now][:_AT_ONCE]

    def _try(self, row: Any) -> bool:
        good, outcome = self._attempt(row)
        attempts = row.attempts + 1
        state = DELIVERED if good else WAITING
        if not good and attempts > len(PAUSES_SECONDS):
            state = FAILED
        if state == WAITING:
            self._due[row.id] = self._clock() + PAUSES_SECONDS[attempts - 1]
        values = {"state": state, "attempts": attempts, "outcome": outcome}
        change = update(DELIVERY).where(DELIVERY.c.id == row.id).values(**values)
        # After the sending, in a transaction of its own: none is open while another computer is
        # waited for. A crash in between sends the message again, which receivers tell by its id.
        self._transactions.write(lambda c: c.execute(change))
        return good

    def _attempt(self, row: Any) -> tuple[bool, str]:
        """Return whether a message arrived, and the outcome in a few words."""
        import httpx  # see `exchange`

        try:
            prepare = self._before.get(row.payload["event"])
            if prepare is not None:
                prepare(row.payload["survey"])
        except Exception as error:
            # The type alone: the text could quote what people sent.
            _LOGGER.warning("an event waits: %s", type(error).__qualname__)
            return False, "not ready yet"
        try:
            secret = self._seals.unseal(row.secret, place_of(WEBHOOK, "secret", row.webhook))
        except OperationError as error:
            return False, str(error)[:200]
        body = json.dumps(row.payload, separators=(",", ":"), sort_keys=True).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"Masquerade/{__version__}",
            SIGNATURE: signature(secret, body, seconds=int(self._clock())),
        }
        try:
            # Read and looked up for each message: the setting, or the name, may lead elsewhere by
            # now.
            target = read_address(row.url, private=self._private)
            address = resolve(target, private=self._private)
            status = self._send(target, address, body, headers)
        except MasqueradeError as error:
            return False, str(error)[:200]
        except (TimeoutError, httpx.TimeoutException):
            return False, "no answer in time"
        except (OSError, httpx.HTTPError) as error:
            if _is_of_tls(error):
                return False, "the certificate or TLS is wrong"
            return False, f"no connection ({type(error).__name__})"
        if 300 <= status < 400:
            return False, f"answered {status}; redirects are not followed"
        return 200 <= status < 300, f"answered {status}"


def _place(row: Any) -> int:
    """Return the place of a message among those on its survey."""
    # Days are the finest that is kept, so the order is that of a survey's life.
    return ORDER.index(row.payload["event"])


def post(target: Target, address: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a message to an address that was looked up before; return the status of the answer.

    Nothing of the answer but its status is read.
    """
    return exchange(target, address, body=body, headers=headers, seconds=_PATIENCE_SECONDS).status


def _is_of_tls(error: BaseException | None) -> bool:
    """Return whether an error began as one of TLS."""
    # httpx and what is below it wrap errors, and drop some causes; the context stays.
    return error is not None and (isinstance(error, ssl.SSLError) or _is_of_tls(error.__context__))
