"""The functional mechanism: noise in the coefficients of the likelihood instead of the weights.

Algorithm 3 of Wang et al. (2019), their RLDP, and two better ways to use the same noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import WordSource
from masquerade.exact.number import Number, finite
from masquerade.preference.integer_vectors import whole_directions
from masquerade.preference.l1_ball import project
from masquerade.preference.local_vectors import Collected, LocalVectorMechanism
from masquerade.preference.mechanism import Release
from masquerade.preference.private_mechanism import RECORDS_ARE_PUBLIC, PrivateMechanism
from masquerade.preference.quadratic_sum import (
    SensitivityRule,
    coefficient_rows,
    coefficients,
    in_coefficients,
    linear_and_matrix,
    maximise,
    noise_covariance,
    quadratic_sensitivity,
)
from masquerade.preference.sized_noise import WithLaplaceNoise, variances

RIDGE_DEVIATIONS = 4
"""The ridge is this many standard deviations of the noise in a coefficient."""


@dataclass(frozen=True)
class Functional(WithLaplaceNoise, PrivateMechanism):
    """A mechanism that masks coefficients."""

    sensitivity: SensitivityRule = "tight"
    bound: Number | None = None

    units = ("record",)

    def __post_init__(self) -> None:
        super().__post_init__()
        quadratic_sensitivity(1, self.sensitivity)
        if self.bound is not None:
            number = finite(self.bound, "bound")
            if number <= 0:
                raise ParameterError(f"bound is {self.bound}, expected above 0.")
            object.__setattr__(self, "bound", number)

    def units_of_a_voter(self, records: int) -> int:
        """Return the number of records."""
        return records

    def _projected(self, weights: Floats) -> Floats:
        return weights if self.bound is None else project(weights, float(finite(self.bound, "")))

    def _solved_once(
        self, linear: Floats, matrix: Floats, deviation: float
    ) -> tuple[Floats, Floats]:
        weights, inverse = maximise(linear, matrix, np.array([RIDGE_DEVIATIONS * deviation]))
        covariance = noise_covariance(weights, inverse, np.array([deviation**2]))
        return self._projected(weights)[0], covariance[0]


@dataclass(frozen=True)
class LocalFunctional(Functional, LocalVectorMechanism):
    """Each voter sends noisy coefficients of the likelihood; each quadratic is maximised by itself.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter.
    unit : {"record"}
    weights, most
        How much each voter counts; see `voter_weights`. Other than ``"equal"``, maxima are first
        brought to the same shrinkage, for the ridge of a small epsilon shrinks more.
    sensitivity : {"tight", "published"}
        Both proven; the published one needs a third more noise. See `quadratic_sensitivity`.
    bound : number, optional
        Projects each voter's maximum to this L1 ball. Where the sum is maximised once, the noise
        stated is that from before the projection.

    Privacy
    -------
    Protects each record from everybody but the voter's own device; a voter with n records is
    protected at n times epsilon. Neighbours: one record is replaced. Differences are brought to
    length 1 one by one, which needs no number from the data. Coefficients are whole numbers, and
    discrete Laplace noise of scale sensitivity / epsilon costs exactly epsilon. What is computed
    from them costs nothing.

    The published maximisation does not exist: with noise nearly every quadratic is unbounded. Here
    a ridge of four standard deviations of the noise is added, and directions in which the quadratic
    then bends by less than one are dropped. `LinearKNorm` is more accurate at the same guarantee.

    References
    ----------
    Wang et al. (2019), Algorithm 3; Zhang et al. (2012).
    """

    name = "local-functional"

    def _report_rows(
        self, records: Comparisons, epsilon: Fraction, source: WordSource
    ) -> NDArray[Any]:
        """Return each voter's noisy coefficients in steps; see `coefficient_rows`."""
        d = records.n_features
        rows = coefficient_rows(whole_directions(records.scaled()), records.offsets)
        noise = self.noise(epsilon, quadratic_sensitivity(d, self.sensitivity))
        return rows + noise.draw(source, vectors=len(rows), dimension=coefficients(d))

    def combine(self, collected: Collected) -> Release:
        """Return the weighted mean of the voters' maxima, or the maximum of their weighted sum."""
        epsilons, features = collected.epsilons, collected.features
        sensitivity = quadratic_sensitivity(features, self.sensitivity)
        deviation = in_coefficients(np.sqrt(variances(self, epsilons, sensitivity, 1)))
        count = np.maximum(collected.records, 1)
        between = np.full(len(count), 1 / features)
        shares, details = self._shares(epsilons, between, deviation**2 / count)
        weights, covariance = self._solved(
            collected.rows.astype(np.float64), features, shares, np.asarray(deviation)
        )
        loss, whole = self.losses(epsilons, sensitivity, collected.records.tolist())
        return Release(
            weights=weights,
            noise_covariance=covariance,
            guarantee=self._guarantee("local", loss, whole, (RECORDS_ARE_PUBLIC,)),
            mechanism=str(self),
            details=details,
        )

    def _solved(
        self, rows: Floats, features: int, shares: Floats, deviation: Floats
    ) -> tuple[Floats, Floats]:
        linear, matrix = linear_and_matrix(rows, features)
        ridge = RIDGE_DEVIATIONS * deviation
        maxima, inverse = maximise(linear, matrix, ridge)
        covariance = noise_covariance(maxima, inverse, deviation**2)
        if self.weights != "equal":
            shares = shares * ridge / ridge.min()
        maxima = self._projected(maxima)
        noise: Floats = np.tensordot(shares**2, covariance, axes=1)
        # First order overstates large noise; voters differ by their noise at least.
        centre = shares @ maxima / shares.sum()
        parts = shares[:, None] * (maxima - centre)
        spread = parts.T @ parts * (len(parts) / max(len(parts) - 1, 1))
        smaller = len(parts) > 1 and np.trace(spread) < np.trace(noise)
        return shares @ maxima, spread if smaller else noise


@dataclass(frozen=True)
class AggregateFunctional(LocalFunctional):
    """As `LocalFunctional`, but the noisy coefficients are added up and maximised once.

    Noise cancels in a sum before anything that is not linear is done with it, so the weights shrink
    less towards zero and know their noise better; the directions are about as good. For pairs that
    are private and whose second moment is not known.

    Privacy
    -------
    The reports are those of `LocalFunctional`, and so is the guarantee.
    """

    name = "aggregate-functional"

    def _solved(
        self, rows: Floats, features: int, shares: Floats, deviation: Floats
    ) -> tuple[Floats, Floats]:
        linear, matrix = linear_and_matrix((shares @ rows)[None], features)
        return self._solved_once(linear, matrix, float(np.sqrt(shares**2 @ deviation**2)))


@dataclass(frozen=True)
class CentralFunctional(Functional):
    """A trusted aggregator adds up the coefficients of all voters and adds noise once.

    Parameters
    ----------
    epsilon : number
    unit : {"record"}
    sensitivity, bound
        As for `LocalFunctional`.

    Privacy
    -------
    Protects each record from everybody who sees the result, not from whoever computes it. One
    record moves the sum exactly as far as it moves its voter's coefficients.
    """

    name = "central-functional"

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        assert isinstance(self.epsilon, Fraction)
        d = comparisons.n_features
        rows = coefficient_rows(whole_directions(comparisons.scaled()), comparisons.offsets)
        noise = self.noise(self.epsilon, quadratic_sensitivity(d, self.sensitivity))
        total = rows.sum(axis=0) + noise.draw(source, vectors=1, dimension=coefficients(d))[0]
        linear, matrix = linear_and_matrix(total[None].astype(np.float64), d)
        deviation = float(in_coefficients(noise.variance(1) ** 0.5))
        weights, covariance = self._solved_once(linear, matrix, deviation)
        return Release(
            weights=weights,
            noise_covariance=covariance,
            guarantee=self._guarantee(
                "aggregator",
                noise.loss(1),
                noise.loss(comparisons.most_records_of_a_voter()),
                (RECORDS_ARE_PUBLIC,),
            ),
            mechanism=str(self),
        )
