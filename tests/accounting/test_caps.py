"""The filter admits what fits a cap, to the last millionth, and nothing else."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import (
    Caps,
    Kind,
    MaskedChoice,
    MaskedNumber,
    Mu,
    Rho,
    pure_of,
    rho_of,
    spent,
)
from masquerade.accounting.caps import DEFAULT_CAP, is_gaussian, room_of
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA

MILLIONTH = Fraction(1, 10**6)
kinds: st.SearchStrategy[Kind] = st.one_of(
    st.integers(1, 2 * MICRO).map(Micro),
    st.integers(1, MICRO).map(Rho),
    st.sampled_from([Mu.of(Fraction(k, 3)) for k in (1, 2, 4)]),
    st.builds(MaskedChoice, st.integers(2, 30), st.integers(1, 2 * MICRO).map(Micro)),
    st.builds(MaskedNumber, st.just(4), st.sampled_from([Fraction(s * s) for s in (3, 6, 12)])),
)


def run(caps: Caps, offered: list[Kind]) -> list[Kind]:
    """Return what the filter admits of a list of offers, one after the other."""
    admitted: list[Kind] = []
    for kind in offered:
        trial = [*admitted, kind]
        epsilon = sum(pure_of(k).micro for k in trial)
        rho = sum(rho_of(k).micro for k in trial)
        gaussian = all(is_gaussian(k) for k in trial)
        if caps.admit(epsilon=epsilon, rho=int(rho), clear=0, gaussian=gaussian):
            admitted = trial
    return admitted


def test_exactly_enough_is_enough() -> None:
    """A cap admits its own amount in each unit, and not a millionth more."""
    caps = Caps(Micro(3 * MICRO), MILLIONTH, clear=2)
    much = 10**9
    assert caps.admit(epsilon=3_000_000, rho=much, clear=0)
    assert not caps.admit(epsilon=3_000_001, rho=much, clear=0)
    assert caps.admit(epsilon=math.inf, rho=int(caps.rho.micro), clear=0)
    assert not caps.admit(epsilon=math.inf, rho=int(caps.rho.micro) + 1, clear=0)
    assert caps.admit(epsilon=0, rho=0, clear=2)
    assert not caps.admit(epsilon=0, rho=0, clear=3)


def test_basic_examples() -> None:
    """A cap of 10 admits 10 losses of 1; many weak ones as long as rho fits, and more noise."""
    assert len(run(Caps(), [Micro(MICRO)] * 20)) == 10
    assert len(run(Caps(), [Mu.of(Fraction(1, 3))] * 50)) == 30
    assert len(run(Caps(rule=1), [Mu.of(Fraction(1, 3))] * 50)) == 27
    assert len(run(Caps(), [Micro(100_000)] * 900)) == 300  # by rho: by epsilon it would be 100
    assert len(run(Caps(rule=1), [Micro(100_000)] * 900)) == 308
    # After Gaussian noise only rho counts: 1.501163 - 0.222223 leaves two of tanh(1 / 2).
    assert len(run(Caps(), [Mu.of(Fraction(2, 3)), *[Micro(MICRO)] * 20])) == 3


def test_without_delta_only_pure_epsilon_counts() -> None:
    """With delta 0 the cap admits pure epsilon and no Gaussian noise at all."""
    caps = Caps(Micro(2 * MICRO), Fraction(0))
    assert len(run(caps, [Mu.of(Fraction(1, 3)), *[Micro(MICRO)] * 5])) == 2
    assert run(caps, [Rho(1)]) == []


@given(
    offered=st.lists(kinds, max_size=25), cap=st.integers(1, 20 * MICRO), power=st.integers(2, 9)
)
def test_prop_what_is_admitted_costs_at_most_the_cap(
    offered: list[Kind], cap: int, power: int
) -> None:
    """Whatever is offered, everything admitted together is within the cap by a sound bound."""
    caps = Caps(Micro(cap), Fraction(1, 10**power))
    admitted = run(caps, offered)
    bounds = spent(admitted, caps.delta).bounds
    assert min(bounds.values()) <= caps.epsilon


@given(epsilon=st.integers(0, 20 * MICRO), lower=st.integers(0, 20 * MICRO))
def test_prop_a_lower_cap_admits_no_more(epsilon: int, lower: int) -> None:
    """Caps are ordered: what a lower one admits, the higher one does."""
    low, high = sorted([epsilon, lower])
    one, other = Caps(Micro(low)), Caps(Micro(high))
    assert one.within(other)
    assert one.rho <= other.rho
    assert one.gaussian <= other.gaussian
    assert other.within(one) == (low == high)


def test_impossible_caps_are_refused() -> None:
    """A cap is a finite epsilon, a delta below 1 and a number of answers."""
    wrongs: tuple[dict[str, Any], ...] = (
        {"epsilon": INFINITE_LOSS},
        {"delta": Fraction(1)},
        {"delta": Fraction(-1, 2)},
        {"delta": 1e-6},
        {"clear": -1},
        {"clear": True},
        {"rule": 3},
    )
    for wrong in wrongs:
        with pytest.raises(ParameterError, match="expected"):
            Caps(**wrong)


def test_the_room_of_the_default_caps_is_what_is_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Written down, so that nothing need be worked out at a server's start, it is the same."""
    written = room_of.__wrapped__(DEFAULT_CAP, DEFAULT_DELTA)
    monkeypatch.setattr("masquerade.accounting.caps.DEFAULT_CAP", Micro(1))
    assert room_of.__wrapped__(DEFAULT_CAP, DEFAULT_DELTA) == written


def test_a_cap_is_an_amount() -> None:
    """A float is no cap: the error shows what is."""
    with pytest.raises(ParameterError, match=r"the cap on epsilon is 10.0, expected a finite"):
        Caps(10.0)  # type: ignore[arg-type]
