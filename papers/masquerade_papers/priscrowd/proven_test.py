"""The privacy test with settings for which a bound is proved: the engine `test-honest`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.noise import bernoulli, bernoulli_exp, discrete_gaussian
from masquerade.exact.number import NumberLike, finite, in_range, positive, text_of
from masquerade.release.grouped_claims import GroupedClaims
from masquerade_papers.priscrowd.engines import Data, PrivateEngine, claims_of
from masquerade_papers.priscrowd.histogram import public_weights
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.privacy_test import Plan, holds, plan
from masquerade_papers.priscrowd.release import Release

#: Lattice steps to a bandwidth.
_STEPS = 64

_ENTRIES = 1 << 22
_FURTHEST = 1 << 31  # steps across the domain: squares of distances then fit 64 bits


@dataclass(frozen=True, kw_only=True)
class ProvenTest(PrivateEngine):
    """Make a fixed number of attempts at the privacy test and publish the points that pass.

    What makes the bound hold: bandwidth and weights are public, the number of attempts is fixed
    beforehand, and every attempt is thrown away with a fixed probability whatever the test says, so
    that a failure tells little. It exists to be compared with: at equal epsilon a histogram has a
    fraction of its error and needs no delta.

    Parameters
    ----------
    bandwidth : number
        Public, above 0, the same for all objects.
    delta : number
        Above 0 and below 1, for one unit.
    reliability : mapping of user to weight, optional
        Public weights, 0.05 to 1; see `Histogram`.

    Privacy
    -------
    Protects the unit with (epsilon, delta), the failures included, against everybody who sees the
    release; the collector is trusted. Per attempt the bound is `release_delta` plus
    `failure_delta`; attempts, and the objects of a user, are added up. Candidates, companions,
    noise and failures are computed in whole numbers on a lattice of 64 steps to a bandwidth, on
    which the proof is the same. The points of an object are sorted, so that their order tells
    nothing. An epsilon at a delta does not add up over a lifetime, so a ledger refuses it.

    Examples
    --------
    >>> ProvenTest(epsilon=1, domain=(0, 10), bandwidth=1).unit
    'claim'
    """

    name: ClassVar[str] = "test-honest"

    bandwidth: NumberLike | None = None
    delta: NumberLike = "0.01"
    reliability: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bandwidth is None:
            raise ParameterError(
                "test-honest needs a public bandwidth, for instance a tenth of the domain: one "
                "learnt from the claims would tell about them."
            )
        bandwidth, delta = positive(self.bandwidth, "bandwidth"), self.exact_delta
        in_range(delta, "delta", above=0, below=1)
        object.__setattr__(self, "bandwidth", bandwidth)
        object.__setattr__(self, "delta", delta)

    @property
    def exact_delta(self) -> Fraction:
        """The delta of the release as a fraction."""
        return finite(self.delta, "delta")

    def public(self) -> tuple[str, ...]:
        """Return the facts that are taken for public."""
        weights = ("the users' weights, which were given",) if self.reliability else ()
        assert isinstance(self.bandwidth, Fraction)
        return (*super().public(), f"the bandwidth, {text_of(self.bandwidth)}", *weights)

    def loss(self, objects: int) -> Micro:
        """Refuse: an epsilon at a delta does not add up over a lifetime."""
        raise NoGuarantee(
            "test-honest promises an epsilon at a delta only, and such promises do not add up over "
            "a lifetime. Use hist, hist2 or pooled with a ledger."
        )

    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        """Return a release drawn with the words of `source`; the plan says how many points."""
        claims = claims_of(data)
        assert isinstance(self.bandwidth, Fraction)
        h = float(self.bandwidth)
        low, high = self.public_domain.ends(claims.objects)
        step = h / _STEPS
        if ((high - low) / step > _FURTHEST).any():
            raise ParameterError("the domain is too wide for so small a bandwidth; raise it.")
        of = claims.object
        inside = np.clip(claims.value, low[of], high[of])
        # place[claim] in whole steps above its object's low end: exact from here on
        place = np.rint((inside - low[of]) / step).astype(np.int64)
        weight = self._weights(claims)
        plans = self._plans(claims, weight)
        pieces: list[Integers] = [np.empty(0, np.int64)] * claims.n_objects
        groups: dict[tuple[Plan, int], list[int]] = {}
        for i, (settings, n) in enumerate(zip(plans, claims.count.tolist(), strict=True)):
            if settings is not None:
                groups.setdefault((settings, n), []).append(i)
        # objects of one plan and one number of claims are rows of one array
        for (settings, n), members in groups.items():
            each = max(_ENTRIES // (n * settings.attempts), 1)
            for start in range(0, len(members), each):
                part = np.array(members[start : start + each])
                index = claims.offset[part, None] + np.arange(n)
                passing = attempts(place[index], weight[index], settings, source)
                for i, piece in zip(part.tolist(), passing, strict=True):
                    pieces[i] = piece
                if progress is not None:
                    progress(min(start + each, len(members)), len(members))
        count = np.array([len(piece) for piece in pieces])
        owner = np.repeat(np.arange(claims.n_objects), count)
        points = low[owner] + np.concatenate(pieces) * step
        # what passed is private already: moving it into the domain costs nothing
        points = self.public_domain.rounded(points, low[owner], high[owner])
        offset = np.concatenate(([0], np.cumsum(count)))
        # by the plan, which is public, and not by how many passed
        status = ["not_tried" if p is None else "ok" for p in plans]
        status = ["empty" if n == 0 else s for n, s in zip(claims.count, status, strict=True)]
        return Release(
            self.name,
            claims.objects,
            offset,
            points,
            tuple(status),
            Mixtures.of_points(offset, points, np.full(claims.n_objects, h)),
            self.guarantee(),
            {
                "epsilon_of_object": float(self.epsilon_of_object),
                "domain": str(self.public_domain),
                "bandwidth": h,
                "attempts": [
                    min((p.attempts for p in plans if p), default=0),
                    max((p.attempts for p in plans if p), default=0),
                ],
            },
            {
                "outside_domain": int((inside != claims.value).sum()),
                "dropped": claims.dropped,
            },
        )

    def _weights(self, claims: GroupedClaims) -> Integers:
        if self.reliability is None:
            return np.ones(len(claims), np.int64)
        weight: Integers = public_weights(self.reliability, claims)[claims.user]
        return weight

    def _plans(self, claims: GroupedClaims, weight: Integers) -> list[Plan | None]:
        delta = self.exact_delta if self.unit == "claim" else self.exact_delta / self.cap
        budget = {"epsilon": self.epsilon_of_object, "delta": delta}
        # many objects have the same number of claims and the same weights, and so the same plan
        known: dict[tuple[int, float, float], Plan | None] = {}
        plans: list[Plan | None] = []
        for i, n in enumerate(claims.count.tolist()):
            if n == 0:
                plans.append(None)
                continue
            of = weight[claims.rows_of(i)]
            # weights and the number of claims are public, so the plan may depend on them
            total = of.sum()
            largest, least = float(of.max() / total), float(of.min() / total)
            if (n, largest, least) not in known:
                settings = plan(n, **budget, largest=largest, least=least)
                # the plan comes from a fast search; only what `holds` proves anew is used
                if settings is not None and not holds(
                    settings, n, **budget, largest=largest, least=least
                ):
                    settings = None
                known[n, largest, least] = settings
            plans.append(known[n, largest, least])
        return plans


def attempts(
    place: Integers, weight: Integers, settings: Plan, source: WordSource
) -> list[Integers]:
    """Return the points, in lattice steps, that pass for each object, sorted.

    `place`, `weight` (n_objects, n_claims): where the claims stand, in steps of a lattice with 64
    to a bandwidth; and their weights, which sum to at most 2**62 in an object.

    Notes
    -----
    Exact: seeds, noise, companions, the test and the failures are whole numbers throughout. Buckets
    are as wide as the largest whole number of squared steps within gamma, so that two claims of one
    bucket differ by at most the factor gamma.
    """
    objects = len(place)
    size = objects * settings.attempts
    seed = _seeds(weight, settings.attempts, source)
    noise = discrete_gaussian(source, Fraction(_STEPS**2), size).reshape(seed.shape)
    candidate = np.take_along_axis(place, seed, axis=1) + noise
    # rounded down with a margin above the logarithm's error
    bucket = math.floor(2 * _STEPS**2 * math.log(settings.gamma) * (1 - 1e-12))
    own = noise**2 // bucket
    others = (candidate[:, :, None] - place[:, None, :]) ** 2 // bucket
    over = (others == own[:, :, None]).sum(axis=2) - settings.k
    # companions >= k + Laplace noise, by two exact coins: with x = |over|, the smaller side of the
    # Laplace distribution has probability exp(-epsilon x) / 2
    numerator = np.abs(over).ravel().astype(np.uint64) * np.uint64(settings.test_epsilon.numerator)
    tail = bernoulli(source, 1, 2, size) & bernoulli_exp(
        source, numerator, settings.test_epsilon.denominator
    )
    passed = np.where(over.ravel() < 0, tail, ~tail)
    passed &= ~bernoulli(source, settings.failure.numerator, settings.failure.denominator, size)
    passed = passed.reshape(seed.shape)
    # sorted: the order of the attempts would tell which of them failed
    return [np.sort(candidate[i, passed[i]]) for i in range(objects)]


def _seeds(weight: Integers, attempts_each: int, source: WordSource) -> Integers:
    """Return claims drawn by weight, shape (n_objects, attempts)."""
    cumulative = np.cumsum(weight, axis=1)
    seed = np.empty((len(weight), attempts_each), dtype=np.int64)
    totals = cumulative[:, -1]
    for total in np.unique(totals).tolist():
        rows = np.flatnonzero(totals == total)
        draw = uniform_below(source, int(total), len(rows) * attempts_each).astype(np.int64)
        draws = draw.reshape(len(rows), attempts_each)
        # claim s is drawn for weight[s] of the whole numbers below the total: exact
        seed[rows] = (draws[:, :, None] >= cumulative[rows][:, None, :]).sum(axis=2)
    return seed
