"""Advice on workers, with the evidence: no better than chance, constant, copying, drifting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import stdtr

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.collection.fitted_crowd import FittedCrowd
from masquerade.truth.confusions import LEAST
from masquerade.truth.estimator import check_proper_share
from masquerade.truth.expectation_maximization import row_softmax
from masquerade.truth.report_mechanisms import AnyMechanism, Masks, mechanisms_of

_LEAST_CONSTANT = 5  # answers
_LEAST_CHANCE = 10
_LEAST_TESTED = 20  # reports of a worker whose knowledge is tested, and whose halves are compared
_HALF = 0.5  # share of the others' knowledge below which somebody is named
_NOTHING, _SOMETHING = 2.33, 3.0  # standard errors: no knowledge is shown; knowledge is
_MARGIN = 0.05  # of agreement, by which halves may differ
_LEAST_PAIRED = 5  # tasks on which two alone gave a label
_ALIKE = 5.0  # times as likely people who read a question alike are to err together
_CROWDED = 4  # reports of a task, from which on a label of two is nearly alone


@dataclass(frozen=True, slots=True)
class Advice:
    """An oddity of a worker, and its probability by chance."""

    worker: int
    code: str
    evidence: str
    p_value: float  # for all workers, or pairs, together
    other: int | None = None


def worker_advice(
    fit: CategoricalEstimator, *, mechanism: AnyMechanism = None, significance: float = 0.01
) -> pa.Table:
    """Return workers with odd answers, and the evidence; people decide on the consequence.

    Workers are compared with what the others say of the same tasks, whatever their labels are.

    - ``RANDOM``: a worker of twenty reports or more agrees with the others no more than chance.
      Somebody who knows at least half of what the others know of the same tasks is named with less
      than `significance`, in all.
    - ``BELOW_CHANCE``: a worker of ten or more agrees less than answers that have nothing to do
      with the tasks would.
    - ``CONSTANT``: five or more are all the same where the crowd's would not be.
    - ``COPYING``: of labels that only two of four or more people gave, and more gave another, two
      workers share many more than their errors and a like reading of questions explain. Which of
      them copied is not known; rings of three or more, and copies behind masks, are not found.
    - ``DRIFTING``: first and second half of twenty or more, in the order of the rows, differ
      in what the worker knows for each part that the others know of the same tasks, compared where
      the others say the same label. So neither a second half of harder tasks nor one of other
      labels is a drift.

    None of these says why: who reads a question in another way is not a spammer.

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
    A report shows ``k = q(label) - sum_l habit(l) q(l)`` of knowledge, with q the posterior of its
    task without it and habit the worker's shares of labels; o is the mean of k over the task's
    other workers' reports. ``RANDOM`` is Student's test of ``k - o / 2``, ``DRIFTING`` of
    ``k - lambda o`` in two halves, by the worker's habit and by the crowd's, lambda the worker's
    own ratio for each label that the others say; ``COPYING`` is a bound by Hoeffding (1963), with
    the chance of each pair five times that of their errors of the label; ``BELOW_CHANCE`` is
    Bernstein's. All are times the number of workers or pairs. Who would be of two pairs is of none.

    **Cost**: linear in claims times options.

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
    place = np.zeros(len(claims), np.int32) if masks is None else masks.distinct().place(claims)
    rows = ~claims.unanswered()
    reports = _Reports.of(claims.among(rows), place[rows], crowd)
    found = [
        one
        for kind in (_below_chance, _constant, _copying, _drifting)
        for one in kind(reports)
        if one.p_value < significance
    ]
    # Who is below chance, or always says the same, is named once, by the more particular.
    named = {one.worker for one in found if one.code in ("BELOW_CHANCE", "CONSTANT")}
    # Who shares labels with several is a reader among readers, or of a ring: nobody is named.
    pairs = Counter(x for one in found if one.other is not None for x in (one.worker, one.other))
    found = [
        one for one in found if one.other is None or pairs[one.worker] == pairs[one.other] == 1
    ]
    found += [
        one for one in _random(reports) if one.p_value < significance and one.worker not in named
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


@dataclass(frozen=True, eq=False)
class _Reports:
    """Reports, each with the evidence of the others' reports on the same task."""

    claims: Claims
    crowd: Floats  # the crowd's confusion of each report, ``[report, truth, label]`` by `place`
    place: Integers
    signal: Floats  # of each report's mechanism, 1 without
    # float array, shape (n_reports, n_options). Posterior of each report's task without the
    # worker's reports on it.
    others: Floats
    group: Integers  # number of the report's pair of task and worker

    @classmethod
    def of(cls, claims: Claims, place: Any, crowd: FittedCrowd) -> _Reports:
        source = claims.worker * np.int64(len(crowd.crowd)) + place
        present, inverse = np.unique(source, return_inverse=True)
        worker, mechanism = np.divmod(present, len(crowd.crowd))
        tables = crowd.confusions_of(claims.workers.take(pa.array(worker)), mechanism)
        log = np.log(np.maximum(tables, LEAST))[inverse, :, claims.value]
        scores = np.tile(np.log(np.maximum(crowd.truth_share, LEAST)), (claims.n_tasks, 1))
        np.add.at(scores, claims.task, log)
        # Without all reports of the same worker on the task, where there are several
        own = claims.task.astype(np.int64) * claims.n_workers + claims.worker
        groups, group = np.unique(own, return_inverse=True)
        logs = log
        if len(groups) < len(own):
            of_group = np.zeros((len(groups), log.shape[1]))
            np.add.at(of_group, group, log)
            logs = of_group[group]
        others = row_softmax(scores[claims.task] - logs)
        signals = np.array([float(one.signal) for one in crowd.mechanisms] or [1.0])
        place = np.asarray(place, dtype=np.int64)
        return cls(claims, crowd.crowd, place, signals[place], others, group)

    def by_worker(self, figure: Floats) -> Floats:
        """Return each worker's sum of a figure of reports."""
        return np.bincount(self.claims.worker, figure, self.claims.n_workers).astype(np.float64)

    @cached_property
    def scale(self) -> Floats:
        """The divisor of knowledge: the signal where mechanisms differ.

        Of reports of one mechanism, ratios count, and its signal is in all of them alike.
        """
        alike = bool((self.signal == self.signal[:1]).all())
        return np.ones(len(self.signal)) if alike else self.signal

    @property
    def agreement(self) -> Floats:
        """How probable the label of each report is the truth, by the others."""
        return np.asarray(self.others[np.arange(len(self.claims)), self.claims.value])

    @cached_property
    def counts(self) -> Floats:
        """Return how often each worker gave each label."""
        counts = np.zeros((self.claims.n_workers, self.claims.n_options))
        np.add.at(counts, (self.claims.worker, self.claims.value), 1.0)
        return counts

    @cached_property
    def by_chance(self) -> Floats:
        """Return the agreement of a label by the worker's habit alone, for each report."""
        habit = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        return np.asarray((habit[self.claims.worker] * self.others).sum(axis=1))

    def knowledge(self, by_chance: Floats) -> tuple[Floats, Floats, Flags]:
        """Return k of each report, the mean o of the task's others, and where there are any."""
        claims = self.claims
        k = (self.agreement - by_chance) / self.scale
        size = np.bincount(claims.task, minlength=claims.n_tasks)[claims.task]
        size = size - np.bincount(self.group)[self.group]
        total = np.bincount(claims.task, k, claims.n_tasks)[claims.task]
        total = total - np.bincount(self.group, k)[self.group]
        return k, total / np.maximum(size, 1), size > 0


def _bernstein(distance: Floats, variance: Floats) -> Floats:
    """Return a bound of the probability that a sum of terms within 1 is so far from its mean."""
    far = np.maximum(distance, 0)
    return np.asarray(np.exp(-(far**2) / (2 * (variance + far / 3) + 1e-12)))


def _below_chance(reports: _Reports) -> Iterator[Advice]:
    claims = reports.claims
    answers = reports.by_worker(np.ones(len(claims)))
    # What a worker with these habits, but blind to tasks, would agree: habits smoothed by one.
    habit = reports.counts
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
    counts = reports.counts
    answers = counts.sum(axis=1)
    # P(the crowd, or somebody who is always right, would have given this report), over all reports
    # of a worker: where nearly all truths are one label, the best give no other.
    column = reports.crowd[reports.place, :, claims.value]
    right = reports.signal * reports.agreement + (1 - reports.signal) / s
    each = np.log(np.maximum(np.maximum((reports.others * column).sum(axis=1), right), 1e-300))
    log_p = reports.by_worker(each)
    same = (counts.max(axis=1) == answers) & (answers >= _LEAST_CONSTANT)
    for worker in np.flatnonzero(same):
        p = float(np.exp(min(log_p[worker] + np.log(claims.n_workers * s), 0.0)))
        assert claims.options is not None
        label = claims.options[int(counts[worker].argmax())].as_py()
        text = f"all {int(answers[worker])} answers are {label!r}"
        yield Advice(int(worker), "CONSTANT", text, p)


def _t(total: Floats, squares: Floats, n: Floats) -> Floats:
    """Return means over their standard errors, a pseudo-square of 1 among the deviations."""
    mean = total / n
    spread = np.maximum(squares - n * mean**2, 0) + 1
    return np.asarray(mean / np.sqrt(spread / ((n - 1) * n)))


def _random(reports: _Reports) -> Iterator[Advice]:
    k, o, shared = reports.knowledge(reports.by_chance)
    n = reports.by_worker(shared.astype(np.float64))
    tested = n >= _LEAST_TESTED
    count = np.maximum(n, 2)

    def tests(figure: Floats) -> Floats:
        figure = np.where(shared, figure, 0)
        return _t(reports.by_worker(figure), reports.by_worker(figure**2), count)

    p = stdtr(count - 1, tests(k - _HALF * o)) * np.count_nonzero(tested)
    named = tested & (tests(k) < _NOTHING) & (tests(o) > _SOMETHING)
    parts = (reports.agreement, reports.by_chance, reports.by_chance + _HALF * o * reports.scale)
    agreed, chance, half = (reports.by_worker(np.where(shared, part, 0)) for part in parts)
    for worker in np.flatnonzero(named):
        text = (
            f"agrees with the others on {agreed[worker]:.1f} of {int(n[worker])} tasks; by chance "
            f"{chance[worker]:.1f}, half of what others reach {half[worker]:.1f}"
        )
        yield Advice(int(worker), "RANDOM", text, min(float(p[worker]), 1.0))


def _drifting(reports: _Reports) -> Iterator[Advice]:
    claims, pooled = reports.claims, reports.counts.sum(axis=0)
    answers = np.bincount(claims.worker, minlength=claims.n_workers)
    order = np.argsort(claims.worker, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(answers) - answers, answers)
    # The second half of each worker's answers, in the order of the rows
    late = rank >= answers[claims.worker] // 2
    crowds = reports.others @ (pooled / max(pooled.sum(), 1))
    # By each one's own habit, and by the crowd's: where labels come in an order, own habits differ
    # by task; where the crowd errs, its habit is the wrong measure. Drift is seen by both.
    p = np.maximum(*(_change(reports, late, habit) for habit in (reports.by_chance, crowds)))
    agreed = [reports.by_worker(reports.agreement * part) for part in (~late, late)]
    for worker in np.flatnonzero(p < 1):
        whole, first = int(answers[worker]), int(answers[worker] // 2)
        early, later = agreed[0][worker] / first, agreed[1][worker] / (whole - first)
        text = f"agreed with the others on {early:.0%} of earlier and {later:.0%} of later answers"
        yield Advice(int(worker), "DRIFTING", text, float(p[worker]))


def _change(reports: _Reports, late: Flags, by_chance: Floats) -> Floats:
    """Return for each worker how probable it is by chance that halves differ so; 1 if untested.

    Halves are compared where the others say the same label: where labels come in an order, what a
    report shows of knowledge changes with them, though nobody drifts.
    """
    claims, (k, o, shared) = reports.claims, reports.knowledge(by_chance)
    stratum = claims.worker * np.int64(claims.n_options) + reports.others.argmax(axis=1)
    _, stratum = np.unique(stratum, return_inverse=True)
    owner = np.zeros(int(stratum.max(initial=-1)) + 1, dtype=np.int64)
    owner[stratum] = claims.worker

    def total(figure: Floats) -> Floats:
        return np.bincount(stratum, figure, len(owner)).astype(np.float64)

    def of_workers(figure: Floats) -> Floats:
        return np.bincount(owner, figure, claims.n_workers).astype(np.float64)

    known, others = (total(np.where(shared, part, 0)) for part in (k, o))
    ratio = np.divide(known, others, out=np.zeros(len(known)), where=others > 0)
    # Relative to what the others know of the same tasks: harder tasks are harder for all.
    d = k - np.clip(ratio, 0, 3)[stratum] * o
    halves = (shared & ~late, shared & late)
    n = [total(rows.astype(np.float64)) for rows in halves]
    # Strata weigh by their information on a common difference (Mantel and Haenszel, 1959).
    weight = n[0] * n[1] / np.maximum(n[0] + n[1], 1)
    both, means, degrees = weight > 0, [], []
    variance = np.zeros(claims.n_workers)
    for rows, number in zip(halves, n, strict=True):
        mean = total(np.where(rows, d, 0)) / np.maximum(number, 1)
        left = total(np.where(rows, (d - mean[stratum]) ** 2, 0))
        degree = of_workers(np.where(both, number - 1, 0))
        spread = (of_workers(np.where(both, left, 0)) + 0.5) / np.maximum(degree, 1)
        variance += spread * of_workers(np.where(both, weight**2 / np.maximum(number, 1), 0))
        means.append(mean)
        degrees.append(degree)
    weights, degree = np.maximum(of_workers(weight), 1e-12), np.minimum(*degrees)
    gap = np.abs(of_workers(weight * (means[1] - means[0]))) / weights
    tested = (of_workers(n[0] + n[1]) >= _LEAST_TESTED) & (degree >= 1)
    # Two sides, and all workers together (Bonferroni).
    t = -np.maximum(gap - _MARGIN, 0) * weights / np.sqrt(np.maximum(variance, 1e-300))
    p = 2 * np.count_nonzero(tested) * stdtr(np.maximum(degree, 1), t)
    return np.where(tested, p, 1.0)


def _copying(reports: _Reports) -> Iterator[Advice]:
    claims = reports.claims
    cell = claims.task.astype(np.int64) * claims.n_options + claims.value
    cells, place, size = np.unique(cell, return_inverse=True, return_counts=True)
    of_task = np.bincount(claims.task, minlength=claims.n_tasks)
    most = np.zeros(claims.n_tasks, dtype=np.int64)
    np.maximum.at(most, cells // claims.n_options, size)
    # Nearly alone: given by one or two of four or more, and another label was given by more.
    own = size[place]
    odd = (own <= 2) & (of_task[claims.task] >= _CROWDED) & (own < most[claims.task])
    answers = reports.by_worker(np.ones(len(claims)))
    # e[worker, label]: how often somebody is nearly alone with a label. By label, for who gives one
    # label nearly always is often alone with it, and so are others of this habit.
    s = claims.n_options
    e = np.zeros((claims.n_workers, s))
    np.add.at(e, (claims.worker[odd], claims.value[odd]), 1.0)
    e = (e + 1 / s) / (answers + 2)[:, None]
    of_two = np.flatnonzero(odd & (own == 2))
    of_two = of_two[np.argsort(place[of_two], kind="stable")]
    # Rows of `of_two` come in twos, by cell.
    pairs = np.sort(claims.worker[of_two].reshape(-1, 2), axis=1).astype(np.int64)
    tasks, labels = (code[of_two].reshape(-1, 2)[:, 0] for code in (claims.task, claims.value))
    key = pairs[:, 0] * claims.n_workers + pairs[:, 1]
    each, count = np.unique(key[pairs[:, 0] != pairs[:, 1]], return_counts=True)
    each, count = each[count >= _LEAST_PAIRED], count[count >= _LEAST_PAIRED]
    everyone = np.zeros((claims.n_tasks, s))
    np.add.at(everyone, claims.task, e[claims.worker])
    many = np.count_nonzero(answers)

    def side(a: int, b: int, together: int) -> tuple[float, int]:
        """Return a bound of the chance that so many of a's labels of two are with b."""
        mine = np.flatnonzero((pairs == a).any(axis=1))
        mine = mine[np.isin(tasks[mine], claims.task[claims.worker == b])]
        label, own = labels[mine], e[b, labels[mine]]
        others = np.maximum(everyone[tasks[mine], label] - e[a, label] - own, 0)
        chance = float((_ALIKE * own / (_ALIKE * own + others)).mean())
        return _hoeffding(together / len(mine), chance, len(mine)), len(mine)

    for code, together in zip(each.tolist(), count.tolist(), strict=True):
        a, b = divmod(code, claims.n_workers)
        (p, n), (other, _) = side(a, b, together), side(b, a, together)
        text = (
            f"of {n} answers that only two people gave, {together} are with "
            f"{claims.workers[b].as_py()!r}"
        )
        p = min(max(p, other) * many * (many - 1) / 2, 1.0)
        yield Advice(a, "COPYING", text, p, b)


def _hoeffding(share: float, mean: float, n: int) -> float:
    """Return a bound of the chance of such a share of n independent terms with this mean."""
    if share <= mean:
        return 1.0
    # Hoeffding (1963), theorem 1: exp(-n KL(share, mean)) for terms of different probabilities
    rest = (1 - share) * np.log((1 - share) / (1 - mean)) if share < 1 else 0.0
    return float(np.exp(-n * (share * np.log(share / mean) + rest)))
