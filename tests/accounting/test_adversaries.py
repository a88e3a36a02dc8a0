"""Charges chosen one by one, each after all earlier reports, never exceed a cap's delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from masquerade.accounting import Caps, composed
from masquerade.exact import MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import no_loss
from masquerade.exact.pairs import KnownPair, NoisePair, Pair, ResponsePair

MILLION = Fraction(1, 10**6)
_NEAR = 1e-9  # of a step: losses of a lattice lie on the grid, but for rounding

#: Grid index of the first loss, probabilities, and the probability that is taken as a loss of all.
Kernel = tuple[int, Floats, float]


def known(epsilon: float) -> Pair:
    """Return a charge known by its pure epsilon."""
    return KnownPair(Micro(round(epsilon * MICRO)))


def a_sum(variance: float) -> Pair:
    """Return one sum between two parties that an answer moves by a step."""
    return NoisePair.of_number(1, Fraction(variance))


def choices(count: int, variance: float) -> Pair:
    """Return choices between two parties: of each, two counts move by one."""
    return NoisePair(2 * count, 1, Fraction(variance))


#: A number from 1 to 5, at each level.
HIGH, MEDIUM, LOW = (NoisePair.of_number(4, Fraction(variance)) for variance in (144, 36, 9))


def kernel_of(pair: Pair, step: float) -> Kernel:
    """Return losses on a grid; of a vector, coordinate by coordinate.

    A loss between two points is split so that both worlds keep their probabilities, which only
    makes them easier to tell.
    """
    times = 1
    if isinstance(pair, NoisePair) and pair.squared != pair.largest:
        times, rest = divmod(pair.squared, pair.largest)
        assert not rest
        pair = NoisePair(pair.largest, pair.largest, pair.variance)
    points = pair.points()
    assert points is not None
    kept = points.probability > 1e-16
    loss, chance = points.loss[kept], points.probability[kept]
    lost = float(points.probability[~kept].sum()) + points.beyond
    below = np.floor(loss / step + _NEAR).astype(np.int64)
    over = loss - below * step
    share = np.where(over < _NEAR, 0.0, np.expm1(-over) / math.expm1(-step))
    start = int(below.min())
    law = np.zeros(int(below.max()) - start + 2)
    np.add.at(law, below - start, chance * (1 - share))
    np.add.at(law, below - start + 1, chance * share)
    return several((start, law, lost), times)


def several(kernel: Kernel, times: int) -> Kernel:
    """Return the kernel of so many separate reports."""
    start, law, lost = kernel
    together = law
    for _ in range(times - 1):
        together = np.convolve(together, law)
    return start * times, together, lost * times


def worst_delta(
    epsilon: float,
    menu: Sequence[Pair],
    *,
    step: float,
    admits: Callable[[tuple[int, ...]], bool],
    at_once: Sequence[int] | None = None,
    beyond: float | None = None,
) -> float:
    """Return at most the delta that is reached if charges are chosen on the way.

    Dynamic programme over all admitted multisets, from the last choice to the first. Where all
    losses lie on the grid it enumerates every strategy, and the delta is attained.

    Parameters
    ----------
    epsilon : float
    menu : sequence of Pair
        What can be chosen, at each step anew, or nothing more.
    step : float
        Distance of the grid.
    admits : callable
        Whether so many charges of each kind are admitted.
    at_once : sequence of int, optional
        How many charges of each kind are chosen together; 1 each unless given.
    beyond : float, optional
        If given, the chance of a loss above it instead, for losses that lie on the grid.
    """
    reach = int((epsilon + 12) / step)
    grid = np.arange(-reach, reach + 1) * step
    # what is gained by stopping at a loss: (1 - e**(epsilon - loss))+
    gain = np.maximum(0.0, -np.expm1(np.minimum(epsilon - grid, 0.0)))
    if beyond is not None:
        gain = (grid > beyond + _NEAR).astype(np.float64)
    groups = at_once or [1] * len(menu)
    kernels = [
        several(kernel_of(pair, step), count) for pair, count in zip(menu, groups, strict=True)
    ]
    seen: dict[tuple[int, ...], Floats] = {}

    def value(counts: tuple[int, ...]) -> Floats:
        if counts in seen:
            return seen[counts]
        best: Floats = gain
        for place, (start, law, lost) in enumerate(kernels):
            after = tuple(n + groups[i] * (i == place) for i, n in enumerate(counts))
            if not admits(after):
                continue
            later = value(after)
            # beyond the grid above everything is lost, below it nothing more than at its end
            low, high = max(0, -start), max(0, start + len(law))
            padded = np.concatenate([np.full(low, later[0]), later, np.ones(high)])
            moved = np.correlate(padded, law, mode="valid")[low + start :][: len(later)]
            best = np.maximum(best, moved + lost)
        seen[counts] = best
        return best

    return float(value((0,) * len(menu))[reach])


def under_a_cap(
    cap: int,
    menu: Sequence[Pair],
    step: float,
    at_once: Sequence[int] | None = None,
    beyond: float | None = None,
) -> float:
    """Return the worst delta at a cap where the filter admits charges; see `worst_delta`."""
    caps = Caps(Micro(cap * MICRO), MILLION)

    def admits(counts: tuple[int, ...]) -> bool:
        charged = zip(menu, counts, strict=True)
        return caps.admits(sum((pair.loss * n for pair, n in charged), no_loss()))

    return worst_delta(cap, menu, step=step, admits=admits, at_once=at_once, beyond=beyond)


@pytest.mark.parametrize(
    ("cap", "menu", "step", "at_once"),
    [
        (3, [a_sum(4), known(0.5), known(0.25)], 0.125, None),
        (3, [a_sum(10), known(0.2), choices(1, 10)], 0.05, None),
        (6, [a_sum(2), known(1.25), known(0.5)], 0.25, None),
        (6, [a_sum(10), known(2)], 0.05, None),
        (10, [a_sum(2), choices(2, 4), known(1.25)], 0.125, None),
        (20, [a_sum(2), known(2.5), a_sum(0.5)], 0.25, (2, 1, 1)),
        (20, [choices(1, 10), known(2), a_sum(1)], 0.05, (4, 1, 2)),
    ],
)
def test_exact_every_strategy_on_a_small_lattice_stays_under_the_caps_delta(
    cap: int, menu: list[Pair], step: float, at_once: tuple[int, ...] | None
) -> None:
    """All losses lie on the grid, so that every way to choose charges is enumerated."""
    for pair in menu:
        if isinstance(pair, NoisePair):  # losses (1 - 2 x) / (2 v)
            assert (1 / (2 * pair.variance * Fraction(str(step)))).denominator == 1
    assert 0 < under_a_cap(cap, menu, step, at_once) <= 1e-6
    # what people are told of the cap is exceeded once in a million, whenever somebody stops
    told = Caps(Micro(cap * MICRO), MILLION).tail().epsilon
    assert under_a_cap(cap, menu, step, at_once, beyond=told) <= 1e-6
    assert under_a_cap(cap, menu, step, at_once, beyond=0.8 * told) > 1e-6


@pytest.mark.parametrize(
    ("cap", "menu", "at_once"),
    [
        # masks on a device
        (3, [HIGH, ResponsePair(3, 1, 2), known(0.5)], None),
        (6, [HIGH, ResponsePair(3, 1, 5), known(1.2)], None),
        (10, [MEDIUM, ResponsePair(3, 1, 2), known(1.2)], None),
        (20, [HIGH, known(3), LOW], (8, 1, 1)),
        (20, [MEDIUM, ResponsePair(4, 1, 10), known(2)], (3, 3, 1)),
        # surveys between two parties, at the edge of the clock's condition too
        (3, [choices(1, 20), choices(1, 200), a_sum(10)], None),
        (6, [choices(10, 20), a_sum(9.1), a_sum(24)], None),
        (10, [choices(1, 20), a_sum(2), a_sum(9.1)], (2, 1, 2)),
        (20, [choices(1, 20), choices(10, 20), a_sum(2)], (8, 1, 2)),
        (20, [choices(1, 1), a_sum(0.5)], None),
        # both
        (3, [HIGH, choices(1, 20), known(0.5)], None),
        (6, [ResponsePair(3, 1, 2), a_sum(2), HIGH], None),
        (20, [MEDIUM, choices(1, 2), known(2)], (2, 1, 1)),
    ],
)
def test_no_strategy_exceeds_a_caps_delta(
    cap: int, menu: list[Pair], at_once: tuple[int, ...] | None
) -> None:
    """Losses of any lattice are split over a grid: an upper bound over all strategies."""
    assert 0 < under_a_cap(cap, menu, 0.02, at_once) <= 1e-6


def test_exact_a_filter_that_adds_up_whole_distributions_is_exceeded() -> None:
    """The programme sees an unsound rule: each list within delta 1 %, a strategy at 1.09 %."""
    menu = [known(0.1), known(0.2)]
    epsilon, delta = 0.5, 1e-2

    def admits(counts: tuple[int, ...]) -> bool:
        together = composed({pair: n for pair, n in zip(menu, counts, strict=True) if n})
        return sum(counts) <= 8 and together is not None and together.delta(epsilon) <= delta

    worst = worst_delta(epsilon, menu, step=0.1, admits=admits)
    assert worst == pytest.approx(1.09e-2, abs=1e-4)
