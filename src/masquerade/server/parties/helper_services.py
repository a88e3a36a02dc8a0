"""All services of a helper over one database, composed once; who may ask for what."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import Connection, Engine, delete, func, insert, select

from masquerade.aggregate.signature import SigningKey
from masquerade.errors import OperationError
from masquerade.server.db.engine import connect, migrate
from masquerade.server.db.party_tables import HELPER_TASK
from masquerade.server.db.seals import Seals, begin_sealing
from masquerade.server.db.server_values import ServerValues
from masquerade.server.db.tables import SETTING, SURVEY
from masquerade.server.db.transactions import Transactions
from masquerade.server.keys import ServerKey
from masquerade.server.parties.helper_aggregation import HelperAggregation
from masquerade.server.parties.helper_tasks import HelperTasks

#: Order of the curve P-256: private keys are numbers below it.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_LEADER_TOKEN, _SESSION = "leader_token", "operator:"
_SESSION_DAYS = 30


def signing_key_of(key: ServerKey) -> SigningKey:
    """Return the lasting key of a helper, which follows from its secret key."""
    # Modulo the order less one: 256 bits above it are 2**-32 as likely as below, and no bias that
    # anybody could use.
    number = int.from_bytes(key.derived("signatures of a helper")) % (_ORDER - 1) + 1
    return SigningKey(number.to_bytes(32))


class HelperAccess:
    """The token of leaders, and the sessions of the operator; only hashes are kept.

    Parameters
    ----------
    transactions : Transactions
    today : callable
        Gives the ISO date.
    """

    def __init__(self, transactions: Transactions, *, today: Callable[[], str]) -> None:
        self._transactions = transactions
        self._values = ServerValues(transactions)
        self._today = today

    def new_leader_token(self, *, only_first: bool = False) -> str | None:
        """Return a new token for leaders, which ends the one before.

        With `only_first`, None where there is one already.
        """
        token = f"mqh_{secrets.token_urlsafe(32)}"

        def work(connection: Connection) -> bool:
            known = connection.scalar(select(SETTING.c.value).where(SETTING.c.key == _LEADER_TOKEN))
            if known is not None and only_first:
                return False
            connection.execute(delete(SETTING).where(SETTING.c.key == _LEADER_TOKEN))
            connection.execute(insert(SETTING), {"key": _LEADER_TOKEN, "value": _digest(token)})
            return True

        return token if self._transactions.write(work) else None

    def is_leader(self, token: str) -> bool:
        """Return whether this is the leaders' token."""
        query = select(SETTING.c.value).where(SETTING.c.key == _LEADER_TOKEN)
        known = self._transactions.read(lambda c: c.scalar(query))
        return known is not None and hmac.compare_digest(known, _digest(token))

    def new_link(self) -> str:
        """Return the path of a fresh one-time link to the operator's page."""
        return f"/operator?token={self._values.new_owner_token()}"

    def begin(self, token: str) -> str | None:
        """Return the secret of a new session, where `token` is that of the one-time link."""
        if not self._values.spend_owner_token(token):
            return None
        secret = secrets.token_urlsafe(32)

        def work(connection: Connection) -> None:
            last = date.fromisoformat(self._today()) - timedelta(days=_SESSION_DAYS)
            old = SETTING.c.key.startswith(_SESSION) & (SETTING.c.value < last.isoformat())
            connection.execute(delete(SETTING).where(old))
            connection.execute(insert(SETTING), {"key": _session(secret), "value": self._today()})

        self._transactions.write(work)
        return secret

    def is_operator(self, secret: str) -> bool:
        """Return whether this is the secret of a session that lasts."""
        query = select(SETTING.c.value).where(SETTING.c.key == _session(secret))
        begun = self._transactions.read(lambda c: c.scalar(query))
        last = date.fromisoformat(self._today()) - timedelta(days=_SESSION_DAYS)
        return begun is not None and begun >= last.isoformat()

    def end(self, secret: str) -> None:
        """End a session."""
        gone = delete(SETTING).where(SETTING.c.key == _session(secret))
        self._transactions.write(lambda c: c.execute(gone))


@dataclass(frozen=True, slots=True)
class HelperServices:
    """The services through which routes and commands use a helper's database."""

    engine: Engine
    transactions: Transactions
    access: HelperAccess
    tasks: HelperTasks
    aggregation: HelperAggregation
    fingerprint: str

    @classmethod
    def open(
        cls,
        url: str,
        *,
        server_key: ServerKey,
        address: str,
        operator: str,
        key: str | None = None,
        rewrites: bool = True,
        today: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> HelperServices:
        """Open a helper's database, migrating it first; see `Services.open`.

        Parameters
        ----------
        url : str
            SQLAlchemy URL.
        server_key : ServerKey
            The helper's own: its signatures follow from it, and it seals what the database keeps.
        address : str
            Of the helper, as it stands in surveys.
        operator : str
            Who runs it, in words.

        Raises
        ------
        OperationError
            The database is a survey server's: one party would hold both halves of each answer.
        """
        engine = connect(url, key=key)
        migrate(engine)
        transactions = Transactions(engine, rewrites=rewrites)
        try:
            transactions.read(require_no_surveys)
            transactions.write(lambda connection: begin_sealing(connection, server_key))
        except BaseException:
            transactions.close()
            raise
        today = today or (lambda: datetime.now(UTC).date().isoformat())
        signing_key = signing_key_of(server_key)
        tasks = HelperTasks(
            transactions,
            signing_key=signing_key,
            address=address,
            operator=operator,
            seals=Seals(server_key),
            clock=clock,
            today=today,
        )
        return cls(
            engine,
            transactions,
            HelperAccess(transactions, today=today),
            tasks,
            HelperAggregation(transactions, tasks, clock=clock, today=today),
            signing_key.fingerprint,
        )

    def close(self) -> None:
        """Finish what waits and close all connections."""
        self.transactions.close()


def require_no_surveys(connection: Connection) -> None:
    """Refuse a database of a survey server."""
    if connection.scalar(select(func.count()).select_from(SURVEY)):
        raise OperationError(
            "this database has surveys: whoever holds it is a leader, and cannot be the helper "
            "too. Give the helper a database and a computer of its own."
        )


def require_no_tasks(connection: Connection) -> None:
    """Refuse a database of a helper."""
    if connection.scalar(select(func.count()).select_from(HELPER_TASK)):
        raise OperationError(
            "this database is a helper's: whoever holds it adds up for surveyors, and cannot be "
            "one of them. Give the server a database and a computer of its own."
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _session(secret: str) -> str:
    # 160 bits of the hash: a key has 64 letters at most.
    return _SESSION + _digest(secret)[:40]
