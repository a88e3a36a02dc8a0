"""Ledgers and costs of tests."""

from __future__ import annotations

import math

from masquerade.accounting import Caps, Cost, Ledger, Loss, MemoryStorage
from masquerade.accounting.cost import Earlier
from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.loss import ORDERS, REPLACE, pure_loss

DAY = "2026-03-14"

MUCH = 10**9


def costing(micro: int, *, divergence: int = MUCH, survey: str = "Sleep") -> Cost:
    """Return a cost in pure epsilon; its divergences fit no cap unless said."""
    loss = Loss(REPLACE, "person", micro, (divergence,) * len(ORDERS), math.inf)
    return Cost(survey, ("m",), Micro(micro), loss)


def noise(divergence: int, *, clock: float = math.inf, survey: str = "Rating") -> Cost:
    """Return a cost in divergences alone, or with a clock."""
    loss = Loss(REPLACE, "person", math.inf, (divergence,) * len(ORDERS), clock)
    return Cost(survey, ("g",), INFINITE_LOSS, loss)


def clear(answers: int, micro: int = 0) -> Cost:
    """Return a cost with answers in clear."""
    return Cost("Open", ("m",), INFINITE_LOSS, pure_loss(Micro(micro)), clear=answers)


def earlier(
    survey: str,
    mechanisms: tuple[str, ...],
    event: Micro,
    user: Micro,
    *,
    rho: Micro | None = None,
    clear: int = 0,
    protected: Micro | None = None,
) -> Cost:
    """Return a cost as versions before rule 3 wrote it."""
    written = Earlier(event, user, clear, protected, rho)
    return Cost.of_earlier(survey, mechanisms, written)


def ledger_of(epsilon: float = 3, *, clear_answers: int = 0) -> Ledger:
    """Return an empty ledger in memory."""
    caps = Caps(Micro(round(epsilon * MICRO)), clear=clear_answers)
    return Ledger(MemoryStorage(), clock=lambda: DAY, caps=caps)
