"""Agreement of workers beyond what their own rates of labels give without regard to tasks."""

from __future__ import annotations

import math

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.truth.expectation_maximization import ClaimBlocks, VoteBlock
from masquerade.truth.votes import LabelVotes


def agreement_surplus(claims: ClaimBlocks) -> float:
    """Return by how many standard deviations workers agree more than without regard to tasks.

    Without regard to tasks, a worker gives labels at the worker's own rates. The standard
    deviation is that of agreements under such rates; 0 where nothing can vary.
    """
    return _surplus(claims.fold(_agreements, _rates(claims.fold(_labels))))


def _surplus(sums: Floats) -> float:
    surplus, variance = sums.tolist()
    return float(surplus / math.sqrt(variance)) if variance > 1e-12 else 0.0


def _labels(block: VoteBlock) -> Floats:
    """Return how often each worker gave each label."""
    votes = block.label_votes
    labels = np.asarray(votes.matrix.sum(axis=0), dtype=np.float64)
    return block.spread(labels.reshape(votes.n_workers, votes.n_options))


def _rates(labels: Floats) -> Floats:
    # Half a pseudo-answer for each label: nobody has a rate of 0 or 1.
    return np.asarray((labels + 0.5) / (labels.sum(axis=1, keepdims=True) + 0.5 * labels.shape[1]))


def _agreements(block: VoteBlock, rates: Floats) -> Floats:
    """Return agreements beyond those expected, and their variance, summed over a block's tasks."""
    votes, rate = block.label_votes, block.own(rates)
    s = votes.n_options
    # With r[vote, option] = indicator - rate, agreements of pairs are sums of products of r.
    expected = _per_task(votes, rate)
    left = block.sorted_votes.count() - expected
    square = (1 - 2 * rate) + (rate**2).sum(axis=1, keepdims=True)
    # A vote's product with itself is no pair.
    own = votes.matrix @ square.ravel()
    surplus = float(((left**2).sum(axis=1) - own).sum()) / 2
    # spread[worker, k, l]: covariance of the indicators of one vote
    spread = np.stack([(rate[:, k, None] * ((k == np.arange(s)) - rate)) for k in range(s)], axis=1)
    total = _per_task(votes, spread.reshape(votes.n_workers, s * s))
    alone = _per_task(votes, (spread**2).reshape(votes.n_workers, s * s))
    # Without regard to tasks votes are independent: variances of pairs add up, each pair once.
    variance = float(((total**2).sum() - alone.sum()) / 2)
    return np.array([surplus, variance])


def _per_task(votes_by_label: LabelVotes, of_worker: Floats) -> Floats:
    """Return the sum over a task's votes of the voters' rows."""
    table: Floats = votes_by_label.matrix @ np.repeat(of_worker, votes_by_label.n_options, axis=0)
    return table
