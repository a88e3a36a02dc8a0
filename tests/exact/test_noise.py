"""Discrete noise has exactly the probabilities of its formula, from whole numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.exact.noise_tables import SCALES, VARIANCES, seeded
from tests.mechanisms.given_words import GivenWords

from masquerade.errors import ParameterError
from masquerade.exact import Coins, noise
from masquerade.exact.coins import Words, WordSource
from masquerade.exact.noise import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    scale_rounded_up,
)

TOP = 1 << 64


def many_words(seed: int, size: int = 3000) -> list[int]:
    """Return arbitrary words."""
    words: list[int] = seeded(seed).words(size).tolist()
    return words


class Undecided(Exception):
    """A branch of a decision tree is too unlikely to be followed."""


class Rejected(Exception):
    """A proposal was not accepted."""


def tree(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any], least: Fraction
) -> tuple[dict[Any, Fraction], Fraction]:
    """Return the probability of each result over the likely decisions, and the rest.

    Every uniform integer that `run` draws is a branch; it is followed unless its values would have
    a probability below `least`. So each probability is bounded: the true one is between it and it
    plus what is left.
    """
    script: list[int] = []  # values of the branches on the way; 0 at those that are new
    place, share = 0, Fraction(1)
    open_: list[list[int]] = [[]]

    def uniform(_source: WordSource, bound: int, size: int) -> Words:
        nonlocal place, share
        values = []
        for _ in range(size):
            if bound == 1:
                values.append(0)
                continue
            if place == len(script):
                if share / bound < least:
                    raise Undecided
                open_.extend([*script, value] for value in range(1, bound))
                script.append(0)
            values.append(script[place])
            place, share = place + 1, share / bound
        return np.array(values, dtype=np.uint64)

    def first(propose: Callable[[int], tuple[Any, Any]], size: int) -> Any:
        flags, numbers = propose(size)
        if not flags.all():
            raise Rejected
        return numbers

    monkeypatch.setattr(noise, "uniform_below", uniform)
    monkeypatch.setattr(noise, "_first_accepted", first)
    found: dict[Any, Fraction] = {}
    left = Fraction(0)
    while open_:
        script, place, share = open_.pop(), 0, Fraction(1)
        try:
            result = run()
        except Undecided:
            left += share
            continue
        except Rejected:
            result = None
        found[result] = found.get(result, Fraction(0)) + share
    return found, left


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (1, 1), (1, 2), (2, 3), (1, 5), (3, 2), (2, 1), (7, 3)]
)
def test_exact_the_decision_tree_of_an_exponential_coin(
    monkeypatch: pytest.MonkeyPatch, numerator: int, denominator: int
) -> None:
    """Added up over its decisions in fractions, a flag has probability exp(-n / d).

    The tree is followed until less than 2e-3 of the probability is left undecided, and the true
    value lies between.
    """
    source = seeded(0)
    found, left = tree(
        monkeypatch,
        lambda: bool(bernoulli_exp(source, np.array([numerator], np.uint64), denominator)[0]),
        Fraction(1, 10**7),
    )
    assert sum(found.values()) + left == 1
    assert left < Fraction(2, 1000)
    low = found.get(True, Fraction(0))
    with mpmath.workdps(50):
        true = mpmath.exp(-mpmath.mpf(numerator) / denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        high = low + left
        assert true <= mpmath.mpf(high.numerator) / high.denominator


@pytest.mark.parametrize(
    ("draw", "parameter", "exponent", "followed"),
    [
        (discrete_laplace, Fraction(1), lambda x: Fraction(abs(x)), 500_000),
        (discrete_laplace, Fraction(2), lambda x: Fraction(abs(x), 2), 500_000),
        (discrete_laplace, Fraction(3, 2), lambda x: Fraction(2 * abs(x), 3), 200_000),
        (discrete_gaussian, Fraction(1, 2), lambda x: Fraction(x * x), 150_000),
        (discrete_gaussian, Fraction(1), lambda x: Fraction(x * x, 2), 100_000),
    ],
    ids=["laplace 1", "laplace 2", "laplace 3/2", "gaussian 1/2", "gaussian 1"],
)
def test_exact_the_decision_tree_of_the_noise(
    monkeypatch: pytest.MonkeyPatch,
    draw: Callable[[WordSource, Fraction, int], NDArray[np.int64]],
    parameter: Fraction,
    exponent: Callable[[int], Fraction],
    followed: int,
) -> None:
    """Of accepted proposals, P(x) / P(0) is the exponential of the formula, for x = -2 to 2.

    Both probabilities are added up over decisions in fractions, and bounded by what is undecided:
    decisions that together are less likely than 1 in so many are not followed.
    """
    source = seeded(0)
    found, left = tree(
        monkeypatch, lambda: int(draw(source, parameter, 1)[0]), Fraction(1, followed)
    )
    assert sum(found.values()) + left == 1
    assert left < Fraction(1, 8)
    for x in range(-2, 3):
        true = math.exp(-exponent(x))
        assert float(found[x] / (found[0] + left)) <= true * (1 + 1e-12)
        assert float((found[x] + left) / found[0]) >= true * (1 - 1e-12)
        assert found[x] == found[-x]


def reference_below(source: GivenWords, bound: int) -> int:
    """Return a uniform integer below `bound`, one word at a time."""
    while True:
        word = source.one()
        if word < TOP // bound * bound:
            return word % bound


def reference_coin(source: GivenWords, numerator: int, denominator: int) -> bool:
    """Return true with probability exp(-n / d), as the paper's algorithm 1 says."""
    whole, rest = divmod(numerator, denominator)
    k = 1
    while reference_below(source, denominator) < rest and (
        k == 1 or reference_below(source, k) == 0
    ):
        k += 1
    return k % 2 == 1 and all(reference_minus_one(source) for _ in range(whole))


def reference_minus_one(source: GivenWords) -> bool:
    """Return true with probability 1 / e."""
    k = 2
    while reference_below(source, k) == 0:
        k += 1
    return k % 2 == 1


def reference_large_coin(source: GivenWords, numerator: int, denominator: int) -> bool:
    """Return true with probability exp(-n / d), comparing digits of any number of words."""
    whole, rest = divmod(numerator, denominator)
    k = 1
    while reference_compare(source, rest, denominator * k):
        k += 1
    return k % 2 == 1 and all(reference_minus_one(source) for _ in range(whole))


def reference_compare(source: GivenWords, numerator: int, denominator: int) -> bool:
    """Return true with probability n / d."""
    while True:
        digit, numerator = divmod(numerator << 64, denominator)
        word = source.one()
        if word != digit:
            return word < digit
        if not numerator:
            return False


def reference_laplace(source: GivenWords, scale: Fraction) -> int:
    """Return one number of algorithm 2."""
    while True:
        rest = reference_below(source, scale.numerator)
        if not reference_coin(source, rest, scale.numerator):
            continue
        turns = 0
        while reference_minus_one(source):
            turns += 1
        size = (rest + scale.numerator * turns) // scale.denominator
        negative = reference_below(source, 2) == 0
        if size or not negative:
            return -size if negative else size


def reference_gaussian(source: GivenWords, variance: Fraction) -> int:
    """Return one number of algorithm 3."""
    p, q = variance.numerator, variance.denominator
    scale = math.isqrt(p // q) + 1
    denominator = 2 * p * q * scale**2
    largest = ((1 << 31) - p) // (q * scale) if denominator < 1 << 62 else -1
    while True:
        y = reference_laplace(source, Fraction(scale))
        coin = reference_coin if abs(y) <= largest else reference_large_coin
        if coin(source, (abs(y) * q * scale - p) ** 2, denominator):
            return y


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_one_laplace_number_takes_the_words_of_the_plain_algorithm(scale: Fraction) -> None:
    """Drawn one at a time, number and words are those of the algorithm in plain Python."""
    for seed in range(200):
        words = many_words(seed)
        ours, plain = GivenWords(words), GivenWords(words)
        assert discrete_laplace(ours, scale, 1)[0] == reference_laplace(plain, scale)
        assert ours.taken == plain.taken


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_one_gaussian_number_takes_the_words_of_the_plain_algorithm(variance: Fraction) -> None:
    """Drawn one at a time, number and words are those of the algorithm in plain Python.

    This holds too where products leave 64 bits, where floats decide all that is beyond doubt.
    """
    for seed in range(200):
        words = many_words(seed)
        ours, plain = GivenWords(words), GivenWords(words)
        assert discrete_gaussian(ours, variance, 1)[0] == reference_gaussian(plain, variance)
        assert ours.taken == plain.taken


@given(
    variance=st.fractions(min_value="1/1000", max_value=10**20, max_denominator=10**12),
    seed=st.integers(0, 2**32),
)
def test_prop_any_variance_takes_the_words_of_the_plain_algorithm(
    variance: Fraction, seed: int
) -> None:
    """Any fraction, however long, gives the number of the algorithm in plain Python."""
    words = many_words(seed)
    ours, plain = GivenWords(words), GivenWords(words)
    assert discrete_gaussian(ours, variance, 1)[0] == reference_gaussian(plain, variance)
    assert ours.taken == plain.taken


@given(
    scale=st.fractions(min_value="1/100000", max_value=1 << 40, max_denominator=10**6).filter(
        lambda scale: scale.numerator <= 1 << 48
    ),
    seed=st.integers(0, 2**32),
    size=st.integers(0, 200),
)
def test_prop_any_scale_gives_as_many_numbers_as_asked_for(
    scale: Fraction, seed: int, size: int
) -> None:
    """Sizes are kept, equal words give equal numbers, and the numbers are 64-bit integers."""
    drawn = discrete_laplace(seeded(seed), scale, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn, discrete_laplace(seeded(seed), scale, size))


@pytest.mark.parametrize("change", [-1, 0, 1])
@pytest.mark.parametrize("size_of", [10**6, 3 * 10**6, 10**6 + 12_345])
def test_a_word_next_to_the_threshold_is_compared_exactly(change: int, size_of: int) -> None:
    """Where a float cannot tell, whole numbers do: a word below the first digit goes on, above not.

    The word that equals the digit is followed by one that decides.
    """
    variance, scale = Fraction(10**12), 10**6 + 1
    numerator = (size_of * scale - 10**12) ** 2
    denominator = 2 * 10**12 * scale**2
    digit = ((numerator % denominator) << 64) // denominator
    after = [0, TOP - 1] if change == 0 else [TOP - 1] if change < 0 else []
    words = [digit + change, *after, *([1] * 50)]
    ours, plain = GivenWords(words), GivenWords(words)
    flag = noise._exp_of_squares(ours, np.array([size_of]), variance, scale)[0]
    assert flag == reference_large_coin(plain, numerator, denominator)
    assert ours.taken == plain.taken


def test_floats_never_change_a_large_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 flags are the same where every comparison is made in whole numbers.

    With the error taken to be 1/4, a quarter of the words and more are compared exactly.
    """
    variance, scale = Fraction("1234567.8") ** 2, 1_234_568
    sizes = discrete_laplace(seeded(1), Fraction(scale), 20_000)
    fast = noise._exp_of_squares(seeded(2), np.abs(sizes), variance, scale)
    monkeypatch.setattr(noise, "_ROUNDING", 0.05)
    slow = noise._exp_of_squares(seeded(2), np.abs(sizes), variance, scale)
    assert np.array_equal(fast, slow)
    assert 0.2 < fast.mean() < 0.95


@pytest.mark.parametrize(
    ("numerator", "denominator", "words", "result"),
    [
        (1, 2, [1 << 63], False),
        (1, 2, [(1 << 63) - 1], True),
        (0, 5, [0], False),
        (1, 3, [TOP // 3, TOP // 3 - 1], True),
        (1, 3, [TOP // 3, TOP // 3 + 1], False),
        (1, 3, [TOP // 3, TOP // 3, 0], True),
    ],
)
def test_a_comparison_looks_at_as_many_words_as_it_needs(
    numerator: int, denominator: int, words: list[int], result: bool
) -> None:
    """A word that equals the digit leaves it to the next, until nothing of the fraction is left."""
    source = GivenWords(words)
    assert noise._compare(source, numerator, denominator) is result
    assert source.taken == len(words)


def test_system_coins_draw_noise_too() -> None:
    """Operating-system words give numbers that differ between runs."""
    first, second = (discrete_gaussian(Coins(), Fraction(10**12), 100) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (3, 10), (0, 7), (7, 7), (1, TOP)])
def test_a_coin_has_the_probability_asked_for(numerator: int, denominator: int) -> None:
    """A fraction is drawn exactly, certain and impossible ones included."""
    flags = bernoulli(seeded(5), numerator, denominator, 100_000)
    share = numerator / denominator
    assert abs(flags.mean() - share) <= 5 * math.sqrt(share * (1 - share) / 100_000) + 1e-12


def test_a_coin_finer_than_a_word_looks_at_several_words() -> None:
    """A denominator above 2**64 is compared digit by digit."""
    source = GivenWords([0, 2, 0, 3])
    assert bernoulli(source, 3, TOP**2, 2).tolist() == [True, False]
    assert source.taken == 4


@pytest.mark.parametrize(("numerator", "denominator"), [(2, 1), (-1, 2), (0, 0), (1, -1)])
def test_what_is_no_probability_is_refused(numerator: int, denominator: int) -> None:
    """A fraction outside 0 to 1 is an error that shows it."""
    with pytest.raises(ParameterError, match=f"{numerator}/{denominator} is not a probability"):
        bernoulli(seeded(1), numerator, denominator, 1)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**49), Fraction(1, TOP)])
def test_a_scale_out_of_range_is_refused(scale: Fraction) -> None:
    """A scale that is no positive fraction of 48 bits is an error that shows it."""
    with pytest.raises(ParameterError, match="scale is"):
        discrete_laplace(seeded(1), scale, 1)


@pytest.mark.parametrize(
    "variance",
    [Fraction(0), Fraction(-1), Fraction(2**96), Fraction(1, 2**65), Fraction(1, 10**400)],
)
def test_a_variance_out_of_range_is_refused(variance: Fraction) -> None:
    """A variance that is not from 2**-64 to below 2**96 is an error that shows it."""
    with pytest.raises(ParameterError, match="variance is"):
        discrete_gaussian(seeded(1), variance, 1)


def test_noise_that_leaves_64_bits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise never wraps around: a draw beyond the range, of chance e**-16384, is an error."""
    monkeypatch.setattr(noise, "_MOST_TURNS", 3)
    with pytest.raises(OverflowError, match="64 bits"):
        discrete_laplace(seeded(1), Fraction(4), 1000)


@given(scale=st.fractions(min_value=Fraction(1, 10**6), max_value=10**9, max_denominator=10**30))
def test_prop_a_scale_of_many_digits_is_never_made_smaller(scale: Fraction) -> None:
    """A scale gets terms of at most 48 bits: equal where it has these, else a little larger."""
    for given_ in (scale, scale + Fraction(1, 10**40 + 1)):
        found = scale_rounded_up(given_)
        assert max(found.numerator, found.denominator) <= 1 << 48
        assert given_ <= found <= given_ * (1 + Fraction(1, 10**2)) + Fraction(1, 1 << 20)
    assert scale_rounded_up(Fraction(7, 3)) == Fraction(7, 3)
