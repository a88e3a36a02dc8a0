"""Davidson's fit of masked scores and ties, with the errors of sampling, noise and schedule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from masquerade.exact.arrays import Floats
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.rank_intervals import rank_intervals
from masquerade.preference.score_sums import Sums
from masquerade.preference.standings import standings_of
from masquerade.preference.strength_fit import StrengthFit, fit_strengths, larger_covariance
from masquerade.preference.tie_models import DAVIDSON

ALIKE = "errors take votes for independent: how voters differ is private"


def fit_sums(
    sums: Sums,
    schedule: BattleCounts,
    items: tuple[str, ...],
    *,
    drawn: int = 0,
    scatter: Callable[[StrengthFit], Floats] | None = None,
) -> Leaderboard:
    """Return the leaderboard that masked sums give; it reads the votes by way of these alone.

    `drawn`: pairs that were drawn at random for each person, none with an item in common, where
    scores are half of net wins; 1 of votes drawn one by one, 0 where the schedule is public.
    `scatter`: of scores and ties between voters at a fit, masks' noise included, where it is known;
    errors are then the larger of both in every direction.

    Notes
    -----
    The ridge ``1 + V / h``, with h the information an item at indifference, is a prior of variance
    1, widened by the noise; its bias under that prior is in the errors.
    """
    m, votes = schedule.items, sums.votes
    ties = min(max(sums.ties, 0.5), votes - 0.5)
    nu = 2 * ties / (votes - ties)
    each = 2 * votes / m / (2 * (2 + nu))
    ridge = 1 + sums.variance / max(each, 1e-9)
    met = schedule.counts.sum(axis=0) / 2
    level = np.bincount(schedule.first, met, m) + np.bincount(schedule.second, met, m)
    fit = fit_strengths(schedule, DAVIDSON, ridge=ridge, tilt=np.append(sums.scores - level, ties))
    errors = _covariance(fit, sums.noise, drawn)
    if scatter is not None:
        lift, middle = fit.inverse(), scatter(fit)
        middle[:m, :m] += fit.ridge**2 * (np.eye(m) - 1 / m)
        clustered = lift @ middle @ lift
        errors[:m, :m] = larger_covariance(errors[:m, :m], clustered[:m, :m])
    ranks = rank_intervals(fit.strengths, errors[:m, :m], seed=m)
    estimate = (fit.strengths, np.sqrt(np.diag(errors))[:m], ranks)
    lines = standings_of(items, np.ones(m, np.bool_), estimate, None, [""] * m)
    board = Leaderboard.of_fit(lines, fit, errors, ranks)
    return replace(board, items=items, notes=(*board.notes, ALIKE))


def _covariance(fit: StrengthFit, noise: Floats, drawn: int) -> Floats:
    """Return ``R (H + N + ridge**2 P) R``: sampling, noise and the bias of the ridge."""
    m = fit.counts.items
    lift = fit.inverse()
    middle = fit.information + noise
    # Scores are made to add up, so noise and prior live on the plane of sum 0.
    middle[:m, :m] += fit.ridge**2 * (np.eye(m) - 1 / m)
    if drawn:
        middle += _schedule_scatter(fit, drawn)
    covariance: Floats = lift @ middle @ lift
    return covariance


def _schedule_scatter(fit: StrengthFit, drawn: int) -> Floats:
    """Return the covariance of net scores and ties under drawing other pairs.

    With f the centred expectation of a pair, pairs of one person have the covariance ``C1 = sum f
    f' / N``, and two without an item in common ``C2 = - (sum of G G' over items - N C1) / (number
    of such pairs)``, G being an item's sum of f: over all pairs f adds to 0.
    """
    counts = fit.counts
    m, pairs = counts.items, len(counts.first)
    first, tie, second = np.exp(DAVIDSON.log_probabilities(fit.advantages(), fit.tie))
    half, rows = (first - second) / 2, np.arange(pairs)
    places = np.concatenate([counts.first, counts.second, np.full(pairs, m)])
    values = np.concatenate([half, -half, tie])
    expected = csr_array((values, (np.tile(rows, 3), places)), shape=(pairs, m + 1))
    mean = expected.sum(axis=0) / pairs
    alone: Floats = (expected.T @ expected).toarray() / pairs - np.outer(mean, mean)
    disjoint = pairs * math.comb(m - 2, 2)
    together: Floats = np.zeros_like(alone)
    if drawn > 1 and disjoint:
        ends = np.concatenate([counts.first, counts.second])
        holds = csr_array((np.ones(2 * pairs), (np.tile(rows, 2), ends)), shape=(pairs, m))
        each = (holds.T @ expected).toarray() - (m - 1) * mean
        together = -(each.T @ each - pairs * alone) / disjoint
    return counts.total * (alone + (drawn - 1) * together)
