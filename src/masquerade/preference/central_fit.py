"""The mean of bounded fits, with noise added once by a trusted aggregator.

Algorithm 1 of Wang et al. (2019), their VLCP and RLCP.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact.coins import WordSource
from masquerade.exact.number import Number
from masquerade.preference.fit_report import (
    ALONE,
    DEFAULT_BOUND,
    SENSITIVITY,
    fits_on_grid,
    read_bound,
)
from masquerade.preference.l1_ball import STEPS
from masquerade.preference.mechanism import Release, Unit
from masquerade.preference.private_mechanism import PrivateMechanism, warn_of_few_voters
from masquerade.preference.sized_noise import SizedNoise, WithGaussianNoise, WithLaplaceNoise


@dataclass(frozen=True)
class CentralFit(SizedNoise, PrivateMechanism):
    """The mean of bounded fits plus noise of one kind."""

    unit: Unit = "voter"
    bound: Number = DEFAULT_BOUND

    units = ("voter", "record")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bound", read_bound(self.bound))
        _ = self.noise_delta

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        assert isinstance(self.epsilon, Fraction)
        voters, d = comparisons.n_voters, comparisons.n_features
        warn_of_few_voters(voters)
        bound = read_bound(self.bound)
        noise = self.noise(self.epsilon, SENSITIVITY)
        total = fits_on_grid(comparisons, bound).sum(axis=0)
        total = total + noise.draw(source, vectors=1, dimension=d)[0]
        step = float(bound) / STEPS / voters
        loss = noise.loss(1)
        return Release(
            weights=total * step,
            noise_covariance=np.eye(d) * (noise.variance(d) * step**2),
            guarantee=self._guarantee("aggregator", loss, loss, (ALONE,), self.noise_delta),
            mechanism=str(self),
            details={"bound": float(bound)},
        )


@dataclass(frozen=True)
class CentralLaplace(WithLaplaceNoise, CentralFit):
    """Publish the mean of the voters' bounded fits with discrete Laplace noise.

    Parameters
    ----------
    epsilon : number
    unit : {"voter", "record"}
        Both have the same noise: one record can turn a voter's whole fit round. So under either a
        whole voter is protected at the same epsilon.
    bound : number
        Largest sum of a voter's absolute weights (B). Smaller bounds need less noise and bend the
        fits more.

    Privacy
    -------
    Protects each voter, with all records, from everybody who sees the result; not from whoever
    computes it, who sees all records. Neighbours: one voter's records are replaced, the number of
    voters is public. Each fit is cut to a grid on which its absolute weights add to at most a whole
    number of steps; so the sum of the fits changes by at most ``2 * steps`` in the L1 norm, and
    noise of scale ``2 * steps / epsilon`` costs exactly epsilon. The published noise has scale
    ``2 bound / (voters * epsilon)`` on the mean, which is the same.

    References
    ----------
    Wang et al. (2019), Algorithm 1 and Theorem 1. Ours is on the integers, and its bound is exact.

    Examples
    --------
    >>> mechanism = CentralLaplace(epsilon=1)
    >>> str(mechanism)
    'central-laplace:epsilon=1'
    """

    name = "central-laplace"


@dataclass(frozen=True)
class CentralGaussian(WithGaussianNoise, CentralFit):
    """Publish the mean of the voters' bounded fits with discrete Gaussian noise.

    Parameters
    ----------
    epsilon, unit, bound
        As for `CentralLaplace`.
    delta : number
        Probability with which epsilon may fail.

    Privacy
    -------
    As `CentralLaplace`, but approximate: the sum of the fits changes by at most ``2 * steps`` in
    the L2 norm too, and the variance is the least that makes Gaussian noise (epsilon,
    delta)-private (Balle and Wang, 2018), plus the 4 squared steps for which the proof holds for
    noise on a lattice. It costs ``rho = (2 * steps)**2 / (2 variance)`` of zero-concentrated loss.
    """

    name = "central-gaussian"
