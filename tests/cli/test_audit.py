"""The command that checks a mechanism's promise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

SEED = "00" * 32
OWN = '''
"""A mechanism of somebody's own."""

from fractions import Fraction

import numpy as np


class Coin:
    """Keeps an answer with probability 3/4."""

    inputs = (0, 1)
    claimed_epsilon = 1.0987

    def sample(self, answer, size, rng):
        return np.where(rng.random(size) < 0.75, answer, 1 - answer)

    def distribution(self, answer):
        return {answer: Fraction(3, 4), 1 - answer: Fraction(1, 4)}


class Boastful(Coin):
    """Claims too little."""

    claimed_epsilon = 1


class Needy(Coin):
    """Cannot be made without arguments."""

    def __init__(self, epsilon):
        self.claimed_epsilon = epsilon


ready = Needy(2)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a module of somebody's own into the current folder."""
    (tmp_path / "own_masks.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    yield
    sys.modules.pop("own_masks", None)


def test_audit_gives_the_promised_keys(run: Run) -> None:
    """A promise that holds ends with code 0, one JSON object and nothing on standard error."""
    outcome = run("audit", "randomized-response:options=4,epsilon=1", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.json
    assert (found["claimed_epsilon"], found["exact_epsilon"]) == (1, 1)
    assert 0.9 < found["sampled_lower_bound"] <= 1
    assert (found["verdict"], found["holds"], found["worst_answers"]) == ("holds", True, ["0", "1"])
    assert (found["tried"]["inputs"], found["tried"]["inputs_drawn"]) == (4, 4)
    assert any("too few reports" in gap for gap in found["not_looked_at"])


def test_audit_takes_answers_samples_and_a_seed(run: Run) -> None:
    """The options reach the audit, and the same seed draws the same reports."""
    words = ("audit", "two-layer:options=2,low=0,high=1", "--answers", 2, "--samples", 4000)
    first, again, other = (run(*words, "--seed", seed, "--json").json for seed in (3, 3, 4))
    assert first == again
    assert first["sampled_lower_bound"] != other["sampled_lower_bound"]
    assert (first["answers"], first["exact_epsilon"]) == (2, 0.693148)
    assert first["samples"] == first["tried"]["reports"] > 12_000


def test_audit_shows_a_table_to_people(run: Run) -> None:
    """Without --json the same entries stand in a table."""
    outcome = run("audit", "discrete-gaussian:low=1,high=5,sigma=6", "--samples", 2000)
    assert outcome.code == 0
    assert "sampled lower bound" in outcome.out
    assert "3.096334" in outcome.out
    assert "0.222222" in outcome.out


@pytest.mark.parametrize(
    ("spec", "code"),
    [("own_masks:Coin", 0), ("own_masks:Boastful", 1), ("own_masks:ready", 0)],
)
@pytest.mark.usefixtures("own")
def test_audit_takes_a_class_of_ones_own(run: Run, spec: str, code: int) -> None:
    """``module:Class`` names a class, or an object, of a module in the current folder."""
    outcome = run("audit", spec, "--samples", 50_000, "--json")
    assert outcome.code == code
    assert outcome.json["exact_epsilon"] == 1.098613
    assert ("above the claimed 1: report 0: answer 0 against 1" in outcome.err) is bool(code)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("own_masks:Nobody", "has no attribute 'Nobody'"),
        ("no_such_masks:Coin", "No module named 'no_such_masks'"),
        ("own_masks:Needy", "missing 1 required positional argument"),
        ("own_masks:OWN", "has no attribute"),
        ("own_masks:np", "cannot be audited: it needs claimed_epsilon"),
        ("randomized:options=2", "mechanism 'randomized' is unknown"),
        ("randomized-response:options", "is not key=value"),
    ],
)
@pytest.mark.usefixtures("own")
def test_audit_says_what_is_wrong_with_a_name(run: Run, spec: str, message: str) -> None:
    """A class that is not there, or cannot be made or audited, is an error that says so."""
    outcome = run("audit", spec)
    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.parametrize("words", [("--answers", 0), ("--samples", 10), ("--seed", -1), ()])
def test_audit_with_wrong_usage_ends_with_code_2(run: Run, words: tuple[object, ...]) -> None:
    """Options out of range and a missing mechanism are wrong usage."""
    spec = ("randomized-response:options=2,epsilon=1",) if words else ()
    assert run("audit", *spec, *words).code == 2


def test_audit_help_tells_everything(run: Run) -> None:
    """``--help`` names the argument, every option, the exit code and the false-alarm rate."""
    text = " ".join(run("audit", "--help").out.split())
    for word in ("SPEC", "--answers", "--samples", "--seed", "--json", "module:Class", "code 1"):
        assert word in text
    assert "million seeds" in text
