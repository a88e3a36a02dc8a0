"""What a cap buys, by every way of adding up, is the known table."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import (
    Caps,
    MaskedChoice,
    MaskedNumber,
    Mu,
    Rho,
    answers_allowed,
    kinds_of,
    what_a_cap_buys,
)
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.mechanisms import LEVELS, RandomizedResponse

MU = {level.name: level.mu for level in LEVELS}
NAMES = ("low", "medium", "high")
TABLE = [
    # cap, delta: basic, simple, concentrated, gaussian; each for the levels low, medium, high; and
    # what the ledger admits
    (20, 6, (2, 5, 12), (4, 19, 79), (5, 21, 86), (5, 23, 94), (5, 23, 92)),
    (10, 6, (1, 3, 6), (1, 6, 24), (1, 6, 27), (1, 7, 30), (1, 7, 30)),
    (8, 5, (1, 2, 5), (1, 4, 18), (1, 5, 22), (1, 6, 24), (1, 6, 24)),
    (3, 6, (0, 0, 2), (0, 0, 2), (0, 0, 3), (0, 0, 3), (0, 0, 3)),
]


@pytest.mark.parametrize(
    ("cap", "power", "basic", "simple", "concentrated", "exact", "ledger"), TABLE
)
def test_number_answers_of_each_level(
    cap: int,
    power: int,
    basic: object,
    simple: object,
    concentrated: object,
    exact: object,
    ledger: tuple[int, ...],
) -> None:
    """Gaussian noise on the line: the published comparison of ways of adding up, every cell."""
    caps = Caps(Micro(cap * MICRO), Fraction(1, 10**power))
    found = [answers_allowed(Mu.of(MU[name]), caps) for name in NAMES]
    expected = {"basic": basic, "simple": simple, "concentrated": concentrated, "gaussian": exact}
    for method, counts in expected.items():
        assert tuple(one.by_method[method] for one in found) == counts, method
    assert tuple(one.ledger for one in found) == ledger


@pytest.mark.parametrize(
    ("cap", "power", "basic", "simple", "concentrated", "exact", "ledger"),
    [*(pytest.param(*row, marks=pytest.mark.exhaustive) for row in TABLE[:3]), *TABLE[3:]],
)
def test_ratings_of_each_level(
    cap: int,
    power: int,
    basic: object,
    simple: object,
    concentrated: object,
    exact: object,
    ledger: tuple[int, ...],
) -> None:
    """The 5-point rating with noise on its lattice is bought as often as noise on the line."""
    caps = Caps(Micro(cap * MICRO), Fraction(1, 10**power))
    found = [answers_allowed(MaskedNumber(4, Fraction(s * s)), caps) for s in (3, 6, 12)]
    assert tuple(one.by_method["distribution"] for one in found) == exact
    assert tuple(one.by_method["concentrated"] for one in found) == concentrated
    assert tuple(one.by_method["basic"] for one in found) == basic
    assert found[-1].ledger == ledger[-1]  # the lattices of the others are coarser
    assert simple


@pytest.mark.parametrize(
    ("micro", "pure", "concentrated", "ledger", "exact"),
    [(500_000, 20, 26, 26, 32), (250_000, 40, 114, 111, 129), (100_000, 100, 746, 728, 830)],
)
def test_weak_responses(micro: int, pure: int, concentrated: int, ledger: int, exact: int) -> None:
    """Weak randomized response: adding rho buys several times what adding epsilon does."""
    found = answers_allowed(MaskedChoice(5, Micro(micro)), Caps())
    assert found.by_method["pure"] == pure
    assert found.by_method["concentrated"] == concentrated
    assert found.ledger == ledger
    assert found.by_method["distribution"] == exact


@pytest.mark.parametrize(("flip", "count"), [("0.1", 2), ("0.3", 4), ("0.4", 5)])
def test_strong_responses(flip: str, count: int) -> None:
    """Strong randomized response: nothing to gain over adding epsilon, a lot to lose with rho."""
    [kind] = kinds_of([RandomizedResponse(5, flip_probability=flip)])
    found = answers_allowed(kind, Caps())
    assert found.ledger == found.by_method["pure"] == found.by_method["distribution"] == count
    assert found.by_method["simple"] < count


def test_what_a_cap_buys_at_each_level() -> None:
    """The calculator has numbers and every size of choice at every level."""
    found = what_a_cap_buys(Caps(), options=(2, 5))
    assert list(found) == [
        f"{level.name}, {kind}" for level in LEVELS for kind in ("number", "2 options", "5 options")
    ]
    assert [found[f"{name}, number"].by_method["gaussian"] for name in NAMES] == [1, 7, 30]


@given(
    micro=st.integers(10_000, 3 * MICRO),
    symbols=st.integers(2, 20),
    cap=st.integers(1, 12),
)
def test_prop_sharper_ways_never_buy_less(micro: int, symbols: int, cap: int) -> None:
    """Exact composition buys at least what any other way does, and the ledger what it admits."""
    found = answers_allowed(MaskedChoice(symbols, Micro(micro)), Caps(Micro(cap * MICRO)))
    counts = dict(found.by_method)
    assert counts["basic"] >= counts["pure"]
    assert counts["concentrated"] >= counts["simple"]
    assert counts["distribution"] >= max(counts["pure"], counts["concentrated"])
    assert counts["pure"] <= found.ledger <= max(counts["pure"], counts["concentrated"])


def test_caps_at_the_ends() -> None:
    """Answers in clear are bought one by one, what is free has no number, and no delta no rho."""
    assert answers_allowed(INFINITE_LOSS, Caps(clear=2)).ledger == 2
    assert answers_allowed(INFINITE_LOSS, Caps()).ledger == 0
    with pytest.raises(ParameterError, match="costs nothing"):
        answers_allowed(Rho(0), Caps())
    pure = answers_allowed(Micro(MICRO), Caps(delta=Fraction(0)))
    assert pure.by_method == {"pure": 10}
    assert answers_allowed(Micro(1), Caps(Micro(10**13))).ledger == 1 << 20
