"""Directions of records, of voters and of learned weights, in whole numbers.

The direction of a record is a vector of whole numbers whose norm is bounded exactly, so that
sensitivities are too: a float can exceed a bound by its last bits, a sum of integers cannot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.composition import Estimate, Fidelity, Reports, Sensitivity, Unit
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.other_voters import (
    reports_show_spread,
    spread_of_direction,
    spread_of_reports,
)

#: Length of a direction: its squares add to at most ``UNIT**2``.
UNIT = 1 << 12

_FIXED_POINT = 1 << 20


def integer_root(squares: Integers) -> Integers:
    """Return the integer square roots of `squares` (0 to below 2**62), rounded down."""
    root: Integers = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root -= root * root > squares  # the float is off by one at most
    root += (root + 1) ** 2 <= squares
    return root


def whole_directions(differences: Floats) -> Integers:
    """Return each row's direction, as whole multiples of ``1 / UNIT``; zeros for a row of zeros.

    Each row depends on that row alone, to the last bit, and the opposite row has the opposite
    direction.

    Shapes: `differences` (n_records, n_features). The result (n_records, n_features): the squares
    of a row add to at most ``UNIT**2``.
    """
    # Relative to the largest number of the row, so that a row's scale does not matter; 20 bits each
    # keep the squares of the whole numbers, for up to 2**20 features, below 2**62.
    largest = np.abs(differences).max(axis=1, initial=0, keepdims=True)
    relative = differences / np.where(largest > 0, largest, 1)
    return whole_directions_of_integers(np.rint(relative * _FIXED_POINT).astype(np.int64))


def whole_directions_of_integers(differences: Integers) -> Integers:
    """Return each row's direction as in `whole_directions`, from whole numbers.

    The device's half (``web/static/mechanisms/preference.js``) returns the same.

    `differences` (n_records, n_features): squares of a row add to less than 2**62.
    """
    squares = (differences**2).sum(axis=1, keepdims=True)
    length = integer_root(squares)
    length += length**2 < squares  # rounded up: a direction is never longer than UNIT
    # Down, for each coordinate: its square is at most its part of UNIT**2.
    size: Integers = np.abs(differences) * UNIT // np.maximum(length, 1)
    return np.sign(differences) * size


def direction_sensitivity(features: int) -> Sensitivity:
    """Return how far two directions can lie apart, and so a sum when one record changes.

    A direction has length at most `UNIT`, and absolute values that add to at most ``sqrt(d)``
    times that (Cauchy and Schwarz); both are attained by opposite directions.
    """
    return Sensitivity(absolute=2 * math.isqrt(features * UNIT**2), euclidean=2 * UNIT)


def sums_by_voter(rows: Integers, offsets: NDArray[np.int64]) -> Integers:
    """Return the sum of each voter's rows, shape (n_voters, rows.shape[1]); 0 for no rows."""
    # Differences of running sums, which are exact on whole numbers.
    running = np.concatenate([np.zeros((1, rows.shape[1]), dtype=np.int64), rows.cumsum(axis=0)])
    sums: Integers = running[offsets[1:]] - running[offsets[:-1]]
    return sums


@dataclass(frozen=True, slots=True)
class VoterDirection:
    """The direction of the sum of a voter's chosen directions: all of the voter's records at once.

    Its noises hide the whole direction, so that no length is left to be sensitive to.
    """

    units: ClassVar[tuple[Unit, ...]] = ("voter", "record")
    whole_voter: ClassVar[bool] = True
    row_a_record: ClassVar[bool] = False

    def rows(self, records: Comparisons) -> Integers:
        """Return the sum of the directions that each voter chose, shape (n_voters, n_features)."""
        return sums_by_voter(whole_directions(records.scaled()), records.offsets)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far two directions can lie apart."""
        return direction_sensitivity(features)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variance a coordinate of directions spread evenly, and that of the noise."""
        return np.full(len(variance), 1 / features), variance

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the direction of the weighted mean of the reports, each made unbiased."""
        # A selected direction is not of length 1; its own length says nothing.
        length = np.sqrt((reports.rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        units = reports.rows / np.where(length > 0, length, 1)
        factor = reports.shares / reports.contrast
        spread = _spread_around_directions(units, factor, reports.contrast, reports.mean_square)
        if reports_show_spread(reports):
            each = units / reports.contrast[:, None]
            sampling = at_least_zero(spread_of_reports(each, reports.shares) - spread)
        else:  # directions of length 1, however they are spread
            d = reports.features
            sampling = float(reports.shares @ reports.shares) / d * np.eye(d)
        found = spread_of_direction(factor @ units, spread, sampling)
        return Estimate(*found, direction_only=True)


def _spread_around_directions(
    units: Floats, factor: Floats, cosine: Floats, square: Floats
) -> Floats:
    """Return the covariance of the noise in the sum of `factor` times reports.

    Along its voter's direction a report varies by ``square - cosine**2``, across it by what is left
    of its length. Where directions lie is seen from the reports, which lie around them.
    """
    # Of a report's length 1, `square` lies along its direction on average, the rest across it,
    # evenly over the other d - 1 axes.
    d = units.shape[1]
    across = (1 - square) / max(d - 1, 1)
    along = square - cosine**2
    says = factor**2 * (square - across)  # what a report shows of where its direction lies
    total = float(says.sum())
    lie = np.eye(d) / d
    if total > 0:
        product = (units * (factor**2)[:, None]).T @ units - float(factor**2 @ across) * np.eye(d)
        # Noise can make the estimate indefinite; a distribution of directions has trace 1.
        values, axes = np.linalg.eigh(product / total)
        values = np.maximum(values, 0)
        lie = (axes * (values / max(float(values.sum()), 1e-300))) @ axes.T
    covariance: Floats = float(factor**2 @ across) * np.eye(d)
    covariance += float(factor**2 @ (along - across)) * lie
    return covariance


def direction_fidelity(cosine: float, mean_square: float, features: int) -> Fidelity:
    """Return the fidelity of a report, from mean and mean square of its cosine.

    A report divided by the mean cosine is unbiased and ``1 / cosine**2`` long on average, squared;
    1 of this is the direction, the rest is noise, spread over the features.
    """
    return Fidelity(cosine, (1 / cosine**2 - 1) / features, mean_square)
