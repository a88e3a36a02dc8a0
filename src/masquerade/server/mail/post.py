"""The queue of messages: sent some at a time, again until the mail server has taken them.

When to try again is remembered in this process only: no time finer than a day is kept. After a
restart whatever waits is tried at once.
"""

from __future__ import annotations

import logging
import smtplib
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select, update

from masquerade.errors import OperationError
from masquerade.server.db.reach_tables import BOUNCED, FAILED, MAILING, RECIPIENT, SENT, WAITING
from masquerade.server.db.transactions import Transactions
from masquerade.server.mail.mailings import Mailings
from masquerade.server.mail.smtp import Outcome, connected, deliver, fault_of
from masquerade.server.surveys.survey_records import Surveys

#: How long after each attempt that failed the next one is made: two days all together.
PAUSES_SECONDS = (60, 300, 1800, 7200, 21600, 55000, 86400)

_AT_ONCE = 50
_LOGGER = logging.getLogger(__name__)


class Post:
    """The sender of waiting messages.

    `clock`: gives seconds; replaced in tests.
    """

    def __init__(
        self,
        transactions: Transactions,
        surveys: Surveys,
        mailings: Mailings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._transactions = transactions
        self._surveys = surveys
        self._mailings = mailings
        self._clock = clock
        self._due: dict[str, float] = {}
        self._away = 0.0  # until when the mail server itself is left alone
        self._ending = threading.Event()

    def end(self) -> None:
        """Begin no further message."""
        self._ending.set()

    def deliver(self) -> int:
        """Try messages that are due, some of them, each once; return the number that was taken."""
        if not self._mailings.server.ready or self._clock() < self._away:
            return 0
        rows = self._transactions.read(self._waiting)
        if not rows:
            return 0
        taken = 0
        try:
            with connected(self._mailings.server) as connection:
                for row in rows:
                    if self._ending.is_set():
                        break
                    taken += self._send(connection, row)
        except (OSError, smtplib.SMTPException) as error:
            # Nothing is known of the addresses; the server is tried again in a minute.
            self._away = self._clock() + PAUSES_SECONDS[0]
            _LOGGER.warning("messages wait: %s", fault_of(error))
        return taken

    def _waiting(self, connection: Connection) -> list[Any]:
        query = (
            select(RECIPIENT.c.id, RECIPIENT.c.survey, RECIPIENT.c.attempts, RECIPIENT.c.address)
            .where(RECIPIENT.c.state == WAITING)
            .order_by(RECIPIENT.c.attempts, RECIPIENT.c.id)
        )
        now = self._clock()
        rows = connection.execute(query).all()
        self._due = {row.id: self._due[row.id] for row in rows if row.id in self._due}
        return [row for row in rows if self._due.get(row.id, 0.0) <= now][:_AT_ONCE]

    def _send(self, connection: smtplib.SMTP, row: Any) -> bool:
        try:
            message = self._transactions.read(lambda c: self._message(c, row))
        except OperationError as error:
            outcome = Outcome(False, False, str(error)[:200])
        else:
            if message is None:  # the survey was closed meanwhile
                return False
            outcome = deliver(connection, self._mailings.server, message)
        attempts = row.attempts + 1
        state = SENT if outcome.sent else BOUNCED if outcome.final else WAITING
        if state == WAITING and attempts > len(PAUSES_SECONDS):
            state = FAILED
        if state == WAITING:
            self._due[row.id] = self._clock() + PAUSES_SECONDS[attempts - 1]
        values = {"state": state, "attempts": attempts, "outcome": outcome.words}
        # Only while it waits: what a returned message said meanwhile stays.
        mine = (RECIPIENT.c.id == row.id) & (RECIPIENT.c.state == WAITING)
        change = update(RECIPIENT).where(mine).values(**values)
        # After the sending, in a transaction of its own; a crash in between sends it again, with
        # the same ticket.
        self._transactions.write(lambda c: c.execute(change))
        return outcome.sent

    def _message(self, connection: Connection, row: Any) -> Any:
        mailing = connection.execute(select(MAILING).where(MAILING.c.id == row.survey)).first()
        if mailing is None:
            return None
        return self._mailings.message_of(row, mailing, self._surveys.frozen(connection, row.survey))
