"""Discrete Laplace noise: two-sided geometric, on the lattice of the answers.

The mechanism "LP" of Sun et al. (2018) with its scale repaired, drawn exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.noise import discrete_laplace, laplace_variance, scale_rounded_up
from masquerade.exact.number import NumberLike, finite, in_range, one_of, text_of, whole
from masquerade.exact.pairs import LaplacePair, Pair
from masquerade.mechanisms.lattice import Lattice, LatticeMechanism
from masquerade.mechanisms.mechanism import require_flag
from masquerade.mechanisms.randomized_response import ASSUMPTIONS

ScaleRule = Literal["width", "paper"]

_LARGEST_EPSILON = 1 << 20
# Noise reaches farther than so many scales with a probability of 2.1e-19 an answer.
_REACH = 43


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiscreteLaplace(LatticeMechanism):
    """Add two-sided geometric noise to an answer on a lattice; the report may leave the range.

    Parameters
    ----------
    low, high, step : number
        As for `DiscreteGaussian`.
    epsilon : number
        Loss of one report in nats, above 0. P(n steps) is proportional to
        ``exp(-epsilon abs(n) step / (high - low))``; the scale is rounded towards more noise where
        it has more than 48 bits.
    fill : {"midpoint", "uniform"} or number, optional
        What stands in for "no answer" before the noise is added; never looks at other answers.
        Default, where `null`: the point nearest to the middle of the range, the lower of two.
    null : bool
        Whether "no answer" is masked too. A report never says "no answer", so whoever collects
        cannot tell, and means are drawn towards `fill`.
    scale_rule : {"width", "paper"}
        ``"paper"`` takes the published scale, (number of points) / epsilon on the question's scale,
        and is refused where that is too little noise.

    Privacy
    -------
    Protects each answer of a person, and whether it was given where `null`, from everyone but the
    person's own device. Neighbours: two people whose answers differ, in one (event) or in all n
    (user). One report costs exactly epsilon, n reports n times that, with delta = 0.

    The published scale (Sun et al., K / epsilon for K possible answers) keeps its promise only
    where K is at least high - low: for answers 0, 10, ..., 100 the true loss is 100 / 11 = 9.1
    times epsilon; the smallest counterexample is the two answers 0 and 3, at 1.5 times.

    Examples
    --------
    >>> mechanism = DiscreteLaplace(1, 5, epsilon=1)
    >>> mechanism.scale, mechanism.guarantee(answers=3).epsilon_user.epsilon
    (Fraction(4, 1), 3.0)
    """

    name = "discrete-laplace"
    example = "discrete-laplace:low=1,high=5,epsilon=1"

    lattice: Lattice
    epsilon: Fraction
    null: bool = False
    stand_in: Fraction | Literal["midpoint", "uniform"] | None = field(
        default=None, metadata={"key": "fill"}
    )
    scale_rule: ScaleRule = "width"
    #: The scale of the noise, in lattice steps.
    scale: Fraction = field(init=False)
    #: The point of the lattice that stands in for "no answer".
    fill: int | Literal["uniform"] | None = field(init=False)

    def __init__(
        self,
        low: NumberLike,
        high: NumberLike,
        step: NumberLike = 1,
        *,
        epsilon: NumberLike,
        null: bool = False,
        fill: NumberLike | None = None,
        scale_rule: ScaleRule = "width",
    ) -> None:
        require_flag(null, "null")
        lattice = Lattice.of_answers(low, high, step)
        self._set(lattice=lattice, epsilon=finite(epsilon, "epsilon"), null=null)
        in_range(self.epsilon, "epsilon", above=0, high=_LARGEST_EPSILON)
        one_of(scale_rule, "scale_rule", ("width", "paper"))
        self._set(scale_rule=scale_rule)
        self._set(scale=scale_rounded_up(self._exact_scale()))
        index = self._fill_index(fill)
        stand_in: Fraction | str | None
        if isinstance(index, int) and index != (lattice.points - 1) // 2:
            stand_in = lattice.low + lattice.step * index
        else:
            stand_in = "midpoint" if isinstance(index, int) else index
        self._set(fill=index, stand_in=stand_in)

    def _exact_scale(self) -> Fraction:
        width = self.lattice.high - self.lattice.low
        if self.scale_rule == "width":
            return width / self.epsilon / self.lattice.step
        points = self.lattice.points
        if points < width:
            raise ParameterError(
                f"the published scale {points} / epsilon loses {text_of(width / points)} times "
                f"epsilon {text_of(self.epsilon)}, for {points} points span {text_of(width)}; "
                "use scale_rule='width'."
            )
        return points / self.epsilon / self.lattice.step

    def _fill_index(self, fill: NumberLike | None) -> int | Literal["uniform"] | None:
        if not self.null:
            if fill is not None:
                raise ParameterError("fill is for mechanisms with null=true; leave it out.")
            return None
        if fill is None or fill == "midpoint":
            return (self.lattice.points - 1) // 2
        if fill == "uniform":
            return "uniform"
        value = finite(fill, "fill")
        index = (value - self.lattice.low) / self.lattice.step
        if index.denominator != 1 or not 0 <= index < self.lattice.points:
            raise ParameterError(
                f"fill is {text_of(value)}, expected 'midpoint', 'uniform' or an answer that can "
                "be given."
            )
        return int(index)

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        answers = whole(answers, "answers", low=0)
        # P(y | a) / P(y | b) is at most exp(|a - b| / scale), reached beyond both ends.
        one = (self.lattice.points - 1) / self.scale
        return Guarantee(
            epsilon_single=Micro.of_amount(one),
            epsilon_event=Micro.of_amount(one * min(answers, 1)),
            epsilon_user=Micro.of_amount(one * answers),
            answers=answers,
            assumptions=ASSUMPTIONS,
        )

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of two numbers at both ends, for each answer."""
        one = LaplacePair(self.lattice.points - 1, self.scale)
        return {one: whole(answers, "answers", low=0)}

    def variance(self) -> float:
        """Return the variance of a report, an unbiased estimate of an answer that was given."""
        return float(self.lattice.step) ** 2 * laplace_variance(self.scale)

    def probability(self, answer: ArrayLike, report: ArrayLike) -> Floats:
        """Return P(report | answer) in floats; both on the question's scale, NaN: no answer."""
        given, seen = self.lattice.offsets(answer), np.rint(self.lattice.offsets(report))
        log_q = -1 / float(self.scale)
        norm = math.tanh(0.5 / float(self.scale))  # (1 - q) / (1 + q)
        if self.fill == "uniform":
            points = self.lattice.points
            below = np.clip(seen + 1, 0, points)  # points up to the report, and those above it
            near_low, near_high = np.maximum(seen - points + 1, 0), np.maximum(-seen, 0)
            above = points - below
            near_above = np.where(seen < 0, near_high, 1)
            # two geometric series, of the points up to the report and of those above it
            total = np.exp(log_q * near_low) * np.expm1(log_q * below) + np.exp(
                log_q * near_above
            ) * np.expm1(log_q * above)
            spread = norm * total / math.expm1(log_q) / points
        else:
            spread = norm * np.exp(log_q * np.abs(seen - (self.fill or 0)))
        known = norm * np.exp(log_q * np.abs(seen - np.rint(given)))
        return np.asarray(np.where(np.isnan(given), spread if self.null else np.nan, known))

    def device_form(self) -> dict[str, Any]:
        """Return the whole-number form: the noise has ``scale`` in lattice steps.

        Where "fill" is "uniform", a fill is drawn for every answer, before all noise.
        """
        return {
            "name": self.name,
            "points": self.lattice.points,
            "null": self.null,
            "fill": self.fill,
            "scale": [str(self.scale.numerator), str(self.scale.denominator)],
        }

    def possible_reports(self) -> tuple[int, int]:
        """Return the ends of the range, each moved outwards by 43 scales."""
        reach = int(_REACH * self.scale) + 1
        return -reach, self.lattice.points - 1 + reach

    def mask(self, answers: Integers, persons: Codes, source: WordSource) -> Integers:
        """Return each answer, or its stand-in, plus noise, in lattice steps."""
        points = self.lattice.points
        if self.fill == "uniform":
            # For every answer: how many words are drawn must not tell which were given.
            stand_in = uniform_below(source, points, len(answers)).astype(np.int64)
            answers = np.where(answers == points, stand_in, answers)
        elif self.fill is not None:
            answers = np.where(answers == points, self.fill, answers)
        return answers + discrete_laplace(source, self.scale, len(answers))
