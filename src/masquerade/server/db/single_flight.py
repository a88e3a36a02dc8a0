"""One computation of a stored text for all callers, in one process and across processes.

In a process one asks the database for its turn, and the others wait for what it brings. Across
processes PostgreSQL has a lock that ends with its connection; SQLite has a row that says since when
somebody computes, and who finds it old takes the work over.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

from sqlalchemy import Connection, Engine, delete, func, insert, select, text, update

from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions, insert_unless_there

#: After which time a computation of another process is taken for dead.
GIVEN_UP_SECONDS = 60.0
_GLANCE_SECONDS = 0.1
_LOCK = text("SELECT pg_try_advisory_lock(:number)")
_UNLOCK = text("SELECT pg_advisory_unlock(:number)")


class SingleFlight:
    """Kept texts, each computed by one.

    `clock` gives the seconds since 1970, `pause` waits for some.
    """

    def __init__(
        self,
        engine: Engine,
        transactions: Transactions,
        *,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._engine = engine
        self._transactions = transactions
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._flights: dict[str, Future[str]] = {}
        self._tokens: dict[str, str] = {}

    def get_or_create(self, key: str, compute: Callable[[], str]) -> str:
        """Return the kept text for `key`, computing and storing it on first use.

        Where it cannot be computed, whoever waits gets the same error, and the next one tries anew.
        """
        kept = self.kept(key)
        if kept is not None:
            return kept
        with self._lock:
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if not mine:
            return flight.result()
        try:
            flight.set_result(self._compute(key, compute))
        except BaseException as error:
            flight.set_exception(error)
        finally:
            with self._lock:
                del self._flights[key]
        return flight.result()

    def count(self, prefix: str) -> int:
        """Return how many texts are kept under keys that begin with `prefix`."""
        query = select(func.count()).where(SETTING.c.key.startswith(prefix, autoescape=True))
        return int(self._transactions.read(lambda c: c.execute(query).scalar_one()))

    def _compute(self, key: str, compute: Callable[[], str]) -> str:
        turn = self._row if self._engine.dialect.name == "sqlite" else self._advisory
        with turn(key):
            # Another process may have done it while this one waited.
            kept = self.kept(key)
            if kept is not None:
                return kept
            # Outside a transaction: it may take long, and all writers would wait.
            computed = compute()
            return self._transactions.write(lambda c: _keep(c, key, computed))

    def renew(self, key: str) -> None:
        """Say that the computation of this process goes on, so that nobody takes it over."""
        token = self._tokens.get(key)
        if token is None:  # a lock of PostgreSQL needs no sign of life
            return
        now = f"{self._clock():.0f} {token}"
        mine = (SETTING.c.key == _row_name(key)) & SETTING.c.value.endswith(f" {token}")
        query = update(SETTING).where(mine).values(value=now)
        self._transactions.write(lambda c: c.execute(query) and None)

    def kept(self, key: str) -> str | None:
        """Return the kept text for `key`, or None."""
        query = select(SETTING.c.value).where(SETTING.c.key == key)
        kept: str | None = self._transactions.read(lambda c: c.execute(query).scalar())
        return kept

    @contextlib.contextmanager
    def _advisory(self, key: str) -> Iterator[None]:
        number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big", signed=True)
        while (connection := self._locked(number)) is None:
            if self.kept(key) is not None:
                yield
                return
            self._pause(_GLANCE_SECONDS)
        with connection:
            try:
                yield
            finally:
                connection.execute(_UNLOCK, {"number": number})

    def _locked(self, number: int) -> Connection | None:
        """Return a connection that has a lock, or None: whoever waits holds no connection."""
        # Not in a transaction, which would hold back what the database may clean up.
        engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        connection = engine.connect()
        try:
            if connection.scalar(_LOCK, {"number": number}):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None

    @contextlib.contextmanager
    def _row(self, key: str) -> Iterator[None]:
        name = _row_name(key)
        token = secrets.token_hex(8)
        while not self._transactions.write(lambda c: self._taken(c, name, token)):
            if self.kept(key) is not None:
                yield
                return
            self._pause(_GLANCE_SECONDS)
        self._tokens[key] = token
        try:
            yield
        finally:
            self._tokens.pop(key, None)
            mine = (SETTING.c.key == name) & SETTING.c.value.endswith(f" {token}")
            self._transactions.write(lambda c: c.execute(delete(SETTING).where(mine)) and None)

    def _taken(self, connection: Connection, name: str, token: str) -> bool:
        """Return whether this one computes now: nobody does, or for so long that it has died."""
        now, row = self._clock(), SETTING.c.key == name
        insert_unless_there(connection, SETTING, {"key": name, "value": f"{now:.0f} {token}"})
        value = connection.execute(select(SETTING.c.value).where(row)).scalar_one()
        since, owner = value.split(" ")
        if owner == token:
            return True
        # Also where it is in the future, as after a clock was put back.
        if abs(now - float(since)) < GIVEN_UP_SECONDS:
            return False
        connection.execute(update(SETTING).where(row).values(value=f"{now:.0f} {token}"))
        return True


def _row_name(key: str) -> str:
    # A hash, as the table's keys are short.
    return f"computing:{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _keep(connection: Connection, key: str, computed: str) -> str:
    """Store a text unless another is there; return the one that stays."""
    query = select(SETTING.c.value).where(SETTING.c.key == key)
    first: str | None = connection.execute(query).scalar()
    if first is None:
        connection.execute(insert(SETTING), {"key": key, "value": computed})
    return computed if first is None else first
