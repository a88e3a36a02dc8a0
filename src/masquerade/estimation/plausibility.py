"""Plausibility of reports: tests of whether honest devices could send them.

A mask is known exactly, so it is known how far reports spread, how many of them lie how far out and
how often each category is reported at the least. Reports that are none of that come from devices
that do not mask, or that lie. All probabilities here are upper bounds over every way in which
people could answer; quiet liars, who send what honest people send, are found by nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, chdtr, ndtr, pdtrc

from masquerade.answers.result import Result
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism, Mechanism

#: Most honest questions that are said to be doubtful: one in a thousand.
FALSE_ALARM = 1e-3

#: Sigmas beyond the range from where on reports are counted.
DISTANCES = (2.0, 3.0, 4.0, 5.0, 6.0)

_COUNTED_STEPS = 200.0  # noise of so many steps a sigma is summed step by step, wider noise bounded


@dataclass(frozen=True, slots=True)
class Plausibility(Result):
    """Probability that honest devices send reports as odd as these.

    Attributes
    ----------
    probability : float
        At most; over all tests together (Bonferroni).
    reason : str
        What is oddest, in words; empty where reports are not doubtful.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.estimation import share_plausibility
    >>> share_plausibility({"high": ([1000, 0], RandomizedResponse(2, epsilon=1))}).doubtful
    True
    """

    probability: float
    reason: str

    @property
    def doubtful(self) -> bool:
        """Whether to warn; it is so in at most one of a thousand questions of honest devices."""
        return self.probability < FALSE_ALARM

    @classmethod
    def of(cls, tests: Sequence[tuple[float, str]]) -> Plausibility:
        """Return the outcome of several tests, each with its probability and reason."""
        if not tests:
            return cls(1.0, "")
        least, reason = min(tests, key=lambda test: test[0])
        # Bonferroni: the tests depend on one another
        probability = min(1.0, len(tests) * least)
        return cls(probability, reason if probability < FALSE_ALARM else "")


def number_plausibility(groups: Mapping[str, tuple[ArrayLike, Mechanism]]) -> Plausibility:
    """Return how plausible noisy reports to one number are.

    Parameters
    ----------
    groups : mapping of str to (reports, mechanism)
        For each level the reports in lattice steps from the low end, and the mask. Levels without
        noise say nothing.

    Notes
    -----
    Reports beyond the range: each honest one is k sigmas beyond it with a probability of at most
    ``P(N >= k sigma) + P(N >= k sigma + width)``, so their number is at most a Poisson number with
    mean ``-n ln(1 - that)``. Spread: the sum of squares around the middle of the range, over
    sigma**2, is at most a chi-squared number with n degrees of freedom that is decentred by
    ``n (width / 2 sigma)**2`` (bounded as by Birgé, 2001); that around the mean is at least one
    with n - 1 degrees.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteGaussian
    >>> number_plausibility({"high": ([1, 3, 5, 4, 2], DiscreteGaussian(1, 5, sigma=1))}).doubtful
    False
    """
    noisy = []
    for reports, mechanism in groups.values():
        sent = np.asarray(reports, dtype=np.float64)
        gaussian = mechanism.as_gaussian
        if gaussian is not None and sent.size:
            steps = float(gaussian.sigma / gaussian.lattice.step)
            noisy.append((sent, steps, float(gaussian.lattice.points - 1)))
    n = sum(sent.size for sent, _, _ in noisy)
    tests = []
    for distance in DISTANCES if noisy else ():
        count, expected = 0, 0.0
        for sent, steps, width in noisy:
            far = math.ceil(distance * steps)
            count += int(((sent <= -far) | (sent >= width + far)).sum())
            chance = _tail(far, steps) + _tail(far + width, steps)
            # A sum of rare events is at most Poisson with mean -n ln(1 - p).
            expected -= sent.size * math.log1p(-min(chance, 1 - 1e-12))
        if not count:
            continue
        reason = (
            f"{count} of {n} reports lie {distance:g} sigma or more outside the range, where at "
            f"most {expected:.2g} are expected"
        )
        tests.append((float(pdtrc(count - 1, expected)), reason))
    tests += _spread(noisy)
    # As many tests as there could have been, so that which of them were needed does not matter.
    tests += [(1.0, "")] * (len(DISTANCES) + 2 - len(tests)) if noisy else []
    return Plausibility.of(tests)


def share_plausibility(
    groups: Mapping[str, tuple[Sequence[int], CategoricalMechanism]],
) -> Plausibility:
    """Return how plausible the counts of reports to one question of categories are.

    Parameters
    ----------
    groups : mapping of str to (counts, CategoricalMechanism)
        For each level how many people sent each report, and the mask.

    Notes
    -----
    Whatever people answer, each report is sent with a probability from `other` to `other + signal`
    of the mask; the number of people who send it lies between two binomial ones.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> share_plausibility({"high": ([60, 40], RandomizedResponse(2, epsilon=1))}).doubtful
    False
    """
    tests = []
    for level, (counts, mechanism) in groups.items():
        n = int(sum(counts))
        other, signal = float(mechanism.other_probability), float(mechanism.signal)
        # The signal is below 0 where masks mostly deny the answer.
        least, most = sorted((other, other + signal))
        for count in counts if n else ():
            share = f"{count} of {n} people at level {level} sent one report"
            few = float(bdtr(count, n, least))
            many = float(bdtrc(count - 1, n, min(most, 1.0))) if count else 1.0
            tests += [
                (few, f"{share}, which masks send {least:.1%} of the time at the least"),
                (many, f"{share}, which masks send {most:.1%} of the time at the most"),
            ]
    return Plausibility.of(tests)


def _spread(noisy: Sequence[tuple[Floats, float, float]]) -> list[tuple[float, str]]:
    """Return the tests of how far reports spread, too much or too little."""
    # Noise of less than a step is no longer chi-squared.
    smooth = [part for part in noisy if part[1] >= 1]
    n = sum(sent.size for sent, _, _ in smooth)
    if not n:
        return []
    around, within, free = 0.0, 0.0, 0
    shift = 0.0
    for sent, steps, width in smooth:
        around += float(((sent - width / 2) ** 2).sum()) / steps**2
        within += float(((sent - sent.mean()) ** 2).sum()) / steps**2
        free += sent.size - 1
        shift += sent.size * (width / 2 / steps) ** 2
    tests = []
    excess = around - (n + shift)
    if excess > 0:
        size = n + 2 * shift
        # Birgé (2001): P(X >= n + shift + 2 sqrt(size x) + 2 x) <= exp(-x), solved for x
        root = (math.sqrt(size + 2 * excess) - math.sqrt(size)) / 2
        reason = f"the {n} reports spread more than noise and range allow"
        tests.append((math.exp(-(root**2)), reason))
    if free:
        reason = f"the {n} reports spread less than the noise alone does"
        tests.append((float(chdtr(free, within)), reason))
    return tests


def _tail(steps: float, sigma: float) -> float:
    """Return at most P(noise of at least so many steps), for a parameter of `sigma` steps."""
    if sigma > _COUNTED_STEPS:
        return float(ndtr(-(steps - 1) / sigma))  # Canonne, Kamath and Steinke (2020)
    reach = math.ceil(40 * sigma) + 1
    noise = np.arange(-reach, reach + 1)
    weight = np.exp(-((noise / sigma) ** 2) / 2)
    return float(weight[noise >= steps].sum() / weight.sum())
