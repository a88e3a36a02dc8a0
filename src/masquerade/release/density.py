"""Densities of what is claimed about each object, weighted by reliability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from masquerade.answers import Claims, Frame
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.release.bandwidth import BandwidthRule, bandwidths
from masquerade.release.figures import density_figure
from masquerade.release.grouped_claims import Duplicates, GroupedClaims, Missing
from masquerade.release.mixtures import Mixtures
from masquerade.release.weights import (
    Combination,
    GlobalForm,
    combined_weights,
    global_weights,
    local_weights,
)

Weights = Literal["combined", "global", "local", "uniform"]


@dataclass(frozen=True, slots=True, eq=False)
class DensityModel:
    """One weighted density an object. It shows the claims themselves: nothing here is private.

    Attributes
    ----------
    claims : GroupedClaims
    bandwidth : float array, shape (n_objects,)
    weight : float array, shape (n_claims,)
        Sums to 1 in each object.
    local : float array, shape (n_claims,)
        Of the robust density; equal where it was not asked for.
    reliability : float array, shape (n_users,)
        Global weights; 1 where they were not asked for.
    iterations : int
        Rounds of the global weights.
    converged : bool
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
        """Return the place of an object.

        Raises
        ------
        ParameterError
            There is no such object.
        """
        return place_of(self.objects, name)

    def evaluate(self, name: Any, at: ArrayLike) -> Floats:
        """Return the density of one object at some values, shape of `at`."""
        return self.mixtures().density(self.index(name), at)

    def plot(self, name: Any) -> str:
        """Return a figure of one object's density and claims, as SVG text."""
        index = self.index(name)
        values = self.claims.value[self.claims.rows_of(index)]
        reach = 4 * float(self.bandwidth[index])
        grid = np.linspace(np.median(values) - reach, np.median(values) + reach, 241)
        spread = self.weight[self.claims.rows_of(index)] > 0
        if spread.any():
            kept = values[spread]
            grid = np.linspace(kept.min() - reach, kept.max() + reach, 241)
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
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Return the model that `to_json` wrote.

        Raises
        ------
        InputError
            A part is missing or does not fit the others.
        """
        try:
            claims = GroupedClaims(
                pa.array(found["objects"]),
                pa.array(found["users"]),
                np.array(found["value"], dtype=np.float64),
                np.array(found["user"], dtype=np.int32),
                np.array(found["offset"], dtype=np.int64),
            )
            bandwidth, weight, local, reliability = (
                np.array(found[key], dtype=np.float64)
                for key in ("bandwidth", "weight", "local", "reliability")
            )
            iterations, converged = int(found["iterations"]), bool(found["converged"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"this is no density model: {error!r} is missing or cannot be read; give what "
                "to_json returned."
            ) from error
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
    progress: Callable[[int], None] | None = None,
) -> DensityModel:
    """Return the density of what is claimed about each object, reliable claims counting more.

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
        Is told how many objects are done.

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
    if weights not in get_args(Weights):
        raise ParameterError(
            f"weights is {weights!r}, expected 'combined', 'global', 'local' or 'uniform'."
        )
    claims = (
        data
        if isinstance(data, GroupedClaims)
        else GroupedClaims.of(data, missing=missing, duplicates=duplicates)
    )
    width = bandwidths(claims, bandwidth, least=least_bandwidth)
    local = 1 / np.maximum(claims.count[claims.object], 1)
    reliability, iterations, converged = np.ones(claims.n_users), 0, True
    if weights in ("combined", "global"):
        found = global_weights(claims, width, form=global_form, min_claims=min_claims)
        reliability, iterations, converged = found.weight, found.iterations, found.converged
    if weights in ("combined", "local"):
        local = local_weights(claims, width, quantile_levels=quantiles, progress=progress)
    weight = combined_weights(
        claims, local, reliability, combination=combination, floor=weight_floor
    )
    return DensityModel(claims, width, weight, local, reliability, iterations, converged)


def place_of(objects: pa.Array, name: Any) -> int:
    """Return the place of a name among objects.

    Raises
    ------
    ParameterError
        It is not among them.
    """
    try:
        place = objects.index(pa.scalar(name, objects.type)).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        place = -1
    if place < 0:
        some = ", ".join(repr(n) for n in objects[:5].to_pylist())
        raise ParameterError(f"there is no object {name!r}; the first are {some}.")
    return int(place)
