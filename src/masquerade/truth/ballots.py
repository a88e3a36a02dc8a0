"""Ballots: the votes of a crowd, by which label was given, for methods with confusions.

Everything a confusion method does with claims is here, for any block of tasks: what the votes say
of tasks, given the workers, and what they say of workers, given the tasks. The latter are sums, so
blocks of tasks add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from masquerade.exact.arrays import Codes, Floats
from masquerade.truth.rows import row_max
from masquerade.truth.votes import Votes


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Who gave which label to each task.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (n_tasks, n_workers * n_options)
        Number of times a worker gave a label; column ``worker * n_options + label``.
    n_tasks, n_options, n_workers : int
    """

    matrix: Any
    n_tasks: int
    n_options: int
    n_workers: int

    @classmethod
    def of(cls, votes: Votes) -> Ballots:
        """Return the ballots of votes. Shares their memory but for 4 to 8 bytes a claim."""
        s, rows = votes.n_options, votes.matrix.indptr
        wide = votes.n_workers * s > np.iinfo(np.int32).max
        kind = np.int64 if wide else np.int32
        given: Any = np.repeat(np.tile(np.arange(s, dtype=kind), votes.n_tasks), np.diff(rows))
        given += votes.matrix.indices * kind(s)
        matrix = sparse.csr_array(
            (votes.matrix.data, given, rows[::s].astype(kind)),
            shape=(votes.n_tasks, votes.n_workers * s),
        )
        return cls(matrix, votes.n_tasks, s, votes.n_workers)

    def score(self, table: Floats) -> Floats:
        """Return the sum over a task's votes of ``table[worker, truth, label]``.

        Parameters
        ----------
        table : float array, shape (n_workers, n_truths, n_options)

        Returns
        -------
        float array, shape (n_tasks, n_truths)
        """
        by_label = np.ascontiguousarray(table.transpose(0, 2, 1))
        total: Floats = self.matrix @ by_label.reshape(self.n_workers * self.n_options, -1)
        return total

    def counts(self, posterior: Floats) -> Floats:
        """Return how often each worker gave each label, by truth.

        Parameters
        ----------
        posterior : float array, shape (n_tasks, n_truths)

        Returns
        -------
        float array, shape (n_workers, n_truths, n_options)
        """
        by_label: Floats = self.matrix.T @ posterior
        return by_label.reshape(self.n_workers, self.n_options, -1).transpose(0, 2, 1)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerSums:
    """What a block of tasks says of workers; blocks of tasks add up.

    Attributes
    ----------
    counts : float array, shape (n_workers, n_truths, n_options)
        Expected number of times a worker gave a label where a truth held.
    totals : float array, shape (n_truths,)
        Expected number of tasks of each truth.
    log_likelihood : float
        Of the tasks' votes under the parameters that were used.
    entropy : float
        Of the tasks' posteriors, in nats.
    change : float
        Largest change of a posterior probability.
    """

    counts: Floats
    totals: Floats
    log_likelihood: float
    entropy: float
    change: float

    def __add__(self, other: WorkerSums) -> WorkerSums:
        return WorkerSums(
            self.counts + other.counts,
            self.totals + other.totals,
            self.log_likelihood + other.log_likelihood,
            self.entropy + other.entropy,
            max(self.change, other.change),
        )


def judge_tasks(
    ballots: Ballots, log_confusion: Floats, log_prior: Floats, gold: Codes
) -> tuple[Floats, float]:
    """Return ``posterior[task, truth]`` of a block, and the log-likelihood of its votes.

    Parameters
    ----------
    ballots : Ballots
    log_confusion : float array, shape (n_workers, n_truths, n_options)
    log_prior : float array, shape (n_truths,)
    gold : int32 array, shape (n_tasks,)
        Known truths; -1 where unknown.
    """
    scores = ballots.score(log_confusion)
    scores += log_prior
    known = np.flatnonzero(gold >= 0)
    right = gold[known]
    likelihood = float(scores[known, right].sum())
    top = row_max(scores)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    total = scores @ np.ones(scores.shape[1])
    scores /= total[:, None]
    each = np.log(total) + top
    each[known] = 0
    scores[known] = 0
    scores[known, right] = 1
    return scores, likelihood + float(each.sum())


def judge_workers(
    ballots: Ballots,
    posterior: Floats,
    *,
    anchor: Floats | None = None,
    trust: float = 1.0,
    earlier: Floats | None = None,
    log_likelihood: float = 0.0,
) -> WorkerSums:
    """Return what a block of tasks says of workers.

    Parameters
    ----------
    ballots : Ballots
    posterior : float array, shape (n_tasks, n_truths)
    anchor : float array, shape (n_tasks, n_truths), optional
        Workers are judged by ``trust * posterior + (1 - trust) * anchor``.
    trust : float
        0 to 1.
    earlier : float array, shape (n_tasks, n_truths), optional
        The posterior of the round before, for the change.
    log_likelihood : float
        Passed on.
    """
    judged = posterior if anchor is None else trust * posterior + (1 - trust) * anchor
    return WorkerSums(
        ballots.counts(judged),
        judged.sum(axis=0),
        log_likelihood,
        entropy(posterior),
        np.inf if earlier is None else largest_change(posterior, earlier),
    )


def entropy(posterior: Floats) -> float:
    """Return the sum of the rows' entropies, in nats."""
    flat = np.maximum(posterior, 1e-300)
    np.log(flat, out=flat)
    return -float(np.vdot(flat, posterior))


def largest_change(new: Floats, old: Floats) -> float:
    """Return the largest absolute difference of two arrays; 0 of empty ones."""
    off = new - old
    return float(max(off.max(), -off.min())) if off.size else 0.0
