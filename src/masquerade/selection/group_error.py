"""How far the mean of a group would be from the crowd's, estimated from past questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.selection.history import History

UNKNOWN = 0.25
"""Squared error of a group of whom nothing is known: half the width of the question."""


@dataclass(frozen=True, slots=True)
class GroupError:
    """Expected squared error of a group's plain mean, in squared widths of the question.

    Attributes
    ----------
    mean_squared : float
        With ``paper=True`` it may be negative; else at least `floor`.
    floor : float
        What the masks of the coming survey alone add.
    floored : bool
        Whether the estimate from history lay below that.
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
    history : History
    members : int array
        Codes of the people in the group; at least one.
    noise_variance : float array, shape (n_people,)
        What the mask of the coming survey adds for each person, in squared widths.
    paper : bool
        As published: without the middle term, and never floored. Negative for large groups.

    References
    ----------
    Kandappu et al. (2014), eq. (5), which leaves the covariance out.
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
    """Return what past masks add to the group's squared error on each question."""
    size = history.questions
    everyone = np.bincount(history.question, history.weight**2 * history.noise_variance, size)
    variance, question = history.noise_variance[inside], history.question[inside]
    noise = np.bincount(question, variance, size) / count**2 + everyone
    if not paper:
        shared = np.bincount(question, variance * history.weight[inside], size) / count
        noise = noise - 2 * shared
    return np.asarray(noise)
