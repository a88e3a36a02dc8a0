"""Bounded fits: each voter's whole preference as one vector on a grid, masked in three ways.

Algorithms 1 and 2 of Wang et al. (2019): noise of a trusted aggregator (their VLCP and RLCP), of
each voter (VLDP and RLDP), or of all voters together through a secure sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Coins, Words, require_coins
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA
from masquerade.exact.number import NumberLike, finite, in_range
from masquerade.preference.composition import Composition, Estimate, Reports, Sensitivity, Unit
from masquerade.preference.l1_ball import STEPS, on_grid
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import Release
from masquerade.preference.other_voters import reports_show_spread, spread_of_reports
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.secure_sum import SecureSum, SecureTrust, SimulatedSecureSum
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.trust import Aggregator, Device
from masquerade.preference.vector_noise import LAPLACE, AdditiveNoise

DEFAULT_BOUND = Fraction(2)
#: Of a fit on the grid, when all records of its voter change: two points of the ball at most two
#: radii apart, in both norms. It is attained by opposite corners.
SENSITIVITY = Sensitivity(absolute=2 * STEPS, euclidean=2 * STEPS)


def read_bound(bound: NumberLike) -> Fraction:
    """Return the bound as a fraction above 0."""
    number = finite(bound, "bound")
    in_range(number, "bound", above=0, high=10**6)
    return number


def fits_on_grid(records: Comparisons, bound: Fraction) -> Integers:
    """Return each voter's fit in steps of ``bound / STEPS``, shape (n_voters, n_features).

    The fit of a voter does not depend on the other voters in a single bit; see `fit_voters`. Else
    one voter could change more than one row, and the sensitivity would be larger than claimed.

    The result: absolute values of a row add to at most `STEPS`, exactly.
    """
    # A fit that did not converge is still in the ball, and privacy depends on nothing else.
    fits = fit_voters(records, bound=float(bound)).weights
    return on_grid(np.nan_to_num(fits), bound)


@dataclass(frozen=True, slots=True)
class BoundedFit:
    """Each voter's fit under an L1 bound, on a grid.

    `bound`: largest sum of a voter's absolute weights (B).
    """

    bound: NumberLike = DEFAULT_BOUND

    units: ClassVar[tuple[Unit, ...]] = ("voter", "record")
    whole_voter: ClassVar[bool] = True
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", read_bound(self.bound))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's fit in grid steps; see `fits_on_grid`."""
        return fits_on_grid(records, read_bound(self.bound))

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far a fit moves when all records of its voter change."""
        return SENSITIVITY

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the largest variance between fits, whose squares add to at most the bound's."""
        # Of vectors whose squares add to at most B**2, the mean square a feature is B**2 / d.
        bound = float(read_bound(self.bound))
        return np.full(len(variance), bound**2 / features), variance * (bound / STEPS) ** 2

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the (weighted) mean of the fits."""
        bound = float(read_bound(self.bound))
        # Of the mean: Laplace noise of scale 2 B / (N epsilon) (Wang et al. 2019, Algorithm 1).
        step = bound / STEPS / reports.voters
        noise = np.eye(reports.features) * (reports.total_variance * step**2)
        if reports_show_spread(reports):
            spread = spread_of_reports(reports.rows * step, reports.shares)
            sampling = at_least_zero(spread - noise)
        else:
            # The bound of `spread`, over the voters: how their fits differ is private.
            between = bound**2 / reports.features / reports.voters
            sampling = between * float(reports.shares @ reports.shares) * np.eye(reports.features)
        return Estimate(
            reports.total * step,
            noise,
            sampling,
            details={"bound": bound},
        )


@dataclass(frozen=True)
class CentralLaplace(PrivateMechanism):
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

    unit: Unit = "voter"
    bound: NumberLike = DEFAULT_BOUND

    name = "central-laplace"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return the mean of fits with Laplace noise of an aggregator."""
        return Composition(BoundedFit(self.bound), LAPLACE, Aggregator())


@dataclass(frozen=True)
class CentralGaussian(PrivateMechanism):
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

    Examples
    --------
    >>> CentralGaussian(epsilon=1).unit, str(CentralGaussian(epsilon=1))
    ('voter', 'central-gaussian:epsilon=1')
    """

    unit: Unit = "voter"
    bound: NumberLike = DEFAULT_BOUND
    delta: NumberLike = DEFAULT_DELTA

    name = "central-gaussian"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return the mean of fits with Gaussian noise of an aggregator."""
        noise = AdditiveNoise.gaussian(self.delta)
        return Composition(BoundedFit(self.bound), noise, Aggregator())


@dataclass(frozen=True)
class LocalLaplace(PrivateMechanism):
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

    Examples
    --------
    >>> LocalLaplace(epsilon=1).unit, str(LocalLaplace(epsilon=1))
    ('voter', 'local-laplace:epsilon=1')
    """

    unit: Unit = "voter"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    bound: NumberLike = DEFAULT_BOUND

    name = "local-laplace"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return fits with Laplace noise of each voter."""
        return Composition(BoundedFit(self.bound), LAPLACE, Device(self.weights, self.most))


@dataclass(frozen=True)
class LocalGaussian(PrivateMechanism):
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

    Examples
    --------
    >>> LocalGaussian(epsilon=1).unit, str(LocalGaussian(epsilon=1))
    ('voter', 'local-gaussian:epsilon=1')
    """

    unit: Unit = "voter"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    bound: NumberLike = DEFAULT_BOUND
    delta: NumberLike = DEFAULT_DELTA

    name = "local-gaussian"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return fits with Gaussian noise of each voter."""
        noise = AdditiveNoise.gaussian(self.delta)
        return Composition(BoundedFit(self.bound), noise, Device(self.weights, self.most))


@dataclass(frozen=True)
class SecureLaplace(PrivateMechanism):
    """The accuracy of `CentralLaplace` without an aggregator that sees anybody's preference.

    Each voter adds a share of the noise to a bounded fit, and a secure sum shows only the total.

    Parameters
    ----------
    epsilon : number
    unit : {"voter", "record"}
    bound : number
        Largest sum of a voter's absolute weights.
    honest : int, optional
        How many voters, at least, draw their share honestly and stay until the end. Shares are
        sized for that many, so if fewer do the promise is broken, and if more do the noise is
        larger than needed. Default: two thirds of the voters.
    secure_sum : SecureSum
        Default: a simulation in this process, which the guarantee then says.

    Privacy
    -------
    Protects each voter, with all records, from everybody, provided that at least `honest` voters
    are honest and that the secure sum shows nothing but the total modulo 2**64. The shares of
    `honest` voters add to exactly the noise of `CentralLaplace`; what others add is independent of
    it and cannot make it less.

    Examples
    --------
    >>> SecureLaplace(epsilon=1).unit, str(SecureLaplace(epsilon=1))
    ('voter', 'secure-laplace:epsilon=1')
    """

    unit: Unit = "voter"
    bound: NumberLike = DEFAULT_BOUND
    honest: int | None = None
    secure_sum: SecureSum = field(default_factory=SimulatedSecureSum, compare=False, repr=False)

    name = "secure-laplace"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return the mean of fits with Laplace noise that all voters draw together."""
        return Composition(BoundedFit(self.bound), LAPLACE, self._trust)

    @property
    def _trust(self) -> SecureTrust:
        return SecureTrust(self.honest, self.secure_sum)

    def vectors(self, records: Comparisons, *, voters: int, coins: Coins | None = None) -> Words:
        """Return what each voter puts into the secure sum, shape (n_voters, n_features).

        A voter's device calls this with its own records and the public number of voters.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        """
        source = require_coins(coins)
        self.check(records)
        epsilon = self.epsilons()
        assert isinstance(epsilon, Fraction)
        return self._trust.vectors(self.compose(), records, epsilon, source, voters=voters)

    def combine(self, total: Words | Sequence[int], *, voters: int) -> Release:
        """Return weights from the total that the secure sum shows."""
        epsilon = self.epsilons()
        assert isinstance(epsilon, Fraction)
        words = np.asarray(total, dtype=np.uint64)
        reports = self._trust.report(self.compose(), words, epsilon, voters=voters)
        nobodys = np.zeros(voters, dtype=np.int64)  # under this unit they are not counted
        return self._publish(reports, [epsilon] * voters, nobodys, None)

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        return {key: text for key, text in super().fields().items() if key != "secure_sum"}
