"""Two-coin Bayesian inference: one accuracy for each truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from masquerade.exact.arrays import Floats
from masquerade.truth.ballots import judge_tasks, judge_workers
from masquerade.truth.bayesian_combination import vote_weight
from masquerade.truth.categorical import CategoricalEstimator, ambiguous
from masquerade.truth.iteration import check_accuracy_prior, check_iteration
from masquerade.truth.mask import Mask
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.start import first_posterior

_NODES = 32
_EVEN_TASKS = 5.0  # of each truth, before the claims


@dataclass(eq=False, kw_only=True)
class TwoCoin(CategoricalEstimator):
    """Infer truths and each worker's accuracies, one for each truth: sensitivity and specificity.

    With truth a, a worker's answer is right with the worker's own probability alpha_a ~ Beta(a, b),
    else one of the other options evenly. Accuracies are integrated out on a grid, together with
    the person's flip probability where the mechanism draws one; posteriors are mean-field.

    Parameters
    ----------
    accuracy_prior : tuple of two floats
        (a, b) of the Beta distribution, both positive. The default has mean 2/3.
    tolerance : float
        Iteration ends when no posterior probability changes by more, above 0.
    max_iterations : int
        Iterations after which the result is returned with ``converged_`` false.
    ties : {"random", "first", "abstain"}
        See `CategoricalEstimator`.
    seed : int
        See `CategoricalEstimator`.

    Notes
    -----
    Raykar et al., "Learning from crowds", JMLR 2010, its model of workers, for any number of
    options. How often each truth holds is learnt, as if five
    tasks of each truth had been seen. A clear gain where workers
    are biased towards an option; behind a strong one-layer mask it can be worse than the majority
    vote, for there is too little to learn two numbers a worker from.

    **Cost**: each iteration linear in claims times options, plus a grid of 32 nodes (times 8 where
    flips are drawn) for each worker and option.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> TwoCoin().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "two-coin"

    accuracy_prior: tuple[float, float] = (4.0, 2.0)
    tolerance: float = 1e-4
    max_iterations: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_accuracy_prior(self.accuracy_prior)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def _solve(self, problem: Problem) -> Solution:
        ballots, s = problem.ballots, problem.votes.n_options
        posterior = first_posterior(problem)
        sums = judge_workers(ballots, posterior)
        converged, iterations = s < 2, 0
        coins = Coins.of(self.accuracy_prior, problem.mask, sums.counts)
        shares = np.ones(s) / s
        while not converged and iterations < self.max_iterations:
            iterations += 1
            coins = Coins.of(self.accuracy_prior, problem.mask, sums.counts)
            shares = sums.totals + _EVEN_TASKS
            shares /= shares.sum()
            earlier = posterior
            posterior, _ = judge_tasks(ballots, coins.table, np.log(shares), problem.gold)
            sums = judge_workers(ballots, posterior, earlier=earlier)
            converged = sums.change < self.tolerance
            problem.done(iterations, self.max_iterations)
        return Solution(
            scores=posterior,
            posteriors=posterior,
            reliability=np.clip(coins.accuracy @ shares, 0, 1),
            weight=vote_weight(coins.table, shares),
            converged=converged,
            iterations=max(iterations, 1),
            orientation_ambiguous=ambiguous(problem.claims.n_options, problem.mechanism),
            reliability_error=np.sqrt(coins.variance @ shares**2),
            confusion=_spread(coins.accuracy),
            priors=shares,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Coins:
    """What counts say of workers.

    Attributes
    ----------
    table : float array, shape (n_workers, n_options, n_options)
        Expected ``log P(label | truth)`` of reports.
    accuracy, variance : float array, shape (n_workers, n_options)
        Posterior mean and variance of alpha, by truth.
    """

    table: Floats
    accuracy: Floats
    variance: Floats

    @classmethod
    def of(cls, prior: tuple[float, float], mask: Mask, counts: Floats) -> Coins:
        """Return what `counts` of reports say under a Beta prior of answers."""
        n, s, _ = counts.shape
        if s < 2:
            return cls(np.zeros_like(counts), np.ones((n, s)), np.zeros((n, s)))
        alpha = (np.arange(_NODES) + 0.5) / _NODES
        log_prior = (prior[0] - 1) * np.log(alpha) + (prior[1] - 1) * np.log1p(-alpha)
        agreed, answers = np.einsum("waa->wa", counts), counts.sum(axis=2)
        each = []
        fit = np.zeros((n, len(mask.flip)))
        for node, flip in enumerate(mask.flip):
            hit = np.clip(alpha * (1 - flip) + (1 - alpha) * flip / (s - 1), 1e-12, 1 - 1e-12)
            log_hit, log_miss = np.log(hit), np.log1p(-hit) - np.log(s - 1)
            joint = log_prior + answers[:, :, None] * log_miss
            joint += agreed[:, :, None] * (log_hit - log_miss)
            top = joint.max(axis=2)
            fit[:, node] = (top + np.log(np.exp(joint - top[:, :, None]).sum(axis=2))).sum(axis=1)
            share = softmax(joint, axis=2)
            mean = share @ alpha
            each.append((share @ log_hit, share @ log_miss, mean, share @ alpha**2))
        with np.errstate(divide="ignore"):
            nodes = softmax(fit + np.log(mask.weight), axis=1)
        log_hit, log_miss, mean, square = (
            sum(nodes[:, [node]] * found[part] for node, found in enumerate(each))
            for part in range(4)
        )
        table = np.broadcast_to(log_miss[:, :, None], counts.shape).copy()
        table[:, np.arange(s), np.arange(s)] = log_hit
        return cls(table, mean, np.maximum(square - mean**2, 0))


def _spread(accuracy: Floats) -> Floats:
    """Return confusion matrices of these accuracies, errors evenly spread."""
    n, s = accuracy.shape
    table = np.broadcast_to(((1 - accuracy) / max(s - 1, 1))[:, :, None], (n, s, s)).copy()
    table[:, np.arange(s), np.arange(s)] = accuracy
    return table
