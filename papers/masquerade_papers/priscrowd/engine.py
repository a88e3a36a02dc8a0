"""The published loop of tests, for study, without a promise: engines `test-paper`, `uniform`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import ParameterError
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import in_range, one_of, whole
from masquerade.release.guarantee import no_guarantee
from masquerade_papers.priscrowd.density import DensityModel, Weights, fit_density
from masquerade_papers.priscrowd.engines import Data, Engine
from masquerade_papers.priscrowd.mixtures import Mixtures, normals, uniforms
from masquerade_papers.priscrowd.privacy_test import pass_decisions
from masquerade_papers.priscrowd.release import Release

Small = Literal["skip", "try"]

REASONS = (
    "weights and bandwidths are learnt from the claims that they protect",
    "attempts go on until enough have passed, which divides the bound by the chance of passing",
    "weights of exactly 0 make the published epsilon infinite",
    "objects with fewer claims than the test asks for pass by noise alone",
    "a user's claims about several objects, and several points of an object, are not added up",
)

_ENTRIES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class PrisCrowd(Engine):
    """Draw from the weighted density until enough points pass the test, as published.

    Parameters
    ----------
    k : int
        Claims that have to explain a point about as well as its seed does.
    gamma : float
        How far apart "about as well" may be, above 1.
    test_epsilon : float
        Of the test's noise, above 0. It is not stated in the paper.
    max_attempts : int, optional
        For each object; default 200 times the number of samples.
    small : {"skip", "try"}
        What to do with objects of fewer than k claims.

    Privacy
    -------
    None. The weights and bandwidths come from the claims; going on until enough points have passed
    divides the bound of one attempt by the chance of passing; weights of 0 make the published
    epsilon infinite; and nothing adds up the points of an object or the claims of a user. With five
    claims far apart, and uniform public weights, one point tells two neighbouring data sets apart
    with probability 0.2 at every epsilon, thirty points with 0.9988.

    References
    ----------
    Huai, Wang, Miao, Xu and Zhang, "Privacy-aware synthesizing for crowdsourced data", IJCAI 2019,
    algorithm 1. We bucket densities relative to their peak, which leaves out the unit of
    measurement, and bound the attempts.

    Examples
    --------
    >>> PrisCrowd(k=5).k
    5
    """

    name: ClassVar[str] = "test-paper"
    weights: ClassVar[Weights] = "combined"

    k: int = 5
    gamma: float = 4.0
    test_epsilon: float = 1.0
    max_attempts: int | None = None
    small: Small = "skip"

    def __post_init__(self) -> None:
        whole(self.k, "k", low=1)
        in_range(self.gamma, "gamma", above=1, below=math.inf)
        in_range(self.test_epsilon, "test_epsilon", above=0, below=math.inf)
        one_of(self.small, "small", get_args(Small))
        if self.max_attempts is not None:
            whole(self.max_attempts, "max_attempts", low=1)

    def guarantee(self) -> Guarantee:
        """Return that nothing is promised, and why."""
        return no_guarantee(*REASONS)

    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        most = 200 * samples if self.max_attempts is None else self.max_attempts
        if most < samples:
            raise ParameterError(
                f"max_attempts is {most}, expected at least the {samples} samples asked for."
            )
        model = (
            data
            if isinstance(data, DensityModel)
            # the form that the paper prints, also where another one is the default
            else fit_density(data, weights=self.weights, global_form="sum")
        )
        # n[object]; a test with fewer claims than k can never be passed.
        n = model.claims.count
        tried = n >= (1 if self.small == "try" else self.k)
        pieces: list[list[Floats]] = [[] for _ in range(len(n))]
        passed, attempts = np.zeros(len(n), np.int64), np.zeros(len(n), np.int64)
        # alive: objects that need more points; each: attempts of an object in one round
        alive, each = np.flatnonzero(tried), max(samples, 8)
        while alive.size:
            each = min(each, most)
            for part in _parts(alive, n, each):
                left = np.minimum(most - attempts[part], each)
                candidate, passes = self._attempt(model, part, each, source)
                # attempts beyond the object's limit were drawn with the others and do not count
                passes &= np.arange(each) < left[:, None]
                for row, i in enumerate(part.tolist()):
                    points = candidate[row, passes[row]][: samples - int(passed[i])]
                    pieces[i].append(points)
                    passed[i] += points.size
                attempts[part] += left
            alive = alive[(passed[alive] < samples) & (attempts[alive] < most)]
            # those left pass seldom: more attempts a round, so that rounds stay few
            each *= 2
            if progress is not None:
                progress(len(n) - len(alive), len(n))
        status = np.where(tried, np.where(passed >= samples, "ok", "short"), "too_few")
        offset = np.concatenate(([0], np.cumsum(passed)))
        points = np.concatenate([np.empty(0), *(piece for some in pieces for piece in some)])
        return Release(
            self.name,
            model.objects,
            offset,
            points,
            tuple(np.where(n == 0, "empty", status).tolist()),
            Mixtures.of_points(offset, points, model.bandwidth),
            self.guarantee(),
            {
                "samples": samples,
                "k": self.k,
                "gamma": self.gamma,
                "test_epsilon": self.test_epsilon,
                "max_attempts": most,
                "small": self.small,
                "weights": self.weights,
            },
            {"attempts": int(attempts.sum()), "dropped": model.claims.dropped},
        )

    def _attempt(
        self, model: DensityModel, part: Integers, each: int, source: WordSource
    ) -> tuple[Floats, Flags]:
        """Return `each` candidates of some objects, and which pass, shape (len(part), each)."""
        claims = model.claims
        n, first = claims.count[part], claims.offset[part]
        # a seed: a claim drawn by its weight (inverse of the cumulative weights)
        cumulative = np.concatenate(([0.0], np.cumsum(model.weight)))
        low, high = cumulative[first], cumulative[first + n]
        share = uniforms(source, len(part) * each).reshape(len(part), each)
        target = low[:, None] + share * (high - low)[:, None]
        seed = np.searchsorted(cumulative, target, side="right") - 1
        # rounding must not lead to a claim about another object
        seed = np.clip(seed, first[:, None], (first + n - 1)[:, None])
        # a candidate, in bandwidths from its seed: none is lost to a huge value
        step = normals(source, seed.size).reshape(seed.shape)
        h = model.bandwidth[part]
        # companions: claims whose density at the candidate is in the bucket of the seed's
        widest = int(n.max())
        # padded by each object's last claim, which `present` leaves out again
        index = first[:, None] + np.minimum(np.arange(widest), n[:, None] - 1)
        present = np.arange(widest) < n[:, None]
        value = claims.value[index]
        distance = (claims.value[seed][:, :, None] - value[:, None, :]) / h[:, None, None]
        passes = pass_decisions(
            distance, step, present, source, k=self.k, gamma=self.gamma, epsilon=self.test_epsilon
        )
        return claims.value[seed] + step * h[:, None], passes


@dataclass(frozen=True, kw_only=True)
class UniformPrisCrowd(PrisCrowd):
    """As `test-paper` with equal weights: the paper's baseline. It promises nothing either.

    Examples
    --------
    >>> UniformPrisCrowd(k=5).k
    5
    """

    name: ClassVar[str] = "uniform"
    weights: ClassVar[Weights] = "uniform"


def _parts(alive: Integers, n: Integers, each: int) -> Iterator[Integers]:
    """Yield objects of similar size, so many that memory stays bounded."""
    order = alive[np.argsort(n[alive], kind="stable")]
    start = 0
    while start < len(order):
        least = int(n[order[start]])
        stop = int(np.searchsorted(n[order], max(1.25 * least, least + 1), side="right"))
        widest = int(n[order[stop - 1]])
        stop = min(stop, start + max(_ENTRIES // (each * widest), 1))
        yield order[start:stop]
        start = stop
