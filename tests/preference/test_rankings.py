"""Rankings, first choices, ties, traffic, rank centrality and distances, held against choix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from masquerade.errors import DisconnectedItems, InvalidRecord, ParameterError
from masquerade.preference import (
    fit_davidson,
    fit_first_choices,
    fit_network_choices,
    fit_rankings,
    footrule_distance,
    kendall_distance,
    rank_centrality,
)

ITEMS = [f"i{place}" for place in range(6)]


def rankings(seed: int, many: int) -> list[list[int]]:
    """Return Plackett-Luce rankings of four of six items."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-1, 1, 6)
    found = []
    for _ in range(many):
        some = rng.choice(6, 4, replace=False)
        order = np.argsort(-(strengths[some] + rng.gumbel(size=4)))
        found.append(some[order].tolist())
    return found


def named(rows: Sequence[Sequence[int]]) -> list[list[str]]:
    """Return places as names."""
    return [[ITEMS[place] for place in row] for row in rows]


def test_rankings_have_the_strengths_that_choix_finds() -> None:
    """Without and with a prior, to 1e-4."""
    choix = pytest.importorskip("choix")
    data = rankings(1, 80)
    for prior in (0.0, 0.5):
        expected = choix.opt_rankings(6, data, alpha=prior / 2, tol=1e-10)
        fit = fit_rankings(named(data), prior=prior)
        np.testing.assert_allclose(fit.strengths, expected - expected.mean(), atol=1e-4)


def test_first_choices_have_the_strengths_that_choix_finds() -> None:
    """Of menus of four, to 1e-4; probabilities of a menu are choix's too."""
    choix = pytest.importorskip("choix")
    data = [(row[0], row[1:]) for row in rankings(2, 120)]
    expected = choix.opt_top1(6, data, tol=1e-10)
    fit = fit_first_choices([(ITEMS[a], [ITEMS[b] for b in rest]) for a, rest in data])
    np.testing.assert_allclose(fit.strengths, expected - expected.mean(), atol=1e-4)
    chances = fit.probabilities([ITEMS[4], ITEMS[0], ITEMS[2]])
    np.testing.assert_allclose(
        list(chances.values()), choix.probabilities([4, 0, 2], fit.strengths)
    )


def test_rank_centrality_is_that_of_choix() -> None:
    """On 200 pairs, to 1e-8; a prior draws the strengths together."""
    choix = pytest.importorskip("choix")
    pairs = [(row[0], row[1]) for row in rankings(3, 200)]
    expected = choix.rank_centrality(6, pairs)
    fit = rank_centrality([(ITEMS[a], ITEMS[b]) for a, b in pairs])
    np.testing.assert_allclose(fit.strengths, expected - expected.mean(), atol=1e-8)
    calm = rank_centrality([(ITEMS[a], ITEMS[b]) for a, b in pairs], prior=20)
    assert np.ptp(calm.strengths) < np.ptp(fit.strengths)
    assert np.isnan(fit.standard_errors).all()


class Graph:
    """The two methods of a directed graph that choix reads."""

    def __init__(self, ends: Sequence[Sequence[int]]) -> None:
        self.ends = ends

    def out_degree(self, place: int) -> int:
        """Return how many places can be reached."""
        return len(self.ends[place])

    def successors(self, place: int) -> Sequence[int]:
        """Return which."""
        return self.ends[place]


def test_traffic_has_the_strengths_of_the_greatest_likelihood_of_choix() -> None:
    """Its log-likelihood less the prior, maximised numerically, to 1e-4."""
    choix = pytest.importorskip("choix")
    ends = [[1, 2], [0, 2, 3], [3, 0], [0, 1]]
    arrivals, departures = [30, 12, 25, 33], [25, 25, 25, 25]
    best = minimize(
        lambda t: (
            -choix.log_likelihood_network(Graph(ends), arrivals, departures, t) + 0.35 * t @ t
        ),
        np.zeros(4),
        tol=1e-12,
    ).x
    names = ITEMS[:4]
    fit = fit_network_choices(
        {names[a]: [names[b] for b in some] for a, some in enumerate(ends)},
        dict(zip(names, arrivals, strict=True)),
        dict(zip(names, departures, strict=True)),
        prior=0.7,
    )
    np.testing.assert_allclose(fit.strengths, best - best.mean(), atol=1e-4)


@pytest.mark.parametrize(
    ("prior", "strengths", "tie"),
    [
        (0.0, (0.758817, 0.095665, -0.854482), -0.543666),
        (1.0, (0.616465, 0.077322, -0.693788), -0.591559),
    ],
)
def test_ties_have_the_specified_strengths(
    prior: float, strengths: tuple[float, ...], tie: float
) -> None:
    """Three items that met ten times each, six ties: strengths and ln nu to 1e-6."""
    fit = fit_davidson([14, 10.5, 5.5], 6, 10 * (1 - np.eye(3)), items=["a", "b", "c"], prior=prior)
    np.testing.assert_allclose(fit.strengths, strengths, atol=1e-6)
    assert fit.tie == pytest.approx(tie, abs=1e-6)


def test_noisy_scores_and_ties_have_a_maximum() -> None:
    """Scores below 0 and ties beyond all comparisons: finite strengths, with a prior."""
    fit = fit_davidson([40, 5, -15], 99, 10 * (1 - np.eye(3)), items=["a", "b", "c"], prior=1)
    assert np.isfinite([*fit.strengths, fit.tie]).all()


def test_standard_errors_are_those_of_repeated_rankings() -> None:
    """60 crowds of 150 rankings: spread of the strengths within a quarter of the errors."""
    fits = [fit_rankings(named(rankings(seed, 150)), items=ITEMS) for seed in range(60)]
    spread = np.std([fit.strengths for fit in fits], axis=0)
    stated = np.mean([fit.standard_errors for fit in fits], axis=0)
    np.testing.assert_allclose(spread / stated, 1, atol=0.25)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8), st.integers(0, 2**32 - 1))
def test_prop_distances_are_those_of_choix(strengths: list[float], seed: int) -> None:
    """Kendall's and the footrule, of any two lists, equal numbers among them."""
    choix = pytest.importorskip("choix")
    other = np.random.default_rng(seed).integers(0, 3, len(strengths)).astype(float)
    assert kendall_distance(strengths, other) == pytest.approx(
        choix.kendalltau_dist(strengths, other)
    )
    assert footrule_distance(strengths, other) == pytest.approx(
        choix.footrule_dist(strengths, other)
    )


def test_items_that_cannot_be_placed_are_named() -> None:
    """Who was never ranked behind another has no strength without a prior."""
    with pytest.raises(DisconnectedItems, match="'i0'"):
        fit_rankings([["i0", "i1", "i2"], ["i0", "i2", "i1"]])
    assert fit_rankings([["i0", "i1", "i2"]], prior=1).strengths[0] > 0
    with pytest.raises(DisconnectedItems):
        rank_centrality([("a", "b")])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fit_rankings([["a"], ["b", "a"]]), InvalidRecord),
        (lambda: fit_rankings([["a", "b", "a"]]), InvalidRecord),
        (lambda: fit_rankings([["a", "b"]], items=["a", "c"]), InvalidRecord),
        (lambda: fit_rankings([["a", "b"]], items=["a", "a"]), ParameterError),
        (lambda: fit_rankings([["a", "b"]], prior=-1), ParameterError),
        (lambda: fit_network_choices({"a": ["b"]}, {"b": 1}, {"b": 1}), ParameterError),
        (lambda: fit_network_choices({"a": ["b"]}, {"b": 2}, {"a": 1}), ParameterError),
        (lambda: fit_davidson([1, 2], 0, np.ones((3, 3)), items=["a", "b"]), ParameterError),
        (lambda: fit_davidson([9, 2], 0, [[0, 3], [3, 0]], items=["a", "b"]), ParameterError),
        (lambda: kendall_distance([1, 2], [1]), ParameterError),
        (lambda: fit_rankings([["a", "b"], ["b", "a"]]).probabilities(["z"]), ParameterError),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    """With the class's own error."""
    with pytest.raises(error):
        call()
