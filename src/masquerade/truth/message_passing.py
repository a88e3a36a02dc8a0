"""Karger, Oh and Shah's message passing for two options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import check_iteration
from masquerade.truth.expectation_maximization import vote_shares
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.ties import uniform_by_claim
from masquerade.truth.vote_weights import agreement_with, share_of

_SPREAD = 0.1  # standard deviation of the first messages


@dataclass(eq=False, kw_only=True)
class KOS(CategoricalEstimator):
    """Pass messages between tasks and workers until each vote has its weight; for two options.

    A task tells a worker what all others say of it, and a worker tells a task how far the worker
    agreed with that elsewhere. A vote's weight is negative where its worker was mostly wrong.

    Parameters
    ----------
    max_iterations : int
        Most iterations, at least 1.
    tolerance : float
        Iteration ends when no message changes by more, in units of their root mean square, above 0.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        Fixes the first messages, which are drawn from a normal distribution of mean 1 and standard
        deviation 0.1, and the choice among tied options.

    Raises
    ------
    ParameterError
        By `fit`: there are more than two options.

    Notes
    -----
    Karger, Oh and Shah, "Budget-optimal task allocation for reliable crowdsourcing systems",
    Operations Research, 2014, Algorithm 1. Where we differ: the first messages have a deviation of
    0.1 in place of 1, nearer to plain votes; messages are scaled after each round, which changes no
    sign; iteration ends when they no longer move; and of the two solutions that
    differ by the sign of all messages the one is taken that agrees with the votes more often. Known
    truths are the messages of their tasks, and choose the sign. It needs workers with at least two
    tasks: where nobody has them, all votes count alike.

    A mechanism is checked against the claims and otherwise not used: the channel is symmetric, so
    that messages of reports have the signs of those of answers. ``posteriors_`` are shares of
    weighted votes, not probabilities; ``reliability_`` is agreement with the labels.

    **Cost**: each iteration linear in claims.

    Examples
    --------
    >>> truth = ["no", "yes", "no", "no", "yes", "yes"]
    >>> wrong = ["yes" if label == "no" else "no" for label in truth]
    >>> table = {"task": list("abcdef") * 3, "worker": ["x"] * 6 + ["y"] * 6 + ["z"] * 6,
    ...          "label": truth + truth + wrong}
    >>> KOS().fit(table).truths_["label"].to_pylist() == truth
    True
    """

    name: ClassVar[str] = "kos"

    max_iterations: int = 100
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def solve(self, problem: Problem) -> Solution:
        """Return sums of messages; see `CategoricalEstimator.solve`."""
        claims = problem.answered
        given = np.union1d(claims.value, problem.gold[problem.gold >= 0])
        if len(given) > 2:
            raise ParameterError(
                f"KOS takes two options, these claims hold {len(given)}; take MMSR or another "
                "method, or BinaryRelevance, which asks of each option by itself."
            )
        # task, worker[answer]: an answer is an edge of the graph between tasks and workers
        task, worker = claims.task, claims.worker
        first = given.min(initial=claims.n_options)
        # A_ij: 1 for one option, -1 for the other
        sign = np.where(claims.value == first, 1.0, -1.0)
        gold = np.where(problem.gold < 0, 0.0, np.where(problem.gold == first, 1.0, -1.0))[task]
        # y_{j -> i} of the start: normal, of mean 1; from names, so that no order of rows matters
        uniform = np.clip(uniform_by_claim(claims, self.seed), 1e-12, 1 - 1e-12)
        reliability = 1 + _SPREAD * ndtri(uniform)
        if gold.any():
            # A worker's record on known tasks tells more than a draw.
            right = summed(sign * gold, worker, claims.n_workers)[worker]
            tested = summed(np.abs(gold), worker, claims.n_workers)[worker]
            reliability = np.divide(right, tested, out=reliability, where=tested > 0)
        converged, iterations = not len(claims), 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            before = reliability
            # x_{i -> j} = sum over other workers j' of A_ij' y_{j' -> i}
            belief = others(sign * reliability, task, claims.n_tasks)
            belief = np.where(gold == 0, scaled(belief), gold)
            # y_{j -> i} = sum over other tasks i' of A_i'j x_{i' -> j}
            reliability = scaled(others(sign * belief, worker, claims.n_workers))
            if not reliability.any():
                # Nobody has a second task, and nothing is known of anybody.
                reliability, converged = np.ones(len(claims)), True
                break
            # Both signs of all messages solve the equations: they count as one.
            moved = min(np.abs(reliability - before).max(), np.abs(reliability + before).max())
            converged = bool(moved < self.tolerance)
            if problem.progress is not None:
                problem.progress(iterations, self.max_iterations)
        # Of both signs the one is right that agrees with the votes, unless truths tell.
        majority = summed(sign, task, claims.n_tasks)[task]
        if not gold.any() and float((reliability * sign) @ majority) < 0:
            reliability = -reliability
        cells = task.astype(np.int64) * claims.n_options + claims.value
        size = claims.n_tasks * claims.n_options
        scores = summed(reliability, cells, size).reshape(claims.n_tasks, claims.n_options)
        # Options that nobody gave stay below the two, whatever the signs of these.
        never = np.setdiff1d(np.arange(claims.n_options), given)
        lowest = scores[:, given].min(axis=1, initial=np.inf, keepdims=True)
        scores[:, never] = np.where(np.isinf(lowest), 0, lowest - 1e-6 * (1 + np.abs(lowest)))
        # The mean message that a worker sends
        sums = summed(reliability, worker, claims.n_workers)
        return Solution(
            scores=scores,
            posteriors=problem.anchored(vote_shares(scores)),
            reliability=agreement_with(scores, problem, ties=self.ties),
            weight=share_of(sums, problem.unsorted_votes.of_worker, 0.0),
            converged=converged,
            iterations=max(iterations, 1),
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
        )


def others(message: Floats, group: Codes, groups: int) -> Floats:
    """Return, for each message, the sum of the others of its group."""
    return np.asarray(summed(message, group, groups)[group] - message)


def summed(message: Floats, group: NDArray[Any], groups: int) -> Floats:
    """Return the sum of the messages of each group, shape (groups,)."""
    return np.bincount(group, message, groups).astype(np.float64, copy=False)


def scaled(message: Floats) -> Floats:
    """Return messages with a root mean square of 1; zeros as they are."""
    size = float(np.sqrt(np.mean(message**2)))
    # Sums of others leave rounding errors where the exact sum is 0.
    return message / size if size > 1e-12 else np.zeros_like(message)
