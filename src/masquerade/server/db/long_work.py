"""Long computations of kept texts, in the background, with their progress for every process."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, delete, insert, select

from masquerade.errors import UnderWay
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions

#: Takes what is being done, how many steps are done, and how many there are.
Report = Callable[[str, int, int], None]

#: How often other processes are told of the progress, and whoever waits may ask.
_EVERY_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 2


class _StoppedError(Exception):
    """The server ends, so the computation does."""


@dataclass(slots=True)
class _Task:
    """A computation of this process; `progress` is None while another process has its turn."""

    future: Future[str]
    progress: tuple[str, int, int] | None = field(default=None)


class LongWork:
    """Kept texts that take long to compute: one at a time in this process, and one in all.

    Parameters
    ----------
    engine : Engine
    transactions : Transactions
    """

    def __init__(self, engine: Engine, transactions: Transactions) -> None:
        self._transactions = transactions
        self._flights = SingleFlight(engine, transactions, pause=self._pause)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="long-work")

    def require(self, key: str, compute: Callable[[Report], str]) -> str:
        """Return the kept text for `key`, or begin its computation.

        Raises
        ------
        UnderWay
            It is being computed, here or by another process.
        MasqueradeError
            It could not be computed; who asks again after that begins anew.
        """
        kept = self._flights.kept(key)
        if kept is not None:
            return kept
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                task = self._tasks[key] = _Task(Future())
                self._pool.submit(self._run, key, compute, task)
            elif task.future.done():
                del self._tasks[key]
                return task.future.result()
        what, done, of = task.progress or self._stored(key) or ("waiting for its turn", 0, 0)
        counted = f": {done:,} of {of:,}" if of else ""
        raise UnderWay(
            f"this is being worked out, {what}{counted}; ask again in a moment.",
            seconds=_ASK_AGAIN_SECONDS,
            done=done,
            of=of,
        )

    def close(self) -> None:
        """End the computation under way, at its next step, and all that wait."""
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _pause(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _StoppedError

    def _run(self, key: str, compute: Callable[[Report], str], task: _Task) -> None:
        told = time.monotonic()

        def report(what: str, done: int, of: int) -> None:
            nonlocal told
            if self._stopping.is_set():
                raise _StoppedError
            task.progress = what, done, of
            if time.monotonic() - told >= _EVERY_SECONDS:
                told = time.monotonic()
                self._transactions.write(lambda c: _store(c, key, (what, done, of)))

        try:
            found = self._flights.get_or_create(key, lambda: compute(report))
        except BaseException as error:
            task.future.set_exception(error)
        else:
            with self._lock:
                self._tasks.pop(key, None)
            task.future.set_result(found)
        finally:
            self._transactions.write(lambda c: _forget(c, key))

    def _stored(self, key: str) -> tuple[str, int, int] | None:
        """Return the progress that another process stored."""
        query = select(SETTING.c.value).where(SETTING.c.key == _name(key))
        value: str | None = self._transactions.read(lambda c: c.execute(query).scalar())
        if value is None:
            return None
        what, done, of = json.loads(value)
        return what, done, of


def _name(key: str) -> str:
    # A hash, as the table's keys are short.
    return f"progress:{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _store(connection: Connection, key: str, progress: tuple[str, int, int]) -> None:
    _forget(connection, key)
    connection.execute(insert(SETTING), {"key": _name(key), "value": json.dumps(progress)})


def _forget(connection: Connection, key: str) -> None:
    connection.execute(delete(SETTING).where(SETTING.c.key == _name(key)))
