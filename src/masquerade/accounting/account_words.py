"""Words on an account: where a person stands, and how many answers a cap allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masquerade.accounting.balance import Balance
from masquerade.accounting.caps import RULE, Caps, least_cap
from masquerade.accounting.chain import PAID, Entry
from masquerade.accounting.composition import TWO_PARTIES, Spent, spent
from masquerade.accounting.words import power_in_words, risk_in_words
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.loss import Loss, no_loss
from masquerade.exact.number import largest_whole, quantity
from masquerade.exact.pairs import Pair
from masquerade.mechanisms import LEVELS, DiscreteGaussian

#: Where counting stops; nobody answers a million questions.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Allowed(Result):
    """The number of equal answers that a cap allows.

    Attributes
    ----------
    ledger : int
        How many the ledger admits; safe whatever is chosen on the way.
    by_method : mapping of str to int
        How many each condition of `Caps` admits (``"pure"``, ``"renyi"``, ``"clock"``), and how
        many would fit a list that is fixed beforehand, added up exactly (``"fixed"``).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from masquerade.exact.pairs import NoisePair
    >>> answers_allowed(NoisePair.of_number(4, Fraction(144)), Caps()).ledger
    29
    """

    ledger: int
    by_method: Mapping[str, int]


def answers_allowed(pair: Pair, caps: Caps) -> Allowed:
    """Return how many answers of one kind fit under `caps`.

    Parameters
    ----------
    pair : Pair
        Of one answer, with a loss above 0.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> [pair] = RandomizedResponse(2, epsilon=1).pairs()
    >>> answers_allowed(pair, Caps()).ledger
    10
    """
    loss = pair.loss
    if loss.in_clear:
        return Allowed(caps.clear, {"clear": caps.clear})
    if not loss.pure:
        raise ParameterError("this kind of answer costs nothing, so that any number is allowed.")
    conditions = {
        "pure": (loss.pure, caps.epsilon.micro),
        "renyi": (loss.of_order(caps.room.order), caps.room.divergence),
        "clock": (loss.clock, caps.room.clock),
    }
    by_method = {name: min(_MOST, int(most // each)) for name, (each, most) in conditions.items()}
    ledger = max(by_method.values())

    def fits(count: int) -> bool:
        return spent([pair] * count, caps.delta).epsilon <= caps.epsilon

    # the exact sum admits at least what the ledger does, for a list that is fixed
    by_method["fixed"] = largest_whole(fits, low=ledger, most=_MOST)
    return Allowed(ledger, by_method)


def what_a_cap_buys(caps: Caps, *, options: tuple[int, ...] = (2, 5, 10)) -> dict[str, Allowed]:
    """Return the answers that `caps` allow at each level: ratings from 1 to 5, choices by size.

    Parameters
    ----------
    options : tuple of int
        Numbers of options of the choices.

    Returns
    -------
    dict of str to Allowed
        Keys are the level's name and the kind of answer, such as ``"high, 5 options"``.

    Examples
    --------
    >>> what_a_cap_buys(Caps(), options=(2,))["high, 2 options"].ledger
    31
    """
    found = {}
    for level in LEVELS:
        number = DiscreteGaussian(1, 5, sigma=4 / level.mu)
        masks = {f"{count} options": level.randomized_response(count) for count in options}
        for name, mechanism in {"number": number, **masks}.items():
            [pair] = mechanism.pairs()
            found[f"{level.name}, {name}"] = answers_allowed(pair, caps)
    return found


_METHODS = {
    "pure": "That is the sum of what each response cost, and holds outright.",
    "renyi": "That is added up in Renyi divergences, as if your responses had been fixed "
    "beforehand.",
    "distribution": "That is the exact sum, as if your responses had been fixed beforehand.",
}


def spent_by(balance: Balance, entries: Sequence[Entry]) -> Spent:
    """Return the joint cost of a person's committed responses; see `Ledger.spent`."""
    paid = [entry.charge.cost for entry in entries if entry.charge.kind in PAID]
    found = spent([pair for cost in paid for pair in cost.charges()], balance.caps.delta)
    # The sum that the chain holds: each response was rounded once there, and not each answer.
    exact = Micro(balance.spent_epsilon)
    # A bound that may fail is no better for being a hundredth lower.
    if balance.spent_unbounded or 99 * exact > 100 * found.epsilon:
        return found
    return Spent(exact, Fraction(0), "pure", {**found.bounds, "pure": exact})


def statement(balance: Balance, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return where a person stands, in sentences; see `Ledger.explain`."""
    so_far = spent_by(balance, entries)
    paid = [entry.charge.cost.loss for entry in entries if entry.charge.kind in PAID]
    together = sum(paid, no_loss())
    bound = f"epsilon = {so_far.epsilon}"
    if so_far.delta:
        bound += f" at delta = {float(so_far.delta):g}"
    return (
        "For the answers you protected, what anyone else can learn about them from everything "
        f"this app has ever sent is limited by {bound}. It does not cover answers you sent in "
        f"clear ({balance.spent_clear}), nor the fact that you took part.",
        *_split_in_words(split_responses(entries)),
        f"As if your responses had been fixed beforehand: {_small(power_in_words(together))}",
        risk_in_words(together, adaptive=True),
        _METHODS[so_far.method],
        _cap_in_words(balance, together),
        f"At least {balance.percent_left} % of it is left, {balance.open} reserved responses "
        f"counted as spent; you may send {balance.residual_clear} more answers in clear.",
    )


def _small(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def split_responses(entries: Sequence[Entry]) -> int:
    """Return how many committed responses are split between two parties."""
    paid = [entry.charge.mechanisms for entry in entries if entry.charge.kind in PAID]
    return sum(any(one.startswith(TWO_PARTIES) for one in used) for used in paid)


def _split_in_words(count: int) -> tuple[str, ...]:
    # Both truths: the amounts above hold while one party of each pair is honest.
    if not count:
        return ()
    responses = quantity(count, "response lies", "responses lie")
    return (
        f"{responses} with two parties, in halves. That holds as long as one of the two is honest: "
        "should both put their halves together, they read these answers as if sent in clear.",
    )


def _cap_in_words(balance: Balance, together: Loss) -> str:
    caps = balance.caps
    bound = f"epsilon = {caps.epsilon} at delta = {float(caps.delta):g}"
    if balance.within_caps and caps.rule == RULE:
        return (
            f"Whatever was and will be chosen on the way, your cap holds: {bound}. If you changed "
            "it, what is proven for everything is the largest epsilon that it had, at three times "
            "the largest delta, and a lower one stops what follows."
        )
    least = least_cap(together, caps.delta)
    if least <= caps.epsilon:
        return f"What is reserved goes beyond your cap: {bound}. It only stops what would follow."
    return (
        f"By today's rule your answers come to epsilon = {least}, above your cap: {bound}. It only "
        "stops what would follow."
    )
