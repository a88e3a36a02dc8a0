"""One number from people at different privacy levels: three ways to weigh the levels.

People choose their level, and may choose it for what they think. Which weights are right depends on
that, and the reports alone rarely tell. So all three estimates are computed, and which one counts
is to be said before anybody answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.estimation.estimate import Estimate
from masquerade.exact.arrays import Floats
from masquerade.surveys.survey import EB, IVW, RESPONDENT

#: Least standard deviation between levels that ``eb`` allows for, in widths of the answer.
LEVEL_SPREAD = 0.075

#: A probability of differences by chance below which levels are said to differ.
DIFFER_BELOW = 0.1

_LEAST = 1e-12  # of a variance, in squared widths


@dataclass(frozen=True, slots=True, eq=False)
class LevelValues:
    """Unbiased estimates of the same numbers at each level; ``[level, number]``."""

    # float array, shape (n_levels,). People; 0 at a level of the pool from which nobody answered.
    n: Floats
    value: Floats  # float array, shape (n_levels, n_numbers)
    people: Floats  # float array, shape (n_levels, n_numbers). Variance of `value` by who answered.
    masks: Floats  # float array, shape (n_levels, n_numbers). Variance of `value` by the masks.
    # float array, shape (n_levels,), or None. How many people there are at each level, answering or
    # not, where that is known.
    pool: Floats | None = None

    @property
    def weights(self) -> Floats:
        """Share of each level in the pool, or among the respondents where no pool is known."""
        count = self.n if self.pool is None else self.pool
        share: Floats = count / count.sum()
        return share


@dataclass(frozen=True, slots=True, eq=False)
class Combination(Result):
    """The numbers over all levels, by one estimator.

    Attributes
    ----------
    weights : float array, shape (n_levels,)
        What each level's estimate counts; sums to 1.
    value : float array, shape (n_numbers,)
    sampling, mechanism, level : float array, shape (n_numbers,)
        Variances: by who answered, by the masks, and by what is not known of how levels differ.
    spread : float array, shape (n_numbers,)
        Variance between levels that was allowed for; zeros but for ``eb``.
    level_values : float array, shape (n_levels, n_numbers)
        What is taken to hold at each level.
    """

    estimator: str
    weights: Floats
    value: Floats
    sampling: Floats
    mechanism: Floats
    level: Floats
    spread: Floats
    level_values: Floats

    def estimate(
        self,
        number: int = 0,
        *,
        quantile: float,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> Estimate:
        """Return one of the numbers with its interval, both kept to the possible range."""
        sampling, mechanism = float(self.sampling[number]), float(self.mechanism[number])
        level = float(self.level[number])
        # People, masks and levels err independently, so their variances add up.
        reach = quantile * math.sqrt(sampling + mechanism + level)
        return Estimate.bounded(
            float(self.value[number]),
            below=reach,
            above=reach,
            sampling=sampling,
            mechanism=mechanism,
            level=level,
            low=low,
            high=high,
        )


@dataclass(frozen=True, slots=True)
class Heterogeneity(Result):
    """A test of whether people at different levels answer differently.

    Attributes
    ----------
    statistic : float
        Cochran's Q, or its like for several shares.
    degrees : int
        Of freedom; 0 where there is one level only.
    probability : float
        That levels which do not differ give at least this statistic.

    Examples
    --------
    >>> found = Heterogeneity(statistic=12.5, degrees=1, probability=0.0004)
    >>> found.degrees, found.differ
    (1, True)
    """

    statistic: float
    degrees: int
    probability: float

    @property
    def differ(self) -> bool:
        """Whether to warn; it is so in one of ten surveys with levels that do not differ."""
        return self.probability < DIFFER_BELOW

    @classmethod
    def of(cls, statistic: float, degrees: int) -> Heterogeneity:
        """Return a statistic with its probability, that of chi-squared."""
        if degrees < 1:
            return cls(0.0, 0, 1.0)
        return cls(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))))


def pool_counts(names: Sequence[str], pool: Mapping[str, int] | None) -> Floats | None:
    """Return the people of a pool at the levels `names`, which it must have and no others."""
    if pool is None:
        return None
    if (
        set(pool) != set(names)
        or any(count < 0 for count in pool.values())
        or not any(pool.values())
    ):
        raise ParameterError(
            f"the pool is {dict(pool)}, expected how many people there are at each of the levels "
            f"{list(names)}."
        )
    return np.array([pool[name] for name in names], dtype=np.float64)


def combine(
    levels: LevelValues, *, width: float = 1.0, spread: float = LEVEL_SPREAD
) -> dict[str, Combination]:
    """Return the three estimates; `width` is that of the answer's range, in the values' unit.

    ``respondent``: each level counts with its share of the people, so the estimate is unbiased
    whatever levels and opinions have to do with each other, and as noisy as that is. ``ivw``: each
    level counts with its precision, which is best if levels do not differ and misses the truth if
    they do. ``eb``: each level's number is drawn towards the common one, the more the noisier it
    is, allowing for differences between levels of a standard deviation of at least `spread` widths;
    then each level counts with its share of the people.

    Several numbers (the shares of several options) have the same weights, so that what adds up at
    each level adds up over all.

    Notes
    -----
    With w the shares of people, v the variances and t the variance between levels, at least that of
    `spread` and at least what DerSimonian and Laird (1986) estimate: ``B = t / (t + v)``, the
    common number has weights ``o = 1 / (v + t)``, and in all level b counts ``c = w B + o sum(w (1
    - B)) / sum(o)``. The variance is ``sum(c**2 v) + sum((w - c)**2 t)``. Where the shares of
    people are themselves those of the respondents, ``sum(w (level - mean)**2) / n`` is added. For
    several numbers v and t are summed over them.

    References
    ----------
    Kandappu et al. (2014) have the plain mean only; DerSimonian and Laird (1986); Cochran (1954).
    """
    there = levels.n > 0
    if not there.any():
        raise ParameterError("nobody answered at any level; there is nothing to combine.")
    share = levels.weights
    # A level whose reports all agree is not known for certain.
    noise = np.maximum(levels.people + levels.masks, _LEAST * width**2)
    # total[level] is v of the Notes, summed over numbers; without people there is no precision.
    total = np.where(there, noise.sum(axis=1), np.inf)
    precision = 1 / total
    present = np.where(there, share, 0.0)
    if not present.any():
        raise ParameterError("nobody answered of those who are in the pool.")
    between = np.maximum(_between(levels, noise), (spread * width) ** 2)
    common = float(between.sum())
    # EB: shrinkage B = t / (t + v) of each level towards the common number
    shrinkage = np.where(there, common / (common + total), 0.0)
    pull = 1 / (total + common)
    # c = w B + o sum(w (1 - B)) / sum(o): what a level counts in all, see Notes
    partial = share * shrinkage + float((share * (1 - shrinkage)).sum()) * pull / pull.sum()
    weights = {
        RESPONDENT: present / present.sum(),
        IVW: precision / precision.sum(),
        EB: partial,
    }
    # the common number, of weights o = 1 / (v + t)
    centre = (pull / pull.sum()) @ levels.value
    # shrunk[level, number]: drawn to the centre by 1 - B
    shrunk = centre + shrinkage[:, None] * (levels.value - centre)
    combinations = {}
    for name, weight in weights.items():
        # Rounding aside they sum to 1; shares of options have to add up, so it is taken out.
        weight = weight / weight.sum()
        value = weight @ levels.value
        level = np.zeros(levels.value.shape[1])
        if name == EB:
            # sum((w - c)**2 t): the price of not counting levels by their people
            level = ((share - weight) ** 2).sum() * between
        if name != IVW and levels.pool is None:
            # the shares of people are a sample themselves
            level = level + share @ (shrunk - share @ shrunk) ** 2 / levels.n.sum()
        combinations[name] = Combination(
            name,
            weight,
            value,
            weight**2 @ levels.people,
            weight**2 @ levels.masks,
            level,
            between if name == EB else np.zeros_like(between),
            {RESPONDENT: levels.value, IVW: np.tile(value, (len(weight), 1)), EB: shrunk}[name],
        )
    return combinations


def cochran(levels: LevelValues, *, width: float = 1.0) -> Heterogeneity:
    """Return Cochran's test of whether one number is the same at all levels."""
    there = levels.n > 0
    noise = np.maximum((levels.people + levels.masks)[there, 0], _LEAST * width**2)
    value = levels.value[there, 0]
    weight = 1 / noise
    mean = weight @ value / weight.sum()
    # Q = sum w (x - mean)**2, chi-squared with a degree less than there are levels
    return Heterogeneity.of(float(weight @ (value - mean) ** 2), len(value) - 1)


def _between(levels: LevelValues, noise: Floats) -> Floats:
    """Return the variance between levels of each number (DerSimonian and Laird), at least 0."""
    there = levels.n > 0
    weight, value = 1 / noise[there], levels.value[there]
    if len(value) < 2:
        return np.zeros(value.shape[1])
    total = weight.sum(axis=0)
    mean = (weight * value).sum(axis=0) / total
    statistic = (weight * (value - mean) ** 2).sum(axis=0)
    # DerSimonian and Laird: E[Q] = (k - 1) + t (sum w - sum w**2 / sum w)
    free = total - (weight**2).sum(axis=0) / total
    between: Floats = np.maximum((statistic - (len(value) - 1)) / free, 0.0)
    return between
