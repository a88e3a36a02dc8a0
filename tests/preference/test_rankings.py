"""Rankings, first choices, ties, traffic, rank centrality and distances, held against choix."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from masquerade.errors import DisconnectedItems, InvalidRecord, ParameterError
from masquerade.preference import (
    fit_rankings,
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


def test_standard_errors_are_those_of_repeated_rankings() -> None:
    """60 crowds of 150 rankings: spread of the strengths within a quarter of the errors."""
    fits = [fit_rankings(named(rankings(seed, 150)), items=ITEMS) for seed in range(60)]
    spread = np.std([fit.strengths for fit in fits], axis=0)
    stated = np.mean([fit.standard_errors for fit in fits], axis=0)
    np.testing.assert_allclose(spread / stated, 1, atol=0.25)


def test_items_that_cannot_be_placed_are_named() -> None:
    """An item never ranked behind another has no strength without a prior."""
    with pytest.raises(DisconnectedItems, match="'i0'"):
        fit_rankings([["i0", "i1", "i2"], ["i0", "i2", "i1"]])
    assert fit_rankings([["i0", "i1", "i2"]], prior=1).strengths[0] > 0


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: fit_rankings([["a"], ["b", "a"]]), InvalidRecord),
        (lambda: fit_rankings([["a", "b", "a"]]), InvalidRecord),
        (lambda: fit_rankings([["a", "b"]], items=["a", "c"]), InvalidRecord),
        (lambda: fit_rankings([["a", "b"]], items=["a", "a"]), ParameterError),
        (lambda: fit_rankings([["a", "b"]], prior=-1), ParameterError),
        (lambda: fit_rankings([["a", "b"], ["b", "a"]]).probabilities(["z"]), ParameterError),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], Any], error: type[Exception]) -> None:
    """With the class's own error."""
    with pytest.raises(error):
        call()


def test_errors_of_rankings_are_clustered_by_voter() -> None:
    """20 different voters, 10 rankings each (sd 1): 60 crowds hold .90 of the differences.

    Taken for 200 independent rankings, they hold .68.
    """
    truth, pairs = np.linspace(-1, 1, 5), list(itertools.combinations(range(5), 2))
    names = [f"i{place}" for place in range(5)]
    many = 20_000
    rng = np.random.default_rng(99)
    own = truth + rng.standard_normal((many, 5))
    pooled = fit_rankings(orders_of(own, rng), items=names).strengths
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        own = np.repeat(truth + rng.standard_normal((20, 5)), 10, axis=0)
        fit = fit_rankings(
            orders_of(own, rng), items=names, voters=np.repeat(np.arange(20), 10).tolist()
        )
        for a, b in pairs:
            error = fit.covariance[a, a] + fit.covariance[b, b] - 2 * fit.covariance[a, b]
            off = fit.strengths[a] - fit.strengths[b] - (pooled[a] - pooled[b])
            held += abs(off) <= 1.96 * np.sqrt(error)
    assert held / (60 * len(pairs)) >= 0.90


def orders_of(strengths: np.ndarray, rng: np.random.Generator) -> list[list[str]]:
    """Return a Plackett-Luce ranking of each row of strengths."""
    places = np.argsort(-(strengths + rng.gumbel(size=strengths.shape)), axis=1)
    return [[f"i{place}" for place in row] for row in places.tolist()]


def test_an_item_that_nobody_ranked_is_as_uncertain_as_the_prior() -> None:
    """With a prior of weight 1/4, an unseen item has strength 0 and an error of nearly 2."""
    fit = fit_rankings([["a", "b"]] * 30, items=["a", "b", "c"], prior=0.25)
    unseen = fit.items.index("c")
    assert fit.strengths[unseen] == pytest.approx(0, abs=1e-9)
    assert fit.standard_errors[unseen] == pytest.approx(2 * np.sqrt(2 / 3), rel=1e-6)
    assert (fit.standard_errors > 0.5).all()
