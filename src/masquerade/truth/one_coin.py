"""One-coin Bayesian inference that sees through the mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from masquerade.exact.arrays import Flags, Floats
from masquerade.mechanisms import CategoricalMechanism, FlipMixture
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import hit_given_option
from masquerade.truth.confusions import Member, Prediction, even_confusion
from masquerade.truth.estimator import check_accuracy_prior, check_iteration
from masquerade.truth.expectation_maximization import (
    Blocks,
    ClaimBlocks,
    Crowd,
    FixedPoint,
    Model,
    Parameters,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    fit_blocks,
    largest_change,
    row_softmax,
)
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.rare_labels import discount_of, is_rare, log_rates, shares_log_evidence

_ACCURACY_NODES = 64  # of a worker's accuracy alpha, on (0, 1)
_MOST_NODES = 129  # of q, after grouping
_BLOCK = 1 << 15  # workers whose table over all nodes is held at a time
_SURELY_LARGER = 1e-6  # relative difference of evidence bounds that is more than rounding

NO_MASK = FlipMixture(np.zeros(1), np.ones(1))


@dataclass(eq=False, kw_only=True)
class OneCoin(CategoricalEstimator):
    """Infer truths and accuracies together; the mechanism is part of the model.

    A worker's answer is the truth with the worker's own probability alpha ~ Beta(a, b), else one of
    the other options evenly; the mechanism then masks the answer. Accuracies are integrated out on
    a grid, together with the flip probability where the mechanism draws one a person. Posteriors
    are mean-field: expected agreements give each worker's posterior, that gives the weight
    ``E[ln q - ln((1 - q)/(s - 1))]`` of the worker's votes (q: probability that a report is the
    truth), and the softmax of summed weights gives each task's posterior.

    Parameters
    ----------
    accuracy_prior : tuple of two floats
        (a, b) of the Beta distribution, both positive. The default has mean 2/3.
    tolerance : float
        Iteration ends when no posterior probability changes by more, above 0.
    max_iterations : int
        Rounds after which the result is returned with ``converged_`` false.
    discount : tuple of floats, optional
        See `BayesianCombination`. Where any is below 1, how often each truth holds is learnt; else,
        and by default, truths are even beforehand.
    ties, seed
        See `CategoricalEstimator`.

    Notes
    -----
    The "CA" of our study of Li et al., KDD 2018; Dawid and Skene (1979) with one accuracy a worker.

    With two options the labels of a component may come out swapped as a whole. So inference also
    starts from the complement, and each component keeps the start with the larger evidence bound
    (sum of the workers' log evidence plus the entropy of the tasks' posteriors). Where the prior of
    q is symmetric about 1/2, as under a flip probability from U(0, 1), the two are equal in truth:
    the majority's orientation is kept and ``orientation_ambiguous_`` is true.

    With a mechanism that masks "no answer", the share of null reports is ``p' + (1 - p - p') nu``,
    where nu is the share of people without an answer and p' = p / s the chance of each other
    symbol; nu is estimated from it and enters P(report is the truth | report is not null).

    Mean field ignores that votes on one task depend on one another through the truth, so extreme
    posteriors are somewhat too sure. On twenty real sets without a mask, mean accuracy is 0.807
    (majority vote 0.806, truth discovery 0.815): the method's strength is masked claims.

    **Cost**: each round linear in claims, plus a grid of at most 129 nodes a worker.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "yes", "no", "yes", "no"]}
    >>> OneCoin().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "one-coin"
    streams: ClassVar[bool] = True
    weighs_all_options: ClassVar[bool] = False

    accuracy_prior: tuple[float, float] = (4.0, 2.0)
    tolerance: float = 1e-4
    max_iterations: int = 60
    discount: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_accuracy_prior(self.accuracy_prior)
        check_iteration(self.max_iterations, tolerance=self.tolerance)

    def compares_options(self, n_workers: int, n_options: int) -> bool:
        """Return whether rates are learnt, so that labels differ."""
        return is_rare(self.discount)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        model = OneCoinModel(self, claims.crowd)
        result = claims.fit(model)
        error = np.asarray(result.parameters.state.error)
        return replace(BlockSolution.of(claims, model, result), error=error)

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and accuracies; see `CategoricalEstimator.solve`."""
        found = self.infer(problem)
        model, result = found.model, found.fit
        posterior = result.posterior or model.posterior(problem.block, result.message)
        workers = result.parameters.state
        return replace(
            problem.solution(model, replace(result, posterior=posterior)),
            orientation_ambiguous=model.orientation_ambiguous,
            reliability_error=workers.error,
            log_evidence=found.log_evidence,
        )

    def infer(self, claims: ClaimBlocks) -> OneCoinFit:
        """Return the fit of claims wherever they are, with its evidence."""
        model = OneCoinModel(self, claims.crowd)
        blocks = claims.blocks(model)
        result = fit_blocks(model, blocks, claims.progress)
        evidence = model.evidence(blocks, result) if result.evidence is None else result.evidence
        if model.learns_rates:
            # ln p(truths), shares integrated out under a uniform Dirichlet
            truths = shares_log_evidence(result.statistics.totals)
        else:
            # Before the claims, truths are even: that is what entropies are compared with.
            truths = -claims.fold(_answered_tasks) * np.log(claims.crowd.n_options)
        return OneCoinFit(model, result, float(evidence[:-1].sum()) + truths)

    def predict_claims(self, claims: ClaimBlocks) -> Prediction:
        """Predict unseen claims from posteriors and accuracies."""
        found = self.infer(claims)
        model, workers = found.model, found.fit.parameters.state
        hit = model.expected_hits(workers)
        confusion = even_confusion(hit[:, None], claims.crowd.n_options)
        return Prediction((Member.of(model, found.fit),), confusion)


@dataclass(frozen=True, slots=True, eq=False)
class OneCoinFit:
    """The fixed point of one-coin inference."""

    model: OneCoinModel
    fit: FixedPoint
    log_evidence: float  # lower bound of the log probability of all reports


def _answered_tasks(block: VoteBlock) -> float:
    return float((block.votes.of_task > 0).sum())


@dataclass(frozen=True, slots=True)
class Start:
    """Start of one-coin inference: vote shares, turned round or not."""

    complement: bool  # whether the least voted options are taken for the likeliest
    reverse: bool = False  # whether two options are exchanged

    def posterior(self, block: VoteBlock) -> Floats:
        """Return smoothed vote shares."""
        votes, s = block.sorted_votes, block.n_options
        # One pseudo-vote for each option: a task without votes starts even, and no share is 0.
        share: Floats = votes.count()
        share += 1
        share /= (votes.of_task + s)[:, None]
        if self.complement:
            # Reports are mostly not the truth here: options with few votes are likelier.
            share = (1 - share) / (s - 1)
        return block.anchored(share[:, ::-1] if self.reverse else share)


@dataclass(frozen=True, slots=True, eq=False)
class CoinWeights:
    """The parameters of the one-coin model, as its E-step needs them."""

    weight: Floats  # float array, shape (n_workers,). What a vote counts.
    # float array, shape (n_options,), or None. E[ln P(truth)] where rates are learnt.
    log_rate: Floats | None


class OneCoinModel(Model):
    """One-coin inference; messages are a `Start`, then `CoinWeights`."""

    maximizes_last = True

    def __init__(self, method: OneCoin, crowd: Crowd) -> None:
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations
        self.answers, s = crowd.answers, crowd.n_options
        # Not by a diagnosis of its own: lopsided errors look like rare labels, and rates learnt
        # from them cost up to .22 of accuracy on real crowds (relevance). `Auto` has a guard.
        self.learns_rates = is_rare(discount_of(method.discount, crowd.n_options))
        self.level = np.zeros(len(crowd.answers), dtype=np.int32)
        masks: Sequence[CategoricalMechanism | None] = (crowd.mechanism,)
        shares = np.array([crowd.null_share])
        if crowd.levels is not None:
            self.level, masks = crowd.levels.of_worker, crowd.levels.mechanisms
            shares = crowd.levels.null_shares
        self.grids = [
            Grid.of(method.accuracy_prior, mask, n_options=s, null_share=float(share))
            for mask, share in zip(masks, shares, strict=True)
        ]
        a, b = method.accuracy_prior
        # A prior of accuracies that is symmetric about 1/2 does not tell right from wrong either.
        self.orientation_ambiguous = crowd.orientation_ambiguous or (s == 2 and a == b)
        # A report that is the truth less often than by chance speaks against its option.
        hits = np.array([grid.mean_hit() for grid in self.grids])[self.level]
        mean_hit = float(hits @ crowd.answers) / crowd.n_answers
        start = Start(s > 1 and mean_hit < 1 / s)
        self.starts = (start,)
        # The second start pays only where the evidence can tell the two apart.
        if s == 2 and not self.orientation_ambiguous:
            self.starts = (start, Start(start.complement, reverse=True))

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the softmax of summed weights: the mean-field posterior of each truth."""
        if isinstance(message, Start):
            share = message.posterior(block)
            return Posterior(share, share)
        scores = block.sorted_votes.score(block.own(message.weight))
        if message.log_rate is not None:
            scores += message.log_rate
        return Posterior(scores, block.anchored(row_softmax(scores, block.sizes)))

    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """Return each worker's expected agreements with the truths."""
        change = np.inf if earlier is None else largest_change(posterior.shares, earlier.shares)
        agreed = block.sorted_votes.agreement(posterior.shares)
        totals = np.zeros(0)
        if self.learns_rates:
            totals = posterior.shares[block.votes.of_task > 0].sum(axis=0)
        return SufficientStatistics(block.spread(agreed), totals, change=change)

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return each accuracy's posterior on the grid, given the agreements."""
        if len(self.grids) == 1:
            workers = self.grids[0].workers(statistics.counts, self.answers)
        else:
            workers = Workers(*np.zeros((4, len(self.answers))))
            for level, grid in enumerate(self.grids):
                rows = self.level == level
                own = grid.workers(statistics.counts[rows], self.answers[rows])
                workers = workers.merged(own.spread(rows), rows)
        rate = log_rates(statistics.totals) if self.learns_rates else None
        return Parameters(CoinWeights(workers.weight, rate), workers)

    def expected_hits(self, workers: Workers) -> Floats:
        """Return the probability that each worker's report is the truth."""
        hits = np.zeros(len(self.answers))
        for level, grid in enumerate(self.grids):
            rows = self.level == level
            hits[rows] = grid.hit_at(workers.accuracy[rows])
        return hits

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return posterior means of accuracies, and weights."""
        return parameters.state.accuracy, parameters.state.weight

    def best(self, blocks: Blocks, fits: list[FixedPoint]) -> FixedPoint:
        """Return in each component the fixed point with the larger evidence bound."""
        if len(fits) == 1:
            return fits[0]
        first, second = fits
        components = blocks.components
        bounds = [self.evidence(blocks, fit) for fit in fits]
        # The majority's orientation stays where rounding alone would decide.
        swapped = bounds[1] > bounds[0] + _SURELY_LARGER * (1 + np.abs(bounds[0]))
        swapped[components.count] = False  # workers without any answer
        evidence = np.where(swapped, bounds[1], bounds[0])
        if not swapped.any():
            return replace(first, evidence=evidence)
        turned = swapped[components.of_worker]  # all voters of a task are of one component
        workers = first.parameters.state.merged(second.parameters.state, turned)
        weight = np.where(turned, second.message.weight, first.message.weight)
        # One rate for all components: that of the start which most of them keep.
        most = second if 2 * np.count_nonzero(swapped) > components.count else first
        message = CoinWeights(weight, most.message.log_rate)
        # No posterior: the truths follow from the merged message, by one more E-step.
        return FixedPoint(
            message,
            Parameters(message, workers),
            most.statistics,
            # The first fit counts unless every component has left it.
            second.converged and (first.converged or bool(swapped[:-1].all())),
            max(first.iterations, second.iterations),
            evidence=evidence,
        )

    def evidence(self, blocks: Blocks, fit: FixedPoint) -> Floats:
        """Return each component's evidence bound, and one of the workers without answers.

        The workers' log evidence given expected agreements, plus the entropy of the truths.
        """
        components = blocks.components
        of_workers = fit.parameters.state.log_evidence
        size = components.count + 1
        return blocks.entropies(fit) + np.bincount(components.of_worker, of_workers, size)


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """Posteriors of workers, given expected agreements; arrays of shape (n_workers,).

    ``log_evidence`` is the log probability of the worker's votes, ``weight`` the expected log
    ratio of a vote, ``accuracy`` and ``error`` the posterior mean and standard deviation of alpha.
    """

    log_evidence: Floats
    weight: Floats
    accuracy: Floats
    error: Floats

    def spread(self, rows: Flags) -> Workers:
        """Return the posteriors as those of the marked ones among more workers, and 0 elsewhere."""
        figures = np.zeros((4, len(rows)))
        figures[:, rows] = (self.log_evidence, self.weight, self.accuracy, self.error)
        return Workers(*figures)

    def merged(self, other: Workers, chosen: Flags) -> Workers:
        """Return the other posteriors for the workers that are chosen, and these elsewhere."""
        names = ("log_evidence", "weight", "accuracy", "error")
        return Workers(
            *(np.where(chosen, getattr(other, name), getattr(self, name)) for name in names)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The prior of a worker on a grid; arrays of shape (n_nodes,)."""

    log_prior: Floats
    # log_hit, log_miss: log probability that a report that is an option is the truth, and that it
    # is one particular other option.
    log_hit: Floats
    log_miss: Floats
    accuracy: Floats  # mean alpha of the node

    @classmethod
    def of(
        cls,
        accuracy_prior: tuple[float, float],
        mechanism: CategoricalMechanism | None,
        *,
        n_options: int,
        null_share: float,
    ) -> Grid:
        """Return the grid of alpha times the mechanism's flip probabilities.

        Only q matters to the votes, so a large product is grouped into at most 129 ranges of q.
        """
        mixture = NO_MASK if mechanism is None else mechanism.flip_mixture()
        a, b = accuracy_prior
        # Midpoints: never 0 or 1, whose logarithms are infinite.
        alpha = (np.arange(_ACCURACY_NODES) + 0.5) / _ACCURACY_NODES
        log_density = (a - 1) * np.log(alpha) + (b - 1) * np.log1p(-alpha)
        density = np.exp(log_density - log_density.max())
        # prior[alpha, flip], flattened; `nodes` and `flip` have the same order
        prior = np.outer(density / density.sum(), mixture.weight).ravel()
        nodes = np.repeat(alpha, len(mixture.weight))
        flip = np.tile(mixture.flip_probability, _ACCURACY_NODES)
        others = max(n_options - 1, 1)
        if mechanism is not None and mechanism.null:
            # Logarithms of q and of 1 - q follow, so q must be neither 0 nor 1.
            hit = np.clip(hit_given_option(nodes, flip, null_share, n_options), 1e-12, 1 - 1e-12)
        else:
            # q = alpha (1 - p) + (1 - alpha) p / (s - 1)
            hit = nodes * (1 - flip) + (1 - nodes) * flip / others
        prior, hit, nodes = _grouped(prior, hit, nodes)
        return cls(np.log(prior), np.log(hit), np.log1p(-hit) - np.log(others), nodes)

    def hit_at(self, accuracy: Floats) -> Floats:
        """Return the probability that a report is the truth, of workers of these accuracies."""
        order = np.argsort(self.accuracy, kind="stable")
        return np.interp(accuracy, self.accuracy[order], np.exp(self.log_hit)[order])

    def mean_hit(self) -> float:
        """Return the prior probability that a report is the truth."""
        return float(np.exp(self.log_prior) @ np.exp(self.log_hit))

    def workers(self, agreed: Floats, answers: Floats) -> Workers:
        """Return every worker's posterior, given `agreed` of `answers` votes."""
        # out[figure, worker], figures in the order of the fields of `Workers`
        out = np.empty((4, len(agreed)))
        # ln q - ln((1 - q)/(s - 1)): what a vote counts at each node
        ratio = self.log_hit - self.log_miss
        # One product for what is averaged over the nodes, and for the total.
        figures = np.stack([np.ones(len(ratio)), ratio, self.accuracy, self.accuracy**2], axis=1)
        for start in range(0, len(agreed), _BLOCK):  # bounds the memory of workers x nodes
            block = slice(start, start + _BLOCK)
            # ln prior + agreed ln q + (answers - agreed) ln((1 - q)/(s - 1)), worker by node
            log_joint = np.outer(agreed[block], ratio)
            log_joint += np.outer(answers[block], self.log_miss)
            log_joint += self.log_prior
            top = log_joint.max(axis=1, keepdims=True)
            # in place: workers times nodes is the largest array here
            joint = np.exp(np.subtract(log_joint, top, out=log_joint), out=log_joint)
            total, weight, accuracy, square = (joint @ figures).T
            # log evidence: the integral over the grid
            out[0, block] = top[:, 0] + np.log(total)
            # equal evidence gives equal weight, whatever the order it was summed in
            out[1, block] = np.round(weight / total, 10)
            out[2, block] = accuracy / total
            # E[alpha**2] - E[alpha]**2; rounding may take it below 0
            out[3, block] = square / total - out[2, block] ** 2
        out[3] = np.sqrt(np.maximum(out[3], 0))
        return Workers(*out)


def _grouped(prior: Floats, hit: Floats, accuracy: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the prior and the mean q and alpha of at most 129 equal ranges of q."""
    width = (hit.max() - hit.min()) / _MOST_NODES
    if len(prior) <= _ACCURACY_NODES or width == 0:
        some = prior > 0  # a sharp prior vanishes far from its mode
        return prior[some], hit[some], accuracy[some]
    # The largest q would fall just beyond the last range.
    place = np.minimum(((hit - hit.min()) / width).astype(np.int64), _MOST_NODES - 1)
    total: Floats = np.bincount(place, prior, _MOST_NODES).astype(np.float64)
    some = total > 0
    # Weighted by the prior, so that grouping keeps the means of q and alpha.
    means = (
        np.bincount(place, prior * x, _MOST_NODES)[some] / total[some] for x in (hit, accuracy)
    )
    hit, accuracy = means
    return total[some], hit, accuracy
