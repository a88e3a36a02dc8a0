"""A person's balance, derived from the chain of charges, and the error where it is too low."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from masquerade.accounting.caps import Caps
from masquerade.accounting.chain import GENESIS, PAID, Charge, Entry, verify_chain
from masquerade.accounting.cost import Cost
from masquerade.accounting.rho import NO_RHO, Rho
from masquerade.errors import BrokenChain, ClearDisclosureRefused, InsufficientBudget
from masquerade.exact import INFINITE_LOSS, MICRO, Micro


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
    spent_rho, reserved_rho : int
        Sums of the rhos, of all charges.
    spent_clear, reserved_clear : int
        Numbers of answers in clear. They are in none of the sums.
    spent_other, reserved_other : int
        Number of charges of which not all is Gaussian noise.

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
    spent_rho: int = 0
    reserved_rho: int = 0
    spent_clear: int = 0
    reserved_clear: int = 0
    spent_other: int = 0
    reserved_other: int = 0

    @property
    def epsilon(self) -> Micro:
        """Pure epsilon of everything spent and reserved; infinite where there is none."""
        unbounded = self.spent_unbounded + self.reserved_unbounded
        return INFINITE_LOSS if unbounded else Micro(self.spent_epsilon + self.reserved_epsilon)

    @property
    def rho(self) -> Rho:
        """Zero-concentrated loss of everything spent and reserved."""
        return Rho(self.spent_rho + self.reserved_rho)

    @property
    def spent(self) -> bool:
        """Whether anything was spent, of whatever is counted."""
        return bool(
            self.spent_epsilon or self.spent_unbounded or self.spent_rho or self.spent_clear
        )

    @property
    def residual_epsilon(self) -> Micro:
        """Pure epsilon that is left; 0 where pure epsilons no longer decide."""
        return Micro(max(0, self.caps.epsilon.micro - self.epsilon.micro))

    @property
    def cap_rho(self) -> Rho:
        """Zero-concentrated loss that everything may come to; more if all of it is Gaussian."""
        all_gaussian = self.rho.micro and not self.spent_other + self.reserved_other
        return self.caps.gaussian if all_gaussian else self.caps.rho

    @property
    def residual_rho(self) -> Rho:
        """Zero-concentrated loss that is left, for more of the same."""
        return Rho(max(0, self.cap_rho.micro - self.rho.micro))

    @property
    def residual_clear(self) -> int:
        """Number of answers that may still be sent in clear."""
        return max(0, self.caps.clear - self.spent_clear - self.reserved_clear)

    def to_json(self) -> dict[str, Any]:
        """Return the balance as a JSON object, in epsilon and rho."""
        return {
            "cap_epsilon": self.caps.epsilon.to_json(),
            "cap_delta": float(self.caps.delta),
            "cap_rho": self.cap_rho.to_json(),
            "cap_clear": self.caps.clear,
            "epsilon": self.epsilon.to_json(),
            "rho": self.rho.to_json(),
            "clear": self.spent_clear + self.reserved_clear,
            "residual_epsilon": self.residual_epsilon.to_json(),
            "residual_rho": self.residual_rho.to_json(),
            "residual_clear": self.residual_clear,
            "reservations": self.open,
        }


def admitted(balance: Balance, cost: Cost) -> bool:
    """Return whether `cost` fits what is left; see `Caps`."""
    unbounded = cost.unbounded or balance.spent_unbounded or balance.reserved_unbounded
    epsilon = cost.micro_epsilon + balance.spent_epsilon + balance.reserved_epsilon
    return balance.caps.admit(
        epsilon=math.inf if unbounded else epsilon,
        rho=cost.micro_rho + balance.spent_rho + balance.reserved_rho,
        clear=cost.clear + balance.spent_clear + balance.reserved_clear,
        # `not` of the whole sum: nothing that is not Gaussian
        gaussian=not cost.other + balance.spent_other + balance.reserved_other,
    )


def after(balance: Balance, entry: Entry, *, reserved: bool) -> Balance:
    """Return the balance after an entry; `reserved`: a reservation was open under its key."""
    (
        caps,
        _,
        _,
        open_,
        spent_epsilon,
        reserved_epsilon,
        spent_unbounded,
        reserved_unbounded,
        spent_rho,
        reserved_rho,
        spent_clear,
        reserved_clear,
        spent_other,
        reserved_other,
    ) = balance
    (_, cost, _, kind, _, new_caps), sequence, _, head = entry
    micro_epsilon, unbounded = cost.micro_epsilon, cost.unbounded
    micro_rho, clear = cost.micro_rho, cost.clear
    # an open reservation ends with this entry, whether it is committed or released
    if reserved or kind == "reserve":
        sign = -1 if reserved else 1
        open_ += sign
        reserved_epsilon += sign * micro_epsilon
        reserved_unbounded += sign * unbounded
        reserved_rho += sign * micro_rho
        reserved_clear += sign * clear
        reserved_other += sign * cost.other
    if kind in PAID:
        spent_epsilon += micro_epsilon
        spent_unbounded += unbounded
        spent_rho += micro_rho
        spent_clear += clear
        spent_other += cost.other
    # A ledger takes this step for each entry, so the keywords of the constructor are skipped.
    return tuple.__new__(
        Balance,
        (
            caps if new_caps is None else new_caps,
            sequence + 1,
            head,
            open_,
            spent_epsilon,
            reserved_epsilon,
            spent_unbounded,
            reserved_unbounded,
            spent_rho,
            reserved_rho,
            spent_clear,
            reserved_clear,
            spent_other,
            reserved_other,
        ),
    )


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
    if charge.kind in PAID and (charge.kind == "clear_disclosure") != bool(charge.cost.clear):
        return False
    if before is None:
        return charge.kind in ("reserve", *PAID) and admitted(balance, charge.cost)
    finished = charge.kind in ("release", *PAID)
    return finished and before.kind == "reserve" and before.cost == charge.cost


_NAMED = 5  # surveys in the message


def refusal(
    cost: Cost, balance: Balance, paid: Sequence[Entry]
) -> InsufficientBudget | ClearDisclosureRefused:
    """Return the error of a response that does not fit what is left beside what was `paid`."""
    caps = balance.caps
    if cost.clear > balance.residual_clear:
        return ClearDisclosureRefused(
            f"this survey asks for {cost.clear} answers in clear and this participant allows "
            f"{balance.residual_clear} more of {caps.clear}. Ask with a mechanism that masks, "
            "or choose others with masquerade select.",
            needed=cost.clear,
            residual=balance.residual_clear,
        )
    needed: Micro | Rho = Rho(cost.micro_rho)
    most = caps.rho if cost.other else balance.cap_rho
    left: Micro | Rho = Rho(max(0, most.micro - balance.rho.micro))
    unit, of = "rho", f"{most} (epsilon {caps.epsilon} at delta {float(caps.delta):g})"
    nothing_left = left == NO_RHO and balance.epsilon < INFINITE_LOSS
    if not cost.unbounded and (balance.epsilon <= caps.epsilon or nothing_left):
        needed, left = Micro(cost.micro_epsilon), balance.residual_epsilon
        unit, of = "epsilon", str(caps.epsilon)
    return InsufficientBudget(
        f"this survey costs {unit} {needed} and this participant has {left} left of {of}"
        f"{_spent_on(paid, balance.open)}. Lower the survey's {unit} to {left} or choose others "
        "with masquerade select.",
        needed=needed.micro / MICRO,
        residual=left.micro / MICRO,
        unit=unit,
    )


def _spent_on(paid: Sequence[Entry], reserved: int) -> str:
    names = list(dict.fromkeys(f'"{entry.charge.survey}"' for entry in paid))
    parts = []
    if names:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"spent on {', '.join(names[:_NAMED])}{more}")
    if reserved:
        parts.append(f"reserved for {reserved} {'response' if reserved == 1 else 'responses'}")
    return f" ({', '.join(parts)})" if parts else ""
