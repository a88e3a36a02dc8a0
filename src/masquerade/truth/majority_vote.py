"""Majority vote: the option with most reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.answers import Claims
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.categorical import (
    CategoricalEstimator,
    Solution,
    ambiguous,
    vote_shares,
    winners,
)
from masquerade.truth.ties import chances
from masquerade.truth.votes import Votes


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

    def _solve(
        self, votes: Votes, claims: Claims, mechanism: CategoricalMechanism | None
    ) -> Solution:
        counts = votes.count()
        agreed = votes.agreement(chances(winners(votes, counts), ties="random"))
        half = np.full(votes.n_workers, 0.5)
        return Solution(
            scores=counts,
            posteriors=vote_shares(counts),
            reliability=np.divide(agreed, votes.of_worker, out=half, where=votes.of_worker > 0),
            weight=np.ones(votes.n_workers),
            converged=True,
            iterations=1,
            orientation_ambiguous=ambiguous(votes, mechanism),
        )
