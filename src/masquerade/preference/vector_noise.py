"""Three kinds of noise for integer vectors, each sized by a loss and a sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from masquerade.errors import ParameterError
from masquerade.mechanisms import Loss
from masquerade.mechanisms.coins import WordSource
from masquerade.mechanisms.concentrated import epsilon_of_rho
from masquerade.mechanisms.noise import (
    discrete_gaussian,
    discrete_laplace,
    laplace_variance,
    scale_rounded_up,
)
from masquerade.preference.integer_vectors import Integers
from masquerade.preference.norm_noise import norm_noise


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far two neighbouring integer vectors can lie apart, exactly or rounded up.

    Attributes
    ----------
    absolute : int
        Largest sum of absolute differences.
    euclidean : int
        Largest Euclidean distance.
    """

    absolute: int
    euclidean: int


class VectorNoise(Protocol):
    """Noise of a fixed size."""

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        ...

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps."""
        ...

    def loss(self, units: int) -> Loss:
        """Return the epsilon of changing `units` units together."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Independent discrete Laplace noise on each coordinate.

    Attributes
    ----------
    scale : Fraction
        In steps; at least sensitivity / epsilon, rounded up where it has more than 48 bits.
    epsilon : Fraction
        Of one unit.
    """

    scale: Fraction
    epsilon: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity) -> LaplaceNoise:
        """Return noise that costs at most `epsilon` a unit."""
        return cls(scale_rounded_up(sensitivity.absolute / epsilon), epsilon)

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        flat = discrete_laplace(source, self.scale, vectors * dimension)
        return flat.reshape(vectors, dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps."""
        return laplace_variance(self.scale)

    def loss(self, units: int) -> Loss:
        """Return the epsilon of changing `units` units together."""
        return Loss.of_amount(self.epsilon * units)


@dataclass(frozen=True, slots=True)
class NormNoise:
    """Noise that falls with the Euclidean length; see `norm_noise`.

    Attributes
    ----------
    rate : Fraction
        Loss a step.
    epsilon : Fraction
        Of one unit.
    """

    rate: Fraction
    epsilon: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity) -> NormNoise:
        """Return noise that costs at most `epsilon` a unit."""
        return cls(epsilon / sensitivity.euclidean, epsilon)

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        return norm_noise(source, self.rate, vectors=vectors, dimension=dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps, as on the real line."""
        return (dimension + 1) / float(self.rate) ** 2

    def loss(self, units: int) -> Loss:
        """Return the epsilon of changing `units` units together."""
        return Loss.of_amount(self.epsilon * units)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Independent discrete Gaussian noise on each coordinate, accounted for in rho.

    Attributes
    ----------
    squared_scale : Fraction
        Parameter of the noise, in squared steps; the variance is never above it.
    rho : Loss
        Zero-concentrated loss of one unit.
    delta : Fraction
        At which losses are stated.
    """

    squared_scale: Fraction
    rho: Loss
    delta: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, sensitivity: Sensitivity, delta: Fraction) -> GaussianNoise:
        """Return noise that costs at most `epsilon` a unit at `delta`."""
        rho = largest_rho(epsilon, delta)
        squared = Fraction(sensitivity.euclidean**2) / (2 * Fraction(int(rho.micro), 10**6))
        return cls(Fraction(math.ceil(squared)), rho, delta)

    def draw(self, source: WordSource, *, vectors: int, dimension: int) -> Integers:
        """Return independent noise, shape (vectors, dimension)."""
        flat = discrete_gaussian(source, self.squared_scale, vectors * dimension)
        return flat.reshape(vectors, dimension)

    def variance(self, dimension: int) -> float:
        """Return the variance of each coordinate, in squared steps; an upper bound."""
        return float(self.squared_scale)

    def loss(self, units: int) -> Loss:
        """Return the epsilon at `delta` of changing `units` units together.

        Their differences add to at most `units` times the sensitivity, so rho grows with the
        square of their number.
        """
        return epsilon_of_rho(self.rho * units**2, delta=self.delta)


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Loss:
    """Return the largest zero-concentrated loss, in millionths, that is (epsilon, delta)-private.

    Raises
    ------
    ParameterError
        Even a millionth is too much.
    """
    wanted = Loss.of_amount(epsilon)
    low, high = 0, 1
    while epsilon_of_rho(Loss(high), delta=delta) <= wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon_of_rho(Loss(middle), delta=delta) <= wanted:
            low = middle
        else:
            high = middle
    if low == 0:
        raise ParameterError(
            f"epsilon {float(epsilon)} at delta {float(delta):g} needs more noise than is offered; "
            "raise epsilon or delta, or use a mechanism without delta."
        )
    return Loss(low)
