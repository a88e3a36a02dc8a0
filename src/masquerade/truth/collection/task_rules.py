"""Doubt about tasks, by which they are ranked, and rules that stop them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betainc

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.exact.number import whole
from masquerade.truth.estimator import check_positive, check_proper_share


def task_scores(posterior: Floats, votes: Floats) -> Floats:
    """Return the doubt about each task, LMU; the task of the highest is asked about first.

    `posterior`, `votes` (float array, shape (n_tasks, n_options)): how probable each truth is; how
    many reports each option has.

    References
    ----------
    Sheng, Provost and Ipeirotis, "Get another label?", KDD 2008.
    """
    top = np.sort(votes, axis=1)
    second = top[:, -2] if top.shape[1] > 1 else np.zeros(len(top))
    # LU = I_1/2(n1 + 1, n2 + 1): the probability that the leading label is the rarer one
    label_doubt = betainc(top[:, -1] + 1, second + 1, 0.5)
    return np.asarray(np.sqrt(label_doubt * (1 - posterior.max(axis=1))))


def entropies(posterior: Floats) -> Floats:
    """Return the entropy of each row, in nats."""
    return np.asarray(-(posterior * np.log(np.maximum(posterior, 1e-300))).sum(axis=-1))


def information_gain(posterior: Floats, confusion: Floats) -> Floats:
    """Return the mutual information of a report and each truth, in nats.

    ``confusion[..., truth, label]`` is of one reporter, or of several, with axes before that are
    those of the result, before its axis of tasks.
    """
    reported = posterior @ confusion
    # I(truth; report) = H(q P) - q . H(P)
    return np.asarray(entropies(reported) - entropies(confusion) @ posterior.T)


def accuracy_gain(posterior: Floats, crowd: Floats) -> Floats:
    """Return by how much one more report raises the probability that the label is right."""
    joint = posterior[:, :, None] * crowd[None, :, :]  # P(truth, report)
    # With each report the likeliest truth is taken: sum over reports of max over truths.
    return np.asarray(joint.max(axis=1).sum(axis=1) - posterior.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class TaskState:
    """The state of tasks while answers are collected; arrays have an entry a task."""

    answers: Floats  # number of answers
    confidence: Floats  # posterior of the likeliest truth
    accuracy_gain: Floats  # by how much one more answer is expected to raise that


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule(ABC):
    """Base of the stopping rules; `most` answers are the most that a task gets."""

    name: ClassVar[str]

    most: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole(self.most, "most", low=1))

    def stopped(self, state: TaskState) -> Flags:
        """Return which tasks need no further answer, shape (n_tasks,)."""
        return np.asarray((state.answers >= self.most) | self._enough(state))

    @abstractmethod
    def _enough(self, state: TaskState) -> Flags:
        """Return which tasks are sure enough, at any number of answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalStop(StoppingRule):
    """Stop all tasks at a fixed total of answers: the default, and the safest.

    Parameters
    ----------
    answers_per_task : float
        The total, over the number of tasks, above 0.
    most : int
        Answers on one task, at most.

    Examples
    --------
    >>> state = TaskState(np.array([3.0, 2.0]), np.array([0.9, 0.6]), np.array([0.01, 0.1]))
    >>> TotalStop(answers_per_task=3).stopped(state).tolist()
    [False, False]
    >>> TotalStop(answers_per_task=2.5).stopped(state).tolist()
    [True, True]
    """

    name: ClassVar[str] = "total"

    answers_per_task: float = 3.5

    def __post_init__(self) -> None:
        StoppingRule.__post_init__(self)
        check_positive(answers_per_task=self.answers_per_task)

    def total(self, n_tasks: int) -> int:
        """Return the total number of answers on so many tasks."""
        return round(self.answers_per_task * n_tasks)

    def _enough(self, state: TaskState) -> Flags:
        n = len(state.answers)
        return np.full(n, state.answers.sum() >= self.total(n))


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorStop(StoppingRule):
    """Stop a task when the posterior of its label is high enough.

    Posteriors of few answers are too sure: labels stopped at .98 are right in about .85 of cases
    on real crowds. So `probability` is a dial, not a promise.

    Parameters
    ----------
    probability : float
        Above 0 and below 1.
    least, most : int
        Answers on one task, at least and at most.

    Examples
    --------
    >>> state = TaskState(np.array([1.0, 2.0]), np.array([0.99, 0.99]), np.array([0.0, 0.0]))
    >>> PosteriorStop().stopped(state).tolist()
    [False, True]
    """

    name: ClassVar[str] = "posterior"

    probability: float = 0.98
    least: int = 2

    def __post_init__(self) -> None:
        StoppingRule.__post_init__(self)
        check_proper_share(probability=self.probability)
        object.__setattr__(self, "least", whole(self.least, "least", low=1))

    def _enough(self, state: TaskState) -> Flags:
        return np.asarray((state.confidence >= self.probability) & (state.answers >= self.least))


@dataclass(frozen=True, slots=True, kw_only=True)
class GainStop(StoppingRule):
    """Stop a task when one more answer costs more than it is expected to be worth.

    Parameters
    ----------
    worth : float
        Of one more right label, in the currency of `price`, above 0.
    price : float
        Of one answer, above 0.
    least, most : int
        Answers on one task, at least and at most.

    Notes
    -----
    The expected gain is how much one more answer of the crowd's raises the probability that the
    label is right. Where one answer alone cannot turn a label it is 0, so `least` is 2.

    Examples
    --------
    >>> state = TaskState(np.array([2.0, 2.0]), np.array([0.99, 0.6]), np.array([0.001, 0.1]))
    >>> GainStop(worth=1, price=0.05).stopped(state).tolist()
    [True, False]
    """

    name: ClassVar[str] = "gain"

    worth: float
    price: float
    least: int = 2

    def __post_init__(self) -> None:
        StoppingRule.__post_init__(self)
        check_positive(worth=self.worth, price=self.price)
        object.__setattr__(self, "least", whole(self.least, "least", low=1))

    def _enough(self, state: TaskState) -> Flags:
        dear = self.worth * state.accuracy_gain < self.price
        return np.asarray(dear & (state.answers >= self.least))


STOPPING_RULES: tuple[type[StoppingRule], ...] = (TotalStop, PosteriorStop, GainStop)


def stopping_rule(name: str, parameters: dict[str, Any]) -> StoppingRule:
    """Return the rule of this name, as files and the command line write it."""
    known = {rule.name: rule for rule in STOPPING_RULES}
    if name not in known:
        raise ParameterError(f"stopping rule {name!r} is unknown; expected one of {list(known)}.")
    try:
        return known[name](**parameters)
    except TypeError as error:
        raise ParameterError(f"stopping rule {name!r}: {error}.") from error
