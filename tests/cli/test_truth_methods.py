"""``masquerade truth`` on categories: the default, gold labels, remarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.errors import ParameterError
from masquerade.truth import METHODS

CLAIMS = "task,worker,label\n" + "".join(
    f"t{t},w{w},{'b' if w < 3 else 'a'}\n" for t in range(6) for w in range(5)
)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """Return a file in which three of five workers always say b."""
    path = tmp_path / "claims.csv"
    path.write_text(CLAIMS, "utf-8")
    return path


def _truth(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["truth", *map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "name", ["auto", *(method.name for method in METHODS if method.kind == "categorical")]
)
def test_every_method_for_categories_runs(claims: Path, name: str) -> None:
    """Each name is taken, and auto is the default."""
    found = _truth(claims, "--method", name)
    assert found["claims"] == 30
    if name == "auto":
        assert found["method"] == _truth(claims)["method"] == "auto"


def test_gold_labels_are_held_on_to(claims: Path, tmp_path: Path) -> None:
    """With --gold, known truths are the labels, and turn the workers' other votes."""
    gold, out = tmp_path / "gold.csv", tmp_path / "out.csv"
    gold.write_text("task,truth\n" + "".join(f"t{t},a\n" for t in range(5)), "utf-8")
    _truth(claims, "--method", "dawid-skene", "--gold", gold, "--out", out)
    rows = out.read_text("utf-8").replace('"', "").split()
    assert rows[1:] == [f"t{t},a" for t in range(6)]


def test_remarks_are_shown(claims: Path) -> None:
    """What limits the result is in it: here, workers who always say the same."""
    assert any(text.startswith("CONSTANT_WORKER") for text in _truth(claims)["remarks"])


def test_gold_for_numbers_is_refused(tmp_path: Path) -> None:
    """Gold labels are for categories."""
    path = tmp_path / "numbers.csv"
    path.write_text("task,worker,value\na,x,1.5\na,y,2.5\n", "utf-8")
    gold = tmp_path / "gold.csv"
    gold.write_text("task,truth\na,2\n", "utf-8")
    done = CliRunner().invoke(app, ["truth", str(path), "--gold", str(gold)])
    assert isinstance(done.exception, ParameterError)
    assert "for categories" in str(done.exception)
