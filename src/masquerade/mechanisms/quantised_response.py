"""Randomized response on a few levels, for numbers with many possible answers.

"QRR" in Masquerade's comparison with Sun et al. (2018): 5-level randomized response carries 4 to 8
times the information of Laplace noise at epsilon 2, and says "no answer".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.number import NumberLike, finite, in_range, positive, whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms.categorical import Channel, require_small
from masquerade.mechanisms.lattice import Lattice, LatticeMechanism
from masquerade.mechanisms.mechanism import require_flag
from masquerade.mechanisms.randomized_response import RandomizedResponse, move

if TYPE_CHECKING:
    from masquerade.answers import Claims

MOST_LEVELS = 1 << 16
_LEVELS_TRIED = (2, 3, 5, 7, 9)  # an odd number has a level in the middle
_POINTS_LOOKED_AT = 201
_SPREAD = 0.14  # of answers around a truth, as a share of the range
_ANSWERING_RATE = 0.5


@dataclass(frozen=True, init=False, eq=False, repr=False)
class QuantisedResponse(LatticeMechanism):
    """Round an answer to one of a few levels at random, then mask the level.

    Parameters
    ----------
    low, high, step : number
        As for `DiscreteGaussian`.
    epsilon : number
        Loss of one report in nats, above 0.
    levels : int or "auto"
        How many levels, equally spaced from low to high, 2 to the number of answers; ``"auto"`` is
        `choose_levels`.
    null : bool
        Adds the symbol "no answer", masked like the levels.

    Privacy
    -------
    Protects each answer of a person, and whether it was given where `null`, from everyone but the
    person's own device, exactly as randomized response on the levels does: an answer is rounded
    before it is masked, by itself, so one changed answer changes at most one level.

    Examples
    --------
    >>> mechanism = QuantisedResponse(-100, 100, epsilon=2, null=True)
    >>> str(mechanism)
    'quantised-response:low=-100,high=100,step=1,epsilon=2,levels=5,null=true'
    >>> mechanism.guarantee(answers=3).epsilon_user.epsilon
    6.0
    """

    name = "quantised-response"
    in_surveys = True
    example = "quantised-response:low=0,high=10,epsilon=1,levels=3"

    lattice: Lattice
    epsilon: Fraction
    levels: int
    null: bool = False
    _response: RandomizedResponse = field(init=False)  # masks the level
    _scale: Lattice = field(init=False)  # of the levels

    def __init__(
        self,
        low: NumberLike,
        high: NumberLike,
        step: NumberLike = 1,
        *,
        epsilon: NumberLike,
        levels: int | Literal["auto"] = "auto",
        null: bool = False,
    ) -> None:
        require_flag(null, "null")
        lattice = Lattice.of_answers(low, high, step)
        loss, points = positive(epsilon, "epsilon"), lattice.points
        if levels == "auto":
            levels = choose_levels(loss, points, _ANSWERING_RATE if null else 1.0)
        levels = whole(levels, "levels", low=2, high=min(points, MOST_LEVELS))
        self._set(
            lattice=lattice,
            epsilon=loss,
            levels=levels,
            null=null,
            _response=RandomizedResponse(levels + null, epsilon=loss),
            _scale=Lattice(lattice.low, lattice.high, (lattice.high - lattice.low) / (levels - 1)),
        )

    @property
    def symbols(self) -> int:
        """Number of different reports."""
        return self.levels + self.null

    @property
    def grid(self) -> tuple[int, int]:
        """``(other, total)``: each other symbol is reported with probability other / total."""
        return self._response.grid

    @property
    def level_values(self) -> Floats:
        """The levels on the question's scale, shape (levels,)."""
        return self._scale.values(np.arange(self.levels))

    @property
    def level_response(self) -> RandomizedResponse:
        """The mechanism of a level, "no answer" counted."""
        return self._response

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        return self._response.guarantee(answers=answers)

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return those of the response: answers between two levels are mixtures of them."""
        return self._response.pairs(answers=answers)

    def rounding(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return P(level | answer) before the mask, ``rounding()[answer][level]``."""
        table = []
        for index in range(self.lattice.points):
            level, rest = divmod(index * (self.levels - 1), self.lattice.points - 1)
            up = Fraction(rest, self.lattice.points - 1)
            row = [Fraction(0)] * self.symbols
            row[level] = 1 - up
            if rest:
                row[level + 1] = up
            table.append(tuple(row))
        if self.null:
            table.append((*[Fraction(0)] * self.levels, Fraction(1)))
        return tuple(table)

    def channel(self) -> Channel:
        """Return P(report | answer) in exact fractions.

        Rows are the answers from low to high, then "no answer"; columns the levels, then "no
        answer"; the last of each only where `null`.

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        require_small(self.lattice.points + self.null, self.symbols)
        other, total = self.grid
        keep = 1 - Fraction((self.symbols - 1) * other, total)
        floor, gain = Fraction(other, total), keep - Fraction(other, total)
        return Channel(
            tuple(tuple(floor + gain * share for share in row) for row in self.rounding())
        )

    def variance(self) -> float:
        """Return the largest variance, over answers, of the unbiased estimate of an answer.

        With m the middle of the range, q the probability of each other symbol and s the number of
        symbols, ``m + (report - m) / (1 - s q)`` is unbiased for an answer that was given, "no
        answer" counted as m. Infinite where reports are independent of answers.
        """
        other, total = self.grid
        q = other / total
        signal = float(1 - Fraction(self.symbols * other, total))
        if signal == 0:
            return math.inf
        points, last = self.lattice.points, self.levels - 1
        unit = float(self.lattice.step)
        away = np.arange(self.levels) * (points - 1) / last - (points - 1) / 2  # in steps
        # Between two levels the variance is a concave parabola in the answer; its top:
        top = (away[1:] + away[:-1]) / (2 * signal)
        position = np.clip(top, away[:-1], away[1:]) + (points - 1) / 2
        answers = np.unique(
            np.clip(np.concatenate([np.floor(position), np.ceil(position)]), 0, points - 1)
        )
        share = answers * last / (points - 1)
        level = np.minimum(share.astype(np.int64), last - 1)
        up = share - level
        squares = (1 - up) * away[level] ** 2 + up * away[level + 1] ** 2
        # E of the squared estimate, from the middle and in steps; "no answer" adds 0
        spread = (q * (away**2).sum() + signal * squares) / signal**2
        return float((spread - (answers - (points - 1) / 2) ** 2).max()) * unit**2

    def probability(self, answer: ArrayLike, report: ArrayLike) -> Floats:
        """Return P(report | answer) in floats; both on the question's scale, NaN: no answer."""
        other, total = self.grid
        # P(report | answer) = q + signal * (share of the answer that its rounding gives the level)
        q = other / total
        signal = float(1 - Fraction(self.symbols * other, total))
        given = self.lattice.offsets(answer) * (self.levels - 1) / (self.lattice.points - 1)
        seen = np.rint(self._scale.offsets(report))
        share = np.maximum(1 - np.abs(given - seen), 0)
        both = np.isnan(given) & np.isnan(seen)
        return np.asarray(q + signal * np.where(both, 1, np.nan_to_num(share)))

    def device_form(self) -> dict[str, Any]:
        """Return the whole-number form.

        An answer's index i is at level ``i (levels - 1) / (points - 1)``, rounded up with
        probability remainder / (points - 1), drawn for every answer, "no answer" included; then
        the level is masked like a category, see `CategoricalMechanism.device_form`.
        """
        return {
            **self._response.device_form(),
            "name": self.name,
            "points": self.lattice.points,
            "levels": self.levels,
            "null": self.null,
        }

    @property
    def report_values(self) -> Floats:
        """The levels, and NaN for "no answer" where `null`."""
        return np.append(self.level_values, [math.nan] * self.null)

    def possible_reports(self) -> tuple[int, int]:
        """Return the first and the last code of a level, "no answer" included."""
        return 0, self.symbols - 1

    def mask(self, answers: Integers, persons: Codes, source: WordSource) -> Integers:
        """Return a level for each answer; the number of levels is "no answer"."""
        steps, last = self.lattice.points - 1, self.levels - 1
        other, total = self.grid
        # for "no answer" too: how much is drawn must not depend on the answers
        drawn = uniform_below(source, steps, len(answers)).astype(np.int64)
        words = uniform_below(source, total, len(answers))
        level, rest = np.divmod(np.minimum(answers, steps) * last, steps)
        # up with probability rest / steps, so that the mean level is the answer's own place
        level = np.where(answers > steps, self.levels, level + (drawn < rest))
        return move(level, other, total, words, self.symbols).astype(np.int64)

    def _reported(self, claims: Claims, reports: Integers) -> Claims:
        values = self._scale.values(np.minimum(reports, self.levels - 1))
        return claims.with_values(
            np.where(reports == self.levels, np.nan, values), null=claims.null or self.null
        )


def choose_levels(epsilon: NumberLike, points: int, answering_rate: float) -> int:
    """Return how many levels tell most about a task's truth, per report.

    The Fisher information of one report about the truth, averaged over truths in the range, with
    answers that spread around the truth normally by 14 % of the range. It is looked up for 2, 3, 5,
    7 and 9 levels, and all answers where there are at most 9. Data play no part in it.

    Parameters
    ----------
    epsilon : number
        Loss of one report in nats, above 0.
    points : int
        Number of possible answers, at least 2.
    answering_rate : float
        Share of questions that are answered where "no answer" is masked too, above 0; 1 where it
        is not.

    Examples
    --------
    >>> choose_levels(1, 41, 0.5)
    5
    """
    loss = float(finite(epsilon, "epsilon"))
    points = whole(points, "points", low=2)
    in_range(answering_rate, "answering_rate", above=0, high=1)
    candidates = {levels for levels in _LEVELS_TRIED if levels <= points}
    if points <= max(_LEVELS_TRIED):
        candidates.add(points)
    return max(
        sorted(candidates), key=lambda levels: _information(levels, loss, points, answering_rate)
    )


def _information(levels: int, epsilon: float, points: int, rate: float) -> float:
    """Return the mean Fisher information of one report about the truth."""
    looked_at = min(points, _POINTS_LOOKED_AT)
    answers = np.linspace(0, 1, looked_at)
    truths = np.linspace(0, 1, 41)
    position = answers * (levels - 1)
    share = np.maximum(1 - np.abs(position[:, None] - np.arange(levels)), 0)  # [answer, level]
    weight = np.exp(-(((answers - truths[:, None]) / _SPREAD) ** 2) / 2)  # [truth, answer]
    weight /= weight.sum(axis=1, keepdims=True)
    slope = answers / _SPREAD**2  # of ln weight by the truth, before normalising
    change = weight * (slope - (weight * slope).sum(axis=1, keepdims=True))
    symbols = levels + (rate < 1)
    shrink = math.exp(-min(epsilon, 700.0))
    other = shrink / (1 + (symbols - 1) * shrink)
    signal = rate * (1 - symbols * other)
    probability = other + signal * (weight @ share)
    # sum over reports of (dP / dtruth)**2 / P; "no answer" does not depend on the truth
    return float(((signal * (change @ share)) ** 2 / probability).sum(axis=1).mean())
