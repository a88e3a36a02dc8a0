"""Long computations of kept texts, in the background, with their progress for every process."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, delete, insert, select

from masquerade.errors import ServerBusy, UnderWay
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.db.tables import SETTING
from masquerade.server.db.transactions import Transactions

#: Takes what is being done, how many steps are done, and how many there are.
Report = Callable[[str, int, int], None]

#: How often other processes are told of the progress, and whoever waits may ask.
_EVERY_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 2
#: Computations that wait, of one team and of all, and when one that is too many may be asked for.
MOST_OF_A_TEAM, MOST_WAITING = 20, 200
_COME_BACK_SECONDS = 30
#: Errors that are kept until somebody asks again.
_MOST_FAILED = 100


class _StoppedError(Exception):
    """The server ends, so the computation does."""


@dataclass(slots=True)
class _Task:
    """A computation of this process; `progress` is None while another process has its turn."""

    key: str
    compute: Callable[[Report], str]
    future: Future[str] = field(default_factory=Future)
    progress: tuple[str, int, int] | None = field(default=None)

    def tell(self, what: str, done: int, of: int) -> None:
        """Note the progress; within one piece of work it never goes back, nor beyond the end."""
        if self.progress is not None and self.progress[0] == what:
            done, of = max(done, self.progress[1]), max(of, self.progress[2])
        self.progress = what, min(done, of) if of else done, of


class _Turns:
    """Computations that wait, team by team: the team that was served longest ago comes next."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_Task]] = {}
        self._served: dict[str, int] = {}
        self._turn = 0

    def add(self, team: str, task: _Task) -> None:
        """Let a computation wait; raise `ServerBusy` where too many do."""
        seconds = _COME_BACK_SECONDS
        if len(self._waiting.get(team, ())) >= MOST_OF_A_TEAM:
            raise ServerBusy(
                "too many large results of your team wait to be worked out; ask again in "
                f"{seconds} seconds.",
                seconds=seconds,
            )
        if sum(map(len, self._waiting.values())) >= MOST_WAITING:
            raise ServerBusy(
                f"too many large results wait to be worked out; ask again in {seconds} seconds.",
                seconds=seconds,
            )
        self._waiting.setdefault(team, deque()).append(task)

    def next(self) -> _Task | None:
        """Take out the next computation."""
        if not self._waiting:
            return None
        # `min` takes the first of equals: of teams that were never served, who came first.
        team = min(self._waiting, key=lambda one: self._served.get(one, 0))
        task = self._waiting[team].popleft()
        if not self._waiting[team]:
            del self._waiting[team]
        self._turn += 1
        self._served[team] = self._turn
        return task


class LongWork:
    """Kept texts that take long to compute: one at a time in this process, and one in all.

    Teams take turns, so that a team waits for one computation of each other team at most, however
    many of them wait.

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
        self._turns = _Turns()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="long-work")

    def require(self, key: str, compute: Callable[[Report], str], *, team: str) -> str:
        """Return the kept text for `key`, or let its computation wait for the team's turn.

        Raises
        ------
        UnderWay
            It waits or is being computed, here or by another process.
        ServerBusy
            Too many wait, of this team or of all; nothing was begun.
        MasqueradeError
            It could not be computed; who asks again after that begins anew.
        """
        kept = self._flights.kept(key)
        if kept is not None:
            return kept
        with self._lock:
            task = self._tasks.get(key)
            if task is None:
                task = _Task(key, compute)
                self._turns.add(team, task)
                self._tasks[key] = task
                self._pool.submit(self._run_next)
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

    def _run_next(self) -> None:
        with self._lock:
            task = self._turns.next()
        if task is not None:
            self._run(task)

    def _run(self, task: _Task) -> None:
        told = time.monotonic()

        def report(what: str, done: int, of: int) -> None:
            nonlocal told
            if self._stopping.is_set():
                raise _StoppedError
            task.tell(what, done, of)
            if time.monotonic() - told >= _EVERY_SECONDS:
                told = time.monotonic()
                progress = task.progress
                self._transactions.write(lambda c: _store(c, task.key, progress))
                self._flights.renew(task.key)

        def begin() -> str:
            task.tell("beginning", 0, 0)  # libraries may have to be loaded before the first step
            return task.compute(report)

        try:
            found = self._flights.get_or_create(task.key, begin)
        except BaseException as error:
            task.future.set_exception(error)
            self._keep_few_failures()
        else:
            with self._lock:
                self._tasks.pop(task.key, None)
            task.future.set_result(found)
        finally:
            self._transactions.write(lambda c: _forget(c, task.key))

    def _keep_few_failures(self) -> None:
        """Forget the oldest errors that nobody asked for."""
        with self._lock:
            failed = [key for key, task in self._tasks.items() if task.future.done()]
            for key in failed[:-_MOST_FAILED]:
                del self._tasks[key]

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


def _store(connection: Connection, key: str, progress: tuple[str, int, int] | None) -> None:
    _forget(connection, key)
    connection.execute(insert(SETTING), {"key": _name(key), "value": json.dumps(progress)})


def _forget(connection: Connection, key: str) -> None:
    connection.execute(delete(SETTING).where(SETTING.c.key == _name(key)))
