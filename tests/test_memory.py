"""Files that a run of the tests leaves in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.memory import PREFIX, folder_of_run, runs


def test_folders_of_killed_runs_are_deleted_and_no_others(tmp_path: Path) -> None:
    """A folder goes if its process has ended; one of a live run, or of unknown origin, stays."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = tmp_path / f"{PREFIX}{ended.pid}-a_b-c"
    kept = [f"{PREFIX}{os.getpid()}-live", f"{PREFIX}old_name", f"{PREFIX}x-1", "PostgreSQL.1-2"]
    for folder in (dead, *(tmp_path / name for name in kept)):
        folder.mkdir()
        (folder / "file").write_text("written")
    mine = folder_of_run(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([*kept, mine.name])
    assert mine.name.startswith(f"{PREFIX}{os.getpid()}-")
    assert not any(mine.iterdir())


def test_a_process_of_another_user_runs() -> None:
    """Process 1 runs, though it may not be ours; a number too large for any is not judged dead."""
    assert runs(1)
    assert runs(os.getpid())
    assert runs(10**30)
