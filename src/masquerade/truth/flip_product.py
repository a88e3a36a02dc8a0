"""The product of the flip probabilities that workers draw under the two-layer mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammainccinv

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.error_bounds import probabilities


@dataclass(frozen=True, slots=True)
class FlipProduct:
    """The distribution of the product of `workers` independent draws from U(0, high).

    Li et al., KDD 2018, section 6.2.3, take it for the error rate that masking adds (up to a factor
    2 to the number of workers, which they leave out) and compare it with ``(high / 2) ** workers``
    under the one-layer mechanism of the same mean. Its density is as they give it. What follows
    from it is less than they say: the mean is the same under both mechanisms; only the typical
    value is smaller, see `below_one_layer`.

    Parameters
    ----------
    workers : int
        At least 1.
    high : float
        Above 0 and at most 1.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> product = FlipProduct(workers=5, high=0.5)
    >>> round(product.mean, 6), round(product.below_one_layer, 3)
    (0.000977, 0.732)
    """

    workers: int
    high: float

    def __post_init__(self) -> None:
        if self.workers < 1 or self.workers != int(self.workers):
            raise ParameterError(f"workers is {self.workers}, expected a whole number, at least 1.")
        if not 0 < self.high <= 1:
            raise ParameterError(f"high is {self.high}, expected above 0 and at most 1.")

    def density(self, product: ArrayLike) -> Floats:
        """Return ``ln(high**n / x)**(n - 1) / (high**n (n - 1)!)``; 0 outside ``(0, high**n]``.

        At 0 it is infinite, but for one worker.
        """
        drop = self._drop(product)
        inside = (drop >= 0) & (np.asarray(product) >= 0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            power = (self.workers - 1) * np.log(drop) if self.workers > 1 else np.zeros_like(drop)
            density = np.exp(power - self.workers * math.log(self.high) - math.lgamma(self.workers))
        return np.where(inside, density, 0.0)

    def distribution(self, product: ArrayLike) -> Floats:
        """Return the probability that the product is at most `product`."""
        return np.asarray(gammaincc(self.workers, np.maximum(self._drop(product), 0)))

    def quantile(self, probability: ArrayLike) -> Floats:
        """Return the value that the product is at most with this probability, 0 to 1."""
        chance = probabilities(probability, "probability")
        drop = gammainccinv(self.workers, chance)
        return np.asarray(np.exp(self.workers * math.log(self.high) - drop))

    @property
    def mean(self) -> float:
        """``(high / 2) ** workers``: exactly the one-layer mechanism's product."""
        return float((self.high / 2) ** self.workers)

    @property
    def below_one_layer(self) -> float:
        """Probability that the product is at most its mean, the one-layer mechanism's value.

        It does not depend on `high`; 0.5 for one worker, and nearly 1 for many.
        """
        return float(gammaincc(self.workers, self.workers * math.log(2)))

    def _drop(self, product: ArrayLike) -> Floats:
        """Return ``ln(high**n / x)``; infinite where x is 0 or below."""
        value = np.maximum(np.asarray(product, dtype=np.float64), 0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.workers * math.log(self.high) - np.log(value))
