"""The cost of one response, the same for all respondents."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import ge
from typing import Any, NamedTuple

from masquerade.accounting.composition import compose, pairs_of_text
from masquerade.errors import NeighbourMismatch, NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.exact.loss import ORDERS, REPLACE, Loss, no_loss, pure_loss, rho_loss
from masquerade.exact.pairs import KnownPair, Pair, RhoPair, rho_together
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of


class Earlier(NamedTuple):
    """Amounts of a cost as versions before rule 3 wrote them; they are hashed, and not believed.

    Attributes
    ----------
    event, user : Micro
        Pure epsilon of one changed answer, and of all answers together.
    clear : int
        How many answers are in clear.
    protected : Micro or None
        As `user`, of the answers that are not in clear; given where some are.
    rho : Micro or None
        Zero-concentrated loss of the same answers, where it was given.
    gaussian : bool
        Whether it was written that all noise is Gaussian. It decides nothing.
    """

    event: Micro
    user: Micro
    clear: int = 0
    protected: Micro | None = None
    rho: Micro | None = None
    gaussian: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one response to a survey, in every unit that a ledger counts.

    Attributes
    ----------
    mechanisms : tuple of str
        Text form of the mechanism of each answer, in order.
    event : Micro
        Pure epsilon for one changed answer; infinite where an answer is sent in clear or masked
        without a pure epsilon.
    loss : Loss
        Of all answers of a person that are not in clear, other answers in their place.
    clear : int
        How many answers are sent in clear. They are not in `loss`.
    earlier : Earlier, optional
        The amounts of an entry that an earlier version wrote.
    user : Micro
        Derived: pure epsilon of all answers together.
    pure, unbounded, clock, unclocked : int
        Derived, what a balance adds up: the amount where it is finite, else 0, and 1 where it is
        not.
    digest : str
        Derived: SHA-256 of everything given.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> masks = [RandomizedResponse(2, epsilon=1), RandomizedResponse(5, epsilon=2)]
    >>> cost = Cost.of("survey-1", masks)
    >>> str(cost.event), str(cost.user), cost.loss.of_order(2)
    ('2', '3', 2358511)
    """

    survey: str
    mechanisms: tuple[str, ...]
    event: Micro
    loss: Loss
    clear: int = 0
    earlier: Earlier | None = None
    user: Micro = field(init=False, repr=False, compare=False)
    pure: int = field(init=False, repr=False, compare=False)
    unbounded: int = field(init=False, repr=False, compare=False)
    clock: int = field(init=False, repr=False, compare=False)
    unclocked: int = field(init=False, repr=False, compare=False)
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        loss = self.loss
        if (loss.relation, loss.unit) != (REPLACE, "person"):
            raise NeighbourMismatch(
                f"a ledger counts what other answers of a person would change, and this loss is of "
                f"{loss.relation}, {loss.unit}; convert it with as_replace, and state all that a "
                "person gives."
            )
        if self.clear < 0 or (self.clear and self.event != INFINITE_LOSS):
            raise ParameterError(
                f"clear is {self.clear} and event is {self.event}; an answer in clear has an "
                "infinite loss and is counted as one, never as nothing."
            )
        if math.inf in loss.orders:
            raise ParameterError(
                "a loss without any bound is that of an answer in clear; count it in `clear`."
            )
        unbounded, unclocked = math.isinf(loss.pure), math.isinf(loss.clock)
        user = INFINITE_LOSS if self.clear else loss.epsilon
        derived = {
            "user": user if self.earlier is None else self.earlier.user,
            "pure": 0 if unbounded else loss.pure,
            "unbounded": int(unbounded),
            "clock": 0 if unclocked else loss.clock,
            "unclocked": int(unclocked),
            "digest": hashlib.sha256(self._line().encode(errors="surrogatepass")).hexdigest(),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _line(self) -> str:
        # Every text has its length before it, so that no boundary between fields can be moved.
        texts = "".join(f"{len(text)}:{text}" for text in (self.survey, *self.mechanisms))
        if self.earlier is None:
            orders = ",".join(map(str, self.loss.orders))
            amounts = f"{self.event.micro} {self.loss.pure} {orders} {self.loss.clock}"
            return f"3 {amounts} {self.clear} {texts}"
        event, user, clear, protected, rho, gaussian = self.earlier
        given = [None if x is None else x.micro for x in (protected, rho)]
        mark = " gaussian" if gaussian else ""
        return f"{event.micro} {user.micro} {given[0]} {given[1]} {clear}{mark} {texts}"

    @property
    def disclosure(self) -> bool:
        """Whether an entry says that answers are sent in clear, as it was written."""
        return bool(self.clear if self.earlier is None else self.earlier.clear)

    @property
    def plain(self) -> bool:
        """Whether an entry of the earliest form holds it."""
        earlier = self.earlier
        return earlier is not None and earlier[2:] == (0, None, None, False)

    @property
    def rho(self) -> Micro:
        """Known zero-concentrated loss of the protected answers, for tables of costs."""
        if self.earlier is not None and self.earlier.rho is not None:
            return self.earlier.rho
        pairs = self._pairs()
        if pairs:
            return rho_together(pairs)
        if self.unbounded:
            return Micro.of_amount(self._most_rho())
        return rho_together({KnownPair(self.loss.epsilon): 1})

    def charges(self) -> list[Pair]:
        """Return the pairs of the protected answers, as finely as their mechanisms are known."""
        pairs = self._pairs()
        if pairs:
            return [pair for pair, count in pairs.items() for _ in range(count)]
        if not self.unbounded:
            return [KnownPair(self.loss.epsilon)]
        return [RhoPair(self._most_rho())]

    def _pairs(self) -> dict[Pair, int]:
        """Return the pairs of the mechanisms, unless they state less than the charged loss."""
        pairs = dict(_masked_pairs(self.mechanisms))
        loss = sum((pair.loss * count for pair, count in pairs.items()), no_loss())
        enough = loss.pure >= self.loss.pure and all(map(ge, loss.orders, self.loss.orders))
        return pairs if enough else {}

    def _most_rho(self) -> Fraction:
        """Return a rho that gives no order less than the loss has."""
        return max(
            Fraction(int(d), a * MICRO) for a, d in zip(ORDERS, self.loss.orders, strict=True)
        )

    @classmethod
    def of(cls, survey: str, mechanisms: Iterable[Mechanism | str]) -> Cost:
        """Return the cost of a response with its answers masked by `mechanisms`.

        A mechanism that bounds nothing, such as a flip probability of 0, sends answers in clear.

        Raises
        ------
        NoGuarantee
            A mechanism promises nothing that could be counted.
        ParameterError
            One is no mechanism.
        """
        asked = [mechanism_of(mechanism) for mechanism in mechanisms]
        # all answers of one mechanism together: they may share a flip probability
        losses = {one: one.loss(answers=count) for one, count in Counter(asked).items()}
        masked = [one for one in asked if not losses[one].in_clear]
        event = NO_LOSS
        if masked:
            promise = compose(masked)
            # an epsilon at a delta does not add up
            event = INFINITE_LOSS if promise.delta else promise.epsilon_event
        clear = len(asked) - len(masked)
        protected = sum((losses[one] for one in dict.fromkeys(masked)), no_loss())
        return cls(
            survey,
            tuple(str(mechanism) for mechanism in asked),
            event=INFINITE_LOSS if clear else event,
            loss=protected,
            clear=clear,
        )

    @classmethod
    def of_earlier(cls, survey: str, mechanisms: tuple[str, ...], written: Earlier) -> Cost:
        """Return a cost as an earlier version wrote it, with its loss by the rule of today.

        The loss is that of its mechanisms; where they are unknown or give less than was charged,
        that of the charged pure epsilon, else of the charged rho, without a clock. Answers whose
        mechanism sends them as they are count as in clear, whatever was written.
        """
        charged = written.user if written.protected is None else written.protected
        rho = rho_together({KnownPair(charged): 1}) if written.rho is None else written.rho
        clear = max(written.clear, sum(map(_as_it_is, mechanisms)))
        if rho == INFINITE_LOSS:  # nothing bounds them
            clear, charged = clear or max(1, len(mechanisms)), NO_LOSS
        loss = _loss_of_charged(mechanisms, charged, rho)
        event = INFINITE_LOSS if clear else written.event
        return cls(survey, mechanisms, event, loss, clear, written)


def _loss_of_charged(mechanisms: tuple[str, ...], charged: Micro, rho: Micro) -> Loss:
    known = _masked_pairs(mechanisms)
    loss = sum((pair.loss * count for pair, count in known), no_loss())
    if not math.isinf(charged.micro):
        # Of many answers together epsilons were rounded once, so that less than one millionth an
        # answer was charged too little; whoever wrote down less than that is not believed.
        if bool(known) and Micro(loss.pure) >= charged:
            least = loss.pure if math.isinf(loss.pure) else max(loss.pure - len(mechanisms), 0)
            return loss.within_pure(max(charged, Micro(least)))
        return pure_loss(charged)
    # each answer was rounded up then
    found = sum((rho_together({pair: 1}) * count for pair, count in known), NO_LOSS)
    enough = bool(known) and found >= rho
    return loss if enough else rho_loss(Fraction(int(rho.micro), MICRO))


@lru_cache(maxsize=4096)
def _masked_pairs(mechanisms: tuple[str, ...]) -> tuple[tuple[Pair, int], ...]:
    """Return the pairs of all answers that are not in clear; none where a text is unknown."""
    pairs: Counter[Pair] = Counter()
    try:
        for text, count in Counter(mechanisms).items():
            pairs.update(pairs_of_text(text, answers=count))
    except (ParameterError, NoGuarantee):
        return ()  # written by another version, or by hand
    return tuple((pair, n) for pair, n in pairs.items() if n and not pair.loss.in_clear)


@lru_cache(maxsize=4096)
def _as_it_is(text: str) -> bool:
    """Return whether a mechanism sends an answer as it is."""
    try:
        return any(pair.loss.in_clear for pair in pairs_of_text(text))
    except (ParameterError, NoGuarantee):
        return False


def amounts_of(cost: Cost) -> dict[str, object]:
    """Return the amounts of a cost as JSON has them: whole millionths, or ``"inf"``."""
    if cost.earlier is None:
        return {
            "event": _written(cost.event.micro),
            "pure": _written(cost.loss.pure),
            "orders": [_written(amount) for amount in cost.loss.orders],
            "clock": _written(cost.loss.clock),
            "clear": cost.clear,
        }
    event, user, clear, protected, rho, gaussian = cost.earlier
    return {
        "event": _written(event.micro),
        "user": _written(user.micro),
        "protected": None if protected is None else _written(protected.micro),
        "rho": None if rho is None else _written(rho.micro),
        "clear": clear,
        **({"gaussian": True} if gaussian else {}),
    }


def cost_of(survey: str, mechanisms: tuple[str, ...], amounts: Mapping[str, Any]) -> Cost:
    """Return the cost of written amounts, of this version or an earlier one."""
    event = Micro(_read(amounts["event"]))
    if "orders" in amounts:
        orders = tuple(map(_read, amounts["orders"]))
        loss = Loss(REPLACE, "person", _read(amounts["pure"]), orders, _read(amounts["clock"]))
        return Cost(survey, mechanisms, event, loss, amounts["clear"])
    protected, rho = (
        None if amounts[name] is None else Micro(_read(amounts[name]))
        for name in ("protected", "rho")
    )
    user, gaussian = Micro(_read(amounts["user"])), bool(amounts.get("gaussian"))
    written = Earlier(event, user, amounts["clear"], protected, rho, gaussian)
    return Cost.of_earlier(survey, mechanisms, written)


def _written(micro: float) -> int | str:
    # JSON has no infinity
    return micro if isinstance(micro, int) else "inf"


def _read(micro: int | str) -> int | float:
    return math.inf if micro == "inf" else int(micro)
