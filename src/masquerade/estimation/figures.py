"""Figures of people: estimates with intervals, tests and differences, from curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, chdtri

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.curves import Curve, LevelCurve, SumCurve
from masquerade.estimation.estimate import Estimate
from masquerade.estimation.reports import LinearReports, Reports, Worths, stacked
from masquerade.estimation.sides import Side
from masquerade.exact.arrays import Floats

#: How far a level's own figure may be from that of all people, in widths of the range.
ALIKE, WITHIN, OWN = 0.0, 0.15, 1.0

CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Figures:
    """A batch of figures of the same people, each with its curve.

    Attributes
    ----------
    curve : Curve
    n : float
        Number of people.
    sampling, masks : float array, shape (n_figures,)
        Variances of the estimates by who answered, and by masks or noise.
    """

    curve: Curve
    n: float
    sampling: Floats
    masks: Floats

    def __len__(self) -> int:
        return len(self.curve.low)

    @property
    def value(self) -> Floats:
        """The unbiased estimates; they may lie outside the range."""
        return self.curve.estimate

    def estimates(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return each figure with its interval.

        Parameters
        ----------
        confidence : float
            Of each interval by itself. For statements on a figure that was chosen after looking,
            give ``1 - (1 - confidence) / k``, k the number of figures it was chosen from.
        """
        check_confidence(confidence)
        low, high = self.curve.interval(cut_of(confidence))
        shown = self.curve.possible
        total = np.sqrt(self.sampling + self.masks)
        parts = (np.sqrt(one) for one in (self.sampling, self.masks))
        rows = zip(self.value, total, *parts, low, high, shown, strict=True)
        return tuple(
            Estimate(v, t, s, m, a, b, x)
            for v, t, s, m, a, b, x in (tuple(map(float, row)) for row in rows)
        )

    def statistic(self, values: ArrayLike) -> Floats:
        """Return W at one value for each figure: how unlikely it makes the reports."""
        x = np.broadcast_to(np.asarray(values, dtype=np.float64), self.curve.low.shape)
        height: Floats = self.curve.heights(x)[0]
        return height

    def probabilities(self, values: ArrayLike) -> Floats:
        """Return the p-value of each hypothesis that a figure has a value."""
        probability: Floats = chdtrc(1, self.statistic(values))
        return probability


def cut_of(confidence: float) -> float:
    """Return the quantile of chi-squared with one degree of freedom."""
    return float(chdtri(1, 1 - confidence))


def check_confidence(confidence: float) -> None:
    """Raise unless a confidence is a number between 0 and 1."""
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence}, expected a number between 0 and 1.")


@dataclass(frozen=True, eq=False)
class Crowd:
    """Respondents to one question, at one or several levels of protection.

    Attributes
    ----------
    groups : tuple of LinearReports
        One for each level.
    weights : float array, shape (n_levels,)
        Share of each level among the people in question.
    bound : float
        How far a level's own figure may be from that of all people, in widths of the range:
        `ALIKE`, `WITHIN` (the default) or `OWN`, decided before anybody answers.

    Examples
    --------
    >>> from masquerade.estimation import Counts
    >>> crowd = Crowd.of([Counts.of([12, 8])])
    >>> first, second = crowd.shares().estimates()
    >>> first.value, round(first.low, 3), round(first.high, 3)
    (0.6, 0.372, 0.799)
    """

    groups: tuple[LinearReports, ...]
    weights: Floats
    bound: float = WITHIN

    @classmethod
    def of(
        cls,
        groups: Sequence[LinearReports],
        *,
        pool: Sequence[float] | None = None,
        bound: float = WITHIN,
    ) -> Crowd:
        """Return a crowd of all respondents, or of a pool of known sizes.

        Raises
        ------
        EmptyTable
            Nobody answered.
        ParameterError
            Groups answered different questions, or the pool does not fit.
        """
        if not any(one.n > 0 for one in groups):
            raise EmptyTable("there are no reports; an estimate needs at least one.")
        if len({one.symbols for one in groups}) > 1:
            raise ParameterError("the groups answered different questions; combine those of one.")
        if not 0 <= bound <= 1:
            raise ParameterError(f"bound is {bound}, expected 0 to 1 widths of the range.")
        size = np.array([one.n for one in groups] if pool is None else pool, dtype=np.float64)
        if size.shape != (len(groups),) or not (size >= 0).all() or not size.sum() > 0:
            raise ParameterError(f"the pool is {pool}; give a number of people for each group.")
        # A level with nobody in it is none of the people's.
        keep = np.flatnonzero(size > 0).tolist()
        return cls(tuple(groups[at] for at in keep), size[keep] / size.sum(), bound)

    @property
    def n(self) -> float:
        """Number of respondents."""
        return sum(one.n for one in self.groups)

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return self.groups[0].symbols

    def shares(self) -> Figures:
        """Return the share of people behind each answer.

        Raises
        ------
        ParameterError
            Reports give no shares: numbers with noise, or pairs of options.
        """
        groups = [one for one in self.groups if isinstance(one, Reports)]
        if len(groups) < len(self.groups):
            raise ParameterError("these reports give no shares of answers; ask for `figures`.")
        zero = np.zeros(self.symbols)
        return self._figures([one.shares() for one in groups], zero, zero + 1)

    def figures(self, scores: ArrayLike) -> Figures:
        """Return linear figures of the answers' shares, each with a row of scores."""
        score = np.atleast_2d(np.asarray(scores, dtype=np.float64))
        if score.shape[-1] != self.symbols or not np.isfinite(score).all():
            raise ParameterError(
                f"scores have the shape {score.shape}; give {self.symbols} finite numbers each."
            )
        worths = [one.worths(score) for one in self.groups]
        far = worths[0].far if worths[0].ends is None else worths[0].ends
        low = score.min(axis=-1) if far is None else far[:, 0]
        high = score.max(axis=-1) if far is None else far[:, 1]
        return self._figures(worths, low, high)

    def tiled(self, times: int) -> Crowd:
        """Return a crowd for a batch of figures so many times as large."""
        groups = tuple(one.tiled(times) for one in self.groups)
        return Crowd(groups, self.weights, self.bound)

    def values(self, scores: Floats) -> Floats:
        """Return the unbiased estimates of figures alone, each level weighing as in the crowd."""
        own = np.stack([one.worths(scores).mean for one in self.groups], axis=-1)
        weight = np.where(np.isnan(own), 0.0, self.weights)
        value: Floats = (np.nan_to_num(own) * weight).sum(axis=-1) / weight.sum(axis=-1)
        return value

    def mean(self, scores: Sequence[float] = (1.0,)) -> Figures:
        """Return the mean score of all people, for instance of a rating or of a number."""
        return self.figures([scores])

    def _figures(self, groups: Sequence[Worths], low: Floats, high: Floats) -> Figures:
        all_groups = stacked(groups)
        own = np.stack([one.mean for one in groups], axis=-1)
        # where nobody answered at a level, the middle of the range stands for its estimate
        own = np.where(np.isnan(own), ((low + high) / 2)[:, None], own)
        up, down = sides(all_groups)
        count = all_groups.count.sum(axis=-1)
        square = self.weights**2
        each = (up.spread / up.total + down.spread / down.total) / 2
        size = np.maximum(count, 1.0)
        # In clear all is people's, and so is the half person; nobody's reports are masked.
        clear = (np.asarray(all_groups.clear) | (count == 0)).all(axis=-1, keepdims=True)
        sampling = np.where(clear, each, np.minimum(all_groups.people / size, each))
        curve: Curve
        if len(groups) == 1:
            curve = SumCurve(
                own[:, 0],
                low,
                high,
                _directions(up, down),
                all_groups.noise[:, 0],
                all_groups.shift[:, 0],
            )
        else:
            level = [one.map(lambda array: array[:, None]) for one in (up, down)]
            bound = self.bound * (high - low)
            curve = LevelCurve(own, low, high, level[0], level[1], self.weights, bound)
        masks = (each - sampling) @ square + all_groups.noise @ square
        return Figures(curve, self.n, sampling @ square, masks)


def sides(groups: Worths) -> tuple[Side, Side]:
    """Return the upper sides of groups, and the lower ones as upper sides of the negative."""
    low, high = (None, None) if groups.far is None else (groups.far[..., 0], groups.far[..., 1])
    up = Side.of(groups.count, groups.worth, high, groups.half)
    return up, Side.of(groups.count, -groups.worth, None if low is None else -low, groups.half)


def _directions(up: Side, down: Side) -> Side:
    """Return both sides of groups as one, shape (n_figures, 2, n_groups)."""
    pairs = ((getattr(up, name), getattr(down, name)) for name in Side.__slots__)
    return Side(*(np.stack(pair, axis=1) for pair in pairs))
