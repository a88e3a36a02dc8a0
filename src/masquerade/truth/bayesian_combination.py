"""Bayesian classifier combination with bounded trust in agreement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.special import digamma, gammaln

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.agreement_surplus import agreement_surplus
from masquerade.truth.block_solution import BlockSolution, doubtful_error
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import (
    ConfusionModel,
    LabelWeights,
    Member,
    Prediction,
    allowing_for_doubt,
    first_weights,
    initial_posterior,
    mean_shares,
)
from masquerade.truth.diagnostics import Remark, prior_only
from masquerade.truth.estimator import check_iteration, check_positive, check_proper_share
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    Parameters,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    entropy,
    largest_change,
)
from masquerade.truth.intervals import mixture_errors
from masquerade.truth.one_coin import OneCoin
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.rare_labels import (
    discount_of,
    discounted,
    given_and_expected,
    is_rare,
    rare_discount,
)
from masquerade.truth.worker_prior import WorkerPrior, log_evidence_without_truth

Shrink = Literal["crowd", "one-coin"]

_MOST_CELLS = 40_000_000  # workers times options squared
_MANY_OPTIONS = 50  # from which on confusions need a claim for each pair of options
_CLEAR = 2.0  # standard deviations of agreement beyond chance


def too_many_options(crowd: Crowd) -> bool:
    """Return whether there are more pairs of options than claims to learn confusions from."""
    return crowd.n_options > _MANY_OPTIONS and crowd.n_options**2 > int(crowd.answers.sum())


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
    discount : tuple of floats, optional
        Factor of each option's votes in what truths and rates start from, above 0 and at most 1,
        in the order of the options. By default `rare_labels` finds it: below 1 for a label of whose
        votes more than half are errors, and 1 for all others.
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
    streams: ClassVar[bool] = True

    trust: tuple[float, ...] = (1.0, 0.5, 0.0)
    shrink: Shrink = "crowd"
    accuracy: float = 0.65
    strength: float = 10.0
    tolerance: float = 1e-3
    max_iterations: int = 300
    discount: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.trust or not all(0 <= level <= 1 for level in self.trust):
            raise ParameterError(f"trust is {self.trust!r}, expected numbers from 0 to 1.")
        if self.shrink not in get_args(Shrink):
            raise ParameterError(f"shrink is {self.shrink!r}, expected 'crowd' or 'one-coin'.")
        check_proper_share(accuracy=self.accuracy)
        check_positive(strength=self.strength)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def compares_options(self, n_workers: int, n_options: int) -> bool:
        """Return whether confusions are fitted; `OneCoin` treats all labels alike."""
        return n_workers * n_options**2 <= _MOST_CELLS or is_rare(self.discount)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        found = self.conclude(claims)
        if isinstance(found, Remark):
            simple = self._one_coin(self.discount).solve_blocks(claims)
            return replace(simple, remarks=(found,))
        crowd = found.crowd()
        return BlockSolution(
            found.members,
            crowd.reliability,
            crowd.weight,
            found.converged,
            found.iterations,
            claims.crowd.orientation_ambiguous,
            doubtful_error(claims, crowd.variance, _own_shares, found.members[:1]),
            found.remarks,
        )

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and confusions; see `CategoricalEstimator.solve`."""
        found = self.conclude(problem)
        if isinstance(found, Remark):
            simple = self._one_coin(self.discount).solve(problem)
            return replace(simple, remarks=(*simple.remarks, found))
        posterior = mean_shares(found.members, problem.block)
        own = mean_shares(found.members[:1], problem.block)
        crowd = found.crowd()
        return Solution(
            scores=posterior,
            posteriors=posterior,
            reliability=crowd.reliability,
            weight=crowd.weight,
            converged=found.converged,
            iterations=found.iterations,
            orientation_ambiguous=problem.crowd.orientation_ambiguous,
            reliability_error=np.sqrt(allowing_for_doubt(crowd.variance, problem.votes, own)),
            confusion=found.prior.answer_confusion(found.statistics.counts),
            priors=crowd.priors,
            truth_shares=own.mean(axis=0),
            truth_share_errors=_share_errors(problem, own, found.prior, found.statistics.counts),
            losses=found.objectives,
            remarks=found.remarks,
            expected=given_and_expected(posterior, own, ~problem.votes.undecided()),
        )

    def conclude(self, claims: ClaimBlocks) -> Conclusion | Remark:
        """Fit all levels of trust; return a remark where `OneCoin` has to do instead."""
        crowd = claims.crowd
        n, s = len(crowd.answers), crowd.n_options
        if n * s**2 > _MOST_CELLS or too_many_options(crowd):
            note = "one-coin inference was used: there are too many options to learn confusions"
            return Remark("MANY_OPTIONS", note)
        # Highest trust first: reliability and shares of truths are taken from there.
        discount = self._discount(claims)
        models = self._models(claims, discount)
        results = [claims.fit(model) for model in models]
        first, start = results[0], models[0].start
        crowds, statistics = first.parameters.state, first.statistics
        found = Conclusion(
            tuple(map(Member.of, models, results)),
            models[0].prior_of_workers(crowds, statistics),
            statistics,
            all(result.converged for result in results),
            max(result.iterations for result in results),
            first.objectives,
        )
        # Only at full trust and without known truths is the bound one of the claims' evidence.
        gated = s > 1 and max(self.trust) == 1 and not claims.has_known
        without = log_evidence_without_truth(statistics.counts.sum(axis=1))
        if not gated or evidence_bound(crowds, statistics) > without:
            return found
        surplus = agreement_surplus(claims)
        informed = surplus > _CLEAR or self._beats_chance(claims, discount)
        # Behind a mask the bound hardly tells models apart, and one coin is the worse guess.
        if informed and crowd.channel.is_clear:
            note = "one-coin inference was used: the claims do not bear out more"
            return Remark("ONE_COIN", note)
        if informed:
            return found
        little = f"; they agree {surplus:.1f} standard deviations more" if surplus >= 0.05 else ""
        reason = f"chance could make workers agree as much as they do{little}"
        alone = Member(models[0], _by_the_prior(start, n))
        return replace(
            found,
            members=(alone,),
            prior=start,
            statistics=claims.fold(_judged_by, alone),
            remarks=(prior_only("no worker's reliability was learnt, only votes count", reason),),
        )

    def _discount(self, claims: ClaimBlocks) -> tuple[float, ...]:
        if self.discount is None:
            return rare_discount(claims)
        return discount_of(self.discount, claims.crowd.n_options)

    def _one_coin(self, discount: tuple[float, ...] | None) -> OneCoin:
        return OneCoin(discount=discount, ties=self.ties, seed=self.seed)

    def _beats_chance(self, claims: ClaimBlocks, discount: tuple[float, ...]) -> bool:
        """Return whether a one-coin fit explains reports better than even chance does."""
        evidence = self._one_coin(discount).infer(claims).log_evidence
        crowd = claims.crowd
        # even chance: every report has probability 1 / s
        chance = -float(crowd.answers.sum()) * np.log(crowd.n_options)
        return bool(evidence > chance + 1e-6 * abs(chance))

    def predict_claims(self, claims: ClaimBlocks) -> Prediction:
        """Predict unseen claims from posteriors, and confusions at the highest trust."""
        models = self._models(claims, self._discount(claims))
        for model in models:
            model.bounded = False  # nobody asks for the bound of a fit that only predicts
        results = [claims.fit(model) for model in models]
        first = results[0]
        prior = models[0].prior_of_workers(first.parameters.state, first.statistics)
        return Prediction(
            tuple(map(Member.of, models, results)), prior.mean_confusion(first.statistics.counts)
        )

    def _models(self, claims: ClaimBlocks, discount: tuple[float, ...]) -> list[CombinationModel]:
        """Return the models of all levels, highest trust first."""
        channel = claims.crowd.channel
        plain = PlainVotes(channel, first_weights(claims, channel), discount)
        start = WorkerPrior.start(channel, accuracy=self.accuracy, strength=self.strength)
        levels = sorted(set(self.trust), reverse=True)
        answers = claims.crowd.n_answers
        return [CombinationModel(self, level, start, plain, answers) for level in levels]


@dataclass(frozen=True, slots=True, eq=False)
class Conclusion:
    """The levels of trust together, of claims wherever they are."""

    members: tuple[Member, ...]  # highest trust first
    prior: WorkerPrior  # of the first member, as are the statistics and objectives
    statistics: SufficientStatistics
    converged: bool
    iterations: int
    objectives: tuple[float, ...]
    remarks: tuple[Remark, ...] = ()

    def crowd(self) -> JudgedCrowd:
        """Return the estimates of workers."""
        statistics, prior = self.statistics, self.prior
        # The posterior mean of the truths' shares under a uniform Dirichlet prior.
        totals = statistics.totals + 1
        shares = totals / (statistics.totals.sum() + len(totals))
        reliability, variance = prior.accuracies(statistics.counts, shares)
        # E[ln P(truth)] under the Dirichlet posterior
        log_truth = digamma(totals) - digamma(totals.sum())
        table = prior.log_confusion(statistics.counts)
        weight = LabelWeights(table, log_truth).mean_log_ratio(shares)
        return JudgedCrowd(reliability, variance, weight, shares)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCrowd:
    """Estimates of workers; arrays of shape (n_workers,) but for the last."""

    reliability: Floats
    variance: Floats  # of the reliability, the truths taken for known
    weight: Floats
    priors: Floats  # float array, shape (n_options,). How often each truth holds.


class PlainVotes:
    """Posteriors by plain votes, of the block asked for last: the anchor of all levels of trust."""

    def __init__(
        self, channel: OptionChannel, first: LabelWeights | None, discount: tuple[float, ...]
    ) -> None:
        self.channel, self.first, self.discount = channel, first, discount
        self._block: VoteBlock | None = None
        self._shares: Floats = np.zeros((0, 0))
        self._statistics: SufficientStatistics | None = None

    def shares(self, block: VoteBlock) -> Floats:
        """Return the posteriors of a block."""
        self._look_at(block)
        return self._shares

    def statistics(self, block: VoteBlock) -> SufficientStatistics:
        """Return their sufficient statistics of workers."""
        self._look_at(block)
        if self._statistics is None:
            self._statistics = _statistics(block, self._shares, self._shares)
        return self._statistics

    def __getstate__(self) -> dict[str, Any]:
        # Sent around without what was worked out of a block.
        return {**vars(PlainVotes(self.channel, self.first, self.discount))}

    def _look_at(self, block: VoteBlock) -> None:
        # All levels ask for the same block in turn.
        if self._block is not block:
            self._block = block
            self._statistics = None
            first = initial_posterior(block, self.channel, self.first)
            self._shares = discounted(first, self.discount)


class CombinationModel(ConfusionModel):
    """Variational Bayes at one level of trust; the state is the `WorkerPrior`.

    Workers are judged by ``trust * posterior + (1 - trust) * anchor``, where the anchor is the
    posteriors by plain votes.
    """

    def __init__(
        self,
        method: BayesianCombination,
        trust: float,
        start: WorkerPrior,
        plain: PlainVotes,
        n_answers: float,
    ) -> None:
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations
        self.channel, self.trust, self.start = start.channel, trust, start
        self.plain, self.rare = plain, is_rare(plain.discount)
        self.own, self.bounded = method.shrink == "one-coin", True
        self.n_answers = n_answers

    def begin(self, claims: ClaimBlocks) -> None:
        """Do nothing: every level starts from the plain votes."""

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the posteriors; the anchor at the start."""
        if message is None:
            first = self.plain.shares(block)
            return Posterior(first, first)
        return super().posterior(block, message)

    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """Return expected counts by the mix of posteriors and plain votes."""
        if earlier is None:
            return self.plain.statistics(block)
        if self.rare:
            return self._with_own_totals(block, posterior, earlier)
        if self.trust == 0:  # workers are judged by the votes alone, so nothing will change
            return replace(self.plain.statistics(block), change=0.0)
        judged = posterior.shares
        # Workers are judged by a mix of the posteriors and the plain votes.
        if self.trust < 1:
            judged = self.trust * judged + (1 - self.trust) * self.plain.shares(block)
        change = largest_change(posterior.shares, earlier.shares)
        return replace(_statistics(block, judged, posterior.shares), change=change)

    def _with_own_totals(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior
    ) -> SufficientStatistics:
        """Return counts by the mix, and how often truths hold by the posteriors alone.

        Plain votes overstate a rare label: workers may be judged by them, rates may not.
        """
        own = posterior.shares
        if self.trust == 0:
            found = self.plain.statistics(block)
        else:
            mix = self.trust * own + (1 - self.trust) * self.plain.shares(block)
            found = _statistics(block, mix, own)
        change = largest_change(own, earlier.shares)
        return replace(found, totals=own.sum(axis=0), change=change)

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
        """Return the prior towards which each worker's confusions are drawn."""
        if not self.own:
            return prior
        totals = statistics.totals + 1
        return prior.towards_own(statistics.counts, totals / totals.sum())

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return nothing of use: `Conclusion.crowd` has it."""
        n = len(parameters.message.log_confusion)
        return np.zeros(n), np.zeros(n)

    def objective(self, statistics: SufficientStatistics, parameters: Parameters) -> float | None:
        """Return the lower bound of a claim's log probability; None where nothing is iterated."""
        if self.trust == 0 or not self.bounded:
            return None
        return evidence_bound(parameters.state, statistics) / self.n_answers


def evidence_bound(prior: WorkerPrior, statistics: SufficientStatistics) -> float:
    """Return the lower bound of the log evidence (up to the mix with plain votes)."""
    # ln p(truths), shares integrated out under a uniform Dirichlet; then E[ln p] + entropy.
    totals = statistics.totals + 1
    shares = float(gammaln(totals).sum() - gammaln(totals.sum()) + gammaln(len(totals)))
    return prior.nodes(statistics.counts)[1] + shares + statistics.entropy


def _statistics(block: VoteBlock, judged: Floats, posterior: Floats) -> SufficientStatistics:
    """Return expected counts by `judged`, with the entropy of `posterior`."""
    counts = block.spread(block.label_votes.counts(judged))
    return SufficientStatistics(counts, judged.sum(axis=0), entropy=entropy(posterior))


def _judged_by(block: VoteBlock, member: Member) -> SufficientStatistics:
    shares = member.on(block).shares
    return _statistics(block, shares, shares)


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


def _own_shares(block: VoteBlock, members: tuple[Member, ...]) -> Floats:
    return mean_shares(members, block)


def _by_the_prior(prior: WorkerPrior, n_workers: int) -> LabelWeights:
    """Return everybody as the prior says: more votes, more probable."""
    # table[truth, label] of reports, averaged over flip probabilities
    table = np.log(np.tensordot(prior.channel.mean_weight, prior.reports(), 1))
    return LabelWeights(np.broadcast_to(table, (n_workers, *table.shape)), np.zeros(len(table)))
