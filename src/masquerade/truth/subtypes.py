"""Subtypes of tasks: tasks of one truth that the crowd answers in different ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from masquerade.exact.arrays import Floats
from masquerade.exact.number import whole
from masquerade.truth.block_solution import BlockSolution, doubtful_error
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.confusions import (
    ConfusionModel,
    LabelWeights,
    Member,
    Prediction,
    allowing_for_doubt,
)
from masquerade.truth.estimator import check_iteration, check_positive
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    Parameters,
    Posterior,
    SufficientStatistics,
    VoteBlock,
    vote_shares,
)
from masquerade.truth.problem import Problem, Solution
from masquerade.truth.rare_labels import discount_of
from masquerade.truth.worker_prior import WorkerPrior

_SOFTNESS = 0.8  # share of the start's membership that easiness decides


@dataclass(eq=False, kw_only=True)
class Subtypes(CategoricalEstimator):
    """Infer truths of tasks that come in subtypes, each answered in its own way by each worker.

    Tasks of one truth may be of different kinds: easy and misleading ones, for instance, at which
    the same worker errs differently. A task has a truth and, given that, one of a few subtypes; a
    worker has a row of confusions for each pair. So workers may agree on a mistake without being
    taken for experts. With one subtype this is Bayesian classifier combination with a fixed prior.

    Parameters
    ----------
    subtypes : int
        Of each truth, at least 1.
    right, wrong : float
        Answers of each kind that a worker is taken to have given at every truth and subtype before
        the claims, above 0: for the truth, and for each other option.
    discount : tuple of floats, optional
        See `BayesianCombination`: of the votes that the truths' prior counts. All 1 by default.
    tolerance, max_iterations, ties, seed
        See `OneCoin`.

    Notes
    -----
    After Li, Rubinstein and Cohn, "Exploiting worker correlation for label aggregation in
    crowdsourcing", ICML 2019, with mean-field inference. Ours: two subtypes, and one start that
    does not draw. Tasks are ranked by how far their votes agree, and the subtypes of a truth begin
    as the disputed and the agreed half of it, softly. A mechanism moves the prior of answers to one
    of reports with the same mean and variance.

    Where tasks have no subtypes it is worse than `BayesianCombination`: `Auto` chooses.

    **Cost**: each iteration linear in claims times options times subtypes.

    Examples
    --------
    >>> table = {"task": ["a", "a", "b", "b", "b"], "worker": ["x", "y", "x", "y", "z"],
    ...          "label": ["no", "no", "no", "yes", "no"]}
    >>> Subtypes().fit(table).truths_.to_pylist()
    [{'task': 'a', 'label': 'no'}, {'task': 'b', 'label': 'no'}]
    """

    name: ClassVar[str] = "subtypes"
    confusions: ClassVar[int] = 2
    streams: ClassVar[bool] = True

    subtypes: int = 2
    right: float = 4.0
    wrong: float = 1.0
    tolerance: float = 1e-3
    max_iterations: int = 300
    discount: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_positive(right=self.right, wrong=self.wrong)
        self.subtypes = whole(self.subtypes, "subtypes", low=1)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Return workers and models; see `CategoricalEstimator.solve_blocks`."""
        model = SubtypesModel(self, claims.crowd)
        result = claims.fit(model)
        accuracy, variance = model.accuracies(result.statistics)
        error = doubtful_error(claims, variance, _truth_shares, model, result.message)
        solution = BlockSolution.of(claims, model, result)
        return replace(solution, reliability=accuracy, error=error)

    def solve(self, problem: Problem) -> Solution:
        """Return posteriors and confusions; see `CategoricalEstimator.solve`."""
        model = SubtypesModel(self, problem.crowd)
        result = problem.fit(model)
        assert result.posterior is not None
        truths = model.truths(result.posterior.shares)
        prior, statistics = model.prior, result.statistics
        totals = model.truths(statistics.totals[None, :] + 1 / self.subtypes)[0]
        table = prior.answer_confusion(statistics.counts)
        # weight[truth, subtype] = P(subtype | truth), over which confusions are averaged.
        weight = (statistics.totals + 1e-9).reshape(-1, self.subtypes)
        weight = weight / weight.sum(axis=1, keepdims=True)
        n, s = len(table), problem.votes.n_options
        # confusion[worker, truth, label], the subtypes summed out.
        confusion = np.einsum("wams,am->was", table.reshape(n, s, self.subtypes, s), weight)
        accuracy, variance = model.accuracies(statistics)
        return replace(
            problem.solution(model, result),
            scores=truths,
            posteriors=truths,
            reliability=accuracy,
            reliability_error=np.sqrt(allowing_for_doubt(variance, problem.votes, truths)),
            confusion=confusion,
            priors=totals / totals.sum(),
        )

    def predict_claims(self, claims: ClaimBlocks) -> Prediction:
        """Predict unseen claims."""
        model = SubtypesModel(self, claims.crowd)
        result = claims.fit(model)
        confusion = model.prior.mean_confusion(result.statistics.counts)
        return Prediction((Member.of(model, result),), confusion)


class SubtypesModel(ConfusionModel):
    """Mean field over cells, the pairs of a truth and a subtype: ``truth * subtypes + subtype``.

    The state is the expected number of tasks of each cell, the first message the `EasinessRanks`.
    """

    def __init__(self, method: Subtypes, crowd: Crowd) -> None:
        self.tolerance, self.max_iterations = method.tolerance, method.max_iterations
        self.n_subtypes, s = method.subtypes, crowd.n_options
        self.discount = discount_of(method.discount, s)
        self.channel = crowd.channel
        # rows[truth, label]: Dirichlet pseudo-answers, the same for both subtypes of a truth.
        rows = np.full((s, s), method.wrong) + (method.right - method.wrong) * np.eye(s)
        rows = np.repeat(rows, self.n_subtypes, axis=0)
        total = rows.sum(axis=1)
        pooled = rows / total[:, None]
        self.prior = WorkerPrior(pooled, total, pooled, 1.0, crowd.channel)

    def begin(self, claims: ClaimBlocks) -> None:
        """Rank all tasks by how far their votes agree, and count the votes' truths."""
        look: FirstLook = claims.fold(_first_look, self.channel)
        self.starts = (look.ranks(),)
        cut = look.shares * np.asarray(self.discount)
        # The prior number of tasks of each truth: as many as there are, by votes.
        self.before = cut * (look.shares.sum() / max(cut.sum(), 1e-300))

    def truths(self, cells: Floats) -> Floats:
        """Return the sums over the subtypes of each truth."""
        return np.asarray(cells.reshape(len(cells), -1, self.n_subtypes).sum(axis=2))

    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """Return the posteriors of cells; the start's at first."""
        if not isinstance(message, EasinessRanks):
            return super().posterior(block, message)
        shares, easiness = _shares_and_easiness(block, self.channel)
        start = message.cells(block.anchored(shares), easiness, self.n_subtypes)
        return Posterior(start, start)

    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """Return expected logs under Dirichlet posteriors of confusions, subtypes and truths."""
        m = self.n_subtypes
        # cells[truth, subtype]: expected number of tasks
        cells = statistics.totals.reshape(-1, m)
        of_truth = cells.sum(axis=1)
        # E[ln P(subtype | truth)]: Dirichlet of 1 / M each, so that a truth's prior weighs 1
        log_subtype = digamma(cells + 1 / m) - digamma(of_truth + 1)[:, None]
        shares = of_truth + self.before
        # E[ln P(truth)], of a Dirichlet distribution too
        log_truth = digamma(np.maximum(shares, 1e-10)) - digamma(shares.sum())
        table = self.prior.log_confusion(statistics.counts)
        message = LabelWeights(table, (log_truth[:, None] + log_subtype).ravel())
        return Parameters(message, statistics.totals)

    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return nothing of use: workers are judged by statistics, see `accuracies`."""
        n = len(parameters.message.log_confusion)
        return np.zeros(n), np.zeros(n)

    def accuracies(self, statistics: SufficientStatistics) -> tuple[Floats, Floats]:
        """Return mean and variance of each worker's accuracy."""
        share = statistics.totals / max(statistics.totals.sum(), 1e-300)
        return self.prior.accuracies(statistics.counts, share)

    def decision_scores(self, posterior: Posterior) -> Floats:
        """Return posteriors of truths."""
        return self.truths(posterior.shares)

    def vote_shares(self, posterior: Posterior, sizes: Floats | None = None) -> Floats:
        """Return posteriors of truths."""
        return self.truths(posterior.shares)


@dataclass(frozen=True, slots=True, eq=False)
class FirstLook:
    """How easy tasks look from plain votes: each easiness that there is, with its tasks."""

    easiness: Floats  # ascending
    tasks: Floats  # float array, of the same shape. Number of tasks of that easiness.
    shares: Floats  # float array, shape (n_options,). Sum of the tasks' vote shares.

    def __add__(self, other: FirstLook) -> FirstLook:
        values = np.concatenate([self.easiness, other.easiness])
        easiness, place = np.unique(values, return_inverse=True)
        tasks = np.bincount(place, np.concatenate([self.tasks, other.tasks])).astype(np.float64)
        return FirstLook(easiness, tasks, self.shares + other.shares)

    def ranks(self) -> EasinessRanks:
        """Return the ranks of all tasks, from 0 to 1."""
        # Mean ranks: tasks that are alike start alike, whatever their order. scipy.stats has them,
        # and takes as long to load as all else that a small fit does.
        most = max(float(self.tasks.sum()) - 1, 1.0)
        rank = (np.cumsum(self.tasks) - (self.tasks + 1) / 2) / most
        return EasinessRanks(self.easiness, rank)


@dataclass(frozen=True, slots=True, eq=False)
class EasinessRanks:
    """The start: subtypes by the rank of a task's easiness among all tasks."""

    easiness: Floats  # ascending
    rank: Floats  # mean rank of the tasks of that easiness, 0 to 1

    def cells(self, truths: Floats, easiness: Floats, m: int) -> Floats:
        """Return the first posteriors of cells from those of truths, of `m` subtypes each."""
        rank = self.rank[np.searchsorted(self.easiness, easiness)]
        middle, width = (np.arange(m) + 0.5) / m, 0.5 / m
        # near[task, subtype]: bumps over the ranks of easiness, one a subtype, made to add to 1.
        near = np.exp(-((rank[:, None] - middle) ** 2) / (2 * width**2))
        near = _SOFTNESS * near / near.sum(axis=1, keepdims=True) + (1 - _SOFTNESS) / m
        n, s = truths.shape
        return np.asarray((truths[:, :, None] * near[:, None, :]).reshape(n, s * m))


def _shares_and_easiness(block: VoteBlock, channel: OptionChannel) -> tuple[Floats, Floats]:
    """Return vote shares freed from the mask, and how far a task's votes agree."""
    votes = block.sorted_votes
    shares = channel.unmasked(vote_shares(votes.count()))
    easiness = (shares.max(axis=1) * votes.of_task + 1) / (votes.of_task + 2)
    # Rounded, so that one easiness is one number wherever it was worked out.
    return shares, np.round(easiness, 12)


def _first_look(block: VoteBlock, channel: OptionChannel) -> FirstLook:
    shares, easiness = _shares_and_easiness(block, channel)
    values, tasks = np.unique(easiness, return_counts=True)
    return FirstLook(values, tasks.astype(np.float64), shares.sum(axis=0))


def _truth_shares(block: VoteBlock, model: SubtypesModel, message: Any) -> Floats:
    return model.truths(model.posterior(block, message).shares)
