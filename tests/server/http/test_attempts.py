"""Passwords cannot be tried without end, whether or not there is such a login."""

from __future__ import annotations

import pytest

from masquerade.errors import TooManyAttempts
from masquerade.server.http.rate_limit import (
    AT_ONE_DOOR,
    AT_ONE_LOGIN,
    ATTEMPTS_SECONDS,
    FROM_ONE_ADDRESS,
    Attempts,
)


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def tries(attempts: Attempts, login: str, address: str, most: int = 1000) -> int:
    """Return how many attempts are let through before one is refused."""
    for done in range(most):
        try:
            attempts.take(login=login, address=address)
        except TooManyAttempts:
            return done
    return most


def test_one_login_from_one_address() -> None:
    """Ten attempts are let through, then none, until their share of the window is over."""
    clock = Clock()
    attempts = Attempts(now=clock)
    assert tries(attempts, "ann", "192.0.2.1") == AT_ONE_DOOR
    with pytest.raises(TooManyAttempts, match="wait 2 minutes") as refused:
        attempts.take(login=" ANN ", address="192.0.2.1")
    assert refused.value.seconds == ATTEMPTS_SECONDS / AT_ONE_DOOR
    clock.now += ATTEMPTS_SECONDS / AT_ONE_DOOR
    assert tries(attempts, "ann", "192.0.2.1") == 1
    clock.now += ATTEMPTS_SECONDS
    assert tries(attempts, "ann", "192.0.2.1") == AT_ONE_DOOR


def test_one_login_from_everywhere() -> None:
    """However many addresses somebody has, one login is tried so often and no more."""
    attempts = Attempts(now=Clock())
    found = [tries(attempts, "ann", f"192.0.2.{number}") for number in range(20)]
    assert sum(found) == AT_ONE_LOGIN


def test_one_address_with_many_logins() -> None:
    """However many logins somebody tries, one address tries so often and no more."""
    attempts = Attempts(now=Clock())
    found = [tries(attempts, f"login-{number}", "192.0.2.1") for number in range(50)]
    assert sum(found) == FROM_ONE_ADDRESS


def test_an_attacker_elsewhere_does_not_lock_the_owner_out() -> None:
    """An asker that tries a login from one address leaves it open to others."""
    attempts = Attempts(now=Clock())
    assert tries(attempts, "ann", "192.0.2.1") == AT_ONE_DOOR
    assert tries(attempts, "ann", "192.0.2.2") == AT_ONE_DOOR


def test_a_network_of_ipv6_is_one_address() -> None:
    """Using other addresses of one's /64 gives no further attempt, neither at one login nor all."""
    attempts = Attempts(now=Clock())
    found = [tries(attempts, "ann", f"2001:db8::{n:x}") for n in range(1, 6)]
    assert found == [AT_ONE_DOOR, 0, 0, 0, 0]
    found = [tries(attempts, f"login-{n}", f"2001:db8::{n:x}") for n in range(1, 41)]
    assert sum(found) == FROM_ONE_ADDRESS - AT_ONE_DOOR
    assert tries(attempts, "ann", "2001:db9:0:1::1") == AT_ONE_DOOR


def test_an_address_of_ipv4_is_one_however_it_is_written() -> None:
    """An address that IPv6 maps counts as the same address of IPv4."""
    attempts = Attempts(now=Clock())
    assert tries(attempts, "ann", "192.0.2.1") == AT_ONE_DOOR
    assert tries(attempts, "ann", "::ffff:192.0.2.1") == 0
    assert tries(attempts, "ann", "::ffff:192.0.2.2") == AT_ONE_DOOR


def test_a_customers_many_networks_are_one_address() -> None:
    """Of IPv6 a customer may have 65,536 networks, from which no more attempts are made."""
    attempts = Attempts(now=Clock())
    found = [
        tries(attempts, f"login{number}", f"2001:db8:1:{number:x}::1", most=2)
        for number in range(130)
    ]
    assert sum(found) == FROM_ONE_ADDRESS
    assert tries(attempts, "other", "2001:db8:2::1", most=2) == 2
