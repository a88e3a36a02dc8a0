"""Densities of the claims about each object, weighted by reliability, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from masquerade.answers import Claims, Frame, Progress
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import one_of
from masquerade.release.grouped_claims import Duplicates, GroupedClaims, Missing
from masquerade_papers.priscrowd.bandwidth import BandwidthRule, bandwidths
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.weights import (
    Combination,
    GlobalForm,
    combined_weights,
    global_weights,
    local_weights,
)

Weights = Literal["combined", "global", "local", "uniform"]

WIDTH, HEIGHT = 360, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 352, 12, 150
_MOST_POINTS = 200
_DASHES = ("", ' stroke-dasharray="6 4"', ' stroke-dasharray="2 3"')


@dataclass(frozen=True, slots=True, eq=False)
class DensityModel:
    """One weighted density an object. It shows the claims themselves: nothing here is private.

    Attributes
    ----------
    bandwidth : float array, shape (n_objects,)
    weight : float array, shape (n_claims,)
        Sums to 1 in each object.
    local : float array, shape (n_claims,)
        Of the robust density; equal where it was not asked for.
    reliability : float array, shape (n_users,)
        Global weights; 1 where they were not asked for.
    iterations : int
        Rounds of the global weights.

    Examples
    --------
    >>> from masquerade_papers.priscrowd.density import fit_density
    >>> table = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "value": [1.0, 1.1, 9.0]}
    >>> fit_density(table).bandwidth.shape
    (1,)
    """

    claims: GroupedClaims
    bandwidth: Floats
    weight: Floats
    local: Floats
    reliability: Floats
    iterations: int = 0
    converged: bool = True

    @property
    def objects(self) -> pa.Array:
        """Names of the objects, sorted."""
        return self.claims.objects

    def mixtures(self) -> Mixtures:
        """Return the densities as mixtures of Gaussian bumps."""
        width = np.repeat(self.bandwidth, self.claims.count)
        return Mixtures(self.claims.offset, self.claims.value, self.weight, width)

    def index(self, name: Any) -> int:
        """Return the index of an object; `ParameterError` where there is none of this name."""
        return index_of(self.objects, name)

    def evaluate(self, name: Any, at: ArrayLike) -> Floats:
        """Return the density of one object at some values, shape of `at`."""
        return self.mixtures().density(self.index(name), at)

    def figure(self, name: Any) -> str:
        """Return a figure of one object's density and claims, as SVG text."""
        index = self.index(name)
        values = self.claims.value[self.claims.rows_of(index)]
        # Beyond four widths a bump adds nothing that could be drawn.
        reach = 4 * float(self.bandwidth[index])
        grid = np.linspace(np.median(values) - reach, np.median(values) + reach, 241)
        spread = self.weight[self.claims.rows_of(index)] > 0
        if spread.any():
            # claims of weight 0 add nothing to the curve, and the farthest would stretch the axis
            weighty = values[spread]
            grid = np.linspace(weighty.min() - reach, weighty.max() + reach, 241)
        return density_figure(
            str(name), grid, {"weighted density": self.evaluate(name, grid)}, points=values
        )

    def to_json(self) -> dict[str, Any]:
        """Return the model as a JSON object; `from_json` reads it back."""
        return {
            "objects": self.objects.to_pylist(),
            "users": self.claims.users.to_pylist(),
            "offset": self.claims.offset.tolist(),
            "user": self.claims.user.tolist(),
            "value": self.claims.value.tolist(),
            "bandwidth": self.bandwidth.tolist(),
            "weight": self.weight.tolist(),
            "local": self.local.tolist(),
            "reliability": self.reliability.tolist(),
            "iterations": self.iterations,
            "converged": self.converged,
        }

    @classmethod
    def from_json(cls, model: dict[str, Any]) -> Self:
        """Return the model that `to_json` wrote.

        Raises
        ------
        InputError
            A part is missing or does not fit the others.
        """
        try:
            claims = GroupedClaims(
                pa.array(model["objects"]),
                pa.array(model["users"]),
                np.array(model["value"], dtype=np.float64),
                np.array(model["user"], dtype=np.int32),
                np.array(model["offset"], dtype=np.int64),
            )
            bandwidth, weight, local, reliability = (
                np.array(model[key], dtype=np.float64)
                for key in ("bandwidth", "weight", "local", "reliability")
            )
            iterations, converged = int(model["iterations"]), bool(model["converged"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"this is no density model: {error!r} is missing or cannot be read; give what "
                "to_json returned."
            ) from error
        # A file may have been edited: every array is as long as what it is about.
        fits = (
            len(claims.offset) == claims.n_objects + 1 == len(bandwidth) + 1
            and claims.offset[-1] == len(claims) == len(claims.user) == len(weight) == len(local)
            and len(reliability) == claims.n_users
        )
        if not fits:
            raise InputError("this is no density model: its parts differ in length.")
        return cls(claims, bandwidth, weight, local, reliability, iterations, converged)


def fit_density(
    data: Claims | Frame | GroupedClaims,
    *,
    weights: Weights = "combined",
    bandwidth: BandwidthRule | ArrayLike = "robust",
    least_bandwidth: float | None = None,
    global_form: GlobalForm = "max",
    combination: Combination = "product",
    quantiles: tuple[float, float, float] = (0.5, 0.75, 0.95),
    weight_floor: float = 0.0,
    min_claims: int = 5,
    missing: Missing = "error",
    duplicates: Duplicates = "error",
    progress: Progress | None = None,
) -> DensityModel:
    """Return the density of the claims about each object, reliable claims counting more.

    Parameters
    ----------
    data : Claims, table or GroupedClaims
        Numeric claims; see `GroupedClaims.of`, also for `missing` and `duplicates`.
    weights : {"combined", "global", "local", "uniform"}
        Which weights the claims get: how reliable the user is over all objects, how central the
        claim is among those about its object, both, or none.
    bandwidth, least_bandwidth
        See `bandwidths`.
    global_form, min_claims
        See `global_weights`.
    combination, weight_floor
        See `combined_weights`.
    quantiles : three floats
        See `local_weights`.
    progress : callable, optional
        Is told how many objects are done, of how many.

    Privacy
    -------
    None: densities and weights are computed from the claims and show them.

    Cost: time is the sum of the squared numbers of claims of objects (those beyond 2,000 claims are
    gathered in cells), memory is linear in the claims.

    Examples
    --------
    >>> model = fit_density({"task": ["a"] * 4, "worker": [1, 2, 3, 4], "value": [0, 1, 2, 10]},
    ...                     weights="uniform", bandwidth=1.0)
    >>> model.evaluate("a", [1.0]).round(4)
    array([0.2207])
    """
    one_of(weights, "weights", get_args(Weights))
    claims = (
        data
        if isinstance(data, GroupedClaims)
        else GroupedClaims.of(data, missing=missing, duplicates=duplicates)
    )
    width = bandwidths(claims, bandwidth, least=least_bandwidth)
    # local[claim]: equal weights, unless central claims are to count more
    local = 1 / np.maximum(claims.count[claims.object], 1)
    reliability, iterations, converged = np.ones(claims.n_users), 0, True
    if weights in ("combined", "global"):
        users = global_weights(claims, width, form=global_form, min_claims=min_claims)
        reliability, iterations, converged = users.weight, users.iterations, users.converged
    if weights in ("combined", "local"):
        local = local_weights(claims, width, quantile_levels=quantiles, progress=progress)
    weight = combined_weights(
        claims, local, reliability, combination=combination, floor=weight_floor
    )
    return DensityModel(claims, width, weight, local, reliability, iterations, converged)


def index_of(objects: pa.Array, name: Any) -> int:
    """Return the index of a name among objects; `ParameterError` where it is not there."""
    try:
        index = objects.index(pa.scalar(name, objects.type)).as_py()
    # a name of another type than the objects' is as unknown as any other
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        index = -1
    if index < 0:
        some = ", ".join(repr(n) for n in objects[:5].to_pylist())
        raise ParameterError(f"there is no object {name!r}; the first are {some}.")
    return int(index)


def density_figure(
    title: str,
    grid: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    points: ArrayLike = (),
) -> str:
    """Return a figure of densities over one grid, as SVG text.

    Curves differ by dash as well as by colour; the colours come from the classes ``curve-0``,
    ``curve-1``, ..., so that a page can set them, and fall back to the text's own.

    Shapes: `curves` (n,). `title`: read out in place of the figure. `grid` (n,): ascending.
    `points`: drawn as ticks below the axis, at most 200 of them, those within the grid.
    """
    x = np.asarray(grid, dtype=np.float64)
    heights = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
    top = max((float(curve.max()) for curve in heights.values()), default=0.0) or 1.0
    low, high = float(x[0]), float(x[-1])
    lines = [
        _curve(i, name, (x - low) / (high - low), curve / top)
        for i, (name, curve) in enumerate(heights.items())
    ]
    ticks = _ticks((np.asarray(points, dtype=np.float64) - low) / (high - low))
    labels = "".join(
        f'<text x="{_across(share):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">'
        f"{_label(low + share * (high - low))}</text>"
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    # names come from the caller's table: escaped, for the SVG stands inside of a page
    label = escape(f"{title}: {', '.join(heights)}", quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        'xmlns="http://www.w3.org/2000/svg" font-size="14" fill="currentColor">'
        f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}" stroke="currentColor" '
        f'stroke-opacity=".5" fill="none"/>{"".join(lines)}{ticks}{labels}</svg>'
    )


def _label(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _across(share: float | Floats) -> float | Floats:
    return _LEFT + share * (_RIGHT - _LEFT)


def _curve(number: int, name: str, across: Floats, height: Floats) -> str:
    x = np.asarray(_across(across))
    y = _BOTTOM - height * (_BOTTOM - _TOP)
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<path class="curve-{number}" d="M{path}" fill="none" stroke="currentColor" '
        f'stroke-width="2"{_DASHES[number % len(_DASHES)]}><title>{escape(name)}</title></path>'
    )


def _ticks(across: Floats) -> str:
    inside = across[(across >= 0) & (across <= 1)]
    if len(inside) > _MOST_POINTS:
        # in order, so that those that are drawn are spread as all are
        inside = np.sort(inside)[:: len(inside) // _MOST_POINTS + 1]
    if not inside.size:
        return ""
    path = "".join(f"M{_across(float(share)):.1f} {_BOTTOM + 4}v10" for share in inside)
    return f'<path class="ticks" d="{path}" stroke="currentColor" stroke-opacity=".55"/>'
