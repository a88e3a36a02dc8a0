"""A problem: all that a method for categories is given, and all that it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from masquerade.answers import Claims
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.ballots import Ballots
from masquerade.truth.mask import Mask
from masquerade.truth.numeric.remarks import Remark
from masquerade.truth.rows import blocks, row_max, row_sum
from masquerade.truth.tally import Tally
from masquerade.truth.votes import Votes

Progress = Callable[[int, int], None]
"""Called after every iteration with its number, from 1, and the most there can be."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a method for categories is given.

    Attributes
    ----------
    claims : Claims
    mechanism : CategoricalMechanism or None
        What masked the claims.
    gold : int32 array, shape (n_tasks,)
        Known truths as codes; -1 where unknown.
    progress : callable or None
    """

    claims: Claims
    mechanism: CategoricalMechanism | None
    gold: Codes
    progress: Progress | None = None

    @cached_property
    def answered(self) -> Claims:
        """Return the claims that are not "no answer"."""
        return self.claims.answered()

    @cached_property
    def votes(self) -> Votes:
        """Return the votes by worker."""
        return Votes.of(self.answered)

    @cached_property
    def tally(self) -> Tally:
        """Return the votes as they were cast."""
        return Tally(self.answered)

    @cached_property
    def ballots(self) -> Ballots:
        """Return the votes by worker and label."""
        return Ballots.of(self.votes)

    @cached_property
    def mask(self) -> Mask:
        """Return the channel of reports that are options."""
        return Mask.of(self.mechanism, n_options=self.claims.n_options, null_share=self.null_share)

    @cached_property
    def null_share(self) -> float:
        """Return the share of claims that are "no answer"."""
        return float(np.mean(self.claims.unanswered())) if self.claims.null else 0.0

    def anchored(self, shares: Floats) -> Floats:
        """Return `shares` with 1 for each known truth (a copy where there are any)."""
        known = np.flatnonzero(self.gold >= 0)
        if len(known):
            shares = shares.copy()
            shares[known] = 0
            shares[known, self.gold[known]] = 1
        return shares

    def done(self, iteration: int, most: int) -> None:
        """Tell the caller that an iteration is done."""
        if self.progress is not None:
            self.progress(iteration, most)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What a method for categories found.

    Attributes
    ----------
    scores, posteriors : float array, shape (n_tasks, n_options)
        The highest score wins; rows of `posteriors` sum to 1.
    reliability, weight : float array, shape (n_workers,)
        Estimated accuracy of a worker, 0 to 1, and what the worker's votes count.
    converged : bool
    iterations : int
    orientation_ambiguous : bool
    reliability_error : float array, shape (n_workers,), or None
        Standard deviation of the reliability, where the method knows it.
    confusion : float array, shape (n_workers, n_options, n_options), or None
        ``confusion[worker, truth, label]``, of methods that have it.
    priors : float array, shape (n_options,), or None
        How often each truth holds, of methods that have it.
    truth_shares, truth_share_errors : float array, shape (n_options,), or None
        How often each truth holds, with standard deviation, of methods that know more of it than
        `posteriors` tells.
    log_evidence : float or None
        Lower bound of the log probability of all reports, of methods that have it.
    losses : tuple of float
        What was optimized, after every iteration, for each claim.
    remarks : tuple of Remark
    extra : dict
        Parameters of a method's own, by name.
    """

    scores: Floats
    posteriors: Floats
    reliability: Floats
    weight: Floats
    converged: bool
    iterations: int
    orientation_ambiguous: bool
    reliability_error: Floats | None = None
    confusion: Floats | None = None
    priors: Floats | None = None
    truth_shares: Floats | None = None
    truth_share_errors: Floats | None = None
    log_evidence: float | None = None
    losses: tuple[float, ...] = ()
    remarks: tuple[Remark, ...] = ()
    extra: dict[str, Floats] | None = None


def vote_shares(scores: Floats) -> Floats:
    """Return each option's share of a task's weighted votes; rows sum to 1.

    Where weights below 0 make a score negative, the row is lifted so that its lowest score is 0: a
    vote against one option of two is a vote for the other.
    """
    shares = np.empty(scores.shape)
    for rows in blocks(len(scores)):
        lifted = shares[rows]
        np.add(scores[rows], np.maximum(row_max(-scores[rows]), 0)[:, None], out=lifted)
        total = row_sum(lifted)
        empty = total <= 0
        lifted[empty] = 1
        total[empty] = lifted.shape[1]
        lifted /= total[:, None]
    return shares
