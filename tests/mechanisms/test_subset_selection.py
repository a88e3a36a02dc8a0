"""Subset selection: golden numbers, the whole table in fractions, the level's choice, audits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from masquerade.accounting import audit
from masquerade.errors import ParameterError
from masquerade.estimation import Crowd, Subsets
from masquerade.exact.coins import SimulatedCoins
from masquerade.exact.loss import ORDERS
from masquerade.mechanisms import LEVELS, SubsetSelection, level_named
from masquerade.mechanisms.combinations import members_of, place_of
from masquerade.mechanisms.subset_selection import drawn_inside

FOUR = Fraction(4611686018427387900)
GOLDEN = (
    (5, 2, "0.5", 2414753221608904388, 0.154520172, "0.5"),
    (9, 2, "1", 2015968823586809175, 0.241786500, "1"),
    (20, 5, "1", 2192242823720348387, 0.237228301, "1"),
    (20, 2, "2", 2079192754916342123, 0.369319011, "2"),
    (100, 27, "1", 2312042743029866804, 0.233681165, "1"),
)


@pytest.mark.parametrize(("symbols", "size", "epsilon", "inside", "signal", "loss"), GOLDEN)
def test_the_whole_numbers_are_those_of_the_table(
    symbols: int, size: int, epsilon: str, inside: int, signal: float, loss: str
) -> None:
    """The numbers that a device draws from, the signal and the loss are golden."""
    drawn, total = drawn_inside(symbols, size, Fraction(epsilon))
    assert (drawn, total) == (inside, int(FOUR))
    p = Fraction(drawn, total)
    assert float(p - (size - p) / (symbols - 1)) == pytest.approx(signal, abs=5e-10)
    if math.comb(symbols, size) < 1 << 53:
        mechanism = SubsetSelection(symbols, size=size, epsilon=epsilon)
        assert str(mechanism.guarantee().epsilon_user) == loss


@pytest.mark.parametrize(("symbols", "size", "epsilon"), [(5, 2, "0.5"), (9, 2, "1"), (6, 3, "0")])
def test_exact_the_loss_is_that_of_the_whole_table(symbols: int, size: int, epsilon: str) -> None:
    """Over all subsets, in fractions: rows add to 1, and the loss and every order are exact."""
    mechanism = SubsetSelection(symbols, size=size, epsilon=epsilon)
    table = mechanism.channel().table
    assert all(sum(row) == 1 for row in table)
    ratio = mechanism.channel().worst_ratio()
    assert mechanism.guarantee().epsilon_user == mechanism.channel().epsilon()
    assert ratio <= Fraction(str(math.exp(float(epsilon)) + 1e-12))
    loss = next(iter(mechanism.pairs())).loss
    for place, a in enumerate(ORDERS[:5]):
        total = sum(
            Fraction(p) ** a / Fraction(q) ** (a - 1)
            for p, q in zip(table[0], table[1], strict=True)
        )
        exact = math.log(total) / (a - 1)
        assert loss.orders[place] - 1.01 <= exact * 1e6 <= loss.orders[place] + 1e-3


@given(st.integers(2, 40), st.data())
def test_prop_sets_have_numbers_without_gaps(places: int, data: st.DataObject) -> None:
    """Numbers of sets are whole, without gaps, and lead back to the set."""
    size = data.draw(st.integers(1, min(places, 5)))
    number = data.draw(st.integers(0, math.comb(places, size) - 1))
    held = members_of(np.array([number]), places, size)
    assert held.sum() == size
    assert place_of(np.flatnonzero(held[0])[None, :]).tolist() == [number]


def test_every_set_has_one_number() -> None:
    """All sets of three of seven places are numbered from 0 to 34."""
    sets = np.array(list(itertools.combinations(range(7), 3)))
    assert sorted(place_of(sets).tolist()) == list(range(35))


def test_the_estimate_of_shares_is_unbiased() -> None:
    """Over the whole channel, the worths of reports have each answer itself as their mean."""
    mechanism = SubsetSelection(4, size=2, epsilon=1, null=True)
    everything = Subsets.of(np.arange(mechanism.subsets), np.ones(mechanism.subsets), mechanism)
    worth = everything.worths(np.eye(5)).worth
    for answer, row in enumerate(mechanism.channel().table):
        chance = np.array([float(one) for one in row])
        np.testing.assert_allclose(worth @ chance, np.eye(5)[answer], atol=1e-12)


@pytest.mark.parametrize(
    ("level", "least"), [("high", 13), ("medium", 24), ("low", 101)], ids=lambda one: str(one)
)
def test_a_level_takes_subsets_from_so_many_options_on(level: str, least: int) -> None:
    """High takes subsets from 13 options on, medium from 24, low up to 100 never."""
    for options in (2, 5, 12, 13, 23, 24, 50, 100):
        mask = level_named(level).categorical_response(options)
        assert (mask.as_subsets is not None) == (options >= least)


@pytest.mark.parametrize(
    ("level", "options", "size", "epsilon", "variance"),
    [
        ("high", 20, 2, 0.654, 280),
        ("high", 50, 6, 0.630, 719),
        ("high", 100, 13, 0.619, 1455),
        ("medium", 50, 3, 1.376, 134),
        ("medium", 100, 6, 1.379, 272),
    ],
)
def test_the_level_takes_the_size_of_least_variance(
    level: str, options: int, size: int, epsilon: float, variance: float
) -> None:
    """Size, epsilon and variance at a level are those of the table, and rho is the level's."""
    mask = level_named(level).categorical_response(options).as_subsets
    assert mask is not None
    assert (mask.size, round(float(mask.epsilon), 3)) == (size, epsilon)
    assert mask.variance() == pytest.approx(variance, rel=0.005)
    rho = {one.name: one.rho for one in LEVELS}[level]
    [pair] = mask.pairs()
    assert float(pair.rho) == pytest.approx(rho, abs=2e-6)


def test_audit_the_sampler_has_the_probabilities_of_the_table() -> None:
    """200,000 reports of one answer by chi-square; false-alarm rate 1e-6, fixed seed."""
    mechanism = SubsetSelection(5, size=2, epsilon=1, null=True)
    n, coins = 200_000, SimulatedCoins(np.random.default_rng(5))
    for answer in (0, 5):
        sent = mechanism.mask(np.full(n, answer), np.zeros(n, dtype=np.int32), coins)
        seen = np.bincount(sent, minlength=mechanism.subsets)
        expected = [float(p) * n for p in mechanism.channel().table[answer]]
        assert chisquare(seen, expected).pvalue > 1e-6


def test_audit_no_more_is_lost_than_is_claimed() -> None:
    """The audit's exact table and its sampled bound agree with the claim; 1e-6 false alarms."""
    report = audit(
        SubsetSelection(12, size=3, epsilon=1), samples=20_000, rng=np.random.default_rng(2)
    )
    assert report.verdict == "holds", report.reasons


def test_intervals_of_shares_hold_in_95_of_100_surveys() -> None:
    """Coverage .93 to .97 of a share of 12 % among 20 options at high; n = 400 in 600 runs."""
    mechanism = level_named("high").categorical_response(20).as_subsets
    assert mechanism is not None
    rng, held = np.random.default_rng(8), np.r_[0.12, np.full(19, 0.88 / 19)]
    inside = 0
    for _ in range(600):
        answers = rng.choice(20, 400, p=held)
        told = mechanism.mask(answers, answers, SimulatedCoins(rng))
        sent, people = np.unique(told, return_counts=True)
        found = Crowd.of([Subsets.of(sent, people, mechanism)]).shares().estimates()[0]
        inside += found.low <= 0.12 <= found.high
    # A share near 0 is cut by the range, so that its interval holds a little more often.
    assert 0.93 - 0.03 <= inside / 600 <= 1.0


def test_a_size_that_no_browser_can_number_is_refused() -> None:
    """More than 2**53 subsets, a size of all symbols or none: an error that says so."""
    with pytest.raises(ParameterError, match="2\\*\\*53"):
        SubsetSelection(100, size=27, epsilon=1)
    for size in (0, 5):
        with pytest.raises(ParameterError):
            SubsetSelection(5, size=size, epsilon=1)
