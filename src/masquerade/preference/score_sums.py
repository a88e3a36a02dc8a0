"""Sums of scores of private leaderboards: masks of votes, noise, and their Davidson fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from masquerade.answers.battles import EVEN, FIRST, SECOND, Battles
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import bernoulli, discrete_laplace, laplace_variance, scale_rounded_up
from masquerade.preference.battle_counts import BattleCounts
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.rank_intervals import rank_intervals
from masquerade.preference.standings import standings_of
from masquerade.preference.strength_fit import StrengthFit, fit_strengths, larger_covariance
from masquerade.preference.tie_models import DAVIDSON

BattleUnit = Literal["choice", "record", "voter"]

#: Steps of a voter's shares of wins and ties.
STEPS = 4096


class Sums(NamedTuple):
    """Scores and ties as they may be published, and the variance of their noise."""

    scores: Floats  # wins and half the ties of each item, shape (n_items,); they sum to `votes`
    ties: float
    votes: float
    variance: float  # of the noise in a score, on average over items
    noise: Floats  # covariance of the noise in the scores and, last, in the ties


def exact_scores(table: Battles, unit: BattleUnit) -> tuple[Integers, int]:
    """Return exact scores, a whole number an item, and the number of ties.

    Of the unit choice twice the wins and the ties; of records net wins; of voters net wins divided
    by the voter's number of votes, in steps of 1 / `STEPS`, and the ties likewise.
    """
    m = len(table.items)
    first, second, outcome = table.first, table.second, table.outcome
    if unit == "choice":
        points = np.array([2, 1, 0], dtype=np.int64)
        scores = np.zeros(m, dtype=np.int64)
        np.add.at(scores, first, points[outcome])
        np.add.at(scores, second, 2 - points[outcome])
        return scores, int(np.count_nonzero(outcome == EVEN))
    sign = 1 - outcome.astype(np.int64)  # 1, 0, -1
    if unit == "record":
        scores = np.zeros(m, dtype=np.int64)
        np.add.at(scores, first, sign)
        np.add.at(scores, second, -sign)
        return scores, int(np.count_nonzero(outcome == EVEN))
    assert table.voter is not None
    net = np.zeros((table.voters, m), dtype=np.int64)
    np.add.at(net, (table.voter, first), sign)
    np.add.at(net, (table.voter, second), -sign)
    count = np.maximum(np.bincount(table.voter, minlength=table.voters), 1)
    ties = np.bincount(table.voter[outcome == EVEN], minlength=table.voters)
    # Towards 0: the sizes of a voter's steps add to at most 2 `STEPS`, with the ties twice.
    parts = np.sign(net) * (np.abs(net) * STEPS // count[:, None])
    return parts.sum(axis=0), int((ties * STEPS // count).sum())


def masked_sums(
    table: Battles, unit: BattleUnit, epsilon: Fraction, source: WordSource, each: int
) -> Sums:
    """Return scores and ties with noise, as halves of wins that sum to the number of votes."""
    m = len(table.items)
    scores, ties = exact_scores(table, unit)
    step = STEPS if unit == "voter" else 1
    # Two items: the other's score follows from the first's, which moves by half as much.
    wide = scale_rounded_up(Fraction(2 if m == 2 else 4) * step / epsilon)
    narrow = scale_rounded_up(Fraction(2) * step / epsilon)
    shown = scores[:1] if m == 2 else scores
    noisy = (shown + discrete_laplace(source, wide, len(shown))).astype(float)
    found = float(ties + discrete_laplace(source, narrow, 1)[0])
    votes = float(len(table)) if unit != "voter" else float(each * table.voters)
    size = each / STEPS if unit == "voter" else 1.0  # of a step, in votes
    variance = laplace_variance(wide) * size**2 / 4
    half = noisy * size / 2
    if m == 2:
        middle = votes / 2 if unit == "choice" else 0.0
        half = np.array([half[0] - middle, middle - half[0]])
        variance *= 2  # the same noise stands in both, and its covariance is V times I - 1/2
    # Whatever the noise is, scores add up to the number of votes.
    centred = half - half.mean() + votes / m
    noise = np.zeros((m + 1, m + 1))
    noise[:m, :m] = variance * (np.eye(m) - 1 / m)
    noise[m, m] = laplace_variance(narrow) * size**2
    return Sums(centred, found * size, votes, variance, noise)


def pair_counts(table: Battles) -> BattleCounts:
    """Return the public schedule: how often each pair met, as wins of either in equal parts."""
    m = len(table.items)
    low, high = np.minimum(table.first, table.second), np.maximum(table.first, table.second)
    pairs, met = np.unique(low.astype(np.int64) * m + high, return_counts=True)
    return _schedule(m, pairs // m, pairs % m, met / 2)


def balanced(items: int, votes: float) -> BattleCounts:
    """Return a schedule in which each pair meets equally often."""
    first, second = np.triu_indices(items, 1)
    return _schedule(items, first, second, np.full(len(first), votes / len(first) / 2))


def _schedule(items: int, first: Integers, second: Integers, half: Floats) -> BattleCounts:
    counts = np.stack([half, np.zeros_like(half), half])
    return BattleCounts(items, first, second, counts, counts, np.zeros((len(first), 0)))


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


#: Codes of outcomes, of `masquerade.answers.battles`.
Outcomes = np.ndarray[Any, np.dtype[np.int8]]


@dataclass(frozen=True, slots=True)
class MaskedVote:
    """A vote with ties, masked on its voter's device: three outcomes, of loss epsilon.

    Reports a tie with probability r0 after a win, and E r0 after a tie, with
    ``r0 = rho / (E + 2)``; rho 1 is randomized response with three options, rho 0 a tie answered by
    the device's coin. E is a fraction just below e**epsilon, so that all probabilities are exact.

    Attributes
    ----------
    growth : Fraction
        E: the largest ratio of two probabilities of a report.
    rho : Fraction
    """

    growth: Fraction
    rho: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> MaskedVote:
        """Return the mask that is most accurate: rho 1/4 up to epsilon 1, 1 above."""
        # Of 9 digits; rounded down, so that the loss is at most epsilon.
        growth = Fraction(math.floor(exp_below(epsilon) * _DIGITS), _DIGITS)
        return cls(growth, Fraction(1, 4) if epsilon <= 1 else Fraction(1))

    @property
    def table(self) -> tuple[tuple[Fraction, ...], ...]:
        """Probabilities of reports (columns) given outcomes (rows): first, tie, second."""
        r0 = self.rho / (self.growth + 2)
        q = (1 - r0) / (self.growth + 1)
        tie = (1 - self.growth * r0) / 2
        return ((self.growth * q, r0, q), (tie, self.growth * r0, tie), (q, r0, self.growth * q))

    def mask(self, outcome: Outcomes, source: WordSource) -> Outcomes:
        """Return a report of each outcome."""
        reports = np.empty(len(outcome), dtype=np.int8)
        for true, row in enumerate(self.table):
            rows = np.flatnonzero(outcome == true)
            even = bernoulli(source, row[1].numerator, row[1].denominator, len(rows))
            won = row[0] / (row[0] + row[2])
            first = bernoulli(source, won.numerator, won.denominator, len(rows))
            reports[rows] = np.where(even, EVEN, np.where(first, FIRST, SECOND))
        return reports

    def sums(self, reports: Outcomes, table: Battles) -> Sums:
        """Return unbiased scores and ties of reports, and the variance of the noise in them."""
        (_, r0, q), (_, kept, _), _ = ((float(p) for p in row) for row in self.table)
        m, votes = len(table.items), len(table)
        contrast = (float(self.growth) - 1) * q
        half = np.array([0.5, 0.0, -0.5])[reports] / contrast
        scores: Floats = np.bincount(table.first, 0.5 + half, m).astype(np.float64)
        scores += np.bincount(table.second, 0.5 - half, m)
        told = float(np.mean(reports == EVEN)) if votes else 0.0
        share = min(max((told - r0) / (kept - r0), 0.0), 1.0)
        # A report's score has the variance of a sign over the contrast, less the answer's own.
        own = max(((1 - told) / contrast**2 - (1 - share)) / 4, 0.0)
        met = np.zeros((m, m))
        np.add.at(met, (table.first, table.second), 1)
        met += met.T
        noise = np.zeros((m + 1, m + 1))
        noise[:m, :m] = own * (np.diag(met.sum(axis=0)) - met)
        spread = told * (1 - told) / (kept - r0) ** 2 - share * (1 - share)
        noise[m, m] = max(spread, 0.0) * votes
        return Sums(scores, share * votes, float(votes), own * 2 * votes / m, noise)


_DIGITS, _FINE = 10**9, 10**24


def exp_below(epsilon: Fraction) -> Fraction:
    """Return a fraction just below e**epsilon: its Taylor series, cut."""
    # e**x = (e**(x / 2**k))**(2**k): a short series, every term positive, so that a cut is below.
    halvings = max(math.ceil(math.log2(max(float(epsilon), 1e-9))) + 4, 0)
    small = epsilon / 2**halvings
    term, total = Fraction(1), Fraction(1)
    for place in range(1, 16):
        term = term * small / place
        total += term
    for _ in range(halvings):
        total = Fraction(math.floor(total**2 * _FINE), _FINE)
    return total
