"""The physical order of rows in an SQLite file, which must not tell the order of arrival.

Pages of a b-tree keep cells where they were put, and a split keeps which of them came before it. So
whoever has a copy of the file can tell who came after whom in every table, and by that which
participation belongs to which account of the ledger. ``VACUUM`` writes all tables anew in the order
of their keys: the file is then the same, byte for byte, whatever the order of arrival was. Deleting
and inserting by key is not enough (the shape of the trees keeps history), and neither is
``secure_delete``.

In the write-ahead log stands together what was changed together. It is emptied with each rewriting,
and the answer of that is looked at: while somebody reads, it stays as it was.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from masquerade.server.http.logs import fields

_LOGGER = logging.getLogger(__name__)

#: Bytes of a file, of about 100,000 responses: beyond, it is rewritten on request only.
LARGE = 200 * 10**6

#: Of the time, rewriting takes this share at most: fewer than one request in twenty waits for it.
_SHARE = 0.05

#: How often is looked at whether others wrote, and tried again what could not be done.
LOOK_SECONDS = 1.0

#: For how long rows may lie in the order of arrival before the log and ``/readyz`` tell.
OVERDUE_SECONDS = 60

_SHORTEST_PAUSE_SECONDS = 0.05
_PATIENCE_MILLISECONDS = 200
_AGAIN_SECONDS = 3600
_READER = "somebody reads for long, and the log cannot be emptied before they end"


class SqliteOrder:
    """Rewrites an SQLite file soon after it was changed, in the thread that writes to it.

    `engine`: a database in memory has no file, and so nothing to rewrite.
    `by_itself`: whether it rewrites without being asked. Of several processes on one file one does.
    `clock`: gives seconds; replaced in tests.

    Privacy
    -------
    Protects everybody who took part from whoever gets a copy of the file after a rewriting: it is
    a function of the rows alone. Between a commit and the rewriting file and log tell who came
    last; two copies of different days tell who came between; blocks of the disk that the log once
    had may still hold it.

    Cost
    ----
    Twice the file in free disk, and as much memory as it has up to `LARGE`. Nobody writes
    meanwhile: 10 milliseconds at 1,000 responses, 0.1 seconds at 10,000, 1.3 at 100,000.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        by_itself: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        name = engine.url.database or ":memory:"
        self._in_memory = name == ":memory:" or name.startswith("file:")
        self._file = Path(name)
        self._log = Path(f"{name}-wal")
        self._by_itself = by_itself and not self._in_memory
        self._clock = clock
        self._rows = True  # whether they may lie in the order of arrival; unknown at the start
        self._asked = False
        self._next = 0.0
        self._since: float | None = None
        self._told: float | None = None
        self._obstacle = ""
        #: Seconds that the last rewriting took.
        self.took = 0.0

    def changed(self) -> None:
        """Note that something was committed."""
        self._rows = True
        if self._since is None:
            self._since = self._clock()

    def ask(self) -> None:
        """Have it rewritten as soon as possible, however large, and tried until that is done."""
        self._asked, self._rows, self._next = not self._in_memory, True, 0.0
        if self._since is None:
            self._since = self._clock()

    def seconds(self) -> float | None:
        """Return for how long the thread may wait before `attempt`; None: for ever."""
        if not (self._by_itself or self._asked):
            return None
        if self._due():
            return max(0.0, self._next - self._clock())
        return LOOK_SECONDS

    def attempt(self) -> bool:
        """Rewrite the file if a rewriting is due; return whether nothing is left to do."""
        if not (self._by_itself or self._asked) or not self._due():
            return True
        if self._clock() < self._next:
            return False
        begin = self._clock()
        if self._bytes(self._log):
            self.changed()  # perhaps by another process
        whole = self._asked or self._bytes(self._file) <= LARGE
        try:
            self._obstacle = self._rewrite(whole=whole)
        except Exception as error:  # also those of SQLCipher, in this thread that must live on
            self._obstacle = f"it could not be rewritten ({type(error).__qualname__})"
        end = self._clock()
        pause = max(_SHORTEST_PAUSE_SECONDS, (end - begin) / _SHARE)
        if self._obstacle:
            self._next = end + max(LOOK_SECONDS, pause)
            self._tell()
            return False
        self._next, self.took = end + pause, end - begin
        if whole:
            self._asked = False
        if self._told is not None:
            _LOGGER.warning("the database is rewritten again")
        self._since = self._told = None
        return not self._due()

    def finish(self) -> None:
        """Rewrite a last time, unless that would take long."""
        self._next = 0.0
        self.attempt()

    def late_seconds(self) -> float:
        """Return for how long a rewriting that is due could not be done; 0 where none is late."""
        since = self._since
        return 0.0 if since is None or not self._obstacle else self._clock() - since

    def overdue(self) -> str | None:
        """Return why rows have lain in the order of arrival for too long; None where not."""
        if self.late_seconds() < OVERDUE_SECONDS:
            return None
        return f"rows have lain in the order of arrival for long: {self._obstacle}"

    def _due(self) -> bool:
        rows = self._rows and (self._asked or self._bytes(self._file) <= LARGE)
        return rows or self._bytes(self._log) > 0

    def _rewrite(self, *, whole: bool) -> str:
        """Rewrite now; return the reason why it could not be done, or nothing."""
        with self._engine.connect() as connection:
            # Not in a transaction, which the connection itself would begin.
            raw: Any = connection.connection.driver_connection
            with _impatient(raw):
                # Beside a reader each rewriting would make the log longer, so there is one only.
                if (self._obstacle or not whole) and not _emptied(raw):
                    return _READER
                if not whole:
                    return ""
                size = self._bytes(self._file)
                free = shutil.disk_usage(self._file.parent).free
                # Once for the new file, and once for the log, through which all its pages go.
                if free < 2 * size:
                    return f"it needs {2 * size:,} bytes of free disk and there are {free:,}"
                before = _version(raw)
                with _room(raw, self._file.parent, size):
                    raw.execute("VACUUM").fetchall()
                # The log now holds the old commits in their order, before the new pages.
                if not _emptied(raw):
                    return _READER
                # Another process that wrote meanwhile is seen by this number alone.
                self._rows = _version(raw) != before
        return ""

    def _tell(self) -> None:
        why = self.overdue()
        now = self._clock()
        if why is not None and (self._told is None or now - self._told >= _AGAIN_SECONDS):
            self._told = now
            _LOGGER.warning("the database is not rewritten", extra=fields(reason=self._obstacle))

    @staticmethod
    def _bytes(file: Path) -> int:
        try:
            return file.stat().st_size
        except OSError:
            return 0


def _emptied(raw: Any) -> bool:
    """Empty the log; return whether that was possible."""
    # The only mode that leaves no bytes of earlier frames in the file.
    busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _version(raw: Any) -> int:
    """Return a number that is another one after another connection has committed."""
    return int(raw.execute("PRAGMA data_version").fetchone()[0])


@contextmanager
def _impatient(raw: Any) -> Iterator[None]:
    """Wait for readers only shortly, because all writers wait for this thread."""
    (usual,) = raw.execute("PRAGMA busy_timeout").fetchone()
    raw.execute(f"PRAGMA busy_timeout={_PATIENCE_MILLISECONDS}")
    try:
        yield
    finally:
        raw.execute(f"PRAGMA busy_timeout={usual}")


@contextmanager
def _room(raw: Any, folder: Path, size: int) -> Iterator[None]:
    """Give the copy that is made meanwhile its place: memory, or beside a large database."""
    if size <= LARGE:
        raw.execute("PRAGMA temp_store=MEMORY")
        yield
        return
    # A PRAGMA takes no bound values, so quotes are doubled. Beside the database there was room a
    # moment ago; the usual temporary folder may be small.
    place = str(folder.resolve()).replace("'", "''")
    raw.execute(f"PRAGMA temp_store_directory='{place}'")
    raw.execute("PRAGMA temp_store=FILE")
    try:
        yield
    finally:
        raw.execute("PRAGMA temp_store=MEMORY")
