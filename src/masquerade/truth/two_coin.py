"""Two-coin Bayesian inference: one accuracy for each truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from masquerade.exact.arrays import Floats
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import ConfusionModel, LabelWeights, even_confusion
from masquerade.truth.estimator import check_accuracy_prior, check_iteration
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    Parameters,
    SufficientStatistics,
)
from masquerade.truth.problem import Problem, Solution

_NODES = 32  # of alpha, on (0, 1)
_EVEN_TASKS = 5.0  # of each truth, before the claims


@dataclass(eq=False, kw_only=True)
class TwoCoin(CategoricalEstimator):
    """Infer truths and each worker's accuracies, one for each truth: sensitivity and specificity.

    With truth a, a worker's answer is right with the worker's own probability alpha_a ~ Beta(a, b),
    else one of the other options evenly. Accuracies are integrated out on a grid, together with
    the person's flip probability where the mechanism draws one; posteriors are mean-field.

    Parameters
    ----------
    accuracy_prior, tolerance, max_iterations, ties, seed
        See `OneCoin`.

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
    streams: ClassVar[bool] = True

    accuracy_prior: tuple[float, float] = (4.0, 2.0)
    tolerance: float = 1e-4
    max_iterations: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_accuracy_prior(self.accuracy_prior)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        model = TwoCoinModel(self, claims.crowd)
        result = claims.fit(model)
        coins, shares = result.parameters.state
        error = np.asarray(coins.error(shares))
        return replace(BlockSolution.of(claims, model, result), error=error)

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and accuracies; see `CategoricalEstimator.solve`."""
        model = TwoCoinModel(self, problem.crowd)
        result = problem.fit(model)
        coins, shares = result.parameters.state
        return replace(
            problem.solution(model, result),
            reliability_error=coins.error(shares),
            confusion=even_confusion(coins.accuracy, len(shares)),
            priors=shares,
        )


class TwoCoinModel(ConfusionModel):
    """Two-coin inference; the state is the `Coins` and how often each truth holds."""

    def __init__(self, method: TwoCoin, crowd: Crowd) -> None:
        self.accuracy_prior, self.channel = method.accuracy_prior, crowd.channel
        self.tolerance = method.tolerance
        # With one option there is nothing to find out.
        self.max_iterations = method.max_iterations if crowd.n_options > 1 else 0

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return each worker's posterior accuracies, and the truths' posterior mean shares."""
        coins = Coins.of(self.accuracy_prior, self.channel, statistics.counts)
        # M-step: mean of the Dirichlet posterior of the truths' shares
        shares = statistics.totals + _EVEN_TASKS
        shares /= shares.sum()
        return Parameters(LabelWeights.of(coins.table, shares), (coins, shares))

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return mean accuracies, and mean log ratios of votes."""
        coins, shares = parameters.state
        accuracy = np.clip(coins.accuracy @ shares, 0, 1)
        return accuracy, parameters.message.mean_log_ratio(shares)


@dataclass(frozen=True, slots=True, eq=False)
class Coins:
    """Posteriors of workers, given expected counts of labels."""

    table: Floats  # ``table[worker, truth, label]``, expected log P(label | truth) of reports
    accuracy: Floats  # ``accuracy[worker, truth]``, posterior mean of alpha
    variance: Floats  # its posterior variance

    def error(self, shares: Floats) -> Floats:
        """Return the standard deviation of accuracies where truths have these shares."""
        # accuracy = sum(share * alpha), its alphas independent in the posterior
        return np.asarray(np.sqrt(self.variance @ shares**2))

    @classmethod
    def of(cls, prior: tuple[float, float], channel: OptionChannel, counts: Floats) -> Coins:
        """Return the posterior of `counts` of reports under a Beta prior of answers."""
        n, s, _ = counts.shape  # counts[worker, truth, label]
        if s < 2:
            return cls(np.zeros_like(counts), np.ones((n, s)), np.zeros((n, s)))
        alpha = (np.arange(_NODES) + 0.5) / _NODES
        log_prior = (prior[0] - 1) * np.log(alpha) + (prior[1] - 1) * np.log1p(-alpha)
        # both of shape (n_workers, n_truths)
        agreed, answers = np.einsum("waa->wa", counts), counts.sum(axis=2)
        moments = []
        # fit[worker, flip]: log evidence of a flip probability, accuracies integrated out
        fit = np.zeros((n, len(channel.flip)))
        for node, flip in enumerate(channel.flip):
            hit = np.clip(alpha * (1 - flip) + (1 - alpha) * flip / (s - 1), 1e-12, 1 - 1e-12)
            log_hit, log_miss = np.log(hit), np.log1p(-hit) - np.log(s - 1)
            # ln p(alpha) + ln P(a worker's labels where this truth holds | alpha, flip)
            # joint[worker, truth, alpha]
            joint = log_prior + answers[:, :, None] * log_miss
            joint += agreed[:, :, None] * (log_hit - log_miss)
            top = joint.max(axis=2)
            # Given the flip, accuracies at different truths are independent: log evidence adds up.
            fit[:, node] = (top + np.log(np.exp(joint - top[:, :, None]).sum(axis=2))).sum(axis=1)
            share = softmax(joint, axis=2)
            mean = share @ alpha
            moments.append((share @ log_hit, share @ log_miss, mean, share @ alpha**2))
        # A flip probability of weight 0 has log -inf, and so no share.
        with np.errstate(divide="ignore"):
            nodes = softmax(fit + np.log(channel.weight), axis=1)
        log_hit, log_miss, mean, square = (
            sum(nodes[:, [node]] * moment[part] for node, moment in enumerate(moments))
            for part in range(4)
        )
        # table[worker, truth, label]: errors are even over the other labels
        table = np.broadcast_to(log_miss[:, :, None], counts.shape).copy()
        table[:, np.arange(s), np.arange(s)] = log_hit
        return cls(table, mean, np.maximum(square - mean**2, 0))
