"""The parameters of a release, the same for the library and the command, and its promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, get_args

from masquerade.errors import ParameterError
from masquerade.exact import Guarantee, Micro
from masquerade.exact.loss import Loss, pure_loss
from masquerade.exact.number import NumberLike, finite, in_range, one_of, whole
from masquerade.release.guarantee import Neighbours
from masquerade.release.knots import Domain, Ends

#: What a release is for: whole distributions, or means and rankings.
Aim = Literal["claims", "means"]

LARGEST_EPSILON = 1 << 10
#: Share of epsilon that is spent on the pool of all claims.
POOL_SHARE = Fraction(1, 10)
#: Probability with which an interval holds.
LEVEL = 0.95

#: Columns of every table of claims, which are no attributes.
_COLUMNS = {"task", "worker", "value", "label", "answer"}

#: Public wherever no list of objects hides it.
PARTICIPATION = (
    "who claimed a number about which object, and so the list of objects and the number of claims "
    "about each"
)


@dataclass(frozen=True, kw_only=True)
class ReleaseParameters:
    """All that a release depends on beside the claims; public.

    Parameters
    ----------
    epsilon : number
        Of the whole release, for one unit (see Privacy), above 0 and at most 1024.
    domain : Domain or (low, high)
        The public range of values.
    aim : {"claims", "means"}
        Whole distributions, or means and rankings, whose shape is then borrowed from all objects.
    per_user : int, optional
        Protect a user with all claims: at most so many objects of a user are used, chosen by
        chance. Without it, what one user said of one object is protected.
    listed : sequence of names, optional
        A public list of objects; it hides who made a claim about which object.
    expected : int, optional
        With `listed`: public guess of the number of claims about an object.
    attributes : mapping of str to sequence
        Further columns of the claims, each with its public categories.
    weights : mapping of user to number
        Public weights, above 0 and at most 1; others have 1. Not with `listed`.
    knots : int, optional
        Number of knots in place of the rule.
    pool : number
        Share of epsilon for the histogram of all claims together; at least 0, below 1.

    Privacy
    -------
    Neighbours are two tables of which ...

    - all that one user said of one object is replaced by anything else (neither `per_user` nor
      `listed`);
    - all that one user said of one listed object is added or removed (`listed`);
    - all values of one user, about at most `per_user` objects, are replaced (`per_user`);
    - one user is added or removed, with all about at most `per_user` listed objects (both).

    With `listed`, a value that is replaced costs twice epsilon, and that is what a ledger is
    charged.

    Examples
    --------
    >>> ReleaseParameters(epsilon=1, domain=(0, 10)).guarantee().neighbours[:38]
    'all that one user said of one object i'
    """

    epsilon: NumberLike
    domain: Domain | Ends | None
    aim: Aim = "claims"
    per_user: int | None = None
    listed: Sequence[Any] | None = None
    expected: int | None = None
    attributes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    weights: Mapping[Any, float] = field(default_factory=dict)
    knots: int | None = None
    pool: NumberLike = POOL_SHARE

    def __post_init__(self) -> None:
        in_range(self.exact_epsilon, "epsilon", above=0, high=LARGEST_EPSILON)
        one_of(self.aim, "aim", get_args(Aim))
        in_range(finite(self.pool, "pool"), "pool", low=0, below=1)
        for name, least in (("per_user", 1), ("expected", 1), ("knots", 2)):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, low=least)
        object.__setattr__(self, "domain", Domain.of(self.domain))
        if (self.listed is None) != (self.expected is None):
            absent = "listed" if self.listed is None else "expected"
            raise ParameterError(
                f"{absent} is missing: a list of objects hides how many claims there are, so it "
                "needs a public guess of the number about an object, and goes with it.",
                field=absent,
            )
        if self.weights and self.listed is not None:
            raise ParameterError(
                "weights of users show who took part, which a list of objects hides; give one of "
                "the two.",
                field="weights",
            )
        for name, categories in self.attributes.items():
            if name in _COLUMNS:
                raise ParameterError(
                    f"{name} is a column of every table of claims, and no attribute.",
                    field="attributes",
                )
            if not categories or len(set(categories)) < len(categories):
                raise ParameterError(
                    f"{name} has the categories {list(categories)[:5]}; expected names, each once, "
                    "and one at least.",
                    field="attributes",
                )

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon of the release as a fraction."""
        return finite(self.epsilon, "epsilon")

    @property
    def public_domain(self) -> Domain:
        """The public range of values."""
        assert isinstance(self.domain, Domain)
        return self.domain

    @property
    def epsilon_of_object(self) -> Fraction:
        """The epsilon of one object: basic composition over a user's objects."""
        return self.exact_epsilon / (self.per_user or 1)

    @property
    def hidden(self) -> bool:
        """Whether the participation of users is hidden."""
        return self.listed is not None

    @property
    def cells(self) -> int:
        """Number of combinations of the attributes' categories."""
        number = 1
        for categories in self.attributes.values():
            number *= len(categories)
        return number

    @property
    def neighbours(self) -> Neighbours:
        """The tables that a release makes hard to tell apart."""
        return Neighbours.of(listed=self.hidden, capped=self.per_user is not None)

    def guarantee(self) -> Guarantee:
        """Return the promise of a release to its readers; it depends on no claim."""
        loss = Micro.of_amount(self.exact_epsilon)
        return Guarantee(
            loss,
            loss,
            loss,
            self.per_user or 1,
            self.public(),
            unit=self.neighbours.unit,
            trust="collector",
            neighbours=self.neighbours.words(self.per_user),
        )

    def public(self) -> tuple[str, ...]:
        """Return the facts that are taken for public, in words."""
        told = [f"the range of values, {self.public_domain}"]
        if self.hidden:
            told.append("the list of objects and the number of claims expected about each")
        else:
            told.append(PARTICIPATION)
        told += [
            f"the categories of {name} ({', '.join(map(str, categories))})"
            for name, categories in self.attributes.items()
        ]
        if self.weights:
            told.append("the weights of users")
        return tuple(told)

    def loss(self, objects: int) -> Loss:
        """Return the loss of other claims of a user about so many objects, for a ledger.

        Composed by the accountant: the soft counts of each object have noise of their own, and the
        pool is one mechanism that all the user's claims move together. Where neighbours are with
        and without, a replacement is a removal and an addition. Pure epsilon is that of the proof.
        """
        relation, one = self.neighbours.relation, self.epsilon_of_object
        counts = pure_loss(Micro.of_amount(one), relation=relation).as_replace() * objects
        moved = Micro.of_amount(finite(self.pool, "pool") * one * objects)
        pool = pure_loss(moved, relation=relation).as_replace()
        composed = counts + pool
        # the proof bounds both together: no order is above that of its pure epsilon either
        whole = pure_loss(Micro.of_amount(self.neighbours.charges * one * objects))
        return replace(whole, orders=tuple(map(min, composed.orders, whole.orders)))
