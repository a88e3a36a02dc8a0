"""The engine `basic`: noise on every claim, the baseline of Huai et al. (2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import Loss
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import discrete_laplace, scale_rounded_up
from masquerade.release.bandwidth import bandwidths
from masquerade.release.density import DensityModel
from masquerade.release.engine import PrivateEngine, Progress, claims_of
from masquerade.release.guarantee import ReleaseGuarantee
from masquerade.release.mixture import Mixtures
from masquerade.release.objects import ObjectClaims
from masquerade.release.release import Release

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
    """

    name: ClassVar[str] = "basic"

    span: Span = "domain"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.span not in get_args(Span):
            raise ParameterError(f"span is {self.span!r}, expected 'domain' or 'claims'.")

    def guarantee(self) -> ReleaseGuarantee:
        """Return what a release promises; it depends on no claim."""
        if self.span == "claims":
            return ReleaseGuarantee.none(
                "the noise is as wide as the claims, and tells their range"
            )
        proven = super().guarantee()
        return ReleaseGuarantee(
            proven.status, proven.unit, proven.epsilon,
            cap=proven.cap, public=proven.public, trust="local",
        )  # fmt: skip

    def loss(self, objects: int) -> Loss:
        """Return what a user with claims about `objects` objects pays."""
        if self.span == "claims":
            raise NoGuarantee("basic with the claims' own range promises nothing; use the domain.")
        return super().loss(objects)

    def _draw(
        self,
        data: ObjectClaims | DensityModel,
        samples: int,
        source: WordSource,
        progress: Progress | None,
    ) -> Release:
        """Return a release drawn with the words of `source`; see `Engine.draw`."""
        claims = claims_of(data)
        low, high = self.range.ends(claims.objects)
        outside = (claims.value < low[claims.object]) | (claims.value > high[claims.object])
        if self.span == "claims":
            values, start = claims.sorted_values(), claims.offset[:-1]
            last = np.maximum(claims.offset[1:] - 1, start)
            there = np.minimum(np.stack((start, last)), max(len(values) - 1, 0))
            low, high = values[there[0]], values[there[1]]
        steps = _STEPS
        if self.range.step is not None and self.span == "domain":
            steps = int((self.range.high - self.range.low) / self.range.step)
        of = claims.object
        # With ends of their own, objects with a step have other numbers of steps: the noise counts
        # in parts of each object's own range.
        part = np.where(high > low, high - low, 1.0) / steps
        place = np.rint((np.clip(claims.value, low[of], high[of]) - low[of]) / part[of])
        scale = scale_rounded_up(steps / self.of_object)
        noisy = place + discrete_laplace(source, scale, len(claims))
        points = low[of] + noisy * part[of]
        found = ObjectClaims(
            claims.objects, claims.users, points, claims.user, claims.offset, claims.dropped
        )
        width = bandwidths(found, "robust", width=np.where(high > low, high - low, 1.0))
        return Release(
            self.name,
            claims.objects,
            claims.offset,
            points,
            tuple(np.where(claims.count > 0, "ok", "empty").tolist()),
            Mixtures.of_points(claims.offset, points, width),
            self.guarantee(),
            {
                "epsilon_of_object": float(self.of_object),
                "domain": str(self.range),
                "span": self.span,
            },
            {"outside_domain": int(outside.sum()), "dropped": claims.dropped},
        )
