"""Majority vote and its ties."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.simulate import crowd
from masquerade.truth import MajorityVote

TIED = {
    "task": ["a", "a", "b", "b", "b"],
    "worker": ["x", "y", "x", "y", "z"],
    "label": ["no", "yes", "no", "yes", "yes"],
}


def test_counts_are_the_scores() -> None:
    """Scores are numbers of votes, posteriors their shares, reliability the share of agreement."""
    fit = MajorityVote().fit(TIED)
    assert fit.scores_.tolist() == [[1, 1], [1, 2]]
    assert fit.posteriors_["yes"].to_pylist() == pytest.approx([1 / 2, 2 / 3])
    assert fit.reliability_["reliability"].to_pylist() == [0.25, 0.75, 1]
    assert fit.reliability_["weight"].to_pylist() == [1, 1, 1]
    assert fit.iterations_ == 1


def test_ties_first_and_abstain() -> None:
    """The first option in order is taken, or none, as asked; other tasks are not touched."""
    assert MajorityVote(ties="first").fit(TIED).truths_["label"].to_pylist() == ["no", "yes"]
    declared = Claims.from_frame(TIED, options=["yes", "no"])
    assert MajorityVote(ties="first").fit(declared).truths_["label"].to_pylist() == ["yes", "yes"]
    abstained = MajorityVote(ties="abstain").fit(TIED)
    assert abstained.truths_["label"].to_pylist() == [None, "yes"]
    assert len(abstained.unanswered_) == 0
    assert abstained.chances_.tolist() == [[0, 0], [0, 1]]


def test_random_ties_are_fair_over_seeds() -> None:
    """Each of the tied options wins equally often.

    n = 3000 seeds, three tied options: a share is off by 5.5 standard errors with a probability
    below 1e-6.
    """
    rows = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "label": ["p", "q", "r"]}
    claims = Claims.from_frame(rows, options=["o", "p", "q", "r"])
    labels = [MajorityVote(seed=seed).fit(claims).labels_[0] for seed in range(3000)]
    share = np.bincount(labels, minlength=4) / 3000
    assert share[0] == 0
    assert np.abs(share[1:] - 1 / 3).max() < 5.5 * np.sqrt(2 / 9 / 3000)


def test_random_ties_are_fair_over_tasks() -> None:
    """With one seed, tied tasks do not all fall to one side.

    n = 4000 tied tasks: a share is off by 5.5 standard errors with a probability below 1e-6.
    """
    claims, _ = crowd(
        np.random.default_rng(0), tasks=4000, workers=2, answers_per_task=2, accuracy=[1, 0]
    )
    labels = MajorityVote(seed=3).fit(claims).labels_
    assert abs(labels.mean() - 0.5) < 5.5 * 0.5 / np.sqrt(4000)


def test_one_seed_gives_one_result() -> None:
    """The same seed breaks the same ties; another seed breaks them independently."""
    claims, _ = crowd(np.random.default_rng(1), tasks=400, workers=4, answers_per_task=2)
    first, again, other = (MajorityVote(seed=seed).fit(claims).labels_ for seed in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ties": "last"}, "ties is 'last', expected one of 'random', 'first', 'abstain'"),
        ({"seed": -1}, "seed is -1, expected a whole number"),
        ({"seed": 0.5}, "seed is 0.5, expected a whole number"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    """A parameter out of range is refused when the estimator is made."""
    with pytest.raises(ParameterError, match=message):
        MajorityVote(**parameters)  # type: ignore[arg-type]
