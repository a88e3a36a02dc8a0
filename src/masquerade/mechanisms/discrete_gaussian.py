"""Discrete Gaussian noise: the answer plus a whole number of steps, never clipped.

Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020. It
takes the place of the floating-point Gaussian of Kandappu et al. (Loki, 2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.epsilon_at_delta import (
    DEFAULT_DELTA,
    epsilon_of_reports,
    probability_of_failure,
)
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import NO_LOSS, Micro
from masquerade.exact.noise import discrete_gaussian
from masquerade.exact.number import NumberLike, finite, text_of, whole
from masquerade.exact.pairs import NoisePair, Pair
from masquerade.mechanisms.lattice import Lattice, LatticeMechanism
from masquerade.mechanisms.randomized_response import ASSUMPTIONS

_LEAST_STEPS, _MOST_STEPS = Fraction(1, 1024), 1 << 40
# Noise reaches farther than so many sigmas with a probability of 2.3e-19 an answer: no honest
# report is refused in the life of a server. Estimates cut far nearer (`BoundedReport`).
_REACH = 9
_SMOOTH = 2  # from this many steps on, sums over the lattice are integrals to 1e-30


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DiscreteGaussian(LatticeMechanism):
    """Add discrete Gaussian noise to an answer on a lattice; the report may leave the range.

    Parameters
    ----------
    low, high : number
        Ends of the range of answers, on the question's scale.
    step : number
        Distance of neighbouring answers.
    sigma : number
        Parameter of the noise, on the question's scale: P(n steps) is proportional to
        ``exp(-(n step)**2 / (2 sigma**2))``. From step / 1024 to 2**40 steps.

    Privacy
    -------
    Protects each answer of a person from everyone but the person's own device. Neighbours: two
    people whose answers differ, in one (event) or in all n (user). One answer costs
    ``rho = (high - low)**2 / (2 sigma**2)`` of zero-concentrated loss, exactly, and rho adds over
    answers. There is no finite pure epsilon: the epsilons hold at a delta, by the exact sum over
    the lattice (see `epsilon_at_delta`), rounded up.

    The published loss of this noise (Kandappu et al., eq. 2 and examples 3 and 4) understates
    epsilon 1.6 and 2.5 times at the two stronger of its levels, and depends on the unit in which
    answers are written; here only (high - low) / sigma counts.

    Examples
    --------
    >>> mechanism = DiscreteGaussian(1, 5, sigma=6)
    >>> promise = mechanism.guarantee(answers=3)
    >>> promise.rho_user.epsilon, promise.epsilon_event.epsilon, promise.epsilon_user.epsilon
    (0.666667, 3.096334, 5.759911)
    """

    name = "discrete-gaussian"
    example = "discrete-gaussian:low=1,high=5,sigma=3"

    null = False
    in_surveys = True

    lattice: Lattice
    sigma: Fraction

    def __init__(
        self, low: NumberLike, high: NumberLike, step: NumberLike = 1, *, sigma: NumberLike
    ) -> None:
        self._set(lattice=Lattice.of_answers(low, high, step), sigma=finite(sigma, "sigma"))
        if not _LEAST_STEPS <= self.sigma / self.lattice.step <= _MOST_STEPS:
            raise ParameterError(
                f"sigma is {text_of(self.sigma)}, expected from step / 1024 to 2**40 steps of "
                f"{text_of(self.lattice.step)}."
            )

    @property
    def noise_variance(self) -> Fraction:
        """Parameter of the noise in squared lattice steps."""
        return (self.sigma / self.lattice.step) ** 2

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated loss of one answer, exactly."""
        # Canonne, Kamath and Steinke (2020), Theorem 4.
        return ((self.lattice.high - self.lattice.low) / self.sigma) ** 2 / 2

    def guarantee(self, *, answers: int = 1, delta: NumberLike = DEFAULT_DELTA) -> Guarantee:
        """Return the guarantee of `answers` answers of one person, at a `delta` above 0.

        The epsilons are exact for the worst answers, rounded up; see `epsilon_of_reports`.

        Cost: a few milliseconds the first time for one set of parameters.
        """
        answers = whole(answers, "answers", low=0)
        delta = probability_of_failure(delta)
        # in steps: the guarantee must not depend on the unit in which answers are written
        change, variance = self.lattice.points - 1, self.noise_variance
        one = epsilon_of_reports(change, variance, delta, reports=1)
        user = epsilon_of_reports(change, variance, delta, reports=answers) if answers else NO_LOSS
        rho_user = Micro.of_amount(self.rho * answers)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one if answers else NO_LOSS,
            epsilon_user=user,
            answers=answers,
            assumptions=ASSUMPTIONS,
            delta=delta,
            rho_event=Micro.of_amount(self.rho * min(answers, 1)),
            rho_user=rho_user,
        )

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of two numbers at both ends, for each answer."""
        one = NoisePair.of_number(self.lattice.points - 1, self.noise_variance)
        return {one: whole(answers, "answers", low=0)}

    def variance(self) -> float:
        """Return the variance of a report, an unbiased estimate of its answer; at most sigma**2."""
        steps, weight = self._near_zero()
        if weight is None:
            return float(self.sigma**2)
        return float((weight * steps**2).sum() / weight.sum()) * float(self.lattice.step) ** 2

    def probability(self, answer: ArrayLike, report: ArrayLike) -> Floats:
        """Return P(report | answer) in floats; both on the question's scale."""
        distance = np.rint(self.lattice.offsets(report) - self.lattice.offsets(answer))
        variance = float(self.noise_variance)
        _, weight = self._near_zero()
        total = math.sqrt(2 * math.pi * variance) if weight is None else weight.sum()
        return np.asarray(np.exp(-(distance**2) / (2 * variance)) / total)

    def _near_zero(self) -> tuple[Floats, Floats | None]:
        """Return steps and their weights; None where they are as good as an integral."""
        variance = float(self.noise_variance)
        # used for variances below 4: beyond 80 steps the weights are below exp(-800), which is 0
        steps = np.arange(-80.0, 81.0)
        smooth = variance >= _SMOOTH**2
        return steps, None if smooth else np.exp(-(steps**2) / (2 * variance))

    def device_form(self) -> dict[str, Any]:
        """Return the whole-number form: the noise has ``variance`` in squared lattice steps."""
        variance = self.noise_variance
        return {
            "name": self.name,
            "points": self.lattice.points,
            "variance": [str(variance.numerator), str(variance.denominator)],
        }

    @property
    def as_gaussian(self) -> DiscreteGaussian:
        """The mechanism itself."""
        return self

    def possible_reports(self) -> tuple[int, int]:
        """Return the ends of the range, each moved outwards by nine sigmas."""
        reach = int(_REACH * (self.sigma / self.lattice.step)) + 1
        return -reach, self.lattice.points - 1 + reach

    def mask(self, answers: Integers, persons: Codes, source: WordSource) -> Integers:
        """Return each answer plus noise, in lattice steps."""
        return answers + discrete_gaussian(source, self.noise_variance, len(answers))
