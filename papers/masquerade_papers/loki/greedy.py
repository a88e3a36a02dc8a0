"""The greedy policy: ask the person that lowers the group's error most for the price.

Kandappu et al. (2014), Algorithm 1. The group's error on past questions is kept as sums that one
more member changes in few places, so a step costs a pass over the reports on the new member's
questions (or, where everybody answered everything, one product of a matrix and a vector) instead of
a computation from scratch. The choice is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers.result import Progress, Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade_papers.loki.history import History

_ROUNDING = 1e-12  # of sums of costs

#: Squared error of a group of whom nothing is known: half the width of the question.
UNKNOWN = 0.25


@dataclass(frozen=True, slots=True)
class GroupError(Result):
    """Expected squared error of a group's plain mean, in squared widths of the question.

    Attributes
    ----------
    mean_squared : float
        With ``paper=True`` it may be negative; else at least `floor`.
    floor : float
        What the masks of the coming survey alone add.
    floored : bool
        Whether the estimate from history lay below that.

    Examples
    --------
    >>> round(GroupError(mean_squared=0.0025, floor=0.001, floored=False).root, 3)
    0.05
    """

    mean_squared: float
    floor: float
    floored: bool

    @property
    def root(self) -> float:
        """Square root of `mean_squared`, NaN where that is negative."""
        return float(np.sqrt(self.mean_squared)) if self.mean_squared >= 0 else float("nan")


def group_error(
    history: History, members: ArrayLike, noise_variance: ArrayLike, *, paper: bool = False
) -> GroupError:
    """Return the expected squared error of the mean of `members`.

    ``Q(S) - noise(S) + sum over S of V / |S|**2``: the mean squared error of the group on past
    questions, less what past masks added to it, plus what the coming masks will add. A group is
    part of the crowd, so its error and the crowd's estimate share noise: ``noise(S) = sum over S of
    V / |S|**2 - 2 sum over S of w V / |S| + sum over all of w**2 V`` on each question. For a group
    without any past question it is `UNKNOWN` plus the coming masks.

    Parameters
    ----------
    members : int array
        Codes of the people in the group; at least one.
    noise_variance : float array, shape (n_people,)
        What the mask of the coming survey adds for each person, in squared widths.
    paper : bool
        As published: without the middle term, and never floored. Negative for large groups.

    References
    ----------
    Kandappu et al. (2014), eq. (5), which leaves the covariance out.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade_papers.loki.history import History
    >>> history = History([0, 1, 0, 1], [0, 0, 1, 1], [0.1, 0.3, 0.2, 0.6], np.zeros(4))
    >>> group_error(history, [0, 1], np.zeros(2)).mean_squared >= 0
    True
    """
    group = np.unique(np.asarray(members, dtype=np.int64))
    variance = np.asarray(noise_variance, dtype=np.float64)
    if not group.size or group[0] < 0 or group[-1] >= history.people:
        raise ParameterError(
            f"members are {group.size} people, expected at least one, codes 0 to "
            f"{history.people - 1}."
        )
    floor = float(variance[group].sum()) / group.size**2
    inside = np.isin(history.person, group)
    questions = history.question[inside]
    count = np.bincount(questions, minlength=history.questions)
    seen = count > 0
    if not seen.any():
        return GroupError(UNKNOWN + floor, floor, floored=False)
    safe = np.maximum(count, 1)
    mean = np.stack(
        [np.bincount(questions, c, history.questions) for c in history.error[inside].T], axis=1
    )
    squared = ((mean / safe[:, None]) ** 2).sum(axis=1)
    noise = _noise_of_group(history, inside, safe, paper=paper)
    estimate = float((squared - noise)[seen].mean()) + floor
    if paper:
        return GroupError(estimate, floor, floored=False)
    return GroupError(max(estimate, floor), floor, floored=estimate < floor)


def _noise_of_group(history: History, inside: Flags, count: Integers, *, paper: bool) -> Floats:
    """Return the part of past masks in the group's squared error on each question."""
    size = history.questions
    everyone = np.bincount(history.question, history.weight**2 * history.noise_variance, size)
    variance, question = history.noise_variance[inside], history.question[inside]
    noise = np.bincount(question, variance, size) / count**2 + everyone
    if not paper:
        shared = np.bincount(question, variance * history.weight[inside], size) / count
        noise = noise - 2 * shared
    return np.asarray(noise)


class _Errors(Protocol):
    """The group's squared error from history, as members join."""

    def with_each(self) -> Floats:
        """Return, for each person, the squared error of the group with that person added."""

    def join(self, person: int) -> None:
        """Add a member."""


def greedy(
    history: History,
    noise_variance: Floats,
    cost: Floats,
    score: Floats,
    *,
    budget: float,
    admissible: Flags | None = None,
    paper: bool = False,
    progress: Progress | None = None,
) -> Integers:
    """Return the people chosen, in the order in which they were.

    Shapes: `admissible` (n,). `history`: of everybody in the pool, codes as below; persons may be
    without reports. `noise_variance`, `cost`, `score` (n,): see `Pool`. `paper`: as published: the
    error without its covariance term, and people are added until nobody is affordable. Otherwise
    the corrected error is used, nobody is added who raises it, and the best of the groups on the
    way is returned. `progress`: called with the part of the budget that is spent, in percent.
    """
    size = len(cost)
    errors: _Errors
    complete = len(history.person) == history.people * history.questions > 0
    errors = (_Complete if complete else _Sparse)(history, paper=paper)
    candidates = np.ones(size, dtype=np.bool_) if admissible is None else admissible.copy()
    chosen: list[int] = []
    roots: list[float] = []
    left, masks, root = budget, 0.0, UNKNOWN**0.5
    while True:
        candidates &= cost <= left + _ROUNDING * budget
        if not candidates.any():
            break
        members = len(chosen) + 1
        floor = (masks + noise_variance) / members**2
        # equation 5, for the group with each candidate
        squared = errors.with_each() + floor
        squared = np.maximum(squared, 0 if paper else floor)
        # Algorithm 1: the drop of the root-mean-square error for each unit of score
        gain = np.where(candidates, (root - np.sqrt(squared)) / score, -np.inf)
        best = int(np.argmax(gain))
        if not paper and gain[best] <= 0:
            break
        errors.join(best)
        candidates[best] = False
        chosen.append(best)
        root = float(np.sqrt(squared[best]))
        roots.append(root)
        masks += float(noise_variance[best])
        left -= float(cost[best])
        if progress is not None:
            progress(round(100 * (1 - left / budget)), 100)
    # More people can raise the corrected error: the best group on the way counts.
    if not paper and roots:
        chosen = chosen[: int(np.argmin(roots)) + 1]
    return np.array(chosen, dtype=np.int64)


class _Complete:
    """Errors where everybody answered everything: sums over questions stay sums over people."""

    def __init__(self, history: History, *, paper: bool) -> None:
        # By person, then question: a full table.
        order = np.lexsort((history.question, history.person))
        shape = (history.people, history.questions)
        variance = history.noise_variance[order].reshape(shape)
        weight = history.weight[order].reshape(shape)
        self._errors = np.ascontiguousarray(history.error[order].reshape(history.people, -1))
        self._questions = history.questions
        self._squares = (self._errors**2).sum(axis=1)
        self._variance = variance.sum(axis=1)
        self._shared = np.zeros(history.people) if paper else (variance * weight).sum(axis=1)
        self._everyone = float((weight**2 * variance).sum())
        self._sum = np.zeros(self._errors.shape[1])
        self._products = np.zeros(history.people)  # of the group's sum with each person's errors
        self._members = 0
        self._in_sum = self._in_shared = 0.0

    def with_each(self) -> Floats:
        n = self._members + 1
        # |S + e|**2 = |S|**2 + 2 S . e + |e|**2, with everybody's errors e at once
        squares = float(self._sum @ self._sum) + 2 * self._products + self._squares
        # masks of the members over n**2, less twice what they share with the crowd's estimate
        noise = (self._in_sum + self._variance) / n**2 - 2 * (self._in_shared + self._shared) / n
        return np.asarray((squares / n**2 - noise - self._everyone) / self._questions)

    def join(self, person: int) -> None:
        own = self._errors[person]
        self._sum += own
        self._products += self._errors @ own
        self._in_sum += float(self._variance[person])
        self._in_shared += float(self._shared[person])
        self._members += 1


class _Sparse:
    """Errors where people answered some questions each: a member changes only the own ones."""

    def __init__(self, history: History, *, paper: bool) -> None:
        order = np.lexsort((history.person, history.question))
        self._person = history.person[order]
        self._question = history.question[order]
        self._error = history.error[order]
        self._variance = history.noise_variance[order]
        shared = history.weight * history.noise_variance
        self._shared = np.zeros(len(order)) if paper else shared[order]
        self._start = np.searchsorted(self._question, np.arange(history.questions + 1))
        by_person = np.argsort(self._person, kind="stable")
        self._own = np.split(
            by_person, np.searchsorted(self._person[by_person], np.arange(1, history.people))
        )
        self._everyone: Floats = np.bincount(
            history.question, history.weight**2 * history.noise_variance, history.questions
        ).astype(np.float64)
        self._sum = np.zeros((history.questions, history.error.shape[1]))
        self._in_sum = np.zeros(history.questions)
        self._in_shared = np.zeros(history.questions)
        self._count = np.zeros(history.questions, dtype=np.int64)
        self._value = np.zeros(history.questions)  # of each question with members, else 0
        self._total, self._seen = 0.0, 0
        self._change = self._changes(np.arange(len(order)))
        self._changed = np.bincount(self._person, self._change, history.people)
        self._new = np.bincount(self._person, minlength=history.people)  # questions not yet seen

    def with_each(self) -> Floats:
        seen = self._seen + self._new
        total = (self._total + self._changed) / np.maximum(seen, 1)
        return np.where(seen > 0, total, UNKNOWN)

    def join(self, person: int) -> None:
        own = self._own[person]
        questions = self._question[own]
        if not questions.size:
            return
        # Before the counts change: questions that no member has answered so far.
        fresh = questions[self._count[questions] == 0]
        self._sum[questions] += self._error[own]
        self._in_sum[questions] += self._variance[own]
        self._in_shared[questions] += self._shared[own]
        self._count[questions] += 1
        value = self._values(
            self._sum[questions],
            self._in_sum[questions],
            self._in_shared[questions],
            self._count[questions],
            self._everyone[questions],
        )
        self._total += float((value - self._value[questions]).sum())
        self._value[questions] = value
        self._seen += fresh.size
        # To everybody who answered them, these questions are no longer new.
        np.subtract.at(self._new, self._person[self._rows(fresh)], 1)
        # Only reports on the new member's questions change what their people would add.
        rows = self._rows(questions)
        changes = self._changes(rows)
        np.add.at(self._changed, self._person[rows], changes - self._change[rows])
        self._change[rows] = changes

    def _rows(self, questions: Integers) -> Integers:
        """Return the reports on these questions."""
        start, stop = self._start[questions], self._start[questions + 1]
        sizes = stop - start
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if ends.size else 0
        rows: Integers = np.arange(total) + np.repeat(start - (ends - sizes), sizes)
        return rows

    def _changes(self, rows: Integers) -> Floats:
        """Return by how much a report's person, joining, changes the sum over questions."""
        questions = self._question[rows]
        value = self._values(
            self._sum[questions] + self._error[rows],
            self._in_sum[questions] + self._variance[rows],
            self._in_shared[questions] + self._shared[rows],
            self._count[questions] + 1,
            self._everyone[questions],
        )
        return value - self._value[questions]

    def _values(
        self, sums: Floats, variance: Floats, shared: Floats, count: Integers, everyone: Floats
    ) -> Floats:
        # |mean|**2 less the masks in it, corrected for what group and crowd share
        squares = (sums**2).sum(axis=1)
        return np.asarray((squares - variance) / count**2 + 2 * shared / count - everyone)
