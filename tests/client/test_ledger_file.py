"""A ledger in a file comes back as it was."""

from __future__ import annotations

from pathlib import Path

from masquerade.accounting import Caps, Cost, Ledger
from masquerade.client.ledger_file import LedgerFile
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse


def test_caps_and_costs_come_back_with_their_rule_and_their_noise(tmp_path: Path) -> None:
    """The chain verifies after reading: the rule of caps and what is Gaussian are kept."""
    for rule in (1, 2):
        path = tmp_path / f"{rule}.json"
        ledger = Ledger(LedgerFile(path), clock=lambda: "2026-03-14", caps=Caps(rule=rule))
        ledger.charge("p", "rating", Cost.of("R", [DiscreteGaussian(1, 5, sigma=12)]))
        ledger.charge("p", "choice", Cost.of("C", [RandomizedResponse(2, epsilon="0.1")]))
        again = Ledger(LedgerFile(path), clock=lambda: "2026-03-14")
        assert again.verify() == 2
        assert again.balance("p").caps.rule == rule
        assert [entry.charge.cost.gaussian for entry in again.entries("p")] == [True, False]
        assert again.balance("p") == ledger.balance("p")
