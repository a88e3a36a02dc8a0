"""The room under a cap is worked out in whole numbers, and never reaches beyond its share."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting.caps import Room, room_of
from masquerade.errors import ParameterError
from masquerade.exact import MICRO, Micro
from masquerade.exact.loss import ORDERS

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("cap", "room"),
    [
        (1, Room(24, 540222, 22122)),
        (3, Room(10, 1724336, 371233)),
        (6, Room(6, 3594313, 1348828)),
        (10, Room(4, 5839179, 3276462)),
        (20, Room(3, 13588870, 10167166)),
    ],
)
def test_golden_rooms(cap: int, room: Room) -> None:
    """Order, divergence and clock of the usual caps, to the millionth."""
    assert room_of(Micro(cap * MICRO), MILLIONTH) == room


def test_no_room() -> None:
    """Without delta, and under a tiny cap, pure epsilons alone count."""
    assert room_of(Micro(10 * MICRO), Fraction(0))[1:] == (0, 0)
    assert room_of(Micro(0), MILLIONTH)[1:] == (0, 0)
    assert room_of(Micro(999), MILLIONTH).clock == 0
    assert room_of(Micro(900 * MICRO), MILLIONTH) == room_of(Micro(700 * MICRO), MILLIONTH)
    for delta in (Fraction(1), Fraction(-1, 10)):
        with pytest.raises(ParameterError):
            room_of(Micro(1), delta)


@given(
    micro=st.integers(1, 100 * MICRO),
    delta=st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(9, 10)),
)
def test_prop_both_rooms_keep_their_share(micro: int, delta: Fraction) -> None:
    """Markov's bound at R gives at most 2/5 of delta, normal noise at B at most 3/5."""
    room = room_of(Micro(micro), delta)
    with mpmath.workdps(50):
        epsilon, d = mpmath.mpf(micro) / MICRO, mpmath.mpf(delta.numerator) / delta.denominator
        a = room.order
        assert a in ORDERS
        if room.divergence:
            spread = mpmath.exp((a - 1) * (mpmath.mpf(room.divergence) / MICRO - epsilon))
            assert spread * (1 - mpmath.mpf(1) / a) ** (a - 1) / a <= d * 2 / 5
        if room.clock:
            mu = mpmath.sqrt(mpmath.mpf(room.clock) / MICRO + mpmath.mpf(1) / 32)
            first = mpmath.ncdf(mu / 2 - epsilon / mu)
            second = mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
            assert first - second <= d * 3 / 5


@given(st.integers(1, 40 * MICRO), st.integers(1, 40 * MICRO))
def test_prop_a_lower_cap_has_no_more_room(one: int, other: int) -> None:
    """Where both have one order, nothing fits the lower cap that does not fit the higher one."""
    low, high = (room_of(Micro(m), MILLIONTH) for m in sorted((one, other)))
    assert low.clock <= high.clock
    assert low.divergence * high.order <= high.divergence * low.order or low.order > high.order


def test_exact_shares_of_changed_caps_add_to_what_is_said() -> None:
    """Caps changed because of reports cost 3 times the largest delta at most, 2 times to 1 %."""
    orders = np.array(ORDERS, dtype=float)
    excess = np.log1p(1 / (orders - 1))
    t = np.arange(0.0, 60, 0.01)  # ln (1 / delta)
    most = {1.0: 0.0, 0.01: 0.0}
    for epsilon in np.geomspace(1e-3, 700, 120):
        rooms = epsilon + excess + (np.log(0.4 * orders) - t[:, None]) / (orders - 1)
        best = np.where(rooms.max(axis=1) > 0, (rooms / orders).argmax(axis=1), -1)
        starts = np.array([t[best == place].min() for place in np.unique(best[best >= 0])])
        for first in starts:  # just above its delta the order before counts too
            total = 0.6 + 0.4 * (1 + np.exp(first - starts[starts >= first]).sum())
            for delta in most:
                if np.exp(-first) <= delta:
                    most[delta] = max(most[delta], total)
    assert 2 < most[1.0] < 3
    assert 1.3 < most[0.01] < 2
    # the orders are those of the rooms, and a lower cap can have more room than a higher one
    low, high = (room_of(Micro(m), MILLIONTH) for m in (13_160_000, 13_170_000))
    assert (low.order, high.order) == (4, 3)
    assert low.divergence > high.divergence
