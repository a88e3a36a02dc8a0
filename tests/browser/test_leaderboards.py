"""A leaderboard in a real browser: from a file of votes, and for everybody who reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def made_up_votes(seed: int = 1) -> str:
    """Return a table of 2,000 votes on 12 items, a third of them ties."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1.5, 1.5, 12)
    lines = ["model_a,model_b,winner,voter"]
    for place in range(2000):
        a, b = rng.choice(12, 2, replace=False)
        odds = np.exp([(strength[a] - strength[b]) / 2, 0.0, (strength[b] - strength[a]) / 2])
        word = rng.choice(["model_a", "tie", "model_b"], p=odds / odds.sum())
        lines.append(f"system {a + 1},system {b + 1},{word},v{place % 90}")
    lines += ["a system with a rather long name that nobody beat,system 1,model_a,v1"] * 3
    return "\n".join(lines)


def test_a_file_of_votes_is_ranked(
    live_server: Callable[..., Any], new_visitor: Callable[..., Any], faults: Any
) -> None:
    """The page takes a file, shows possible ranks, and everybody can use it at both widths."""
    server, visitor = live_server(), new_visitor()
    page = visitor.page
    page.goto(server.owner_link)
    page.get_by_role("link", name="Leaderboard").click()
    assert faults(page, "leaderboard-empty") == {}
    votes = {"name": "votes.csv", "mimeType": "text/csv", "buffer": made_up_votes().encode()}
    page.locator("#file").set_input_files(votes)
    page.get_by_role("button", name="Rank").click()
    board = page.locator("#leaderboard")
    expect(board).to_contain_text("May be first")
    expect(board.locator(".plot-label")).to_have_count(12)
    expect(board).to_contain_text("that nobody beat")
    assert faults(page, "leaderboard") == {}
    wrong = {
        "name": "votes.csv",
        "mimeType": "text/csv",
        "buffer": b"model_a,model_b,winner\nx,x,tie",
    }
    page.locator("#file").set_input_files(wrong)
    page.get_by_role("button", name="Rank").click()
    expect(page.get_by_role("alert")).to_contain_text("row 1")
    assert faults(page, "leaderboard-refused") == {}
    assert [each for each in visitor.complaints if "422" not in each] == []
