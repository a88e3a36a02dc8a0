"""The error of a group, estimated from noisy history."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade_papers.loki.greedy import group_error
from masquerade_papers.loki.history import History


def one_crowd(people: int, questions: int, seed: int) -> tuple[History, np.ndarray, np.ndarray]:
    """Return a complete history, the noise variances, and clean answers [person, question]."""
    rng = np.random.default_rng(seed)
    variance = rng.choice([0.2, 0.6, 2.4], people)
    clean = rng.normal(0, 0.4, (people, 1)) + rng.normal(0, 1, (people, questions))
    noisy = clean + rng.normal(0, np.sqrt(variance)[:, None], clean.shape)
    person, question = (grid.ravel() for grid in np.indices(clean.shape))
    noise = np.repeat(variance, questions)
    return History(person, question, noisy.ravel(), noise, weighting="plain"), variance, clean


def test_the_whole_crowd_has_only_its_masks_for_an_error() -> None:
    """At S = U the corrected estimate is sum of V / |U|**2; the published one is its negative."""
    history, variance, _ = one_crowd(40, 25, 1)
    everybody = np.arange(40)
    own = variance.sum() / 1600
    assert group_error(history, everybody, variance).mean_squared == pytest.approx(own)
    published = group_error(history, everybody, variance, paper=True)
    assert published.mean_squared == pytest.approx(-own)
    assert np.isnan(published.root)


@pytest.mark.parametrize("size", [5, 50, 100, 150])
def test_the_corrected_estimate_is_unbiased_and_the_published_one_is_not(size: int) -> None:
    """200 people, 400 questions: within a tenth of the truth; the published one is 2V/(|S||U|) off.

    The truth: what the group's mean would err with fresh masks, against the crowd's clean mean.
    """
    history, variance, clean = one_crowd(200, 400, size)
    group = np.random.default_rng(size).permutation(200)[:size]
    clean_error = clean[group].mean(axis=0) - clean.mean(axis=0)
    truth = (clean_error**2).mean() + variance[group].sum() / size**2
    corrected = group_error(history, group, variance)
    published = group_error(history, group, variance, paper=True)
    assert corrected.mean_squared == pytest.approx(truth, rel=0.1)
    gap = 2 * variance[group].sum() / (size * 200)
    assert corrected.mean_squared - published.mean_squared == pytest.approx(gap)


def test_the_estimate_never_falls_below_the_coming_masks() -> None:
    """Where history happens to flatter a group, the floor is reported, and said to be one."""
    reports = [0.5, 0.5, 0.5, 0.9, 0.1, 0.5]
    history = History([0, 1, 2] * 2, [0] * 3 + [1] * 3, reports, [0.3] * 6)
    found = group_error(history, [0, 1], [0.3, 0.3, 0.3])
    assert found.floored
    assert found.mean_squared == found.floor == pytest.approx(0.15)


def test_a_group_without_history_errs_by_half_the_width_and_its_masks() -> None:
    """Nothing known: a quarter, plus the masks to come."""
    history = History([0], [0], [0.5], [0.1], people=3)
    assert group_error(history, [1, 2], [0.1, 0.2, 0.2]).mean_squared == pytest.approx(0.35)


@pytest.mark.parametrize("members", [[], [3], [-1]])
def test_groups_must_be_people_of_the_history(members: list[int]) -> None:
    """Nobody, or a stranger, is an error."""
    history = History([0, 1, 2], [0, 0, 0], [0.1, 0.2, 0.3], [0.0] * 3)
    with pytest.raises(ParameterError, match="members"):
        group_error(history, members, [0.0] * 3)
