"""Expectation-maximization, once: for claims in memory, streamed from files or over a cluster.

A method is a `Model`. Its E-step takes a block of tasks and the parameters of workers, works out
how probable each truth is, and counts what that says of workers: the sufficient statistics. These
add up over blocks of tasks. Its M-step turns the sum into the next parameters. Claims in memory are
one block (`InMemory`); partitions are many (`masquerade.truth.scale`). `iterate` is the loop.

Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", 1977.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Progress
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism, FlipMixture
from masquerade.truth.channel_view import Levels, OptionChannel
from masquerade.truth.diagnostics import Components
from masquerade.truth.samples import Split, TaskSample, UnseenClaims
from masquerade.truth.votes import LabelVotes, UnsortedVotes, Votes, row_blocks, row_max, row_sum

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Crowd:
    """Numbers of all claims together, for M-steps; E-steps do without."""

    n_options: int
    answers: Floats  # float array, shape (n_workers,). Number of answers of each worker.
    null_share: float  # share of the claims that are "no answer"
    mechanism: CategoricalMechanism | None
    # Returns the connected `Components`; it is called where a method needs them.
    components: Callable[[], Components]
    levels: Levels | None = None  # in place of `mechanism` where workers went through several

    @cached_property
    def channel(self) -> OptionChannel:
        """The channel of reports that are options."""
        if self.levels is not None:
            return OptionChannel.of_levels(self.levels, self.answers, n_options=self.n_options)
        return OptionChannel.of(
            self.mechanism, n_options=self.n_options, null_share=self.null_share
        )

    @cached_property
    def n_answers(self) -> float:
        """Number of answers, 1 at least: the divisor of log-likelihoods."""
        return max(float(self.answers.sum()), 1.0)

    @cached_property
    def orientation_ambiguous(self) -> bool:
        """Whether all mechanisms leave two options exchangeable."""
        masks = [self.mechanism] if self.levels is None else self.levels.mechanisms
        mixtures = [None if mask is None else mask.flip_mixture() for mask in masks]
        return self.n_options == 2 and all(map(is_symmetric, mixtures))


def is_symmetric(mixture: FlipMixture | None) -> bool:
    """Return whether a flip probability p is as likely as 1 - p (never without a mechanism)."""
    if mixture is None:
        return False
    # Odd central moments of a symmetric distribution are 0; a few tell them from all in use.
    off = mixture.flip_probability - 0.5
    return all(abs(float(mixture.weight @ off**k)) < 1e-9 for k in (1, 3, 5))


@dataclass(frozen=True, eq=False)
class VoteBlock:
    """The votes on some tasks: on all of them in memory, on one partition's at scale."""

    votes: Votes | UnsortedVotes  # of the block's own workers; unsorted for methods of one pass
    gold: Codes  # int32 array, shape (n_tasks,). Known truths as codes; -1 where unknown.
    workers: Codes | None = None  # own workers' codes among all; None where the block has all
    n_workers: int = 0  # all workers
    unseen: UnseenClaims | None = None  # on the same tasks, and not among `votes`
    # float array, shape (n_tasks, n_options), or None. Number of options that a column of the votes
    # stands for, where columns are the places of `LabelSlots`; else each is one option.
    sizes: Floats | None = None

    @property
    def n_options(self) -> int:
        """Number of options of a task."""
        return (
            self.sorted_votes.n_options if self.sizes is None else round(float(self.sizes[0].sum()))
        )

    @property
    def sorted_votes(self) -> Votes:
        """The votes, for methods that iterate."""
        assert isinstance(self.votes, Votes)
        return self.votes

    @cached_property
    def label_votes(self) -> LabelVotes:
        """The votes by worker and label."""
        return LabelVotes.of(self.sorted_votes)

    def own(self, everyone: Floats) -> Floats:
        """Return the rows of the block's workers from an array of all workers."""
        return everyone if self.workers is None else everyone[self.workers]

    def spread(self, own: Floats) -> Floats:
        """Return an array of all workers: the block's, and 0 for the others."""
        if self.workers is None:
            return own
        # Zeros elsewhere, so that statistics of blocks with different workers add up.
        everyone = np.zeros((self.n_workers, *own.shape[1:]))
        everyone[self.workers] = own
        return everyone

    def anchored(self, shares: Floats) -> Floats:
        """Return `shares` with 1 for each known truth (a copy where there are any)."""
        known = np.flatnonzero(self.gold >= 0)
        if len(known):
            shares = shares.copy()
            shares[known] = 0
            shares[known, self.gold[known]] = 1
        return shares


@dataclass(eq=False)
class Posterior:
    """Result of the E-step on the tasks of a block."""

    scores: Floats  # float array, shape (n_tasks, n_options). The highest score wins.
    # float or bool array, shape (n_tasks, n_options). How far each option is taken for the truth.
    shares: NDArray[Any]
    log_likelihood: float = 0.0  # of the block's votes, of models that have it


@dataclass(frozen=True, slots=True, eq=False)
class SufficientStatistics:
    """Sums that an M-step needs of the tasks of a block; blocks add up."""

    # Expected agreements of each worker, shape (n_workers,); in models with confusions how often a
    # worker gave a label where a truth held, shape (n_workers, n_truths, n_options).
    counts: Floats
    # float array, shape (n_truths,). Expected number of tasks of each truth; empty in models
    # without.
    totals: Floats = field(default_factory=lambda: np.zeros(0))
    log_likelihood: float = 0.0  # of the votes under the parameters of the E-step
    entropy: float = 0.0  # of the tasks' posteriors, in nats; 0 in models that do not need it
    change: float = np.inf  # largest change of a task's share since the step before

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        return SufficientStatistics(
            self.counts + other.counts,
            self.totals + other.totals,
            self.log_likelihood + other.log_likelihood,
            self.entropy + other.entropy,
            # A maximum, not a sum: iteration goes on while a task of any block changes.
            max(self.change, other.change),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Result of an M-step."""

    # What the next E-step needs: weights of votes, or of labels. It is sent to every block.
    message: Any
    state: Any = None  # what only the next M-step and the result need, of a model's own kind


class Model(ABC):
    """One method as expectation-maximization.

    Models hold nothing of tasks, and are sent to every block once.
    """

    max_iterations: int  # 0 for methods of one pass
    tolerance: float = 0.0  # iteration ends when no share of a task changes by this much
    starts: tuple[Any, ...] = (None,)  # messages to begin with; of several, `best` chooses
    #: Whether workers are judged by the final posteriors, not by those that led to these.
    maximizes_last = False
    #: Whether iteration ends by the change of shares; blocks may have to work them out again.
    compares = True

    def begin(self, claims: ClaimBlocks) -> None:  # noqa: B027
        """Look at all claims once before iteration, where the starts follow from them."""

    @abstractmethod
    def posterior(self, block: VoteBlock, message: Any) -> Posterior:
        """E-step, first half: how probable each truth of each task is."""

    @abstractmethod
    def statistics(
        self, block: VoteBlock, posterior: Posterior, earlier: Posterior | None
    ) -> SufficientStatistics:
        """E-step, second half: the sufficient statistics of workers."""

    @abstractmethod
    def maximization_step(
        self, statistics: SufficientStatistics, earlier: Parameters | None
    ) -> Parameters:
        """M-step: the parameters of workers that the statistics of all blocks give."""

    @abstractmethod
    def reliability_and_weight(self, parameters: Parameters) -> tuple[Floats, Floats]:
        """Return each worker's estimated accuracy, and the weight of the worker's votes."""

    def expectation_step(
        self, block: VoteBlock, message: Any, earlier: Posterior | None = None
    ) -> tuple[Posterior, SufficientStatistics]:
        """E-step of a block: the posteriors, which stay there, and the statistics."""
        posterior = self.posterior(block, message)
        return posterior, self.statistics(block, posterior, earlier)

    def vote_shares(self, posterior: Posterior, sizes: Floats | None = None) -> Floats:
        """Return the rows of ``posteriors_``, which sum to 1; `sizes` are those of the block."""
        return posterior.shares

    def decision_scores(self, posterior: Posterior) -> Floats:
        """Return the scores that decide, shape (n_tasks, n_options)."""
        return posterior.scores

    def objective(self, statistics: SufficientStatistics, parameters: Parameters) -> float | None:
        """Return the objective for each claim, in models that have one."""
        return None

    def converged(self, statistics: SufficientStatistics, objectives: list[float]) -> bool:
        """Return whether an iteration changed little enough."""
        # The second test is for a tolerance of 0, which no change is below.
        return statistics.change < self.tolerance or statistics.change == 0

    def best(self, blocks: Blocks, fits: list[FixedPoint]) -> FixedPoint:
        """Return the best of the fits from all starts."""
        return fits[0]


class Blocks(ABC):
    """All blocks of some claims, wherever they are."""

    @abstractmethod
    def expectation_step(
        self, message: Any, earlier: Any
    ) -> tuple[SufficientStatistics, Posterior | None]:
        """Return the sum of all blocks' statistics, and the posterior if it is here.

        `earlier` is the message of the step before with its posterior, for the change, or None.
        """

    @abstractmethod
    def entropies(self, fit: FixedPoint) -> Floats:
        """Return the entropy of the tasks' posteriors, in nats, summed by component.

        One more entry is for workers without any answer.
        """

    @property
    @abstractmethod
    def components(self) -> Components:
        """The groups of workers and tasks that share no answer."""


class ClaimBlocks(ABC):
    """The claims of a crowd as blocks of tasks, wherever these are."""

    progress: Progress | None

    @property
    @abstractmethod
    def crowd(self) -> Crowd:
        """Numbers of all claims together."""

    @property
    @abstractmethod
    def has_known(self) -> bool:
        """Whether the truth of any task is known."""

    @property
    @abstractmethod
    def people(self) -> pa.Array:
        """The name of each worker, shape (n_workers,); the same name more than once of sources."""

    @property
    @abstractmethod
    def options(self) -> pa.Array:
        """The labels that can be given."""

    @property
    @abstractmethod
    def has_sources(self) -> bool:
        """Whether workers stand by mechanism, so that several may be one person."""

    @abstractmethod
    def fold(self, job: Any, *arguments: Any) -> Any:
        """Return the sum of ``job(block, *arguments)`` over all blocks.

        A job is a function of a module, and its results add up.
        """

    @abstractmethod
    def blocks(self, model: Model) -> Blocks:
        """Return the blocks for a model's iteration."""

    @abstractmethod
    def without(self, split: Split) -> ClaimBlocks:
        """Return the claims less those of one fold, which the blocks have as `unseen`."""

    @abstractmethod
    def sample(self, sample: TaskSample) -> ClaimBlocks | None:
        """Return the answers on the tasks of a sample; None where the sample does not fit."""

    def fit(self, model: Model) -> FixedPoint:
        """Iterate a model to its fixed point."""
        model.begin(self)
        return fit_blocks(model, self.blocks(model), self.progress)


@dataclass(frozen=True, eq=False)
class InMemory(Blocks):
    """Claims in memory: one block."""

    model: Model
    block: VoteBlock
    crowd: Crowd

    def expectation_step(
        self, message: Any, earlier: Any
    ) -> tuple[SufficientStatistics, Posterior | None]:
        """See `Blocks.expectation_step`."""
        before = None if earlier is None else earlier[1]
        posterior, statistics = self.model.expectation_step(self.block, message, before)
        return statistics, posterior

    def entropies(self, fit: FixedPoint) -> Floats:
        """See `Blocks.entropies`."""
        assert fit.posterior is not None
        return entropies(
            self.block, fit.posterior, self.components.of_worker, self.components.count + 1
        )

    @property
    def components(self) -> Components:
        """See `Blocks.components`."""
        return self.crowd.components()


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """The fixed point that iteration from one start leads to."""

    message: Any  # the parameters of the last E-step: what the truths follow from
    parameters: Parameters  # what workers are judged by
    statistics: SufficientStatistics  # of the last E-step
    converged: bool
    iterations: int
    objectives: tuple[float, ...] = ()  # `Model.objective` after every iteration
    posterior: Posterior | None = None  # of the last E-step, where all tasks are one block
    # Evidence bound of each component, from models with several starts.
    evidence: Floats | None = None


def fit_blocks(model: Model, blocks: Blocks, progress: Progress | None = None) -> FixedPoint:
    """Return the best of the fixed points that the model's starts lead to."""
    return model.best(blocks, [iterate(model, blocks, start, progress) for start in model.starts])


def iterate(
    model: Model, blocks: Blocks, start: Any, progress: Progress | None = None
) -> FixedPoint:
    """Alternate M-steps and E-steps from `start` until posteriors stop changing."""
    # Each round is an M-step, then an E-step: the last posteriors belong to `message`.
    message, parameters = start, None
    statistics, posterior = blocks.expectation_step(start, None)
    objectives: list[float] = []
    iterations, converged = 0, False
    while not converged and iterations < model.max_iterations:
        iterations += 1
        parameters = model.maximization_step(statistics, parameters)
        # At scale posteriors are not kept; they are worked out again from the earlier message.
        earlier, message = (message, posterior), parameters.message
        statistics, posterior = blocks.expectation_step(message, earlier)
        objective = model.objective(statistics, parameters)
        if objective is not None:
            objectives.append(objective)
        converged = model.converged(statistics, objectives)
        if progress is not None:
            progress(iterations, model.max_iterations)
    _LOGGER.debug(
        "%s: %d iterations, %s",
        type(model).__name__,
        iterations,
        "converged" if converged else "stopped before it converged",
    )
    # A method of one pass has had no M-step yet.
    if parameters is None or model.maximizes_last:
        parameters = model.maximization_step(statistics, parameters)
    return FixedPoint(
        message,
        parameters,
        statistics,
        converged or model.max_iterations == 0,
        max(iterations, 1),  # one pass counts as an iteration
        tuple(objectives),
        posterior,
    )


def vote_shares(scores: Floats, sizes: Floats | None = None) -> Floats:
    """Return each option's share of a task's weighted votes; rows sum to 1.

    With ``sizes[task, column]`` a column stands for so many options, each with its entry.

    Where weights below 0 make a score negative, the row is lifted so that its lowest score is 0: a
    vote against one option of two is a vote for the other.
    """
    shares = np.empty(scores.shape)
    # By blocks of rows: temporary arrays stay small beside the scores.
    for rows in row_blocks(scores):
        lifted = shares[rows]
        np.add(scores[rows], np.maximum(row_max(-scores[rows]), 0)[:, None], out=lifted)
        size = None if sizes is None else sizes[rows]
        total = row_sum(lifted if size is None else lifted * size)
        # A task without votes: all options alike, instead of 0 / 0.
        empty = total <= 0
        lifted[empty] = 1
        total[empty] = lifted.shape[1] if size is None else row_sum(size)[empty]
        lifted /= total[:, None]
    return shares


def row_softmax(scores: Floats, sizes: Floats | None = None) -> Floats:
    """Return the softmax of each row; for `sizes` see `vote_shares`."""
    shares = np.empty(scores.shape)
    for rows in row_blocks(scores):
        odds = shares[rows]
        # Shifted by the row's maximum, so that no exponential overflows.
        np.subtract(scores[rows], row_max(scores[rows])[:, None], out=odds)
        np.exp(odds, out=odds)
        total = np.einsum("ta->t", odds if sizes is None else odds * sizes[rows])
        odds /= total[:, None]
    return shares


def entropy(posterior: Floats) -> float:
    """Return the sum of the rows' entropies, in nats."""
    return float(row_entropies(posterior).sum())


def row_entropies(posterior: Floats, sizes: Floats | None = None) -> Floats:
    """Return the entropy of each row, in nats; for `sizes` see `vote_shares`."""
    each = np.empty(len(posterior))
    for rows in row_blocks(posterior):
        flat = np.maximum(posterior[rows], 1e-300)  # 0 ln 0 = 0
        np.log(flat, out=flat)
        # Not a product of vectors: its threads cost more than they save, on arrays of this size.
        flat *= posterior[rows]
        if sizes is not None:
            flat *= sizes[rows]
        each[rows] = -np.einsum("ta->t", flat)
    return each


def entropies(block: VoteBlock, posterior: Posterior, of_worker: Codes, count: int) -> Floats:
    """Return the summed entropy of the tasks of each of `count` components of workers."""
    votes, shares = block.sorted_votes, posterior.shares
    each = row_entropies(shares, block.sizes)
    answered = np.flatnonzero(~votes.undecided())
    # All voters of a task are of one component, so the first one tells.
    # Row `task * n_options + option` of the matrix holds the votes for that option.
    first = votes.matrix.indices[votes.matrix.indptr[:: votes.n_options][answered]]
    group = of_worker[first if block.workers is None else block.workers[first]]
    return np.bincount(group, each[answered], count).astype(np.float64)


def largest_change(new: Floats, old: Floats) -> float:
    """Return the largest absolute difference of two arrays; 0 of empty ones."""
    most = 0.0
    for rows in row_blocks(new):
        off = new[rows] - old[rows]  # two passes are faster than one more array of magnitudes
        most = max(most, float(off.max()), -float(off.min()))
    return most
