"""Private rankings: exact sensitivities over all rankings, worst neighbours, sentences."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from masquerade.answers import Comparisons
from masquerade.errors import MasqueradeError, ParameterError
from masquerade.exact import Micro
from masquerade.preference import Rankings, SocialPreference, fit_rankings
from masquerade.preference.mechanisms.private_rankings import (
    BordaScores,
    ItemRankings,
    SmallerNoise,
)
from masquerade.preference.vector_noise import LAPLACE, NORM


def ranked(orders: list[tuple[int, ...]], items: int, voters: Any = None) -> Comparisons:
    """Return rankings of places in a list of items as pairs, one a voter unless said."""
    of = tuple(range(len(orders)) if voters is None else voters)
    names = [[f"i{place:02}" for place in order] for order in orders]
    listed = [f"i{place:02}" for place in range(items)]
    return Rankings(names, len(set(of)), of).comparisons(listed)


def every_ranking(items: int) -> list[tuple[int, ...]]:
    """Return all rankings of some or all of the items, none among them."""
    return [
        order for many in range(items + 1) for order in itertools.permutations(range(items), many)
    ]


@pytest.mark.parametrize("items", [2, 3, 4])
def test_exact_no_two_voters_scores_lie_further_apart_than_stated(items: int) -> None:
    """All pairs of partial rankings: never above the sensitivities, and a reversal attains them."""
    rows = BordaScores().rows(ranked(every_ranking(items), items).by_items())
    claimed = BordaScores().sensitivity(items)
    apart = rows[:, None, :] - rows[None, :, :]
    assert int(np.abs(apart).sum(axis=2).max()) == claimed.absolute
    longest = int((apart**2).sum(axis=2).max())
    assert (claimed.euclidean - 1) ** 2 < longest <= claimed.euclidean**2


def test_exact_no_tournament_is_larger_than_a_ranking() -> None:
    """All outcomes of the six pairs of four items, ties too: a voter need have no order."""
    pairs = list(itertools.combinations(range(4), 2))
    claimed = BordaScores().sensitivity(4)
    for outcome in itertools.product((-1, 0, 1), repeat=len(pairs)):
        row = np.zeros(4, dtype=int)
        for (first, second), won in zip(pairs, outcome, strict=True):
            row[[first, second]] += won, -won
        assert 2 * int(np.abs(row).sum()) <= claimed.absolute
        assert 4 * int(row @ row) <= claimed.euclidean**2


def test_scores_count_a_pair_once_however_often_a_voter_says_it() -> None:
    """A thousand rankings of one voter weigh as one; two that contradict each other cancel."""
    once = BordaScores().rows(ranked([(2, 0, 1)], 4).by_items())
    often = BordaScores().rows(ranked([(2, 0, 1)] * 1000, 4, voters=[0] * 1000).by_items())
    assert once.tolist() == often.tolist() == [[0, -2, 2, 0]]
    against = ranked([(2, 0, 1), (1, 0, 2)], 4, voters=[0, 0])
    assert BordaScores().rows(against.by_items()).tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_exact_the_worst_voters_cost_epsilon_and_none_costs_more(epsilon: Fraction) -> None:
    """Log ratios of Laplace reports in fractions, over all partial rankings of three items."""
    items = 3
    rows = BordaScores().rows(ranked(every_ranking(items), items).by_items()).tolist()
    sensitivity = BordaScores().sensitivity(items)
    scale = Fraction(sensitivity.absolute) / epsilon
    # A report x of a row u has probability proportional to exp(-|x - u| / scale).
    ratios = [
        (sum(map(abs, np.subtract(x, u).tolist())) - sum(map(abs, np.subtract(x, v).tolist())))
        / scale
        for x in rows
        for u, v in itertools.permutations(rows, 2)
    ]
    assert max(ratios) == epsilon
    assert SmallerNoise().loss(epsilon, sensitivity, units=1) == Micro.of_amount(epsilon)


@pytest.mark.parametrize(
    ("items", "epsilon", "wanted"),
    [(2, 1, LAPLACE), (3, 1, LAPLACE), (10, 1, NORM), (40, 1, LAPLACE), (10, 1000, LAPLACE)],
)
def test_the_smaller_noise_is_taken(items: int, epsilon: int, wanted: Any) -> None:
    """By the number of items and epsilon, which are public; both noises state the same loss."""
    size = 1 if items == 2 else items
    sensitivity = BordaScores().sensitivity(items)
    given = Fraction(epsilon)
    found = SmallerNoise().fidelity(given, sensitivity, size)
    assert found == wanted.fidelity(given, sensitivity, size)
    assert NORM.loss(given, sensitivity, units=1) == LAPLACE.loss(given, sensitivity, units=1)


def crowd(seed: int, items: int, voters: int) -> tuple[Any, Comparisons]:
    """Return strengths and Plackett-Luce rankings of all items."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=items)
    liking = strengths + rng.gumbel(size=(voters, items))
    return strengths, ranked([tuple(each) for each in np.argsort(-liking).tolist()], items)


def test_rankings_are_learned_with_strengths_where_all_items_are_ranked() -> None:
    """Little noise: nearly the Plackett-Luce fit; more: still most pairs in order."""
    strengths, table = crowd(3, 6, 400)
    learned = SocialPreference.simulate(
        table,
        np.random.default_rng(0),
        mechanism="item-rankings:design=complete",
        epsilon=20,
        unit="voter",
    )
    errors = learned.standard_errors
    assert errors is not None
    off = np.abs(learned.weights - (strengths - strengths.mean()))
    assert off.max() < 5 * errors.max() < 1.5
    noisy = SocialPreference.simulate(
        table, np.random.default_rng(1), mechanism="item-rankings", epsilon=2, unit="voter"
    )
    assert kendalltau(noisy.weights, strengths).statistic > 0.3


def test_a_released_ranking_hides_a_voter_and_says_so() -> None:
    """Unit, loss and assumptions; the same text and assumptions for all rankings of a voter."""
    said = []
    for last in ((0, 1, 2, 3), (3,), ()):
        table = ranked([(0, 1, 2, 3), (1, 0), last], 4)
        learned = SocialPreference.learn(
            table, mechanism="item-rankings:design=complete", epsilon=1, unit="voter"
        )
        promise = learned.guarantee
        assert (promise.unit, promise.status, promise.epsilon_user) == (
            "voter",
            "proven",
            Micro(1_000_000),
        )
        assert learned.release.hardened
        assert any("rank all items" in each for each in promise.assumptions)
        said.append((promise.assumptions, repr(learned), learned.to_json()["features"]))
    assert said[0] == said[1] == said[2]


def test_rankings_come_from_a_table_and_need_a_public_list() -> None:
    """Pairs of each ranking in its order; without a list nothing private is learned."""
    table = {"voter": [1, 1, 1, 2], "item": ["b", "a", "c", "a"], "rank": [1, 2, 3, 1]}
    rankings = Rankings.from_frame(table)
    pairs = rankings.comparisons(["a", "b", "c"]).by_items()
    assert BordaScores().rows(pairs).tolist() == [[0, 2, -2], [0, 0, 0]]
    assert fit_rankings(rankings.orders[:1], prior=1.0).rank()["item"].to_pylist() == [*"bac"]
    with pytest.raises(ParameterError, match="public list"):
        ItemRankings(1).release(rankings.comparisons().by_items())
    with pytest.raises(MasqueradeError, match="not"):
        rankings.comparisons(["a", "b"])
