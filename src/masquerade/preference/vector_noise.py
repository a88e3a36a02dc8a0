"""Additive noise for rows of whole numbers: Laplace, by length, or Gaussian.

Each kind is sized by an epsilon and a sensitivity, and is drawn exactly, on whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from masquerade.accounting.gaussian import ROUNDED, lattice_epsilon, lattice_mu
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.epsilon_at_delta import epsilon_of_rho, probability_of_failure, rho_of_epsilon
from masquerade.exact.noise import (
    LARGEST_SCALE,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    laplace_variance,
    scale_rounded_up,
)
from masquerade.exact.number import NumberLike
from masquerade.preference.composition import Fidelity, Rows, Sensitivity
from masquerade.preference.directions import integer_root

MOST_DIMENSIONS = 32
_PRECISION = 1 << 12
_BLOCK = 1 << 18  # numbers proposed at a time
_LARGEST_SQUARES = 1 << 61  # sums of squares have to fit 64 bits
_LARGEST_NUMERATOR = 1 << 30
_LARGEST_RATE = 4  # above, proposals are hardly ever accepted
_REACH = 40  # no coordinate is beyond this many scales but once in e**40


def norm_noise(source: WordSource, rate: Fraction, *, vectors: int, dimension: int) -> Integers:
    """Return integer vectors x with P(x) proportional to ``exp(-rate * floor(length of x))``.

    `rate`: loss a step, above 0 and at most 4. `vectors`, `dimension`: shape of the result; at most
    `MOST_DIMENSIONS` dimensions, because the share of proposals that is accepted falls with them: 9
    % for 10, 0.3 % for 23, 0.02 % for 32.

    Notes
    -----
    Proposals have independent discrete Laplace coordinates of scale ``sqrt(d) / rate`` (rounded
    up). As the sum of absolute values is at most ``sqrt(d)`` times the length, their probabilities
    are above the wanted ones, and the ratio is an exponential of a fraction.
    """
    if not 1 <= dimension <= MOST_DIMENSIONS:
        raise ParameterError(
            f"there are {dimension} features; noise by length takes 1 to {MOST_DIMENSIONS}. Use "
            "linear-gaussian or linear-laplace."
        )
    if rate > _LARGEST_RATE:
        raise ParameterError(
            f"a loss of {float(rate):.3g} a step leaves next to no noise; lower epsilon, or use "
            "the mechanism none, which says that it protects nobody."
        )
    p, q = _terms(rate)
    # rate = p / q; r / q is rate / sqrt(d), rounded down, so that proposals are wide enough.
    r = math.isqrt(p * p // dimension)
    scale = Fraction(q, r)
    if (scale * _REACH) ** 2 * dimension >= _LARGEST_SQUARES:
        raise ParameterError(
            f"a loss of {float(rate):.3g} a step for {dimension} features is so small that the "
            "noise would not fit 64 bits; raise epsilon, or use linear-laplace."
        )
    out = np.empty((vectors, dimension), dtype=np.int64)
    share = acceptance(dimension)
    done = 0
    while done < vectors:
        many = min(math.ceil((vectors - done) / share * 1.1) + 8, max(_BLOCK // dimension, 1))
        proposed = discrete_laplace(source, scale, many * dimension).reshape(many, dimension)
        size = np.abs(proposed)
        if int(size.max(initial=0)) ** 2 * dimension >= _LARGEST_SQUARES:
            raise OverflowError("a draw of noise left the range of 64 bits")
        # Accepted with probability exp(-(p (length + 1) - r |x|_1) / q), the target over the
        # proposal: at most 1 because |x|_1 <= sqrt(d) |x| < sqrt(d) (length + 1).
        length = integer_root((size * size).sum(axis=1))
        exponent = (length + 1) * p - size.sum(axis=1) * r
        accepted = proposed[bernoulli_exp(source, exponent.astype(np.uint64), q)][: vectors - done]
        out[done : done + len(accepted)] = accepted
        done += len(accepted)
    return out


def acceptance(dimension: int) -> float:
    """Return about which share of the proposals is accepted."""
    d = dimension
    # Volume of exp(-|x|) over that of exp(-|x|_1 / sqrt(d)), which is (2 sqrt(d))**d.
    log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
    return math.exp(log_sphere + math.lgamma(d) - d * math.log(2 * math.sqrt(d)))


def _terms(rate: Fraction) -> tuple[int, int]:
    """Return numerator and denominator, large enough that a square root of them is precise."""
    factor = max(_PRECISION // rate.numerator, 1)
    p, q = rate.numerator * factor, rate.denominator * factor
    if rate <= 0 or q > LARGEST_SCALE or p > _LARGEST_NUMERATOR:
        raise ParameterError(
            f"a loss of {rate} a step is not above 0 or has too many digits; round epsilon to "
            "millionths."
        )
    return p, q


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Independent discrete Laplace noise on each coordinate."""

    # In steps; at least sensitivity / epsilon, rounded up where it has more than 48 bits.
    scale: Fraction
    epsilon: Fraction  # of one unit

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity) -> LaplaceNoise:
        """Return noise that costs at most `epsilon` a unit."""
        # P(x) is proportional to exp(-|x| / scale): a change of D costs D / scale at most.
        return cls(scale_rounded_up(sensitivity.absolute / epsilon), epsilon)

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        # Canonne, Kamath and Steinke (2020), algorithm 2.
        flat = discrete_laplace(source, self.scale, vectors * dimension)
        return flat.reshape(vectors, dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps."""
        return laplace_variance(self.scale)

    def loss(self, units: int) -> Micro:
        """Return the epsilon of changing `units` units together."""
        return Micro.of_amount(self.epsilon * units)


@dataclass(frozen=True, slots=True)
class NormNoise:
    """Noise that falls with the Euclidean length; see `norm_noise`."""

    rate: Fraction  # loss a step
    epsilon: Fraction  # of one unit

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity) -> NormNoise:
        """Return noise that costs at most `epsilon` a unit."""
        return cls(epsilon / sensitivity.euclidean, epsilon)

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        return norm_noise(source, self.rate, vectors=vectors, dimension=dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps, as on the real line."""
        # Length Gamma(d, rate), direction uniform: E length**2 / d = (d + 1) / rate**2.
        return (dimension + 1) / float(self.rate) ** 2

    def loss(self, units: int) -> Micro:
        """Return the epsilon of changing `units` units together."""
        return Micro.of_amount(self.epsilon * units)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Independent discrete Gaussian noise on each coordinate.

    It is as large as noise on the real line has to be, and `ROUNDED` squared steps larger; where
    steps are so coarse that this is much, it is sized by zero-concentrated loss.
    """

    # Parameter of the noise, in squared steps; the variance is never above it.
    squared_scale: Fraction
    sensitivity: int  # largest Euclidean change of one unit, in steps
    delta: Fraction  # at which losses are stated

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity, delta: Fraction) -> GaussianNoise:
        """Return noise that costs at most `epsilon` a unit at `delta`."""
        change = sensitivity.euclidean
        # rho = change**2 / (2 variance) (Bun and Steinke 2016) is safe on any lattice; where steps
        # are fine the exact curve (Balle and Wang 2018) asks for less.
        squared = change**2 / (2 * Fraction(int(largest_rho(epsilon, delta).micro), 10**6))
        mu = Fraction(lattice_mu(epsilon, delta))
        if mu:
            squared = min(squared, (change / mu) ** 2 + ROUNDED)
        return cls(Fraction(math.ceil(squared)), change, delta)

    @property
    def rho(self) -> Micro:
        """Zero-concentrated loss of one unit, rounded up."""
        return Micro.of_amount(Fraction(self.sensitivity**2) / (2 * self.squared_scale))

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        # Canonne, Kamath and Steinke (2020), algorithm 3.
        flat = discrete_gaussian(source, self.squared_scale, vectors * dimension)
        return flat.reshape(vectors, dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps; an upper bound."""
        return float(self.squared_scale)

    def loss(self, units: int) -> Micro:
        """Return the epsilon at `delta` of changing `units` units together.

        Their differences add to at most `units` times the sensitivity, so rho grows with the
        square of their number.
        """
        squared = Fraction((units * self.sensitivity) ** 2)
        # Both bounds are valid, so the smaller one is.
        rho = Micro.of_amount(squared / (2 * self.squared_scale))
        on_a_lattice = lattice_epsilon(squared, variance=self.squared_scale, delta=self.delta)
        return min(epsilon_of_rho(rho, delta=self.delta), on_a_lattice)


@dataclass(frozen=True, slots=True)
class AdditiveNoise:
    """Independent noise that is added to every row, before its size is known.

    `sized`: returns noise that costs at most an epsilon a unit (at `delta`), for a sensitivity.
    `delta`: probability with which epsilon may fail.
    """

    sized: Callable[[Fraction, Sensitivity], VectorNoise]
    delta: Fraction = Fraction(0)

    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None

    @classmethod
    def gaussian(cls, delta: NumberLike) -> AdditiveNoise:
        """Return Gaussian noise that costs its epsilon at `delta`.

        Above 0 and below 1, and well below one in the number of voters.
        """
        chance = probability_of_failure(delta)
        return cls(partial(GaussianNoise.of, delta=chance), chance)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Rows:
        """Return the rows plus noise."""
        vectors, dimension = rows.shape
        noise = self.sized(epsilon, sensitivity)
        return rows + noise.draw(source, vectors=vectors, dimension=dimension)

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return the epsilon (at `delta`) of changing `units` units of a voter together."""
        return self.sized(epsilon, sensitivity).loss(units)

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return a contrast of 1 and the variance: sums are not biased."""
        return Fidelity(1.0, self.sized(epsilon, sensitivity).variance(size))


LAPLACE = AdditiveNoise(LaplaceNoise.of)
NORM = AdditiveNoise(NormNoise.of)


#: Additive noise of a fixed size.
VectorNoise = LaplaceNoise | NormNoise | GaussianNoise


def rho_of_gaussian(epsilon: Fraction, delta: Fraction, *, units: int) -> Micro:
    """Return the most that `units` units together cost in rho with Gaussian noise for `epsilon`."""
    # At least the rho of `GaussianNoise.of`, whichever of its two sizes that took.
    mu = Fraction(lattice_mu(epsilon, delta))
    one = max(Fraction(int(largest_rho(epsilon, delta).micro), 10**6), mu**2 / 2)
    return Micro.of_amount(one * units**2)


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Micro:
    """Return the largest zero-concentrated loss, in millionths, within (epsilon, delta)."""
    return rho_of_epsilon(Micro.of_amount(epsilon), delta=delta)
