"""Votes with weights that are learnt: from known truths, from agreement, or step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import check_iteration, check_positive, check_proper_share
from masquerade.truth.expectation_maximization import vote_shares
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.ties import Ties, chances, winners


def share_of(part: Floats, whole: Floats, otherwise: float) -> Floats:
    """Return ``part / whole``, and `otherwise` where the whole is 0."""
    shares = np.divide(part, whole, out=np.full(len(whole), otherwise), where=whole > 0)
    return np.asarray(shares)


def agreement_with(scores: Floats, problem: Problem, *, ties: Ties) -> Floats:
    """Return the share of each worker's votes for the labels that win; 1/2 without votes.

    A tie among r options counts 1/r each, or 1 and 0 where the first of them is taken. A known
    truth wins.
    """
    votes = problem.unsorted_votes
    rule: Ties = "first" if ties == "first" else "random"
    leaders = chances(winners(scores, votes.undecided()), ties=rule)
    return share_of(votes.agreement(problem.anchored(leaders)), votes.of_worker, 0.5)


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


@dataclass(eq=False, kw_only=True)
class ZeroBasedSkill(CategoricalEstimator):
    """Take the option with the largest sum of weights, and move weights towards agreement with it.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    rate : float
        Share of the way to a worker's agreement that the weight goes in an iteration, above 0. Up
        to 1 weights stay between where they were and the agreement.
    rate_steps : int
        Iterations after which the rate is multiplied by `rate_factor`, at least 1.
    rate_factor : float
        Above 0 and below 1.
    tolerance : float
        Iteration ends when no weight is farther than this from the worker's agreement, above 0.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    The method of crowd-kit's ``ZeroBasedSkill``: a gradient step on the squared difference between
    weight and agreement. Where we differ: it ends when nothing moves any more, where crowd-kit does
    all iterations. A mechanism is checked against the claims and otherwise not used, as by
    `WeightedVote`.

    **Cost**: each iteration linear in claims.

    Examples
    --------
    >>> table = {"task": ["a", "a", "a"], "worker": ["x", "y", "z"], "label": ["no", "yes", "yes"]}
    >>> ZeroBasedSkill().fit(table).reliability_["weight"].to_pylist()
    [0.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "zero-based-skill"

    max_iterations: int = 100
    rate: float = 1.0
    rate_steps: int = 20
    rate_factor: float = 0.5
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_positive(rate=self.rate, rate_steps=self.rate_steps)
        check_proper_share(rate_factor=self.rate_factor)

    def solve(self, problem: Problem) -> Solution:
        """Return sums of weights; see `CategoricalEstimator.solve`."""
        votes = problem.votes
        # Even weights at first: a plain majority vote.
        weight = np.full(votes.n_workers, 1 / max(votes.n_options, 1))
        rate, converged, iterations = self.rate, False, 0
        agreement = weight
        while not converged and iterations < self.max_iterations:
            iterations += 1
            if iterations % self.rate_steps == 0:
                # Smaller steps later on, so that weights come to rest.
                rate *= self.rate_factor
            agreement = agreement_with(votes.score(weight), problem, ties=self.ties)
            gap = agreement - weight
            # a step down the gradient of (weight - agreement)**2 / 2
            weight = weight + rate * gap
            converged = bool(np.abs(gap).max(initial=0) < self.tolerance)
            if problem.progress is not None:
                problem.progress(iterations, self.max_iterations)
        scores = votes.score(weight)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=agreement,
            weight=weight,
            converged=converged,
            iterations=max(iterations, 1),
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
        )
