"""Advice on workers, with the evidence for it: below chance, constant, copying, drifting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from masquerade.answers import Claims
from masquerade.exact.arrays import Floats, Integers
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.collection.fitted_crowd import FittedCrowd
from masquerade.truth.confusions import LEAST
from masquerade.truth.estimator import check_proper_share
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.report_mechanisms import AnyMechanism, Masks, ReportMechanisms, mechanisms_of

_LEAST_CONSTANT = 5  # answers
_LEAST_CHANCE = 10
_LEAST_SHARED = 8
_LEAST_DRIFTING = 20
_LEAST_ERRORS = 3  # common answers against the others', below which no pair is looked at
_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Advice:
    """What is odd about a worker, and how improbable that would be by chance."""

    worker: int
    code: str
    evidence: str
    p_value: float  # for all workers, or pairs, together
    other: int | None = None


def worker_advice(
    fit: CategoricalEstimator, *, mechanism: AnyMechanism = None, significance: float = 0.01
) -> pa.Table:
    """Return whose answers are odd, and the evidence; what to do is for people to decide.

    Workers are compared with what the others say of the same tasks. ``BELOW_CHANCE``: a worker of
    ten answers or more agrees less than answers that have nothing to do with the tasks would.
    ``CONSTANT``: five answers or more are all the same where the crowd's would not be. ``COPYING``:
    of the tasks that two workers share, eight or more, they give the same report on more than
    their own accuracies explain, and at least three of these against the others. Which of them
    copied is not known. ``DRIFTING``: the first and the second half of twenty answers or more, in
    the order of the rows, agree differently with the others.

    Parameters
    ----------
    fit : CategoricalEstimator
        Fitted, of any method.
    mechanism : CategoricalMechanism or ReportMechanisms, optional
        What masked the claims, as it was given to `fit`. Behind a mask the advice is of reports,
        and it takes more of them.
    significance : float
        Above 0 and below 1: how probable one such remark on honest, independent workers may be, in
        all.

    Returns
    -------
    pyarrow.Table
        ``worker``, ``advice``, ``evidence``, ``p_value`` (for all workers together), ``other`` (the
        other worker of a pair, as text).

    Notes
    -----
    p values are from Bernstein's and Hoeffding's inequalities, times the number of workers or of
    pairs: upper bounds, if the others' confusions are what they were fitted as.

    **Cost**: linear in claims times options, and in pairs of workers who share tasks.

    Examples
    --------
    >>> from masquerade.truth import OneCoin
    >>> table = {"task": list(range(60)) * 4, "worker": [w for w in "abcz" for _ in range(60)],
    ...          "label": [t % 2 for t in range(60)] * 3 + [1 - t % 2 for t in range(60)]}
    >>> advice = worker_advice(OneCoin().fit(table))
    >>> [(row["worker"], row["advice"]) for row in advice.to_pylist()]
    [('z', 'BELOW_CHANCE')]
    """
    check_proper_share(significance=significance)
    claims, masks = fit.claims_, mechanisms_of(fit.claims_, mechanism)
    crowd = FittedCrowd.judged(claims, fit.solution_.posteriors, masks)
    return advice_table(claims, advice_on(claims, crowd, masks, significance))


def advice_on(
    claims: Claims, crowd: FittedCrowd, masks: Masks, significance: float
) -> list[Advice]:
    """Return the advice on workers of claims, the most certain first."""
    place = masks.of_claim if isinstance(masks, ReportMechanisms) else np.zeros(len(claims), int)
    rows = ~claims.unanswered()
    reports = _Reports.of(claims.among(rows), place[rows], crowd)
    found = [
        one
        for kind in (_below_chance, _constant, _copying, _drifting)
        for one in kind(reports)
        if one.p_value < significance
    ]
    return sorted(found, key=lambda one: (one.p_value, one.worker, one.code))


def advice_table(claims: Claims, found: list[Advice]) -> pa.Table:
    """Return advice as a table with the names of workers."""
    others = [None if one.other is None else claims.workers[one.other].as_py() for one in found]
    return pa.table(
        {
            "worker": claims.workers.take(pa.array([one.worker for one in found], pa.int64())),
            "advice": pa.array([one.code for one in found], pa.string()),
            "evidence": pa.array([one.evidence for one in found], pa.string()),
            "p_value": pa.array([one.p_value for one in found], pa.float64()),
            "other": pa.array([None if o is None else str(o) for o in others], pa.string()),
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Reports:
    """Reports with what is known of each from the others' on the same task."""

    claims: Claims
    row: Integers  # row of each report among `tables`
    tables: Floats  # confusions of workers behind mechanisms, ``[row, truth, label]``
    crowd: Floats  # the crowd's confusion of each report, ``[report, truth, label]`` by `place`
    place: Integers
    scores: Floats  # log posteriors of tasks, up to a constant, ``[task, truth]``
    others: Floats  # posterior of each report's task without the report, ``[report, truth]``

    @classmethod
    def of(cls, claims: Claims, place: Any, crowd: FittedCrowd) -> _Reports:
        source = claims.worker * np.int64(len(crowd.crowd)) + place
        present, inverse = np.unique(source, return_inverse=True)
        row = inverse.astype(np.int64)
        worker, mechanism = np.divmod(present, len(crowd.crowd))
        tables = crowd.confusions_of(claims.workers.take(pa.array(worker)), mechanism)
        log = np.log(np.maximum(tables, LEAST))[row, :, claims.value]
        scores = np.tile(np.log(np.maximum(crowd.truth_share, LEAST)), (claims.n_tasks, 1))
        np.add.at(scores, claims.task, log)
        others = row_softmax(scores[claims.task] - log)
        return cls(
            claims, row, tables, crowd.crowd, np.asarray(place, dtype=np.int64), scores, others
        )

    def by_worker(self, figure: Floats) -> Floats:
        """Return each worker's sum of a figure of reports."""
        return np.bincount(self.claims.worker, figure, self.claims.n_workers).astype(np.float64)

    @property
    def agreement(self) -> Floats:
        """How probable the label of each report is the truth, by the others."""
        return np.asarray(self.others[np.arange(len(self.row)), self.claims.value])


def _bernstein(distance: Floats, variance: Floats) -> Floats:
    """Return a bound of the probability that a sum of terms within 1 is so far from its mean."""
    far = np.maximum(distance, 0)
    return np.asarray(np.exp(-(far**2) / (2 * (variance + far / 3) + 1e-12)))


def _below_chance(reports: _Reports) -> Iterator[Advice]:
    claims, s = reports.claims, reports.claims.n_options
    answers = reports.by_worker(np.ones(len(claims)))
    # What a worker with these habits, but blind to tasks, would agree: habits smoothed by one.
    habit = np.zeros((claims.n_workers, s))
    np.add.at(habit, (claims.worker, claims.value), 1.0)
    pooled = habit.sum(axis=0) / habit.sum()
    habit = (habit + pooled) / (answers + 1)[:, None]
    chance = habit[claims.worker]
    mean = (chance * reports.others).sum(axis=1)
    spread = (chance * reports.others**2).sum(axis=1) - mean**2
    agreed, expected = reports.by_worker(reports.agreement), reports.by_worker(mean)
    p = _bernstein(expected - agreed, reports.by_worker(spread)) * claims.n_workers
    for worker in np.flatnonzero((answers >= _LEAST_CHANCE) & (agreed < expected)):
        n = int(answers[worker])
        text = (
            f"agrees with the others on {agreed[worker]:.1f} of {n} tasks, by chance it would be "
            f"{expected[worker]:.1f}"
        )
        yield Advice(int(worker), "BELOW_CHANCE", text, min(float(p[worker]), 1.0))


def _constant(reports: _Reports) -> Iterator[Advice]:
    claims, s = reports.claims, reports.claims.n_options
    counts = np.zeros((claims.n_workers, s))
    np.add.at(counts, (claims.worker, claims.value), 1.0)
    answers = counts.sum(axis=1)
    # P(the crowd would have given this report), over all reports of a worker
    column = reports.crowd[reports.place, :, claims.value]
    each = np.log(np.maximum((reports.others * column).sum(axis=1), 1e-300))
    log_p = reports.by_worker(each)
    same = (counts.max(axis=1) == answers) & (answers >= _LEAST_CONSTANT)
    for worker in np.flatnonzero(same):
        p = float(np.exp(min(log_p[worker] + np.log(claims.n_workers * s), 0.0)))
        assert claims.options is not None
        label = claims.options[int(counts[worker].argmax())].as_py()
        text = f"all {int(answers[worker])} answers are {label!r}"
        yield Advice(int(worker), "CONSTANT", text, p)


def _copying(reports: _Reports) -> Iterator[Advice]:
    claims, s = reports.claims, reports.claims.n_options
    shape = (claims.n_tasks * s, claims.n_workers)
    cell = claims.task.astype(np.int64) * s + claims.value
    odd = reports.others.argmax(axis=1) != claims.value
    # errors[cell of task and label, worker]: answers against what the others say
    errors = sparse.csr_array((np.ones(odd.sum()), (cell[odd], claims.worker[odd])), shape=shape)
    common = sparse.triu(errors.T @ errors, k=1).tocoo()
    chosen = np.flatnonzero(common.data >= _LEAST_ERRORS)
    chosen = chosen[np.argsort(-common.data[chosen], kind="stable")][:_MOST_PAIRS]
    if not len(chosen):
        return
    # Pairs with enough tasks in common: each is a test, and the probability is for all together.
    by_task = sparse.csr_array(
        (np.ones(len(claims)), (claims.task, claims.worker)), shape=(claims.n_tasks, shape[1])
    )
    shared = sparse.triu(by_task.T @ by_task, k=1).tocoo()
    pairs = int((shared.data >= _LEAST_SHARED).sum())
    # Reports of a worker are a run in this order, by task.
    order = np.lexsort((claims.task, claims.worker))
    ends = np.searchsorted(claims.worker[order], np.arange(claims.n_workers + 1))
    for one, other in zip(common.row[chosen], common.col[chosen], strict=True):
        mine, theirs = (order[ends[w] : ends[w + 1]] for w in (one, other))
        _, i, j = np.intersect1d(claims.task[mine], claims.task[theirs], return_indices=True)
        if len(i) < _LEAST_SHARED:
            continue
        a, b = mine[i], theirs[j]
        p = min(_same_by_chance(reports, a.astype(np.int64), b.astype(np.int64)) * pairs, 1.0)
        same = int((claims.value[a] == claims.value[b]).sum())
        text = (
            f"the same report as {claims.workers[int(other)].as_py()!r} on {same} of {len(a)} "
            "shared tasks"
        )
        yield Advice(int(one), "COPYING", text, p, int(other))


def _same_by_chance(reports: _Reports, a: Integers, b: Integers) -> float:
    """Return a bound of how probable so many equal reports of two independent workers are."""
    first, second = reports.tables[reports.row[a]], reports.tables[reports.row[b]]
    value = reports.claims.value
    n = np.arange(len(a))
    log = np.log(np.maximum(first[n, :, value[a]], LEAST)) + np.log(
        np.maximum(second[n, :, value[b]], LEAST)
    )
    # Posterior of each task without the reports of either.
    others = row_softmax(reports.scores[reports.claims.task[a]] - log)
    # P(same) = sum over truths of P(truth) sum over labels of P1(label | truth) P2(label | truth)
    mean = float(np.einsum("nt,ntl,ntl->n", others, first, second).mean())
    share = float((value[a] == value[b]).mean())
    if share <= mean:
        return 1.0
    # Hoeffding (1963), theorem 1: exp(-n KL(share, mean)) for terms of different probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (1 - share) * np.log((1 - share) / (1 - mean)) if share < 1 else 0.0
    return float(np.exp(-len(a) * (share * np.log(share / mean) + rest)))


def _drifting(reports: _Reports) -> Iterator[Advice]:
    claims = reports.claims
    answers = np.bincount(claims.worker, minlength=claims.n_workers)
    order = np.argsort(claims.worker, kind="stable")
    start = np.cumsum(answers) - answers
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(start, answers)
    # The second half of each worker's answers, in the order of the rows
    late = rank >= answers[claims.worker] // 2
    # Expected agreement by the worker's own confusions: tasks of the halves may differ.
    label = np.einsum("nt,ntl->nl", reports.others, reports.tables[reports.row])
    mean = (label * reports.others).sum(axis=1)
    spread = (label * reports.others**2).sum(axis=1) - mean**2
    off = reports.agreement - mean
    size = np.where(late, answers[claims.worker] - answers[claims.worker] // 2, 0) + np.where(
        late, 0, answers[claims.worker] // 2
    )
    sign = np.where(late, 1.0, -1.0)
    moved = reports.by_worker(sign * off / np.maximum(size, 1))  # late mean less early mean
    # Each term is at most 1 / half: scaled so that terms are within 1.
    half = np.maximum(answers // 2, 1)
    variance = reports.by_worker(spread / np.maximum(size, 1) ** 2) * half**2
    # Two sides, and all workers together (Bonferroni).
    p = 2 * claims.n_workers * _bernstein(np.abs(moved) * half, variance)
    agreed = [reports.by_worker(reports.agreement * part) for part in (~late, late)]
    for worker in np.flatnonzero((answers >= _LEAST_DRIFTING) & (p < 1)):
        n, first = int(answers[worker]), int(answers[worker] // 2)
        early, later = agreed[0][worker] / first, agreed[1][worker] / (n - first)
        text = f"agreed with the others on {early:.0%} of earlier and {later:.0%} of later answers"
        yield Advice(int(worker), "DRIFTING", text, float(p[worker]))
