"""Strengths of named items, and when there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Comparisons
from masquerade.errors import DisconnectedItems, ParameterError
from masquerade.preference import fit_bradley_terry


def of(wins: Sequence[tuple[str, str]], voters: int = 3) -> Comparisons:
    """Return comparisons of (chosen, rejected) pairs, dealt out to voters in turn."""
    chosen, rejected = zip(*wins, strict=True)
    voter = [f"v{i % voters}" for i in range(len(wins))]
    return Comparisons.from_frame({"voter": voter, "chosen": chosen, "rejected": rejected})


def test_two_items_have_the_odds_of_their_wins() -> None:
    """Three wins against one: the difference of strengths is ln 3."""
    fit = fit_bradley_terry(of([("a", "b")] * 3 + [("b", "a")]))
    assert fit.strengths[0] - fit.strengths[1] == pytest.approx(np.log(3))
    assert fit.strengths.sum() == pytest.approx(0)
    assert fit.probability("a", "b") == pytest.approx(0.75)
    assert fit.converged
    assert fit.rank().to_pydict()["item"] == ["a", "b"]


def test_the_iteration_of_hunter_agrees() -> None:
    """The minorise-maximise iteration finds the same strengths to 1e-6."""
    rng = np.random.default_rng(1)
    names = list("abcdef")
    wins = [tuple(names[i] for i in rng.choice(6, 2, replace=False)) for _ in range(200)]
    fit = fit_bradley_terry(of(wins))
    won = np.zeros((6, 6))
    for chosen, rejected in wins:
        won[names.index(chosen), names.index(rejected)] += 1
    share = np.ones(6)
    for _ in range(5000):
        share = won.sum(axis=1) / ((won + won.T) / (share[:, None] + share)).sum(axis=1)
        share /= share.sum()
    expected = np.log(share)
    np.testing.assert_allclose(fit.strengths, expected - expected.mean(), atol=1e-6)


def test_choix_agrees() -> None:
    """The library choix finds the same strengths, with and without a prior."""
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(2)
    pairs = [tuple(map(int, rng.choice(5, 2, replace=False))) for _ in range(150)]
    for prior in (0.0, 0.5):
        fit = fit_bradley_terry(of([(f"i{a}", f"i{b}") for a, b in pairs]), prior=prior)
        expected = choix.opt_pairwise(5, pairs, alpha=prior / 2, tol=1e-10)
        np.testing.assert_allclose(fit.strengths, expected - expected.mean(), atol=1e-4)


@pytest.mark.parametrize(
    ("wins", "who"),
    [
        ([("a", "b"), ("b", "c"), ("c", "b")], r"'a'.*never lost"),
        ([("b", "a"), ("b", "c"), ("c", "b")], r"'a'.*never won"),
        ([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")], r"cannot be placed"),
    ],
)
def test_items_that_are_not_linked_are_named(wins: list[tuple[str, str]], who: str) -> None:
    """Without a maximum the message names the items; with a prior there are strengths."""
    with pytest.raises(DisconnectedItems, match=who):
        fit_bradley_terry(of(wins))
    fit = fit_bradley_terry(of(wins), prior=0.1)
    assert fit.converged
    assert np.isfinite(fit.standard_errors).all()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda p: p[0] != p[1]), min_size=1
    )
)
def test_prop_a_prior_always_gives_a_maximum(wins: list[tuple[int, int]]) -> None:
    """Whatever was compared, the derivatives vanish where the fit ends."""
    comparisons = of([(f"i{a}", f"i{b}") for a, b in wins])
    fit = fit_bradley_terry(comparisons, prior=0.5)
    assert fit.converged
    swapped = fit_bradley_terry(of([(f"i{b}", f"i{a}") for a, b in wins]), prior=0.5)
    np.testing.assert_allclose(swapped.strengths, -fit.strengths, atol=1e-6)


def test_standard_errors_are_those_of_redrawn_choices() -> None:
    """They match the spread over 300 redrawn tournaments within 20 %; the seed is fixed."""
    rng = np.random.default_rng(3)
    truth = np.array([0.8, 0.2, -0.3, -0.7])
    found, errors = [], []
    for _ in range(300):
        pairs = np.array([rng.choice(4, 2, replace=False) for _ in range(240)])
        wins = rng.random(240) < 1 / (1 + np.exp(truth[pairs[:, 1]] - truth[pairs[:, 0]]))
        won = np.where(wins[:, None], pairs, pairs[:, ::-1])
        fit = fit_bradley_terry(of([(f"i{a}", f"i{b}") for a, b in won], voters=240))
        found.append(fit.strengths)
        errors.append(fit.standard_errors)
    ratio = np.mean(errors, axis=0) / np.std(found, axis=0)
    assert np.abs(ratio - 1).max() < 0.2
    np.testing.assert_allclose(np.mean(found, axis=0), truth, atol=0.1)


def test_wrong_input_is_refused() -> None:
    """Features instead of items, unknown items and parameters out of range are errors."""
    with pytest.raises(ParameterError, match=r"SocialPreference\.learn"):
        fit_bradley_terry(Comparisons.from_frame({"voter": ["a"], "f": [1.0]}))
    fit = fit_bradley_terry(of([("a", "b"), ("b", "a")]))
    with pytest.raises(ParameterError, match="none of the 2 items"):
        fit.probability("a", "z")
    for prior, tolerance in ((-1.0, 1e-9), (0.0, 0.0)):
        with pytest.raises(ParameterError):
            fit_bradley_terry(of([("a", "b"), ("b", "a")]), prior=prior, tolerance=tolerance)
