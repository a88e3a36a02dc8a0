"""Majority vote and weighted vote: the option with most reports, or with the most weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.confusions import Member
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    Model,
    Parameters,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    largest_change,
    vote_shares,
)
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.ties import Ties, chances, winners


class VotingModel(Model):
    """Majority vote: one E-step that counts the votes, one M-step that counts agreements."""

    max_iterations = 0

    def __init__(self, method: CategoricalEstimator, crowd: Crowd) -> None:
        self.answers = crowd.answers
        self.ties: Ties = "first" if method.ties == "first" else "random"

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return 1 for the leader; 1/r for each of r tied leaders, or 1 for the first by rule."""
        votes = block.votes
        scores = votes.count()
        leaders = chances(winners(scores, votes.undecided()), ties=self.ties, sizes=block.sizes)
        return Posterior(scores, block.anchored(leaders))

    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """Return each worker's agreements with the leaders."""
        change = np.inf if earlier is None else largest_change(posterior.shares, earlier.shares)
        agreed = block.votes.agreement(posterior.shares)
        return SufficientStatistics(block.spread(agreed), change=change)

    def vote_shares(self, posterior: Posterior, sizes: Floats | None = None) -> Floats:
        """Return shares of the votes."""
        return vote_shares(posterior.scores, sizes)

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return shares of votes that agree with the leader; 1/2 without votes."""
        # counts[worker]: votes for the leader, 1/r of each that was tied
        half = np.full(len(self.answers), 0.5)
        agreed = np.divide(statistics.counts, self.answers, out=half, where=self.answers > 0)
        return Parameters(None, agreed)

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return shares of agreement, and 1 for everybody."""
        return parameters.state, np.ones(len(self.answers))


class WeightedModel(VotingModel):
    """Weighted vote: messages are None for the majority vote, then the weights."""

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the sums of weights."""
        if message is None:
            return super().posterior(block, message)
        scores = block.votes.score(block.own(message))
        return Posterior(scores, vote_shares(scores, block.sizes))


@dataclass(eq=False, kw_only=True)
class MajorityVote(CategoricalEstimator):
    """Take the option that most workers reported.

    The baseline: every worker counts the same. A mechanism given to `fit` is checked against the
    claims and otherwise not used.

    Parameters
    ----------
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    ``reliability_`` is a worker's share of votes that agree with the result, a tie among r options
    counting 1/r (1 or 0 where ties go to the first); it includes the worker's own vote, so it
    flatters workers on tasks with few votes.

    **Cost**: time and memory linear in claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "label": ["no", "yes", "yes"]}
    >>> MajorityVote().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'yes'}]
    """

    name: ClassVar[str] = "majority-vote"
    streams: ClassVar[bool] = True
    weighs_all_options: ClassVar[bool] = False
    gives_probabilities: ClassVar[bool] = False

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        return BlockSolution.fitted(claims, VotingModel(self, claims.crowd))

    def solve(self, problem: Problem) -> Solution:
        """Return the counts of votes; see `CategoricalEstimator.solve`."""
        # Each vote is looked at twice: fewer passes than sorting them costs.
        block = problem.unsorted_block
        model = VotingModel(self, problem.crowd)
        return problem.solution(model, problem.fit(model, block))


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
    ties, seed
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
    streams: ClassVar[bool] = True
    weighs_all_options: ClassVar[bool] = False
    gives_probabilities: ClassVar[bool] = False

    weights: Mapping[Any, float] | Any | None = None
    default_weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.default_weight is not None and not math.isfinite(self.default_weight):
            raise ParameterError(f"default_weight is {self.default_weight}, expected finite.")

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        model = WeightedModel(self, claims.crowd)
        majority = BlockSolution.fitted(claims, model)
        weight = majority.reliability if self.weights is None else self.weights_of(claims.people)
        return replace(majority, members=(Member(model, weight),), weight=weight)

    def solve(self, problem: Problem) -> Solution:
        """Return the sums of weights; see `CategoricalEstimator.solve`."""
        votes, block = problem.unsorted_votes, problem.unsorted_block
        majority = problem.fit(VotingModel(self, problem.crowd), block)
        agreed = majority.parameters.state
        # Wawa: agreement with the majority is the weight, once and without going on.
        weight = agreed if self.weights is None else self.weights_of(problem.people)
        scores = votes.score(weight)
        return Solution(
            scores=scores,
            posteriors=block.anchored(vote_shares(scores, block.sizes)),
            reliability=agreed,
            weight=weight,
            converged=True,
            iterations=1,
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
        )

    def weights_of(self, workers: pa.Array) -> Floats:
        """Return the weight given of each worker."""
        if self.weights is None:
            raise ParameterError("no weights are given; WeightedVote learns them of the claims.")
        by_worker = dict(self.weights.items())
        weights = []
        for worker in workers.to_pylist():
            weight = by_worker.get(worker, self.default_weight)
            if weight is None:
                raise ParameterError(
                    f"weights has no entry for worker {worker!r}; add it, or set default_weight."
                )
            if not math.isfinite(weight):
                raise ParameterError(f"the weight of worker {worker!r} is {weight}, not finite.")
            weights.append(float(weight))
        return np.array(weights)


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
