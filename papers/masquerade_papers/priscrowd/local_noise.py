"""Noise on every claim, the baseline of Huai et al. (2019): the engine `basic`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from masquerade.answers import Progress
from masquerade.errors import NoGuarantee
from masquerade.exact import Guarantee, Micro
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import discrete_laplace, scale_rounded_up
from masquerade.exact.number import one_of
from masquerade.release.guarantee import no_guarantee
from masquerade_papers.priscrowd.bandwidth import bandwidths
from masquerade_papers.priscrowd.engines import Data, PrivateEngine, claims_of
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.release import Release

Span = Literal["domain", "claims"]

_STEPS = 1 << 12


@dataclass(frozen=True, kw_only=True)
class LocalNoise(PrivateEngine):
    """Add two-sided geometric noise as wide as the domain over epsilon to every claim.

    The points are the noisy claims, as many as there were; `samples` is not used. Their density has
    a bandwidth learnt from them.

    Parameters
    ----------
    span : {"domain", "claims"}
        What the noise is as wide as: the public domain, or the range of each object's claims, the
        paper's scale, which is unstated there and leaks that range.

    Privacy
    -------
    Protects the unit with pure epsilon, against everybody, the collector too where users add the
    noise themselves. The noise is drawn in whole numbers on 4096 steps (or the domain's own). With
    the span ``"claims"`` nothing is promised.

    Examples
    --------
    >>> str(LocalNoise(epsilon=1, domain=(0, 10)).epsilon)
    '1'
    """

    name: ClassVar[str] = "basic"

    span: Span = "domain"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.span, "span", get_args(Span))

    def guarantee(self) -> Guarantee:
        """Return the promise of a release; it depends on no claim."""
        if self.span == "claims":
            return no_guarantee("the noise is as wide as the claims, and tells their range")
        return replace(super().guarantee(), trust="local")

    def loss(self, objects: int) -> Micro:
        """Return the loss of a user with claims about `objects` objects."""
        # ends learnt from the claims, as in the published comparison: nothing is promised
        if self.span == "claims":
            raise NoGuarantee("basic with the claims' own range promises nothing; use the domain.")
        return super().loss(objects)

    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        claims = claims_of(data)
        low, high = self.public_domain.ends(claims.objects)
        outside = (claims.value < low[claims.object]) | (claims.value > high[claims.object])
        if self.span == "claims":
            values, start = claims.sorted_values(), claims.offset[:-1]
            last = np.maximum(claims.offset[1:] - 1, start)
            there = np.minimum(np.stack((start, last)), max(len(values) - 1, 0))
            low, high = values[there[0]], values[there[1]]
        steps = _STEPS
        domain = self.public_domain
        if domain.step is not None and self.span == "domain":
            steps = int((domain.high - domain.low) / domain.step)
        of = claims.object
        # With ends of their own, objects with a step have other numbers of steps: the noise counts
        # in parts of each object's own range.
        part = np.where(high > low, high - low, 1.0) / steps
        place = np.rint((np.clip(claims.value, low[of], high[of]) - low[of]) / part[of])
        # sensitivity: all steps, from one end of the range to the other
        scale = scale_rounded_up(steps / self.epsilon_of_object)
        noisy = place + discrete_laplace(source, scale, len(claims))
        # not moved into the domain: that would pile noisy claims up at its ends
        points = low[of] + noisy * part[of]
        # from the noisy points, so that the bandwidth costs nothing more
        width = bandwidths(
            replace(claims, value=points), "robust", width=np.where(high > low, high - low, 1.0)
        )
        return Release(
            self.name,
            claims.objects,
            claims.offset,
            points,
            tuple(np.where(claims.count > 0, "ok", "empty").tolist()),
            Mixtures.of_points(claims.offset, points, width),
            self.guarantee(),
            {
                "epsilon_of_object": float(self.epsilon_of_object),
                "domain": str(self.public_domain),
                "span": self.span,
            },
            {"outside_domain": int(outside.sum()), "dropped": claims.dropped},
        )
