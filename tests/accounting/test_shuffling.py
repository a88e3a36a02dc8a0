"""Published counts never tell more about one person than their stated bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from masquerade.accounting import composed, published_loss
from masquerade.accounting.shuffling import CountedPair, binomial, counted_pairs
from masquerade.errors import ParameterError
from masquerade.mechanisms import BitwiseResponse, DiscreteGaussian, RandomizedResponse, TwoLayer

Polynomial = list[int]


def _product(first: Polynomial, second: Polynomial) -> Polynomial:
    found = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            found[i + j] += a * b
    return found


def _power(factor: Polynomial, times: int) -> Polynomial:
    found = [1]
    for _ in range(times):
        found = _product(found, factor)
    return found


def exact_delta(keep: int, other: int, n: int, firsts: int, ratio: Fraction) -> float:
    """Return delta at ``ln ratio`` of counts of two options, by whole numbers.

    `firsts` of the n - 1 others gave the first option; the person changes from it to the second.
    """
    rest = _product(_power([other, keep], firsts), _power([keep, other], n - 1 - firsts))
    one, two = _product([other, keep], rest), _product([keep, other], rest)
    above = sum(max(Fraction(p) - ratio * q, Fraction(0)) for p, q in zip(one, two, strict=True))
    below = sum(max(Fraction(q) - ratio * p, Fraction(0)) for p, q in zip(one, two, strict=True))
    return float(max(above, below) / (keep + other) ** n)


CASES = [
    (n, firsts)
    for n, every in ((1, 1), (2, 1), (3, 1), (8, 1), (20, 3), (60, 15), (200, 50))
    for firsts in sorted({*range(0, n, every), n - 1})
]


@pytest.mark.parametrize("keep", [2, 3, 9, 55])
def test_exact_bound_is_never_below_counts_of_two_options(keep: int) -> None:
    """Delta of all counts of up to 200 people is at most the bound's, at four epsilons."""
    mask = RandomizedResponse(2, flip_probability=Fraction(1, keep + 1))
    for n, firsts in CASES:
        found = composed(counted_pairs(mask, n))
        assert found is not None
        for power in (Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(9, 10)):
            ratio = Fraction(keep ** float(power)).limit_denominator(10**6)
            true = exact_delta(keep, 1, n, firsts, ratio)
            assert found.delta(math.log(ratio)) >= true, (n, firsts, power)


def test_exact_bound_is_near_the_worst_counts_of_two_options() -> None:
    """At 60 and 200 people the stated epsilon is at most a fifth above the exact worst one."""
    for n in (60, 200):
        found = composed(counted_pairs(RandomizedResponse(2, flip_probability=Fraction(1, 4)), n))
        assert found is not None
        epsilon = found.epsilon(1e-4)
        ratio = Fraction(math.exp(epsilon / 1.2)).limit_denominator(10**6)
        worst = max(exact_delta(3, 1, n, firsts, ratio) for firsts in (0, n // 2, n - 1))
        assert worst > 1e-4


def test_exact_counts_of_three_options_are_within_the_bound() -> None:
    """All histograms of 12 people over three options: exact delta is at most the bound's."""
    keep, other, n = Fraction(1, 2), Fraction(1, 4), 12
    mask = RandomizedResponse(3, flip_probability=Fraction(1, 2))
    found = composed(counted_pairs(mask, n))
    assert found is not None

    def histogram(answers: list[int]) -> dict[tuple[int, int, int], Fraction]:
        table = {(0, 0, 0): Fraction(1)}
        for answer in answers:
            more: dict[tuple[int, int, int], Fraction] = {}
            for cell, chance in table.items():
                for report in range(3):
                    name = tuple(count + (place == report) for place, count in enumerate(cell))
                    part = chance * (keep if report == answer else other)
                    more[name] = more.get(name, Fraction(0)) + part  # type: ignore[index,arg-type]
            table = more
        return table

    for rest in ([0] * 11, [2] * 11, [0, 1] * 5 + [2], [0] * 4 + [1] * 4 + [2] * 3):
        one, two = histogram([0, *rest]), histogram([1, *rest])
        for ratio in (Fraction(1), Fraction(11, 10), Fraction(3, 2)):
            true = sum(max(p - ratio * two[cell], Fraction(0)) for cell, p in one.items())
            assert found.delta(math.log(ratio)) >= float(true)


def test_audit_sampled_counts_do_not_exceed_the_bound() -> None:
    """200,000 surveys of 50 people: a lower bound of the loss is at most the stated one.

    Fixed seed; false alarm 1e-6.
    """
    n, runs = 50, 200_000
    mask = RandomizedResponse(2, epsilon=1)
    keep = float(mask.keep_probability)
    rng = np.random.default_rng(7)
    rest = rng.binomial(25, keep, (2, runs)) + rng.binomial(24, 1 - keep, (2, runs))
    own = rng.random((2, runs)) < np.array([[keep], [1 - keep]])
    above = (rest + own >= 30).sum(axis=1)
    low = beta.ppf(5e-7, above[0], runs - above[0] + 1)
    high = beta.ppf(1 - 5e-7, above[1] + 1, runs - above[1])
    found = composed(counted_pairs(mask, n))
    assert found is not None
    for epsilon in (0.0, 0.1, 0.3, 0.6):
        assert low - math.exp(epsilon) * high <= found.delta(epsilon)


@given(st.integers(2, 6), st.integers(1, 40), st.integers(2, 400))
def test_prop_more_people_hide_better_and_never_worse_than_alone(
    options: int, tenths: int, people: int
) -> None:
    """The loss is at most that of the report itself, and does not grow with people."""
    mask = RandomizedResponse(options, epsilon=tenths / 10)
    few, many = (published_loss([(mask, n)]) for n in (people, 2 * people))
    assert few is not None
    assert many is not None
    assert many.epsilon.micro <= few.epsilon.micro + 3
    assert few.epsilon.micro <= mask.loss().pure
    assert few.epsilon.micro <= few.suspicion.micro <= mask.loss().pure


@given(st.integers(1, 300), st.floats(0.01, 0.99))
def test_prop_tables_of_binomials_hold_all_probability(n: int, chance: float) -> None:
    """Probabilities and their remainder are those of the binomial, none below."""
    from scipy.stats import binom

    first, probability, beyond = binomial(n, chance)
    true = binom.pmf(np.arange(first, first + len(probability)), n, chance)
    assert (probability * (1 + 1e-9) >= true).all()
    assert probability.sum() + beyond >= 1 - 1e-12
    assert beyond < 1e-15


def test_noise_answers_in_clear_and_one_person_gain_nothing() -> None:
    """Counts of noisy numbers lose as one report does; of answers in clear nothing holds."""
    noise = DiscreteGaussian(0, 10, sigma=20)
    alone = composed(noise.pairs(answers=1))
    found = published_loss([(noise, 1000)])
    assert alone is not None
    assert found is not None
    assert found.epsilon.micro >= alone.loss(found.delta).micro
    assert published_loss([(RandomizedResponse(2, flip_probability=0), 1000)]) is None
    mask = RandomizedResponse(2, epsilon=1)
    single = published_loss([(mask, 1)])
    assert single is not None
    assert mask.loss().pure - 2 <= single.epsilon.micro <= mask.loss().pure
    with pytest.raises(ParameterError, match="people is 0"):
        counted_pairs(mask, 0)


def test_masks_that_hang_together_are_counted_together() -> None:
    """Answers that share a flip probability gain nothing, and lose as all of them together do."""
    mask = TwoLayer(options=2, low=0.2, high=0.4)
    found = published_loss([(mask, 500)] * 4)
    assert found is not None
    assert mask.loss(answers=4).pure - 2 <= found.epsilon.micro <= mask.loss(answers=4).pure


def test_several_ticks_have_the_clones_of_their_whole_loss() -> None:
    """Any other mask of a pure loss has clones with probability e^-epsilon."""
    mask = RandomizedResponse(4, epsilon=2)
    [pair] = counted_pairs(mask, 100)
    assert isinstance(pair, CountedPair)
    assert pair.blanket == 2 * mask.other_probability
    bits = BitwiseResponse(3, epsilon=1)
    [other] = counted_pairs(bits, 100)
    assert isinstance(other, CountedPair)
    assert other.blanket <= math.exp(-bits.loss().pure / 1e6)


def test_golden_losses() -> None:
    """Values of counts at delta 1e-6, to three digits."""
    golden = {(2, 1, 100): 0.516, (2, 1, 1000): 0.149, (2, 1, 10_000): 0.043, (5, 2, 1000): 0.462}
    for (options, epsilon, n), value in golden.items():
        found = published_loss([(RandomizedResponse(options, epsilon=epsilon), n)])
        assert found is not None
        assert found.epsilon.epsilon == pytest.approx(value, abs=6e-4)
