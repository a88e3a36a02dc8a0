"""Ledgers and costs of tests."""

from __future__ import annotations

from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage, Rho
from masquerade.exact import INFINITE_LOSS, MICRO, Micro

DAY = "2026-03-14"

MUCH = Rho(10**9)


def costing(micro: int, *, rho: Rho = MUCH, survey: str = "Sleep") -> Cost:
    """Return a cost in pure epsilon; its rho fits no cap unless said."""
    return Cost(survey, ("m",), Micro(micro), Micro(micro), rho=rho)


def noise(micro_rho: int, *, survey: str = "Rating") -> Cost:
    """Return a cost in rho alone."""
    return Cost(survey, ("g",), INFINITE_LOSS, INFINITE_LOSS, rho=Rho(micro_rho))


def clear(answers: int, micro: int = 0) -> Cost:
    """Return a cost with answers in clear."""
    return Cost("Open", ("m",), INFINITE_LOSS, INFINITE_LOSS, protected=Micro(micro), clear=answers)


def ledger_of(epsilon: float = 3, *, clear_answers: int = 0) -> Ledger:
    """Return an empty ledger in memory."""
    caps = Caps(Micro(round(epsilon * MICRO)), clear=clear_answers)
    return Ledger(MemoryStorage(), clock=lambda: DAY, caps=caps)
