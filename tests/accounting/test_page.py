"""The page about accounting agrees with the code."""

from __future__ import annotations

import doctest
from pathlib import Path

from masquerade.accounting import Caps, what_a_cap_buys
from masquerade.exact import MICRO, Micro

PAGE = Path(__file__).parents[2] / "docs/explanation/accounting.md"


def test_the_page_runs() -> None:
    """Its examples give the printed results."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 12
    assert failed == 0


def test_the_table_of_caps_is_true() -> None:
    """Its numbers of answers are those of the calculator, and its sums those of the filter."""
    page = PAGE.read_text(encoding="utf-8")
    for cap in (3, 10, 20):
        caps = Caps(Micro(cap * MICRO))
        found = what_a_cap_buys(caps, options=())
        numbers = [found[f"{level}, number"] for level in ("low", "medium", "high")]
        ledger = " / ".join(str(one.ledger) for one in numbers)
        exact = " / ".join(str(one.by_method["fixed"]) for one in numbers)
        assert f"| {cap} | {ledger} | {exact} |" in page
        room = caps.room
        for amount in (room.divergence, room.clock):
            assert f" {amount / MICRO:.6f} |" in page
