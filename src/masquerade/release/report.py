"""The page about a release: its guarantee, errors and densities, as HTML without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.plots.page import numbers_list, page
from masquerade.release.density import DensityModel, density_figure, index_of
from masquerade.release.guarantee import guarantee_sentence
from masquerade.release.metrics import Errors, ise
from masquerade.release.mixtures import Mixtures
from masquerade.release.release import STATUSES, Release
from masquerade.release.usefulness import MOST_CLAIMS, expected_uses

FIGURES = 6
_POINTS, _REACH = 241, 3.0

_STYLE = """
.numbers dd{font-size:1.35rem}.curve-0{color:var(--one)}.curve-1{color:var(--two)}
.ticks{color:var(--soft)}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:.5rem 0 1rem}
.key svg{display:inline-block;width:2.5rem;height:.8rem;vertical-align:middle;margin-right:.4rem}
th,td{vertical-align:top}th{white-space:nowrap}.number{padding-right:1.25rem}
"""


def report_page(
    release: Release,
    *,
    reference: DensityModel | None = None,
    show: Sequence[Any] | None = None,
    title: str = "Synthetic claims",
) -> str:
    """Return a page about a release, as HTML text that asks nothing of anybody else.

    Parameters
    ----------
    reference : DensityModel, optional
        What the claims themselves say. Errors and the densities before the release are then shown;
        such a page is for whoever holds the claims and says so, for the guarantee does not cover
        it. Without it the page is computed from the release alone.
    show : sequence of object names, optional
        Objects to draw; default: the first six by name of which something was released.

    Raises
    ------
    ParameterError
        An object to show is not there, or the reference is of other objects.

    Examples
    --------
    >>> from masquerade.release import synthesize
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> page = report_page(synthesize(claims, epsilon=1, domain=(0, 10), samples=5))
    >>> page.startswith("<!doctype html>")
    True
    """
    if reference is not None and not reference.objects.equals(release.objects):
        raise ParameterError("the release is of other objects than the reference.")
    errors = None if reference is None else ise(reference, release)
    chosen = _chosen(release, show)
    figures = "".join(_figure(release, reference, errors, i) for i in chosen)
    return page(
        title,
        _warning(reference),
        _promise(release),
        _numbers(release, errors),
        f"<h2>Densities</h2>{_key(reference)}<div class='figures'>{figures or _nothing()}</div>",
        _uses(release),
        f"<h2>What became of each object</h2>{_statuses(release)}",
        f"<h2>Settings</h2>{_settings(release)}",
        style=_STYLE,
    )


def _warning(reference: DensityModel | None) -> str:
    if reference is None:
        return ""
    return (
        '<p class="warning"><strong>For the collector only.</strong> The errors and the densities '
        "before the release on this page are computed from the claims. The guarantee does not "
        "cover them: do not publish this page.</p>"
    )


def _promise(release: Release) -> str:
    kind = "promise" if release.guarantee.status == "proven" else "warning"
    sentence = escape(guarantee_sentence(release.guarantee))
    return f'<section class="{kind}"><h3>What is promised</h3><p>{sentence}</p></section>'


def _numbers(release: Release, errors: Errors | None) -> str:
    figures = {
        "Engine": release.engine,
        "Objects": f"{len(release.objects):,}",
        "Points": f"{len(release.points):,}",
    }
    if errors is not None:
        figures["Relative error, mean"] = f"{errors.rel_ise:.3f}"
        figures["Relative error, median"] = f"{float(np.median(errors.relative)):.3f}"
        figures["Nothing released"] = f"{100 * errors.empty_share:.0f} %"
    note = (
        ""
        if errors is None
        else '<p class="soft">Relative error: the squared distance between the density of the '
        "release and that of the claims, weighted by reliability, over the latter's own square; 0 "
        "is perfect, 1 is what releasing nothing scores.</p>"
    )
    return numbers_list(figures) + note


def _key(reference: DensityModel | None) -> str:
    names = ["after: the release"] + ([] if reference is None else ["before: the claims"])
    dashes = ("", ' stroke-dasharray="6 4"')
    items = "".join(
        f'<li><svg viewBox="0 0 40 10" aria-hidden="true"><path class="curve-{i}" d="M0 5H40" '
        f'stroke="currentColor" stroke-width="3"{dashes[i]}/></svg>{name}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="key">{items}<li>ticks: released points</li></ul>'


def _figure(
    release: Release, reference: DensityModel | None, errors: Errors | None, index: int
) -> str:
    name = str(release.objects[index].as_py())
    before = None if reference is None else reference.mixtures()
    grid = _grid([m for m in (release.densities, before) if m is not None], index)
    curves = {"after": release.densities.density(index, grid)}
    if before is not None:
        curves["before"] = before.density(index, grid)
    points = release.points[release.offset[index] : release.offset[index + 1]]
    said = f"{len(points)} points, {release.status[index]}"
    if errors is not None:
        said += f", relative error {errors.relative[index]:.3f}"
    figure = density_figure(name, grid, curves, points=points)
    return (
        f'<figure><h3>{escape(name)}</h3>{figure}<figcaption class="soft">{escape(said)}'
        "</figcaption></figure>"
    )


def _nothing() -> str:
    return "<p>Of the objects to show, nothing was released.</p>"


def _uses(release: Release) -> str:
    """Return what releases with such numbers are good for, from public settings alone."""
    settings = release.parameters
    claims = settings.get("expected", settings.get("typical_claims"))
    if claims is None or "epsilon_of_object" not in settings:
        return ""
    rows = "".join(
        f"<tr><td><strong>{escape(use.engine or 'the claims themselves')}</strong></td>"
        f"<td class='number'>{'' if use.epsilon is None else f'{use.epsilon:.4g}'}</td>"
        f"<td class='number'>{use.mean_error:.1f}</td><td class='number'>{use.median_error:.1f}"
        f"</td><td class='number'>{use.correlation:.2f}</td>"
        f"<td class='number'>{use.spread:.2f}</td></tr>"
        for use in expected_uses(int(claims), settings["epsilon_of_object"])
    )
    heads = ("Engine", "Epsilon of an object", "Means", "Medians", "Correlation", "Spread")
    head = "".join(f"<th{' class=number' if i else ''}>{each}" for i, each in enumerate(heads))
    return (
        f"<h2>What is it good for</h2><p>Simulated, with {int(claims):,} claims an object (at "
        f"least 2, at most {MOST_CLAIMS}), at half, once and twice the epsilon. Means and medians "
        "of released points taken as the true values: mean absolute errors in hundredths of the "
        "domain; correlation of the means with the true values; spread of points within an object "
        "over that of its claims.</p>"
        f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead>{rows}</table></div>'
        '<p class="soft">Sixty made-up objects, true values evenly over the middle eight tenths of '
        "the domain, claims normal around them with a standard deviation of a tenth of it. No "
        "claim that was collected, and nothing of this release but its public settings, is in "
        "these numbers.</p>"
    )


def _statuses(release: Release) -> str:
    rows = "".join(
        f"<tr><td><strong>{escape(status)}</strong></td><td class='number'>{many:,}</td>"
        f"<td>{escape(STATUSES[status])}</td></tr>"
        for status, many in release.statuses.items()
    )
    head = "<tr><th>Status<th class='number'>Objects<th>Meaning</tr>"
    return f"<table><thead>{head}</thead>{rows}</table>"


def _settings(release: Release) -> str:
    rows = "".join(
        f"<tr><td>{escape(key.replace('_', ' '))}</td><td>{escape(_text(value))}</td></tr>"
        for key, value in release.parameters.items()
    )
    return f"<table>{rows}</table>"


def _text(value: Any) -> str:
    if isinstance(value, list):
        low, high = value
        return str(low) if low == high else f"{low} to {high}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _chosen(release: Release, show: Sequence[Any] | None) -> list[int]:
    if show is not None:
        return [index_of(release.objects, name) for name in show]
    known = np.flatnonzero(np.diff(release.densities.offset) > 0)
    return [int(i) for i in known[:FIGURES]]


def _grid(mixtures: Sequence[Mixtures], index: int) -> Floats:
    """Return values over which the densities of one object are seen."""
    low, high = np.inf, -np.inf
    for mixture in mixtures:
        bumps = slice(int(mixture.offset[index]), int(mixture.offset[index + 1]))
        if bumps.start == bumps.stop:
            continue
        order = np.argsort(mixture.location[bumps])
        location, width = mixture.location[bumps][order], mixture.width[bumps][order]
        # all but the outermost hundredths of the weight, so that no outlier squeezes the rest
        cumulative = np.cumsum(mixture.weight[bumps][order])
        first = int(np.searchsorted(cumulative, 0.01 * cumulative[-1]))
        last = int(np.searchsorted(cumulative, 0.99 * cumulative[-1]))
        low = min(low, float(location[first] - _REACH * width[first]))
        high = max(high, float(location[last] + _REACH * width[last]))
    return np.linspace(low, high, _POINTS) if low < high else np.linspace(0.0, 1.0, _POINTS)
