"""Worst pairs: the two distributions of a report that tell two answers apart most; rho of each.

A mechanism names the pairs behind its reports (`masquerade.mechanisms.Mechanism.pairs`). Each pair
knows its `Loss`, and where its two distributions are known, the points of its privacy loss.

A mechanism costs rho, zero-concentrated loss, if the Renyi divergence of order a between its
reports of two answers is at most ``rho a`` for every a > 1 (Bun and Steinke, 2016). Levels are
named by it; what is charged is in `masquerade.exact.loss`. The device has it in loss.js.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.exact.epsilon_at_delta import epsilon_of_reports
from masquerade.exact.loss import Loss, laplace, noise, one_of_three, pure_loss, response, rho_loss
from masquerade.exact.micro import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.number import in_range, whole

_ERROR = 1e-12  # relative, far above what rounding does to the few operations of each bound
_SLACK = 1e-7  # how far above the supremum the search may stop


def rho_of_pure(epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of an epsilon-private mechanism, in whole millionths.

    ``epsilon tanh(epsilon / 2)``, which randomized response with two options attains: D_a / a of it
    falls with a (with ``t = a - 1/2`` it is a difference quotient of ``ln cosh(epsilon sqrt(s))``
    between ``t**2`` and 1/4, which is concave in s), so that its supremum is the limit at 1.

    Examples
    --------
    >>> float(rho_of_pure(Micro(1_000_000)))
    0.462118
    """
    if epsilon == INFINITE_LOSS:
        return math.inf
    size = int(epsilon.micro)
    # epsilon tanh(epsilon / 2) in floats, with far more than its rounding added
    amount = size * math.tanh(size / (2 * MICRO)) * (1 + _ERROR)
    return Fraction(min(size, math.ceil(amount)), MICRO)


@lru_cache(maxsize=4096)
def rho_of_response(symbols: int, epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of randomized response, in whole millionths, rounded up.

    Parameters
    ----------
    symbols : int
        Number of different reports, at least 2.
    epsilon : Micro
        Of one report. A larger epsilon is never more private, so rounding it up is safe.

    Notes
    -----
    The supremum of ``D(a) / a`` over orders a > 1 is enclosed, not sampled. D grows with a, so on
    orders from l to u it is at most ``D(u) / l``; intervals are halved until none of these bounds
    exceeds the largest value found by more than a ten-millionth. D is at most epsilon, so orders
    above epsilon over that value need no look. The limit at a = 1, the Kullback-Leibler divergence,
    is the supremum for few symbols only: for 7 symbols and an epsilon of 0.1 it is already too low.

    A response that keeps the answer less often than any other symbol is reported costs less than
    one that keeps it more often with the same epsilon and number of symbols.

    Examples
    --------
    >>> float(rho_of_response(5, Micro(1_000_000)))
    0.255763
    """
    whole(symbols, "symbols", low=2)
    closed = rho_of_pure(epsilon)
    if symbols == 2 or closed in (0, math.inf):
        return closed
    # P(the answer itself is reported)
    return rho_of_kept(1 / (1 + (symbols - 1) * math.exp(-epsilon.epsilon)), epsilon)


@lru_cache(maxsize=4096)
def rho_of_kept(kept: float, epsilon: Micro) -> Fraction | float:
    """Return the zero-concentrated loss of a report with three losses: epsilon, 0 and -epsilon.

    Parameters
    ----------
    kept : float
        Probability of the first, by the answer itself.
    epsilon : Micro
        Of one report, rounded up: with a larger one the divergence is larger too.
    """
    closed = rho_of_pure(epsilon)
    if closed in (0, math.inf):
        return closed
    size, others = epsilon.epsilon, -math.log(kept)
    # The limit at order 1, by which the grid of orders is scaled.
    kullback_leibler = size * -math.expm1(-size) * kept
    excess = np.concatenate([[0.0], np.geomspace(1e-3, max(2.0, size / kullback_leibler), 256)])
    divergence = _divergence(excess, size, others)
    low, high, at_high = excess[:-1], excess[1:], divergence[1:]
    # A lower bound of the supremum, raised until no interval can hold more than it and the slack.
    found = float((divergence / (1 + excess)).max())
    while True:
        enough = found * (1 + _SLACK / 10) + _SLACK
        # D grows with the order, so D(a) / a on an interval is at most D at its end over its start
        open_ = at_high / (1 + low) > enough
        if not open_.any():
            break
        low, high, at_high = low[open_], high[open_], at_high[open_]
        middle = (low + high) / 2
        at_middle = _divergence(middle, size, others)
        found = max(found, float((at_middle / (1 + middle)).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_high = np.concatenate([at_middle, at_high])
    return min(closed, Fraction(math.ceil(enough * (1 + _ERROR) * MICRO), MICRO))


def _divergence(excess: Floats, epsilon: float, others: float) -> Floats:
    """Return the Renyi divergence of orders ``1 + excess`` between the reports of two answers.

    With ``x = (e**(excess epsilon) - 1)(1 - e**(-a epsilon)) e**-others``, of which the last factor
    is how often the answer is kept, it is ``ln(1 + x) / excess``; no two terms cancel, so the
    relative error stays near 1e-15.
    """
    positive = np.maximum(excess, np.finfo(np.float64).tiny)
    growth = positive * epsilon
    log_x = (
        growth + np.log(-np.expm1(-growth)) + np.log(-np.expm1(-(1 + excess) * epsilon)) - others
    )
    limit = epsilon * -math.expm1(-epsilon) * math.exp(-others)
    value: Floats = np.where(excess == 0, limit, np.logaddexp(0, log_x) / positive)
    return value


_DEVIATIONS = 14
_LARGEST_VARIANCE = 10**10  # in squared steps; the lattice is summed point by point
_LARGEST_CHANGE = 1 << 20  # in steps, likewise


class Points(NamedTuple):
    """The privacy loss of one report: its values and their probabilities, in floats.

    Attributes
    ----------
    loss, probability : float array, shape (points,)
        Values of ``ln(P / Q)``, and their probabilities under P. P and Q can be exchanged.
    beyond : float
        Probability of what is left out, at most.
    """

    loss: Floats
    probability: Floats
    beyond: float = 0.0


class Pair(ABC):
    """The worst two distributions of one report."""

    __slots__ = ()

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of one report of the pair, where a person's answers change."""

    @property
    def rho(self) -> Fraction | float:
        """Known zero-concentrated loss of the pair; infinite for an answer in clear."""
        return rho_of_pure(self.loss.epsilon)

    def points(self) -> Points | None:
        """Return the distribution of the privacy loss; None where it is not known."""
        return None

    def epsilon_at(self, delta: Fraction, *, reports: int) -> Micro | None:
        """Return the exact epsilon of so many equal reports at `delta`; None where not known."""
        return None


@dataclass(frozen=True, slots=True)
class ResponsePair(Pair):
    """Two answers by randomized response, in whole numbers; see `masquerade.exact.loss.response`.

    Examples
    --------
    >>> str(ResponsePair(3, 1, 2).loss.epsilon)
    '1.098613'
    """

    keep: int
    other: int
    symbols: int

    @property
    def loss(self) -> Loss:
        """Exact, in every order."""
        return response(self.keep, self.other, self.symbols)

    @property
    def rho(self) -> Fraction | float:
        """The supremum over orders, for this number of symbols."""
        return rho_of_response(self.symbols, self.loss.epsilon)

    def points(self) -> Points | None:
        """Return reports of the one answer, of neither, of the other."""
        if not self.keep or not self.other:
            return None
        total = self.keep + (self.symbols - 1) * self.other
        most, least = max(self.keep, self.other), min(self.keep, self.other)
        size = math.log(most / least)
        shares = (most, (self.symbols - 2) * self.other, least)
        loss = np.array([size, 0.0, -size])
        return Points(loss, np.array([float(Fraction(share, total)) for share in shares]))


@dataclass(frozen=True, slots=True)
class SubsetPair(Pair):
    """Two answers where a report speaks for one, the other or neither, in whole numbers.

    Examples
    --------
    >>> str(SubsetPair(3, 1, 4).loss.epsilon)
    '1.098613'
    """

    keep: int
    other: int
    rest: int

    @property
    def loss(self) -> Loss:
        """Exact, in every order."""
        return one_of_three(self.keep, self.other, self.rest)

    @property
    def rho(self) -> Fraction | float:
        """The supremum over orders, by how often a report speaks for the answer."""
        total = self.keep + self.other + self.rest
        return rho_of_kept(float(Fraction(self.keep, total)), self.loss.epsilon)

    def points(self) -> Points | None:
        """Return reports for the one answer, for neither, for the other."""
        if not self.other:
            return None
        total = self.keep + self.other + self.rest
        size = math.log(self.keep / self.other)
        shares = (self.keep, self.rest, self.other)
        loss = np.array([size, 0.0, -size])
        return Points(loss, np.array([float(Fraction(share, total)) for share in shares]))


@dataclass(frozen=True, slots=True)
class LaplacePair(Pair):
    """Two numbers some steps apart, with discrete Laplace noise.

    Examples
    --------
    >>> str(LaplacePair(4, Fraction(4)).loss.epsilon)
    '1'
    """

    steps: int
    scale: Fraction

    def __post_init__(self) -> None:
        whole(self.steps, "steps", low=0)
        in_range(self.scale, "scale", above=0)

    @property
    def loss(self) -> Loss:
        """Exact, in every order."""
        return laplace(self.steps, self.scale)

    def points(self) -> Points | None:
        """Return the losses at or below one number, between the two, and beyond the other."""
        if self.steps > _LARGEST_CHANGE:
            return None
        h, size = float(1 / self.scale), float(self.steps / self.scale)
        between = np.arange(1, self.steps, dtype=np.float64)
        loss = np.concatenate([[size], size - 2 * h * between, [-size]])
        weight = np.concatenate([[1.0], -math.expm1(-h) * np.exp(-h * between), [math.exp(-size)]])
        return Points(loss, weight / (1 + math.exp(-h)))


@dataclass(frozen=True, slots=True)
class NoisePair(Pair):
    """Two vectors with discrete Gaussian noise; see `masquerade.exact.loss.noise`.

    Attributes
    ----------
    squared, largest : int
        Squares of the largest Euclidean change and of the largest change of one coordinate.
    variance : Fraction
        Parameter of the noise in squared steps.

    Examples
    --------
    >>> NoisePair.of_number(4, Fraction(36)).loss.clock
    444445
    """

    squared: int
    largest: int
    variance: Fraction

    def __post_init__(self) -> None:
        whole(self.squared, "squared", low=0)
        whole(self.largest, "largest", low=0, high=self.squared)
        in_range(self.variance, "variance", above=0)

    @classmethod
    def of_number(cls, change: int, variance: Fraction) -> NoisePair:
        """Return the pair of two numbers that lie `change` steps apart."""
        return cls(change**2, change**2, variance)

    @property
    def loss(self) -> Loss:
        """By the theorem on lattices, in every order."""
        return noise(self.squared, self.largest, self.variance)

    @property
    def rho(self) -> Fraction:
        """Exact: D / (2 v)."""
        return self.squared / (2 * self.variance)

    @property
    def change(self) -> int | None:
        """Change of a single number, in steps; None for vectors."""
        change = math.isqrt(self.squared)
        alone = self.largest == self.squared == change**2
        return change if alone else None

    def epsilon_at(self, delta: Fraction, *, reports: int) -> Micro | None:
        """Return the exact epsilon of equal numbers."""
        if not self.change or not delta:
            return None
        return epsilon_of_reports(self.change, self.variance, delta, reports=reports)

    def points(self) -> Points | None:
        """Return the losses of one number, point by point; None for vectors."""
        change = self.change
        if change is None or self.variance > _LARGEST_VARIANCE:
            return None
        deviation = math.sqrt(self.variance)
        reach = math.ceil(_DEVIATIONS * deviation) + 1
        x = np.arange(-reach, reach + 1, dtype=np.float64)
        weight = np.exp(-(x**2) / (2 * float(self.variance)))
        # ln (P / Q) at x, of centres 0 and `change`: ((x - change)**2 - x**2) / (2 variance)
        loss = (change**2 - 2 * change * x) / (2 * float(self.variance))
        # The weights beyond `reach` add to less than the integral, all of them to more than it.
        beyond = math.erfc(reach / deviation / math.sqrt(2)) * (1 + 1e-9)
        return Points(loss, weight / weight.sum(), beyond)


@dataclass(frozen=True, slots=True)
class KnownPair(Pair):
    """A pair known by its pure epsilon alone: at worst a response of two options.

    Examples
    --------
    >>> KnownPair(Micro(1_000_000)).loss.orders[0]
    735326
    """

    epsilon: Micro

    @property
    def loss(self) -> Loss:
        """That of the worst mechanism of this epsilon."""
        return pure_loss(self.epsilon)

    def points(self) -> Points | None:
        """Return the two losses of a response of two options."""
        size = self.epsilon.epsilon
        if math.isinf(size):
            return None
        keep = 1 / (1 + math.exp(-size))
        return Points(np.array([size, -size]), np.array([keep, keep * math.exp(-size)]))


@dataclass(frozen=True, slots=True)
class RhoPair(Pair):
    """A pair known by its zero-concentrated loss alone.

    Examples
    --------
    >>> RhoPair(Fraction(1, 2)).rho
    Fraction(1, 2)
    """

    amount: Fraction

    @property
    def loss(self) -> Loss:
        """A rho for each order, and no clock."""
        return rho_loss(self.amount)

    @property
    def rho(self) -> Fraction:
        """The amount."""
        return self.amount


def rho_together(pairs: Mapping[Pair, int]) -> Micro:
    """Return the zero-concentrated loss of so many reports of each pair, rounded up.

    Examples
    --------
    >>> str(rho_together({NoisePair.of_number(4, Fraction(144)): 3}))
    '0.166667'
    """
    total: Fraction | float = Fraction(0)
    for pair, count in pairs.items():
        total += pair.rho * count
    return INFINITE_LOSS if isinstance(total, float) else Micro.of_amount(total)
