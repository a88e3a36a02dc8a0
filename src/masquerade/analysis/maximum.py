"""The maximum of a penalised likelihood: Newton, falling back towards EM, whole or along a line.

The penalty is half a person on every coefficient, log-F(1, 1) (Greenland and Mansournia 2015).
Where masks say little, the likelihood of answers is flat and its optimum lies at infinity. Half a
yes and half a no in the direction of each coefficient make it finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, null_space
from scipy.special import expit

from masquerade.analysis.likelihood import Model, Seen
from masquerade.errors import InputError
from masquerade.exact.arrays import Floats


@dataclass(frozen=True)
class Penalty:
    """Half a person on coefficients, and one shared by all cells.

    Attributes
    ----------
    amount : float
        1/2 for half a person, 0 for plain maximum likelihood.
    scale : float array, shape (parameters,)
        Of each coefficient; 0 where there is no penalty.
    cells : slice
        The constants of cells, but the first.
    """

    amount: float
    scale: Floats
    cells: slice

    def _shares(self, theta: Floats) -> Floats:
        logs = np.concatenate([[0.0], theta[self.cells]])
        logs = np.exp(logs - logs.max())
        shares: Floats = logs / logs.sum()
        return shares

    def value(self, theta: Floats) -> float:
        """Return h (u - 2 log(1 + e^u)) over coefficients, and h/K log pi over cells."""
        if not self.amount:
            return 0.0
        u = self.scale * theta
        # log p + log (1 - p), in the form that does not overflow; 0 at u = 0 is of no matter
        total = float(-np.logaddexp(0, u).sum() - np.logaddexp(0, -u).sum())
        return self.amount * (total + float(np.log(self._shares(theta)).mean()))

    def gradient(self, theta: Floats) -> Floats:
        """Return h s (1 - 2 p); of cells h (1/K - pi_c)."""
        p = expit(self.scale * theta)
        out: Floats = self.amount * self.scale * (1 - 2 * p)
        pi = self._shares(theta)
        out[self.cells] += self.amount * (1 / len(pi) - pi[1:])
        return out

    def information(self, theta: Floats) -> Floats:
        """Return less the second derivatives: 2 h s^2 p (1 - p); of cells h (diag pi - pi pi')."""
        p = expit(self.scale * theta)
        out = np.diag(2 * self.amount * self.scale**2 * p * (1 - p))
        pi = self._shares(theta)[1:]
        out[self.cells, self.cells] += self.amount * (np.diag(pi) - np.outer(pi, pi))
        return out


#: People above whom a tenth is fitted first, and ends of intervals are Wald's, checked.
MANY = 20_000
#: Scaled units beyond which an end of an interval is open.
FARTHEST = 12.0

_STEPS = 200
_DECREMENT = 1e-10
_MIXTURES = (0.0, 0.03, 0.2, 1.0)
_LONGEST = 4.0
_LONGEST_WARM = 2.0


class NoOptimum(InputError):
    """The likelihood has no optimum that can be reached."""


@dataclass(frozen=True)
class Objective:
    """A likelihood with its penalty, in coordinates in which clear columns are centred."""

    model: Model
    penalty: Penalty
    unit: Floats  # of each parameter: a step of 1 in scaled units

    def value(self, theta: Floats) -> float:
        """Return the penalised log-likelihood."""
        return self.model.value(theta) + self.penalty.value(theta)

    def slopes(self, theta: Floats, *, complete: bool = False) -> tuple[float, Floats, Floats]:
        """Return value, gradient, and information (or None where a report is impossible)."""
        sums = self.model.totals(theta, complete=complete)
        if math.isinf(sums.value):
            return sums.value, sums.score, sums.observed
        information = sums.complete if complete else sums.observed
        return (
            sums.value + self.penalty.value(theta),
            sums.score + self.penalty.gradient(theta),
            information + self.penalty.information(theta),
        )


@dataclass(frozen=True)
class Optimum:
    """A point with the largest penalised likelihood.

    Attributes
    ----------
    theta : float array
    value : float
        Penalised log-likelihood.
    gradient : float array
        Not 0 along a line that was held.
    information : float array
        Less the second derivatives of the penalised log-likelihood.
    steps : int
    """

    theta: Floats
    value: float
    gradient: Floats
    information: Floats
    steps: int


def fit(objective: Objective) -> Optimum:
    """Return the optimum; of many people a tenth is fitted first.

    Raises
    ------
    NoOptimum
        The likelihood grows without end, or its optimum was not reached.
    """
    model = objective.model
    if model.people <= MANY:
        return maximise(objective, model.start())
    part = thinned(model, 10)
    first = maximise(replace(objective, model=part), part.start(), precision=1e-3)
    return maximise(objective, first.theta, longest=_LONGEST_WARM)


def thinned(model: Model, every: int) -> Model:
    """Return a model of every so many people, each weighing as many."""
    rows = slice(None, None, every)

    def some(seen: Seen) -> Seen:
        return Seen(seen.table, seen.code[rows])

    return replace(
        model,
        columns=np.ascontiguousarray(model.columns[rows]),
        reported=some(model.reported),
        masked=tuple(map(some, model.masked)),
        weight=model.weight[rows] * every,
    )


def maximise(
    objective: Objective,
    theta: Floats,
    *,
    held: Floats | None = None,
    longest: float = _LONGEST,
    precision: float = _DECREMENT,
) -> Optimum:
    """Return the largest penalised likelihood from a start.

    Parameters
    ----------
    held : float array, shape (parameters,) or (directions, parameters), optional
        Directions along which nothing moves: their products with the parameters stay.
    longest : float
        Largest coordinate of a step, in scaled units.

    Raises
    ------
    NoOptimum
        Not reached in so many steps.
    """
    free = np.eye(len(theta)) if held is None else null_space(np.atleast_2d(held))
    start = theta
    value, gradient, information = objective.slopes(theta)
    for steps in range(_STEPS):
        if math.isinf(value):
            break
        slope = free.T @ gradient
        step = free @ _direction(objective, theta, slope, information, free)
        decrement = float(gradient @ step) / 2
        if decrement < precision:
            # the last step too: a fall of 1e-10 leaves an error in the fifth digit
            near = theta + (step if decrement < _DECREMENT else 0.0)
            return Optimum(near, value + decrement, gradient, information, steps)
        step *= min(1.0, longest / max(float(np.abs(step / objective.unit).max()), 1e-300))
        # the whole step first, with its slopes: near the optimum it is nearly always taken
        moved: Floats | None = theta + step
        ahead = objective.slopes(theta + step)
        if not ahead[0] > value:
            moved = _line(objective.value, theta, step / 2, value)
            ahead = objective.slopes(theta if moved is None else moved)
        if moved is None:
            # rounding: no point near is higher, although the slope says so
            if decrement < 1e-7 * max(1.0, abs(value)) * 1e-3 + 1e-9:
                return Optimum(theta, value, gradient, information, steps)
            break
        theta = moved
        if float(np.abs((theta - start) / objective.unit).max()) > 1e4:
            break
        value, gradient, information = ahead
    raise NoOptimum(
        "the likelihood has no optimum that could be reached: the answers may fit without any "
        "error, so that plain maximum likelihood has none. Leave the penalty at its default of "
        "half a person, use fewer columns, or join rare options."
    )


def _direction(
    objective: Objective, theta: Floats, slope: Floats, information: Floats, free: Floats
) -> Floats:
    """Return the Newton step, with as much complete information as makes it one upwards."""
    observed = free.T @ information @ free
    whole: Floats | None = None
    for mixture in _MIXTURES:
        mixed = observed
        if mixture:
            if whole is None:
                whole = free.T @ objective.slopes(theta, complete=True)[2] @ free
            mixed = (1 - mixture) * observed + mixture * whole
        try:
            step: Floats = cho_solve(cho_factor(mixed), slope)
        except (LinAlgError, ValueError):
            continue
        return step
    ridge = np.abs(np.diag(observed)).max() * 1e-6 + 1e-12
    values, vectors = np.linalg.eigh(observed)
    upward: Floats = vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), ridge))
    return upward


def _line(
    value_at: Callable[[Floats], float], theta: Floats, step: Floats, value: float
) -> Floats | None:
    for halvings in range(30):
        moved = theta + step / 2**halvings
        if value_at(moved) > value:
            found: Floats = moved
            return found
    return None
