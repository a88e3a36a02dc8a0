"""``python -m masquerade_papers``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from masquerade.datasets import DATA_VARIABLE
from masquerade_papers import run as running
from masquerade_papers.__main__ import main
from masquerade_papers.sparse_ldp import evaluation, measurement
from masquerade_papers.study import Job, Scale


@dataclass(frozen=True, slots=True)
class Outcome:
    """The command's output and exit code."""

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
    """Return a function that runs the command with the given words."""

    def call(*words: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["masquerade_papers", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated data, and few runs of the simple setting."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    whole = measurement.jobs

    def fewer(scale: Scale) -> list[Job]:
        return [
            Job(job.name, job.work, {**job.parameters, **runs(job.parameters)})
            for job in whole(scale)
        ]

    def runs(parameters: Mapping[str, Any]) -> dict[str, int]:
        return {"runs": 20} if "runs" in parameters else {}

    monkeypatch.setattr(measurement, "jobs", fewer)
    for module in (measurement, evaluation):
        monkeypatch.setattr(module, "QUICK_EPSILONS", ("2",))


def test_the_keys_that_scripts_rely_on(run: Run, tmp_path: Path) -> None:
    """Artifacts are files, rows have paper's value, ours, error and verdict."""
    found = run(
        "sparse-ldp",
        "--out",
        tmp_path,
        "--quick",
        "--trials",
        2,
        "--jobs",
        1,
        "--json",
    )
    assert found.code == 0
    assert all(Path(path).is_file() for path in found.json["artifacts"])
    first = found.json["rows"][0]
    assert first["paper"] == 14.13
    assert first["verdict"] == "reproduced"
    assert set(first) >= {"ours", "standard_error", "data", "reason", "artifact", "quantity"}
    counts = found.json["verdicts"]["sparse-ldp"]
    assert sum(counts.values()) == len(found.json["rows"])
    assert found.json["ours"]


def test_people_get_tables_and_a_second_run_takes_up_the_first(run: Run, tmp_path: Path) -> None:
    """Without --json there are tables; finished measurements are not made again."""
    words = ("sparse-ldp", "--out", tmp_path, "--quick", "--trials", 2, "--jobs", 1)
    first = run(*words)
    assert first.code == 0
    assert "theorem" in first.out
    assert "not reproduced" in first.out
    assert first.err == ""  # the bar is for terminals
    found = run(*words, "--json")
    assert found.json["parts_done"] == 0
    assert found.json["parts_taken_up"] > 0


def test_people_are_told_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib the table names the extra, brackets and all."""
    monkeypatch.setattr(running, "can_draw", lambda: False)
    found = run("sparse-ldp", "--out", tmp_path, "--quick", "--trials", 2, "--jobs", 1)
    assert found.code == 0
    assert "[plots]" in found.out
    assert not list(tmp_path.rglob("*.png"))


def test_an_unknown_paper_is_refused(run: Run, tmp_path: Path) -> None:
    """Exit code 1, the reason on standard error."""
    found = run("netflix", "--out", tmp_path)
    assert found.code == 1
    assert "netflix" in found.err
    assert "two-layer" in found.err


def test_the_package_runs_as_a_program() -> None:
    """``python -m masquerade_papers --help`` names the papers and the options."""
    words = [sys.executable, "-m", "masquerade_papers", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert all(word in done.stdout for word in ("two-layer", "loki", "--trials", "--out"))
