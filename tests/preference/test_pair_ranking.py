"""One scale from the shares of people for one of two."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.preference import Leaderboard, rank_pairs

PAIRS = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")]


def test_without_noise_it_is_bradley_terry() -> None:
    """Shares of clear choices give the strengths of the maximum-likelihood fit of the choices."""
    wins = [(30, 10), (25, 15), (12, 28), (33, 7)]
    chosen, rejected = [], []
    for (first, second), (won, lost) in zip(PAIRS, wins, strict=True):
        chosen += [first] * won + [second] * lost
        rejected += [second] * won + [first] * lost
    fit = Leaderboard.fit({"chosen": chosen, "rejected": rejected})
    shares = [won / 40 for won, _ in wins]
    found = rank_pairs(PAIRS, shares, np.eye(4) * 0.25 / 40, prior=1e-9)
    strengths = dict(zip(fit.items, fit.strengths, strict=True))
    assert dict(zip(found.items, found.strengths, strict=True)) == pytest.approx(
        strengths, abs=1e-6
    )
    assert found.strengths.sum() == pytest.approx(0, abs=1e-9)


def test_errors_are_those_of_other_surveys() -> None:
    """Strengths move as the standard errors say when shares are drawn again: 2,000 surveys.

    The error of a standard deviation from 2,000 is 1.6 %; 10 % is more than six of them.
    """
    rng = np.random.default_rng(1)
    truth = {"a": 0.6, "b": 0.1, "c": -0.2, "d": -0.5}
    shares = np.array([1 / (1 + np.exp(truth[b] - truth[a])) for a, b in PAIRS])
    spread = np.array([[4, 1, 0, 0], [1, 4, 0, 0], [0, 0, 3, -1], [0, 0, -1, 3]]) * 1e-4
    drawn = rng.multivariate_normal(shares, spread, 2000)
    fits = np.array([rank_pairs(PAIRS, row, spread).strengths for row in drawn])
    found = rank_pairs(PAIRS, shares, spread)
    assert fits.std(axis=0) == pytest.approx(found.standard_errors, rel=0.1)
    assert found.strengths == pytest.approx(list(truth.values()), abs=0.01)


def test_groups_are_ranked_apart() -> None:
    """Items that no pair links are in another group, and each group sums to 0."""
    found = rank_pairs([("a", "b"), ("x", "y")], [0.7, 0.4], np.eye(2) * 1e-3)
    assert found.group.tolist() == [0, 0, 1, 1]
    assert found.strengths[:2].sum() == pytest.approx(0, abs=1e-9)
    assert found.strengths[2:].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("share", [-0.4, 0.0, 1.0, 1.7])
def test_noise_beyond_all_or_nothing_stays_finite(share: float) -> None:
    """A share that noise put outside 0 to 1 counts as nobody or everybody."""
    found = rank_pairs([("a", "b")], [share], [[1e-6]])
    clipped = rank_pairs([("a", "b")], [min(max(share, 0), 1)], [[1e-6]])
    assert np.isfinite(found.strengths).all()
    assert found.strengths.tolist() == clipped.strengths.tolist()
    assert (found.strengths[0] > 0) == (share > 0.5)


def test_very_noisy_shares_say_next_to_nothing() -> None:
    """With an error far above the range, strengths stay near 0."""
    assert np.abs(rank_pairs([("a", "b")], [0.9], [[100.0]]).strengths).max() < 0.01


@pytest.mark.parametrize(
    ("pairs", "shares", "covariance", "message"),
    [
        ([], [], np.zeros((0, 0)), "0 pairs"),
        ([("a", "b")], [0.5, 0.5], np.eye(2), "1 pairs"),
        ([("a", "a")], [0.5], np.eye(1), "compared with itself"),
        ([("a", "b")], [float("nan")], np.eye(1), "not finite"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    pairs: list[tuple[str, str]], shares: list[float], covariance: np.ndarray, message: str
) -> None:
    """Shapes that do not fit, an item against itself and NaN are errors."""
    with pytest.raises(ParameterError, match=message):
        rank_pairs(pairs, shares, covariance)


@pytest.mark.parametrize("error", [0.02, 0.3, 2.0])
def test_intervals_hold_what_the_prior_hides(error: float) -> None:
    """Of 2,000 surveys with strengths as the prior has them, 95 % intervals miss at most 7 %.

    However noisy the shares; at 7 % a false alarm (more than 8.5 % missed) has a probability
    below 1e-6 for each error, four items counted together as if they were one.
    """
    rng = np.random.default_rng(2)
    missed = np.zeros(4)
    for _ in range(2000):
        strengths = rng.normal(0, 1.0, 4)
        strengths -= strengths.mean()
        truth = dict(zip("abcd", strengths, strict=True))
        shares = np.array([1 / (1 + np.exp(truth[b] - truth[a])) for a, b in PAIRS])
        found = rank_pairs(PAIRS, shares + rng.normal(0, error, 4), np.eye(4) * error**2)
        expected = [truth[item] for item in found.items]
        missed += np.abs(found.strengths - expected) > 1.96 * found.standard_errors
    assert missed.max() <= 170
