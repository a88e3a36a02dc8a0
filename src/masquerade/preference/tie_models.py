"""Models of a battle that may end in a tie: Davidson's, Rao and Kupper's, ties as halves.

Each is a function of d, the first side's advantage in log-odds, and of g, the log of the tie
parameter. Outcomes are numbered 0 (the first side won), 1 (a tie) and 2 (the second side won).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from scipy.special import expit, log_expit

from masquerade.exact.arrays import Floats

Ties = Literal["davidson", "rao-kupper", "halves"]


class Curvature(NamedTuple):
    """Negative second derivatives of a cell's log-likelihood, shape (n_cells,) each."""

    dd: Floats
    dg: Floats
    gg: Floats


class TieModel(Protocol):
    """A model of one battle; a frozen dataclass without fields."""

    name: ClassVar[Ties]
    #: Whether it has a tie parameter, and with it a column g.
    has_tie_parameter: ClassVar[bool]

    def start(self, share: float) -> float:
        """Return the g of equal sides of which this share of battles are ties."""
        ...

    def log_probabilities(self, d: Floats, g: float) -> Floats:
        """Return the log-probability of each outcome, shape (3, n)."""
        ...

    def scores(self, d: Floats, g: float) -> Floats:
        """Return the derivatives of `log_probabilities` by d and g, shape (2, 3, n)."""
        ...

    def curvature(self, d: Floats, g: float, counts: Floats) -> Curvature:
        """Return the information in `counts` of the outcomes, shape (3, n)."""
        ...


@dataclass(frozen=True, slots=True)
class Davidson:
    """P(win) : P(loss) : P(tie) = e**(d/2) : e**(-d/2) : e**g (Davidson, 1970).

    An exponential family: wins with half the ties of each item, and the number of ties, are
    sufficient where the schedule is public.
    """

    name: ClassVar[Ties] = "davidson"
    has_tie_parameter: ClassVar[bool] = True

    def start(self, share: float) -> float:
        """Return the g of equal sides of which this share of battles are ties."""
        return math.log(2 * share / (1 - share))

    def log_probabilities(self, d: Floats, g: float) -> Floats:
        """Return the log-probability of each outcome, shape (3, n)."""
        parts = np.stack([d / 2, np.full_like(d, g), -d / 2])
        return np.asarray(parts - np.logaddexp.reduce(parts, axis=0))

    def scores(self, d: Floats, g: float) -> Floats:
        """Return the derivatives of `log_probabilities` by d and g, shape (2, 3, n)."""
        first, tie, second = np.exp(self.log_probabilities(d, g))
        expected = (first - second) / 2
        by_d = np.stack([0.5 - expected, -expected, -0.5 - expected])
        return np.stack([by_d, np.stack([-tie, 1 - tie, -tie])])

    def curvature(self, d: Floats, g: float, counts: Floats) -> Curvature:
        """Return the information in `counts` of the outcomes; observed and expected are equal."""
        first, tie, second = np.exp(self.log_probabilities(d, g))
        n, expected = counts.sum(axis=0), (first - second) / 2
        dd = n * ((first + second) / 4 - expected**2)
        return Curvature(dd, -n * tie * expected, n * tie * (1 - tie))


@dataclass(frozen=True, slots=True)
class RaoKupper:
    """P(win) = expit(d - g), P(loss) = expit(-d - g), g > 0 (Rao and Kupper, 1967)."""

    name: ClassVar[Ties] = "rao-kupper"
    has_tie_parameter: ClassVar[bool] = True

    def start(self, share: float) -> float:
        """Return the g of equal sides of which this share of battles are ties."""
        return math.log((1 + share) / (1 - share))

    def log_probabilities(self, d: Floats, g: float) -> Floats:
        """Return the log-probability of each outcome, shape (3, n); not a number for g <= 0."""
        if g <= 0:
            return np.full((3, len(d)), np.nan)
        first, second = log_expit(d - g), log_expit(-d - g)
        return np.stack([first, first + second + math.log(math.expm1(2 * g)), second])

    def scores(self, d: Floats, g: float) -> Floats:
        """Return the derivatives of `log_probabilities` by d and g, shape (2, 3, n)."""
        a, b = expit(g - d), expit(g + d)  # 1 - P(win), 1 - P(loss)
        by_tie = 2 / -math.expm1(-2 * g)  # of ln(e**2g - 1)
        return np.stack([np.stack([a, a - b, -b]), np.stack([-a, by_tie - a - b, -b])])

    def curvature(self, d: Floats, g: float, counts: Floats) -> Curvature:
        """Return the information in `counts` of the outcomes, as observed."""
        a, b = expit(d - g), expit(-d - g)
        ia = (counts[0] + counts[1]) * a * (1 - a)
        ib = (counts[2] + counts[1]) * b * (1 - b)
        # 4 kappa**2 / (kappa**2 - 1)**2 with kappa = e**g
        return Curvature(ia + ib, ib - ia, ia + ib + counts[1] / math.sinh(g) ** 2)


@dataclass(frozen=True, slots=True)
class Halves:
    """Bradley and Terry's model (1952); a tie counts as half a win of either side.

    Where there are ties, strengths are smaller than those of a model of ties.
    """

    name: ClassVar[Ties] = "halves"
    has_tie_parameter: ClassVar[bool] = False

    def start(self, share: float) -> float:
        """Return 0: there is no tie parameter."""
        return 0.0

    def log_probabilities(self, d: Floats, g: float) -> Floats:
        """Return the log-probability of each outcome, shape (3, n); of a tie, their mean."""
        first, second = log_expit(d), log_expit(-d)
        return np.stack([first, (first + second) / 2, second])

    def scores(self, d: Floats, g: float) -> Floats:
        """Return the derivatives of `log_probabilities` by d and g, shape (2, 3, n)."""
        p = expit(d)
        return np.stack([np.stack([1 - p, 0.5 - p, -p]), np.zeros((3, len(d)))])

    def curvature(self, d: Floats, g: float, counts: Floats) -> Curvature:
        """Return the information in `counts` of the outcomes."""
        p = expit(d)
        nothing = np.zeros_like(p)
        return Curvature(counts.sum(axis=0) * p * (1 - p), nothing, nothing)


DAVIDSON, RAO_KUPPER, HALVES = Davidson(), RaoKupper(), Halves()
_MODELS: tuple[TieModel, ...] = (DAVIDSON, RAO_KUPPER, HALVES)

#: Every model by its name.
TIE_MODELS: dict[str, TieModel] = {model.name: model for model in _MODELS}
