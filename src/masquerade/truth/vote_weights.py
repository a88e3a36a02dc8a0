"""Votes weighted by accuracy on known truths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.expectation_maximization import vote_shares
from masquerade.truth.problem import Problem, Solution


def share_of(part: Floats, whole: Floats, otherwise: float) -> Floats:
    """Return ``part / whole``, and `otherwise` where the whole is 0."""
    shares = np.divide(part, whole, out=np.full(len(whole), otherwise), where=whole > 0)
    return np.asarray(shares)


@dataclass(eq=False, kw_only=True)
class GoldMajorityVote(CategoricalEstimator):
    """Take the option with the largest sum of weights; a weight is accuracy on known truths.

    Parameters
    ----------
    default_weight : float, optional
        The weight of workers who answered no task whose truth is known; without it, such a worker
        is an error.
    ties, seed
        See `CategoricalEstimator`.

    Raises
    ------
    ParameterError
        By `fit`: no truth is given, or a worker without any answer to a known task has no weight.

    Notes
    -----
    A mechanism given to `fit` is checked against the claims and otherwise not used: weights are of
    reports, and reports are what is weighed. ``reliability_`` is a worker's accuracy on the known
    tasks, of reports too.

    **Cost**: time and memory linear in claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"],
    ...          "label": ["no", "yes", "no", "yes"]}
    >>> GoldMajorityVote().fit(table, gold={"a": "yes"}).truths_.to_pylist()
    [{'task': 'a', 'label': 'yes'}, {'task': 'b', 'label': 'yes'}]
    """

    name: ClassVar[str] = "gold-majority-vote"
    gives_probabilities: ClassVar[bool] = False

    default_weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default_weight is not None and not math.isfinite(self.default_weight):
            raise ParameterError(f"default_weight is {self.default_weight}, expected finite.")

    def solve(self, problem: Problem) -> Solution:
        """Return sums of accuracies; see `CategoricalEstimator.solve`."""
        votes, claims = problem.unsorted_votes, problem.claims
        known = problem.gold >= 0
        if not known.any():
            raise ParameterError(
                "no truth of these tasks is known; give some with gold= (--gold FILE on the "
                "command line), or take WeightedVote, which needs none."
            )
        # right, answers[worker]: on tasks of known truth alone, for all other shares are 0.
        right = votes.agreement(problem.anchored(np.zeros((claims.n_tasks, claims.n_options))))
        answers = votes.agreement(np.repeat(known[:, None], claims.n_options, 1).astype(float))
        untested = np.flatnonzero((answers == 0) & (votes.of_worker > 0))
        if len(untested) and self.default_weight is None:
            raise ParameterError(
                f"{len(untested)} workers, such as {claims.workers[int(untested[0])].as_py()!r}, "
                "answered no task whose truth is known; set default_weight, or know more truths."
            )
        chance = 1 / max(claims.n_options, 1)
        accuracy = share_of(right, answers, chance)
        weight = np.where(answers > 0, accuracy, self.default_weight or 0.0)
        scores = votes.score(weight)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=accuracy,
            weight=weight,
            converged=True,
            iterations=1,
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
        )
