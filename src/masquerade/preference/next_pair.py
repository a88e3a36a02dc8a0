"""Which pairs to ask about next, so that the best few items are soon known, and when to stop."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import whole
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.tie_models import TIE_MODELS

#: Share of a batch that is drawn at random, so that the other items are learnt too.
RANDOM_SHARE = 0.2

#: Share of collections in which a top is decided falsely, over all looks.
_FALSE = 0.05
_LEAST = 0.01  # weight of a pair of top and other, relative to the largest, that is looked at
_AT_A_TIME = 5
_MOST_CANDIDATES = 60  # items of which all pairs are looked at


def next_pairs(
    board: Leaderboard, rng: np.random.Generator, *, batch: int, top: int = 3
) -> list[tuple[str, str]]:
    """Return the pairs to vote on next, to find the `top` best items of a leaderboard.

    Parameters
    ----------
    board : Leaderboard
        Fitted with a prior (``prior=1``), so that every item has a strength. It must not come from
        raw votes where votes are to be protected: the pair that is shown would tell an answer. One
        that a private mechanism released, of closed batches, may steer.
    rng : numpy.random.Generator
        Of the random part of the batch, a fifth.
    batch : int
        Number of pairs.
    top : int
        How many items are wanted.

    Raises
    ------
    ParameterError
        Some item has no strength, or `top` is not below the number of items.

    Notes
    -----
    For items a among the best and b outside, a pair of items i, j is worth the variance that one
    vote takes from the difference of a and b, weighed by the probability that their order is wrong
    and by their own precision. After five pairs the covariance is updated by rank one. It takes .14
    to .42 of the votes that random pairs need for the same top; the order of the other items is
    learnt less.

    Examples
    --------
    >>> votes = {"model_a": ["x", "y", "z"], "model_b": ["y", "z", "w"], "winner": ["left"] * 3}
    >>> board = Leaderboard.fit(votes, prior=1)
    >>> len(next_pairs(board, np.random.default_rng(1), batch=4, top=1))
    4
    """
    m = len(board.items)
    batch, top = whole(batch, "batch", low=1), whole(top, "top", low=1)
    if m < len(board.standings):
        raise ParameterError(
            "some items have no strength; fit the leaderboard with a prior, such as prior=1."
        )
    if top >= m:
        raise ParameterError(f"top is {top} of {m} items; leave at least one item outside.")
    random = max(round(RANDOM_SHARE * batch), 1)
    pairs = [tuple(rng.choice(m, 2, replace=False).tolist()) for _ in range(random)]
    pairs += _steered(board, batch - random, top)
    return [(board.items[a], board.items[b]) for a, b in pairs]


def _steered(board: Leaderboard, many: int, top: int) -> list[tuple[int, int]]:
    """Return the pairs of greatest gain, a few at a time."""
    strengths, covariance = board.strengths, board.covariance.copy()
    order = np.argsort(-strengths, kind="stable").astype(np.int64)
    near = _candidates(strengths, covariance, order, top)
    first, second = (near[each] for each in np.triu_indices(len(near), 1))
    information = _information(board, strengths[first] - strengths[second])
    found: list[tuple[int, int]] = []
    while len(found) < many:
        weights, best, others = _confusions(strengths, covariance, order, top)
        # Gain of a vote on ij: h w (V_ai - V_aj - V_bi + V_bj)**2 / (1 + h v), summed over ab.
        apart = covariance[best] - covariance[others]
        change = apart[:, first] - apart[:, second]
        variance = np.diag(covariance)
        each = variance[first] + variance[second] - 2 * covariance[first, second]
        gain = information * (weights @ change**2) / (1 + information * each)
        for place in np.argsort(-gain, kind="stable")[: min(_AT_A_TIME, many - len(found))]:
            i, j = int(first[place]), int(second[place])
            found.append((i, j))
            x, h = covariance[i] - covariance[j], information[place]
            covariance -= h * np.outer(x, x) / (1 + h * float(x[i] - x[j]))
    return found


def _candidates(strengths: Floats, covariance: Floats, order: Integers, top: int) -> Integers:
    """Return the items whose votes can tell the best from others: those most easily confused."""
    if len(order) <= _MOST_CANDIDATES:
        return np.sort(order)
    weights, best, others = _confusions(strengths, covariance, order, top)
    worth = np.bincount(best, weights, len(order)) + np.bincount(others, weights, len(order))
    worth[order[:top]] = np.inf
    return np.sort(np.argsort(-worth, kind="stable")[:_MOST_CANDIDATES].astype(np.int64))


def _confusions(
    strengths: Floats, covariance: Floats, order: Integers, top: int
) -> tuple[Floats, Integers, Integers]:
    """Return the weights of pairs of a best item and another, and their places."""
    best, others = (each.ravel() for each in np.meshgrid(order[:top], order[top:], indexing="ij"))
    variance = np.diag(covariance)
    spread = variance[best] + variance[others] - 2 * covariance[best, others]
    spread = np.maximum(spread, 1e-12)
    weights = ndtr(-(strengths[best] - strengths[others]) / np.sqrt(spread)) / spread
    kept = weights >= _LEAST * weights.max()
    return weights[kept], best[kept], others[kept]


def _information(board: Leaderboard, d: Floats) -> Floats:
    """Return the information of one vote about the difference of each pair."""
    name = "halves" if board.model in ("bradley-terry", "none") else board.model
    model = TIE_MODELS[name]
    chance = np.exp(model.log_probabilities(d, board.tie_log))
    if name == "halves":
        chance[1] = 0.0
    return model.curvature(d, board.tie_log, chance).dd


def top_is_known(board: Leaderboard, top: int = 3, *, look: int | None = None) -> bool:
    """Return whether it is decided which items are the `top` best.

    It is decided where each of so many items is better than each other one, in the statements that
    hold for all pairs together; so a collection may stop then.

    Parameters
    ----------
    board : Leaderboard
    top : int
    look : int, optional
        Which look at the same collection this is, from 1. Who looks again and again finds a
        decision by chance more often than who looks once; with `look`, all looks together decide
        falsely in at most 1 of 20 collections.

    Notes
    -----
    Look k spends the part 6 / (pi k)^2 of .05, in equal parts on all pairs of an item among the
    best and one outside.

    Examples
    --------
    >>> votes = {"model_a": ["x"] * 40, "model_b": ["y"] * 40}
    >>> board = Leaderboard.fit(votes | {"winner": ["left"] * 36 + ["right"] * 4}, prior=1)
    >>> top_is_known(board, top=1), top_is_known(board, top=1, look=4)
    (True, True)
    """
    top = whole(top, "top", low=1)
    if len(board.items) < len(board.standings) or top >= len(board.items):
        return False
    order = np.argsort(-board.strengths, kind="stable")
    best, others = order[:top], order[top:]
    if look is None:
        return bool(board.better[np.ix_(best, others)].all())
    spent = _FALSE * 6 / (math.pi * whole(look, "look", low=1)) ** 2
    apart = board.strengths[best][:, None] - board.strengths[others]
    variance = np.diag(board.covariance)
    spread = variance[best][:, None] + variance[others]
    spread -= 2 * board.covariance[np.ix_(best, others)]
    needed = -float(ndtri(spent / apart.size)) * np.sqrt(np.maximum(spread, 0.0))
    return bool((apart > needed).all())
