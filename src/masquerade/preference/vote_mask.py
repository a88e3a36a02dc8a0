"""The mask of one vote with ties, drawn on its voter's device, and scores of masked votes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.answers.battles import EVEN, FIRST, SECOND, Battles
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import bernoulli
from masquerade.preference.score_sums import Sums

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
