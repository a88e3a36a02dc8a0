"""The linear statistic: the sum of the directions that were chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.preference.thurstone import require_features


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """The direction that the linear statistic points to.

    Attributes
    ----------
    weights : float array, shape (n_features,)
        Of the scaled features, of length 1 (zeros where the statistic is zero).
    covariance : float array, shape (n_features, n_features)
        Of `weights` under drawing other voters.
    """

    weights: Floats
    covariance: Floats


def directions(comparisons: Comparisons) -> Floats:
    """Return each scaled difference divided by its length, shape (n_records, n_features).

    A zero difference stays zero.
    """
    require_features(comparisons)
    scaled = comparisons.scaled()
    length = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    scaled /= np.where(length > 0, length, 1)[:, None]
    return scaled


def voter_sums(comparisons: Comparisons, values: Floats) -> Floats:
    """Return the sum of `values` over the records of each voter.

    Parameters
    ----------
    comparisons : Comparisons
    values : float array, shape (n_records, k)

    Returns
    -------
    float array, shape (n_voters, k)
        Zeros for a voter without a record.
    """
    sums = np.zeros((comparisons.n_voters, values.shape[1]))
    some = np.flatnonzero(comparisons.records_per_voter())
    if some.size:
        sums[some] = np.add.reduceat(values, comparisons.offsets[some], axis=0)
    return sums


def second_moment(comparisons: Comparisons) -> Floats:
    """Return the mean outer product of the directions, shape (n_features, n_features).

    It does not depend on which alternative was chosen. It is public only where the pairs are.
    """
    units = directions(comparisons)
    moment: Floats = units.T @ units / max(len(units), 1)
    return moment


def fit_linear(
    comparisons: Comparisons, *, moment: ArrayLike | None = None, ridge: float = 0.0
) -> LinearFit:
    """Return the direction ``(moment + ridge)^-1 . (sum of directions)``.

    One pass over the data. For features that are spread evenly in all directions it points where
    the mean weight of voters points; `moment` corrects for features that are not.

    Parameters
    ----------
    comparisons : Comparisons
    moment : float array, shape (n_features, n_features), optional
        Second moment of the directions. Default: `second_moment` of the comparisons.
    ridge : float
        Added to the diagonal, at least 0.

    References
    ----------
    The gradient of the Thurstone-Mosteller likelihood at zero weights, with differences of length
    1.
    """
    if not 0 <= ridge < np.inf:
        raise ParameterError(f"ridge is {ridge!r}, expected a finite number of at least 0.")
    d = comparisons.n_features
    units = directions(comparisons)
    per_voter = voter_sums(comparisons, units)
    known = second_moment(comparisons) if moment is None else np.asarray(moment, dtype=np.float64)
    if known.shape != (d, d):
        raise ParameterError(f"moment has shape {known.shape}, expected ({d}, {d}).")
    inverse = np.linalg.pinv(known + ridge * np.eye(d), hermitian=True)
    raw = inverse @ per_voter.sum(axis=0)
    length = float(np.linalg.norm(raw))
    if length == 0:
        return LinearFit(np.zeros(d), np.zeros((d, d)))
    weights = raw / length
    centred = per_voter - per_voter.mean(axis=0)
    voters = len(per_voter)
    spread = centred.T @ centred * (voters / max(voters - 1, 1))
    onto_sphere = (np.eye(d) - np.outer(weights, weights)) @ inverse / length
    return LinearFit(weights, onto_sphere @ spread @ onto_sphere.T)
