"""A loss bounds the difference of two worlds, rounded up, and never mixes neighbours."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import NeighbourMismatch, NoGuarantee, ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.loss import (
    ADD_REMOVE,
    ORDERS,
    REPLACE,
    Loss,
    in_clear,
    laplace,
    no_loss,
    noise,
    pure_loss,
    response,
    rho_loss,
    tail,
)

FIVE = response(4611686018427387900 - 4 * 686438309106356481, 686438309106356481, 5)


def renyi(first: list[mpmath.mpf], second: list[mpmath.mpf], order: int) -> mpmath.mpf:
    """Return the larger Renyi divergence of two tables, in either direction."""
    both = ((first, second), (second, first))
    moments = [
        sum(p**order * q ** (1 - order) for p, q in zip(*pair, strict=True)) for pair in both
    ]
    return max(mpmath.log(moment) for moment in moments) / (order - 1)


def assert_just_above(amount: float, exact: mpmath.mpf, *, micro: int = 1) -> None:
    """Check that an amount is the exact one rounded up, by no more than some millionths."""
    with mpmath.workdps(60):
        assert exact * MICRO <= amount + mpmath.mpf(10) ** -20
        assert amount - micro <= exact * MICRO


def test_golden_orders() -> None:
    """The amounts of ACCOUNTANT's table, to the millionth."""
    ours = (735326, 846727, 895884, 921716, 937352, 955249)
    assert pure_loss(Micro(MICRO)).orders[:6] == ours
    assert FIVE.orders[:6] == (470719, 620110, 716508, 778826, 820519, 870882)
    assert (FIVE.pure, FIVE.clock) == (1_000_000, math.inf)


@pytest.mark.parametrize(
    ("squared", "largest", "variance", "orders", "clock"),
    [
        (16, 16, "144", (111112, 166667, 222223), 111112),
        (16, 16, "36", (444445, 666667, 888889), 444445),
        (16, 16, "9", (1777778, 2666667, 3555556), math.inf),
        (2, 1, "20", (100000, 150000, 200000), 100000),
        (20, 1, "20", (1000000, 1500000, 2000000), 1000000),
        (1, 1, "0.7173", (1394117, 2091176, 2788234), math.inf),
    ],
)
def test_golden_noise(
    squared: int, largest: int, variance: str, orders: tuple[int, ...], clock: float
) -> None:
    """Noise costs the proven amount of its lattice; a coarse one has no clock."""
    loss = noise(squared, largest, Fraction(variance))
    assert (loss.orders[:3], loss.clock, loss.pure) == (orders, clock, math.inf)


@pytest.mark.parametrize(
    ("sigma", "answers", "expected"),
    [
        *((12, n, x) for n, x in ((1, 1809924), (2, 2589290), (5, 4195870), (10, 6096443))),
        *((6, n, x) for n, x in ((1, 3751423), (2, 5429771))),
        (3, 1, 7898323),
    ],
)
def test_golden_tails(sigma: int, answers: int, expected: int) -> None:
    """A rating from 1 to 5 has the tails of the table."""
    assert tail(noise(16, 16, Fraction(sigma**2)) * answers) == Micro(expected)


@given(
    keep=st.integers(1, 10**6), other=st.integers(1, 10**6), symbols=st.sampled_from((2, 3, 7, 100))
)
def test_prop_a_response_costs_its_divergence(keep: int, other: int, symbols: int) -> None:
    """Every order is the divergence of the two report tables, rounded up; above pure it is not."""
    loss = response(keep, other, symbols)
    with mpmath.workdps(60):
        total = keep + (symbols - 1) * other
        first = [mpmath.mpf(keep), *[mpmath.mpf(other)] * (symbols - 1)]
        second = [first[1], first[0], *first[2:]]
        for order, amount in zip(ORDERS, loss.orders, strict=True):
            exact = renyi([x / total for x in first], [x / total for x in second], order)
            assert_just_above(amount, exact)
        assert_just_above(loss.pure, abs(mpmath.log(mpmath.mpf(keep) / other)))
    assert max(loss.orders) <= loss.pure


@given(micro=st.integers(1, 100 * MICRO))
def test_prop_a_pure_epsilon_is_a_response_of_two(micro: int) -> None:
    """Known by epsilon alone, a loss is that of two-option response, up to any size."""
    loss = pure_loss(Micro(micro))
    with mpmath.workdps(400):
        size = mpmath.mpf(micro) / MICRO
        share = 1 / (1 + mpmath.exp(-size))
        for order, amount in zip(ORDERS, loss.orders, strict=True):
            assert_just_above(amount, renyi([share, 1 - share], [1 - share, share], order))
    assert list(loss.orders) == sorted(loss.orders)
    assert loss.orders[-1] <= loss.pure


@given(
    steps=st.integers(1, 40),
    scale=st.fractions(min_value=Fraction(1, 2), max_value=10**6, max_denominator=1000),
)
def test_prop_laplace_noise_costs_its_divergence(steps: int, scale: Fraction) -> None:
    """The closed form is the sum over the lattice, on coarse and on fine lattices."""
    loss = laplace(steps, scale)
    with mpmath.workdps(120):
        h = mpmath.mpf(scale.denominator) / scale.numerator
        q = mpmath.exp(-h)
        if steps * h >= 64:
            assert loss.orders[0] == loss.pure
            return
        for order, amount in zip(ORDERS, loss.orders, strict=True):
            moment = (mpmath.exp((order - 1) * steps * h) + mpmath.exp(-order * steps * h)) / (
                1 + q
            )
            between = sum(mpmath.exp(-(2 * order - 1) * n * h) for n in range(1, steps))
            moment += (1 - q) / (1 + q) * mpmath.exp((order - 1) * steps * h) * between
            exact = max(mpmath.log(moment) / (order - 1), mpmath.mpf(0))
            assert_just_above(amount, exact)


def test_laplace_of_one_step_is_a_response_of_two() -> None:
    """Noise that moves by one step is two-option response, and fine noise is no special case."""
    for micro in (1, 1000, MICRO, 20 * MICRO):
        one, two = laplace(1, Fraction(MICRO, micro)), pure_loss(Micro(micro))
        assert (one.pure, one.orders) == (two.pure, two.orders)
    fine = laplace(1 << 40, Fraction(1 << 40))
    coarse = laplace(1 << 20, Fraction(1 << 20))
    assert all(abs(a - b) <= 1 for a, b in zip(fine.orders, coarse.orders, strict=True))


def test_exact_noise_on_a_lattice_costs_its_divergence() -> None:
    """Summed over the lattice, the divergence of shifted noise is ``a D / (2 v)``, or below it."""
    with mpmath.workdps(40):
        for change, variance in ((1, Fraction(7173, 10000)), (4, Fraction(9)), (3, Fraction(1, 4))):
            v = mpmath.mpf(variance.numerator) / variance.denominator
            points = range(-200, 201)
            weight = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) for x in range(-210, 211)}
            total = sum(weight.values())
            first = [weight[x] / total for x in points]
            second = [weight[x - change] / total for x in points]
            loss = noise(change**2, change**2, variance)
            for order, amount in zip(ORDERS[:6], loss.orders, strict=False):
                assert renyi(first, second, order) * MICRO <= amount + mpmath.mpf(10) ** -12


def test_what_says_nothing_costs_nothing() -> None:
    """No change, uniform reports and epsilon 0 cost 0 in every amount."""
    free = no_loss()
    assert response(5, 5, 3) == pure_loss(Micro(0)) == laplace(0, Fraction(1)) == free
    assert noise(0, 0, Fraction(1)) == rho_loss(Fraction(0)) == free
    assert 0 * pure_loss(Micro(5)) == free
    assert tail(free) == Micro(0)


def test_an_answer_in_clear_has_no_bound() -> None:
    """A response that never lies, and an infinite epsilon, are in clear."""
    assert response(1, 0, 2).in_clear
    assert response(0, 1, 3).in_clear
    assert pure_loss(Micro(math.inf)) == in_clear()
    assert not noise(1, 1, Fraction(1)).in_clear
    assert tail(in_clear()) == Micro(math.inf)


def test_losses_of_different_worlds_do_not_add() -> None:
    """Another relation or another unit raises, and the message names both."""
    here = pure_loss(Micro(MICRO))
    with pytest.raises(NeighbourMismatch, match=r"replace, person .* add-remove, person"):
        here + pure_loss(Micro(MICRO), relation=ADD_REMOVE)
    with pytest.raises(NeighbourMismatch, match=r"replace, person .* replace, claim"):
        here + here.of_unit("claim")
    assert issubclass(NeighbourMismatch, ParameterError)


def test_a_loss_is_used_as_its_epsilon() -> None:
    """A loss compares with numbers by its pure epsilon, and says it in `float` and `format`."""
    loss = pure_loss(Micro(1_500_000))
    assert (float(loss), f"{loss:.2f}", str(loss)) == (1.5, "1.50", "1.5")
    assert 1 < loss <= 1.5 == loss != 2
    assert rho_loss(Fraction(1)) != math.inf == in_clear()
    assert repr(loss) == "Loss(epsilon=1.5, unit='person', relation='replace')"
    assert in_clear() > 1e9


def test_losses_are_ordered_where_every_amount_is() -> None:
    """Of two losses one is smaller where it is so in every amount; other worlds do not compare."""
    small, large, noise = (
        pure_loss(Micro(10**6)),
        pure_loss(Micro(2 * 10**6)),
        rho_loss(Fraction(1, 100)),
    )
    assert small < large
    assert large > small
    assert small <= pure_loss(Micro(10**6)) <= small
    assert not small < noise
    assert not noise < small
    assert small != noise
    assert len({small, noise, noise.of_unit("claim"), pure_loss(Micro(10**6))}) == 3
    with pytest.raises(NeighbourMismatch):
        _ = small < no_loss(relation=ADD_REMOVE)


def test_a_removal_and_an_addition_is_a_replacement() -> None:
    """A pure epsilon doubles, Gaussian noise costs four times as much, all else is refused."""
    listed = pure_loss(Micro(MICRO), relation=ADD_REMOVE)
    assert listed.as_replace() == pure_loss(Micro(2 * MICRO))
    one = noise(16, 16, Fraction(144), relation=ADD_REMOVE)
    moved = one.as_replace()
    twice = noise(64, 64, Fraction(144))
    assert all(0 <= a - b <= 4 * 256 for a, b in zip(moved.orders, twice.orders, strict=True))
    assert (moved.relation, moved.clock) == (REPLACE, math.inf)
    assert moved.as_replace() is moved
    with pytest.raises(NoGuarantee, match="says nothing of a replacement"):
        rho_loss(Fraction(1), relation=ADD_REMOVE).as_replace()


def test_a_smaller_pure_epsilon_bounds_every_order() -> None:
    """Where the whole is known by a smaller epsilon than its parts, no order is above it."""
    many = pure_loss(Micro(100_000)) * 30
    known = many.within_pure(Micro(1_500_000))
    assert known.pure == 1_500_000 >= max(known.orders)
    assert many.within_pure(Micro(9 * MICRO)) == many


@pytest.mark.parametrize("amount", [-1, 0.5, math.nan, "1", True, None])
def test_an_amount_is_a_whole_number(amount: object) -> None:
    """Floats, negative amounts and NaN are refused."""
    with pytest.raises((ParameterError, TypeError)):
        Loss(REPLACE, "person", amount, (0,) * len(ORDERS), 0)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="expected 17"):
        Loss(REPLACE, "person", 0, (0,), 0)


def test_a_tail_is_above_every_exact_quantile() -> None:
    """Enumerated, the chance that the loss exceeds its tail is below the stated one."""
    for sigma, most in ((12, 1638889), (6, 3333333), (3, 7111111)):
        bound = tail(noise(16, 16, Fraction(sigma**2)))
        assert bound.micro >= most
        v = sigma**2
        weights = {x: math.exp(-(x**2) / (2 * v)) for x in range(-40 * sigma, 40 * sigma + 1)}
        total = math.fsum(weights.values())
        over = [w for x, w in weights.items() if (16 - 8 * x) / (2 * v) > bound.epsilon]
        assert math.fsum(over) / total <= 1.1e-7


@given(steps=st.integers(1, 1000), top=st.integers(1, 10**6), bottom=st.integers(1, 10**6))
def test_prop_laplace_noise_has_its_pure_epsilon_rounded_up(
    steps: int, top: int, bottom: int
) -> None:
    """Steps over scale, in millionths: at least that, and less than one above."""
    exact = steps / Fraction(top, bottom) * MICRO
    assert exact <= laplace(steps, Fraction(top, bottom)).pure < exact + 1
    assert laplace(1, Fraction(3)).pure == 333_334
