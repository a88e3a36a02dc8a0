"""What every engine can do: state its promise, price a user's part in it, and draw a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import Loss
from masquerade.exact.coins import Coins, WordSource
from masquerade.exact.number import Number, finite, text_of, whole
from masquerade.release.density import DensityModel
from masquerade.release.domain import Domain, Ends
from masquerade.release.guarantee import PARTICIPATION, UNITS, ReleaseGuarantee, Unit
from masquerade.release.objects import ObjectClaims
from masquerade.release.release import Release

Progress = Callable[[int], None]

SIMULATED = "simulated: the noise can be foreseen by whoever knows the seed"
"""Why a release drawn with a seeded generator promises nothing."""

LARGEST_EPSILON = 1 << 10


class Engine(ABC):
    """Base of all engines: something that draws synthetic claims."""

    name: ClassVar[str]
    """What the command line calls the engine."""

    @abstractmethod
    def guarantee(self) -> ReleaseGuarantee:
        """Return what a release promises; it depends on no claim."""

    def draw(
        self,
        data: ObjectClaims | DensityModel,
        samples: int,
        source: WordSource,
        progress: Progress | None = None,
    ) -> Release:
        """Return a release drawn with the words of `source`.

        `masquerade.release.synthesize` calls this with words of the operating system and
        `masquerade.release.simulate` with those of a generator; call one of them.

        Privacy
        -------
        Whatever the engine promises, a release drawn with anything but `Coins` promises nothing,
        and says so: whoever knows or guesses the seed can take the noise off.
        """
        made = self._draw(data, samples, source, progress)
        if type(source) is Coins:
            return made
        return replace(made, guarantee=ReleaseGuarantee.none(*made.guarantee.reasons, SIMULATED))

    @abstractmethod
    def _draw(
        self,
        data: ObjectClaims | DensityModel,
        samples: int,
        source: WordSource,
        progress: Progress | None,
    ) -> Release:
        """Return a release drawn with the words of `source`, with the engine's own guarantee."""

    def within_cap(self, claims: ObjectClaims, source: WordSource) -> ObjectClaims:
        """Return the claims that are used: all, where users are not capped."""
        return claims

    def loss(self, objects: int) -> Loss:
        """Return what a user with claims about `objects` objects pays.

        Raises
        ------
        NoGuarantee
            Nothing that adds up is promised.
        """
        raise NoGuarantee(
            f"{self.name} promises nothing that a ledger could count "
            f"({'; '.join(self.guarantee().reasons)}). Use hist, hist2 or pooled."
        )


@dataclass(frozen=True, kw_only=True)
class PrivateEngine(Engine):
    """Base of the engines with a guarantee.

    Parameters
    ----------
    epsilon : number
        Of the whole release for one unit, above 0 and at most 1024.
    domain : Domain or (low, high)
        The public range of values.
    unit : {"claim", "user"}
        What is protected: a single claim, or a user with all claims.
    cap : int
        With the unit ``"user"``: most objects that one user's claims are used for. Each object then
        gets epsilon / cap; further claims of the user, chosen at random, are left out.
    """

    epsilon: Number
    domain: Domain | Ends | None
    unit: Unit = "claim"
    cap: int = 10
    total: Fraction = field(init=False, repr=False)
    """The exact epsilon of the release."""

    def __post_init__(self) -> None:
        total = finite(self.epsilon, "epsilon")
        if not 0 < total <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon is {text_of(total)}, expected above 0 and at most {LARGEST_EPSILON}."
            )
        if self.unit not in UNITS:
            raise ParameterError(f"unit is {self.unit!r}, expected 'claim' or 'user'.")
        whole(self.cap, "cap", low=1)
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "domain", Domain.of(self.domain))

    @property
    def range(self) -> Domain:
        """The domain."""
        assert isinstance(self.domain, Domain)
        return self.domain

    @property
    def of_object(self) -> Fraction:
        """The exact epsilon of one object."""
        return self.total if self.unit == "claim" else self.total / self.cap

    def public(self) -> tuple[str, ...]:
        """Return what is taken for public."""
        return (f"the range of values, {self.range}", PARTICIPATION)

    def guarantee(self) -> ReleaseGuarantee:
        """Return what a release promises; it depends on no claim."""
        return ReleaseGuarantee(
            "proven",
            self.unit,
            Loss.of_amount(self.total),
            cap=self.cap if self.unit == "user" else None,
            public=self.public(),
        )

    def within_cap(self, claims: ObjectClaims, source: WordSource) -> ObjectClaims:
        """Return the claims that are used, at most `cap` of a user with the unit ``"user"``."""
        return claims if self.unit == "claim" else claims.capped(self.cap, source)

    def loss(self, objects: int) -> Loss:
        """Return what a user with claims about `objects` objects pays."""
        return Loss.of_amount(self.of_object * objects)


def claims_of(data: ObjectClaims | DensityModel) -> ObjectClaims:
    """Return the claims, also of a density model."""
    return data.claims if isinstance(data, DensityModel) else data
