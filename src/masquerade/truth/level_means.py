"""The mean of a number, where people chose different privacy levels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.bounded_reports import BoundedReport
from masquerade.estimation.estimate import Estimate
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Lattice
from masquerade.surveys.survey import EB
from masquerade.truth.estimator import check_proper_share
from masquerade.truth.level_weights import (
    LEVEL_SPREAD,
    Combination,
    Heterogeneity,
    LevelValues,
    cochran,
    combine,
    pool_counts,
)

#: People from whom on a level's spread is estimated from its own reports alone.
FEWEST_BY_THEMSELVES = 5

_LEAST = 1e-9  # of what people differ by, in squared widths


@dataclass(frozen=True, eq=False)
class LevelMean(Result):
    """The mean of a number over all levels, by every estimator.

    Attributes
    ----------
    names : tuple of str
        Of the levels.
    heterogeneity : Heterogeneity
        Cochran's Q.
    combinations : dict of str to Combination
        By estimator; empty where nothing is known.
    wider : Combination or None
        ``eb``, allowing for twice the differences between levels.
    levels : LevelValues or None
        What went in.
    """

    names: tuple[str, ...]
    confidence: float
    heterogeneity: Heterogeneity
    combinations: dict[str, Combination]
    wider: Combination | None
    levels: LevelValues | None
    _spread: Floats
    _low: float
    _high: float

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        levels: LevelValues,
        spread: Floats,
        *,
        low: float,
        high: float,
        confidence: float,
    ) -> LevelMean:
        """Return the means of levels, combined; `spread` is the variance of their reports."""
        width = high - low
        return cls(
            names,
            confidence,
            cochran(levels, width=width),
            combine(levels, width=width),
            combine(levels, width=width, spread=2 * LEVEL_SPREAD)[EB],
            levels,
            spread,
            low,
            high,
        )

    @classmethod
    def unknown(
        cls, names: tuple[str, ...], low: float, high: float, confidence: float
    ) -> LevelMean:
        """Return the mean of nobody."""
        nothing = Heterogeneity.of(0.0, 0)
        return cls(names, confidence, nothing, {}, None, None, np.zeros(0), low, high)

    def to_arrow(self) -> pa.Table:
        """Return the mean over all levels, then that of each level."""
        rows = [{"level": "all", **asdict(self.estimate())}]
        rows += [{"level": name, **asdict(self.at_level(name))} for name in self.names]
        return pa.Table.from_pylist(rows)

    def estimate(self, estimator: str = EB) -> Estimate:
        """Return the mean by one of `ESTIMATORS`, with Student's t for its interval."""
        return self._interval(self.combinations.get(estimator))

    def sensitivity(self) -> Estimate:
        """Return the ``eb`` mean where levels may differ twice as much as was allowed for."""
        return self._interval(self.wider)

    def at_level(self, name: str) -> Estimate:
        """Return the mean of the people at one level.

        With 5 people or more the interval is Student's, of that level's reports alone; with fewer
        it is normal and takes what people differ by from all levels.
        """
        levels = self.levels
        if levels is None:
            return self._nothing()
        place = self.names.index(name)
        n = float(levels.n[place])
        if not n:
            return self._nothing()
        value = float(levels.value[place, 0])
        masks, people = float(levels.masks[place, 0]), float(levels.people[place, 0])
        quantile = float(ndtri(0.5 + self.confidence / 2))
        if n >= FEWEST_BY_THEMSELVES:
            # the spread of the reports themselves holds people and masks, whatever the model
            people = max(float(self._spread[place]) / n - masks, 0.0)
            masks = min(masks, float(self._spread[place]) / n)
            quantile = float(stdtrit(n - 1, 0.5 + self.confidence / 2))
        reach = quantile * math.sqrt(people + masks)
        return Estimate.bounded(
            value,
            below=reach,
            above=reach,
            sampling=people,
            mechanism=masks,
            low=self._low,
            high=self._high,
        )

    def _interval(self, used: Combination | None) -> Estimate:
        if used is None or self.levels is None:
            return self._nothing()
        n = self.levels.n
        # Each level's spread is around its own mean, which takes a degree of freedom.
        degrees = max(float(n.sum()) - np.count_nonzero(n), 1.0)
        quantile = float(stdtrit(degrees, 0.5 + self.confidence / 2))
        return used.estimate(quantile=quantile, low=self._low, high=self._high)

    def _nothing(self) -> Estimate:
        return Estimate.unknown(self._low, self._high)


def level_mean(
    groups: Mapping[str, tuple[ArrayLike, CategoricalMechanism | DiscreteGaussian]],
    lattice: Lattice,
    *,
    pool: Mapping[str, int] | None = None,
    bias: Mapping[str, ArrayLike] | None = None,
    confidence: float = 0.95,
) -> LevelMean:
    """Estimate the mean of a number over all people, from reports at one or several levels.

    Parameters
    ----------
    groups : mapping of str to (reports, mechanism)
        For each level the reports in lattice steps from the low end, and the mask: noise, or a
        response that sends every answer as it is.
    lattice : Lattice
        The answers that can be given.
    pool : mapping of str to int, optional
        How many people are at each level of the pool that was asked, where that is known. Levels
        then count as in the pool, and who answered is a part of a finite whole.
    bias : mapping of str to float array, optional
        For each level the estimated bias of each report's person, on the question's scale
        from earlier surveys, which is subtracted. Only where that was
        decided before the answers came; by default nothing is.
    confidence : float
        Of each interval, between 0 and 1.

    Raises
    ------
    EmptyTable
        No reports.
    ParameterError
        A mechanism masks categories, a report is no number, or the pool or bias does not fit.

    Notes
    -----
    What people differ by is the reports' variance less that of the noise, over all levels, those
    with little noise counting most: see `people_variance`. The noise is known exactly. What one
    noisy report counts is bounded: see `BoundedReport`.

    Examples
    --------
    >>> clear, noisy = (DiscreteGaussian(1, 5, sigma=s) for s in (0.01, 3))
    >>> mean = level_mean({"low": ([1, 2, 3, 2], clear), "high": ([-2, 6, 1, 3], noisy)},
    ...                   Lattice(1, 5))
    >>> [round(mean.estimate(name).value, 2) for name in ("respondent", "ivw", "eb")]
    [3.0, 3.0, 3.0]
    """
    check_proper_share(confidence=confidence)
    names = tuple(groups)
    pooled = pool_counts(names, pool)
    step, start = float(lattice.step), float(lattice.low)
    width = float(lattice.high - lattice.low)
    values, noise = [], {}
    for name, (reports, mechanism) in groups.items():
        worth = start + step * np.asarray(reports, dtype=np.float64)
        odd = np.flatnonzero(~np.isfinite(worth))
        if odd.size:
            raise ParameterError(
                f"report {odd[0] + 1} at level {name!r} is no finite number; leave it out."
            )
        worth, noise[name] = _bounded(worth, mechanism)
        values.append(worth if bias is None else worth - _bias_of(name, bias, len(worth)))
    if pooled is None:  # a level that nobody chose is none of the respondents'
        names = tuple(name for name, some in zip(names, values, strict=True) if len(some))
        values = [some for some in values if len(some)]
    if not any(len(some) for some in values):
        raise EmptyTable("there are no reports; a mean needs at least one.")
    n = np.array([len(some) for some in values], dtype=np.float64)
    # A level without reports gets no weight; its mean has to be finite all the same.
    mean = np.array([some.mean() if len(some) else start for some in values])
    spread = np.array([some.var(ddof=1) if len(some) > 1 else 0.0 for some in values])
    masks = np.array([noise[name] for name in names])
    # One variance of people for all levels: that of a few reports would be luck.
    differ = people_variance(n, spread, masks, width=width)
    if pooled is not None:
        # finite-population correction: with everybody asked only masks are left
        part = np.divide(n, pooled, out=np.ones_like(n), where=pooled > 0)
        differ = differ * np.maximum(1 - part, 0.0)
    safe = np.maximum(n, 1)  # a level of the pool where nobody answered has no mean
    levels = LevelValues(
        n, mean[:, None], (differ / safe)[:, None], (masks / safe)[:, None], pooled
    )
    return LevelMean.of(
        names, levels, spread, low=start, high=float(lattice.high), confidence=confidence
    )


def people_variance(n: Floats, spread: Floats, masks: Floats, *, width: float) -> Floats:
    """Return the variance by which people differ within levels, the same for each level.

    ``sum((n - 1)(spread - masks) w) / sum((n - 1) w)`` with ``w = 1 / (width**2 / 16 + masks)**2``,
    where `spread` is the sample variance of values and `masks` what the mask adds; at least nearly
    0, at most what answers in the range can have, which is taken where no level has two people.
    """
    most = width**2 / 4  # half the people at either end (Popoviciu)
    # weights near 1 / Var of a sample variance, with a quarter of the width for people
    weight = np.maximum(n - 1, 0) / (width**2 / 16 + masks) ** 2
    if not weight.any():
        return np.full(len(n), most)
    free = float(np.maximum(n - 1, 0).sum())
    differ = float((weight * (spread - masks)).sum() / weight.sum())
    most *= (free + 1) / free  # of a sample of two at the ends
    return np.full(len(n), min(max(differ, _LEAST * width**2), most))


def _bounded(
    worth: Floats, mechanism: CategoricalMechanism | DiscreteGaussian
) -> tuple[Floats, float]:
    """Return the counted value of each report, and the variance that its mask adds to that."""
    if (gaussian := mechanism.as_gaussian) is not None:
        bounded = BoundedReport.of(gaussian, len(worth))
        return bounded.values(worth), bounded.variance
    response = mechanism.option_response
    if response is None or response.keep_probability != 1:
        raise ParameterError(f"{mechanism} masks categories; a mean of numbers needs noise.")
    return worth, 0.0


def _bias_of(name: str, bias: Mapping[str, ArrayLike], n: int) -> Floats:
    one = np.asarray(bias.get(name, ()), dtype=np.float64)
    if one.shape != (n,) or not np.isfinite(one).all():
        raise ParameterError(
            f"the bias at level {name!r} has shape {one.shape}; give one finite number for each of "
            f"the {n} reports."
        )
    return one
