"""Files of crowd-kit and of Label Studio's converter, written here and read back, and vice versa.

``MASQUERADE_PEERS`` names a Python that has crowd-kit and label-studio-sdk: they need other
versions of packages, and some hundred megabytes. A test whose peer is missing is skipped.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.answers import peer_round_trip
from tests.answers.claim_rows import rows_of
from tests.answers.test_label_studio import a_crowd

from masquerade.answers import ClaimColumns, Claims, Truths
from masquerade.answers.label_studio import to_label_studio
from masquerade.simulate import crowd
from masquerade.truth import DawidSkene, MajorityVote, accuracy

PEERS = os.environ.get("MASQUERADE_PEERS") or sys.executable
CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Choices name="label" toName="text">{choices}</Choices>
</View>
"""


def ask(module: str, folder: Path) -> None:
    """Run a peer on the files of a folder, or skip the test."""
    known = subprocess.run([PEERS, "-c", f"import {module}"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"{PEERS} has no {module}; MASQUERADE_PEERS names a Python that has it")
    words = [PEERS, peer_round_trip.__file__, module, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def read(path: Path, columns: ClaimColumns | None = None) -> list[tuple[str, str, str]]:
    """Return the claims of a file as sorted texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which layout was taken
        claims = Claims.read(path) if columns is None else Claims.read(path, columns=columns)
    return texts(claims)


def texts(claims: Claims) -> list[tuple[str, str, str]]:
    """Return the task, worker and label of each claim as texts, sorted."""
    return sorted((str(task), str(worker), str(label)) for task, worker, label in rows_of(claims))


def test_crowd_kit_finds_the_same_in_our_files_and_we_in_its(tmp_path: Path) -> None:
    """Our file gives its methods our labels and posteriors; its table and labels are read here."""
    claims, truths = crowd(
        np.random.default_rng(8), tasks=150, workers=12, answers_per_task=5, options=3
    )
    claims.write(tmp_path / "claims.csv")
    ask("crowdkit", tmp_path)
    assert read(tmp_path / "again.csv") == texts(claims)
    closed = 0
    for name, ours in (
        ("majority", MajorityVote()),
        ("skilled", DawidSkene(smoothing=0, max_iterations=2000, tolerance=1e-12)),
    ):
        theirs = Truths.read(tmp_path / f"{name}.csv")
        fit = ours.fit(claims)
        found = dict(zip(*theirs.to_arrow().to_pydict().values(), strict=True))
        mine = dict(zip(*fit.truths_.to_pydict().values(), strict=True))
        rows = fit.posteriors_.to_pydict()
        tied = {
            task
            for place, task in enumerate(rows["task"])
            if np.ptp(sorted(rows[one][place] for one in rows if one != "task")[-2:]) < 1e-3
        }
        assert len(tied) < 50  # which of equal options is named is chance in both
        assert {task for task in mine if str(found[task]) != str(mine[task])} <= tied
        if not tied:
            assert accuracy(found, truths) == accuracy(fit, truths)
            closed += 1
    assert closed >= 1
    with (tmp_path / "posteriors.csv").open() as file:
        for row in csv.DictReader(file):
            place = rows["task"].index(row["task"])
            for option in claims.options or ():
                assert float(row[str(option)]) == pytest.approx(rows[str(option)][place], abs=1e-5)


def test_label_studios_converter_exports_our_tasks(tmp_path: Path) -> None:
    """Its JSON, JSON-MIN and CSV of the tasks written here are read as the same claims."""
    claims, _ = a_crowd()
    data = {task: {"text": f"Text {task}"} for task in claims.tasks.to_pylist()}
    tasks = to_label_studio(claims, data=data)
    (tmp_path / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    choices = "".join(f'<Choice value="{one}"/>' for one in claims.options or ())
    (tmp_path / "config.xml").write_text(CONFIG.format(choices=choices), encoding="utf-8")
    ask("label_studio_sdk", tmp_path)
    for made in ("json/result.json", "json_min/result.json", "csv/result.csv"):
        assert read(tmp_path / made) == texts(claims), made
