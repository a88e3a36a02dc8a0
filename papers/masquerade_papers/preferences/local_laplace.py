"""Bounded fits with noise of each voter: Algorithm 2 of Wang et al. (2019), their VLDP and RLDP."""

from __future__ import annotations

from dataclasses import dataclass

from masquerade.exact.number import NumberLike
from masquerade.preference.composition import Composition, Unit
from masquerade.preference.mechanism import register
from masquerade.preference.mechanisms.central_laplace import DEFAULT_BOUND, BoundedFit
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import Device
from masquerade.preference.vector_noise import LAPLACE


@register
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
