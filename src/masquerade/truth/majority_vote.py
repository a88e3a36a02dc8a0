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
        votes = problem.tally
        leaders = problem.anchored(chances(winners(votes, votes.count), ties="random"))
        half = np.full(problem.claims.n_workers, 0.5)
        reliability = np.divide(
            votes.agreement(leaders), votes.of_worker, out=half, where=votes.of_worker > 0
        )
        return Solution(
            scores=votes.count,
            posteriors=problem.anchored(vote_shares(votes.count)),
            reliability=reliability,
            weight=np.ones(problem.claims.n_workers),
            converged=True,
            iterations=1,
            orientation_ambiguous=ambiguous(problem.claims.n_options, problem.mechanism),
        )
