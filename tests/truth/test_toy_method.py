"""A truth method is one module: everything else reads the attributes of its class."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pa_parquet
import pytest
from tests.truth.method_checks import CHECKS
from typer.testing import CliRunner

import masquerade.truth
from masquerade.answers import Claims
from masquerade.cli import command_line
from masquerade.truth.methods import method_named, registered

TOY = '''
"""The first option that anybody gave, as a method."""

from dataclasses import dataclass
from typing import ClassVar

from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.voting import MajorityVote, VotingModel


@dataclass(eq=False, kw_only=True)
class Loudest(MajorityVote):
    """Take the option that most workers reported, under another name."""

    name: ClassVar[str] = "loudest"
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    """Add a module to the room, and take it away again."""
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "loudest.py").write_text(TOY)
    paths = [*masquerade.truth.__path__, str(folder)]
    monkeypatch.setattr(masquerade.truth, "__path__", paths)
    monkeypatch.delitem(sys.modules, "masquerade.cli.truth", raising=False)
    yield registered()["loudest"]
    for name in ("masquerade.truth.loudest", "masquerade.cli.truth"):
        sys.modules.pop(name, None)
    vars(masquerade.truth).pop("loudest", None)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_new_module_passes_the_common_tests(toy: type[Any], check: Any) -> None:
    """Each check of a method runs on it."""
    check(toy)


def test_a_new_module_is_found_by_name_and_by_commands(toy: type[Any], tmp_path: Path) -> None:
    """Its name is known, its help (which the reference is written from) lists it, and it runs."""
    assert method_named("Loudest") is toy
    rows = {"task": ["a", "a", "a", "b"], "worker": list("xyzx"), "label": ["n", "y", "y", "n"]}
    claims = Claims.from_frame(rows)
    folder = tmp_path / "claims"
    folder.mkdir()
    pa_parquet.write_table(claims.to_arrow(), folder / "a.parquet")
    app = command_line("truth")
    said = CliRunner().invoke(app, ["truth", "--help"], env={"COLUMNS": "300"})
    assert "loudest" in said.output
    for where in (folder / "a.parquet", folder):  # in memory, streamed
        words = ["truth", str(where), "--method", "loudest", "--json"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert '"method": "loudest"' in done.output
