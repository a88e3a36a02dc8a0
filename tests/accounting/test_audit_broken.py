"""The audit looks at what it says it looked at: broken mechanisms are refuted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.accounting.broken_calls import BROKEN_CALLS
from tests.accounting.broken_mechanisms import BROKEN_MECHANISMS
from tests.accounting.broken_samplers import BROKEN_SAMPLERS, Lying, Rare, RareFloat, RareNumber
from tests.accounting.sound_samplers import SOUND, Own

from masquerade.accounting import audit
from masquerade.accounting.audit_dependence import Question, _alike, _pairwise, _periodic, p_values
from masquerade.accounting.audit_rare_events import p_value_of
from masquerade.accounting.audits import DEFAULT_SAMPLES
from masquerade.mechanisms import parse_mechanism

REFUTED: dict[str, tuple[Callable[[], Any], int]] = BROKEN_MECHANISMS | {
    own.__name__: (own, 1) for own in (*BROKEN_SAMPLERS, *BROKEN_CALLS)
}
"""Name: how to make it, and how many answers of a person are audited."""


SELDOM = {own.__name__ for own in (Rare, RareNumber, RareFloat)}
"""Those that leak so seldom that a fifth of the reports would not show it."""


def assert_refuted(name: str, samples: int) -> None:
    """Check that an audit with so many reports of each answer refutes a broken mechanism."""
    make, answers = REFUTED[name]
    found = audit(make(), answers=answers, samples=samples, rng=np.random.default_rng(5))
    assert (found.verdict, found.holds) == ("refuted", False)
    assert found.reasons


@pytest.mark.parametrize("name", REFUTED)
def test_audit_a_broken_mechanism_is_refuted(name: str) -> None:
    """Each is refuted by 20,000 reports of each answer, a rare leak by 100,000; none holds.

    A sound one would be refuted with probability 1e-6 at most.
    """
    assert_refuted(name, DEFAULT_SAMPLES if name in SELDOM else DEFAULT_SAMPLES // 5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(REFUTED.keys() - SELDOM))
def test_audit_a_broken_mechanism_is_refuted_by_default_settings(name: str) -> None:
    """Each is refuted by 100,000 reports too: an audit that sees more does not see less."""
    assert_refuted(name, DEFAULT_SAMPLES)


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("seed", range(5))
def test_audit_a_sound_sampler_is_not_refuted_and_not_said_to_hold(name: str, seed: int) -> None:
    """Without a table nothing is proven; false alarm 1e-6 for each of 5 seeds."""
    found = audit(SOUND[name](), samples=10_000, rng=np.random.default_rng(seed))
    assert (found.verdict, found.holds) == ("not refuted", None)
    assert any("probabilities" in gap for gap in found.not_looked_at)


def test_a_leak_too_rare_for_the_reports_is_said_not_to_be_seen() -> None:
    """With 2,000 reports a leak of 1e-5 passes, and the report says from where on it looks."""
    found = audit(Rare(), samples=2_000, rng=np.random.default_rng(1))
    assert found.verdict == "not refuted"
    smallest = found.tried["smallest_probability_seen"]
    assert smallest is None or smallest > 1e-5
    assert any("below about" in gap or "rare events" in gap for gap in found.not_looked_at)


def test_more_inputs_than_can_be_drawn_are_a_sample_with_a_bound() -> None:
    """Of 3,000 options 256 are drawn: not refuted, and the share that may hide a fault is said."""
    found = audit(
        parse_mechanism("randomized-response:options=3000,epsilon=2"),
        samples=2_000,
        rng=np.random.default_rng(1),
    )
    assert (found.verdict, found.holds) == ("not refuted", None)
    assert (found.tried["inputs"], found.tried["inputs_drawn"]) == (3_000, 256)
    assert any("fewer than 5.25 %" in gap for gap in found.not_looked_at)


def test_a_refuted_report_says_that_no_rare_event_was_looked_for() -> None:
    """Where a claim is refuted before, by its table or by reports, what was tried is told fully."""
    for broken in (Own, Lying):
        cheap = broken()
        cheap.claimed_epsilon = Fraction(1, 10)
        found = audit(cheap, samples=2_000, rng=np.random.default_rng(1))
        assert found.verdict == "refuted"
        assert found.tried["rare_events"] == 0
        assert found.tried["smallest_probability_seen"] is None
        assert found.tried["independence_tests"] > 0
        assert "rare events: the claim is refuted without a search for them" in found.not_looked_at


@pytest.mark.parametrize(("samples", "in_a_row", "period"), [(2_000, 128, 8), (20_000, 200, 12)])
def test_calls_that_were_looked_at_are_told_by_kind(
    samples: int, in_a_row: int, period: int
) -> None:
    """What is said of state counts the calls before the last look, and those in a row for one."""
    found = audit(Own(), samples=samples, rng=np.random.default_rng(1))
    (gap,) = (gap for gap in found.not_looked_at if "state that shows" in gap)
    told = re.search(r"than (\d+) calls .* than (\d+) in a row .* above (\d+) calls", gap)
    assert told is not None
    every, row, longest = map(int, told.groups())
    assert (row, longest) == (in_a_row, period)
    assert 2 * in_a_row < every < found.tried["calls"]


def test_audit_p_values_are_those_of_fisher() -> None:
    """Of the lady who tells 3 of 4 cups, and of tables together: the smallest, times their number.

    Fisher, The Design of Experiments (1935): 3 or more of 4 have probability 17/70.
    """
    cups = [3, 8, 4, 4]
    one = Question("", np.array([cups]))
    many = Question("", np.array([[2, 8, 4, 4], cups, [20, 40, 20, 20]]))
    nothing = Question("", np.zeros((0, 4), dtype=np.int64))
    found = p_values([one, nothing, many])
    assert found[0] == pytest.approx(34 / 70)
    assert found[1] == 1
    assert found[2] == pytest.approx(6 / math.comb(40, 20))
    assert p_values([nothing]).tolist() == [1]


def test_an_object_that_always_fails_raises_its_own_error() -> None:
    """An error for every answer tells nobody apart: it is passed on."""

    class Fails(Own):
        """Always fails."""

        def sample(self, answer: int, size: int, rng: np.random.Generator) -> Any:
            """Raise."""
            raise KeyError("nothing")

    with pytest.raises(KeyError, match="nothing"):
        audit(Fails(), samples=2_000, rng=np.random.default_rng(1))


def test_audit_tests_of_dependence_have_honest_p_values() -> None:
    """Of 2,000 independent draws the share of p-values below x is at most x, for x of .1 and .01.

    A binomial law exceeds the counts allowed here with probability 1e-6.
    """
    rng = np.random.default_rng(2)
    tests = []
    for _ in range(2_000):
        one, other = rng.choice(5, (2, 400), p=[0.5, 0.3, 0.1, 0.07, 0.03])
        tables = (_pairwise(one, other), _alike(one, other), _periodic(one))
        tests += [Question("", some) for some in tables]
    found = p_values(tests).reshape(-1, 3)
    assert ((found < 0.1).sum(axis=0) <= 268).all()
    assert ((found < 0.01).sum(axis=0) <= 45).all()


@pytest.mark.parametrize(("epsilon", "expected"), [(0.0, 0.0), (1.0, 0.0), (3.0, 0.0), (1.0, 5.0)])
def test_audit_the_bound_of_rare_events_is_honest(epsilon: float, expected: float) -> None:
    """At the edge of the claim, p-values below .05 are at most that frequent, of 20,000 draws.

    A binomial law exceeds the count allowed here with probability 1e-6.
    """
    rng = np.random.default_rng(3)
    for mean in (0.5, 3.0, 20.0):
        other = rng.poisson(mean, 20_000)
        one = rng.poisson(mean * np.exp(epsilon) + expected, 20_000)
        few = [
            p_value_of(int(k), int(q), epsilon=epsilon, expected=expected) < 0.05
            for k, q in zip(one, other, strict=True)
        ]
        assert sum(few) <= 1_150
