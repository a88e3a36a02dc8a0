"""Running the command in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from masquerade.cli import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """A command's output and exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs ``masquerade`` with the given words."""

    def call(*words: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["masquerade", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """Return a file of claims on which the crowd agrees that a and c are yes, b is no."""
    path = tmp_path / "claims.csv"
    truths = (("a", "yes"), ("b", "no"), ("c", "yes"))
    rows = [f"{task},{worker},{label}\n" for task, label in truths for worker in "xyz"]
    path.write_text("task,worker,label\n" + "".join(rows))
    return path
