"""Whether the masks that come with the questions are those that the level promised."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from masquerade.accounting import NO_RHO, Rho, compose, kinds_of, rho_of
from masquerade.client.asked import Asked
from masquerade.errors import BrokenPromise
from masquerade.mechanisms import INFINITE_LOSS, Loss

CLEAR = "none"
"""Name of the level at which answers are sent as they are."""

# Amounts are exact to a millionth; another version may round its last digit differently.
_SLACK = 2e-6


def promise_of(invitation: Mapping[str, Any], level: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of an invitation is compared with the questions once they are shown."""
    return {
        "kinds": invitation["kinds"],
        "hash": invitation["hash"],
        **{name: level[name] for name in ("rho", "epsilon_event", "epsilon_user")},
    }


def check_promise(
    promise: Mapping[str, Any], *, level: str, hash_: str, asked: Sequence[Asked]
) -> None:
    """Raise unless the questions are those invited to and their masks as strong as promised.

    Raises
    ------
    BrokenPromise
        They are not.
    """
    if hash_ != promise["hash"]:
        raise BrokenPromise("the survey is another than the one you were invited to.")
    if Counter(one.question.kind for one in asked) != Counter(promise["kinds"]):
        raise BrokenPromise("the questions are others than those you were invited to.")
    mechanisms = tuple(one.mechanism for one in asked)
    if level == CLEAR:
        return
    parts = [mechanism.guarantee() for mechanism in dict.fromkeys(mechanisms)]
    event = max(part.epsilon_event for part in parts)
    if event == INFINITE_LOSS or any(part.status != "proven" for part in parts):
        raise BrokenPromise(f"level {level!r} sends some answers as they are.")
    amounts: dict[str, Loss | Rho] = {
        "epsilon_event": event,
        "rho": sum((rho_of(kind) for kind in kinds_of(mechanisms)), NO_RHO),
    }
    if not any(part.delta for part in parts):
        # With Gaussian noise rho decides, and the epsilon that follows takes long to work out.
        amounts["epsilon_user"] = compose(mechanisms).epsilon_user
    for name, loss in amounts.items():
        amount = loss.micro / 1e6
        promised = _amount(promise[name])
        if not amount <= promised + _SLACK:
            raise BrokenPromise(
                f"the masks cost {name} {amount:g} and level {level!r} promised {promised:g}."
            )


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.inf
