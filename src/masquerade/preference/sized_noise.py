"""Which noise a mechanism adds, chosen by inheriting from one of these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.exact import Loss
from masquerade.exact.concentrated import DEFAULT_DELTA, probability_of_failure
from masquerade.exact.number import Number
from masquerade.preference.vector_noise import (
    GaussianNoise,
    LaplaceNoise,
    NormNoise,
    Sensitivity,
    VectorNoise,
)


class SizedNoise(ABC):
    """A kind of noise, sized by epsilon and sensitivity."""

    @abstractmethod
    def noise(self, epsilon: Fraction, sensitivity: Sensitivity) -> VectorNoise:
        """Return noise that costs at most `epsilon` a unit."""

    @property
    def noise_delta(self) -> Fraction:
        """Probability with which the losses may fail."""
        return Fraction(0)

    def losses(
        self, epsilons: Sequence[Fraction], sensitivity: Sensitivity, units: Sequence[int]
    ) -> tuple[Loss, Loss]:
        """Return the largest loss over voters of one unit, and of all units of a voter."""
        single, whole = [Loss(0)], [Loss(0)]
        for epsilon, count in dict.fromkeys(zip(epsilons, units, strict=True)):
            sized = self.noise(epsilon, sensitivity)
            single.append(sized.loss(1))
            whole.append(sized.loss(count))
        return max(single), max(whole)


class WithLaplaceNoise(SizedNoise):
    """Discrete Laplace noise."""

    def noise(self, epsilon: Fraction, sensitivity: Sensitivity) -> VectorNoise:
        """Return noise that costs at most `epsilon` a unit."""
        return LaplaceNoise.of(epsilon, sensitivity)


class WithNormNoise(SizedNoise):
    """Noise that falls with the Euclidean length."""

    def noise(self, epsilon: Fraction, sensitivity: Sensitivity) -> VectorNoise:
        """Return noise that costs at most `epsilon` a unit."""
        return NormNoise.of(epsilon, sensitivity)


@dataclass(frozen=True)
class WithGaussianNoise(SizedNoise):
    """Discrete Gaussian noise.

    Parameters
    ----------
    delta : number
        Above 0 and below 1; well below one in the number of voters.
    """

    delta: Number = DEFAULT_DELTA

    @property
    def noise_delta(self) -> Fraction:
        """Probability with which the losses may fail."""
        return probability_of_failure(self.delta)

    def noise(self, epsilon: Fraction, sensitivity: Sensitivity) -> VectorNoise:
        """Return noise that costs at most `epsilon` a unit at `delta`."""
        return GaussianNoise.of(epsilon, sensitivity, self.noise_delta)


def variances(
    mechanism: SizedNoise,
    epsilons: Sequence[Fraction],
    sensitivity: Sensitivity,
    dimension: int,
) -> np.ndarray:
    """Return the variance of each voter's noise a coordinate, in squared steps."""
    known = {
        epsilon: mechanism.noise(epsilon, sensitivity).variance(dimension)
        for epsilon in set(epsilons)
    }
    return np.array([known[epsilon] for epsilon in epsilons])
