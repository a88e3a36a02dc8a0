"""Davidson's fit of masked scores and ties, with the errors of sampling, noise and schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

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
    random_schedule: bool = False,
    scatter: Callable[[StrengthFit], Floats] | None = None,
) -> Leaderboard:
    """Return the leaderboard that masked sums give; it reads the votes by way of these alone.

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
    errors = _covariance(fit, sums.noise, random_schedule=random_schedule)
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


def _covariance(fit: StrengthFit, noise: Floats, *, random_schedule: bool) -> Floats:
    """Return ``R (H + N + ridge**2 P) R``: sampling, noise and the bias of the ridge."""
    m = fit.counts.items
    lift = fit.inverse()
    middle = fit.information + noise
    # Scores are made to add up, so noise and prior live on the plane of sum 0.
    middle[:m, :m] += fit.ridge**2 * (np.eye(m) - 1 / m)
    if random_schedule:
        middle += _schedule_scatter(fit)
    covariance: Floats = lift @ middle @ lift
    return covariance


def _schedule_scatter(fit: StrengthFit) -> Floats:
    """Return the covariance of scores and ties under drawing other pairs."""
    counts = fit.counts
    m, pairs = counts.items, len(counts.first)
    first, tie, second = np.exp(DAVIDSON.log_probabilities(fit.advantages(), fit.tie))
    expected = np.zeros((pairs, m + 1))
    rows = np.arange(pairs)
    expected[rows, counts.first] = first + tie / 2
    expected[rows, counts.second] = second + tie / 2
    expected[:, m] = tie
    apart = expected - expected.mean(axis=0)
    scatter: Floats = counts.total * (apart.T @ apart) / pairs
    return scatter
