"""Several processes on one socket: started, watched, replaced when one dies, ended together."""

# uvicorn's own supervisor (0.54) starts what died again at once and for ever, waits without end for
# what does not end, listens on meanwhile, and leaves processes behind where it is killed itself.
# And it kills one that has not answered within seconds, as where a busy machine still imports.

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from masquerade.errors import OperationError, ParameterError
from masquerade.server.db.engine import connect
from masquerade.server.db.transactions import Transactions
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.logs import configure, described, fields
from masquerade.server.http.metrics import FOLDER_VARIABLE, forget_process
from masquerade.server.settings import Settings

_LOGGER = logging.getLogger(__name__)
_GLANCE_SECONDS = 0.2
_SHORT_LIFE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 30.0
# Not forked: locks of threads and connections of the database would be copied.
_CONTEXT = multiprocessing.get_context("spawn")


class _Worker:
    """A worker process, with its number and its start."""

    def __init__(
        self, settings: Settings, bound: socket.socket, limits: LimitTable, number: int
    ) -> None:
        self._started, started = _CONTEXT.Pipe(duplex=False)
        self._ready = False
        self.number = number
        self.process = _CONTEXT.Process(
            target=_work, args=(settings, bound, limits, number, started), name=f"worker-{number}"
        )
        self.process.start()
        # Closed here, so that the pipe ends when the worker does.
        started.close()
        self.began = time.monotonic()

    def ready(self) -> bool:
        """Return whether it has begun to answer."""
        with contextlib.suppress(EOFError, OSError):  # it ended before
            if not self._ready and self._started.poll():
                self._ready = bool(self._started.recv())
        return self._ready


class Workers:
    """All processes of a server, as many as the settings say, all listening on `bound`."""

    def __init__(self, settings: Settings, bound: socket.socket) -> None:
        if os.name != "posix":
            raise ParameterError("more than one worker needs a POSIX system; leave out --workers.")
        self._settings = settings
        self._bound = bound
        self._limits = LimitTable.shared()
        self._workers: dict[int, _Worker] = {}
        self._again: dict[int, float] = {}  # when to start those that died
        self._pause: dict[int, float] = {}
        self._ending = False

    def run(self, *, ready: Callable[[], None]) -> None:
        """Serve until Ctrl-C or a termination signal; `ready` is called once all have begun."""
        configure(self._settings.log_format)

        def told(_signal: int, _frame: Any) -> None:
            self.end()

        previous = {one: signal.signal(one, told) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            with _folder_of_counts(self._settings):
                try:
                    self._start(ready)
                    while not self._ending:
                        self._watch()
                finally:
                    self._stop()
            # The one that rewrites may have ended before another wrote its last.
            engine = connect(self._settings.database, key=self._settings.database_key)
            transactions = Transactions(engine)
            transactions.write(lambda _: None)  # begins the thread that rewrites
            transactions.close()
        finally:
            for one, handler in previous.items():
                signal.signal(one, handler)
            self._bound.close()
            self._limits.close()

    def end(self) -> None:
        """Let `run` end, from another thread or a signal."""
        self._ending = True

    def _start(self, ready: Callable[[], None]) -> None:
        for number in range(self._settings.workers):
            self._begin(number)
        while not self._ending:
            if not all(worker.process.is_alive() for worker in self._workers.values()):
                raise OperationError(
                    "a process of the server ended before it had begun; the reason is in the log."
                )
            if all(worker.ready() for worker in self._workers.values()):
                _LOGGER.info("serving", extra=fields(workers=len(self._workers)))
                ready()
                return
            time.sleep(_GLANCE_SECONDS / 4)

    def _begin(self, number: int) -> None:
        self._again.pop(number, None)
        self._workers[number] = _Worker(self._settings, self._bound, self._limits, number)

    def _watch(self) -> None:
        """Wait a moment, and replace dead workers."""
        wait([worker.process.sentinel for worker in self._workers.values()], _GLANCE_SECONDS)
        now = time.monotonic()
        for number, worker in list(self._workers.items()):
            if not self._ending and not worker.process.is_alive():
                del self._workers[number]
                worker.process.join()
                forget_process(worker.process.pid or 0)
                told = fields(worker=number, exit_code=worker.process.exitcode)
                _LOGGER.warning("a worker died and is replaced", extra=told)
                # Whoever dies again and again is given longer and longer pauses.
                short = now - worker.began < _SHORT_LIFE_SECONDS
                pause = min(_LONGEST_PAUSE_SECONDS, 2 * self._pause.get(number, 0.25))
                self._pause[number] = pause if short else 0.25
                self._again[number] = now + (pause if short else 0)
        for number, moment in list(self._again.items()):
            if not self._ending and now >= moment:
                self._begin(number)
        if not self._workers:
            time.sleep(_GLANCE_SECONDS)

    def _stop(self) -> None:
        # As long as one process has it open, connections are made that nobody would answer.
        self._bound.close()
        for worker in self._workers.values():
            if worker.process.is_alive():
                worker.process.terminate()
        # The workers keep to the time that requests have; then comes what they close.
        deadline = time.monotonic() + self._settings.shutdown_seconds + 5
        for worker in self._workers.values():
            worker.process.join(max(0.0, deadline - time.monotonic()))
            if worker.process.is_alive():
                told = fields(worker=worker.number)
                _LOGGER.warning("a worker did not end in time and is killed", extra=told)
                worker.process.kill()
                worker.process.join()
        _LOGGER.info("ended")


@contextlib.contextmanager
def _folder_of_counts(settings: Settings) -> Iterator[None]:
    """Give the processes a folder in which each tells the others its counts."""
    if settings.metrics == "off":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="masquerade-metrics-") as folder:
        before = os.environ.get(FOLDER_VARIABLE)
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER_VARIABLE]
            if before is not None:
                os.environ[FOLDER_VARIABLE] = before


def _factory(settings: Settings) -> Callable[..., Any]:
    """Return the function that makes the application: of a survey server, or of a helper."""
    if settings.helper:
        from masquerade.server.helper_app import create_helper_app

        return create_helper_app
    from masquerade.server.app import create_app

    return create_app


def _work(
    settings: Settings, bound: socket.socket, limits: LimitTable, number: int, started: Connection
) -> None:
    """Serve in a process of its own."""
    from masquerade.server.operations.run import keep_loaded, server_of

    configure(settings.log_format)
    # Signals between here and the first request are the server's, once it runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def ready() -> None:
        _LOGGER.info("a worker serves", extra=fields(worker=number))
        started.send(True)

    try:
        # One of them runs the daily jobs and rewrites the file.
        app = _factory(settings)(settings, sweeps=number == 0, limits=limits)
    except Exception as error:
        told = {"worker": number, **described(error)}
        _LOGGER.error("a worker could not begin", extra=fields(**told))
        sys.exit(1)
    server = server_of(app, settings, ready=ready)
    keep_loaded()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        # Where the parent is killed, nobody else would end this process.
        wait([parent.sentinel])
        server.should_exit = True

    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[bound])
