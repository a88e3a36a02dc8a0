"""A voter's whole preference as one direction, and PrivUnit, which adds noise to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaln, ndtri

from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import text_of
from masquerade.preference.composition import (
    Composition,
    Fidelity,
    Sensitivity,
    Unit,
)
from masquerade.preference.directions import VoterDirection, direction_fidelity
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import Device

#: Above, floating point can no longer draw a report from outside the cap as often as it has to.
MOST_EPSILON = 20

_GRID = np.arange(0, 100) / 100  # thresholds that are tried
_LEAST_MASS = 1e-200  # share of the sphere; smaller caps are not tried


@dataclass(frozen=True, slots=True)
class Cap:
    """The part of the sphere near a voter's direction that reports come from more often."""

    threshold: float  # inner product with the direction from which on a point is in the cap (gamma)
    inside_probability: float  # with which a report comes from the cap
    # inside_mass, outside_mass: shares of the whole sphere in the cap and outside; kept apart, for
    # a cap can be tiny.
    inside_mass: float
    outside_mass: float
    mean: float  # mean inner product of a report with the direction
    mean_square: float  # mean square of that inner product


@lru_cache(maxsize=4096)
def best_cap(epsilon: Fraction, features: int) -> Cap:
    """Return the cap with the greatest mean, its threshold a multiple of 0.01.

    Raises `ParameterError`: epsilon is above 20. At 40, the probability of a report from the cap is
    1 when rounded, and one report can then rule a direction out: an infinite loss.
    """
    if epsilon > MOST_EPSILON:
        raise ParameterError(
            f"epsilon is {text_of(epsilon)}, and privunit draws in floating point, which keeps its "
            f"promise up to {MOST_EPSILON} only; take a smaller epsilon, or direction-selection, "
            "which draws whole numbers."
        )
    growth = math.exp(float(epsilon))
    if features == 1:
        # The sphere is two points: randomized response on the sign.
        inside = growth / (1 + growth)
        return Cap(0.0, inside, 0.5, 0.5, 2 * inside - 1, 1.0)
    # The square of a coordinate of a random point has a beta(1/2, (d - 1) / 2) distribution, which
    # gives the mass beyond each threshold gamma of the grid.
    half = (features - 1) / 2
    beyond = 0.5 * betaincc(0.5, half, _GRID**2)
    grid = _GRID[beyond > _LEAST_MASS]
    beyond = beyond[: len(grid)]
    outside = 0.5 + 0.5 * betainc(0.5, half, grid**2)
    # The largest probability of the cap with density ratio e**epsilon between inside and outside:
    # (p / q_in) / ((1 - p) / q_out) = e**epsilon (the specification, 5.4 c).
    inside = beyond * growth / (outside + beyond * growth)
    # integral of t from the threshold to 1, under the density of one coordinate of the sphere
    moment = np.exp(half * np.log1p(-(grid**2)) - betaln(0.5, half)) / (features - 1)
    mean = (inside / beyond - (1 - inside) / outside) * moment
    best = int(np.argmax(mean))
    # the square of a coordinate has a beta distribution, so its mean beyond a square is another's
    squares = 0.5 * betaincc(1.5, half, grid[best] ** 2) / features
    mean_square = inside[best] / beyond[best] * squares
    mean_square += (1 - inside[best]) / outside[best] * (1 / features - squares)
    return Cap(
        float(grid[best]),
        float(inside[best]),
        float(beyond[best]),
        float(outside[best]),
        float(mean[best]),
        float(mean_square),
    )


@dataclass(frozen=True, slots=True)
class CapNoise:
    """A random point of the sphere that is more often in the cap around the voter's direction."""

    hardened: ClassVar[bool] = False
    replacement: ClassVar[str | None] = "direction-selection"
    delta: ClassVar[Fraction] = Fraction(0)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Floats:
        """Return a point of the sphere for each row, shape (n_voters, n_features)."""
        sums = rows.astype(np.float64)
        voters, d = sums.shape
        fresh = ndtri(_uniform(source, voters * d)).reshape(voters, d)
        empty = ~sums.any(axis=1)
        sums[empty] = fresh[empty]  # nothing to say: a random direction, so a uniform report
        own = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        cap = best_cap(epsilon, d)
        # Whether in the cap, then a uniform mass within it (or outside), turned into a height.
        inside = _uniform(source, voters) < cap.inside_probability
        level = _uniform(source, voters)
        if d == 1:
            signed: Floats = np.where(inside[:, None], own, -own)
            return signed
        # The smaller of the sphere's shares on either side of the point, and the side it is on.
        above = np.where(inside, cap.inside_mass * level, 1 - cap.outside_mass * level)
        side = np.where(above <= 0.5, 1.0, -1.0)
        tail = np.where(above <= 0.5, above, cap.outside_mass * level)
        along = side * np.sqrt(betainccinv(0.5, (d - 1) / 2, 2 * tail))
        # The rest of the point is uniform on the sphere across the direction: a Gaussian vector
        # without its part along it, brought to length 1.
        across = ndtri(_uniform(source, voters * d)).reshape(voters, d)
        across -= (across * own).sum(axis=1, keepdims=True) * own
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        point: Floats = along[:, None] * own + np.sqrt(1 - along**2)[:, None] * across
        return point

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return epsilon for each unit; there is one a voter."""
        return Micro.of_amount(epsilon * units)

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return how near reports are to their directions."""
        cap = best_cap(epsilon, size)
        return direction_fidelity(cap.mean, cap.mean_square, size)


def _uniform(source: WordSource, size: int) -> Floats:
    """Return floats between 0 and 1, neither of them included."""
    # 52 bits and a half: never 0 or 1, where the normal quantile is infinite.
    words = source.words(size) >> np.uint64(12)
    uniform: Floats = (words.astype(np.float64) + 0.5) * 2.0**-52
    return uniform


@dataclass(frozen=True)
class PrivUnit(PrivateMechanism):
    """Each voter sends a random direction that is more often near the voter's own.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter; at most 20.
    unit : {"voter", "record"}
        Both have the same noise, and under either a whole voter is protected.
    weights, most
        How much each voter counts; see `voter_weights`.

    Privacy
    -------
    Protects each voter, with all records and their number, from everybody but the voter's own
    device, at epsilon: with real numbers, any report is at most ``e**epsilon`` times likelier under
    one direction than under another. The noise is drawn in floating point, whose last bits can give
    a direction away, so the mechanism is **not hardened** and refuses an epsilon above 20, from
    where rounding would break the promise outright; `DirectionSelection` does the same work with
    whole numbers. About half the epsilon of `LocalLaplace` gives the same accuracy.

    References
    ----------
    Bhowmick, Duchi, Freudiger, Kapoor and Rogers (2018).

    Examples
    --------
    >>> PrivUnit(epsilon=1).unit, str(PrivUnit(epsilon=1))
    ('voter', 'privunit:epsilon=1')
    """

    unit: Unit = "voter"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL

    name = "privunit"
    units = VoterDirection.units

    def __post_init__(self) -> None:
        PrivateMechanism.__post_init__(self)
        epsilons = self.epsilons()
        best_cap(max(epsilons) if isinstance(epsilons, tuple) else epsilons, 1)

    def compose(self) -> Composition:
        """Return voters' directions, masked by caps."""
        return Composition(VoterDirection(), CapNoise(), Device(self.weights, self.most))
