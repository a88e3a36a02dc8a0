"""A cap holds whatever is chosen on the way, and admits what the table says."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from masquerade.accounting import Caps, Loss, composed, what_a_cap_buys
from masquerade.accounting.allowance import answers_allowed
from masquerade.errors import ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import no_loss, tail
from masquerade.exact.pairs import KnownPair, LaplacePair, NoisePair, Pair, ResponsePair

MILLION = Fraction(1, 10**6)
NUMBER = NoisePair.of_number(4, Fraction(144))


@pytest.mark.parametrize(
    ("cap", "numbers", "twos", "fives", "tens"),
    [
        (3, (3, 0, 0), (8, 4, 2), (6, 3, 1), (4, 2, 1)),
        (6, (12, 3, 0), (17, 8, 4), (13, 6, 3), (11, 5, 2)),
        (10, (29, 7, 1), (31, 14, 6), (28, 10, 5), (26, 8, 4)),
        (20, (91, 22, 5), (90, 29, 13), (85, 24, 11), (82, 21, 9)),
    ],
)
def test_the_filter_admits_what_the_table_says(
    cap: int,
    numbers: tuple[int, ...],
    twos: tuple[int, ...],
    fives: tuple[int, ...],
    tens: tuple[int, ...],
) -> None:
    """Answers of each kind at high, medium and low under the caps of ACCOUNTANT's table."""
    found = what_a_cap_buys(Caps(Micro(cap * MICRO)))
    kinds = {"number": numbers, "2 options": twos, "5 options": fives, "10 options": tens}
    for kind, counts in kinds.items():
        levels = ("high", "medium", "low")
        assert tuple(found[f"{level}, {kind}"].ledger for level in levels) == counts
        assert all(
            found[f"{level}, {kind}"].by_method["fixed"] >= count
            for level, count in zip(levels, counts, strict=True)
        )


def test_surveys_that_reached_beyond_their_cap_are_refused() -> None:
    """What exceeded delta under rule 2 fits no more, alone or chosen on the way."""
    one_sum = NoisePair(1, 1, 1 / (2 * Fraction(697069, 10**6)))
    yes_or_no = NoisePair(2, 1, 1 / Fraction(5135469, 10**6))
    assert not Caps(Micro(6 * MICRO)).admits(one_sum.loss)
    assert not Caps(Micro(20 * MICRO)).admits(yes_or_no.loss)
    assert one_sum.loss.clock == math.inf
    three = NoisePair(2, 1, 3 / Fraction(166861, 10**5))
    assert not Caps().admits(three.loss * 3)


def losses_of(pair: Pair) -> list[tuple[float, float]]:
    """Return the losses of a pair with their probabilities; what is cut is an infinite loss."""
    points = pair.points()
    assert points is not None
    kept = points.probability > 1e-16
    found = list(zip(points.loss[kept].tolist(), points.probability[kept].tolist(), strict=True))
    return [*found, (math.inf, float(points.probability[~kept].sum()) + points.beyond)]


def worst_delta(cap: int, menu: list[Pair], *, step: float) -> float:
    """Return at most the delta that somebody reaches who chooses charges on the way.

    Dynamic programme over all admissible multisets, from the last choice to the first. Losses are
    split between two points of a grid so that both worlds keep their probabilities, which only
    makes them easier to tell: an upper bound.
    """
    caps = Caps(Micro(cap * MICRO), MILLION)
    reach = int((cap + 12) / step)
    grid = np.arange(-reach, reach + 1) * step
    gain = np.maximum(0.0, -np.expm1(np.minimum(cap - grid, 0.0)))
    kernels = []
    for pair in menu:
        kernel: dict[int, float] = defaultdict(float)
        lost = 0.0
        for loss, chance in losses_of(pair):
            if math.isinf(loss):
                lost += chance
                continue
            below = math.floor(loss / step)
            rest = min(max(loss - below * step, 0.0), step)
            up = math.expm1(-rest) / math.expm1(-step)
            kernel[below] += chance * (1 - up)
            kernel[below + 1] += chance * up
        kernels.append((sorted(kernel.items()), lost))

    def loss_of(counts: tuple[int, ...]) -> Loss:
        return sum((pair.loss * n for pair, n in zip(menu, counts, strict=True)), no_loss())

    seen: dict[tuple[int, ...], Floats] = {}

    def value(counts: tuple[int, ...]) -> Floats:
        if counts in seen:
            return seen[counts]
        best: Floats = gain.copy()
        for place, (kernel, lost) in enumerate(kernels):
            after = tuple(n + (i == place) for i, n in enumerate(counts))
            if not caps.admits(loss_of(after)):
                continue
            later = value(after)
            # beyond the grid above everything is lost, below it nothing more than at its end
            padded = np.concatenate([np.full(2 * reach, later[0]), later, np.ones(2 * reach)])
            moved = np.full_like(later, lost)
            for shift, chance in kernel:
                start = 2 * reach + max(-2 * reach, min(2 * reach, shift))
                moved += chance * padded[start : start + len(later)]
            best = np.maximum(best, moved)
        seen[counts] = best
        return best

    return float(value((0,) * len(menu))[reach])


@pytest.mark.parametrize(
    ("cap", "menu"),
    [
        (6, [NUMBER]),
        (
            6,
            [
                ResponsePair(3, 1, 2),
                KnownPair(Micro(1_200_000)),
                NoisePair.of_number(1, Fraction(2)),
            ],
        ),
        pytest.param(
            10,
            [
                NoisePair.of_number(1, Fraction(2)),
                KnownPair(Micro(1_200_000)),
                NoisePair.of_number(4, Fraction(36)),
            ],
            marks=pytest.mark.exhaustive,
        ),
        (6, [NoisePair.of_number(1, Fraction(10)), KnownPair(Micro(2_000_000))]),
    ],
)
def test_exact_no_adversary_exceeds_a_caps_delta(cap: int, menu: list[Pair]) -> None:
    """Whoever chooses each charge after seeing all before reaches at most the cap's delta."""
    assert worst_delta(cap, menu, step=0.02) <= 1.0e-6


def random_lists(count: int, seed: int) -> list[tuple[int, list[Pair]]]:
    """Return caps and lists of charges that fill them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        cap = int(rng.choice((3, 6, 10)))
        caps, charges, loss = Caps(Micro(cap * MICRO), MILLION), [], no_loss()
        pool: list[Pair] = [
            NoisePair.of_number(4, Fraction(int(rng.integers(30, 300)))),
            ResponsePair(int(rng.integers(2, 9)), 1, int(rng.integers(2, 6))),
            KnownPair(Micro(int(rng.integers(100_000, 1_500_000)))),
            LaplacePair(4, Fraction(int(rng.integers(2, 12)))),
        ]
        for _ in range(200):
            pair = pool[int(rng.integers(len(pool)))]
            if not caps.admits(loss + pair.loss):
                break
            charges.append(pair)
            loss += pair.loss
        found.append((cap, charges))
    return found


@pytest.mark.parametrize("count", [50, pytest.param(1_000, marks=pytest.mark.exhaustive)])
def test_fixed_lists_never_exceed_a_caps_delta(count: int) -> None:
    """Filled to their cap, random lists have at most its delta; their tail bounds the quantile."""
    ratios = []
    for cap, charges in random_lists(count, 7):
        if not charges:
            continue
        counts = {pair: charges.count(pair) for pair in charges}
        distribution = composed(counts)
        assert distribution is not None
        loss = sum((pair.loss for pair in charges), no_loss())
        # an epsilon that holds outright needs no delta, and a grid rounds it up
        assert loss.pure <= cap * MICRO or distribution.delta(float(cap)) <= 1e-6
        quantile = distribution.quantile(1e-6)
        ratios.append(tail(loss).epsilon / quantile)
    assert float(np.median(ratios)) <= 1.1
    assert max(ratios) <= 1.25


def test_what_a_charge_of_one_kind_is_allowed() -> None:
    """Answers in clear are counted by their own cap; what costs nothing has no number."""
    clear = answers_allowed(ResponsePair(1, 0, 2), Caps(clear=3))
    assert (clear.ledger, clear.by_method) == (3, {"clear": 3})
    with pytest.raises(ParameterError, match="costs nothing"):
        answers_allowed(ResponsePair(1, 1, 2), Caps())


def test_a_cap_is_an_amount() -> None:
    """A float is no cap: the error shows what is."""
    with pytest.raises(ParameterError, match=r"the cap on epsilon is 10\.0, expected a finite"):
        Caps(10.0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delta is 1e-06"):
        Caps(delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="clear is -1"):
        Caps(clear=-1)
    with pytest.raises(ParameterError, match="rule"):
        Caps(rule=4)


def test_a_share_is_above_1_exactly_where_a_loss_is_refused() -> None:
    """The smallest share over the conditions says whether an empty account admits a loss."""
    for cap in (1, 3, 10):
        caps = Caps(Micro(cap * MICRO))
        for count in range(1, 60):
            for pair in (NUMBER, ResponsePair(3, 1, 2), KnownPair(Micro(250_000))):
                loss = pair.loss * count
                share = caps.share(loss)
                assert share is not None
                assert (share <= 1) == caps.admits(loss)
    assert Caps(delta=Fraction(0)).share(NUMBER.loss) is None
