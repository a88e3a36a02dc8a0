"""The page about a release: its guarantee, its uses and its summaries, as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from masquerade.plots.page import numbers_list, page
from masquerade.release.comparison import Errors
from masquerade.release.guarantee import guarantee_sentence
from masquerade.release.published import NO_SAMPLE, Release

#: Most objects in the table of the page; all are in the files.
MOST_ROWS = 200

_STYLE = """
.numbers dd{font-size:1.35rem}th,td{vertical-align:top}th{white-space:nowrap}
.uses dt{font-weight:600}.uses dd{margin:0 0 .75rem}
td.name{overflow-wrap:anywhere}.number{padding-right:1.25rem;white-space:nowrap}
"""


def report_page(
    release: Release, *, errors: Errors | None = None, title: str = "A release of claims"
) -> str:
    """Return a page about a release, as HTML text that asks nothing of anybody else.

    Parameters
    ----------
    errors : Errors, optional
        Errors against the claims themselves. Such a page is for whoever holds the claims and says
        so, for the guarantee does not cover it. Without it the page is computed from the release
        alone.

    Examples
    --------
    >>> from masquerade.release import summaries
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> report_page(summaries(claims, epsilon=1, domain=(0, 10))).startswith("<!doctype html>")
    True
    """
    told = release.summary.to_pylist()
    return page(
        title,
        _warning(errors),
        _promise(release),
        numbers_list(_numbers(release, errors)),
        f"<h2>What it is good for</h2>{_uses(told, release)}",
        f"<h2>Objects</h2>{_objects(told)}",
        f"<h2>Settings</h2>{_settings(release)}",
        style=_STYLE,
    )


def _warning(errors: Errors | None) -> str:
    if errors is None:
        return ""
    return (
        '<p class="warning"><strong>For the collector only.</strong> The errors on this page are '
        "computed from the claims. The guarantee does not cover them: do not publish this page.</p>"
    )


def _promise(release: Release) -> str:
    kind = "promise" if release.guarantee.status == "proven" else "warning"
    sentence = escape(guarantee_sentence(release.guarantee))
    return f'<section class="{kind}"><h3>What is promised</h3><p>{sentence}</p></section>'


def _numbers(release: Release, errors: Errors | None) -> dict[str, str]:
    figures = {"Objects": f"{release.summary.num_rows:,}", "Rows": f"{release.rows.num_rows:,}"}
    if errors is not None:
        figures |= {
            "Distance of rows to claims": f"{errors.wasserstein:.4g}",
            "Error of the means": f"{errors.mean:.4g}",
            "Error of the medians": f"{errors.median:.4g}",
            "Rank correlation of the means": f"{errors.rank_correlation:.3f}",
        }
    return figures


def _uses(told: list[dict[str, object]], release: Release) -> str:
    """Return the uses of a release, by the widths of its own intervals."""
    if not told:
        return "<p>The release is about no object.</p>"
    uses = {
        "The mean of an object": _within(told, release, "mean"),
        "The median of an object": _within(told, release, "q50"),
        "The order of two objects by their means": _ordered(told),
        "The shape of an object's claims": (
            "borrowed from all objects together, for the release is for means"
            if release.parameters.get("for") == "means"
            else "in the rows and shares; finer than a knot it is borrowed from all objects"
        ),
    }
    items = "".join(f"<dt>{escape(one)}</dt><dd>{escape(text)}</dd>" for one, text in uses.items())
    return f'<dl class="uses">{items}</dl><p class="soft">{escape(NO_SAMPLE)}</p>'


def _within(told: list[dict[str, Any]], release: Release, name: str) -> str:
    """Return how well a figure is known, by the typical width of its 95 % interval."""
    half = release.half_width(name)
    if not half:
        return "the 95 % interval of the typical object is one answer alone"
    known = f"± {half:.4g} (half of the typical 95 % interval)"
    if len(told) > 1 and half > 2 * float(np.std([one["mean"] for one in told])):
        return f"{known}: too wide to tell objects apart; use all objects together"
    return known


def _ordered(told: list[dict[str, object]]) -> str:
    """Return of how many pairs of objects the intervals of the means do not overlap."""
    if len(told) < 2:
        return "there is one object alone"
    low, high = (np.sort([one[f"mean_{end}"] for one in told]) for end in ("low", "high"))
    apart = int((len(told) - np.searchsorted(low, high, side="right")).sum())
    pairs = len(told) * (len(told) - 1) // 2
    return (
        f"intervals of {100 * apart / pairs:.0f} of 100 pairs do not overlap; the order of the "
        "others is not known"
    )


def _objects(told: list[dict[str, object]]) -> str:
    if not told:
        return ""
    attributes = [name for name in list(told[0])[1:] if name not in _PLAIN]
    heads = ["Object", *attributes, "Claims", "Mean", "95 % interval", "Median", "95 % interval"]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rows = "".join(_object(one, attributes) for one in told[:MOST_ROWS])
    more = len(told) - MOST_ROWS
    note = f"<p class='soft'>{more:,} more are in the files.</p>" if more > 0 else ""
    table = f"<table><thead><tr>{head}</tr></thead>{rows}</table>"
    return f'<div style="overflow-x:auto">{table}</div>{note}'


#: Columns of a summary that are no attributes.
_PLAIN = {
    *("claims", "claims_low", "claims_high", "mean", "mean_low", "mean_high"),
    *("mean_source_low", "mean_source_high"),
    *(f"q{level}{end}" for level in (10, 25, 50, 75, 90) for end in ("", "_low", "_high")),
}


def _object(one: Mapping[str, Any], attributes: list[str]) -> str:
    names = [str(one["task"]), *(str(one[name]) for name in attributes)]
    cells = [f"{one['claims']:,}"]
    for name in ("mean", "q50"):
        cells += [f"{one[name]:.4g}", f"{one[f'{name}_low']:.4g} to {one[f'{name}_high']:.4g}"]
    return (
        "<tr>"
        + "".join(f"<td class='name'>{escape(name)}</td>" for name in names)
        + "".join(f"<td class='number'>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
    )


def _settings(release: Release) -> str:
    rows = "".join(
        f"<tr><td>{escape(key.replace('_', ' '))}</td><td>{escape(_text(value))}</td></tr>"
        for key, value in release.parameters.items()
    )
    return f"<table>{rows}</table>"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
