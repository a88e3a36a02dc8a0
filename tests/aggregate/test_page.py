"""The page about two parties agrees with the code."""

from __future__ import annotations

import doctest
import math
from pathlib import Path

import pytest

from masquerade.aggregate import One, SumNoise

PAGE = Path(__file__).parents[2] / "docs/explanation/aggregate.md"


def test_the_page_runs() -> None:
    """Its examples give the printed results."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 15
    assert failed == 0


@pytest.mark.parametrize(("people", "points"), [(20, "± 62"), (100, "± 12"), (400, "± 3.1")])
def test_the_margins_of_the_page_are_true(people: int, points: str) -> None:
    """Margins from noise of ten choices at rho one half are those of the formula."""
    noise = SumNoise.of_rho([One(5)] * 10, "0.5")
    margin = 196 * math.sqrt(noise.published_variance(0)) / people
    shown = f"± {margin:.1f}" if margin < 10 else f"± {margin:.0f}"
    assert shown == points
    assert f"{points} %-points" in PAGE.read_text(encoding="utf-8")


def test_the_page_says_what_colluding_parties_learn() -> None:
    """The page says in so many words that both together read everything, and names the users."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert "| **both parties together** | **every answer of every person** |" in page
    assert "The server, the app and `masquerade helper` use it" in page
