"""A kind of question is two files, a mechanism or a method one: nothing else is changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.extending import PAGE, page

import masquerade

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path(masquerade.__file__).parent
#: Where each added file goes in the package.
ADDED = {
    "traffic_light.py": "surveys/kinds",
    "traffic_light.js": "server/web/static/app/kinds",
    "half_truth.py": "mechanisms",
    "first_leader.py": "truth",
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package to which the files were added."""
    folder = tmp_path_factory.mktemp("extended")
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "masquerade", ignore=unused)
    for name, place in ADDED.items():
        shutil.copy(HERE / "added" / name, folder / "masquerade" / place)
    _run(folder, "-m", "tools.kinds")  # writes the device's list of kinds anew
    return folder


def _run(folder: Path, *arguments: str) -> str:
    """Run Python on the copy and return its output."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def _pytest(folder: Path, *arguments: str) -> str:
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly")
    return _run(folder, "-m", "pytest", *options, *arguments)


def test_the_contracts_hold_for_what_was_added(extended: Path) -> None:
    """The tests that run over all kinds and mechanisms run over the new ones, and pass."""
    out = _pytest(extended, "tests/surveys/test_kinds.py", "-k", "traffic_light or twin or type")
    assert "passed" in out
    out = _pytest(extended, "tests/mechanisms/test_contract.py", "-k", "half-truth")
    assert "passed" in out


def test_the_page_of_the_architecture_is_current() -> None:
    """It lists the kinds, mechanisms and methods that are registered, with their files."""
    assert page() == PAGE.read_text(encoding="utf-8"), "run python -m tools.extending"


@pytest.mark.browser
def test_what_was_added_goes_from_its_definition_to_the_result(extended: Path) -> None:
    """Built, previewed, masked, sent, estimated, exported, audited and documented."""
    out = _pytest(extended, "tests/extending/journeys.py")
    assert "passed" in out
