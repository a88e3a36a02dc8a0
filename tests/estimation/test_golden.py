"""Figures, intervals and tests of the core against values computed by another program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from masquerade.estimation import (
    ALIKE,
    OWN,
    WITHIN,
    Counts,
    Crowd,
    Figures,
    Numbers,
    Sums,
    Table,
    ahead,
    difference,
    ratios,
)
from masquerade.mechanisms import RandomizedResponse

FIVE = [1, 2, 3, 4, 5]
PROMOTERS = [-1] * 7 + [0] * 2 + [1] * 2


def crowd(counts: list[int], options: int = 0, epsilon: float = 0) -> Crowd:
    """Return people of one level, in clear without a mask."""
    mask = RandomizedResponse(options, epsilon=epsilon) if options else None
    return Crowd.of([Counts.of(counts, mask)])


def levels(bound: float) -> Crowd:
    """Return people at three levels."""
    counts = [([30, 24], 0.5), ([50, 40], 1.0), ([45, 11], 3.0)]
    groups = [Counts.of(count, RandomizedResponse(2, epsilon=e)) for count, e in counts]
    return Crowd.of(groups, bound=bound)


def table() -> Crowd:
    """Return answers to two questions, both masked."""
    mask = RandomizedResponse(2, epsilon=2)
    return Crowd.of([Table.of([[8, 12], [22, 18]], mask, mask)])


NUMBERS = [0] * 194 + [40] * 6

GOLDEN: dict[str, tuple[Callable[[], Figures], int, tuple[float, float, float]]] = {
    "0 of 20": (lambda: crowd([0, 20]).shares(), 0, (0, 0, 0.153571)),
    "1 of 20": (lambda: crowd([1, 19]).shares(), 0, (0.05, 0.002849, 0.236348)),
    "20 of 1,000": (lambda: crowd([20, 980]).shares(), 0, (0.02, 0.012507, 0.030526)),
    "198 of 199": (lambda: crowd([198, 1]).shares(), 0, (0.994975, 0.973589, 0.999713)),
    "199 of 199": (lambda: crowd([199, 0]).shares(), 0, (1, 0.983201, 1)),
    "all five": (lambda: crowd([0, 0, 0, 0, 20]).mean(FIVE), 0, (5, 4.385717, 5)),
    "one four": (lambda: crowd([0, 0, 0, 1, 19]).mean(FIVE), 0, (4.95, 4.338332, 4.997151)),
    "flat": (lambda: crowd([4] * 5).mean(FIVE), 0, (3, 2.344962, 3.655038)),
    "promoters": (
        lambda: crowd([1, 0, 0, 1, 2, 3, 5, 10, 20, 30, 28]).mean(PROMOTERS),
        0,
        (0.46, 0.307208, 0.590752),
    ),
    "numbers": (
        lambda: Crowd.of([Numbers.of(NUMBERS, 0, 40)]).mean(),
        0,
        (1.2, 0.480110, 2.523382),
    ),
    "masked mean": (
        lambda: crowd([30, 30, 40, 50, 50], 5, 1).mean(FIVE),
        0,
        (4.172965, 3.390916, 4.925985),
    ),
    "masked share": (
        lambda: crowd([30, 30, 40, 50, 50], 5, 1).shares(),
        4,
        (0.395494, 0.172298, 0.649093),
    ),
    "outside": (
        lambda: crowd([20, 20, 20, 20, 120], 5, 1).mean(FIVE),
        0,
        (6.909884, 4.805149, 5),
    ),
    "nobody, masked": (lambda: crowd([0, 10, 10], 3, 4).shares(), 0, (-0.018657, 0, 0.143509)),
    "asked": (
        lambda: ratios(crowd([140, 90, 170], 3, 1), [[1, 0, 0]], [1, 1, 0]),
        0,
        (0.913587, 0.661867, 1),
    ),
    "cell": (lambda: table().shares(), 0, (0.083112, 0, 0.241969)),
    "rare against common": (
        lambda: difference(crowd([0, 20]).shares(), crowd([20, 980]).shares()),
        0,
        (-0.02, -0.030526, 0.133777),
    ),
    "difference": (
        lambda: difference(crowd([12, 48]).shares(), crowd([30, 30]).shares()),
        0,
        (-0.3, -0.461019, -0.123065),
    ),
    "masked difference": (
        lambda: difference(crowd([90, 110], 2, 1).shares(), crowd([70, 130], 2, 1).shares()),
        0,
        (0.216395, 0.003123, 0.425956),
    ),
    "sums": (
        lambda: Crowd.of([Sums.of([41, 63], variance=9, people=100)]).shares(),
        0,
        (0.39, 0.287119, 0.498776),
    ),
    "sums' mean": (
        lambda: Crowd.of([Sums.of([-2, 1, 4, 30, 70], variance=9, people=100)]).mean(FIVE),
        0,
        (4.73, 4.487621, 4.942394),
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_figures_are_the_golden_ones(name: str) -> None:
    """Each figure and both ends of its interval agree to six digits."""
    figures, place, expected = GOLDEN[name]
    found = figures().estimates()[place]
    assert (found.value, found.low, found.high) == pytest.approx(expected, abs=1.01e-6)


@pytest.mark.parametrize(
    ("bound", "low", "high"),
    [(ALIKE, 0.6592, 0.8811), (WITHIN, 0.5713, 0.8755), (OWN, 0.5182, 0.8755)],
)
def test_levels_have_the_golden_intervals(bound: float, low: float, high: float) -> None:
    """Intervals of three levels agree to four digits, for every bound."""
    found = levels(bound).shares().estimates()[0]
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_levels_that_differ_by_less_than_the_bound_weigh_as_people_do() -> None:
    """The estimate within a bound is the mean of all people, that of levels alike the likeliest."""
    within, own, alike = (levels(b).shares().estimates()[0].value for b in (WITHIN, OWN, ALIKE))
    assert within == own == pytest.approx(0.709251, abs=1e-6)
    assert alike == pytest.approx(0.775498, abs=1e-6)


def test_p_values_are_the_golden_ones() -> None:
    """W and p of differences agree to six digits, and nothing speaks against an equal share."""
    found = difference(crowd([12, 48]).shares(), crowd([30, 30]).shares())
    assert found.statistic(0)[0] == pytest.approx(11.358971, abs=1e-6)
    assert found.probabilities(0)[0] == pytest.approx(0.000751, abs=1e-6)
    masked = difference(crowd([90, 110], 2, 1).shares(), crowd([70, 130], 2, 1).shares())
    assert masked.statistic(0)[0] == pytest.approx(3.957840, abs=1e-6)
    assert masked.probabilities(0)[0] == pytest.approx(0.046654, abs=1e-6)
    rare = difference(crowd([0, 20]).shares(), crowd([20, 980]).shares())
    assert rare.probabilities(0)[0] == 1


@pytest.mark.parametrize(
    ("first", "second", "statistic", "named"),
    [
        (40, 25, 3.236669, False),
        (40, 24, 3.761512, False),
        (6, 0, 5.485451, False),  # fewer than 20 people
        (5, 0, 4.273622, False),
        (30, 17, 3.328533, False),
        (41, 24, 4.327014, True),
    ],
)
def test_who_is_ahead_is_tested_by_the_golden_values(
    first: int, second: int, statistic: float, named: bool
) -> None:
    """A pair's statistic is that of its own closed form, and decides the names."""
    b = second + 0.5
    closed = 2 * (first * np.log(2 * first / (first + b)) + b * np.log(2 * b / (first + b)))
    found = ahead(crowd([first, second]))
    assert found.statistics[1] == pytest.approx(closed, abs=1e-9)
    assert found.statistics[1] == pytest.approx(statistic, abs=1e-6) or named
    assert (found.named == 0) is named


def test_first_options_of_equal_crowds_keep_within_dunnetts_quantiles() -> None:
    """Dunnett's one-sided quantiles for many degrees are those of the set that may be first."""
    from masquerade.estimation.contenders import largest_difference

    quantiles = [largest_difference(k, 0.95) for k in (2, 3, 4, 5, 7, 10)]
    # Dunnett (1955), table 1a, infinite degrees of freedom
    assert quantiles == pytest.approx([1.64, 1.92, 2.06, 2.16, 2.29, 2.42], abs=0.006)


def test_an_option_behind_by_less_than_dunnetts_quantile_may_be_first() -> None:
    """Of five options one beyond the cut of a pair, within that of all pairs, stays in the set."""
    found = ahead(crowd([41, 26, 24, 5, 5]))
    assert found.named is None
    assert found.statistics[1] < 3.8415 < found.statistics[2] < 2.16**2 < found.statistics[3]
    assert found.candidates == (0, 1, 2)


def test_a_first_option_of_few_people_is_not_named() -> None:
    """All of 19 people name no option as surely first, all of 20 do."""
    assert ahead(crowd([19, 0])).named is None
    assert ahead(crowd([20, 0])).named == 0
