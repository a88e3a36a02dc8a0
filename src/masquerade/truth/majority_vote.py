"""Majority vote: the option with most reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.truth.categorical import CategoricalEstimator, ambiguous, winners
from masquerade.truth.problem import Problem, Solution, vote_shares
from masquerade.truth.ties import chances


@dataclass(eq=False, kw_only=True)
class MajorityVote(CategoricalEstimator):
    """Take the option that most workers reported.

    The baseline: every worker counts the same. A mechanism given to `fit` is checked against the
    claims and otherwise not used.

    Parameters
    ----------
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    ``reliability_`` is a worker's share of votes that agree with the result, a tie among r options
    counting 1/r; it includes the worker's own vote, so it flatters workers on tasks with few votes.

    **Cost**: time and memory linear in claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "label": ["no", "yes", "yes"]}
    >>> MajorityVote().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'yes'}]
    """

    name: ClassVar[str] = "majority-vote"

    def _solve(self, problem: Problem) -> Solution:
        claims, n = problem.answered, problem.claims.n_options
        key = claims.task * np.int64(n) + claims.value
        counts = np.bincount(key, minlength=problem.claims.n_tasks * n).reshape(-1, n)
        scores = counts.astype(np.float64)
        leaders = problem.anchored(chances(winners(problem, scores), ties="random"))
        agreed = np.bincount(claims.worker, leaders.ravel()[key], problem.claims.n_workers)
        answers = problem.of_worker
        half = np.full(len(answers), 0.5)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=np.divide(agreed, answers, out=half, where=answers > 0),
            weight=np.ones(len(answers)),
            converged=True,
            iterations=1,
            orientation_ambiguous=ambiguous(n, problem.mechanism),
        )
