"""Bitwise response: every option's bit is masked, and a whole answer loses exactly its epsilon."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import audit, compose, pairs_of, spent
from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Coins, Micro, SimulatedCoins
from masquerade.exact.pairs import rho_together
from masquerade.mechanisms import (
    LEVELS,
    BitwiseResponse,
    RandomizedResponse,
    mask_response,
    parse_mechanism,
)
from masquerade.mechanisms.bitwise_response import MOST_BITS, changed_bits

SHAPES = [
    (2, None, False),
    (4, None, True),
    (5, 2, False),
    (5, 2, True),
    (3, 1, True),
    (4, 4, True),
]


@pytest.mark.parametrize(("options", "most", "null"), SHAPES)
@pytest.mark.parametrize("epsilon", ["0.3", "2", "7"])
def test_exact_no_pair_of_answers_loses_more_and_one_loses_all(
    options: int, most: int | None, null: bool, epsilon: str
) -> None:
    """Over every pair of sets, "no answer" included, the worst ratio of the table is the claim."""
    mechanism = BitwiseResponse(options, most, epsilon=epsilon, null=null)
    channel = mechanism.channel()
    held = range((most or options) + 1)
    assert len(channel.table) == sum(math.comb(options, count) for count in held) + null
    assert all(len(row) == mechanism.symbols and sum(row) == 1 for row in channel.table)
    assert channel.epsilon() == mechanism.guarantee().epsilon_single
    assert channel.epsilon() <= Micro.of_amount(Fraction(epsilon))
    flip = mechanism.bit.flip_probability
    assert channel.worst_ratio() == ((1 - flip) / flip) ** mechanism.changes


@pytest.mark.parametrize(("options", "most", "null"), SHAPES)
def test_exact_changed_bits_is_the_largest_distance(
    options: int, most: int | None, null: bool
) -> None:
    """No two answers differ in more bits, and two differ in so many."""
    answers = BitwiseResponse(options, most, epsilon=1, null=null).answers()
    far = max((a ^ b).bit_count() for a, b in itertools.combinations(answers, 2))
    assert far == changed_bits(options, most, null=null)


def test_exact_the_ends_say_nothing_and_all() -> None:
    """At epsilon 0 half of all words flip a bit; at infinity none does."""
    mechanism = BitwiseResponse(2, epsilon=0)
    other, total = mechanism.bit.grid
    assert 2 * other == total
    assert mechanism.guarantee(answers=9).epsilon_user == Micro(0)
    sharp = BitwiseResponse(2, epsilon=math.inf)
    assert sharp.guarantee().epsilon_user == INFINITE_LOSS
    every = np.arange(4, dtype=np.int64)
    assert sharp.mask(every, every, Coins()).tolist() == every.tolist()


@given(st.integers(2, 40), st.integers(1, 40), st.booleans(), st.integers(1, 40), st.data())
def test_prop_an_answer_is_a_set_within_its_limit(
    options: int, most: int, null: bool, answers: int, data: st.DataObject
) -> None:
    """Only sets of at most `most` options, or "no answer" alone, are masked; reports are rows."""
    most = min(most, options)
    mechanism = BitwiseResponse(options, most, epsilon=3, null=null)
    row = data.draw(st.integers(0, 2 * mechanism.symbols))
    is_skip = null and row == 1 << options
    expected = is_skip or (row < 1 << options and row.bit_count() <= most)
    assert mechanism.masks(row) == expected
    if not expected:
        with pytest.raises(ParameterError):
            mask_response([row], [mechanism])
        return
    reports = mask_response([row] * answers, [mechanism] * answers)
    assert all(0 <= report < mechanism.symbols for report in reports)


@given(st.integers(2, 50), st.integers(1, 50), st.booleans(), st.integers(0, 30))
def test_prop_the_text_form_is_read_back(options: int, most: int, null: bool, epsilon: int) -> None:
    """Text and mechanism are inverse to each other, and losses add up over answers."""
    mechanism = BitwiseResponse(options, min(most, options), epsilon=epsilon, null=null)
    assert parse_mechanism(str(mechanism)) == mechanism
    one = mechanism.guarantee()
    assert one.epsilon_user.micro <= 1_000_000 * epsilon
    many = mechanism.guarantee(answers=7)
    assert many.epsilon_event == one.epsilon_event
    assert 0 <= 7 * one.epsilon_user.micro - many.epsilon_user.micro <= 7


@pytest.mark.parametrize(("options", "most", "null"), [(3, None, False), (4, 2, True)])
def test_audit_reports_follow_the_table_and_the_claim_holds(
    options: int, most: int | None, null: bool
) -> None:
    """20,000 reports of each answer refute neither table nor claim (false alarm 1e-6)."""
    mechanism = BitwiseResponse(options, most, epsilon=1, null=null)
    for answers in (1, 3):
        found = audit(mechanism, answers=answers, samples=20_000, rng=np.random.default_rng(7))
        assert found.holds, found
        assert found.exact_epsilon == mechanism.guarantee(answers=answers).epsilon_user


def test_audit_a_limit_that_is_not_kept_is_refuted() -> None:
    """Claimed for at most one option and drawn for three, the loss is found to be larger."""

    class Broken(BitwiseResponse):
        def masks(self, answer: int) -> bool:
            return 0 <= answer < self.symbols

    found = audit(Broken(3, 1, epsilon=1), samples=20_000, rng=np.random.default_rng(7))
    assert not found.holds


def test_audit_a_large_question_is_audited_by_its_bits() -> None:
    """Where the table is too large, the exact loss is that of the bits that can change."""
    mechanism = BitwiseResponse(12, 3, epsilon=2)
    found = audit(mechanism, samples=2_000, rng=np.random.default_rng(7))
    assert found.exact_epsilon == mechanism.guarantee().epsilon_user


def test_the_ledger_counts_every_bit_that_can_change() -> None:
    """In rho an answer costs its bits; all answers of a response add up in both units."""
    mechanism = BitwiseResponse(6, 2, epsilon=2)
    bit = pairs_of([RandomizedResponse(2, epsilon="0.5")] * 4)
    assert pairs_of([mechanism]) == bit
    promise = compose([mechanism, mechanism, RandomizedResponse(3, epsilon=1)])
    assert promise.epsilon_event == Micro.of_amount(Fraction(2))
    assert promise.epsilon_user == Micro.of_amount(Fraction(5))
    together = spent(pairs_of([mechanism] * 50).elements(), Fraction(1, 10**6))
    assert together.method == "distribution"
    assert together.epsilon < together.bounds["renyi"] < together.bounds["pure"]


@pytest.mark.parametrize(
    ("options", "most", "null"), [(2, None, False), (10, 3, True), (51, 1, True)]
)
def test_levels_are_of_one_strength_for_every_kind(
    options: int, most: int | None, null: bool
) -> None:
    """An answer at a level costs the level's rho, and hardly less, with all options."""
    for level in LEVELS:
        mechanism = level.bitwise_response(options, most, null=null)
        rho = rho_together(pairs_of([mechanism])).epsilon
        assert 0.98 * level.rho < rho <= level.rho + 1e-6


def test_estimates_from_bits_are_unbiased_with_the_variance_said() -> None:
    """Over 200,000 people the share of a bit comes out, with the variance of `variance`."""
    mechanism = BitwiseResponse(3, 2, epsilon=2)
    people = np.full(200_000, 0b101, dtype=np.int64)
    reports = mechanism.mask(people, people, SimulatedCoins(np.random.default_rng(3)))
    flip = float(mechanism.bit.flip_probability)
    bits = (reports[:, None] >> np.arange(3) & 1).astype(float)
    estimate = (bits - flip) / (1 - 2 * flip)
    # six standard errors: 1e-9 an option
    reach = 6 * math.sqrt(mechanism.variance() / 3 / len(people))
    assert estimate.mean(axis=0) == pytest.approx([1, 0, 1], abs=reach)
    assert estimate.var(axis=0).sum() == pytest.approx(mechanism.variance(), rel=0.02)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"options": 1, "epsilon": 1}, "options"),
        ({"options": MOST_BITS, "epsilon": 1, "null": True}, "options"),
        ({"options": 4, "most": 0, "epsilon": 1}, "most"),
        ({"options": 4, "most": 5, "epsilon": 1}, "most"),
        ({"options": 4, "epsilon": -1}, "epsilon"),
        ({"options": 4, "epsilon": 1, "null": 1}, "null"),
    ],
)
def test_wrong_parameters_name_their_field(given: dict[str, object], field: str) -> None:
    """A value out of range is refused, with the field."""
    with pytest.raises(ParameterError) as error:
        BitwiseResponse(**given)  # type: ignore[arg-type]
    assert error.value.field == field


def test_a_table_of_claims_is_refused_with_what_to_do() -> None:
    """A claim is one label, not a set."""
    claims = Claims.from_frame({"task": ["a"], "worker": ["w"], "label": ["x"]}, options=["x", "y"])
    with pytest.raises(ParameterError, match="mask each option as a task"):
        BitwiseResponse(2, epsilon=1).randomize(claims)
