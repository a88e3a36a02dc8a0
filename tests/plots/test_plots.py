"""Every figure has a title, labels and units, in light and dark, and draws its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from masquerade import plots
from masquerade.accounting import pure_loss, trade_off_curve
from masquerade.analysis import regress
from masquerade.errors import ParameterError, SchemaError
from masquerade.exact import Micro
from masquerade.plots import COLOURS, THEMES
from masquerade.preference import fit_rankings
from masquerade.truth import MajorityVote, pairwise_agreement

pytest.importorskip("matplotlib")

CLAIMS = {
    "task": ["a", "a", "a", "b", "b", "b"],
    "worker": ["x", "y", "z", "x", "y", "z"],
    "label": ["no", "no", "yes", "yes", "yes", "yes"],
}
ENDS = {"low": [0.1, 0.5], "high": [0.4, 0.8]}

DRAWN: dict[str, tuple[Callable[..., Any], Any]] = {
    "shares": (plots.shares, {"option": ["no", "yes"], "value": [0.3, 0.7], **ENDS}),
    "rankings": (plots.rankings, fit_rankings([["a", "b"], ["b", "a"], ["a", "b"]])),
    "reliability": (plots.reliability, MajorityVote().fit(CLAIMS)),
    "calibration": (
        plots.calibration,
        {"mean_posterior": [0.3, 0.7], "accuracy": [0.2, 0.7], "tasks": [5, 9], **ENDS},
    ),
    "agreement": (plots.agreement, pairwise_agreement(CLAIMS)),
    "privacy": (
        plots.privacy_against_accuracy,
        {"epsilon": [1.0, 2.0], "accuracy": [0.3, 0.7], "series": ["a", "a"], **ENDS},
    ),
    "ledger": (plots.ledger_over_time, {"spent": [0.5, 1.0, 2.0]}),
    "trade-off": (plots.trade_off, trade_off_curve(loss=pure_loss(Micro(1_000_000)))),
    "densities": (
        plots.densities,
        {"value": [0.0, 1.0] * 2, "density": [1.0, 0.5, 0.7, 0.7], "series": list("aabb")},
    ),
    "estimates": (plots.estimates, {"name": ["no", "yes"], "value": [0.3, 0.7], **ENDS}),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_complete(name: str, theme: str, tmp_path: Path) -> None:
    """Each kind has a title and named axes, stands on the theme's paper, and is saved."""
    draw, data = DRAWN[name]
    axes = draw(data, theme=theme)
    assert axes.get_title(loc="left")
    assert axes.get_xlabel()
    paper = axes.figure.get_facecolor()
    assert (sum(paper[:3]) > 1.5) == (theme == "light")
    plots.savefig(axes, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_series_differ_in_more_than_colour() -> None:
    """Two curves differ in dashes, and the legend names them."""
    axes = plots.densities(DRAWN["densities"][1])
    first, second = axes.get_lines()
    assert first.get_linestyle() != second.get_linestyle()
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("name", THEMES)
def test_colours_are_seen_on_their_paper(name: str) -> None:
    """Text has a contrast of at least 7, the first four series of at least 2.5 to the paper."""
    theme = THEMES[name]

    def contrast(colour: str) -> float:
        light, dark = sorted((luminance(colour), luminance(theme.paper)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert contrast(theme.ink) >= 7
    assert min(contrast(colour) for colour in theme.colours[:4]) >= 2.5
    assert len(set(theme.colours)) == len(COLOURS)


def test_an_interval_is_drawn_where_it_is() -> None:
    """The bars of shares end at low and high."""
    data = {"option": ["a", "b"], "value": [0.3, 0.7], "low": [0.25, 0.6], "high": [0.4, 0.8]}
    axes = plots.shares(data)
    bars: Any = axes.containers[0]
    segments = bars.lines[2][0].get_segments()
    ends = [(round(part[0][0], 9), round(part[1][0], 9)) for part in segments]
    assert ends == [(0.25, 0.4), (0.6, 0.8)]


def test_no_share_is_drawn_that_is_impossible_or_unknown() -> None:
    """Estimates of 174 and -50 % are drawn at the ends; a wide interval has no dot."""
    data = {
        "option": ["a", "b", "c"],
        "value": [1.74, -0.5, 0.5],
        "low": [0.8, 0.0, 0.2],
        "high": [1.0, 0.1, 0.9],
    }
    axes = plots.shares(data)
    bars: Any = axes.containers[0]
    dots = bars.lines[0].get_xdata()
    assert [float(x) for x in dots[:2]] == [1.0, 0.0]
    assert np.isnan(dots[2])
    lines: Any = axes.collections[0]
    (line,) = lines.get_segments()
    assert (line[0][0], line[1][0]) == (0.2, 0.9)
    assert axes.get_xlim() == (-0.02, 1.02)


def test_given_axes_are_drawn_on() -> None:
    """No figure is made where axes are given."""
    figure, (left, right) = plots.new_figure(across=2)
    assert plots.shares(DRAWN["shares"][1], axes=right) is right
    assert right.figure is figure
    assert not left.has_data()


def test_many_rows_are_counted_and_not_named() -> None:
    """Names that could not be read are left out, and the number of rows is said."""
    table = {"worker": [f"w{i}" for i in range(100)], "reliability": [0.5] * 100}
    axes = plots.reliability(table)
    assert axes.get_ylabel() == "100 rows"
    assert not axes.get_yticklabels()


def test_a_column_that_is_missing_is_named() -> None:
    """An error names the column, those that are there, and the likely one."""
    with pytest.raises(SchemaError, match=r"needs a column 'option'.*Did you mean 'options'\?"):
        plots.shares({"options": ["a"], "value": [0.5]})
    with pytest.raises(SchemaError, match="cannot draw a int"):
        plots.shares(3)
    with pytest.raises(SchemaError, match="no column of numbers"):
        plots.estimates({"name": ["a"]})
    with pytest.raises(ParameterError, match="expected one of"):
        plots.shares(pa.table(DRAWN["shares"][1]), theme="darkk")


def test_coefficients_are_drawn_as_they_are_printed() -> None:
    """A coefficient with too wide an interval, or with none, has no point."""
    people = {"ill": [0, 1] * 30, "stress": [0, 0, 1, 1] * 15}
    fit = regress(people, "ill ~ stress", mechanisms={"ill": "warner:p=0.8"})
    axes = fit.plot()
    assert [one.get_text() for one in axes.get_yticklabels()] == ["(constant)", "stress"]
    assert axes.get_xlabel() == "value, with its interval"
    wide = replace(fit.terms[1], high=None)
    unknown = replace(fit.terms[0], estimate=None, low=None, high=None)
    table = replace(fit, terms=(unknown, wide)).to_arrow()
    assert table["value"].to_pylist() == [None, None]
    assert table["p"].type == table["value"].type == pa.float64()
    assert replace(fit, terms=(unknown, wide)).plot().get_xlabel() == "value, with its interval"
