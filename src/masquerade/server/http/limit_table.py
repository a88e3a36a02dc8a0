"""A table of askers' request rates, in memory that the processes of a server share.

Each asker has one number, the moment at which their allowance will be whole again (the generic cell
rate algorithm): a request moves it on by its share of the window, and is refused where that would
take it further ahead than the window. Two processes that share the table admit what one would.

Askers are named by a keyed hash. The table is in no folder, or its file is deleted before anything
is written to it, and the key is in no file: nobody can open it, and no address or secret is in it.
"""

# The library `limits` shares only storages that are servers of their own, such as Redis; in memory
# it keeps addresses and secrets as they are, in each process for itself. A row in the database
# would cost each request a commit, of milliseconds; this takes microseconds.

from __future__ import annotations

import hashlib
import math
import mmap
import os
import secrets
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.reduction import DupFd
from typing import IO, Any, Final

try:
    import fcntl
except ImportError:  # Windows, where a server has one process
    fcntl = None  # type: ignore[assignment]

_PLACES: Final = 2**17
#: Places that one asker can be at. Where others are at all of them, the most rested one leaves.
_LOOKED_AT: Final = 8

# 16 bytes of the asker's keyed name, then the moment in seconds.
_PLACE = struct.Struct("<16sd")


class LimitTable:
    """Moments at which the allowances of at most `places` askers are whole again.

    `file` (optional): kept open and shared with other processes. `key` (optional): of their names.
    """

    def __init__(
        self, file: IO[bytes] | int | None = None, *, key: bytes = b"", places: int = _PLACES
    ) -> None:
        self._file = file
        self._number = file if isinstance(file, int) or file is None else file.fileno()
        self._key = key or secrets.token_bytes(32)
        self._places = places
        size = places * _PLACE.size
        self._memory = mmap.mmap(-1 if self._number is None else self._number, size)
        self._lock = threading.Lock()

    @classmethod
    def shared(cls, *, places: int = _PLACES) -> LimitTable:
        """Return a table that can be given to processes when they are started."""
        if hasattr(os, "memfd_create"):  # Linux: memory alone, in no folder
            file: IO[bytes] = os.fdopen(os.memfd_create("limits"), "w+b")
        else:
            file = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the table)
        file.truncate(places * _PLACE.size)
        return cls(file, places=places)

    def close(self) -> None:
        """Let go of the memory and of the file; processes that have it keep theirs."""
        self._memory.close()
        if self._file is not None and not isinstance(self._file, int):
            self._file.close()

    def __reduce__(self) -> Any:
        """Hand over the open file, while a process is being started."""
        if self._number is None:
            raise TypeError("this table is of one process; make a shared one.")
        return _opened, (DupFd(self._number), self._key, self._places)

    def take(self, asker: bytes, now: float, *, quota: int, seconds: float) -> tuple[float, float]:
        """Count a request, where one is left of `quota` in a window of `seconds`.

        `now`: seconds of a clock that only rises, the same in all processes. Returned are how many
        requests are left, not rounded, and how many seconds to wait where this one is refused.
        """
        share, name = seconds / quota, self._name(asker)
        with self._held():
            offset, whole = self._place_of(name)
            # A moment in the past counts as now: allowance that was not used does not pile up.
            whole = max(now, whole)
            ahead = whole + share - now
            # Sums of shares are not exact, and a rounding must not refuse the last one.
            if ahead > seconds + share * 1e-6:
                # What is refused changes nothing, so that asking again does not make the wait
                # longer.
                return 0.0, ahead - seconds
            _PLACE.pack_into(self._memory, offset, name, whole + share)
        return max(0.0, (seconds - ahead) / share), 0.0

    def give_back(self, asker: bytes, *, quota: int, seconds: float) -> None:
        """Take back a request that was counted and came to nothing."""
        name = self._name(asker)
        with self._held():
            offset, whole = self._place_of(name)
            if whole:  # else it has left
                _PLACE.pack_into(self._memory, offset, name, whole - seconds / quota)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Let nobody else read or change the table."""
        # A lock of the file belongs to the process, so its threads need one of their own beside it.
        with self._lock:
            if fcntl is None or self._number is None:
                yield
                return
            fcntl.lockf(self._number, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._number, fcntl.LOCK_UN)

    def _place_of(self, name: bytes) -> tuple[int, float]:
        """Return the place of an asker and their moment; else the place they can have, and 0."""
        first = int.from_bytes(name[:8], "big")
        rested, earliest = 0, math.inf
        for step in range(_LOOKED_AT):
            offset = (first + step) % self._places * _PLACE.size
            there, whole = _PLACE.unpack_from(self._memory, offset)
            if there == name:
                return offset, whole
            if whole < earliest:
                rested, earliest = offset, whole
        return rested, 0.0

    def _name(self, asker: bytes) -> bytes:
        return hashlib.blake2b(asker, key=self._key, digest_size=16).digest()


def _opened(file: Any, key: bytes, places: int) -> LimitTable:
    return LimitTable(file.detach(), key=key, places=places)
