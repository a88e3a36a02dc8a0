"""The folder in memory that a run of the tests writes in."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "masquerade-tests-"


def folder_of_run(memory: Path) -> Path:
    """Return a new folder named for this process, after those of killed runs are deleted."""
    for left in memory.glob(f"{PREFIX}*-*"):
        number = left.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdecimal() and not runs(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=memory))


def runs(number: int) -> bool:
    """Return whether there is a process of a number, of any user."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's; or no number of a process, so not ours to judge
    return True
