"""The sum of the directions that were chosen, with noise: one record moves it by two lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from masquerade.answers import Comparisons, Feature
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import WordSource
from masquerade.preference.direction import direction
from masquerade.preference.integer_vectors import UNIT, sums_by_voter, whole_directions
from masquerade.preference.local_mechanism import VoterDevice
from masquerade.preference.local_vectors import Collected, LocalVectorMechanism
from masquerade.preference.mechanism import Release, Trust, Unit
from masquerade.preference.private_mechanism import RECORDS_ARE_PUBLIC, PrivateMechanism
from masquerade.preference.sized_noise import (
    SizedNoise,
    WithGaussianNoise,
    WithLaplaceNoise,
    WithNormNoise,
    variances,
)
from masquerade.preference.vector_noise import Sensitivity

PAIRS_ARE_PUBLIC = (
    "which two alternatives each voter was shown is public, and none was picked by raw answers"
)
FROM_PAIRS = "the second moment of the directions comes from the public pairs"


def linear_sensitivity(features: int) -> Sensitivity:
    """Return how far the sum moves when one record changes.

    A direction has length at most `UNIT`, and absolute values that add to at most ``sqrt(d)``
    times that (Cauchy and Schwarz); both are attained by opposite directions.
    """
    return Sensitivity(absolute=2 * math.isqrt(features * UNIT**2), euclidean=2 * UNIT)


@dataclass(frozen=True)
class LinearSum(SizedNoise, LocalVectorMechanism):
    """The sum of chosen directions plus noise of one kind."""

    unit: Unit = "record"
    trust: Trust = "local"
    moment: ArrayLike | None = None

    units = ("record", "choice")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trust not in ("local", "aggregator"):
            raise ParameterError(f"trust is {self.trust!r}, expected 'local' or 'aggregator'.")
        if self.trust == "aggregator" and isinstance(self.epsilon, tuple):
            PrivateMechanism._check_personal(self)
        if self.moment is not None:
            if isinstance(self.moment, str):
                raise ParameterError("moment is a text; give a matrix, from Python.")
            given = np.array(self.moment, dtype=np.float64)
            square = given.ndim == 2 and given.shape[0] == given.shape[1]
            if not square or not np.isfinite(given).all() or not np.allclose(given, given.T):
                raise ParameterError("moment is no symmetric matrix of finite numbers.")
            object.__setattr__(self, "moment", tuple(map(tuple, given.tolist())))
        _ = self.noise_delta

    def units_of_a_voter(self, records: int) -> int:
        """Return the number of records."""
        return records

    def device(self, features: Sequence[Feature], *, epsilon: Any = None) -> VoterDevice:
        """Return the voter's half; see `LocalMechanism.device`. It does not need `moment`."""
        if self.trust != "local":
            raise ParameterError(
                "with trust='aggregator' records go to whoever computes; a device needs "
                "trust='local'."
            )
        public = self if self.moment is None else replace(self, moment=None)
        return super(LinearSum, public).device(features, epsilon=epsilon)

    def _report_rows(
        self, records: Comparisons, epsilon: Fraction, source: WordSource
    ) -> NDArray[Any]:
        """Return each voter's sum plus noise, in steps of 1 / `UNIT`, shape (n_voters, d)."""
        sums = sums_by_voter(whole_directions(records.scaled()), records.offsets)
        voters, d = sums.shape
        noise = self.noise(epsilon, linear_sensitivity(d))
        return sums + noise.draw(source, vectors=voters, dimension=d)

    def combine(self, collected: Collected) -> Release:
        """Return the direction of the weighted sum, corrected for the features' second moment."""
        epsilons, records, features = collected.epsilons, collected.records, collected.features
        sensitivity = linear_sensitivity(features)
        noise = variances(self, epsilons, sensitivity, features) / UNIT**2
        # A sum of n directions means n times as much, and has variance about n / features.
        count = np.maximum(records, 1)
        between = np.full(len(count), 1 / features)
        shares, details = self._shares(epsilons, between, noise / count)
        loss, whole = self.losses(epsilons, sensitivity, records.tolist())
        return self._direction(
            shares @ collected.rows / UNIT,
            variance=float(shares**2 @ noise),
            records=float(shares @ records),
            moment=collected.moment,
            guarantee=self._guarantee("local", loss, whole, self._assumed(), self.noise_delta),
            details=details,
        )

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        if self.trust == "local":
            return super()._released(comparisons, source)
        assert isinstance(self.epsilon, Fraction)
        d = comparisons.n_features
        sensitivity = linear_sensitivity(d)
        noise = self.noise(self.epsilon, sensitivity)
        total = whole_directions(comparisons.scaled()).sum(axis=0)
        total = total + noise.draw(source, vectors=1, dimension=d)[0]
        most = comparisons.most_records_of_a_voter()
        guarantee = self._guarantee(
            "aggregator", noise.loss(1), noise.loss(most), self._assumed(), self.noise_delta
        )
        return self._direction(
            total / UNIT,
            variance=noise.variance(d) / UNIT**2,
            records=float(len(comparisons)),
            moment=self._moment(comparisons),
            guarantee=guarantee,
            details={},
        )

    def _direction(
        self,
        total: Floats,
        *,
        variance: float,
        records: float,
        moment: Floats | None,
        guarantee: Any,
        details: dict[str, Any],
    ) -> Release:
        d = len(total)
        known = np.eye(d) / d if moment is None else moment
        # Where the noise is large, the correction must not blow it up.
        ridge = math.sqrt(variance) / max(records, 1e-9)
        inverse = np.linalg.pinv(known + ridge * np.eye(d), hermitian=True)
        weights, covariance = direction(inverse @ total, variance * inverse @ inverse)
        return Release(
            weights=weights,
            noise_covariance=covariance,
            guarantee=guarantee,
            mechanism=str(self),
            direction_only=True,
            details={"ridge": ridge, **details},
        )

    def _moment(self, comparisons: Comparisons) -> Floats | None:
        d = comparisons.n_features
        if self.moment is not None:
            given = np.array(self.moment, dtype=np.float64)
            if given.shape != (d, d):
                raise ParameterError(
                    f"moment has shape {given.shape}, expected ({d}, {d}) for {d} features."
                )
            return given
        if self.unit != "choice" or len(comparisons) == 0:
            return None
        # Directions of opposite records are opposite, so this does not depend on the choices.
        rows = whole_directions(comparisons.scaled()) / UNIT
        moment: Floats = rows.T @ rows / len(rows)
        return moment

    def _assumed(self) -> tuple[str, ...]:
        if self.unit == "choice":
            pairs = (FROM_PAIRS,) if self.moment is None else ()
            return (RECORDS_ARE_PUBLIC, PAIRS_ARE_PUBLIC, *pairs)
        return (RECORDS_ARE_PUBLIC,)

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        fields = super().fields()
        if self.moment is not None:
            fields["moment"] = "given"
        return fields


@dataclass(frozen=True)
class LinearKNorm(WithNormNoise, LinearSum):
    """Publish the direction of the sum of chosen directions, with noise by Euclidean length.

    Each record counts as the direction of its difference, of length 1. The sum of directions is the
    slope of the likelihood at indifference; divided by the second moment of the directions it
    points where the mean preference points. Only that direction is estimated.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all; one a voter where `trust` is ``"local"``.
    unit : {"record", "choice"}
        ``"choice"``: the pair that was shown is public and only which one was chosen is protected.
    weights, most
        How much each voter counts; see `voter_weights`.
    trust : {"local", "aggregator"}
        Who adds the noise: each voter, or once whoever computes the result.
    moment : float array, shape (n_features, n_features), optional
        Public second moment of the directions of scaled differences, from the design of the
        questions. Default: directions spread evenly; under the unit ``"choice"``, that of the
        public pairs.

    Privacy
    -------
    Protects each record (or choice), not a whole voter: a voter with n records is protected at n
    times epsilon. Neighbours: one record is replaced (one choice turned round); how many records
    each voter has is public. Directions are whole numbers whose squares add to at most a square, so
    two of them are at most 2 lengths apart, exactly; noise with probability proportional to
    ``exp(-epsilon * floor(length) / 2)`` costs exactly epsilon.

    References
    ----------
    Hardt and Talwar (2010) for the noise; drawn exactly here, see `norm_noise`.
    """

    name = "linear-knorm"
    replacement = None


@dataclass(frozen=True)
class LinearLaplace(WithLaplaceNoise, LinearSum):
    """As `LinearKNorm` with independent discrete Laplace noise a coordinate; for many features.

    Privacy
    -------
    As `LinearKNorm`. Two directions differ by at most ``2 sqrt(d)`` in the L1 norm, so for d
    features the variance is about ``2 d / (d + 1)`` times larger: nearly twice.
    """

    name = "linear-laplace"


@dataclass(frozen=True)
class LinearGaussian(WithGaussianNoise, LinearSum):
    """As `LinearKNorm` with discrete Gaussian noise; better for many features or many releases.

    Parameters
    ----------
    delta : number
        Probability with which epsilon may fail.

    Privacy
    -------
    As `LinearKNorm`, but approximate: one record costs ``rho = 4 / (2 variance)`` of
    zero-concentrated loss, a voter with n records n squared times that.
    """

    name = "linear-gaussian"
