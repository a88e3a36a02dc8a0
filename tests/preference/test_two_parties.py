"""Sums between two parties: published values, cost, and refusals."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from masquerade.aggregate import (
    FIELD_128,
    GivenSeeds,
    SumNoise,
    Vector,
    prio3_survey,
    verification_key,
)
from masquerade.errors import InvalidReport, ParameterError
from masquerade.exact import Coins, Micro
from masquerade.preference import made_up_voters
from masquerade.preference.directions import UNIT
from masquerade.preference.mechanisms.linear import LinearGaussian, LinearKNorm, LinearSum
from masquerade.preference.two_parties import _checked_shares, two_party_sum
from masquerade.preference.vector_noise import GaussianNoise

TINY = Fraction(1, 10**9)


def test_what_two_parties_publish_is_the_sum_of_the_rows() -> None:
    """With noise of next to no variance: the exact sum, from shares that were split and checked."""
    rng = np.random.default_rng(1)
    data = made_up_voters(rng, voters=5, features=3).choose(rng, 4)
    rows = LinearSum().rows(data)
    block = Vector(3, 4 * UNIT)
    assert np.array_equal(
        two_party_sum(rows, block, SumNoise((block,), (TINY,)), Coins()), rows.sum(axis=0)
    )


def test_a_split_row_has_the_golden_bytes() -> None:
    """From given seeds: the reports to be sent, and both parties' shares after the check."""
    vdaf, key = prio3_survey([Vector(2, UNIT)]), verification_key(bytes(32), bytes(32))
    seeds = GivenSeeds(bytes(16), tuple(bytes([place] * 32) for place in range(vdaf.seeds_needed)))
    report = vdaf.simulate([[3000, -2000]], context=b"masquerade preference", seeds=seeds)
    sent = hashlib.sha256(b"".join([report.public_share, *report.input_shares])).hexdigest()
    assert sent == "be7d19fb1ad376998d2976096e89bbba108bff03c367b94a0e987a8b28e345f4"
    begun = [
        vdaf.verify_init(key, b"masquerade preference", party, report.nonce, report.public_share, s)
        for party, s in enumerate(report.input_shares)
    ]
    message = vdaf.verifier_message(b"masquerade preference", [share for _, share in begun])
    shares = [vdaf.verify_next(state, message) for state, _ in begun]
    assert [sum(pair) % FIELD_128.modulus for pair in zip(*shares, strict=True)] == [
        3000 + UNIT,
        UNIT - 2000,
    ]
    assert shares[1][0] == 283202704230530246054404981390562770072


def test_neither_share_alone_is_the_row() -> None:
    """A party's share is an element of a field of 128 bits, other each time the row is split."""
    block = Vector(2, UNIT)
    vdaf, key = prio3_survey([block]), verification_key(bytes(32), bytes(32))
    first, second = (_checked_shares(vdaf, key, [100, -200], Coins()) for _ in range(2))
    assert first[0] != second[0]
    assert max(first[0]) > 2**64
    assert vdaf.unshard(first, count=1) == [[100, -200]]


def test_a_row_longer_than_the_bound_is_refused() -> None:
    """By the device itself, and by the check where a device lies about its length."""
    block = Vector(2, UNIT)
    vdaf, key = prio3_survey([block]), verification_key(bytes(32), bytes(32))
    with pytest.raises(ParameterError):
        _checked_shares(vdaf, key, [UNIT, UNIT], Coins())
    # A device that splits a longer row for a wider bound of as many bits.
    report = prio3_survey([Vector(2, UNIT + 1)]).shard(
        [[UNIT + 1, 0]], context=b"masquerade preference", coins=Coins()
    )
    begun = [
        vdaf.verify_init(key, b"masquerade preference", party, report.nonce, report.public_share, s)
        for party, s in enumerate(report.input_shares)
    ]
    with pytest.raises(InvalidReport, match="proof"):
        vdaf.verifier_message(b"masquerade preference", [message for _, message in begun])


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=3))
def test_prop_any_rows_within_the_bound_add_up(rows: list[tuple[int, int]]) -> None:
    """Negative numbers and zeros too."""
    block = Vector(2, 13)
    total = two_party_sum(np.array(rows), block, SumNoise((block,), (TINY,)), Coins())
    assert total.tolist() == np.array(rows).sum(axis=0).tolist()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_exact_one_honest_party_is_enough(epsilon: Fraction) -> None:
    """One party's noise alone is that of the trusted aggregator, for a record's largest move."""
    delta = Fraction(1, 10**6)
    parts = LinearGaussian(epsilon, trust="two-parties", delta=delta).compose()
    sized = parts.noise.sized(epsilon, parts.statistic.sensitivity(5))  # type: ignore[attr-defined]
    assert isinstance(sized, GaussianNoise)
    assert sized.sensitivity == 2 * UNIT
    assert sized.loss(1) <= Micro.of_amount(epsilon)
    rho = Fraction((2 * UNIT) ** 2) / (2 * sized.squared_scale)
    noise = SumNoise((Vector(5, UNIT),), (sized.squared_scale,))
    assert noise.rho == rho  # a voter with one record pays what the circuit's own account says


def test_audit_the_published_noise_is_that_of_both_parties() -> None:
    """300 sums of nothing: chi-square of their squares; fails once in 1e6 runs."""
    variance = Fraction(50)
    block = Vector(4, 3)
    noise = SumNoise((block,), (variance,))
    rows = np.zeros((0, 4), dtype=np.int64)
    drawn = np.concatenate([two_party_sum(rows, block, noise, Coins()) for _ in range(300)])
    statistic = float((drawn.astype(float) ** 2).sum()) / 100
    assert stats.chi2.ppf(5e-7, len(drawn)) < statistic < stats.chi2.isf(5e-7, len(drawn))


@pytest.mark.parametrize("unit", ["record", "choice"])
def test_a_release_between_two_parties_says_so(unit: str) -> None:
    """Trust, one honest party, the voter's epsilon, noise of both; one process is named."""
    rng = np.random.default_rng(3)
    data = made_up_voters(rng, voters=6, features=3).choose(rng, 4)
    both = LinearGaussian(2, unit=unit, trust="two-parties")  # type: ignore[arg-type]
    alone = LinearGaussian(2, unit=unit, trust="aggregator")  # type: ignore[arg-type]
    released, other = both.release(data, public_menus=True), alone.release(data, public_menus=True)
    promise = released.guarantee
    assert (promise.trust, promise.unit, promise.status) == ("two-parties", unit, "proven")
    assert promise.epsilon_user == other.guarantee.epsilon_user
    assert "one of two parties is honest" in released.statement
    assert any("one process" in each or "this process" in each for each in promise.assumptions)
    assert np.isfinite(released.weights).all()


def test_a_simulation_has_the_same_weights_as_little_noise_leaves() -> None:
    """At epsilon 20 the seeded sum and the one between two parties agree."""
    rng = np.random.default_rng(3)
    data = made_up_voters(rng, voters=40, features=3).choose(rng, 10)
    mechanism = LinearGaussian(20, trust="two-parties")
    seeded = mechanism.simulate(data, np.random.default_rng(0))
    assert seeded.guarantee.status == "none"
    np.testing.assert_allclose(seeded.weights, mechanism.release(data).weights, atol=0.1)


def test_noise_that_two_parties_cannot_add_is_refused() -> None:
    """Noise by length and one epsilon a voter, with the way out."""
    with pytest.raises(ParameterError, match="linear-gaussian"):
        LinearKNorm(1, trust="two-parties")
    with pytest.raises(ParameterError, match="one epsilon"):
        LinearGaussian([1, 2], trust="two-parties")
