"""The plan of a release: bins and engine of each object, from public quantities alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.number import in_range, whole
from masquerade.release.grid import LEAST_BINS, Grid

#: Most bins of the rule before they are made an odd number.
MOST_PLANNED = 40

#: Claims times epsilon from which public weights are worth weighted counts.
WEIGHTED_PRODUCT = 70

#: Above this number of claims shrinkage is as good as the posterior, and faster.
MOST_READ = 2_000

Layout = Literal["answers", "centred", "plain"]


@dataclass(frozen=True, slots=True)
class ObjectPlan:
    """How one object is counted: its bins, where they stand, and whether weights are used."""

    bins: int
    layout: Layout
    weighted: bool
    shrunk: bool


@lru_cache(maxsize=1 << 12)
def plan_object(
    claims: int,
    epsilon: float,
    extent: float,
    *,
    step: float | None = None,
    spread: float | None = None,
    bins: int | None = None,
    weights: bool = False,
) -> ObjectPlan:
    """Return the plan of an object; a function of public numbers, which never sees a value.

    `claims`: about the object, or expected.
    `epsilon`: of the object.
    `extent`: high end of its domain minus the low end.
    `step` (optional): distance of the values that can be answered.
    `spread` (optional): public guess of the standard deviation of the claims about one object.
    `bins` (optional): the caller's number.
    `weights`: whether users have public weights.

    Notes
    -----
    More epsilon never makes fewer bins, and with the bandwidth of `own_bandwidth` never a worse
    density: bins that the noise does not need yet are smoothed away.

    Examples
    --------
    >>> [plan_object(n, e, 10.0).bins for n, e in [(5, 0.5), (10, 4.0), (50, 8.0)]]
    [9, 19, 41]
    """
    whole(claims, "claims", low=0)
    in_range(epsilon, "epsilon", above=0)
    in_range(extent, "extent", above=0)
    # claims over 2 / epsilon: the claims in units of the noise's scale
    rule = min(max(round(4 * math.sqrt(claims * epsilon / 2)), LEAST_BINS), MOST_PLANNED)
    if spread is not None:
        # a bin of at most two standard deviations, whatever the noise
        rule = min(MOST_PLANNED, max(rule, math.ceil(extent / (2 * spread))))
    if bins is not None:
        rule = bins
    answers = math.inf if step is None else round(extent / step) + 1
    layout: Layout = "centred" if bins is None else "plain"
    if answers <= rule:
        rule, layout = int(answers), "answers"
    elif layout == "centred":
        # odd, so that low end, high end and middle are centres: people like to answer them
        rule |= 1
    weighted = weights and claims * epsilon >= WEIGHTED_PRODUCT
    return ObjectPlan(rule, layout, weighted, weighted or claims > MOST_READ)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plans of all objects."""

    grid: Grid
    # bool arrays, shape (n_objects,). Whether a bin is one answer; whether counts are weighted;
    # whether they are read by shrinkage.
    answers: Flags
    weighted: Flags
    shrunk: Flags
    # float array, shape (n_objects,). Half of the domain's step, 0 without one.
    half_step: Floats

    @classmethod
    def of(
        cls,
        claims: Integers,
        epsilon: float,
        low: Floats,
        high: Floats,
        *,
        step: float | None = None,
        spread: float | None = None,
        bins: int | None = None,
        weights: bool = False,
    ) -> Plan:
        """Return the plan of objects with these numbers of claims and ends; see `plan_object`."""
        extent = high - low
        plans = [
            plan_object(n, epsilon, size, step=step, spread=spread, bins=bins, weights=weights)
            for n, size in zip(claims.tolist(), extent.tolist(), strict=True)
        ]
        many = np.array([plan.bins for plan in plans], dtype=np.int64)
        answers = np.array([plan.layout == "answers" for plan in plans], dtype=np.bool_)
        centred = np.array([plan.layout == "centred" for plan in plans], dtype=np.bool_)
        gap = 0.0 if step is None else step
        # [low - w / 2, high + w / 2] in bins of width w; plain bins end where the answers do
        width = np.where(centred, extent / np.maximum(many - 1, 1), (extent + gap) / many)
        first = low - np.where(centred, width, gap) / 2
        grid = Grid(many, first, width, np.concatenate(([0], np.cumsum(many))))
        return cls(
            grid,
            answers,
            np.array([plan.weighted for plan in plans], dtype=np.bool_),
            np.array([plan.shrunk for plan in plans], dtype=np.bool_),
            np.full(len(plans), gap / 2),
        )
