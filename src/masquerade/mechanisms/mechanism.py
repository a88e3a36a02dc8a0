"""Base of all local randomizers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.loss import Loss, no_loss
from masquerade.exact.number import whole
from masquerade.exact.pairs import KnownPair, Pair
from masquerade.mechanisms.text import text_fields, text_form

if TYPE_CHECKING:
    from masquerade.answers import Claims, Frame
    from masquerade.mechanisms.bitwise_response import BitwiseResponse
    from masquerade.mechanisms.categorical import CategoricalMechanism
    from masquerade.mechanisms.device_mechanism import DeviceMechanism
    from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian
    from masquerade.mechanisms.lattice import LatticeMechanism
    from masquerade.mechanisms.masked_order import MaskedOrder
    from masquerade.mechanisms.subset_selection import SubsetSelection

Presence = Literal["hidden", "assigned"]

#: What is seen of which tasks a person answered, and what is where that is hidden.
TASKS_SEEN = "which tasks a person answered may be seen; what was answered is protected"
TASKS_HIDDEN = (
    "every person reports on every task, so that which tasks were answered is protected as answers "
    "are; the lists of tasks and of persons are public"
)


class Mechanism(ABC):
    """A local randomizer: it masks answers on the person's device.

    Each is a frozen dataclass of its parameters. Its text form, ``str(mechanism)``, follows from
    its fields and is read back by `parse_mechanism`; two mechanisms of one text form are equal.

    Examples
    --------
    >>> from masquerade.mechanisms import parse_mechanism
    >>> mechanism = parse_mechanism("randomized-response:options=4,epsilon=1")
    >>> str(mechanism.guarantee(answers=3).epsilon_user)
    '3'
    """

    #: The first word of the text form.
    name: ClassVar[str]

    #: A text form, as documentation and tests show the mechanism.
    example: ClassVar[str]

    #: Kind of the claims that it masks.
    kind: ClassVar[Literal["categorical", "numeric"]] = "numeric"

    #: Whether "no answer" is masked too, so that skipping is protected like an answer.
    null: bool

    @property
    def option_response(self) -> CategoricalMechanism | None:
        """The mechanism of one option's share; None where reports are no options."""
        return None

    @property
    def label_response(self) -> CategoricalMechanism | None:
        """The mechanism as one of labels; None where a report is no label."""
        return None

    @property
    def separate_response(self) -> CategoricalMechanism | None:
        """The mechanism of each of several labels, where no draw serves two of them; else None."""
        return None

    @property
    def as_device(self) -> DeviceMechanism | None:
        """The mechanism as one that a device draws by whole numbers; None where it is none."""
        return None

    @property
    def as_categorical(self) -> CategoricalMechanism | None:
        """The mechanism as one of single options; None where answers are none."""
        return None

    @property
    def as_numbers(self) -> LatticeMechanism | None:
        """The mechanism as one of numbers; None where answers are no numbers."""
        return None

    @property
    def as_gaussian(self) -> DiscreteGaussian | None:
        """The mechanism as Gaussian noise; None where it is none."""
        return None

    @property
    def as_sets(self) -> BitwiseResponse | None:
        """The mechanism as one of sets of options; None where answers are no sets."""
        return None

    @property
    def as_subsets(self) -> SubsetSelection | None:
        """The mechanism by its reports as sets of labels; None for other mechanisms."""
        return None

    @property
    def as_orders(self) -> MaskedOrder | None:
        """The mechanism as one of rankings; None where answers are none."""
        return None

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        return text_fields(self)

    @abstractmethod
    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person."""

    def guarantee_with(self, presence: Presence | None, *, answers: int = 1) -> Guarantee:
        """Return the guarantee of reports drawn with a presence; see `with_presence`."""
        promise = self.guarantee(answers=answers)
        if presence != "hidden":
            return promise
        assumptions = (TASKS_HIDDEN if one == TASKS_SEEN else one for one in promise.assumptions)
        return replace(promise, assumptions=tuple(assumptions))

    @property
    def separate(self) -> bool:
        """Whether each answer is masked by itself, so that a promise holds over several draws."""
        # computed: answers that are masked separately have the pairs of one, as often as there are
        alone = {pair: 2 * count for pair, count in self.pairs(answers=1).items()}
        return self.pairs(answers=2) == alone

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the worst pairs behind the reports of `answers` answers, and how many of each.

        The answers are masked together, as one person's. A mechanism that is known by the amounts
        of its guarantee alone need not say more than that.

        Raises
        ------
        NoGuarantee
            Nothing is promised, or only an epsilon at a delta, which does not add up.
        """
        guarantee = self.guarantee(answers=answers)
        if guarantee.status != "proven":
            raise NoGuarantee(
                f"{self} promises nothing (guarantee: {guarantee.status}), so that its loss "
                "cannot be counted. Use it with simulate in studies, and a mechanism with a proven "
                "guarantee for people."
            )
        if guarantee.delta:
            raise NoGuarantee(
                f"{self} promises an epsilon at a delta only, and such promises do not add up "
                "over a lifetime. Use a mechanism that states its noise or pure epsilon."
            )
        return {KnownPair(guarantee.epsilon_user): 1}

    def loss(self, *, answers: int = 1, changed: int | None = None) -> Loss:
        """Return the loss where `changed` of a person's answers may differ, all reports seen.

        Parameters
        ----------
        answers : int
            How many the person gives.
        changed : int, optional
            At most `answers`, and all of them by default. Where answers are masked separately, the
            reports of the others say nothing.

        Raises
        ------
        NoGuarantee
            As in `pairs`.
        """
        changed = answers if changed is None else whole(changed, "changed", low=0, high=answers)
        pairs = self.pairs(answers=changed)
        total = sum((pair.loss * count for pair, count in pairs.items()), no_loss())
        if math.isinf(total.pure):
            return total
        # of many answers together, rounded once
        return total.within_pure(self.guarantee(answers=changed).epsilon_user)

    @abstractmethod
    def variance(self) -> float:
        """Return the variance that the mask adds to the unbiased estimate of one answer."""

    @abstractmethod
    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this mechanism's domain."""

    @abstractmethod
    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        """Return masked claims, one report for each row."""

    def randomize(
        self,
        claims: Claims | Frame,
        *,
        presence: Presence | None = None,
        coins: Coins | None = None,
    ) -> Claims:
        """Return masked claims, drawn with operating-system entropy; `claims` is not changed.

        Parameters
        ----------
        claims : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            A table is enough where reports show no list: categories need the options, declared
            with `Claims.from_frame`.
        presence : {"hidden", "assigned"}
            For mechanisms that mask "no answer", and only for these; see `with_presence`.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        ParameterError, UnknownLabel
            The claims do not fit the mechanism, `presence` was not chosen, or a list that reports
            show was read off the answers: the options, and with ``"hidden"`` tasks and workers.

        Privacy
        -------
        Whom each report protects, and how much, says `guarantee`. Who is in the claims, and with
        ``"assigned"`` or without `null` which tasks each answered, is public.
        """
        from masquerade.answers import Claims  # dear to load: a tenth of a server's start

        # first: a seeded generator is refused before anything of the claims is looked at
        source = require_coins(coins)
        claims = Claims.of(claims, kind=self.kind, null=self.null)
        cells = self.with_presence(claims, presence)
        # claims of the other kind are refused below, in words that say so
        if self.kind == claims.kind:
            _require_public(claims, hidden=presence == "hidden")
        return self._masked(cells, source)

    def simulate(
        self, claims: Claims | Frame, rng: np.random.Generator, *, presence: Presence | None = None
    ) -> Claims:
        """Return masked claims for a study, reproducible by the generator's seed.

        Privacy
        -------
        None: whoever knows the seed can undo the masks. Use `randomize` for people.
        """
        from masquerade.answers import Claims

        claims = Claims.of(claims, kind=self.kind, null=self.null)
        return self._masked(self.with_presence(claims, presence), SimulatedCoins(rng))

    def with_presence(self, claims: Claims, presence: Presence | None) -> Claims:
        """Return the cells on which workers report.

        ``"assigned"``: the rows that are there. Whoever collects knows which tasks each worker was
        shown; "no answer" within them is masked, the others are not reported and not secret.
        ``"hidden"``: every worker reports on every task, so that nothing beyond the loss is learnt
        of which were answered. The two promise different things, so a mechanism that masks "no
        answer" does not choose for the caller.
        """
        if presence not in (None, "hidden", "assigned"):
            raise ParameterError(f"presence is {presence!r}, expected 'hidden' or 'assigned'.")
        if self.null and presence is None:
            raise ParameterError(
                f"{self} masks 'no answer': say presence='assigned' (the tasks each worker was "
                "shown are known) or presence='hidden' (every worker reports on every task); "
                "--presence on the command line."
            )
        if presence == "hidden":
            if not self.null:
                raise ParameterError(
                    f"{self} cannot hide which tasks were answered: it has no symbol for 'no "
                    "answer'. Use a mechanism that masks it, or presence='assigned'."
                )
            return claims.all_cells()
        return claims

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as a JSON object; its ``"mechanism"`` is the text form."""
        return {"mechanism": str(self), "name": self.name, **self.fields()}

    def _set(self, **values: Any) -> None:
        """Set fields of a mechanism that is being made; afterwards they are frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _text(self) -> str:
        return text_form(self.name, self.fields())

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"parse_mechanism({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def require_mechanism(given: object) -> Mechanism:
    """Return a mechanism; `ParameterError` for anything else, such as the text form of one."""
    if not isinstance(given, Mechanism):
        raise ParameterError(
            f"{given!r} is no Mechanism; make one, or read its text form with parse_mechanism."
        )
    return given


def require_flag(value: object, name: str) -> None:
    """Raise `ParameterError` where a flag is not a Python bool."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}, expected True or False.", field=name)


def _require_public(claims: Claims, *, hidden: bool) -> None:
    """Refuse lists that one answer, or one unanswered task, could change."""
    if claims.options is not None and "options" in claims.read_off:
        raise ParameterError(
            f"the options {claims.options.to_pylist()[:10]} were read off the answers, and an "
            "option that one person alone gave would be told by the list; declare all options "
            "when reading the claims, options=[...] (--options on the command line)."
        )
    for name in ("tasks", "workers"):
        if hidden and name in claims.read_off:
            raise ParameterError(
                f"presence='hidden' is to hide which tasks were answered, and the {name} were read "
                f"off the answers; declare all {name} when reading the claims, {name}=[...] "
                f"(--{name} FILE on the command line), or use presence='assigned'."
            )
