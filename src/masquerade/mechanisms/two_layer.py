"""Two-layer randomized response: every person draws a private flip probability once.

Li et al., "An efficient two-layer mechanism for privacy-preserving truth discovery", KDD 2018. The
published loss (Theorem 6.3) is right for a person who sends one report in a lifetime; the published
equality with the one-layer mechanism (Theorem 6.4) fails from two reports on, because the reports
of one person share the flip probability. `TwoLayer.guarantee` gives the exact loss instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.loss import Loss, pure_loss
from masquerade.exact.micro import NO_LOSS, Micro
from masquerade.exact.number import NumberLike, finite, in_range, largest_whole, text_of, whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms.categorical import CategoricalMechanism, Channel, FlipMixture
from masquerade.mechanisms.randomized_response import (
    ASSUMPTIONS,
    MOST_SYMBOLS,
    RandomizedResponse,
    grid_total,
    move,
)

_FEWEST_GRID_POINTS = 1 << 32
_QUADRATURE_NODES = 400
_NEGLIGIBLE = 80.0  # e**-80 of the peak

TWO_LAYER_ASSUMPTIONS = (
    *ASSUMPTIONS,
    "the flip probability is drawn once, stays on the device, and is used for these answers only; "
    "if it is kept for later answers, count those too",
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TwoLayer(CategoricalMechanism):
    """Draw p from U(low, high) once a person, then flip each of the person's answers by p.

    Parameters
    ----------
    options : int
        Number of options, at least 2.
    low, high : number
        Ends of the range of the flip probability, 0 <= low <= high <= 1. Equal ends are the
        one-layer mechanism.

    Privacy
    -------
    Protects a person with n answers from everyone but the person's own device. With
    ``Q(m) = (options - 1)**-m E[p**m (1 - p)**(n - m)]``, the probability of a pattern of reports
    that differs from the answers in m places:

    - single report: ``|ln((2 - low - high)(options - 1) / (low + high))|``;
    - one changed answer, all n reports seen: ``max |ln Q(m + 1) - ln Q(m)|``; it grows like ln n
      without bound where low = 0 or high = 1;
    - all answers changed: ``max ln Q - min ln Q``.

    The flip probability is drawn from a grid of more than 2**32 (usually 2**61) points; the amounts
    include what that differs from a continuous draw.

    Examples
    --------
    >>> promise = TwoLayer(options=2, low=0, high=1).guarantee(answers=20)
    >>> promise.epsilon_single.epsilon, promise.epsilon_event.epsilon, promise.epsilon_user.epsilon
    (0.0, 2.995733, 12.126792)
    """

    name = "two-layer"
    example = "two-layer:options=2,low=0,high=0.5379"
    null = False

    options: int
    low: Fraction
    high: Fraction
    _one_layer: RandomizedResponse | None = field(init=False)  # where low is high
    _total: int = field(init=False)
    _first: int = field(init=False)
    _last: int = field(init=False)

    def __init__(self, options: int, *, low: NumberLike, high: NumberLike) -> None:
        options = whole(options, "options", low=2, high=MOST_SYMBOLS)
        self._set(options=options, low=finite(low, "low"), high=finite(high, "high"))
        if not 0 <= self.low <= self.high <= 1:
            raise ParameterError(
                f"low is {text_of(self.low)} and high is {text_of(self.high)}, expected "
                "0 <= low <= high <= 1."
            )
        one_layer = None
        if self.low == self.high:
            one_layer = RandomizedResponse(options, flip_probability=self.low)
        total = grid_total(options)
        scale = Fraction(total, options - 1)
        # all whole numbers i whose flip probability (options - 1) i / total is in [low, high]
        first, last = math.ceil(self.low * scale), math.floor(self.high * scale)
        self._set(_one_layer=one_layer, _total=total, _first=first, _last=last)
        if self._one_layer is None and self._last - self._first < _FEWEST_GRID_POINTS:
            raise ParameterError(
                f"low {text_of(self.low)} and high {text_of(self.high)} are too close to draw "
                f"between; make them equal or at least {2e-9 * (self.options - 1):.0e} apart."
            )

    @classmethod
    def from_epsilon_single(
        cls, epsilon: NumberLike, options: int, *, low_min: NumberLike = 0
    ) -> TwoLayer:
        """Return the mechanism with the single-report loss `epsilon`.

        Parameters
        ----------
        epsilon : number
            Loss of the one report of a person who sends only one; more answers cost more.
        low_min : number
            Keeps the range away from 0 and 1 by this much, which bounds the event-level loss.

        Raises
        ------
        ParameterError
            `low_min` leaves no range with this single-report loss.
        """
        mean = RandomizedResponse(options, epsilon=epsilon).flip_probability
        edge = finite(low_min, "low_min")
        in_range(edge, "low_min", low=0)
        if not edge <= mean <= 1 - edge:
            raise ParameterError(
                f"low_min is {text_of(edge)}, but a single-report epsilon of {epsilon} needs a "
                f"mean flip probability of {float(mean):.6g}; lower low_min to at most "
                f"{float(min(mean, 1 - mean)):.6g}."
            )
        # the widest range around this mean within [low_min, 1 - low_min]
        if mean <= Fraction(1, 2):
            return cls(options, low=edge, high=2 * mean - edge)
        return cls(options, low=2 * mean - 1 + edge, high=1 - edge)

    @property
    def mean_flip_probability(self) -> Fraction:
        """P(report differs from the answer) of one report, as it is drawn."""
        if self._one_layer is not None:
            return self._one_layer.flip_probability
        return Fraction((self.options - 1) * (self._first + self._last), 2 * self._total)

    @property
    def grid(self) -> tuple[int, int, int]:
        """``(first, last, total)``.

        A person draws a whole number from first to last, both included; each other option is
        then reported with probability that number / total.
        """
        if self._one_layer is not None:
            other, total = self._one_layer.grid
            return other, other, total
        return self._first, self._last, self._total

    def channel(self) -> Channel:
        """Return P(report | answer) of one report: the channel of the mean flip probability."""
        return Channel.symmetric(symbols=self.symbols, flip_probability=self.mean_flip_probability)

    def flip_mixture(self, nodes: int = 24) -> FlipMixture:
        """Return the midpoints of `nodes` equal parts of U(low, high)."""
        if self._one_layer is not None:
            return self._one_layer.flip_mixture()
        low, high = float(self.low), float(self.high)
        midpoints = low + (high - low) * (np.arange(nodes) + 0.5) / nodes
        return FlipMixture(midpoints, np.full(nodes, 1 / nodes))

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: O(log answers) evaluations of Q, for ln Q is convex in the number of changed answers.
        """
        answers = whole(answers, "answers", low=0)
        mean = self.mean_flip_probability
        # Li et al. (2018), Theorem 6.3, at the mean as drawn; the absolute value is in `Micro`
        single = Micro.of_ratio((1 - mean) * (self.options - 1) / mean if mean else math.inf)
        if self._one_layer is not None:
            inner = self._one_layer.guarantee(answers=answers)
            event, user = inner.epsilon_event, inner.epsilon_user
        elif answers <= 1:
            event = user = single if answers else NO_LOSS
        else:
            event, user = (self._joint_loss(answers, changed) for changed in (1, answers))
        return Guarantee(
            epsilon_single=single,
            epsilon_event=event,
            epsilon_user=user,
            answers=answers,
            assumptions=TWO_LAYER_ASSUMPTIONS,
        )

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the joint loss of all answers; of one layer, those of its response."""
        if self._one_layer is not None:
            return self._one_layer.pairs(answers=answers)
        return super().pairs(answers=answers)

    def loss(self, *, answers: int = 1, changed: int | None = None) -> Loss:
        """Return the joint loss: reports of answers that stay tell of the flip probability too."""
        if changed is None or self._one_layer is not None:
            return super().loss(answers=answers, changed=changed)
        return pure_loss(self.loss_of_some(changed, answers=answers))

    def loss_of_some(self, changed: int, *, answers: int) -> Micro:
        """Return the exact loss where some of a person's answers may change, all reports seen.

        The reports of the others say something of the flip probability too, so this is more than
        `changed` answers by themselves cost: ``max |ln Q(m + j) - ln Q(m)|`` over j <= changed.

        Parameters
        ----------
        changed : int
            How many answers may change, at most `answers`.
        answers : int
            How many answers share the flip probability.
        """
        answers = whole(answers, "answers", low=0)
        changed = whole(changed, "changed", low=0, high=answers)
        if not changed:
            return NO_LOSS
        if self._one_layer is not None or answers == 1:
            return self.guarantee(answers=changed).epsilon_user
        return self._joint_loss(answers, changed)

    def revealed_loss(self, *, answers: int = 1) -> Micro:
        """Return the user-level loss once the person's flip probability has become known."""
        answers = whole(answers, "answers", low=0)
        return max(
            Micro.of_ratio(
                (1 - flip) * (self.options - 1) / flip if flip else math.inf, times=answers
            )
            for flip in (self.low, self.high)
        )

    def device_form(self) -> dict[str, str | int]:
        """Return the whole-number form; see `CategoricalMechanism.device_form`."""
        first, last, total = self.grid
        return {
            "name": self.name,
            "symbols": self.symbols,
            "first": str(first),
            "last": str(last),
            "total": str(total),
        }

    @property
    def separate_response(self) -> CategoricalMechanism | None:
        """One layer where both flip probabilities are equal; else None, as labels share one."""
        return self._one_layer

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer; one flip probability is drawn for each person."""
        if self._one_layer is not None:
            return self._one_layer.mask(answers, persons, source)
        n_persons = int(persons.max()) + 1 if len(persons) else 0
        drawn = uniform_below(source, self._last - self._first + 1, n_persons)
        other = drawn + np.uint64(self._first)
        words = uniform_below(source, self._total, len(answers))
        return move(answers, other[persons], self._total, words, self.options)

    def _joint_loss(self, answers: int, changed: int) -> Micro:
        # ln Q is convex in m (Hoelder): its differences grow with m, so those over `changed` places
        # or fewer are largest at an end, and its smallest value is where they change sign.
        low = largest_whole(
            lambda m: self._log_pattern(answers, m) < self._log_pattern(answers, m - 1),
            high=answers + 1,
        )
        largest = 0.0
        for end, far, least in (
            (0, changed, min(low, changed)),
            (answers, answers - changed, max(low, answers - changed)),
        ):
            at_end = self._log_pattern(answers, end)
            for other in (far, least):
                largest = max(largest, abs(self._log_pattern(answers, other) - at_end))
        error = _numerical_error(answers) + _grid_error(answers, self._last - self._first)
        return Micro.of_bound(largest, error=error)

    def _log_pattern(self, n: int, m: int) -> float:
        """Return ln Q_n(m) for p ~ U(low, high)."""
        # In fractions first: neither 1 - high nor high - low may lose digits.
        flip = float(self.low), float(self.high)
        keep = float(1 - self.high), float(1 - self.low)
        width = float(self.high - self.low)
        # Q_n(m) = integral of p**m (1 - p)**(n - m) over the range, over (options - 1)**m width
        scale = m * math.log(self.options - 1) + math.log(width)
        if m == 0:
            return _log_power_integral(*keep, width, n) - scale
        if m == n:
            return _log_power_integral(*flip, width, n) - scale
        if min(max(m / n, flip[0]), flip[1]) > 0.5:  # integrate over the smaller of p and 1 - p
            return _log_beta_integral(*keep, width, n - m, m) - scale
        return _log_beta_integral(*flip, width, m, n - m) - scale


def _numerical_error(answers: int) -> float:
    """Return a bound on the floating-point error of a difference of two ln Q."""
    # Quadrature; rounding of logs as large as 40 n; and the search for the smallest of n convex
    # values, which such rounding can mislead by as much a step.
    return 1e-9 + 4e-14 * answers + 4e-16 * answers**2


def _grid_error(answers: int, steps: int) -> float:
    """Return a bound on the change of a difference of two ln Q by a grid of `steps` steps.

    The integrand of Q_n(m) rises to one maximum M and falls, so the sum over grid points times
    their distance h is within ``h M`` of the integral. It is a polynomial of degree n, so M is at
    most ``(n + 1)**2`` times its mean (Christoffel's function at the end of the interval). So Q
    changes by a share of at most ``r = (n + 1)**2 / steps``, apart from a factor that all Q have in
    common, and a difference of two ln Q by ``ln(1 + r) - ln(1 - r) <= 5 r`` for r <= 0.9.
    """
    share = (answers + 1) ** 2 / steps
    return 5 * share if share <= 0.9 else math.inf


def _log_power_integral(low: float, high: float, width: float, power: int) -> float:
    """Return the log of the integral of x**power over (low, high), where high - low = width."""
    log_ratio = (power + 1) * math.log1p(-width / high) if low > 0 else -math.inf
    return (power + 1) * math.log(high) + math.log(-math.expm1(log_ratio)) - math.log(power + 1)


def _log_beta_integral(low: float, high: float, width: float, a: int, b: int) -> float:
    """Return the log of the integral of x**a (1 - x)**b over (low, high); a, b >= 1."""

    def log_integrand(x: float) -> float:
        if x <= 0 or x >= 1:
            return -math.inf
        return a * math.log(x) + b * math.log1p(-x)

    peak = min(max(a / (a + b), low), high)
    top = log_integrand(peak)
    start = _where_negligible(log_integrand, top, peak, low)
    stop = _where_negligible(log_integrand, top, peak, high)
    if (start, stop) != (low, high):
        width = stop - start
    nodes, weights = _legendre(_QUADRATURE_NODES)
    # nodes are on (-1, 1); values are relative to the peak, so that none underflows
    x = start + width * (nodes + 1) / 2
    values = a * np.log(x) + b * np.log1p(-x) - top
    return float(top + math.log(width / 2 * float(weights @ np.exp(values))))


def _where_negligible(
    log_integrand: Callable[[float], float], top: float, peak: float, end: float
) -> float:
    """Return the point between `peak` and `end` beyond which the integrand is below e**-80."""
    if log_integrand(end) > top - _NEGLIGIBLE:
        return end
    inside, outside = peak, end
    for _ in range(60):
        middle = (inside + outside) / 2
        if log_integrand(middle) > top - _NEGLIGIBLE:
            inside = middle
        else:
            outside = middle
    return outside


@lru_cache(maxsize=1)
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(nodes)
