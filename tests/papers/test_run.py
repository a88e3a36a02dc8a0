"""Runs: parts are taken up, files are written, wrong requests are refused."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.lazy import install_command
from masquerade_papers import PAPERS, Scale, reproduce, run
from masquerade_papers.figures import NO_DRAWING, write_numbers
from masquerade_papers.run import identity
from masquerade_papers.sparse_ldp.measurement import simple_setting
from masquerade_papers.study import Cells, Evaluation, Figure, Job, Panel, Series, Table
from masquerade_papers.verdict import Estimate, Statements

CALLS: list[int] = []


def squared(*, number: int) -> Cells:
    """Square a number, and remember that it was asked for."""
    CALLS.append(number)
    return [{"square": number**2}]


def jobs(scale: Scale) -> list[Job]:
    """Return two jobs, another number of trials giving other parameters."""
    return [Job(f"n{n}", squared, {"number": n}) for n in (2, scale.pick(3, 4))]


def evaluate(measured: Mapping[str, Cells], scale: Scale) -> Evaluation:
    """Return one of everything."""
    squares = [float(cells[0]["square"]) for cells in measured.values()]
    lines = Series("squares", [1, 2], squares, [0.1, float("nan")])
    printed: dict[str, dict[str, Any]] = {
        "first": {"artifact": "table 1", "quantity": "first", "paper": 4, "tolerance": 0.1},
        "gain": {"artifact": "table 1", "quantity": "gain"},
    }
    paper = Statements(printed, "d", own=True)
    return Evaluation(
        [paper.value("first", squares[0])],
        [paper.compare("gain", [Estimate(1.0, 0.1)])],
        [Table("squares", "Squares", [{"square": each, "missing": None} for each in squares])],
        [Figure("figure-1", "Squares", [Panel("a panel", "x", "y", [lines], log_y=True)])],
    )


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a study of the functions above known under the name "tiny"."""
    paper, evaluator = types.ModuleType("tiny"), types.ModuleType("tiny.evaluation")
    paper.jobs, paper.CITATION = jobs, "nobody"  # type: ignore[attr-defined]
    evaluator.evaluate = evaluate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiny.measurement", paper)
    monkeypatch.setitem(sys.modules, "tiny.evaluation", evaluator)
    monkeypatch.setattr(run, "PAPERS", {"tiny": "tiny"})
    CALLS.clear()


@pytest.mark.usefixtures("study")
def test_finished_parts_are_taken_up(tmp_path: Path) -> None:
    """The second run measures nothing, one with other parameters only the new cells."""
    first = reproduce(["tiny"], tmp_path)
    again = reproduce(["tiny"], tmp_path)
    assert (first.done, first.taken_up) == (2, 0)
    assert (again.done, again.taken_up) == (0, 2)
    assert CALLS == [2, 3]
    other = reproduce(["tiny"], tmp_path, scale=Scale(trials=5))
    assert (other.done, other.taken_up) == (1, 1)
    assert first.rows == again.rows


@pytest.mark.usefixtures("study")
def test_a_broken_part_is_measured_again(tmp_path: Path) -> None:
    """A part that was cut off in writing is not believed."""
    reproduce(["tiny"], tmp_path)
    part = next((tmp_path / "parts").glob("tiny-n2-*.json"))
    part.write_text(part.read_text()[:20])
    assert reproduce(["tiny"], tmp_path).done == 1


@pytest.mark.usefixtures("study")
def test_everything_found_is_in_files(tmp_path: Path) -> None:
    """Verdicts, comparisons, tables and the figure's numbers are CSV; the whole is JSON."""
    found = reproduce(["tiny"], tmp_path)
    names = {path.name for path in found.artifacts}
    assert names >= {"verdicts.csv", "ours.csv", "squares.csv", "figure-1.csv", "findings.json"}
    summary = json.loads((tmp_path / "tiny" / "findings.json").read_text())
    assert summary["rows"][0]["verdict"] == "reproduced"
    assert summary["ours"][0]["outcome"] == "better"
    assert "a panel" in (tmp_path / "tiny" / "figure-1.csv").read_text()


@pytest.mark.usefixtures("study")
def test_figures_are_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    """With matplotlib there is a PNG, and nothing to remark."""
    pytest.importorskip("matplotlib")
    found = reproduce(["tiny"], tmp_path)
    drawn = [path for path in found.artifacts if path.suffix == ".png"]
    assert [path.read_bytes()[1:4] for path in drawn] == [b"PNG"]
    assert found.remarks == ()


@pytest.mark.usefixtures("study")
def test_without_matplotlib_the_numbers_are_there_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare install writes the CSV and names the extra for the PNG."""
    monkeypatch.setattr(run, "can_draw", lambda: False)
    found = reproduce(["tiny"], tmp_path)
    assert (tmp_path / "tiny" / "figure-1.csv").is_file()
    assert not list(tmp_path.rglob("*.png"))
    assert found.remarks == (NO_DRAWING,)
    assert install_command("plots") in NO_DRAWING


@pytest.mark.usefixtures("study")
def test_progress_counts_every_part(tmp_path: Path) -> None:
    """Progress starts at the number already there and ends at all."""
    seen: list[tuple[int, int]] = []
    reproduce(["tiny"], tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_parts_are_done_in_processes_of_their_own(tmp_path: Path) -> None:
    """Two processes give the result of one."""
    some = [Job(f"simple-{seed}", simple_setting, {"seed": seed, "runs": 3}) for seed in range(2)]
    todo = [("tiny", job, tmp_path / job.name) for job in some]
    together = {job.name: cells for _, job, _, cells in run._results(todo, 2)}
    alone = {job.name: cells for _, job, _, cells in run._results(todo, 1)}
    assert together == alone


@pytest.mark.parametrize(
    ("papers", "options", "wrong"),
    [
        (["tow-layer"], {}, "paper 'tow-layer' is unknown"),
        ([], {}, "is unknown"),
        (["loki"], {"processes": 0}, "processes is 0"),
        (["loki"], {"scale": Scale(trials=1)}, "trials is 1"),
    ],
)
def test_wrong_requests_are_refused(
    tmp_path: Path, papers: list[str], options: dict[str, int], wrong: str
) -> None:
    """Nothing is measured for a name or a number that is none."""
    with pytest.raises(ParameterError, match=wrong):
        reproduce(papers, tmp_path, **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_job_is_known_by_its_function_and_parameters() -> None:
    """Extras do not count; parameters do, in any order."""
    one = Job("a", squared, {"number": 2, "x": 1}, {"clock": print})
    assert identity(one) == identity(Job("b", squared, {"x": 1, "number": 2}))
    assert identity(one) != identity(Job("a", squared, {"number": 3, "x": 1}))


def test_points_without_an_error_stay_empty(tmp_path: Path) -> None:
    """An unknown standard error is an empty field and not a number."""
    figure = Figure("f", "t", [Panel("p", "x", "y", [Series("s", [1], [2], [float("nan")])])])
    write_numbers(figure, tmp_path / "f.csv")
    last = (tmp_path / "f.csv").read_text().splitlines()[-1]
    assert last.endswith("1,2,")


def test_every_paper_has_its_modules() -> None:
    """The five papers are there by name."""
    assert list(PAPERS) == ["two-layer", "priscrowd", "preferences", "sparse-ldp", "loki"]
