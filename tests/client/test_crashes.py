"""The client killed at every step: one draw, nothing acknowledged is lost, one charge."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.client.conftest import Place

PROGRAM = Path(__file__).with_name("crashes.py")


def program() -> Any:
    """Return the program as a module."""
    spec = importlib.util.spec_from_file_location("crashes", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "files",
    [
        # The draw.
        pytest.param((7,), id="two-points-a-step"),
        # Its own ledger reserving and spending; the draw and the seal.
        pytest.param((1, 2, 4, 5, 7, 8), id="every-point", marks=pytest.mark.exhaustive),
    ],
)
def test_the_client_is_killed_at_every_step(
    place: Place, tmp_path: Path, files: tuple[int, ...]
) -> None:
    """Killed around each request and each write, it goes on without a second draw or charge.

    A draw counts from the moment it is written down or sent; one that a crash ends in memory has
    been seen by nobody.
    """
    crashes = program()
    survey = place.survey()
    # All requests but the first.
    points = [p for p in crashes.POINTS if p[1] in (range(1, 5) if "request" in p[0] else files)]
    runs = [str(crashes.POINTS.index(point)) for point in points]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), place.url, survey.token, str(tmp_path), *runs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [tuple(one["point"]) for one in found] == points
    assert all(one["ended"][0] == -9 for one in found), "a point was never reached"
    assert [fault for one in found for fault in crashes.faults(one)] == []
    assert place.services.surveys.record(survey.token).responses == len(runs) + 1


@pytest.mark.parametrize(
    "change",
    [
        {"ended": [-9, 1]},
        {"on_disk": [[2, 2]]},
        {"commitments": ["a", "b"]},
        {"reports": [[1, 2], [1, 3]]},
        {"acknowledged": False},
        {"held": []},
        {"held": [["sealed", [1, 2]]]},
        {"held": [["submitted", [1, 3]]]},
        {"charges": 2},
        {"charges": 0},
        {"own_charges": 2},
        {"own_charges": 0},
        {"open_reservations": 1},
    ],
)
def test_the_judgement_finds_what_it_must(change: dict[str, Any]) -> None:
    """Each broken promise is found in a run that breaks it."""
    crashes = program()
    good = {
        "point": ["x", 0],
        "ended": [-9, 0],
        "on_disk": [[1, 2]],
        "commitments": ["a", "a"],
        "reports": [[1, 2]],
        "acknowledged": True,
        "held": [["submitted", [1, 2]]],
        "charges": 1,
        "own_charges": 1,
        "open_reservations": 0,
    }
    assert crashes.faults(good) == []
    assert crashes.faults({**good, **change})
