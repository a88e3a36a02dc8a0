"""A person's account in words: what was sent, what it comes to, what is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from masquerade.accounting.balance import Balance
from masquerade.accounting.chain import PAID, Entry
from masquerade.accounting.composition import Spent, spent
from masquerade.accounting.cost import Cost
from masquerade.accounting.kinds import Kind, is_clear, kinds_of, pure_of, rho_of
from masquerade.accounting.rho import NO_RHO, Rho
from masquerade.accounting.trade_off import largest_power, largest_power_together
from masquerade.accounting.words import power_in_words, risk_in_words
from masquerade.errors import NoGuarantee, ParameterError
from masquerade.exact import NO_LOSS, Micro
from masquerade.mechanisms import parse_mechanism

# How the mechanism of a response begins that two parties add up.
_TWO_PARTIES = "two-parties:"

_METHODS = {
    "pure": "That is the sum of what each response cost, and holds outright.",
    "concentrated": "That is added up in rho, as if your responses had been fixed beforehand.",
    "distribution": "That is the exact sum, as if your responses had been fixed beforehand.",
}


def spent_by(balance: Balance, entries: Sequence[Entry]) -> Spent:
    """Return what a person's committed responses come to; see `Ledger.spent`."""
    found = spent(_charges(entries), balance.caps.delta)
    # The sum that the chain holds: each response was rounded once there, and not each answer.
    exact = Micro(balance.spent_epsilon)
    # A bound that may fail is no better for being a hundredth lower.
    if balance.spent_unbounded or 99 * exact > 100 * found.epsilon:
        return found
    return Spent(exact, Fraction(0), "pure", {**found.bounds, "pure": exact})


def statement(balance: Balance, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return where a person stands, in sentences; see `Ledger.explain`."""
    so_far = spent_by(balance, entries)
    return (
        "For the answers you protected, what anyone else can learn about them from everything "
        f"this app has ever sent is limited by epsilon = {so_far.epsilon}, delta = "
        f"{float(so_far.delta):g}. It does not cover answers you sent in clear "
        f"({balance.spent_clear}), nor the fact that you took part.",
        *_split_in_words(split_responses(entries)),
        power_in_words(_power(so_far, entries)),
        risk_in_words(so_far.epsilon, delta=so_far.delta),
        _METHODS[so_far.method],
        _cap_in_words(balance),
        f"At least {percent_left(balance)} % of it is left, {balance.open} reserved responses "
        f"counted as spent; you may send {balance.residual_clear} more answers in clear.",
    )


def split_responses(entries: Sequence[Entry]) -> int:
    """Return how many committed responses are split between two parties."""
    paid = [entry.charge.mechanisms for entry in entries if entry.charge.kind in PAID]
    return sum(any(one.startswith(_TWO_PARTIES) for one in used) for used in paid)


def _split_in_words(count: int) -> tuple[str, ...]:
    # Both truths: the amounts above hold while one party of each pair is honest.
    if not count:
        return ()
    responses = "1 response lies" if count == 1 else f"{count} responses lie"
    return (
        f"{responses} with two parties, in halves. That holds as long as one of the two is honest: "
        "should both put their halves together, they read these answers as if sent in clear.",
    )


def _charges(entries: Sequence[Entry]) -> list[Kind]:
    """Return the losses of all committed responses."""
    paid = [entry.charge.cost for entry in entries if entry.charge.kind in PAID]
    return [kind for cost in paid for kind in _kinds(cost)]


def _power(so_far: Spent, entries: Sequence[Entry]) -> Callable[[float], float]:
    """Return the largest power at a false-positive rate, by the method that is stated."""
    stated = partial(largest_power, loss=so_far.epsilon, delta=so_far.delta)
    if so_far.method == "pure":
        return stated
    together = largest_power_together(_charges(entries))
    return lambda rate: min(stated(rate), together(rate))


def _cap_in_words(balance: Balance) -> str:
    caps = balance.caps
    bound = f"epsilon = {caps.epsilon}, delta = {float(caps.delta):g}"
    gaussian = not balance.spent_other + balance.reserved_other
    if caps.admit(epsilon=balance.epsilon.micro, rho=balance.rho.micro, clear=0, gaussian=gaussian):
        return f"Whatever was and will be chosen on the way, your cap holds: {bound}."
    return f"You lowered your cap below what was spent: {bound}. It only stops what would follow."


def percent_left(balance: Balance) -> int:
    """Return the part of the cap that is left, rounded down; reservations count as spent."""
    pairs = (
        (balance.residual_epsilon.micro, balance.caps.epsilon.micro),
        (balance.residual_rho.micro, balance.cap_rho.micro),
    )
    return max(int(100 * left // of) if of else 0 for left, of in pairs)


@lru_cache(maxsize=1024)
def _known_kinds(mechanisms: tuple[str, ...]) -> tuple[Kind, ...]:
    try:
        kinds = kinds_of(parse_mechanism(text) for text in mechanisms)
    except (ParameterError, NoGuarantee):
        return ()  # written by another version, or by hand
    return tuple(kind for kind in kinds if not is_clear(kind))


def _kinds(cost: Cost) -> Sequence[Kind]:
    """Return the losses of one response, as finely as its mechanisms are known."""
    amount = Rho(cost.micro_rho) if cost.unbounded else Micro(cost.micro_epsilon)
    known = _known_kinds(cost.mechanisms)
    # Never less than what was charged.
    if isinstance(amount, Rho):
        enough = sum(map(rho_of, known), NO_RHO) >= amount
    else:
        enough = sum(map(pure_of, known), NO_LOSS) >= amount
    return known if known and enough else (amount,)
