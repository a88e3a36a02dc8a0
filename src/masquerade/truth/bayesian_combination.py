"""Bayesian classifier combination with bounded trust in agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.special import digamma, gammaln

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.agreement import agreement_surplus
from masquerade.truth.categorical import CategoricalEstimator, Problem, Solution
from masquerade.truth.confusions import (
    ConfusionModel,
    LabelWeights,
    Prediction,
    allowing_for_doubt,
    initial_posterior,
)
from masquerade.truth.diagnostics import Remark, prior_only
from masquerade.truth.estimator import check_iteration, check_positive, check_proper_share
from masquerade.truth.expectation_maximization import (
    FixedPoint,
    Parameters,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    entropy,
    largest_change,
    row_softmax,
)
from masquerade.truth.intervals import mixture_errors
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.votes import LabelVotes, Votes
from masquerade.truth.worker_prior import WorkerPrior, log_evidence_without_truth

Shrink = Literal["crowd", "one-coin"]

_MOST_CELLS = 40_000_000  # workers times options squared
_CLEAR = 2.0  # standard deviations of agreement beyond chance


@dataclass(eq=False, kw_only=True)
class BayesianCombination(CategoricalEstimator):
    """Combine votes by each worker's confusions, as far as the data bear them out.

    Every worker has a confusion matrix (which label is given for which truth) with a prior that is
    itself learnt from all workers, so that a worker with few claims counts as the crowd does, and
    one with many as the claims say. Truths, confusions and the prior are found together by
    variational Bayes. `mechanism` is part of the model.

    Agreement alone cannot tell knowledge from a shared mistake: the more workers are judged by
    what the method itself concluded, the more a shared mistake feeds itself. So workers are judged
    by a mix of those conclusions and of plain votes, once for each level of `trust`, and the
    posteriors are averaged. Workers' reliability and how often each truth holds are those of the
    first (highest) level: the others are cautious, which would bias them.

    Parameters
    ----------
    trust : tuple of floats
        Levels, 0 to 1: the share of the method's own conclusions in what workers are judged by.
        ``(1.0,)`` is hierarchical Bayesian classifier combination without that precaution.
    shrink : {"crowd", "one-coin"}
        What a worker's confusions are drawn towards: the crowd's, or those of somebody who makes
        the crowd's errors with the worker's own accuracy.
    accuracy : float
        The crowd's accuracy before any claim was seen, above 0 and below 1.
    strength : float
        How many answers that counts as, above 0.
    tolerance : float
        Iteration ends when no posterior probability changes by more, above 0.
    max_iterations : int
        Iterations at each level after which the result is returned with ``converged_`` false.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    After Kim and Ghahramani, "Bayesian classifier combination", AISTATS 2012, with variational
    inference as in Simpson et al. (2013). Ours: the prior's mean matrix and concentrations are
    learnt (empirical Bayes), the levels of trust, and the mask. A mask moves the prior of answers
    to one of reports with the same mean and variance; where each person draws a flip probability,
    it is integrated out on 8 nodes a person.

    Where the claims are explained better by workers who answer without regard to the task,
    `OneCoin` is used, which asks less of the data (remark ``ONE_COIN``; not behind a mask, where
    that comparison says too little). Where that explains reports no better than chance, and
    workers do not agree more than chance (2 standard deviations), the remark ``PRIOR_ONLY`` says
    so, and posteriors are those of the prior: the majority's labels.

    With more than 40 million confusions (workers times options squared), `OneCoin` is used, and
    the remark ``MANY_OPTIONS`` says so.

    **Cost**: each iteration linear in claims times options, and in workers times options squared
    (times 8 where flips are drawn).

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> BayesianCombination().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "bayesian-combination"

    trust: tuple[float, ...] = (1.0, 0.5, 0.0)
    shrink: Shrink = "crowd"
    accuracy: float = 0.65
    strength: float = 10.0
    tolerance: float = 1e-3
    max_iterations: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.trust or not all(0 <= level <= 1 for level in self.trust):
            raise ParameterError(f"trust is {self.trust!r}, expected numbers from 0 to 1.")
        if self.shrink not in get_args(Shrink):
            raise ParameterError(f"shrink is {self.shrink!r}, expected 'crowd' or 'one-coin'.")
        check_proper_share(accuracy=self.accuracy)
        check_positive(strength=self.strength)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and confusions; see `CategoricalEstimator.solve`."""
        votes, crowd = problem.votes, problem.crowd
        if votes.n_workers * votes.n_options**2 > _MOST_CELLS:
            simple = OneCoin(ties=self.ties, seed=self.seed).solve(problem)
            note = "one-coin inference was used: confusions of this many options do not fit"
            return replace(simple, remarks=(*simple.remarks, Remark("MANY_OPTIONS", note)))
        # Highest trust first: reliability and shares of truths are taken from there.
        models = self._models(problem)
        results = [problem.fit(model) for model in models]
        first, start = results[0], models[0].start
        posterior = np.mean([_shares(result) for result in results], axis=0)
        statistics, own = first.statistics, _shares(first)
        crowds = first.parameters.state
        prior = models[0].prior_of_workers(crowds, statistics)
        remarks: tuple[Remark, ...] = ()
        without = log_evidence_without_truth(statistics.counts.sum(axis=1))
        # Only at full trust and without known truths is the bound one of the claims' evidence.
        gated = votes.n_options > 1 and max(self.trust) == 1 and not (problem.gold >= 0).any()
        if gated and evidence_bound(crowds, statistics) <= without:
            simple = OneCoin(ties=self.ties, seed=self.seed).solve(problem)
            surplus = agreement_surplus(votes)
            informed = surplus > _CLEAR or _beats_chance(simple, votes)
            # Behind a mask the bound hardly tells models apart, and one coin is the worse guess.
            if informed and crowd.channel.is_clear:
                note = "one-coin inference was used: the claims do not bear out more"
                return replace(simple, remarks=(*simple.remarks, Remark("ONE_COIN", note)))
            if not informed:
                reason = (
                    "workers agree no more than if they answered without regard to the task "
                    f"(by {surplus:.1f} standard deviations)"
                )
                remarks = (prior_only(reason),)
                posterior, prior = _by_the_prior(problem, start), start
                statistics = _statistics(problem.block.label_votes, posterior, posterior)
                own = posterior
        # The posterior mean of the truths' shares under a uniform Dirichlet prior.
        totals = (statistics.totals + 1) / (statistics.totals.sum() + votes.n_options)
        reliability, variance = prior.accuracies(statistics.counts, totals)
        variance = allowing_for_doubt(variance, votes, own)
        # E[ln P(truth)] under the Dirichlet posterior
        log_truth = digamma(statistics.totals + 1) - digamma((statistics.totals + 1).sum())
        table = prior.log_confusion(statistics.counts)
        return Solution(
            scores=posterior,
            posteriors=posterior,
            reliability=reliability,
            weight=LabelWeights(table, log_truth).mean_log_ratio(totals),
            converged=all(result.converged for result in results),
            iterations=max(result.iterations for result in results),
            orientation_ambiguous=crowd.orientation_ambiguous,
            reliability_error=np.sqrt(variance),
            confusion=prior.answer_confusion(statistics.counts),
            priors=totals,
            truth_shares=own.mean(axis=0),
            truth_share_errors=_share_errors(problem, own, prior, statistics.counts),
            losses=first.objectives,
            remarks=remarks,
        )

    def predict_claims(self, problem: Problem) -> Prediction:
        """Return what posteriors, and confusions at the highest trust, say of further claims."""
        models = self._models(problem)
        for model in models:
            model.bounded = False  # nobody asks for the bound of a fit that only predicts
        results = [problem.fit(model) for model in models]
        first = results[0]
        prior = models[0].prior_of_workers(first.parameters.state, first.statistics)
        posterior = np.mean([_shares(result) for result in results], axis=0)
        return Prediction(posterior, prior.mean_confusion(first.statistics.counts))

    def _models(self, problem: Problem) -> list[CombinationModel]:
        """Return the models of all levels, highest trust first."""
        channel = problem.crowd.channel
        anchor = initial_posterior(problem.block, channel)
        start = WorkerPrior.start(channel, accuracy=self.accuracy, strength=self.strength)
        votes_alone = _statistics(problem.block.label_votes, anchor, anchor)
        levels = sorted(set(self.trust), reverse=True)
        return [CombinationModel(self, level, start, anchor, votes_alone) for level in levels]


class CombinationModel(ConfusionModel):
    """Variational Bayes at one level of trust; the state is the `WorkerPrior`.

    Workers are judged by ``trust * posterior + (1 - trust) * anchor``, where the anchor is the
    posteriors by plain votes: of all tasks, so this model works in memory only.
    """

    def __init__(
        self,
        method: BayesianCombination,
        trust: float,
        start: WorkerPrior,
        anchor: Floats,
        votes_alone: SufficientStatistics,
    ) -> None:
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations
        self.channel, self.trust, self.start = start.channel, trust, start
        self.anchor, self.votes_alone = anchor, votes_alone
        self.own, self.bounded = method.shrink == "one-coin", True
        self.n_answers = max(float(votes_alone.counts.sum()), 1.0)

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the posteriors; the anchor at the start."""
        if message is None:
            return Posterior(self.anchor, self.anchor)
        return super().posterior(block, message)

    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """Return expected counts by the mix of posteriors and plain votes."""
        if earlier is None:
            return self.votes_alone
        if self.trust == 0:  # workers are judged by the votes alone, so nothing will change
            return replace(self.votes_alone, change=0.0)
        judged = posterior.shares
        # Workers are judged by a mix of the posteriors and the plain votes.
        if self.trust < 1:
            judged = self.trust * judged + (1 - self.trust) * self.anchor
        change = largest_change(posterior.shares, earlier.shares)
        return replace(_statistics(block.label_votes, judged, posterior.shares), change=change)

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return the crowd's prior after one step, and each worker's expected log confusions."""
        prior = (self.start if earlier is None else earlier.state).learn(statistics.counts)
        return Parameters(self.message(prior, statistics), prior)

    def message(self, prior: WorkerPrior, statistics: SufficientStatistics) -> LabelWeights:
        """Return expected log probabilities under the variational Dirichlet posteriors."""
        totals = statistics.totals + 1  # a uniform Dirichlet prior of the truths' shares
        table = self.prior_of_workers(prior, statistics).log_confusion(statistics.counts)
        return LabelWeights(table, digamma(totals) - digamma(totals.sum()))

    def prior_of_workers(self, prior: WorkerPrior, statistics: SufficientStatistics) -> WorkerPrior:
        """Return what each worker's confusions are drawn towards."""
        if not self.own:
            return prior
        totals = statistics.totals + 1
        return prior.towards_own(statistics.counts, totals / totals.sum())

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return accuracies and mean log ratios by plain votes' shares of truths."""
        totals = self.votes_alone.totals / max(self.votes_alone.totals.sum(), 1e-300)
        accuracy, _ = parameters.state.accuracies(self.votes_alone.counts, totals)
        return accuracy, parameters.message.mean_log_ratio(totals)

    def objective(self, statistics: SufficientStatistics, parameters: Parameters) -> float | None:
        """Return the lower bound of a claim's log probability; None where nothing is iterated."""
        if self.trust == 0 or not self.bounded:
            return None
        return evidence_bound(parameters.state, statistics) / self.n_answers


def _beats_chance(simple: Solution, votes: Votes) -> bool:
    """Return whether a one-coin fit explains reports better than even chance does."""
    assert simple.log_evidence is not None
    # even chance: every report has probability 1 / s
    chance = -float(votes.of_worker.sum()) * np.log(votes.n_options)
    return bool(simple.log_evidence > chance + 1e-6 * abs(chance))


def evidence_bound(prior: WorkerPrior, statistics: SufficientStatistics) -> float:
    """Return the lower bound of the log evidence (up to the mix with plain votes)."""
    # ln p(truths), shares integrated out under a uniform Dirichlet; then E[ln p] + entropy.
    totals = statistics.totals + 1
    shares = float(gammaln(totals).sum() - gammaln(totals.sum()) + gammaln(len(totals)))
    return prior.nodes(statistics.counts)[1] + shares + statistics.entropy


def _statistics(votes: LabelVotes, judged: Floats, posterior: Floats) -> SufficientStatistics:
    """Return expected counts by `judged`, with the entropy of `posterior`."""
    return SufficientStatistics(
        votes.counts(judged), judged.sum(axis=0), entropy=entropy(posterior)
    )


def _shares(result: FixedPoint) -> Floats:
    assert result.posterior is not None
    return result.posterior.shares


def _share_errors(
    problem: Problem, posterior: Floats, prior: WorkerPrior, counts: Floats
) -> Floats:
    """Return the standard deviation of how often each truth holds, confusions not known either.

    The second part is the delta method: a change of a worker's log confusions moves the posteriors
    of the worker's tasks by their doubt, and so the shares.
    """
    n, s = posterior.shape
    error, information = mixture_errors(posterior)
    # A worker's counts change with a posterior by its derivative, q (1 - q).
    move = problem.block.label_votes.counts(posterior * (1 - posterior)) / n
    of_truth = prior.log_variances(counts, move)  # [worker, truth moved, truth]
    # The mean over the truths other than the one that moved.
    others = (of_truth.sum(axis=2) - np.einsum("waa->wa", of_truth)) / max(s - 1, 1)
    shift = (np.einsum("waa->wa", of_truth) + others).sum(axis=0) / np.maximum(
        information, 0.1
    ) ** 2
    return np.asarray(np.sqrt(error**2 + shift))


def _by_the_prior(problem: Problem, prior: WorkerPrior) -> Floats:
    """Return posteriors if all workers were as the prior says: more votes, more probable."""
    # table[truth, label] of reports, averaged over flip probabilities
    table = np.log(np.tensordot(prior.channel.mean_weight, prior.reports(), 1))
    # score[task, truth] = sum over labels of votes times ln P(label | truth)
    return row_softmax(problem.votes.count() @ table.T)
