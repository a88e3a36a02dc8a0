"""Bounded fits, each with noise of its own voter.

Algorithm 2 of Wang et al. (2019), their VLDP and RLDP.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.exact.coins import WordSource
from masquerade.exact.number import Number
from masquerade.preference.fit_report import DEFAULT_BOUND, SENSITIVITY, fits_on_grid, read_bound
from masquerade.preference.l1_ball import STEPS
from masquerade.preference.local_vectors import Collected, LocalVectorMechanism
from masquerade.preference.mechanism import Release, Unit
from masquerade.preference.sized_noise import (
    SizedNoise,
    WithGaussianNoise,
    WithLaplaceNoise,
    variances,
)


@dataclass(frozen=True)
class LocalFit(SizedNoise, LocalVectorMechanism):
    """Bounded fits, each plus noise of one kind."""

    unit: Unit = "voter"
    bound: Number = DEFAULT_BOUND

    units = ("voter", "record")
    hides_records = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bound", read_bound(self.bound))
        _ = self.noise_delta

    def _report_rows(
        self, records: Comparisons, epsilon: Fraction, source: WordSource
    ) -> NDArray[Any]:
        """Return each voter's fit plus noise, in grid steps, shape (n_voters, n_features)."""
        fits = fits_on_grid(records, read_bound(self.bound))
        noise = self.noise(epsilon, SENSITIVITY)
        voters, d = fits.shape
        return fits + noise.draw(source, vectors=voters, dimension=d)

    def combine(self, collected: Collected) -> Release:
        """Return the weighted mean of the reports."""
        epsilons, features = collected.epsilons, collected.features
        step = float(read_bound(self.bound)) / STEPS
        noise = variances(self, epsilons, SENSITIVITY, features) * step**2
        # The squares of a fit add to at most the bound's square.
        between = np.full(len(noise), float(read_bound(self.bound)) ** 2 / features)
        shares, details = self._shares(epsilons, between, noise)
        loss, _ = self.losses(epsilons, SENSITIVITY, [1] * len(epsilons))
        return Release(
            weights=shares @ collected.rows * step,
            noise_covariance=np.eye(features) * float(shares**2 @ noise),
            guarantee=self._guarantee("local", loss, loss, (), self.noise_delta),
            mechanism=str(self),
            details={"bound": float(read_bound(self.bound)), **details},
        )


@dataclass(frozen=True)
class LocalLaplace(WithLaplaceNoise, LocalFit):
    """Each voter sends a bounded fit with discrete Laplace noise.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter.
    unit : {"voter", "record"}
        Both have the same noise, and under either a whole voter is protected.
    weights, most
        How much each voter counts; see `voter_weights`.
    bound : number
        Largest sum of a voter's absolute weights (B).

    Privacy
    -------
    Protects each voter, with all records and their number, from everybody but the voter's own
    device. A fit on the grid changes by at most ``2 * steps`` in the L1 norm when all its records
    change, so noise of scale ``2 * steps / epsilon`` costs exactly epsilon.

    References
    ----------
    Wang et al. (2019), Algorithm 2 and Theorem 3. Ours is on the integers, and its bound is exact.
    """

    name = "local-laplace"


@dataclass(frozen=True)
class LocalGaussian(WithGaussianNoise, LocalFit):
    """Each voter sends a bounded fit with discrete Gaussian noise.

    Parameters
    ----------
    epsilon, unit, weights, most, bound
        As for `LocalLaplace`.
    delta : number
        Probability with which epsilon may fail.

    Privacy
    -------
    As `LocalLaplace`, but approximate; see `CentralGaussian` for how the noise is sized.
    """

    name = "local-gaussian"
