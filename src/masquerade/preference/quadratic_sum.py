"""The likelihood to second order, as one integer vector a voter.

Around indifference ``ln Phi(z) = ln(1/2) + sqrt(2/pi) z - z**2 / pi``, so a voter's log-likelihood
is a quadratic ``l . b - b . M b`` in the weights b, with ``l = sqrt(2/pi) sum of V`` and
``M = sum of V V^T / pi`` over directions V. Its coefficients are what the functional mechanism
masks: d linear ones, d squares, and one cross term ``2 M_kl`` for each pair of features.

Here both parts are multiplied by ``pi UNIT**2`` and the factor of the linear part is a whole
number, so all coefficients are whole numbers and their sensitivity is exact.
"""

from __future__ import annotations

import decimal
import math
from functools import lru_cache
from typing import Literal

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.integer_vectors import UNIT, sums_by_voter
from masquerade.preference.vector_noise import Sensitivity

SensitivityRule = Literal["tight", "published"]

LINEAR_FACTOR = round(math.sqrt(2 * math.pi) * UNIT)
_STEPS_PER_COEFFICIENT = math.pi * UNIT**2
_DIGITS = 60
_HALVINGS = 150
_TRIM = 4  # directions below one part in so many of the ridge are dropped


def coefficients(features: int) -> int:
    """Return how many coefficients there are."""
    return features + features * (features + 1) // 2


def coefficient_rows(directions: Integers, offsets: Integers) -> Integers:
    """Return each voter's coefficients in steps: linear ones, squares, cross terms (k < l).

    Parameters
    ----------
    directions : int64 array, shape (n_records, n_features)
    offsets : int64 array, shape (n_voters + 1,)

    Returns
    -------
    int64 array, shape (n_voters, coefficients(n_features))
    """
    d = directions.shape[1]
    parts = [
        LINEAR_FACTOR * sums_by_voter(directions, offsets),
        sums_by_voter(directions**2, offsets),
    ]
    parts += [
        2 * sums_by_voter(directions[:, k + 1 :] * directions[:, k : k + 1], offsets)
        for k in range(d - 1)
    ]
    return np.concatenate(parts, axis=1)


def linear_and_matrix(rows: Floats, features: int) -> tuple[Floats, Floats]:
    """Return l, shape (n, d), and symmetric M, shape (n, d, d), from rows in steps."""
    d = features
    linear = rows[:, :d] * (math.sqrt(2 / math.pi) / (LINEAR_FACTOR * UNIT))
    scaled = rows[:, d:] / _STEPS_PER_COEFFICIENT
    matrix = np.zeros((len(rows), d, d))
    matrix[:, np.arange(d), np.arange(d)] = scaled[:, :d]
    upper = np.triu_indices(d, 1)
    matrix[:, upper[0], upper[1]] = matrix[:, upper[1], upper[0]] = scaled[:, d:] / 2
    return linear, matrix


def in_coefficients(steps: float) -> float:
    """Return a size in steps as one in the coefficients' own unit."""
    return steps / _STEPS_PER_COEFFICIENT


@lru_cache(maxsize=64)
def quadratic_sensitivity(features: int, rule: SensitivityRule) -> Sensitivity:
    """Return how far a voter's coefficients move when one record is replaced.

    Parameters
    ----------
    features : int
    rule : {"tight", "published"}
        ``"published"``: ``2 (sqrt(2 d / pi) + d / pi)`` of Wang et al. (2019), section 4.3. Valid,
        but it adds the largest moves of both parts, which cannot happen together. ``"tight"``: the
        largest of ``sqrt(2 d / pi) sqrt(2 - 2 c) + (d / pi) sqrt(2 - 2 c**2)`` over -1 <= c <= 1,
        about a quarter less.

    Notes
    -----
    *Tight is proven.* Let two directions have lengths a, b <= 1 and inner product a b c. The parts
    move, in the L1 norm, at most ``sqrt(d)`` and d times as far as in the L2 norm, where the
    squares of the moves are ``a**2 + b**2 - 2 a b c`` and ``a**4 + b**4 - 2 (a b c)**2``. Let b be
    the longer; dividing both directions by b shrinks neither move, so b = 1. Then with c' = a c
    both squares are at most ``2 - 2 c'`` and ``2 - 2 c'**2``, those of two directions of length 1.
    What remains is a maximum over one number of a sum of two concave functions, found to 60 digits
    and rounded up with the slope that is left.
    """
    if rule not in ("tight", "published"):
        raise ParameterError(f"sensitivity is {rule!r}, expected 'tight' or 'published'.")
    absolute = math.isqrt(features * UNIT**2)  # of one direction: Cauchy and Schwarz
    published = 2 * LINEAR_FACTOR * absolute + 2 * absolute**2
    # The Euclidean move is at most the absolute one.
    size = published if rule == "published" else min(_tight(features), published)
    return Sensitivity(absolute=size, euclidean=size)


def _tight(features: int) -> int:
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        d, unit = decimal.Decimal(features), decimal.Decimal(UNIT)
        first = LINEAR_FACTOR * d.sqrt() * unit
        second = d * unit**2

        def value(c: decimal.Decimal) -> decimal.Decimal:
            return first * (2 - 2 * c).sqrt() + second * (2 - 2 * c * c).sqrt()

        def slope(c: decimal.Decimal) -> decimal.Decimal:
            return -first / (2 - 2 * c).sqrt() - 2 * second * c / (2 - 2 * c * c).sqrt()

        low, high = decimal.Decimal(-1), decimal.Decimal(0)  # the slope falls from +inf to below 0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if slope(middle) > 0:
                low = middle
            else:
                high = middle
        # A concave function is below each of its tangents; c is at most 2 away.
        bound = value(high) + 2 * abs(slope(high))
        return int((bound * (1 + decimal.Decimal(10) ** -40)).to_integral_value("ROUND_CEILING"))


def maximise(linear: Floats, matrix: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Return where noisy quadratics are largest, regularised and trimmed; costs no privacy.

    With noise the matrix is mostly indefinite, and there is no largest value. `ridge` is added to
    the diagonal, and directions in which the matrix then is not above a quarter of it are dropped:
    a direction that is kept at hardly more than 0 would put its noise, many times enlarged, into
    the weights.

    Parameters
    ----------
    linear : float array, shape (n, d)
    matrix : float array, shape (n, d, d)
    ridge : float array, shape (n,)

    Returns
    -------
    weights : float array, shape (n, d)
    inverse : float array, shape (n, d, d)
        The pseudo-inverses of the matrices that were used.
    """
    d = linear.shape[1]
    values, axes = np.linalg.eigh(matrix + ridge[:, None, None] * np.eye(d))
    kept = values > np.maximum(ridge / _TRIM, 1e-9)[:, None]
    inverted = np.where(kept, 1 / np.where(kept, values, 1), 0)
    inverse = np.matmul(axes * inverted[:, None, :], axes.transpose(0, 2, 1))
    return 0.5 * np.matmul(inverse, linear[:, :, None])[:, :, 0], inverse


def noise_covariance(weights: Floats, inverse: Floats, variance: Floats) -> Floats:
    """Return, to first order, the covariance of each row of weights from noise in coefficients.

    Parameters
    ----------
    weights, inverse
        As `maximise` returns them.
    variance : float array, shape (n,)
        Of the noise in each coefficient; a cross term's is split over two entries of the matrix.

    Returns
    -------
    float array, shape (n, d, d)
    """
    d = weights.shape[1]
    squares = weights**2
    middle = 0.25 * weights[:, :, None] * weights[:, None, :]
    middle[:, np.arange(d), np.arange(d)] += (
        0.25 + 0.25 * squares.sum(axis=1, keepdims=True) + 0.5 * squares
    )
    covariance: Floats = variance[:, None, None] * np.matmul(np.matmul(inverse, middle), inverse)
    return covariance
