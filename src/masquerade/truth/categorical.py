"""Base of the methods for categories: fit, predict, and the tables of a solution."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame, Progress, like_frame
from masquerade.answers.frames import is_pandas
from masquerade.errors import NotFitted, ParameterError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.truth.block_solution import BlockSolution
from masquerade.truth.diagnostics import Remark, components, remarks_on
from masquerade.truth.estimator import (
    NOT_FITTED,
    Estimator,
    Kind,
    as_series,
    option_columns,
    probabilities_like,
    require_no_targets,
)
from masquerade.truth.expectation_maximization import ClaimBlocks
from masquerade.truth.label_slots import LabelSlots, require_room
from masquerade.truth.problem import Gold, Problem, Solution, gold_codes
from masquerade.truth.rare_labels import given_and_expected, low_rates, rare_table
from masquerade.truth.report_mechanisms import (
    AnyMechanism,
    Masks,
    Sources,
    label_mechanism,
    mechanisms_of,
)
from masquerade.truth.ties import Ties, chances, check_ties, known_winners, pick, winners


@dataclass(eq=False, kw_only=True)
class CategoricalEstimator(Estimator):
    """Base of the methods for categories.

    Parameters
    ----------
    ties : {"random", "first", "abstain"}
        Which label a task gets whose best score is shared by several options: one at random, the
        first in the order of the options, or none.
    seed : int
        Fixes the random choice among tied options; nothing else is random.

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> isinstance(MajorityVote(), CategoricalEstimator)
    True
    """

    kind: ClassVar[Kind] = "categorical"
    #: Whether claims may be in partitions, streamed or on a cluster: `solve_blocks` is there.
    streams: ClassVar[bool] = False
    #: Whether ``posteriors_`` are probabilities, and not shares of votes.
    gives_probabilities: ClassVar[bool] = True
    #: Whether labels differ that nobody gave a task. If not, tables have places only for those
    #: given and for all others (`LabelSlots`), where there are very many labels.
    weighs_all_options: ClassVar[bool] = True
    #: Tables of workers by labels squared that the method needs whatever their number.
    confusions: ClassVar[int] = 0

    ties: Ties = "random"
    seed: int = 0
    _results: Fitted | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_ties(self.ties, self.seed)

    def fit(
        self,
        data: Claims | Frame,
        y: None = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from claims, masked or not, and return the estimator.

        Parameters
        ----------
        data : Claims, or pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``label``; see `Claims.from_frame`.
        y : None
            There for scikit-learn's pipelines: nothing is learnt from targets.
        mechanism : CategoricalMechanism, mapping of str to such, or ReportMechanisms, optional
            The mechanism that masked the claims. Of reports that went through several: the
            mechanism of each level, named in the table's column ``level``; or `ReportMechanisms`.
            By default the table's column ``mechanism`` of text forms, where it has one.
        gold : Truths, table with ``task`` and ``truth``, pandas series or dict, optional
            Truths that are known of some tasks. They are kept as they are, and workers are judged
            by them. Tasks without claims are passed over.
        progress : callable, optional
            Called after every iteration with its number and the most there can be.

        Raises
        ------
        InputError
            A row cannot be used, or a gold label is none of the options; the message names it.
        ParameterError
            The claims are of another kind, or not of the mechanism's domain.
        """
        require_no_targets(y)
        masks = mechanisms_of(data, mechanism)
        claims = self._as_claims(data, masks)
        if masks is not None:
            masks.check(claims)
        known = gold_codes(gold, claims)
        slots = self._slots(claims, masks, known)
        if slots is None:
            require_room(self.name, claims, self.confusions)
        problem, sources = problem_of(claims, masks, known, progress, slots)
        solution, answers = self.solve(problem), problem.unsorted_votes.of_worker
        if sources is not None:
            solution = solution.by_worker(sources, answers, claims.n_workers)
            answers = sources.total(answers, claims.n_workers)
        undecided = problem.unsorted_votes.undecided()
        # The sorted votes are let go: they take more memory than all results.
        if self.gives_probabilities and solution.expected is None and slots is None:
            shares = solution.posteriors
            solution = replace(solution, expected=given_and_expected(shares, shares, ~undecided))
        self._results = Fitted(
            claims, masks, known, undecided, answers, solution, self.ties, self.seed, slots
        )
        return self

    def _slots(self, claims: Claims, masks: Masks, known: Codes) -> LabelSlots | None:
        """Return places of labels where tasks by labels are too many and the places are few."""
        n, s = claims.n_tasks, claims.n_options
        one_mask = masks is None or len(masks.distinct().mechanisms) == 1
        if n * s <= _MANY_CELLS or not one_mask or self.compares_options(claims.n_workers, s):
            return None
        slots = LabelSlots.of(claims, known)
        return slots if 2 * slots.n_places <= s else None

    def compares_options(self, n_workers: int, n_options: int) -> bool:
        """Return whether labels that nobody gave a task may differ, with so many workers, labels.

        See `weighs_all_options`.
        """
        return self.weighs_all_options

    def fit_predict(
        self,
        data: Claims | Frame,
        y: None = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Frame:
        """Learn from claims and return each task's label; see `Estimator.fit_predict` and `fit`."""
        fit = self.fit(data, y, mechanism=mechanism, gold=gold, progress=progress)
        return as_series(fit.truths_, data) if is_pandas(data) else like_frame(fit.truths_, data)

    def fit_predict_proba(
        self,
        data: Claims | Frame,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Frame:
        """Learn from claims and return each task's posteriors, in the kind of `data`.

        Returns
        -------
        pandas.DataFrame, or table of the kind of `data`
            For a pandas table exactly crowd-kit's frame: the sorted tasks as index, a column a
            label. Otherwise ``posteriors_``. See `fit`.
        """
        fit = self.fit(data, mechanism=mechanism, gold=gold, progress=progress)
        table, options = fit.posteriors_, fit.claims_.options
        if is_pandas(data):
            return probabilities_like(table, data, options)
        return like_frame(table, data)

    def solve_blocks(self, claims: ClaimBlocks) -> BlockSolution:
        """Solve claims in blocks, in partitions for instance; of methods that stream.

        Raises
        ------
        ParameterError
            The method works in memory only.
        """
        raise ParameterError(
            f"{self.name} does not work over partitions; fit in memory, or choose another method."
        )

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """Solve the problem of checked claims, as arrays."""

    def unfitted(self) -> Self:
        """Return a copy that has learnt nothing: small enough to be sent around."""
        method = copy(self)
        method._results = None
        return method

    def problem_again(self) -> tuple[Problem, Sources | None]:
        """Return the problem that was fitted, for later questions to a fit; see `problem_of`.

        It is not kept: sorted votes take more memory than all results.
        """
        fitted = self.fitted
        fitted.require_tables()
        return problem_of(fitted.claims, fitted.masks, fitted.gold)

    @property
    def fitted(self) -> Fitted:
        """The solution with its claims, in the form of its tables."""
        if self._results is None:
            raise NotFitted(f"{type(self).__name__} {NOT_FITTED}")
        return self._results

    @property
    def claims_(self) -> Claims:
        """The claims that were fitted."""
        return self.fitted.claims

    @property
    def truths_(self) -> pa.Table:
        """The labels found: ``task``, ``label``; null for a task without any answer."""
        claims, labels = self.claims_, self.fitted.labels
        assert claims.options is not None
        # -1 has to be null: `take` would count it as an index.
        codes = pa.array(labels, mask=labels < 0)
        return pa.table({"task": claims.tasks, "label": claims.options.take(codes)})

    def _truth_table(self) -> pa.Table:
        fitted = self.fitted
        sure = np.where(fitted.labels < 0, np.nan, fitted.of_label(fitted.solution.posteriors))
        return self.truths_.append_column("posterior", pa.array(sure, from_pandas=True))

    @property
    def posteriors_(self) -> pa.Table:
        """``task``, then one column per option; each row sums to 1.

        From `MajorityVote`, `WeightedVote` and `TruthDiscovery` they are shares of the (weighted)
        votes, which order options and measure agreement but are not calibrated; from the others
        they are probabilities. A label that is called ``task`` has the column ``label task``.
        """
        claims = self.claims_
        assert claims.options is not None
        columns = [claims.tasks, *map(pa.array, self.solution_.posteriors.T)]
        names = ["task", *option_columns(claims.options, "task")]
        return pa.Table.from_arrays(columns, names=names)

    @property
    def reliability_(self) -> pa.Table:
        """``worker``, ``claims`` (answers counted), ``reliability`` (0 to 1), ``weight``.

        The reliability is the estimated probability that the worker's report is the truth; from
        methods that know the mask, that the worker's answer is. A worker with 0 claims has the
        prior's.
        """
        fitted = self.fitted
        return pa.table(
            {
                "worker": fitted.claims.workers,
                "claims": fitted.of_worker.astype(np.int64),
                "reliability": fitted.solution.reliability,
                "weight": fitted.solution.weight,
            }
        )

    @property
    def solution_(self) -> Solution:
        """The solution, as arrays in the order of ``claims_``.

        Raises
        ------
        ParameterError
            There are so many labels that no table of tasks by labels was made.
        """
        self.fitted.require_tables()
        return self.fitted.solution

    @property
    def scores_(self) -> Floats:
        """Scores that decide, ``scores_[task, option]``, in the order of ``claims_``."""
        return self.solution_.scores

    @property
    def labels_(self) -> Any:
        """Each task's label as a code in ``claims_.options``, shape (n_tasks,); -1 for none."""
        return self.fitted.labels

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """Limits of the result that a reader should know: see `Remark`; ``PRIOR_ONLY`` is first."""
        return self.fitted.remarks

    @property
    def chances_(self) -> Floats:
        """Probability that the tie rule gives each label, ``chances_[task, option]``.

        1 for the winner; 1/r where r options tie and ``ties="random"``; a row of zeros where no
        label is given.
        """
        self.fitted.require_tables()
        return self.fitted.chances

    @property
    def unanswered_(self) -> pa.Array:
        """Tasks that nobody answered (all reports are "no answer")."""
        fitted = self.fitted
        return fitted.claims.tasks.take(pa.array(np.flatnonzero(fitted.undecided)))

    @property
    def rare_labels_(self) -> pa.Table:
        """Labels of less than 5 % of tasks: ``label, share, given, precision, recall``.

        All are expected by the model of workers; empty for methods without probabilities.
        """
        options = self.claims_.options
        assert options is not None
        return rare_table(options, self.fitted.solution.expected)

    @property
    def components_(self) -> int:
        """Number of groups of workers and tasks that share no answer with one another."""
        return self.fitted.components

    @property
    def orientation_ambiguous_(self) -> bool:
        """Whether labels are known only up to swapping all of them (of a component).

        So with two options and a mask such as a flip probability drawn from U(0, 1).
        """
        return self.fitted.solution.orientation_ambiguous

    @property
    def converged_(self) -> bool:
        """Whether the result stopped changing before the last iteration allowed."""
        return self.fitted.solution.converged

    @property
    def iterations_(self) -> int:
        """Number of iterations done."""
        return self.fitted.solution.iterations


#: Tasks times options, from which on tables have `LabelSlots` where the method allows it.
_MANY_CELLS = 20_000_000


def problem_of(
    claims: Claims,
    masks: Masks,
    known: Codes,
    progress: Progress | None = None,
    slots: LabelSlots | None = None,
) -> tuple[Problem, Sources | None]:
    """Return checked claims as a problem, and its sources' workers where masks differ."""
    mechanisms = () if masks is None else masks.distinct().mechanisms
    if masks is not None and len(mechanisms) > 1:
        split, sources = masks.sources(claims)
        behind = claims.workers.take(pa.array(sources.worker_of))
        return Problem(split, None, known, progress, sources.levels, behind=behind), sources
    mechanism = label_mechanism(mechanisms[0]) if mechanisms else None
    if slots is not None:
        claims, known = slots.of_claims(claims), slots.of_known(known)
    return Problem(claims, mechanism, known, progress, slots=slots), None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A solution with the claims it belongs to; tables are built when they are read."""

    claims: Claims
    masks: Masks
    gold: Codes
    undecided: Flags  # tasks without a vote
    of_worker: Floats  # votes of each worker
    solution: Solution
    ties: Ties
    seed: int
    slots: LabelSlots | None = None  # whose places the solution has in place of options

    def require_tables(self) -> None:
        """Raise where a table of tasks by options was not made."""
        if self.slots is not None:
            n, s = self.claims.n_tasks, self.claims.n_options
            raise ParameterError(
                f"{n:,} tasks times {s:,} options would be a table of {8 * n * s / 1e9:,.1f} GB, "
                "so figures were worked out for given labels alone; read truths_, result_.truths "
                "(with the posterior of each label) and reliability_."
            )

    @cached_property
    def components(self) -> int:
        """Number of connected components."""
        return components(self.claims).count

    @cached_property
    def winners(self) -> Flags:
        """Return which options share the best score."""
        gold = self.gold if self.slots is None else self.slots.of_known(self.gold)
        return known_winners(winners(self.solution.scores, self.undecided), gold)

    @property
    def chances(self) -> Floats:
        """Return the probability that the tie rule gives each label; by place, of each label."""
        sizes = None if self.slots is None else self.slots.sizes
        return chances(self.winners, ties=self.ties, sizes=sizes)

    def of_label(self, table: Floats, code: Codes | None = None) -> Floats:
        """Return a figure of one label of each task: of `code`, by default of the label found.

        ``table[task, option]``, or by place.
        """
        code, task = self.labels if code is None else code, np.arange(len(table))
        known = np.maximum(code, 0)
        place = known if self.slots is None else self.slots.place(task.astype(np.int32), known)
        return np.asarray(table[task, place])

    def right(self, code: Codes) -> Floats:
        """Return the chance that the label of each task is the one of this code."""
        if self.ties == "random":
            return self.of_label(self.chances, code) * (code >= 0)
        return np.asarray(((self.labels == code) & (code >= 0)).astype(np.float64))

    @property
    def sureness(self) -> Floats:
        """Return the posterior of each task's label, the mean over labels that may be picked."""
        if self.ties != "random":
            return self.of_label(self.solution.posteriors)
        sure = self.solution.posteriors * self.chances
        return np.asarray((sure if self.slots is None else sure * self.slots.sizes).sum(axis=1))

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Return the remarks of the method and on the claims."""
        solution = self.solution
        assert self.claims.options is not None
        remarks = (
            *solution.remarks,
            *low_rates(self.claims.options, solution.expected),
            *remarks_on(self.claims, self.components),
        )
        if not solution.converged:
            text = f"still changing after {solution.iterations} iterations"
            remarks = (*remarks, Remark("NOT_CONVERGED", text))
        if solution.orientation_ambiguous:
            text = "the mask hides which of the two labels is which"
            remarks = (*remarks, Remark("ORIENTATION", text))
        return remarks

    @cached_property
    def labels(self) -> Codes:
        """Return the code of each task's label, -1 for none."""
        if self.slots is not None:
            return self.slots.pick(self.winners, self.claims, ties=self.ties, seed=self.seed)
        return pick(self.winners, self.claims, ties=self.ties, seed=self.seed)
