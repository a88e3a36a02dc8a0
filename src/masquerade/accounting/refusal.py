"""Why a response was refused: what it costs, what is left of what, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from masquerade.accounting.balance import Balance
from masquerade.accounting.chain import Entry
from masquerade.accounting.concentrated import NO_RHO, Rho
from masquerade.accounting.cost import Cost
from masquerade.errors import ClearDisclosureRefused, InsufficientBudget
from masquerade.mechanisms import INFINITE_LOSS, MICRO, Loss

_NAMED = 5  # surveys in the message


def refusal(
    cost: Cost, balance: Balance, entries: Sequence[Entry]
) -> InsufficientBudget | ClearDisclosureRefused:
    """Return the error of a response that does not fit what is left."""
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
    left: Loss | Rho = balance.residual_rho
    unit, of = "rho", f"{caps.rho} (epsilon {caps.epsilon} at delta {float(caps.delta):g})"
    nothing_left = left == NO_RHO and balance.epsilon < INFINITE_LOSS
    if not cost.unbounded and (balance.epsilon <= caps.epsilon or nothing_left):
        needed, left = Loss(cost.micro_epsilon), balance.residual_epsilon
        unit, of = "epsilon", str(caps.epsilon)
    return InsufficientBudget(
        f"this survey costs {unit} {needed} and this participant has {left} left of {of}"
        f"{_spent_on(entries)}. Lower the survey's {unit} to {left} or choose others with "
        "masquerade select.",
        needed=needed.micro / MICRO,
        residual=left.micro / MICRO,
        unit=unit,
    )


def _spent_on(entries: Sequence[Entry]) -> str:
    charges = [entry.charge for entry in entries]
    given_back = {charge.key for charge in charges if charge.kind == "release"}
    counted = [c for c in charges if c.kind != "adjust" and c.key not in given_back]
    names = list(dict.fromkeys(f'"{charge.survey}"' for charge in counted))
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" (spent on {', '.join(names[:_NAMED])}{more})"
