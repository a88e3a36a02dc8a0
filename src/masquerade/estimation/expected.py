"""Reports as they are expected before anybody answers, for forecasts and plans.

A forecast is the interval that the core gives for expected counts of reports, so it agrees with the
result of a survey whose answers are as assumed, and it never exceeds half the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from masquerade.estimation.bounded_reports import BoundedReport
from masquerade.estimation.conditional import ratios
from masquerade.estimation.figures import CONFIDENCE, Crowd, Figures, cut_of
from masquerade.estimation.reports import Counts, Levelled, LinearReports, Numbers, Subsets, Worths
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import CategoricalMechanism, SubsetSelection
from masquerade.mechanisms.lattice import LatticeMechanism

#: Standard deviation of answers that have numbers, in widths of the range.
SPREAD = 0.25

_ANSWERS = 25  # answers of a distribution
_FARTHEST = 3.5  # standard deviations
_CELLS = 64  # cells of reports
_DRAWS = 9
_DRAWN_SUBSETS = 1 << 13
_SEED = 2014


def expected_counts(
    people: float, held: ArrayLike, mechanism: CategoricalMechanism | None = None
) -> Counts:
    """Return the counts of reports of so many people, `held` their share at each answer.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, flip_probability=0.25)
    >>> expected_counts(100, [0.5, 0.5], mask).count.tolist()
    [50.0, 50.0]
    """
    share = np.asarray(held, dtype=np.float64)
    if mechanism is None:
        return Counts(people * share)
    other, signal = float(mechanism.other_probability), float(mechanism.signal)
    return Counts(people * (other + signal * share), other, signal)


def expected_numbers(
    people: float,
    low: float,
    high: float,
    mechanism: LatticeMechanism | None = None,
    *,
    centre: float | None = None,
    spread: float | None = None,
) -> Numbers:
    """Return reports of numbers with answers that are normal around a centre.

    Parameters
    ----------
    people : float
    low, high : float
        Ends of the range.
    mechanism : LatticeMechanism, optional
        Noise of reports; Gaussian reports count as `BoundedReport` has them.
    centre, spread : float, optional
        Of the answers; by default the middle, and a quarter of the range.

    Examples
    --------
    >>> round(expected_numbers(400, 0, 40).n)
    400
    """
    middle, width = (low + high) / 2, high - low
    place = np.linspace(-_FARTHEST, _FARTHEST, _ANSWERS)
    held = np.exp(-(place**2) / 2)
    held /= held.sum()
    deviation = SPREAD * width if spread is None else spread
    # of exactly this standard deviation, also where that reaches beyond the range
    place *= deviation / math.sqrt(float(held @ place**2))
    answer = (middle if centre is None else centre) + place
    if mechanism is None:
        return Numbers(people * held, answer, low, high)
    sigma = math.sqrt(mechanism.variance())
    reach, stretch = width + 8 * sigma, 1.0
    if (gaussian := mechanism.as_gaussian) is not None:
        bounded = BoundedReport.of(gaussian, max(round(people), 1))
        reach, stretch = bounded.reach, bounded.stretch
    edge = np.linspace(-reach, reach, _CELLS + 1)
    below = ndtr((edge - (answer[:, None] - middle)) / max(sigma, 1e-12))
    # what is cut stands at the cut
    chance = np.column_stack([below[:, :1], np.diff(below), 1 - below[:, -1:]])
    cell = np.concatenate([edge[:1], (edge[1:] + edge[:-1]) / 2, edge[-1:]])
    count, worth = held @ chance, stretch * cell
    variance = float(count @ worth**2 - (count @ worth) ** 2)
    mask = max(variance - deviation**2, 0.0)
    return Numbers(people * count, middle + worth, low, high, mask)


def expected_subsets(people: float, held: ArrayLike, mechanism: SubsetSelection) -> Subsets:
    """Return reports of subsets of so many people, `held` their share at each answer.

    There are too many subsets to expect each: they are drawn, with a fixed seed, for a crowd in
    which each answer has its share, and weighed so that they count as many as there are people.
    """
    share = np.asarray(held, dtype=np.float64)
    # Each answer as often as it is expected, to the nearest whole, and the rest by its largest.
    often = np.floor(share / share.sum() * _DRAWN_SUBSETS).astype(np.int64)
    often[np.argmax(share)] += _DRAWN_SUBSETS - int(often.sum())
    answers = np.repeat(np.arange(len(share)), often)
    coins = SimulatedCoins(np.random.default_rng(_SEED))
    sent = mechanism.mask(answers.astype(np.int64), answers.astype(np.int64), coins)
    reports, count = np.unique(sent, return_counts=True)
    return Subsets.of(reports, count * people / _DRAWN_SUBSETS, mechanism)


def expected_levels(
    people: float, values: Floats, mechanism: CategoricalMechanism, *, answering: float = 1.0
) -> Levelled:
    """Return reports of numbers as levels, with answers that are normal around the middle.

    `values`: the number of each level, rising; `answering`: share of people who give a number.
    """
    low, high = values[0], values[-1]
    place = np.linspace(-_FARTHEST, _FARTHEST, _ANSWERS)
    weight = np.exp(-(place**2) / 2)
    answer = np.clip((low + high) / 2 + SPREAD * (high - low) * place, low, high)
    # An answer between two levels is rounded to each by its distance from the other.
    position = (answer - low) / (high - low) * (len(values) - 1)
    share = np.maximum(1 - np.abs(position[:, None] - np.arange(len(values))), 0.0)
    held = weight @ share / weight.sum()
    if mechanism.symbols > len(values):
        held = np.append(answering * held, 1 - answering)
    return Levelled.of(expected_counts(people, held, mechanism), values)


@dataclass(frozen=True, eq=False)
class Draws:
    """Reports of a level as they may turn out, each figure of a batch another draw.

    Where levels happen to disagree, the bound on their differences makes intervals shorter than
    expected counts have them; so forecasts over levels are medians over draws.

    Attributes
    ----------
    expected : LinearReports
    factor : float array, shape (n_draws, n_reports)
        Of the expected counts.
    """

    expected: LinearReports
    factor: Floats

    @classmethod
    def of(cls, expected: LinearReports, scores: Floats, deviations: Floats) -> Draws:
        """Return draws with a figure that deviates by so many standard errors."""
        found = expected.worths(scores[None, :])
        count, worth = found.count[0], found.worth[0]
        n = count.sum()
        away = worth - count @ worth / n
        # a tilt of z away / sqrt(n var) moves the mean by z standard errors
        tilt = away / math.sqrt(max(float(count @ away**2), 1e-300))
        factor = np.exp(np.clip(deviations[:, None] * tilt, -8.0, 8.0))
        return cls(expected, factor * n / (factor @ count)[:, None])

    @property
    def n(self) -> float:
        """Number of people."""
        return self.expected.n

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return self.expected.symbols

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports, for a figure of each draw."""
        found = self.expected.worths(scores)
        return replace(found, count=found.count * self.factor)

    def tiled(self, times: int) -> Draws:
        """Return the draws so many times, for a batch as much larger."""
        return Draws(self.expected, np.tile(self.factor, (times, 1)))


def expected_figure(
    crowd: Crowd,
    scores: ArrayLike,
    whole: ArrayLike | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> Figures:
    """Return one figure of expected reports: of several levels, as draws of it.

    Parameters
    ----------
    crowd : Crowd
    scores : float array, shape (n_symbols,)
    whole : float array, shape (n_symbols,), optional
        1 for the answers of the people in question, where these are not all.
    low, high : float
        Ends of the range of a figure of some.
    """
    score = np.asarray(scores, dtype=np.float64)
    times, among = 1, None if whole is None else np.asarray(whole, dtype=np.float64)
    if len(crowd.groups) > 1:
        times = _DRAWS
        direction = score if among is None else score - (low + high) / 2 * among
        deviation = np.random.default_rng(_SEED).standard_normal((len(crowd.groups), times))
        groups = [
            Draws.of(one, direction, row) for one, row in zip(crowd.groups, deviation, strict=True)
        ]
        crowd = Crowd(tuple(groups), crowd.weights, crowd.bound)
    rows = np.tile(score, (times, 1))
    if among is None:
        return crowd.figures(rows)
    return ratios(crowd, rows, among, low=low, high=high)


def shares_around(scores: ArrayLike, centre: float, spread: float) -> Floats:
    """Return shares of answers with these scores, normal around a centre within their range.

    Examples
    --------
    >>> shares_around([1, 2, 3], 2, 0.5).round(2).tolist()
    [0.16, 0.68, 0.16]
    >>> shares_around([1, 1, 2, 3], 2, 0.5).round(2).tolist()
    [0.08, 0.08, 0.68, 0.16]
    """
    rising, place, times = np.unique(
        np.asarray(scores, dtype=np.float64), return_inverse=True, return_counts=True
    )
    if len(rising) == 1:
        return np.full(len(place), 1 / len(place))
    edge = (rising[1:] + rising[:-1]) / 2
    first, last = 2 * rising[0] - edge[0], 2 * rising[-1] - edge[-1]
    below = ndtr((np.concatenate([[first], edge, [last]]) - centre) / max(spread, 1e-12))
    held: Floats = (np.diff(below) / (below[-1] - below[0]) / times)[place]
    return held


def half_width(figures: Figures, confidence: float = CONFIDENCE) -> float:
    """Return half the width of the interval of a figure, the median of its draws."""
    low, high = figures.curve.interval(cut_of(confidence))
    return float(np.median(high - low)) / 2
