"""Errors of a release against the claims themselves: for their holder, never published.

No measure smooths its reference: what noise does to an answer shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.published import Release


@dataclass(frozen=True, slots=True)
class Errors(Result):
    """Mean errors over the objects that have claims; computed from the claims themselves.

    Attributes
    ----------
    wasserstein : float
        Mean distance by which the mass of the claims has to be moved to give the rows, in units of
        the values (Wasserstein-1).
    mean, median, decile : float
        Mean absolute error of the means, of the medians, and of the 10 % and 90 % quantiles.
    rank_correlation : float
        Of the means over the objects (Spearman); NaN for fewer than two objects.
    mean_covered : float
        Share of the objects whose mean is in its interval.
    """

    wasserstein: float
    mean: float
    median: float
    decile: float
    rank_correlation: float
    mean_covered: float


def errors_of(release: Release, claims: GroupedClaims) -> Errors:
    """Return the errors of a release without attributes against the claims.

    Raises `ParameterError` where the release is of attributes, or about none of the objects.
    """
    if "worker" not in release.rows.column_names[1:2]:
        raise ParameterError("a release with attributes is not compared; leave them out.")
    rows = GroupedRows.of(release)
    told = {row["task"]: row for row in release.summary.to_pylist()}
    found: list[tuple[float, ...]] = []
    for index, name in enumerate(claims.objects.to_pylist()):
        values = np.sort(claims.value[claims.rows_of(index)])
        if name not in told or not values.size:
            continue
        one, made = told[name], rows.of_object(name)
        mean = float(values.mean())
        found.append(
            (
                wasserstein(values, made) if made.size else np.nan,
                abs(one["mean"] - mean),
                abs(one["q50"] - _quantile(values, 0.5)),
                (
                    abs(one["q10"] - _quantile(values, 0.1))
                    + abs(one["q90"] - _quantile(values, 0.9))
                )
                / 2,
                mean,
                one["mean"],
                float(one["mean_low"] - 1e-9 <= mean <= one["mean_high"] + 1e-9),
            )
        )
    if not found:
        raise ParameterError("the release is about none of the claims' objects.")
    columns = np.array(found).T
    ranks = [rankdata(column) for column in columns[4:6]]
    correlated = len(found) > 1 and all(np.ptp(rank) > 0 for rank in ranks)
    return Errors(
        float(np.nanmean(columns[0])) if np.isfinite(columns[0]).any() else float("nan"),
        float(columns[1].mean()),
        float(columns[2].mean()),
        float(columns[3].mean()),
        float(np.corrcoef(*ranks)[0, 1]) if correlated else float("nan"),
        float(columns[6].mean()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """The rows of a release by object."""

    values: dict[object, Floats]

    @classmethod
    def of(cls, release: Release) -> GroupedRows:
        """Return the rows of a release by object."""
        values: dict[object, list[float]] = {}
        names, numbers = release.rows["task"].to_pylist(), release.rows["value"].to_pylist()
        for name, number in zip(names, numbers, strict=True):
            values.setdefault(name, []).append(number)
        return cls({name: np.array(each) for name, each in values.items()})

    def of_object(self, name: object) -> Floats:
        """Return the values of one object."""
        return self.values.get(name, np.empty(0))


def wasserstein(one: Floats, other: Floats) -> float:
    """Return the Wasserstein-1 distance of two empirical distributions.

    Examples
    --------
    >>> wasserstein(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    0.5
    """
    grid = np.sort(np.concatenate((one, other)))
    first, second = (
        np.searchsorted(np.sort(each), grid[:-1], side="right") / each.size for each in (one, other)
    )
    return float((np.abs(first - second) * np.diff(grid)).sum())


def _quantile(ascending: Floats, level: float) -> float:
    """Return the smallest claim up to which that share of the claims lies."""
    place = max(int(np.ceil(level * ascending.size - 1e-9)) - 1, 0)
    return float(ascending[place])
