"""Masked orders: the whole table in fractions, unbiased mean ranks, and two equal twins."""

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
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import MaskedOrder, RandomizedResponse, level_named
from masquerade.mechanisms.masked_order import ranking_code, ranking_of, ranks_of

SMALL = [
    MaskedOrder(4, size=2, epsilon=1),
    MaskedOrder(4, size=3, epsilon=1),
    MaskedOrder(4, 2, size=2, epsilon=1, null=True),
    MaskedOrder(4, 1, size=3, epsilon=2, null=True),
    MaskedOrder(3, 2, size=3, epsilon=1),
]
every_small = pytest.mark.parametrize("mechanism", SMALL, ids=str)


@every_small
def test_exact_the_loss_is_that_of_randomized_response_on_orders(mechanism: MaskedOrder) -> None:
    """Over all rankings and sets, in fractions: the loss is that of s! orders, whole or top k."""
    table = mechanism.channel()
    assert all(sum(row) == 1 for row in table.table)
    same = RandomizedResponse(mechanism.symbols, epsilon=mechanism.epsilon)
    assert table.worst_ratio() <= same.channel().worst_ratio()
    if mechanism.ranked > 1 or mechanism.null:
        assert table.epsilon() == same.guarantee().epsilon_user


@every_small
def test_exact_mean_ranks_are_unbiased_for_every_ranking(mechanism: MaskedOrder) -> None:
    """The worths of reports have each item's rank as their mean, the shared one without a rank."""
    reports = np.arange(mechanism.sets * mechanism.symbols)
    worth, answered = mechanism.worths(reports), mechanism.answered(reports)
    m, k = mechanism.items, mechanism.ranked
    for code, row in enumerate(mechanism.channel().table):
        chance = np.array([float(one) for one in row])
        if code == mechanism.rankings:
            np.testing.assert_allclose(chance @ worth, 0, atol=1e-12)
            assert chance @ answered == pytest.approx(0)
            continue
        ranks = np.full(m, (k + 1 + m) / 2)
        for rank, item in enumerate(ranking_of(code, m, k), start=1):
            ranks[item] = rank
        np.testing.assert_allclose((m + 1) / 2 + chance @ worth, ranks, atol=1e-12)
        assert chance @ answered == pytest.approx(1)


def test_exact_the_second_moment_is_the_formula() -> None:
    """The mean of the squared worths over all rankings is m (m-1)**2 (s+1) / (12 s (s-1) D**2)."""
    for mechanism in SMALL[:2]:
        reports = np.arange(mechanism.sets * mechanism.symbols)
        worth = mechanism.worths(reports) ** 2
        law = np.mean([[float(p) for p in row] for row in mechanism.channel().table], axis=0)
        np.testing.assert_allclose(law @ worth, mechanism.variance(), rtol=1e-12)


@pytest.mark.parametrize(
    ("items", "level", "variance"),
    [
        (5, "high", 363),
        (5, "medium", 93.4),
        (5, "low", 19.6),
        (10, "medium", 946),
        (10, "low", 198),
    ],
)
def test_the_variance_at_a_level_is_that_of_the_table(
    items: int, level: str, variance: float
) -> None:
    """Pairs at high and medium, three items at low; golden variances of a mean rank."""
    mask = level_named(level).masked_order(items, None)
    assert mask.size == (3 if level == "low" else 2)
    assert mask.variance() == pytest.approx(variance, rel=0.005)


@given(st.integers(2, 12), st.data())
def test_prop_rankings_have_numbers_without_gaps(items: int, data: st.DataObject) -> None:
    """A number leads to a ranking and back, and both forms of ranks agree."""
    ranked = data.draw(st.integers(1, items))
    code = data.draw(st.integers(0, math.perm(items, ranked) - 1))
    ranking = ranking_of(code, items, ranked)
    assert len(set(ranking)) == ranked
    assert ranking_code(ranking, items) == code
    ranks = ranks_of(np.array([code]), items, ranked)[0]
    assert [int(ranks[item]) for item in ranking] == list(range(ranked))
    assert (np.delete(ranks, ranking) == ranked).all()


def test_numbers_of_rankings_are_in_the_order_of_dictionaries() -> None:
    """All 24 rankings of four items are numbered as permutations are listed."""
    for code, ranking in enumerate(itertools.permutations(range(4))):
        assert ranking_of(code, 4, 4) == list(ranking)


@pytest.mark.parametrize("mechanism", SMALL[1:4], ids=str)
def test_audit_the_sampler_has_the_probabilities_of_the_table(mechanism: MaskedOrder) -> None:
    """200,000 reports of one ranking by chi-square; false-alarm rate 1e-6, fixed seed."""
    n, coins = 200_000, SimulatedCoins(np.random.default_rng(6))
    for code in (1, mechanism.codes - 1):
        sent = mechanism.mask(np.full(n, code), np.zeros(n, dtype=np.int32), coins)
        seen = np.bincount(sent, minlength=mechanism.sets * mechanism.symbols)
        expected = [float(p) * n for p in mechanism.channel().table[code]]
        assert chisquare(seen, expected).pvalue > 1e-6


def test_audit_no_more_is_lost_than_is_claimed() -> None:
    """The audit's exact table and its sampled bound agree with the claim; 1e-6 false alarms."""
    report = audit(
        MaskedOrder(4, 2, size=3, epsilon=1, null=True),
        samples=20_000,
        rng=np.random.default_rng(2),
    )
    assert report.verdict == "holds", report.reasons


def test_all_sets_are_equally_likely_whatever_is_ranked() -> None:
    """The set that is drawn is even in the table, for every ranking: it is public."""
    mechanism = SMALL[2]
    for row in mechanism.channel().table:
        sets = [row[start : start + 3] for start in range(0, len(row), 3)]
        assert {sum(one) for one in sets} == {Fraction(1, mechanism.sets)}
