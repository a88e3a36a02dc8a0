"""A ledger in a file comes back as it was; one of an earlier version goes on by today's rule."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from masquerade.accounting import Caps, Cost, Ledger
from masquerade.client.device_ledger import LedgerFile
from masquerade.errors import BrokenChain, InsufficientBudget
from masquerade.mechanisms import DiscreteGaussian, RandomizedResponse

OLD = Path(__file__).parents[1] / "vectors" / "ledgers"
RATING = DiscreteGaussian(1, 5, sigma=12)


def opened(path: Path) -> Ledger:
    """Return the ledger of a file."""
    return Ledger(LedgerFile(path), clock=lambda: "2026-11-26")


def test_caps_and_costs_come_back(tmp_path: Path) -> None:
    """The chain verifies after reading: losses, caps and balances are kept."""
    path = tmp_path / "ledger.json"
    ledger = Ledger(LedgerFile(path), clock=lambda: "2026-03-14", caps=Caps())
    ledger.charge("p", "rating", Cost.of("R", [RATING]))
    ledger.charge("p", "choice", Cost.of("C", [RandomizedResponse(2, epsilon="0.1")]))
    again = opened(path)
    assert again.verify() == 2
    assert [entry.charge.cost.clock for entry in again.entries("p")] == [111_112, 0]
    assert again.balance("p") == ledger.balance("p")


@pytest.mark.parametrize("rule", [1, 2])
def test_a_ledger_of_an_earlier_rule_is_read_and_goes_on(tmp_path: Path, rule: int) -> None:
    """Entries and hashes stay, each account ends with a step to today's rule, sums are anew."""
    path = tmp_path / "ledger.json"
    shutil.copy(OLD / f"ledger-rule-{rule}.json", path)
    before = json.loads(path.read_text())["chains"]
    ledger = opened(path)
    people = {"ratings", "mixed", "split", "foreign"}
    assert ledger.verify() == sum(map(len, before.values())) + len(people)
    for person in people:
        entries = ledger.entries(person)
        assert [entry.hash for entry in entries[:-1]] == [one[6] for one in before[person]]
        assert (entries[-1].charge.kind, ledger.balance(person).caps.rule) == ("adjust", 3)
    # of the texts where these are known, else of the charged epsilon or rho
    assert ledger.balance("split").totals["divergence"] == 2_000_000
    assert ledger.balance("foreign").totals["divergence"] > 4 * 123_456
    assert ledger.balance("mixed").caps.epsilon.micro == 12_000_000


def test_an_account_over_todays_rule_says_so_and_is_admitted_nothing(tmp_path: Path) -> None:
    """Thirty numbers fitted under rule 2: they stay, come to 10.11 by today's, and stop there."""
    path = tmp_path / "ledger.json"
    shutil.copy(OLD / "ledger-rule-2.json", path)
    ledger = opened(path)
    said = ledger.explain("ratings")
    assert any(
        text.startswith("By today's rule your answers come to epsilon = 10.10") for text in said
    )
    assert not any("your cap holds" in text for text in said)
    with pytest.raises(InsufficientBudget):
        ledger.charge("ratings", "more", Cost.of("M", [RATING]))
    # Gaussian noise between two parties is not taken at its word: its clock is infinite
    assert ledger.balance("split").totals["clock"] == math.inf


def test_the_first_step_writes_what_was_brought_forward(tmp_path: Path) -> None:
    """After a new charge the file holds the step to today's rule, and reads the same again."""
    path = tmp_path / "ledger.json"
    shutil.copy(OLD / "ledger-rule-1.json", path)
    ledger = opened(path)
    ledger.charge("mixed", "new", Cost.of("N", [RATING]))
    kinds = [entry.charge.kind for entry in opened(path).entries("mixed")]
    assert kinds[-2:] == ["adjust", "commit"]
    assert opened(path).verify() == ledger.verify()


def test_an_old_amount_that_was_changed_is_refused(tmp_path: Path) -> None:
    """The word on Gaussian noise is hashed, though nothing follows from it."""
    path = tmp_path / "ledger.json"
    text = (OLD / "ledger-rule-2.json").read_text()
    path.write_text(text.replace('"gaussian": true', '"gaussian": false'))
    with pytest.raises(BrokenChain):
        opened(path).verify()
