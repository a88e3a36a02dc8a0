"""The linear statistic for uneven features: the slope, and a second moment with noise of its own.

The sum of chosen directions points where the mean preference points only after it is divided by the
second moment of the directions. Where the pairs are private that moment is too, and taking it as
round leaves an error that no number of records makes smaller; so it is released with noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import NumberLike, finite, in_range
from masquerade.preference.composition import (
    Composition,
    Estimate,
    Fidelity,
    Reports,
    Rows,
    Sensitivity,
    Unit,
)
from masquerade.preference.directions import (
    UNIT,
    direction_sensitivity,
    sums_by_voter,
    whole_directions,
)
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import register
from masquerade.preference.other_voters import (
    explained_share,
    reports_show_spread,
    spread_of_direction,
    spread_of_reports,
)
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import whose_noise
from masquerade.preference.vector_noise import MOST_DIMENSIONS, LaplaceNoise, NormNoise


def moment_sensitivity(features: int) -> int:
    """Return how far replacing a record moves the moment's upper triangle, in absolute steps.

    At most ``sqrt(d (d + 3) / 2)`` lengths squared: the moments of two directions differ by at most
    sqrt 2 in the Frobenius norm, in which an entry off the diagonal counts twice (Cauchy and
    Schwarz with weights 1 and 1 / sqrt 2). With one feature a square lies between 0 and 1.
    """
    if features == 1:
        return UNIT**2
    return math.isqrt(features * (features + 3) // 2 * UNIT**4)


def upper_triangle(features: int) -> tuple[Integers, Integers]:
    """Return rows and columns of the released numbers of a moment, row by row."""
    return np.triu_indices(features)


def features_of(size: int) -> int:
    """Return d of a row of ``d + d (d + 1) / 2`` numbers."""
    return (math.isqrt(9 + 8 * size) - 3) // 2


@dataclass(frozen=True, slots=True)
class SlopeAndMoment:
    """The sum of the directions that a voter chose, then the sum of their products with themselves.

    `share`: of epsilon that goes to the slope, between 0 and 1.
    """

    share: NumberLike = Fraction(2, 5)

    units: ClassVar[tuple[Unit, ...]] = ("record",)
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        share = finite(self.share, "share")
        in_range(share, "share", above=0, below=1)
        object.__setattr__(self, "share", share)

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's slope, in steps of 1 / `UNIT`, and moment, in their squares."""
        units = whole_directions(records.scaled())
        d = units.shape[1]
        # Row by row of the triangle, so that no more than d numbers a record are held at a time.
        products = [
            sums_by_voter(units[:, k : k + 1] * units[:, k:], records.offsets) for k in range(d)
        ]
        return np.concatenate([sums_by_voter(units, records.offsets), *products], axis=1)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far the slope moves; see `moment_sensitivity` for the moment."""
        return direction_sensitivity(features)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters, for slopes over their number."""
        count = np.maximum(records, 1)
        return np.full(len(count), 1 / features), variance / UNIT**2 / count

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the direction of the slope divided by the repaired moment.

        Notes
        -----
        Noise can make the moment indefinite. Eigenvalues below ``f = 2 s sqrt(d)``, where the
        noise's own spectrum ends with s the deviation of an entry (Wigner's semicircle), are raised
        to f; where all are, the answer is that of a round moment. The noise in the weights w is,
        with A the repaired moment, V the variance of the slope's noise and v of the moment's,
        ``A^-1 (V I + v (|w|^2 I + w w' - diag(w^2))) A^-1``, carried onto the sphere.
        """
        d = reports.features
        slope, triangle = reports.total[:d] / UNIT, reports.total[d:] / UNIT**2
        slope_variance = reports.total_variance / UNIT**2
        moment_variance = reports.total_variance * self._moment_variance(d) / UNIT**4
        moment = np.zeros((d, d))
        moment[upper_triangle(d)] = triangle
        moment = moment + np.triu(moment, 1).T
        values, axes = np.linalg.eigh(moment)
        # Noise alone leaves no eigenvalue much above 2 s sqrt(d); a floor of 1.4 s sqrt(d) was less
        # accurate at small epsilons and never more than .003 better.
        floor = 2 * math.sqrt(moment_variance * d)
        floored = int(np.count_nonzero(values < floor))
        inverse = (axes / np.maximum(values, floor)) @ axes.T
        raw = inverse @ slope
        spread = slope_variance * np.eye(d) + moment_variance * (
            float(raw @ raw) * np.eye(d) + np.outer(raw, raw) - np.diag(raw**2)
        )
        noise = inverse @ spread @ inverse
        if reports_show_spread(reports):
            # What a voter adds to ``t - M w``, noise and all.
            triangles = reports.rows[:, d:] / UNIT**2
            moments = np.zeros((len(triangles), d, d))
            moments[:, *upper_triangle(d)] = triangles
            moments += np.triu(moments, 1).transpose(0, 2, 1)
            each = reports.rows[:, :d] / UNIT - moments @ raw
            every = inverse @ spread_of_reports(each, reports.shares) @ inverse
            sampling = at_least_zero(every - noise)
        else:
            # Least squares of signs on directions: what is left of their variance, over the moment.
            slope_noise = slope_variance * np.eye(d)
            records = max(reports.total_records, 1e-9)
            explained = explained_share(slope, inverse, slope_noise, records)
            repeated = float(reports.shares**2 @ reports.records) / records
            sampling = (1 - explained) * repeated * inverse
        # Along axes that were raised the weights are too small, by how much nothing tells.
        raised = axes[:, values < floor]
        typical = float(raw @ raw) / max(d - floored, 1)
        found = spread_of_direction(raw, noise, sampling, typical * raised @ raised.T)
        details: dict[str, object] = {"floored": floored}
        if floored:
            details["remark"] = (
                f"in {floored} of {d} directions pairs vary less than the noise shows; weights "
                "along these are too small, and the stated noise is not all of their error"
            )
        return Estimate(*found, direction_only=True, details=details)

    def _moment_variance(self, features: int) -> float:
        """Return the moment's variance over the slope's, in steps, the same for all epsilons."""
        noise = SlopeAndMomentNoise(self.share)
        one, sensitivity = Fraction(1), self.sensitivity(features)
        return noise.of_moment(one, features).variance(1) / noise.of_slope(
            one, sensitivity, features
        ).variance(features)


@dataclass(frozen=True, slots=True)
class SlopeAndMomentNoise:
    """Noise by length on the slope (Laplace above 32 features), and Laplace on the moment.

    `share`: of epsilon that goes to the slope. The two losses add up (basic composition).
    """

    share: NumberLike = Fraction(2, 5)

    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None
    delta: ClassVar[Fraction] = Fraction(0)

    def of_slope(
        self, epsilon: Fraction, sensitivity: Sensitivity, features: int
    ) -> NormNoise | LaplaceNoise:
        """Return the slope's noise."""
        kind = NormNoise if features <= MOST_DIMENSIONS else LaplaceNoise
        return kind.of(epsilon * finite(self.share, "share"), sensitivity)

    def of_moment(self, epsilon: Fraction, features: int) -> LaplaceNoise:
        """Return the moment's noise."""
        # The Euclidean bound is not used.
        sensitivity = Sensitivity(moment_sensitivity(features), 0)
        return LaplaceNoise.of(epsilon * (1 - finite(self.share, "share")), sensitivity)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Rows:
        """Return the rows plus noise."""
        vectors, size = rows.shape
        d = features_of(size)
        slope = self.of_slope(epsilon, sensitivity, d).draw(source, vectors=vectors, dimension=d)
        moment = self.of_moment(epsilon, d).draw(source, vectors=vectors, dimension=size - d)
        masked: Integers = rows + np.concatenate([slope, moment], axis=1)
        return masked

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return the epsilon of changing `units` units together."""
        return Micro.of_amount(epsilon * units)

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return a contrast of 1 and the variance of the slope."""
        d = features_of(size)
        return Fidelity(1.0, self.of_slope(epsilon, sensitivity, d).variance(d))


@register
@dataclass(frozen=True)
class LinearMoment(PrivateMechanism):
    """Publish the direction of the sum of chosen directions, divided by their noisy second moment.

    For features that are not spread evenly, where the pairs are private and no public moment is
    known from the design of the questions (give `LinearKNorm` that one, which costs nothing).

    Parameters
    ----------
    unit : {"record"}
    epsilon, weights, most, trust
        As for `ItemWins`.
    share : number
        Of epsilon that goes to the sum of directions, the rest to the moment; between 0 and 1.
        With 2/5 the direction is most accurate where the noise still shows, since noise in the
        moment grows in directions in which pairs hardly vary.

    Privacy
    -------
    Protects each record, the pair included. Neighbours: one record is replaced; how many records
    each voter has is public. Directions are whole numbers of length at most 1, so the sum moves by
    at most 2 lengths and the moment's upper triangle by at most ``sqrt(d (d + 3) / 2)`` in the L1
    norm. Both noises are drawn exactly and cost `share` and the rest of epsilon. A voter with n
    records is protected at n times epsilon.

    Notes
    -----
    Not consistent: directions of uneven features are not evenly spread after any linear map, and
    voters differ. Ten features with correlations of .85 and 50,000 records agree with the truth in
    at most .99 of decisions, whatever epsilon. The stated noise leaves that out, and the difference
    that other voters would make, which is private.

    Examples
    --------
    >>> LinearMoment(epsilon=1).unit, str(LinearMoment(epsilon=1))
    ('record', 'linear-moment:epsilon=1')
    """

    unit: Unit = "record"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    trust: Literal["local", "aggregator"] = "local"
    share: NumberLike = Fraction(2, 5)

    name = "linear-moment"
    units = SlopeAndMoment.units

    def compose(self) -> Composition:
        """Return the slope and the moment with noise of their own."""
        trust = whose_noise(self.trust, self.weights, self.most)
        return Composition(SlopeAndMoment(self.share), SlopeAndMomentNoise(self.share), trust)
