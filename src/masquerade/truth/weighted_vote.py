"""Weighted vote: a worker's votes count as often as a weight says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.categorical import CategoricalEstimator, ambiguous, winners
from masquerade.truth.problem import Problem, Solution, vote_shares
from masquerade.truth.ties import chances


@dataclass(eq=False, kw_only=True)
class WeightedVote(CategoricalEstimator):
    """Take the option with the largest sum of weights.

    Parameters
    ----------
    weights : dict or pandas series, optional
        A finite weight by worker. Without it, a worker's weight is the share of the worker's votes
        that agree with the majority (what crowd-kit calls Wawa).
    default_weight : float, optional
        The weight of workers that `weights` lacks; without it, a missing worker is an error.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    A mechanism given to `fit` is checked against the claims and otherwise not used: under the
    symmetric mechanisms here it changes no order of agreements in expectation.

    **Cost**: time and memory linear in claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "label": ["no", "yes", "yes"]}
    >>> WeightedVote(weights={"x": 3, "y": 1, "z": 1}).fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}]
    """

    name: ClassVar[str] = "weighted-vote"

    weights: Mapping[Any, float] | Any | None = None
    default_weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default_weight is not None and not math.isfinite(self.default_weight):
            raise ParameterError(f"default_weight is {self.default_weight}, expected finite.")

    def _solve(self, problem: Problem) -> Solution:
        votes = problem.tally
        leaders = problem.anchored(chances(winners(votes, votes.count), ties="random"))
        half = np.full(problem.claims.n_workers, 0.5)
        agreed = votes.agreement(leaders)
        share = np.divide(agreed, votes.of_worker, out=half, where=votes.of_worker > 0)
        weight = share if self.weights is None else self._given_weights(problem)
        scores = votes.score(weight)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=share,
            weight=weight,
            converged=True,
            iterations=1,
            orientation_ambiguous=ambiguous(problem.claims.n_options, problem.mechanism),
        )

    def _given_weights(self, problem: Problem) -> Floats:
        assert self.weights is not None
        given = dict(self.weights.items())
        found = []
        for worker in problem.claims.workers.to_pylist():
            weight = given.get(worker, self.default_weight)
            if weight is None:
                raise ParameterError(
                    f"weights has no entry for worker {worker!r}; add it, or set default_weight."
                )
            if not math.isfinite(weight):
                raise ParameterError(f"the weight of worker {worker!r} is {weight}, not finite.")
            found.append(float(weight))
        return np.array(found)
