"""A person's balance, derived from the chain of charges, and the error where it is too low."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, cast

from masquerade.accounting.caps import RULE, Caps
from masquerade.accounting.chain import GENESIS, PAID, Charge, Entry, append, verify_chain
from masquerade.accounting.cost import Cost
from masquerade.errors import BrokenChain, ClearDisclosureRefused, InsufficientBudget
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Micro
from masquerade.exact.loss import Whole, no_loss
from masquerade.exact.number import quantity

#: What an entry that only states caps costs.
NOTHING = Cost("", (), NO_LOSS, no_loss())
# Sums stay below this, so that they are the same whole numbers on a device.
_MOST = 1 << 53


class Balance(NamedTuple):
    """A person's balance under their caps. Amounts are whole millionths.

    Attributes
    ----------
    entries : int
        Length of the person's chain.
    head : str
        Hash of its last entry.
    open : int
        Number of open reservations.
    spent_epsilon, reserved_epsilon : int
        Sums of the pure epsilons, of charges that have one.
    spent_unbounded, reserved_unbounded : int
        Number of charges that have none, such as Gaussian noise.
    spent_divergence, reserved_divergence : int
        Sums of the Renyi divergences of the order of the caps, of all charges.
    spent_clock, reserved_clock : int
        Sums of the clocks, of charges that have one.
    spent_unclocked, reserved_unclocked : int
        Number of charges that have none, such as randomized response.
    spent_clear, reserved_clear : int
        Numbers of answers in clear. They are in none of the sums.

    Examples
    --------
    >>> from masquerade.accounting import Caps
    >>> balance = Balance(Caps(), spent_epsilon=2_500_000)
    >>> str(balance.epsilon), str(balance.residual_epsilon)
    ('2.5', '7.5')
    """

    caps: Caps
    entries: int = 0
    head: str = GENESIS
    open: int = 0
    spent_epsilon: int = 0
    reserved_epsilon: int = 0
    spent_unbounded: int = 0
    reserved_unbounded: int = 0
    spent_divergence: int = 0
    reserved_divergence: int = 0
    spent_clock: int = 0
    reserved_clock: int = 0
    spent_unclocked: int = 0
    reserved_unclocked: int = 0
    spent_clear: int = 0
    reserved_clear: int = 0

    @property
    def epsilon(self) -> Micro:
        """Pure epsilon of everything spent and reserved; infinite where there is none."""
        unbounded = self.spent_unbounded + self.reserved_unbounded
        return INFINITE_LOSS if unbounded else Micro(self.spent_epsilon + self.reserved_epsilon)

    @property
    def totals(self) -> dict[str, Whole]:
        """The sums that `Caps.admit` compares, of everything spent and reserved."""
        unclocked = self.spent_unclocked + self.reserved_unclocked
        return {
            "pure": self.epsilon.micro,
            "divergence": self.spent_divergence + self.reserved_divergence,
            "clock": math.inf if unclocked else self.spent_clock + self.reserved_clock,
        }

    @property
    def spent(self) -> bool:
        """Whether anything was spent, of any counted amount."""
        return bool(
            self.spent_epsilon or self.spent_unbounded or self.spent_divergence or self.spent_clear
        )

    @property
    def within_caps(self) -> bool:
        """Whether the protected answers fit the caps; not after these were lowered below them."""
        return self.caps.admit(**self.totals, clear=0)

    @property
    def residual_epsilon(self) -> Micro:
        """Pure epsilon that is left; 0 where pure epsilons no longer decide."""
        return Micro(max(0, self.caps.epsilon.micro - self.epsilon.micro))

    @property
    def share_left(self) -> Fraction:
        """Part of the cap that is left, by the condition that leaves most."""
        room = self.caps.room
        most = {"pure": self.caps.epsilon.micro, "divergence": room.divergence, "clock": room.clock}
        left = [
            1 - Fraction(int(used), int(most[name]))
            for name, used in self.totals.items()
            if most[name] and not math.isinf(used)
        ]
        return max([Fraction(0), *left])

    @property
    def percent_left(self) -> int:
        """Part of the cap that is left in percent, rounded down; reservations count as spent."""
        return int(100 * self.share_left)

    @property
    def residual_clear(self) -> int:
        """Number of answers that may still be sent in clear."""
        return max(0, self.caps.clear - self.spent_clear - self.reserved_clear)

    def to_json(self) -> dict[str, Any]:
        """Return the balance as a JSON object."""
        return {
            "cap_epsilon": self.caps.epsilon.to_json(),
            "cap_delta": float(self.caps.delta),
            "cap_clear": self.caps.clear,
            "epsilon": self.epsilon.to_json(),
            "clear": self.spent_clear + self.reserved_clear,
            "residual_epsilon": self.residual_epsilon.to_json(),
            "percent_left": self.percent_left,
            "residual_clear": self.residual_clear,
            "reservations": self.open,
        }


def admitted(balance: Balance, cost: Cost) -> bool:
    """Return whether the remaining budget admits `cost`; see `Caps`."""
    sums = map(sum, zip(*_sums(balance), _amounts(balance.caps, cost), strict=True))
    pure, unbounded, divergence, clock, unclocked, clear = sums
    return divergence < _MOST and balance.caps.admit(
        pure=math.inf if unbounded else pure,
        divergence=divergence,
        clock=math.inf if unclocked else clock,
        clear=clear,
    )


def after(balance: Balance, entry: Entry, *, reserved: bool) -> Balance:
    """Return the balance after an entry; `reserved`: a reservation was open under its key.

    Caps of another order are for `adjusted`, which adds up their divergences.
    """
    (_, cost, _, kind, _, caps), sequence, _, head = entry
    amounts = _amounts(balance.caps, cost)
    # an open reservation ends with this entry, whether it is committed or released
    held = -1 if reserved else int(kind == "reserve")
    paid = int(kind in PAID)
    sums: list[int] = []
    for spent, open_, amount in zip(*_sums(balance), amounts, strict=True):
        sums += (spent + paid * amount, open_ + held * amount)
    caps = balance.caps if caps is None else caps
    # A ledger takes this step for each entry, so the keywords of the constructor are skipped.
    return tuple.__new__(Balance, (caps, sequence + 1, head, balance.open + held, *sums))


def _sums(balance: Balance) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the amounts spent and reserved, one of each in turns."""
    numbers = cast("tuple[int, ...]", balance[4:])
    return numbers[::2], numbers[1::2]


def _amounts(caps: Caps, cost: Cost) -> tuple[int, ...]:
    """Return the amounts of a cost in the order in which a balance has them."""
    divergence = int(cost.loss.of_order(caps.room.order))
    return cost.pure, cost.unbounded, divergence, cost.clock, cost.unclocked, cost.clear


def adjusted(balance: Balance, entry: Entry, before: Sequence[Entry]) -> Balance:
    """Return the balance after new caps, with divergences of their order from all entries before.

    Cost: linear in the entries where the order changes.
    """
    new = after(balance, entry, reserved=False)
    order = new.caps.room.order
    if order == balance.caps.room.order:
        return new
    latest = {one.charge.key: one.charge for one in before if one.charge.kind != "adjust"}
    open_ = [charge.cost for charge in latest.values() if charge.kind == "reserve"]
    paid = [one.charge.cost for one in before if one.charge.kind in PAID]
    spent, reserved = (
        sum(int(cost.loss.of_order(order)) for cost in costs) for costs in (paid, open_)
    )
    return new._replace(spent_divergence=spent, reserved_divergence=reserved)


def by_today(entries: Sequence[Entry]) -> Entry | None:
    """Return the entry that puts an account of an earlier rule under the rule of today, or None.

    It states the same caps by the rule of today, on the day of the last entry, so that whoever
    brings the same chain forward finds the same entry.
    """
    stated = [entry.charge.caps for entry in entries if entry.charge.caps is not None]
    if not stated or stated[-1].rule == RULE:
        return None
    last = entries[-1].charge
    charge = Charge(last.person, NOTHING, last.day, "adjust", "", stated[-1].of_today())
    return append(charge, entries[-1])


def rebuilt(entries: Sequence[Entry]) -> Balance:
    """Return the balance that a person's entries, at least one, come to.

    Raises `BrokenChain` where they are no chain of one person, or record what cannot have happened:
    a commit without its reservation, or a response that did not fit the caps of its time.
    """
    verify_chain(entries)
    first = entries[0].charge
    if first.caps is None:
        raise BrokenChain(f"ledger entry 0 of {first.person} does not say under which caps.")
    balance = Balance(first.caps)
    latest: dict[str, Charge] = {}
    for entry in entries:
        charge = entry.charge
        before = latest.get(charge.key)
        reserved = before is not None and before.kind == "reserve"
        if charge.person != first.person or not _possible(charge, before, balance):
            raise BrokenChain(
                f"ledger entry {entry.sequence} of {first.person} is a {charge.kind} that cannot "
                "come after the entries before it. Restore the ledger from a backup."
            )
        if charge.caps is None:
            balance = after(balance, entry, reserved=reserved)
        elif charge.kind == "adjust":
            balance = adjusted(balance, entry, entries[: entry.sequence])
        else:  # the first entry, which states the caps and charges
            balance = after(balance, entry, reserved=reserved)
        latest[charge.key] = charge
    return balance


def _possible(charge: Charge, before: Charge | None, balance: Balance) -> bool:
    """Return whether a charge can follow on the latest one of its key, at this balance."""
    if charge.kind == "adjust":
        return charge.caps is not None and not charge.key
    # only the first entry and adjustments may state caps: else a charge could raise them
    if charge.caps is not None and balance.entries:
        return False
    if charge.kind in PAID and (charge.kind == "clear_disclosure") != charge.cost.disclosure:
        return False
    if before is None:
        # what an earlier version admitted, it admitted by a rule that is gone
        fits = balance.caps.rule < RULE or admitted(balance, charge.cost)
        return charge.kind in ("reserve", *PAID) and fits
    finished = charge.kind in ("release", *PAID)
    return finished and before.kind == "reserve" and before.cost == charge.cost


_NAMED = 5  # surveys in the message


def refusal(
    cost: Cost, balance: Balance, paid: Sequence[Entry]
) -> InsufficientBudget | ClearDisclosureRefused:
    """Return the error for a response that exceeds the budget left beside the `paid` ones."""
    caps = balance.caps
    if cost.clear > balance.residual_clear:
        return ClearDisclosureRefused(
            f"this survey asks for {quantity(cost.clear, 'answer')} in clear and this participant "
            f"allows {balance.residual_clear} more of {caps.clear}. Ask with a mechanism that "
            "masks, or choose others with masquerade select.",
            needed=cost.clear,
            residual=balance.residual_clear,
        )
    nothing_left = not balance.share_left and balance.epsilon < INFINITE_LOSS
    if not cost.unbounded and (balance.epsilon <= caps.epsilon or nothing_left):
        needed, left = Micro(cost.pure), balance.residual_epsilon
        return InsufficientBudget(
            f"this survey costs epsilon {needed} and this participant has {left} left of "
            f"{caps.epsilon}{_spent_on(paid, balance.open)}. Lower the survey's epsilon to {left} "
            "or choose others with masquerade select.",
            needed=needed.epsilon,
            residual=left.epsilon,
            unit="epsilon",
        )
    share = caps.share(cost.loss)
    needs = math.inf if share is None else float(math.ceil(share * 1000)) / 10
    rest = float(int(balance.share_left * 1000)) / 10
    bound = f"epsilon {caps.epsilon} at delta {float(caps.delta):g}"
    return InsufficientBudget(
        f"this survey costs {needs:g} % of the cap, {bound}, and this participant has {rest:g} % "
        f"left{_spent_on(paid, balance.open)}. Ask fewer questions, offer a level that hides more, "
        "or choose others with masquerade select.",
        needed=needs,
        residual=rest,
        unit="percent",
    )


def _spent_on(paid: Sequence[Entry], reserved: int) -> str:
    names = list(dict.fromkeys(f'"{entry.charge.survey}"' for entry in paid))
    parts = []
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"spent on {', '.join(names[:_NAMED])}{more}")
    if reserved:
        parts.append(f"reserved for {quantity(reserved, 'response')}")
    return f" ({', '.join(parts)})" if parts else ""
