"""Private histograms, from which any number of points is drawn: the engines `hist` and `hist2`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import discrete_laplace, scale_rounded_up
from masquerade.exact.number import NumberLike, finite, positive, whole
from masquerade.release.grouped_claims import GroupedClaims
from masquerade_papers.priscrowd.bandwidth import own_bandwidth
from masquerade_papers.priscrowd.engines import Data, PrivateEngine, claims_of
from masquerade_papers.priscrowd.grid import MOST_BINS, Grid, bins_by_rule, nearest_counts
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.release import Release

#: Weights of users are whole numbers of such parts, so that noise stays exact.
UNITS_OF_WEIGHT = 256

LEAST_WEIGHT = 0.05

OWN = "own"


@dataclass(frozen=True, kw_only=True)
class Histogram(PrivateEngine):
    """Count each object's claims in public bins, add exact noise, and draw points from the result.

    Parameters
    ----------
    bins : int, optional
        Public number of bins; default ``4 sqrt(n epsilon / 2)``, from 8 to 80, with the number of
        claims n and the object's epsilon. With a `step` in the domain never more than answers.
    bandwidth : number or "own", optional
        Public least width of the bumps of the released density, which are half a bin wide (an
        eighth in `PooledHistogram`) where that is more. ``"own"``, for `hist` and `hist2`: that of
        `own_bandwidth`, computed from the released shares.
    reliability : mapping of user to weight, optional
        Public weights, 0.05 to 1 (others are moved there), for instance from questions with known
        answers. Users that are not named have weight 1. Weights learnt from these claims are not
        public.

    Privacy
    -------
    Protects the unit, with pure epsilon, against everybody who sees the release; the collector is
    trusted. Replacing one claim changes two counts of one object by at most 1 each; two-sided
    geometric noise of scale 2 / epsilon on every count costs epsilon once, whatever is drawn
    afterwards. With the unit ``"user"`` that holds for each of at most `cap` objects with
    epsilon / cap. The noise is drawn in whole numbers; see `masquerade.exact.noise`.

    Examples
    --------
    >>> engine = Histogram(epsilon=1, domain=(0, 10))
    >>> engine.unit, engine.cap
    ('claim', 10)
    """

    name: ClassVar[str] = "hist"
    #: Whether ``bandwidth="own"`` can be asked for.
    has_own_bandwidth: ClassVar[bool] = True

    bins: int | None = None
    bandwidth: NumberLike | None = None
    reliability: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins is not None:
            whole(self.bins, "bins", low=1, high=MOST_BINS)
        if self.bandwidth == OWN and not self.has_own_bandwidth:
            raise ParameterError(f"{self.name} chooses its bumps itself; leave bandwidth=own out.")
        if self.bandwidth not in (None, OWN):
            object.__setattr__(self, "bandwidth", float(positive(self.bandwidth, "bandwidth")))

    @property
    def hides_participation(self) -> bool:
        """Whether the pairs of user and object with a claim are private."""
        return False

    def public(self) -> tuple[str, ...]:
        """Return the facts that are taken for public."""
        choices = {
            f"the number of bins, {self.bins}": self.bins,
            f"the bandwidth, {self.bandwidth}": self.bandwidth not in (None, OWN),
            "the users' weights, which were given": self.reliability,
        }
        return (*super().public(), *(words for words, value in choices.items() if value))

    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        claims = claims_of(data)
        grid = self.grid(claims, self.epsilon_of_object)
        share = self.shares(claims, grid, source)
        return self.release(claims, grid, self.mixtures(grid, share, claims), samples, source)

    def grid(self, claims: GroupedClaims, epsilon: Fraction) -> Grid:
        """Return the public bins for an epsilon of each object."""
        wanted = (
            bins_by_rule(claims.count, float(epsilon))
            if self.bins is None
            else np.full(claims.n_objects, self.bins)
        )
        return Grid.of(claims, self.public_domain, wanted)

    def shares(self, claims: GroupedClaims, grid: Grid, source: WordSource) -> Floats:
        """Return the private share of each bin, shape (n_bins,); 0 where there are no claims."""
        if self.reliability is None:
            noisy = noisy_counts(claims, grid, None, self.epsilon_of_object, source)
            return shares_of(noisy, claims.count.astype(np.float64), grid)
        weight = public_weights(self.reliability, claims)[claims.user]
        largest = largest_weights(weight, claims)
        sums = noisy_counts(claims, grid, weight, self.epsilon_of_object, source, largest)
        # The weights are public, and so is the total of each object.
        total = np.bincount(claims.object, weight, claims.n_objects).astype(np.float64)
        return shares_of(sums, total, grid)

    def mixtures(self, grid: Grid, share: Floats, claims: GroupedClaims) -> Mixtures:
        """Return the densities with these shares of the bins."""
        if self.bandwidth != OWN:
            return self.smoothed(grid.mixtures(share))
        width, n = grid.width / 2, claims.count.astype(np.float64)
        for bins in np.unique(grid.bins).tolist():
            of = np.flatnonzero((grid.bins == bins) & (n > 0))
            own = own_bandwidth(
                share[grid.offset[of, None] + np.arange(bins)], grid.width[of], n[of]
            )
            width[of] = np.maximum(width[of], own)
        return grid.mixtures(share, width)

    def smoothed(self, mixtures: Mixtures) -> Mixtures:
        """Return the densities with bumps at least as wide as the public bandwidth."""
        if self.bandwidth is None:
            return mixtures
        width = np.maximum(mixtures.width, float(self.bandwidth))
        return Mixtures(mixtures.offset, mixtures.location, mixtures.weight, width)

    def release(
        self,
        claims: GroupedClaims,
        grid: Grid,
        densities: Mixtures,
        samples: int,
        source: WordSource,
        points: Mixtures | None = None,
        **parameters: Any,
    ) -> Release:
        """Return the release of densities that are private already: further steps are free.

        `points`: densities that points are drawn from; default: those that are released.
        """
        # an object has bumps where it has claims, and that is public: the status tells nothing more
        known = np.diff(densities.offset) > 0
        counts = np.where(known, samples, 0)
        of = np.repeat(np.arange(claims.n_objects), counts)
        low, high = self.public_domain.ends(claims.objects)
        drawn = (densities if points is None else points).sample(counts, source)
        beyond = (claims.value < low[claims.object]) | (claims.value > high[claims.object])
        typical = {}
        if not self.hides_participation and known.any():
            # how many claims each object has is public then, and so is their median
            typical = {"typical_claims": int(np.median(claims.count[known]))}
        return Release(
            self.name,
            claims.objects,
            np.concatenate(([0], np.cumsum(counts))),
            self.public_domain.rounded(drawn, low[of], high[of]),
            tuple(np.where(known, "ok", "empty").tolist()),
            densities,
            self.guarantee(),
            {
                "epsilon_of_object": float(self.epsilon_of_object),
                "domain": str(self.public_domain),
                "samples": samples,
                "bins": [int(grid.bins.min()), int(grid.bins.max())],
                **({} if self.bandwidth is None else {"smoothing": self.bandwidth}),
                **typical,
                **parameters,
            },
            {"outside_domain": int(beyond.sum()), "dropped": claims.dropped},
        )


def noisy_counts(
    claims: GroupedClaims,
    grid: Grid,
    weight: Integers | None,
    epsilon: Fraction,
    source: WordSource,
    largest: Integers | None = None,
    *,
    moved: int = 2,
) -> Integers:
    """Return the count of each bin plus exact two-sided geometric noise, shape (n_bins,).

    Shapes: `weight` (n_claims,): 1 to `UNITS_OF_WEIGHT`; counts are then sums of weights. `largest`
    (n_objects,): the largest weight of each object, where weights are public. `epsilon`: of each
    object. `moved`: how many counts of an object two neighbours tell apart: 2 where a value is
    replaced, 1 where a claim is added or removed.

    Privacy
    -------
    One value replaced, its user's weight changed or not, moves two counts of its object by at most
    the largest weight each: an L1 distance of at most 2 largest. With P(noise = z) proportional to
    ``exp(-|z| epsilon / (2 largest))``, independent in every bin, the probability of any vector of
    noisy counts changes by at most the factor ``exp(epsilon)``.
    """
    at, bins = grid.bin_of(claims), int(grid.offset[-1])
    if weight is None:
        counts = np.bincount(at, minlength=bins)
        largest = np.ones(claims.n_objects, dtype=np.int64)
    else:
        # exact: sums of whole numbers far below 2**53
        counts = np.bincount(at, weight, bins).astype(np.int64)
        if largest is None:
            # weights that are not public: a replaced user may have had any
            largest = np.full(claims.n_objects, UNITS_OF_WEIGHT)
    noise = np.empty(bins, dtype=np.int64)
    of_bin = largest[grid.object]
    for size in np.unique(of_bin).tolist():
        # sensitivity moved * largest over epsilon, rounded up: never too little
        scale = scale_rounded_up(moved * size / epsilon)
        # empty bins get noise too: one left out would show that no claim is in it
        chosen = np.flatnonzero(of_bin == size)
        noise[chosen] = discrete_laplace(source, scale, len(chosen))
    return np.asarray(counts + noise)


def largest_weights(weight: Integers, claims: GroupedClaims) -> Integers:
    """Return the largest public weight among each object's users, 1 without any, (n_objects,).

    A mean weight would not do: a value of a user with four times the mean moves its counts by four
    times as much.
    """
    largest = np.ones(claims.n_objects, dtype=np.int64)
    np.maximum.at(largest, claims.object, weight)
    return largest


def shares_of(noisy: Integers | Floats, total: Floats, grid: Grid) -> Floats:
    """Return the nearest shares to noisy counts; 0 for objects with a total of 0."""
    safe = np.where(total > 0, total, 1.0)
    shares = nearest_counts(noisy.astype(np.float64), safe, grid.bins) / safe[grid.object]
    return np.where((total > 0)[grid.object], shares, 0.0)


def public_weights(weights: Mapping[Any, float], claims: GroupedClaims) -> Integers:
    """Return each user's public weight in whole units, 1 for users without, shape (n_users,)."""
    users = claims.users.to_pylist()
    if weights and not any(user in weights for user in users):
        raise ParameterError(
            f"the weights are of {list(weights)[:5]}, and none of these made a claim; the claims "
            f"are of {users[:5]}. A name as a text is not the same name as a number."
        )
    known = {u: _public_weight(u, weight) for u, weight in weights.items()}
    return in_units(np.array([known.get(user, 1.0) for user in users], dtype=np.float64))


def _public_weight(user: Any, weight: NumberLike) -> float:
    if isinstance(weight, float) and math.isfinite(weight):
        return weight  # its shortest decimal form, read as a fraction, is it again
    return float(finite(weight, f"the weight of user {user!r}"))


def in_units(weight: Floats) -> Integers:
    """Return weights, moved to 0.05 to 1, in whole units."""
    return np.rint(np.clip(weight, LEAST_WEIGHT, 1.0) * UNITS_OF_WEIGHT).astype(np.int64)
