"""Noise on sums: its size, exact loss, distribution, and where its randomness comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from masquerade.aggregate import FIELD_128, Block, One, Some, SumNoise, Vector, Whole
from masquerade.errors import InsecureRandomness, ParameterError
from masquerade.exact import Coins, SimulatedCoins


def blocks() -> st.SearchStrategy[list[Block]]:
    """Draw blocks of all kinds."""
    one = st.one_of(
        st.builds(One, st.integers(2, 9)),
        st.builds(Some, st.integers(1, 9)),
        st.builds(lambda k: Some(k + 1, 1 + k // 2), st.integers(1, 8)),
        st.builds(Whole, st.integers(1, 100)),
        st.builds(Vector, st.integers(1, 4), st.integers(1, 50), st.booleans()),
    )
    return st.lists(one, min_size=1, max_size=6)


def drawn(noise: SumNoise, seed: int) -> NDArray[np.int64]:
    """Return seeded noise."""
    zeros = [0] * sum(block.outputs for block in noise.blocks)
    values = noise.simulate(zeros, np.random.default_rng(seed))
    return np.array([FIELD_128.centred(value) for value in values])


def test_ten_questions_at_rho_one_half_have_the_noise_of_the_design() -> None:
    """D = 20, a variance of 20 for each party and 40 for both; epsilon 5.2 at a delta of 1e-6."""
    noise = SumNoise.of_rho([One(5)] * 10, "0.5")
    assert sum(block.sensitivity_squared for block in noise.blocks) == 20
    assert set(noise.variances) == {Fraction(20)}
    assert math.sqrt(noise.published_variance(3)) == pytest.approx(6.32, abs=0.005)
    promise = noise.guarantee()
    assert (promise.trust, promise.status, promise.unit) == ("two-parties", "proven", "worker")
    assert promise.rho_user is not None
    assert promise.rho_user.micro == 500_000
    for rho, epsilon in (("0.5", 5.22), ("0.167", 2.84), ("0.1", 2.14), ("0.05", 1.47)):
        found = SumNoise.of_rho([One(5)] * 10, rho).guarantee().epsilon_user.epsilon
        assert found == pytest.approx(epsilon, abs=0.01)


def test_the_guarantee_names_what_it_rests_on() -> None:
    """One honest party, encryption, bounded time, one sum a survey, and the visible values."""
    printed = " ".join(SumNoise.of_rho([One(2)], 1).guarantee().to_json()["assumptions"])
    for words in (
        "one of the two parties is honest",
        "TurboSHAKE128",
        "bounded time",
        "one noisy ",
    ):
        assert words in printed
    assert "who took part, how many" in printed


@pytest.mark.parametrize(
    ("block", "squared"),
    [
        (One(5), 2),
        (Some(6), 6),
        (Some(6, 2), 4),
        (Some(6, 5), 6),
        (Whole(10), 100),
        (Vector(3, 2), 16),
        (Vector(2, 2, ball=False), 32),
    ],
)
def test_exact_no_two_answers_are_farther_apart_than_is_said(block: Block, squared: int) -> None:
    """Over all pairs of well-formed answers, the largest squared change is the sensitivity."""
    answers: list[Sequence[int]] = []
    for place in range(1 << min(block.outputs, 6)):
        flags = [bool(place >> i & 1) for i in range(block.outputs)]
        if isinstance(block, Some) and sum(flags) <= (block.most or block.options):
            answers.append(block.truncate(block.encode(flags)))
    if isinstance(block, One):
        answers = [block.truncate(block.encode(i)) for i in range(block.options)]
    if isinstance(block, Whole):
        answers = [block.truncate(block.encode(i)) for i in range(block.largest + 1)]
    if isinstance(block, Vector):
        grid = np.stack(np.meshgrid(*[range(-2, 3)] * block.length), -1).reshape(-1, block.length)
        inside = grid if not block.ball else grid[(grid**2).sum(1) <= block.largest**2]
        answers = [block.truncate(block.encode(row.tolist())) for row in inside]
    table = np.array(answers)
    distances = ((table[:, None] - table[None]) ** 2).sum(-1)
    assert distances.max() == squared == block.sensitivity_squared


@given(blocks(), st.fractions(Fraction(1, 100), 4))
def test_prop_the_noise_costs_exactly_the_rho_that_was_asked(
    found: list[Block], rho: Fraction
) -> None:
    """For all blocks the loss is rho, and errors are equal relative to each block's unit."""
    noise = SumNoise.of_rho(found, rho)
    assert noise.rho == rho
    relative = {v / b.unit**2 for b, v in zip(noise.blocks, noise.variances, strict=True)}
    assert len(relative) == 1


@given(blocks(), st.integers(0, 2**32))
def test_prop_both_parties_together_publish_the_sum_and_their_noise(
    found: list[Block], seed: int
) -> None:
    """Noise goes through the field: shares with noise add up to the sum with both noises."""
    noise = SumNoise.of_rho(found, 1)
    rng, outputs = np.random.default_rng(seed), sum(block.outputs for block in found)
    share = [int.from_bytes(rng.bytes(16)) % FIELD_128.modulus for _ in range(outputs)]
    other = FIELD_128.subtract([7] * outputs, share)
    own = np.random.default_rng(1)
    published = FIELD_128.add(noise.simulate(share, own), noise.simulate(other, own))
    twice = np.random.default_rng(1)
    zeros = [0] * outputs
    noises = FIELD_128.add(noise.simulate(zeros, twice), noise.simulate(zeros, twice))
    assert FIELD_128.subtract(published, noises) == [7] * outputs


@pytest.mark.parametrize("rho", ["0.5", "2"])
def test_exact_one_changed_answer_keeps_the_stated_loss(rho: str) -> None:
    """Over the whole table of two counts, to 40 digits: delta at epsilon, and Renyi divergences.

    The changed answer takes one from a count and gives it to the other: the worst that a block of
    one answer can do.
    """
    noise = SumNoise.of_rho([One(2)], rho)
    claimed = noise.guarantee().epsilon_user.epsilon
    with mpmath.workdps(40):
        v = mpmath.mpf(noise.variances[0].numerator) / noise.variances[0].denominator
        reach = range(-math.ceil(12 * math.sqrt(float(v))) - 3, math.ceil(12 * math.sqrt(v)) + 4)
        weight = {y: mpmath.exp(-mpmath.mpf(y * y) / (2 * v)) for y in (*reach, reach[-1] + 1)}
        weight[reach[0] - 1] = mpmath.exp(-mpmath.mpf((reach[0] - 1) ** 2) / (2 * v))
        total = mpmath.fsum(weight.values())
        p = {(a, b): weight[a] * weight[b] / total**2 for a in reach for b in reach}
        q = {(a, b): weight[a - 1] * weight[b + 1] / total**2 for a in reach for b in reach}
        growth = mpmath.exp(claimed)
        delta = mpmath.fsum(max(p[x] - growth * q[x], 0) for x in p)
        assert delta <= mpmath.mpf("1e-6")
        for order in (1.5, 2, 4):
            moment = mpmath.fsum(p[x] ** order * q[x] ** (1 - order) for x in p)
            divergence = mpmath.log(moment) / (order - 1)
            assert divergence <= float(Fraction(rho)) * order * (1 + 1e-9)


def test_audit_the_noise_fits_its_table() -> None:
    """N = 20,000 draws for each of two blocks fit the discrete Gaussian of its variance.

    Chi-square, false alarm 1e-6 each; neighbours and blocks are not correlated (5 standard errors).
    """
    n, variances = 20_000, (Fraction(5, 2), Fraction(40))
    rows = drawn(SumNoise((One(n), One(n)), variances), 5).reshape(2, n)
    for row, variance in zip(rows, variances, strict=True):
        reach = math.ceil(12 * math.sqrt(variance))
        table = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * float(variance)))
        expected = table / table.sum() * n
        common = np.flatnonzero(expected >= 20)
        counts = np.bincount(row + reach, minlength=2 * reach + 1)
        rest = n - expected[common].sum()
        statistic = ((counts[common] - expected[common]) ** 2 / expected[common]).sum()
        statistic += (n - counts[common].sum() - rest) ** 2 / rest
        assert statistic < stats.chi2.isf(1e-6, len(common))
        assert abs(stats.pearsonr(row[1:], row[:-1]).statistic) < 5 / math.sqrt(n)
    assert abs(stats.pearsonr(rows[0], rows[1]).statistic) < 5 / math.sqrt(n)


def test_audit_a_sampled_lower_bound_does_not_exceed_the_claim() -> None:
    """N = 2 x 20,000: how well a test tells one changed answer is within (epsilon, delta).

    Clopper-Pearson bounds at 1e-7 on both sides; false alarm at most 1e-6 over the five tests.
    """
    n, noise = 20_000, SumNoise.of_rho([One(2)], "0.5")
    claimed, delta = noise.guarantee().epsilon_user.epsilon, 1e-6
    many = SumNoise((One(2 * n),), noise.variances)  # n pairs of counts
    one, other = drawn(many, 6).reshape(2, n), drawn(many, 7).reshape(2, n)
    other += np.array([[1], [-1]])
    for threshold in range(-2, 3):
        hits = [int((rows[1] - rows[0] >= threshold).sum()) for rows in (one, other)]
        low = stats.beta.ppf(1e-7, hits[0], n - hits[0] + 1)
        high = stats.beta.isf(1e-7, hits[1] + 1, n - hits[1])
        assert 0 < math.log((low - delta) / high) <= claimed


def test_noise_that_protects_comes_from_the_operating_system() -> None:
    """A party's noise takes Coins alone, and two draws differ."""
    noise, zeros = SumNoise.of_rho([One(5)] * 10, "0.5"), [0] * 50
    rng = np.random.default_rng(0)
    for wrong in (SimulatedCoins(rng), rng):
        with pytest.raises(InsecureRandomness):
            noise.add(zeros, coins=wrong)  # type: ignore[arg-type]
    assert noise.add(zeros, coins=Coins()) != noise.add(zeros)


def test_noise_of_no_use_is_refused() -> None:
    """No loss, no answer, a missing or a negative variance, a sum of another survey."""
    with pytest.raises(ParameterError, match="rho is 0"):
        SumNoise.of_rho([One(2)], 0)
    with pytest.raises(ParameterError, match="no answer changes any sum"):
        SumNoise.of_rho([One(1)], 1)
    with pytest.raises(ParameterError, match="1 variances were given for 2 blocks"):
        SumNoise((One(2), One(2)), (Fraction(1),))
    with pytest.raises(ParameterError, match="block 0 is"):
        SumNoise((One(2),), (Fraction(-1),))
    with pytest.raises(ParameterError, match="3 parts, expected 2"):
        SumNoise.of_rho([One(2)], 1).add([0, 0, 0])
