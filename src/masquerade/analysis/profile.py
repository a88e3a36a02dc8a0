"""Intervals and tests by the profile of a penalised likelihood, scaled for weights and clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, chdtri
from scipy.stats import f as f_distribution

from masquerade.analysis.maximum import (
    FARTHEST,
    MANY,
    NoOptimum,
    Objective,
    Optimum,
    maximise,
    thinned,
)
from masquerade.exact.arrays import Floats

_MOST_FITS = 40
_CLOSE = 1e-7
_WITHIN = 0.2
#: W from which a p-value is 0 in print, whatever the curve's bend.
_CLEAR = 80.0


class HigherOptimum(Exception):
    """A constrained fit lies above the optimum; `theta` is where to start again."""

    def __init__(self, theta: Floats) -> None:
        super().__init__("a constrained fit is above the optimum")
        self.theta = theta


@dataclass(frozen=True)
class Reference:
    """The distribution with which a curve is compared.

    Attributes
    ----------
    clusters : int or None
        Independent units whose scores were added; None for the model's own curve.
    """

    clusters: int | None = None

    def cut(self, confidence: float) -> float:
        """Return the cut: of chi-squared with one degree, or of F(1, G - 1)."""
        if self.clusters is None:
            return float(chdtri(1, 1 - confidence))
        return float(f_distribution.isf(1 - confidence, 1, max(self.clusters - 1, 1)))

    def probability(self, w: float) -> float:
        """Return the p-value of a statistic."""
        if self.clusters is None:
            return float(chdtrc(1, max(w, 0.0)))
        return float(f_distribution.sf(max(w, 0.0), 1, max(self.clusters - 1, 1)))


class Bend:
    """By how much W differs from a parabola, by some of many people.

    The third and higher terms of the likelihood along a line: they are small where people are many,
    so that a part of the people says well enough how small.
    """

    def __init__(self, objective: Objective, theta: Floats) -> None:
        every = -(-objective.model.people // MANY)
        self._objective = replace(objective, model=thinned(objective.model, every))
        self._theta = theta
        self._value, self._gradient, self._information = self._objective.slopes(theta)

    def __call__(self, step: Floats) -> float:
        """Return W less its parabola where the parameters move by a step."""
        fall = self._value + self._gradient @ step - self._objective.value(self._theta + step)
        return float(2 * fall - step @ self._information @ step)


@dataclass
class Curve:
    """W of one number, a linear function of the parameters, the rest at its best.

    Attributes
    ----------
    direction : float array, shape (parameters,)
        The number is its product with the parameters.
    unit : float
        A step of the number in scaled units.
    factor : float
        Variance by the model over the robust one; 1 without weights and clusters.
    """

    objective: Objective
    optimum: Optimum
    direction: Floats
    unit: float
    error: float
    factor: float = 1.0
    bend: Bend | None = None

    @property
    def estimate(self) -> float:
        """The number at the optimum."""
        return float(self.direction @ self.optimum.theta)

    def statistic(self, value: float) -> float:
        """Return W at a value."""
        if self.bend is not None:
            away = value - self.estimate
            parabola = (away / self.error) ** 2
            bend = self.bend(away * self._along())
            if parabola > _CLEAR or abs(bend) <= _WITHIN:
                return (parabola + (bend if parabola <= _CLEAR else 0.0)) * self.factor
        return self._at(value, self.optimum.theta, self.estimate)[0]

    def interval(self, cut: float) -> tuple[float, float]:
        """Return where W stays below a cut; an end farther than 12 scaled units is open."""
        low, high = self._end(-1, cut), self._end(1, cut)
        return low, high

    def _along(self) -> Floats:
        """Return how the parameters move with the number near the optimum."""
        way = np.linalg.solve(self.optimum.information, self.direction)
        moved: Floats = way / (self.direction @ way)
        return moved

    def _at(self, value: float, start: Floats, stood: float) -> tuple[float, float, Floats]:
        """Return W, its slope and the parameters where the number is held at a value."""
        theta = start + (value - stood) * self._along()
        best = maximise(self.objective, theta, held=self.direction)
        gap = 2 * (self.optimum.value - best.value)
        if gap < -1e-6 * max(1.0, abs(self.optimum.value) * 1e-6):
            raise HigherOptimum(best.theta)
        slope = float(best.gradient @ self.direction / (self.direction @ self.direction))
        return max(gap, 0.0) * self.factor, -2 * slope * self.factor, best.theta

    def _end(self, sign: int, cut: float) -> float:
        target, estimate = math.sqrt(cut), self.estimate
        sigma = self.error / math.sqrt(self.factor)
        value = estimate + sign * target * sigma
        farthest = estimate + sign * FARTHEST * self.unit
        if self.bend is not None:
            bend = self.bend((value - estimate) * self._along()) * self.factor
            if abs(bend) <= _WITHIN:
                # W near its parabola: the end moves in until W is the cut
                return estimate + (value - estimate) * math.sqrt(cut / (cut + bend))
        inner, outer = estimate, math.inf * sign
        theta, stood = self.optimum.theta, estimate
        for _ in range(_MOST_FITS):
            if (value - farthest) * sign > 0:
                if stood == farthest:
                    return math.inf * sign
                value = farthest
            try:
                w, slope, theta = self._at(value, theta, stood)
            except NoOptimum:
                return math.inf * sign
            stood, root = value, math.sqrt(w)
            if root < target:
                inner = value
                if value == farthest:
                    return math.inf * sign
            else:
                outer = value
            rate = slope / (2 * root) if root > 0 else 0.0
            if abs(root - target) < _CLOSE:
                return value
            # Newton on the root of W, kept inside the bracket
            value = value + (target - root) / rate if rate * sign > 0 else math.nan
            if not math.isfinite(value) or not (inner - value) * sign < 0 < (outer - value) * sign:
                reach = 2 * abs(inner - estimate) if math.isinf(outer) else abs(outer - inner) / 2
                value = inner + sign * max(reach, 1e-12)
            if math.isfinite(outer) and abs(outer - inner) < 1e-10 * max(1.0, abs(outer)):
                return outer
        return value
