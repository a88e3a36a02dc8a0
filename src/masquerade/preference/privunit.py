"""PrivUnit: a voter's whole preference as one noisy direction."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaln, ndtri

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact import Loss
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import text_of
from masquerade.preference.direction import direction
from masquerade.preference.integer_vectors import sums_by_voter, whole_directions
from masquerade.preference.local_vectors import Collected, LocalVectorMechanism
from masquerade.preference.mechanism import Release, Unit

MOST_EPSILON = 20
"""Above, floating point can no longer draw a report from outside the cap as often as it has to."""

_GRID = np.arange(0, 100) / 100
_LEAST_MASS = 1e-200


@dataclass(frozen=True, slots=True)
class Cap:
    """The part of the sphere near a voter's direction that reports come from more often.

    Attributes
    ----------
    threshold : float
        Inner product with the direction from which on a point is in the cap (gamma).
    inside_probability : float
        With which a report comes from the cap.
    inside_mass, outside_mass : float
        Shares of the whole sphere in the cap and outside; kept apart, for a cap can be tiny.
    mean : float
        Mean inner product of a report with the direction.
    mean_square : float
        Mean square of that inner product.
    """

    threshold: float
    inside_probability: float
    inside_mass: float
    outside_mass: float
    mean: float
    mean_square: float


@lru_cache(maxsize=4096)
def best_cap(epsilon: Fraction, features: int) -> Cap:
    """Return the cap with the greatest mean, its threshold a multiple of 0.01.

    Raises
    ------
    ParameterError
        Epsilon is above 20. At 40, the probability of a report from the cap is 1 when rounded, and
        one report can then rule a direction out: an infinite loss.
    """
    if epsilon > MOST_EPSILON:
        raise ParameterError(
            f"epsilon is {text_of(epsilon)}, and privunit draws in floating point, which keeps its "
            f"promise up to {MOST_EPSILON} only; take a smaller epsilon, or direction-selection, "
            "which draws whole numbers."
        )
    growth = math.exp(float(epsilon))
    if features == 1:
        inside = growth / (1 + growth)
        return Cap(0.0, inside, 0.5, 0.5, 2 * inside - 1, 1.0)
    half = (features - 1) / 2
    beyond = 0.5 * betaincc(0.5, half, _GRID**2)
    grid = _GRID[beyond > _LEAST_MASS]
    beyond = beyond[: len(grid)]
    outside = 0.5 + 0.5 * betainc(0.5, half, grid**2)
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


def voter_directions(records: Comparisons) -> Integers:
    """Return the sum of the directions that each voter chose, shape (n_voters, n_features)."""
    return sums_by_voter(whole_directions(records.scaled()), records.offsets)


@dataclass(frozen=True)
class DirectionReports(LocalVectorMechanism):
    """Reports that are points around a voter's direction."""

    unit: Unit = "voter"

    units = ("voter", "record")
    hides_records = True

    @abstractmethod
    def cosine_moments(self, epsilon: Fraction, features: int) -> tuple[float, float]:
        """Return the mean inner product of a report with the voter's direction, and its square's.

        Both are of length 1.
        """

    def combine(self, collected: Collected) -> Release:
        """Return the direction of the weighted mean of the reports, each made unbiased."""
        rows, epsilons, features = collected.rows, collected.epsilons, collected.features
        length = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        units = rows / np.where(length > 0, length, 1)
        known = {each: self.cosine_moments(each, features) for each in set(epsilons)}
        cosine, square = np.array([known[each] for each in epsilons]).T
        between = np.full(len(cosine), 1 / features)
        noise = (1 / cosine**2 - 1) / features
        shares, details = self._shares(epsilons, between, noise)
        spread = _spread_around_directions(units, shares / cosine, cosine, square)
        weights, covariance = direction((shares / cosine) @ units, spread)
        loss = max(Loss.of_amount(each) for each in known)
        return Release(
            weights=weights,
            noise_covariance=covariance,
            guarantee=self._guarantee("local", loss, loss, ()),
            mechanism=str(self),
            direction_only=True,
            details=details,
        )


def _spread_around_directions(
    units: Floats, factor: Floats, cosine: Floats, square: Floats
) -> Floats:
    """Return the covariance of the noise in the sum of `factor` times reports.

    Along its voter's direction a report varies by ``square - cosine**2``, across it by what is left
    of its length. Where directions lie is seen from the reports, which lie around them.
    """
    d = units.shape[1]
    across = (1 - square) / max(d - 1, 1)
    along = square - cosine**2
    says = factor**2 * (square - across)  # what a report shows of where its direction lies
    total = float(says.sum())
    lie = np.eye(d) / d
    if total > 0:
        seen = (units * (factor**2)[:, None]).T @ units - float(factor**2 @ across) * np.eye(d)
        values, axes = np.linalg.eigh(seen / total)
        values = np.maximum(values, 0)
        lie = (axes * (values / max(float(values.sum()), 1e-300))) @ axes.T
    covariance: Floats = float(factor**2 @ across) * np.eye(d)
    covariance += float(factor**2 @ (along - across)) * lie
    return covariance


@dataclass(frozen=True)
class PrivUnit(DirectionReports):
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
    """

    name = "privunit"
    hardened = False
    replacement = "direction-selection"

    def __post_init__(self) -> None:
        super().__post_init__()
        epsilons = self.epsilons()
        best_cap(max(epsilons) if isinstance(epsilons, tuple) else epsilons, 1)

    def cosine_moments(self, epsilon: Fraction, features: int) -> tuple[float, float]:
        """Return the mean inner product of a report with the direction, and its square's mean."""
        cap = best_cap(epsilon, features)
        return cap.mean, cap.mean_square

    def _report_rows(self, records: Comparisons, epsilon: Fraction, source: WordSource) -> Floats:
        """Return a point of the sphere for each voter, shape (n_voters, n_features)."""
        sums = voter_directions(records).astype(np.float64)
        voters, d = sums.shape
        fresh = ndtri(_uniform(source, voters * d)).reshape(voters, d)
        empty = ~sums.any(axis=1)
        sums[empty] = fresh[empty]  # nothing to say: a random direction, so a uniform report
        own = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        cap = best_cap(epsilon, d)
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
        across = ndtri(_uniform(source, voters * d)).reshape(voters, d)
        across -= (across * own).sum(axis=1, keepdims=True) * own
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        point: Floats = along[:, None] * own + np.sqrt(1 - along**2)[:, None] * across
        return point


def _uniform(source: WordSource, size: int) -> Floats:
    """Return floats between 0 and 1, neither of them included."""
    words = source.words(size) >> np.uint64(12)
    uniform: Floats = (words.astype(np.float64) + 0.5) * 2.0**-52
    return uniform
