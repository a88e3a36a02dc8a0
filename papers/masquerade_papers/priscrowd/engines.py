"""Engines, which draw releases: their parameters, text form, guarantee and price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar

from masquerade.answers import Progress
from masquerade.errors import NoGuarantee
from masquerade.exact import Guarantee, Micro
from masquerade.exact.coins import Coins, WordSource
from masquerade.exact.number import NumberLike, finite, in_range, one_of, whole
from masquerade.mechanisms.text import text_fields
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.guarantee import no_guarantee
from masquerade.release.knots import Domain, Ends
from masquerade_papers.priscrowd.density import DensityModel
from masquerade_papers.priscrowd.release import Release
from masquerade_papers.priscrowd.unit import PARTICIPATION, UNITS, Unit, release_guarantee

#: Claims to release, or the densities that are learnt from them already.
Data = GroupedClaims | DensityModel

#: Why a release drawn with a seeded generator promises nothing.
SIMULATED = "simulated: the noise can be foreseen by whoever knows the seed"

LARGEST_EPSILON = 1 << 10


#: Parameters that may be whole tables, and so have no place in a text form.
PARAMETERS_BESIDE_THE_TEXT = ("domain", "reliability", "objects")


class Engine(ABC):
    """Base of all engines, which draw synthetic claims; each is a frozen dataclass."""

    #: What the command line calls the engine.
    name: ClassVar[str]

    @classmethod
    def parameters(cls) -> dict[str, str]:
        """Return the parameters that the text form can hold, with their types."""
        known = fields(cls)  # type: ignore[arg-type]  # each engine is a dataclass
        return {f.name: str(f.type) for f in known if f.name not in PARAMETERS_BESIDE_THE_TEXT}

    def __str__(self) -> str:
        """Return the text form, ``name:key=value,...``, but for defaults."""
        known = self.parameters()
        texts = [f"{key}={text}" for key, text in text_fields(self).items() if key in known]
        return f"{self.name}:{','.join(texts)}" if texts else self.name

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the promise of a release; it depends on no claim."""

    def draw(
        self,
        data: Data,
        samples: int,
        source: WordSource,
        progress: Progress | None = None,
    ) -> Release:
        """Return a release drawn with the words of `source`.

        `synthesize` calls this with words of the operating system and
        `simulate` with those of a generator; call one of them.

        Privacy
        -------
        Whatever the engine promises, a release drawn with anything but `Coins` promises nothing,
        and says so: whoever knows or guesses the seed can take the noise off.
        """
        release = self._draw(data, samples, source, progress)
        # exactly `Coins`: a subclass could be seeded
        if type(source) is Coins:
            return release
        proven = release.guarantee.status == "proven"
        # of a proven guarantee the assumptions are what is public, and no reason against it
        reasons = () if proven else release.guarantee.assumptions
        return replace(release, guarantee=no_guarantee(*reasons, SIMULATED))

    @abstractmethod
    def _draw(
        self, data: Data, samples: int, source: WordSource, progress: Progress | None
    ) -> Release:
        """Return a release drawn with the words of `source`, with the engine's own guarantee."""

    def within_cap(self, claims: GroupedClaims, source: WordSource) -> GroupedClaims:
        """Return the claims that are used: all, where users are not capped."""
        return claims

    def loss(self, objects: int) -> Micro:
        """Return the loss of a user with claims about `objects` objects.

        Raises
        ------
        NoGuarantee
            Nothing that adds up is promised.
        """
        raise NoGuarantee(
            f"{self.name} promises nothing that a ledger could count "
            f"({'; '.join(self.guarantee().assumptions)}). Use hist."
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

    epsilon: NumberLike
    domain: Domain | Ends | None
    unit: Unit = "claim"
    cap: int = 10

    def __post_init__(self) -> None:
        epsilon = self.exact_epsilon
        in_range(epsilon, "epsilon", above=0, high=LARGEST_EPSILON)
        one_of(self.unit, "unit", UNITS)
        whole(self.cap, "cap", low=1)
        # once a fraction: text form, guarantee and noise then come from the same number
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "domain", Domain.of(self.domain))

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon of the release as a fraction."""
        return finite(self.epsilon, "epsilon")

    @property
    def exact_delta(self) -> Fraction:
        """The delta of the release as a fraction."""
        return Fraction(0)

    @property
    def epsilon_of_object(self) -> Fraction:
        """The epsilon of one object as a fraction."""
        # basic composition: at most `cap` objects of a user, each with its share
        return self.exact_epsilon if self.unit == "claim" else self.exact_epsilon / self.cap

    @property
    def public_domain(self) -> Domain:
        """The public range of values."""
        assert isinstance(self.domain, Domain)
        return self.domain

    def public(self) -> tuple[str, ...]:
        """Return the facts that are taken for public."""
        return (f"the range of values, {self.public_domain}", PARTICIPATION)

    def guarantee(self) -> Guarantee:
        """Return the promise of a release; it depends on no claim."""
        return release_guarantee(
            self.unit,
            self.exact_epsilon,
            cap=self.cap,
            public=self.public(),
            delta=self.exact_delta,
        )

    def within_cap(self, claims: GroupedClaims, source: WordSource) -> GroupedClaims:
        """Return the claims that are used, at most `cap` of a user with the unit ``"user"``."""
        # by random words alone: which claims are left out must not depend on their values
        return claims if self.unit == "claim" else claims.capped(self.cap, source)

    def loss(self, objects: int) -> Micro:
        """Return the loss of a user with claims about `objects` objects."""
        # for the objects that were used, not for the cap: fewer objects cost less
        return Micro.of_amount(self.epsilon_of_object * objects)


def claims_of(data: Data) -> GroupedClaims:
    """Return the claims, also of a density model."""
    return data.claims if isinstance(data, DensityModel) else data
