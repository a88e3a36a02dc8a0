"""Loss distributions give the exact composition, from above."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import (
    Kind,
    LossDistribution,
    MaskedChoice,
    MaskedNumber,
    Mu,
    composed,
    kinds_of,
    pure_of,
)
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, NO_LOSS, Micro
from masquerade.mechanisms import RandomizedResponse

MILLIONTH = Fraction(1, 10**6)

choices = st.builds(MaskedChoice, st.integers(2, 9), st.integers(1, 3 * MICRO).map(Micro))
pures = st.integers(1, 3 * MICRO).map(Micro)
numbers = st.builds(
    MaskedNumber, st.integers(1, 5), st.fractions(min_value=1, max_value=90, max_denominator=4)
)


def of(*kinds: Kind) -> LossDistribution:
    """Return the distribution of a list of kinds."""
    counts: dict[Kind, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    found = composed(counts)
    assert found is not None
    return found


def table(kind: Kind) -> tuple[list[float], list[float]]:
    """Return the probabilities of all reports in two worlds, by the mechanism's own formula."""
    if isinstance(kind, MaskedNumber):
        reach = 12 * math.ceil(math.sqrt(kind.variance)) + kind.change
        x = np.arange(-reach, reach + kind.change + 1)
        v = float(kind.variance)
        one, other = np.exp(-(x**2) / (2 * v)), np.exp(-((x - kind.change) ** 2) / (2 * v))
        return (one / one.sum()).tolist(), (other / other.sum()).tolist()
    assert isinstance(kind, Micro | MaskedChoice)
    symbols = kind.symbols if isinstance(kind, MaskedChoice) else 2
    epsilon = kind.epsilon if isinstance(kind, Micro) else kind.epsilon.epsilon
    flip = 1 / (math.exp(epsilon) + symbols - 1)
    keep = 1 - (symbols - 1) * flip
    rest = [flip] * (symbols - 2)
    return [keep, flip, *rest], [flip, keep, *rest]


def delta_by_enumeration(kinds: list[Kind], epsilon: float) -> float:
    """Return delta of the product of tables, one term for each combination of reports."""
    tables = [list(zip(*table(kind), strict=True)) for kind in kinds]
    return math.fsum(
        max(
            0.0, math.prod(p for p, _ in pairs) - math.exp(epsilon) * math.prod(q for _, q in pairs)
        )
        for pairs in itertools.product(*tables)
    )


@given(kinds=st.lists(choices | pures, min_size=1, max_size=4), epsilon=st.floats(0, 6))
def test_prop_delta_is_never_below_the_enumerated_table(kinds: list[Kind], epsilon: float) -> None:
    """Delta is at least that of the whole product of channels, and close to it."""
    exact = delta_by_enumeration(kinds, epsilon)
    found = of(*kinds).delta(epsilon)
    assert found >= exact * (1 - 1e-9) - 1e-14
    assert found <= exact + 3e-4  # the grid: 16 384 points over all losses that matter


@given(kind=choices | pures, count=st.integers(1, 5), epsilon=st.floats(0, 6))
def test_prop_equal_responses_are_exact(kind: Kind, count: int, epsilon: float) -> None:
    """Responses of one kind lie on the grid, so that their delta is exact up to rounding."""
    exact = delta_by_enumeration([kind] * count, epsilon)
    assert of(*[kind] * count).delta(epsilon) == pytest.approx(exact, rel=1e-7, abs=1e-13)


@given(kind=numbers, epsilon=st.floats(0, 6))
def test_prop_noise_on_a_lattice_is_never_below_its_table(
    kind: MaskedNumber, epsilon: float
) -> None:
    """One report with discrete Gaussian noise has the delta of its table, from above."""
    exact = delta_by_enumeration([kind], epsilon)
    found = of(kind).delta(epsilon)
    assert exact * (1 - 1e-9) - 1e-14 <= found <= exact + 3e-4


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        (Fraction(1, 100), ("3.435", "1.347", "0.5335")),
        (MILLIONTH, ("6.801", "3.096", "1.448")),
    ],
)
def test_noise_of_each_level_has_the_known_epsilon(
    delta: Fraction, expected: tuple[str, ...]
) -> None:
    """A 5-point rating at low, medium and high costs what the exact sum over the lattice says."""
    found = [of(MaskedNumber(4, Fraction(sigma**2))).loss(delta) for sigma in (3, 6, 12)]
    for loss, text in zip(found, expected, strict=True):
        assert f"{loss.epsilon:.{len(text.partition('.')[2])}f}" == text
    # Noise on a lattice may cost more than on the line, so that formulas for the line do not hold.
    if delta == Fraction(1, 100):
        assert found[0] > Mu.of(Fraction(4, 3)).epsilon(delta)


@pytest.mark.parametrize(
    ("flip", "pure", "approximate"),
    [("0.1", "3.5835", "3.5723"), ("0.3", "2.2336", "2.2192"), ("0.4", "1.7918", "1.7750")],
)
def test_known_epsilons_of_a_choice(flip: str, pure: str, approximate: str) -> None:
    """A choice of 5 has the known epsilon, and hardly less at a delta of a hundredth."""
    [kind] = kinds_of([RandomizedResponse(5, flip_probability=flip)])
    assert f"{pure_of(kind).epsilon:.4f}" == pure
    assert f"{of(kind).loss(Fraction(1, 100)).epsilon:.4f}" == approximate


@pytest.mark.parametrize(("micro", "count"), [(100_000, 500), (1_000_000, 60), (5_000, 3000)])
def test_many_responses_are_never_below_the_binomial_sum(micro: int, count: int) -> None:
    """Many two-option responses have the delta of their closed form, from above, to 1e-6 of it."""
    found = composed({Micro(micro): count})
    assert found is not None
    with mpmath.workdps(60):
        one = mpmath.mpf(micro) / MICRO
        keep = 1 / (1 + mpmath.exp(-one))
        for place in (0, 1, 4):
            epsilon = (one * mpmath.sqrt(count)) * place / 2
            exact = mpmath.mpf(0)
            for flips in range(count + 1):
                loss = (count - 2 * flips) * one
                if loss > epsilon:
                    chance = mpmath.binomial(count, flips) * keep ** (count - flips)
                    exact += chance * (1 - keep) ** flips * -mpmath.expm1(epsilon - loss)
            delta = found.delta(float(epsilon))
            # Epsilon was rounded to a float, which moves delta by some 1e-15 of itself.
            assert exact * (1 - mpmath.mpf(10) ** -13) <= delta <= exact * (1 + 1e-6)


@pytest.mark.parametrize(("micro", "count"), [(500_000, 32), (250_000, 129), (100_000, 830)])
def test_known_counts_of_weak_responses(micro: int, count: int) -> None:
    """A cap of 10 at 1e-6 holds for the known number of 5-option responses and not for one more."""
    kind = MaskedChoice(5, Micro(micro))
    cap = Micro(10 * MICRO)
    within, beyond = composed({kind: count}), composed({kind: count + 1})
    assert within is not None
    assert beyond is not None
    assert within.loss(MILLIONTH) <= cap < beyond.loss(MILLIONTH)


@given(
    kinds=st.lists(choices | pures | numbers, min_size=1, max_size=3),
    more=choices | pures | numbers,
    power=st.integers(1, 9),
)
def test_prop_another_report_never_costs_less(kinds: list[Kind], more: Kind, power: int) -> None:
    """One more report does not lower epsilon, but for the difference of the two grids."""
    delta = Fraction(1, 10**power)
    before, after = of(*kinds).loss(delta), of(*kinds, more).loss(delta)
    assert after.epsilon >= before.epsilon - 0.01


@given(kinds=st.lists(choices | pures | numbers, min_size=1, max_size=4), start=st.floats(0, 9))
def test_prop_delta_falls_with_epsilon(kinds: list[Kind], start: float) -> None:
    """Delta never rises with epsilon, and epsilon keeps its delta."""
    found = of(*kinds)
    deltas = [found.delta(start + k / 4) for k in range(12)]
    assert all(0 <= later <= earlier <= 1 for earlier, later in itertools.pairwise(deltas))
    assert found.delta(found.epsilon(1e-4)) <= 1e-4


def test_a_dense_accountant_agrees() -> None:
    """The library dp-accounting composes randomized response and Gaussian noise to the same."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    symbols, epsilon, count = 5, 0.5, 20
    flip = (symbols - 1) / (math.exp(epsilon) + symbols - 1)
    one = pld.from_randomized_response(
        flip * symbols / (symbols - 1), symbols, value_discretization_interval=1e-3
    )
    oracle = one
    for _ in range(count - 1):
        oracle = oracle.compose(one)
    ours = composed({MaskedChoice(symbols, Micro(500_000)): count})
    assert ours is not None
    assert ours.epsilon(1e-6) == pytest.approx(oracle.get_epsilon_for_delta(1e-6), abs=0.02)


def test_what_has_no_known_pair_has_no_distribution() -> None:
    """Amounts of rho, noise on the line, answers in clear and nothing at all have none."""
    none: list[dict[Kind, int]] = [
        {},
        {Mu.of(Fraction(1)): 1},
        {INFINITE_LOSS: 1},
        {MaskedChoice(2, INFINITE_LOSS): 1},
        {Micro(1): 1, Mu.of(Fraction(1)): 1},
        {MaskedNumber(1, Fraction(10**12)): 1},
    ]
    assert [composed(counts) for counts in none] == [None] * len(none)


def test_distributions_at_the_ends() -> None:
    """A report that says nothing costs nothing, and too small a delta is out of reach."""
    assert of(NO_LOSS, NO_LOSS).loss(Fraction(1, 10**9)) == NO_LOSS
    assert of(MaskedNumber(0, Fraction(1))).loss(Fraction(1, 10**9)) == NO_LOSS
    assert of(MaskedNumber(1, Fraction(1))).epsilon(0.0) == math.inf
    assert of(Micro(MICRO)).epsilon(0.0) <= 2.0001
    for wrong in (
        lambda: MaskedNumber(-1, Fraction(1)),
        lambda: MaskedNumber(1, Fraction(0)),
        lambda: MaskedChoice(1, Micro(1)),
    ):
        with pytest.raises(ParameterError, match="expected"):
            wrong()
