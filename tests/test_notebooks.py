"""The notebooks of the gallery run from top to bottom and draw their promised figures."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.py"))
#: What a notebook needs beside frames and plots.
NEEDED = {
    "01_two_parties": "pyhpke",
    "08_scale_on_dask": "distributed",
    "14_from_a_questionnaire_to_pandas": "fastapi",
}


def test_the_gallery_says_how_many_studies_it_has() -> None:
    """Its page counts the notebooks that are there."""
    words = {12: "Twelve", 13: "Thirteen", 14: "Fourteen", 15: "Fifteen", 16: "Sixteen"}
    page = NOTEBOOKS[0].with_name("README.rst").read_text(encoding="utf-8")
    assert f"{words[len(NOTEBOOKS)]} short studies" in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in an empty folder, and every figure has a title and names its axes."""
    if path.stem in NEEDED:
        pytest.importorskip(NEEDED[path.stem])
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(path))
    drawn = [value for value in names.values() if isinstance(value, Axes)]
    assert drawn
    assert any(isinstance(axes.figure, Figure) for axes in drawn)
    for axes in drawn:
        assert axes.get_title(loc="left")
        assert axes.get_xlabel()
