"""Private histograms read by their posterior: the engines `claims`, `source` and `wiener`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee
from masquerade.exact.coins import WordSource
from masquerade.exact.number import NumberLike, positive, whole
from masquerade.release.engine import Data, claims_of
from masquerade.release.finish import (
    NoisyHistograms,
    Target,
    drawn_together,
    finish,
    spread_factor,
)
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.guarantee import release_guarantee
from masquerade.release.histogram import (
    OWN,
    Histogram,
    largest_weights,
    noisy_counts,
    public_weights,
)
from masquerade.release.mixtures import Mixtures
from masquerade.release.planner import Plan
from masquerade.release.release import Release


@dataclass(frozen=True, kw_only=True)
class PosteriorHistogram(Histogram):
    """Counts with exact noise, and what claims they mean, knowing all objects' counts.

    The noisy counts are as those of `hist`, at the same cost; bins are centred and odd, so that the
    middle and the ends of the domain are middles of bins. The density is the posterior mean of the
    claims' shares given the noisy counts, the known number of claims, and what all objects have in
    common (templates with one bump or two, and rough shapes), with the bandwidth that these
    shares themselves ask for. It resembles the claims that were made.

    Parameters
    ----------
    bins, bandwidth, reliability
        See `Histogram`; the default number of bins is odd, from 9 to 41, and the default bandwidth
        that of the released shares. Weights are used where claims times epsilon are at least 70,
        and else ignored.
    spread : number, optional
        Public guess of the standard deviation of the claims about one object; say it where claims
        are tight and the domain wide.
    keep_spread : bool
        Draw points together where they would be more than a fifth too wide, by an estimate from the
        noisy counts of at least 100 objects. Densities stay as they are.
    objects : sequence of names, optional
        The public list of objects, chosen without looking at the claims. With it participation is
        private: who claimed anything, and how many claims an object has. Every listed object is
        released, claims about others are left out without a trace, `expected` is needed, and
        public weights are not taken.
    expected : int, optional
        Public guess of the number of claims about an object; only with `objects`.

    Privacy
    -------
    Protects the unit, with pure epsilon, against everybody who sees the release; the collector is
    trusted. With the unit ``"claim"`` neighbours are two tables where one value is replaced by any
    other value about the same object by the same user. With ``"user"``, all values of one user,
    about at most `cap` objects, are replaced, about the same objects. Neither hides that a user
    took part, nor an object that a single user named.

    Claim: a replaced value lowers one count of one object by its user's weight r and raises another
    by r, or changes nothing: an L1 distance of at most 2 r, and r is at most the largest weight
    R among the object's users, which is public. Every bin has independent noise with P(z)
    proportional to ``exp(-|z| epsilon / (2 R))``, so the probabilities of any vector of counts have
    a ratio of at most ``exp(2 r epsilon / (2 R)) <= exp(epsilon)``; with r = R it is reached.

    User: the cap's choice looks at participation only, so it can be taken as fixed; a replaced user
    has at most C values left, about C different objects, each with epsilon / C and fresh noise.
    The ratios multiply: ``exp(epsilon)``.

    With `objects`: neighbours are two tables where one claim about a listed object is added or
    removed, or one user with all claims about at most `cap` listed objects. The cap chooses for
    each user alone. One count of an object moves by 1, the noise has the scale 1 / epsilon (of the
    object): ``exp(epsilon)``. A value that is replaced or moved is two such steps and costs twice.

    All else (`masquerade.release.finish.finish`, the points) is computed from the noisy counts and
    from what is public, with coins of its own: post-processing, which is free. Errors and warnings
    are not covered: they are for the collector.

    Examples
    --------
    >>> PosteriorHistogram(epsilon=1, domain=(0, 10)).unit
    'claim'
    """

    name: ClassVar[str] = "claims"
    beside: ClassVar[tuple[str, ...]] = ("domain", "objects")
    has_own_bandwidth: ClassVar[bool] = False
    #: What densities should resemble.
    target: ClassVar[Target] = "claims"
    #: Whether all objects are read by shrinkage.
    shrinks: ClassVar[bool] = False

    spread: NumberLike | None = None
    keep_spread: bool = False
    objects: Sequence[Any] | None = None
    expected: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread is not None:
            object.__setattr__(self, "spread", float(positive(self.spread, "spread")))
        if self.expected is not None:
            whole(self.expected, "expected", low=1)
        if (self.objects is None) != (self.expected is None):
            raise ParameterError(
                "a public list of objects and the expected number of claims go together: without "
                "the list every object that has a claim is shown, and without the number the bins "
                "would follow from the claims. Give both, or neither."
            )
        if self.objects is not None:
            object.__setattr__(self, "objects", tuple(self.objects))
            if not self.objects:
                raise ParameterError("the list of objects is empty; name at least one.")
            if self.reliability is not None:
                raise ParameterError(
                    "weights show who made a claim about an object, which a list of objects "
                    "hides; leave reliability out, or objects."
                )

    @property
    def hides_participation(self) -> bool:
        """Whether it is private who claimed anything about which object."""
        return self.objects is not None

    def public(self) -> tuple[str, ...]:
        """Return what is taken for public."""
        known = super().public()
        if self.spread is not None:
            known += (f"the spread of claims, {self.spread}, which was given",)
        if not self.hides_participation:
            return known
        listed = (
            "the list of objects, which was given",
            f"the expected number of claims about an object, {self.expected}, which was given",
        )
        return (known[0], *listed, *known[2:])

    def guarantee(self) -> Guarantee:
        """Return what a release promises; it depends on no claim."""
        return release_guarantee(
            self.unit,
            self.exact_epsilon,
            cap=self.cap,
            public=self.public(),
            delta=self.exact_delta,
            participation=self.hides_participation,
        )

    def within_cap(self, claims: GroupedClaims, source: WordSource) -> GroupedClaims:
        """Return the claims that are used: about listed objects, at most `cap` of a user."""
        listed = claims if self.objects is None else claims.about(self.objects)
        return super().within_cap(listed, source)

    def plan(self, claims: GroupedClaims) -> Plan:
        """Return how each object is counted; numbers of claims are used where they are public."""
        low, high = self.public_domain.ends(claims.objects)
        step = self.public_domain.step
        plan = Plan.of(
            claims.count
            if self.expected is None
            else np.full(claims.n_objects, self.expected, dtype=np.int64),
            float(self.epsilon_of_object),
            low,
            high,
            step=None if step is None else float(step),
            spread=None if self.spread is None else float(self.spread),
            bins=self.bins,
            weights=self.reliability is not None,
        )
        return replace(plan, shrunk=np.ones_like(plan.shrunk)) if self.shrinks else plan

    def noisy(self, claims: GroupedClaims, plan: Plan, source: WordSource) -> NoisyHistograms:
        """Return the noisy counts, the only thing that is computed from values."""
        # Counts that neighbours differ in: a claim is there or not, or it lies in another bin.
        moved = 1 if self.hides_participation else 2
        epsilon, count = self.epsilon_of_object, claims.count
        if self.reliability is None:
            counts = noisy_counts(claims, plan.grid, None, epsilon, source, moved=moved)
            if self.hides_participation:
                # the number of claims is private: their noisy sum, and at least one claim
                sums = np.bincount(plan.grid.object, counts, claims.n_objects)
                count = np.maximum(np.rint(sums).astype(np.int64), 1)
            scale = np.full(claims.n_objects, moved / float(epsilon))
            return NoisyHistograms(
                counts, count, count.astype(np.float64), 1 / np.maximum(count, 1), scale
            )
        weight = public_weights(self.reliability, claims)[claims.user]
        # objects whose weights are not worth their noise are counted plainly
        weight = np.where(plan.weighted[claims.object], weight, 1)
        largest = largest_weights(weight, claims)
        counts = noisy_counts(claims, plan.grid, weight, epsilon, source, largest)
        total = np.bincount(claims.object, weight, claims.n_objects).astype(np.float64)
        squares = np.bincount(claims.object, weight.astype(np.float64) ** 2, claims.n_objects)
        # Sum of squared weights over the squared sum: 1 / the effective number of claims.
        sampling = np.where(total > 0, squares / np.maximum(total, 1) ** 2, 1.0)
        return NoisyHistograms(counts, count, total, sampling, 2 * largest / float(epsilon))

    @property
    def public_objects(self) -> Sequence[Any] | None:
        """The public list of objects, where there is one."""
        return self.objects

    def without_noise(self, claims: GroupedClaims) -> Mixtures:
        """Return the densities of exact counts in the same bins: what no noise at all would give.

        Privacy
        -------
        None: for the collector, beside errors that are computed from the claims too.
        """
        plan = self.plan(claims)
        grid, n = plan.grid, np.maximum(claims.count, 1)
        counts = np.bincount(grid.bin_of(claims), minlength=int(grid.offset[-1]))
        # The engine's epsilon plays no part: its counts are replaced by the exact ones.
        bumps = Histogram(epsilon=1, domain=self.domain, bandwidth=self.bandwidth or OWN)
        return bumps.mixtures(grid, counts / n[grid.object], claims)

    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        claims = claims_of(data)
        if self.objects is not None:
            claims = claims.about(self.objects)
        plan = self.plan(claims)
        if self.target == "source" and (plan.answers & ~plan.shrunk).any():
            raise ParameterError(
                "source cannot tell bumps apart where each bin is one answer, and would be far "
                "from the truth; use claims, or a domain without a step."
            )
        noisy = self.noisy(claims, plan, source)
        bandwidth = None if self.bandwidth is None else float(self.bandwidth)
        densities = finish(noisy, plan, self.target, bandwidth, progress)
        factor = spread_factor(noisy, plan.grid, densities) if self.keep_spread else 1.0
        release = self.release(
            claims,
            plan.grid,
            densities,
            samples,
            source,
            densities if factor == 1.0 else drawn_together(densities, factor),
            **self._settings(plan, factor),
        )
        # where it is private, this is the noisy number
        return replace(release, noisy_claims=noisy.claims) if self.hides_participation else release

    def _settings(self, plan: Plan, factor: float) -> dict[str, Any]:
        """Return what the codebook says of the plan: functions of public numbers and counts."""
        settings: dict[str, Any] = {
            "objects_with_one_answer_a_bin": int(plan.answers.sum()),
            "objects_shrunk": int(plan.shrunk.sum()),
        }
        if self.reliability is not None:
            settings["objects_weighted"] = int(plan.weighted.sum())
        if self.expected is not None:
            settings["expected"] = self.expected
        if self.spread is not None:
            settings["spread"] = self.spread
        if self.keep_spread:
            settings["points_drawn_together_by"] = factor
        return settings


@dataclass(frozen=True, kw_only=True)
class SourceHistogram(PosteriorHistogram):
    """As `claims`, but the posterior of what claims are drawn from, stray claims left out.

    Bumps are as narrow as an eighth of a bin. Use it to learn the truth behind claims; where each
    bin is one answer it is refused.

    Privacy
    -------
    As `PosteriorHistogram`.

    Examples
    --------
    >>> SourceHistogram(epsilon=1, domain=(0, 10)).unit
    'claim'
    """

    name: ClassVar[str] = "source"
    target: ClassVar[Target] = "source"


@dataclass(frozen=True, kw_only=True)
class WienerHistogram(PosteriorHistogram):
    """As `claims`, but rough parts of each histogram are shrunk towards the mean of all objects.

    Faster, for very many claims about an object, and a second opinion that knows no templates.
    With fewer than 8 objects of equally many bins nothing is shrunk.

    Privacy
    -------
    As `PosteriorHistogram`.

    Examples
    --------
    >>> WienerHistogram(epsilon=1, domain=(0, 10)).unit
    'claim'
    """

    name: ClassVar[str] = "wiener"
    shrinks: ClassVar[bool] = True
