"""Reports of randomized response: drawn as its table says, each on its own."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.mechanisms.given_words import GivenWords, codes
from tests.mechanisms.randomized_response_claims import yes_no_claims

from masquerade.exact import SimulatedCoins
from masquerade.mechanisms import RandomizedResponse
from masquerade.mechanisms.randomized_response import move

THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("options", "flip", "null"),
    [
        (2, Fraction(1, 4), False),
        (2, Fraction(5, 12), False),
        (2, Fraction(3, 4), False),
        (2, Fraction(1), False),
        (2, Fraction(0), False),
        (2, THIRD, True),
        (3, Fraction(1, 6), False),
        (3, Fraction(5, 6), False),
        (4, Fraction(1, 4), False),
        (5, Fraction(4, 5), False),
        (6, Fraction(1), True),
    ],
)
def test_exact_counting_all_words_gives_the_channel(
    options: int, flip: Fraction, null: bool
) -> None:
    """Over all words below the total, each report comes up exactly as often as the table says.

    So the sampler is the channel, and not only close to it.
    """
    mechanism = RandomizedResponse(options, flip_probability=flip, null=null)
    total = mechanism.grid[1]
    assert total <= 60
    for answer in range(mechanism.symbols):
        reports = mechanism.mask(
            np.full(total, answer, dtype=np.int32),
            np.zeros(total, dtype=np.int32),
            GivenWords(list(range(total))),
        )
        table = tuple(Fraction(int((reports == r).sum()), total) for r in range(mechanism.symbols))
        assert table == mechanism.channel().table[answer]


@given(symbols=st.integers(2, 9), other=st.integers(0, 20), extra=st.integers(0, 20))
def test_exact_the_kernel_moves_to_each_other_symbol_equally_often(
    symbols: int, other: int, extra: int
) -> None:
    """For any small grid, `other` words move the answer by each step and the rest keep it."""
    total = other * (symbols - 1) + extra
    words = np.arange(total, dtype=np.uint64)
    for answer in range(symbols):
        reports = move(np.full(total, answer, dtype=np.int32), other, total, words, symbols)
        counts = Counter(reports.tolist())
        expected = dict.fromkeys(range(symbols), other) | {answer: extra}
        assert counts == Counter({r: c for r, c in expected.items() if c})


def test_boundary_words_of_the_large_grid_fall_on_the_right_side() -> None:
    """With epsilon 1 the first and last word of each step move, and the next word keeps."""
    mechanism = RandomizedResponse(4, epsilon=1)
    other, total = mechanism.grid
    words = [0, other - 1, other, 2 * other - 1, 2 * other, 3 * other - 1, 3 * other, total - 1]
    reports = mechanism.mask(
        np.zeros(8, dtype=np.int32), np.zeros(8, dtype=np.int32), GivenWords(words)
    )
    assert reports.tolist() == [1, 1, 2, 2, 3, 3, 0, 0]


@given(
    first=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
    flip=st.fractions(min_value=0, max_value=1, max_denominator=100),
    data=st.data(),
)
def test_prop_draws_do_not_depend_on_the_answers(
    first: list[int], seed: int, flip: Fraction, data: st.DataObject
) -> None:
    """The same words shift any answers by the same steps, and as many words are drawn."""
    second = data.draw(st.lists(st.integers(0, 2), min_size=len(first), max_size=len(first)))
    mechanism = RandomizedResponse(3, flip_probability=flip)
    words = np.random.default_rng(seed).integers(0, 1 << 62, size=2 * len(first)).tolist()
    persons = np.zeros(len(first), dtype=np.int32)
    shifts, asked = [], []
    for answers in (first, second):
        source = GivenWords(words)
        reports = mechanism.mask(codes(*answers), persons, source)
        shifts.append((reports - codes(*answers)) % 3)
        asked.append(source.asked)
    assert np.array_equal(shifts[0], shifts[1])
    assert asked[0] == asked[1]
    assert asked[0][0] == len(first)


def test_simulation_repeats_with_the_seed_and_leaves_the_input_alone() -> None:
    """Equal seeds give equal reports; the claims with their workers and tasks stay."""
    claims = yes_no_claims(1000)
    before = claims.value.copy()
    mechanism = RandomizedResponse(2, epsilon=1)
    one, two, three = (
        mechanism.simulate(claims, np.random.default_rng(seed)) for seed in (5, 5, 6)
    )
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.value, three.value)
    assert np.array_equal(claims.value, before)
    assert not np.shares_memory(one.value, claims.value)
    assert np.array_equal(one.task, claims.task)
    assert np.array_equal(one.worker, claims.worker)
    assert one.options is claims.options
    assert one.value.dtype == np.int32


def test_real_reports_differ_between_runs() -> None:
    """Two maskings of 1,000 answers with system entropy agree with probability below 1e-200."""
    mechanism = RandomizedResponse(2, epsilon=1)
    claims = yes_no_claims(1000)
    assert not np.array_equal(mechanism.randomize(claims).value, mechanism.randomize(claims).value)


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(4, epsilon=1),
        RandomizedResponse(5, flip_probability=0.3, null=True),
        RandomizedResponse(2, flip_probability=1),
    ],
    ids=str,
)
def test_the_device_draws_from_the_same_whole_numbers(mechanism: RandomizedResponse) -> None:
    """The device's form holds the grid of the channel, in texts that survive JSON."""
    form = mechanism.device_form()
    assert form["symbols"] == mechanism.symbols
    assert form["first"] == form["last"]
    probability = Fraction(int(form["first"]), int(form["total"]))
    assert probability == mechanism.channel().table[0][1]


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(2, epsilon=1),
        RandomizedResponse(3, epsilon="0.3"),
        RandomizedResponse(4, epsilon=2, null=True),
        RandomizedResponse(5, flip_probability="0.9"),
        RandomizedResponse(7, flip_probability="0.3"),
    ],
    ids=str,
)
def test_audit_samples_follow_the_table_and_do_not_refute_the_claim(
    mechanism: RandomizedResponse,
) -> None:
    """Seeded reports, n = 100,000 an answer, fit the table and bound epsilon from below.

    Chi-square over all rows, and Clopper-Pearson bounds for every pair of answers and report, which
    may not exceed the claim. False alarm at most 1e-6 for each of the two.
    """
    n, symbols = 100_000, mechanism.symbols
    answers = np.repeat(np.arange(symbols, dtype=np.int32), n)
    source = SimulatedCoins(np.random.default_rng(20_180_819))
    reports = mechanism.mask(answers, np.zeros_like(answers), source)
    counts = np.array(
        [np.bincount(reports[answers == a], minlength=symbols) for a in range(symbols)]
    )
    expected = n * mechanism.channel().matrix()
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2.isf(1e-6, symbols * (symbols - 1))
    tail = 1e-6 / (2 * symbols**2)
    low = stats.beta.ppf(tail, counts, n - counts + 1)
    high = stats.beta.isf(tail, counts + 1, n - counts)
    bound = max(
        math.log(low[a, r] / high[b, r])
        for a, b, r in itertools.product(range(symbols), repeat=3)
        if a != b
    )
    claim = mechanism.guarantee().epsilon_single.epsilon
    assert bound <= claim
    assert bound > 0.8 * claim  # the audit would notice a claim a fifth too small


def test_audit_reports_of_different_answers_are_independent() -> None:
    """Neighbouring flips of n = 200,000 seeded draws are uncorrelated (false alarm 1e-6)."""
    n = 200_000
    mechanism = RandomizedResponse(2, flip_probability="0.25")
    zeros = np.zeros(n, dtype=np.int32)
    flips = mechanism.mask(zeros, zeros, SimulatedCoins(np.random.default_rng(9)))
    table = np.bincount(2 * flips[0::2] + flips[1::2], minlength=4)
    expected = n / 2 * np.array([9, 3, 3, 1]) / 16
    assert ((table - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-6, 3)


@pytest.mark.parametrize("options", [2, 4, 10])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_audit_opendp_accounts_the_same(options: int, epsilon: str) -> None:
    """OpenDP's map of the same flip probability is ours, to 1e-6 and never above it."""
    dp: Any = pytest.importorskip("opendp.prelude", reason="pip install opendp")
    dp.enable_features("contrib")
    mechanism = RandomizedResponse(options, epsilon=epsilon)
    peer = dp.m.make_randomized_response(list(range(options)), float(mechanism.keep_probability))
    ours = mechanism.guarantee().epsilon_single.epsilon
    assert peer.map(1) == pytest.approx(ours, abs=2e-6)
    assert peer.map(1) <= ours + 1e-12
