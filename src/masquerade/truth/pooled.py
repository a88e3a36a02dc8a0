"""What all people say who chose different privacy levels: each counts once, however masked.

People choose their level, and may choose it for what they think. Weights by precision would then
estimate what the unmasked think; here every respondent has the weight 1 / n, so that the estimate
is unbiased whatever level and opinion have to do with each other, and is as noisy as that is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from masquerade.errors import EmptyTable, ParameterError
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Lattice
from masquerade.truth.shares import Estimate, estimate_shares

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PooledShares:
    """Estimated shares of all people, some of whom are masked more than others.

    Attributes
    ----------
    n : int
        Number of reports.
    reported : float array, shape (n_symbols,)
        Raw share of each report over all levels.
    estimates : tuple of Estimate, length n_symbols
        One for each option (and "no answer", last, where there is one).
    confidence : float
        Of each interval.
    """

    n: int
    reported: Floats
    estimates: tuple[Estimate, ...]
    confidence: float
    _groups: tuple[tuple[int, float, float], ...]
    _options: int

    def mean(self, scores: Sequence[float]) -> Estimate:
        """Return the mean of `scores` over the people, one score for each option.

        Who chose "no answer" is left out, by a ratio of two estimates whose error is by the delta
        method.
        """
        if len(scores) != self._options:
            raise ParameterError(
                f"{len(scores)} scores for {self._options} options; give one an option."
            )
        symbols = len(self.reported)
        score, answered = np.zeros(symbols), np.zeros(symbols)
        score[: self._options], answered[: self._options] = scores, 1.0
        shares = np.array([estimate.value for estimate in self.estimates])
        base = float(shares @ answered)
        low, high = float(min(scores)), float(max(scores))
        if base <= 0:
            return Estimate(math.nan, math.inf, math.inf, math.inf, low, high)
        value = float(shares @ score) / base
        deviation = (score - value * answered) / base
        held = _distribution(shares)
        sampling = _variance(deviation, held) / self.n
        masks = sum(
            size * _mask_variance(deviation, held, other, signal)
            for size, other, signal in self._groups
        )
        return _estimate(value, sampling, masks / self.n**2, low, high, _z(self.confidence))


def pool_shares(
    groups: Sequence[tuple[Sequence[int], CategoricalMechanism]], *, confidence: float = 0.95
) -> PooledShares:
    """Estimate the share of all people behind each answer, from counts at several levels.

    Parameters
    ----------
    groups : sequence of (counts, CategoricalMechanism)
        For each level how many people sent each report, and the mask; all of one question.
        Levels that nobody chose are left out.
    confidence : float
        Of each interval, between 0 and 1.

    Returns
    -------
    PooledShares
        ``sum over levels of (n_level / n) * estimate of the level``, unbiased; intervals are
        normal, from the exact variance of the masks at the estimated shares and that of the people.

    Raises
    ------
    EmptyTable
        No reports.
    ParameterError
        Counts do not fit their mechanism, the mechanisms are of different questions, or one says
        nothing about the answers.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> strong = RandomizedResponse(2, flip_probability=0.4)
    >>> weak = RandomizedResponse(2, flip_probability=0.1)
    >>> shares = pool_shares([([56, 44], strong), ([74, 26], weak)])
    >>> round(shares.estimates[0].value, 3), round(shares.estimates[0].mechanism_error, 3)
    (0.8, 0.124)
    """
    used = [(counts, mechanism) for counts, mechanism in groups if sum(counts)]
    if not used:
        raise EmptyTable("there are no reports; shares need at least one.")
    if len({(mechanism.options, mechanism.symbols) for _, mechanism in used}) > 1:
        raise ParameterError("the mechanisms mask different questions; pool those of one.")
    parts = [estimate_shares(counts, m, confidence=confidence) for counts, m in used]
    sizes = [part.n for part in parts]
    n = sum(sizes)
    weights = [size / n for size in sizes]
    shares = np.array(
        [
            sum(w * part.estimates[code].value for w, part in zip(weights, parts, strict=True))
            for code in range(used[0][1].symbols)
        ]
    )
    reported = np.sum([w * p.reported for w, p in zip(weights, parts, strict=True)], axis=0)
    matrices = [mechanism.channel().matrix() for _, mechanism in used]
    channels = tuple(
        (size, float(m[0, 1]), float(m[0, 0] - m[0, 1]))
        for size, m in zip(sizes, matrices, strict=True)
    )
    quantile = _z(confidence)
    estimates = []
    for value in shares.tolist():
        # Drawn towards a half, so that a share of nobody has an interval too (Agresti and Coull).
        held = (n * min(max(value, 0.0), 1.0) + quantile**2 / 2) / (n + quantile**2)
        masks = sum(
            size * _one_hot_variance(held, other, signal) for size, other, signal in channels
        )
        sampling = held * (1 - held) / n
        estimates.append(_estimate(value, sampling, masks / n**2, 0.0, 1.0, quantile))
    return PooledShares(
        n, reported, tuple(estimates), confidence, channels, used[0][1].options
    )  # fmt: skip


def pool_mean(
    groups: Sequence[tuple[Sequence[int], CategoricalMechanism | DiscreteGaussian]],
    lattice: Lattice,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate the mean of a number over all people, from reports at one or several levels.

    Parameters
    ----------
    groups : sequence of (reports, mechanism)
        For each level the reports in lattice steps from the low end, and the mask: noise, or a
        response that sends every answer as it is.
    lattice : Lattice
        The answers that can be given.
    confidence : float
        Of the interval, between 0 and 1.

    Returns
    -------
    Estimate
        The mean of the reports, unbiased, as noise has mean 0. The masks' part of the error is
        known exactly; what people differ by is the rest of the reports' variance, at most what
        answers on the lattice can have. Student's t for the interval.

    Raises
    ------
    EmptyTable
        No reports.
    """
    reports = np.array([r for sent, _ in groups for r in sent], dtype=np.float64)
    n = len(reports)
    if n == 0:
        raise EmptyTable("there are no reports; a mean needs at least one.")
    step, width = float(lattice.step), float(lattice.high - lattice.low)
    masks = sum(len(sent) * _noise(mechanism) for sent, mechanism in groups) / n
    # Nothing is known of how one person differs from others: take the most that is possible.
    differ = width**2 / 4
    if n > 1:
        seen = float(reports.var(ddof=1)) * step**2
        differ = min(max(seen - masks, 0.0), differ * n / (n - 1))
    value = float(lattice.low) + step * float(reports.mean())
    quantile = float(stdtrit(max(n - 1, 1), 0.5 + confidence / 2))
    low, high = float(lattice.low), float(lattice.high)
    return _estimate(value, differ / n, masks / n, low, high, quantile)


def _noise(mechanism: CategoricalMechanism | DiscreteGaussian) -> float:
    if isinstance(mechanism, DiscreteGaussian):
        return mechanism.variance()
    if mechanism.channel().table[0][0] != 1:
        raise ParameterError(f"{mechanism} masks categories; a mean of numbers needs noise.")
    return 0.0


def _one_hot_variance(held: float, other: float, signal: float) -> float:
    """Return the variance that the mask adds to the unbiased count of one symbol."""
    keep = other + signal
    return (held * keep * (1 - keep) + (1 - held) * other * (1 - other)) / signal**2


def _mask_variance(deviation: Floats, held: Floats, other: float, signal: float) -> float:
    """Return the variance that the mask adds to one person's part of a sum of `deviation`."""
    contribution = (deviation - other * deviation.sum()) / signal
    given = other + signal * np.eye(len(deviation))  # P(report | answer), by rows
    mean = given @ contribution
    return float(held @ (given @ contribution**2 - mean**2))


def _distribution(shares: Floats) -> Floats:
    clipped = np.clip(shares, 0.0, None)
    held: Floats = clipped / clipped.sum()
    return held


def _variance(values: Floats, weights: Floats) -> float:
    centred = values - float(weights @ values)
    return float(weights @ centred**2)


def _z(confidence: float) -> float:
    return float(ndtri(0.5 + confidence / 2))


def _estimate(
    value: float, sampling: float, masks: float, low: float, high: float, quantile: float
) -> Estimate:
    error = math.sqrt(sampling + masks)
    reach = quantile * error
    return Estimate(
        value,
        error,
        math.sqrt(sampling),
        math.sqrt(masks),
        min(max(value - reach, low), high),
        min(max(value + reach, low), high),
    )
