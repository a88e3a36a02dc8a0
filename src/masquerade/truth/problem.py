"""The input of a method for categories, and its solution, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Progress, Truths
from masquerade.errors import UnknownLabel
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.channel_view import Levels
from masquerade.truth.diagnostics import Components, Remark, components
from masquerade.truth.expectation_maximization import (
    ClaimBlocks,
    Crowd,
    FixedPoint,
    InMemory,
    Model,
    VoteBlock,
    fit_blocks,
)
from masquerade.truth.label_slots import LabelSlots
from masquerade.truth.report_mechanisms import Sources
from masquerade.truth.samples import Split, TaskSample, UnseenClaims
from masquerade.truth.ties import uniform_by_claim
from masquerade.truth.votes import UnsortedVotes, Votes

#: Known truths of some tasks. `Truths`, a table with columns ``task`` and ``truth``, a pandas
#: series, or a dict by task.
Gold = Any


def gold_codes(gold: Gold | None, claims: Claims) -> Codes:
    """Return the known truth of each task as a code, shape (n_tasks,); -1 where unknown."""
    if gold is None:
        return np.full(claims.n_tasks, -1, dtype=np.int32)
    codes = Truths.of(gold).codes(claims)
    strange = np.flatnonzero(codes == -2)
    if len(strange):
        assert claims.options is not None
        raise UnknownLabel(
            f"gold: the truth of task {claims.tasks[int(strange[0])].as_py()!r} is none of the "
            f"{claims.n_options} options {claims.options.to_pylist()[:10]}; correct it, or declare "
            "all options when reading the claims."
        )
    return codes


@dataclass(frozen=True, eq=False)
class Problem(ClaimBlocks):
    """Input of a method for categories: claims in memory, one block."""

    claims: Claims
    mechanism: CategoricalMechanism | None  # what masked the claims
    gold: Codes  # int32 array, shape (n_tasks,). Known truths as codes; -1 where unknown.
    progress: Progress | None = None
    levels: Levels | None = None  # in place of `mechanism` where workers went through several
    unseen: Claims | None = None  # held-out claims of the same tasks and workers
    # Name of the worker behind each of the workers of `claims`, where these went through several
    # mechanisms and each with one of them stands by itself.
    behind: pa.Array | None = None
    # Places of labels, where `claims` and `gold` have these in place of labels.
    slots: LabelSlots | None = None

    @property
    def sizes(self) -> Floats | None:
        """See `VoteBlock.sizes`."""
        return None if self.slots is None else self.slots.sizes

    @property
    def people(self) -> pa.Array:
        """The name of each worker, shape (n_workers,); the same name more than once of sources."""
        return self.claims.workers if self.behind is None else self.behind

    @property
    def options(self) -> pa.Array:
        """The labels that can be given."""
        assert self.claims.options is not None
        return self.claims.options

    @property
    def has_sources(self) -> bool:
        """See `ClaimBlocks.has_sources`."""
        return self.behind is not None

    @property
    def has_known(self) -> bool:
        """See `ClaimBlocks.has_known`."""
        return bool((self.gold >= 0).any())

    def fold(self, job: Any, *arguments: Any) -> Any:
        """See `ClaimBlocks.fold`."""
        return job(self.block, *arguments)

    def without(self, split: Split) -> Problem:
        """See `ClaimBlocks.without`."""
        claims = self.answered
        of_task = np.bincount(claims.task, minlength=claims.n_tasks)
        rows = split.held_out(uniform_by_claim(claims, 0), of_task[claims.task])
        kept, unseen = claims.among(~rows), claims.among(rows)
        return replace(self, claims=kept, unseen=unseen, progress=None)

    def sample(self, sample: TaskSample) -> Problem | None:
        """See `ClaimBlocks.sample`."""
        if sample.is_whole:
            return self
        claims = self.answered
        chosen = sample.tasks(claims.tasks)
        rows = chosen[claims.task]
        if not sample.fits(int(np.count_nonzero(rows))):
            return None
        place = np.cumsum(chosen) - 1  # of a task among those chosen
        part = replace(
            claims.among(rows),
            task=place[claims.task[rows]].astype(np.int32),
            tasks=claims.tasks.filter(pa.array(chosen)),
        )
        return replace(self, claims=part, gold=self.gold[chosen], progress=None)

    @cached_property
    def answered(self) -> Claims:
        """The claims that are not "no answer"."""
        return self.claims.answered()

    @cached_property
    def unsorted_votes(self) -> UnsortedVotes:
        """The votes as they were cast."""
        return UnsortedVotes(self.answered)

    @cached_property
    def votes(self) -> Votes:
        """The votes by worker."""
        return Votes.of(self.answered)

    @cached_property
    def block(self) -> VoteBlock:
        """All tasks as one block, for methods that iterate."""
        rows = self.unseen
        unseen = None if rows is None else UnseenClaims(rows.task, rows.worker, rows.value)
        return VoteBlock(self.votes, self.gold, unseen=unseen, sizes=self.sizes)

    @property
    def unsorted_block(self) -> VoteBlock:
        """All tasks as one block, for methods of one pass."""
        return VoteBlock(self.unsorted_votes, self.gold, sizes=self.sizes)

    @cached_property
    def crowd(self) -> Crowd:
        """See `ClaimBlocks.crowd`."""
        null_share = float(np.mean(self.claims.unanswered())) if self.claims.null else 0.0
        return Crowd(
            self.claims.n_options if self.slots is None else self.slots.n_options,
            self.unsorted_votes.of_worker,
            null_share,
            self.mechanism,
            self.find_components,
            self.levels,
        )

    @cached_property
    def find_components(self) -> Callable[[], Components]:
        """Returns the groups of workers and tasks that share no answer; searched at most once."""
        # Not of `self`, which keeps the crowd that has this: a circle of references, and claims
        # and votes would stay in memory until garbage is collected.
        claims = self.claims
        return cache(lambda: components(claims))

    def anchored(self, shares: Floats) -> Floats:
        """Return `shares` with 1 for each known truth."""
        return self.unsorted_block.anchored(shares)

    def blocks(self, model: Model, block: VoteBlock | None = None) -> InMemory:
        """Return the tasks as one block."""
        return InMemory(model, block or self.block, self.crowd)

    def fit(self, model: Model, block: VoteBlock | None = None) -> FixedPoint:
        """Iterate a model to its fixed point, all tasks in one block."""
        model.begin(self)
        return fit_blocks(model, self.blocks(model, block), self.progress)

    def solution(self, model: Model, result: FixedPoint) -> Solution:
        """Return a fixed point of a model as a solution, without a method's own figures."""
        assert result.posterior is not None
        reliability, weight = model.reliability_and_weight(result.parameters)
        return Solution(
            scores=result.posterior.scores,
            posteriors=self.anchored(model.vote_shares(result.posterior, self.sizes)),
            reliability=reliability,
            weight=weight,
            converged=result.converged,
            iterations=result.iterations,
            orientation_ambiguous=self.crowd.orientation_ambiguous,
            losses=result.objectives,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Result of a method for categories."""

    # scores, posteriors: float array, shape (n_tasks, n_options). The highest score wins; rows of
    # `posteriors` sum to 1.
    scores: Floats
    posteriors: Floats
    # reliability, weight: float array, shape (n_workers,). Estimated accuracy of a worker, 0 to 1,
    # and what the worker's votes count.
    reliability: Floats
    weight: Floats
    converged: bool
    iterations: int
    orientation_ambiguous: bool
    # float array, shape (n_workers,), or None. Standard deviation of the reliability, where the
    # method knows it.
    reliability_error: Floats | None = None
    # float array, shape (n_workers, n_options, n_options), or None. ``confusion[worker, truth,
    # label]``, of methods that have it.
    confusion: Floats | None = None
    # float array, shape (n_options,), or None. How often each truth holds, of methods that have it.
    priors: Floats | None = None
    # truth_shares, truth_share_errors: float array, shape (n_options,), or None. How often each
    # truth holds, with standard deviation, of methods that know more of it than `posteriors` tells.
    truth_shares: Floats | None = None
    truth_share_errors: Floats | None = None
    # Lower bound of the log probability of all reports, of methods that have it.
    log_evidence: float | None = None
    losses: tuple[float, ...] = ()  # what was optimized, after every iteration, for each claim
    remarks: tuple[Remark, ...] = ()
    # float array, shape (n_options, n_options), or None. ``expected[given label, truth]``: see
    # `given_and_expected`; of methods whose posteriors are not those to expect truths by.
    expected: Floats | None = None
    extra: dict[str, Floats] | None = None  # parameters of a method's own, by name

    def by_worker(self, sources: Sources, answers: Floats, n_workers: int) -> Solution:
        """Return the solution with workers in place of their sources.

        A worker's reliability is the mean over the worker's sources, by precision where the method
        knows it, else by answers; everything else is the mean by answers.
        """

        def mean(figure: Floats, weight: Floats) -> Floats:
            return sources.mean(figure, weight, n_workers)

        count, error = sources.precision(None, answers), self.reliability_error
        precision = sources.precision(error, answers)
        extra = self.extra
        if extra is not None:
            n = len(sources.worker_of)
            extra = {k: mean(v, count) if len(v) == n else v for k, v in extra.items()}
        if error is not None:
            # independent estimates: precisions add up
            error = 1 / np.sqrt(sources.total(precision, n_workers))
        confusion = self.confusion
        return replace(
            self,
            reliability=mean(self.reliability, precision),
            reliability_error=error,
            weight=mean(self.weight, count),
            confusion=None if confusion is None else mean(confusion, count),
            extra=extra,
        )
