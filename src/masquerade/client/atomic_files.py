"""Files that survive a crash, for their owner's eyes only."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MINE = 0o600


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, that nobody else can look into."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _flush_folder(folder.parent)


def replace_file(path: Path, content: str) -> None:
    """Write a file in one step: after a crash it holds the old content or the new, never a part.

    It is on the disk when this returns. Whoever calls this holds the lock of the file.
    """
    draft = path.with_name(f".{path.name}.draft")
    _write(draft, content)
    os.replace(draft, path)
    _flush_folder(path.parent)


def create_file(path: Path, content: str) -> bool:
    """Write a file in one step unless it is there; return whether it was written."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    _write(draft, content)
    try:
        # fails where the name is taken; a replacement would lose what another process wrote
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    _flush_folder(path.parent)
    return True


def delete_file(path: Path) -> None:
    """Delete a file for good, where it is there."""
    path.unlink(missing_ok=True)
    _flush_folder(path.parent)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep every other process out for as long as this one needs; a crash ends the lock too."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MINE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(path: Path, content: str) -> None:
    # The draft of a process that was killed is in the way: it goes, so that the mode is ours.
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MINE)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
