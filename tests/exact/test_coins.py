"""Randomness is exact, cannot be seeded where a person is protected, and is never biased."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.mechanisms.given_words import GivenWords

from masquerade.answers import Claims
from masquerade.errors import InsecureRandomness, ParameterError
from masquerade.exact import Coins, SimulatedCoins
from masquerade.exact.coins import require_coins, uniform_below
from masquerade.mechanisms import RandomizedResponse, TwoLayer

TOP = 1 << 64


class LoadedCoins(Coins):
    """A subclass that would make real reports predictable."""

    def words(self, size: int) -> NDArray[np.uint64]:
        return np.zeros(size, dtype=np.uint64)


def some_claims() -> Claims:
    """Return two claims of one worker."""
    rows = {"task": ["a", "b"], "worker": ["x", "x"], "label": ["n", "y"]}
    return Claims.from_frame(rows, options=["n", "y"])


@pytest.mark.parametrize("seed", [7, np.random.default_rng(7)])
def test_coins_cannot_be_seeded(seed: object) -> None:
    """The source of real reports accepts no argument and keeps no state."""
    with pytest.raises(TypeError):
        Coins(seed)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Coins().state = seed  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [0, 1, 5, (1 << 20) + 3])
def test_coins_draw_the_number_of_words_asked_for(size: int) -> None:
    """Any number of words is drawn, beyond one block of 8 MiB too, and none stays unset."""
    words = Coins().words(size)
    assert words.shape == (size,)
    assert words.dtype == np.uint64
    if size > 1000:
        assert len(np.unique(words)) == size  # a repeat has probability below 1e-7


@pytest.mark.parametrize(
    "coins",
    [np.random.default_rng(1), SimulatedCoins(np.random.default_rng(1)), LoadedCoins(), 42],
    ids=["generator", "simulated", "subclass", "seed"],
)
@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(2, epsilon=1), TwoLayer(2, low=0, high=1)],
    ids=["randomized-response", "two-layer"],
)
def test_real_reports_refuse_every_other_randomness(
    mechanism: RandomizedResponse | TwoLayer, coins: object
) -> None:
    """A generator, its wrapper, a subclass of Coins or a seed never reaches a real report."""
    with pytest.raises(InsecureRandomness, match="simulate"):
        mechanism.randomize(some_claims(), coins=coins)  # type: ignore[arg-type]


def test_real_reports_accept_coins_and_need_none() -> None:
    """Operating-system coins are accepted, and drawn freshly where none are given."""
    coins = Coins()
    assert require_coins(coins) is coins
    assert type(require_coins(None)) is Coins
    mechanism = RandomizedResponse(2, epsilon=1)
    assert len(mechanism.randomize(some_claims())) == 2
    assert len(mechanism.randomize(some_claims(), coins=coins)) == 2


def test_simulation_refuses_what_is_no_generator() -> None:
    """Simulation takes a numpy Generator; a bare seed is an error that asks for one."""
    with pytest.raises(ParameterError, match=r"rng is int.*default_rng"):
        SimulatedCoins(5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="rng is Coins"):
        RandomizedResponse(2, epsilon=1).simulate(some_claims(), Coins())  # type: ignore[arg-type]


def test_simulated_words_repeat_with_the_seed() -> None:
    """The same seed gives the same words, another seed others."""
    first, again, other = (
        SimulatedCoins(np.random.default_rng(seed)).words(8) for seed in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_simulated_words_are_those_of_the_generator(name: str) -> None:
    """Of every kind of generator the words are its uniform 64-bit integers, also between others."""
    one, other = (np.random.Generator(getattr(np.random, name)(5)) for _ in range(2))
    for size in (0, 1, 3, 1_000):
        words = SimulatedCoins(one).words(size)
        expected = other.integers(0, TOP, size=size, dtype=np.uint64)
        assert words.dtype == np.uint64
        assert np.array_equal(words, expected)
        assert one.integers(0, 7) == other.integers(0, 7)


@pytest.mark.parametrize("bound", [1, 2, 8, 1 << 32, 1 << 63])
def test_no_word_is_rejected_where_the_bound_divides_two_to_the_64(bound: int) -> None:
    """A bound that divides 2**64 accepts even the largest word."""
    source = GivenWords([0, bound - 1, TOP - 1])
    drawn = uniform_below(source, bound, 3)
    assert drawn.tolist() == [0, bound - 1, bound - 1]
    assert source.left == []


def test_the_full_range_gives_the_words_themselves() -> None:
    """Below 2**64 every word is its own integer."""
    assert uniform_below(GivenWords([5, TOP - 1]), TOP, 2).tolist() == [5, TOP - 1]


@given(bound=st.integers(3, TOP - 1))
def test_prop_words_are_accepted_up_to_the_largest_multiple_and_no_further(bound: int) -> None:
    """The word before the last full multiple is accepted, the one at it is replaced."""
    limit = TOP // bound * bound
    if limit == TOP:
        return
    source = GivenWords([limit - 1, limit, 1, TOP - 1, 2, 77 % bound])
    drawn = uniform_below(source, bound, 3)
    # The second word is rejected; its replacement is the largest word, rejected in turn.
    assert drawn.tolist() == [bound - 1, 2 % bound, 1]
    assert source.left == [77 % bound]


@given(bound=st.integers(1, TOP))
def test_exact_each_integer_has_equally_many_accepted_words(bound: int) -> None:
    """The accepted words are a whole number of runs of 0, ..., bound - 1, hence exactly uniform."""
    limit = TOP // bound * bound
    runs = limit // bound
    assert runs * bound == limit <= TOP
    assert TOP - limit < bound
    edges = [w for run in {0, runs // 2, runs - 1} for w in (run * bound, run * bound + bound - 1)]
    drawn = uniform_below(GivenWords(edges), bound, len(edges))
    assert drawn.tolist() == [w % bound for w in edges]


@pytest.mark.parametrize("bound", [0, -1, TOP + 1])
def test_a_bound_outside_the_words_is_an_error(bound: int) -> None:
    """A bound below 1 or above 2**64 is an error that names it."""
    with pytest.raises(ParameterError, match="bound is"):
        uniform_below(GivenWords([]), bound, 0)


@pytest.mark.parametrize("bound", [2, 3, 7, 10, 1000])
def test_audit_integers_below_a_bound_are_uniform(bound: int) -> None:
    """200,000 seeded draws pass a chi-square test of uniformity (false alarm 1e-6 a bound)."""
    n = 200_000
    drawn = uniform_below(SimulatedCoins(np.random.default_rng(bound)), bound, n)
    counts = np.bincount(drawn.astype(np.int64), minlength=bound)
    assert len(counts) == bound
    assert ((counts - n / bound) ** 2 / (n / bound)).sum() < stats.chi2.isf(1e-6, bound - 1)


def test_audit_rejection_leaves_no_bias() -> None:
    """Below 3 * 2**62, where a quarter of words is rejected, n = 200,000 draws stay uniform.

    Without rejection the first third would hold half of the draws. False alarm 1e-6.
    """
    n, bound = 200_000, 3 << 62
    drawn = uniform_below(SimulatedCoins(np.random.default_rng(11)), bound, n)
    counts = np.bincount((drawn >> np.uint64(62)).astype(np.int64), minlength=3)
    assert ((counts - n / 3) ** 2 / (n / 3)).sum() < stats.chi2.isf(1e-6, 2)


def test_audit_operating_system_bits_are_balanced() -> None:
    """Each of the 64 bits of 100,000 system words is fair (two-sided, false alarm 1e-9 in all)."""
    n = 100_000
    words = Coins().words(n)
    ones = np.array([int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(64)])
    z = np.abs(ones - n / 2) / np.sqrt(n / 4)
    assert z.max() < stats.norm.isf(1e-9 / 128)
