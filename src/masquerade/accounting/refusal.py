"""Why a response was refused: what it costs, what is left of what, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from masquerade.accounting.balance import Balance
from masquerade.accounting.chain import Entry
from masquerade.accounting.concentrated import NO_RHO, Rho
from masquerade.accounting.cost import Cost
from masquerade.errors import ClearDisclosureRefused, InsufficientBudget
from masquerade.exact import INFINITE_LOSS, MICRO, Loss

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
    needed: Loss | Rho = Rho(cost.micro_rho)
    most = caps.rho if cost.other else balance.cap_rho
    left: Loss | Rho = Rho(max(0, most.micro - balance.rho.micro))
    unit, of = "rho", f"{most} (epsilon {caps.epsilon} at delta {float(caps.delta):g})"
    nothing_left = left == NO_RHO and balance.epsilon < INFINITE_LOSS
    if not cost.unbounded and (balance.epsilon <= caps.epsilon or nothing_left):
        needed, left = Loss(cost.micro_epsilon), balance.residual_epsilon
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
