"""Run cards: their contents, and their agreement with the page of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
FIELDS = {
    "benchmark",
    "what",
    "value",
    "unit",
    "peer",
    "peer_value",
    "ratio",
    "target",
    "met",
    "note",
    "size",
    "machine",
    "versions",
    "date",
}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[ModuleType, ModuleType]:
    """Return the modules of cards and of their page; cards are kept in a folder of the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import card
    import page

    monkeypatch.setattr(card, "FOLDER", str(tmp_path / "cards"))
    return card, page


def test_a_card_is_kept_whole(
    modules: tuple[ModuleType, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card is printed, and kept as one line with all that a reader has to know."""
    card, page = modules
    cards = card.Cards("somewhere/ledger.py")
    cards.add("masking", 2.0, "s", peer="another", peer_value=9.0, at_least=4)
    cards.add("accuracy", 0.9, "", peer="vote", peer_value=0.6, better="higher", at_least=2)
    cards.add("alone", 3.14159, "ms", at_most=3, note="a|b")
    cards.add("missing", 1.0, "s", peer="absent", at_least=4)
    found = page.read_cards(tmp_path / "cards")["ledger"]
    assert [one["ratio"] for one in found] == [4.5, 1.5, None, None]
    assert [one["met"] for one in found] == [True, False, False, None]
    assert all(set(one) == FIELDS for one in found)
    assert found[2]["value"] == 3.142
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "masking: 2 s; another 9, ratio 4.5 (wanted at least 4: met)"
    assert "MISSED" in printed[1]
    assert "absent is not installed" in printed[3]
    rows = page.tables({"ledger": found}).splitlines()
    assert "| alone (a\\|b) | 3.142 ms |  |  |  | at most 3, **missed** |" in rows
    assert "| missing | 1 s | absent | peer not installed |  | at least 4 |" in rows


def test_a_second_run_begins_anew(modules: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """Cards of an earlier run of the same benchmark do not stay."""
    card, page = modules
    for value in (1.0, 2.0):
        card.Cards("ledger.py").add("charge", value, "s")
    assert [one["value"] for one in page.read_cards(tmp_path / "cards")["ledger"]] == [2.0]


def test_a_card_names_no_machine(modules: tuple[ModuleType, ModuleType]) -> None:
    """The machine is described by its size and kind: no name, no address, no folder."""
    import platform

    words = modules[0].machine()
    assert "core" in words
    assert "/" not in words
    assert platform.node() not in words


def test_the_page_is_what_the_cards_say(modules: tuple[ModuleType, ModuleType]) -> None:
    """The tables in the documentation were written from the cards that are kept."""
    _, page = modules
    cards = page.read_cards()
    assert cards
    assert (ROOT / "docs" / "benchmarks.inc").read_text(encoding="utf-8") == page.tables(cards)
    for name, each in cards.items():
        assert (FOLDER / f"{name}.py").exists()
        assert all(set(one) == FIELDS and one["benchmark"] == name for one in each)


@pytest.mark.parametrize("path", sorted((FOLDER / "cards").glob("*.jsonl")), ids=lambda p: p.stem)
def test_kept_cards_name_no_place(path: Path) -> None:
    """No card holds a folder of a machine, and all numbers are numbers."""
    for line in path.read_text(encoding="utf-8").splitlines():
        assert "/home" not in line
        assert "/tmp" not in line
        assert "NaN" not in line
        json.loads(line)


def test_every_benchmark_keeps_cards(modules: tuple[ModuleType, ModuleType]) -> None:
    """No script of the folder measures and keeps nothing of it."""
    import everything

    for name in everything.benchmarks():
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        assert "Cards(__file__)" in text, f"{name} keeps no cards"
        assert ".add(" in text, f"{name} keeps no cards"
        assert modules[1].title(name)
