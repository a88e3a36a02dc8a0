"""Teams with somebody in each role, and cheap passwords."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.accounts.casts import Cast

from masquerade.server import Services


@pytest.fixture
def cast(services: Services) -> Cast:
    """A team on each kind of database."""
    return Cast(services)


@pytest.fixture
def sqlite_cast(sqlite_services: Services) -> Cast:
    """A team on SQLite, where the kind of database does not matter."""
    return Cast(sqlite_services)


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hash passwords with little memory, so that tests are quick; one test uses the real cost."""
    from argon2 import PasswordHasher

    from masquerade.server.accounts import passwords

    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_HASHER", cheap)
    passwords._nobodys.cache_clear()
    yield
    passwords._nobodys.cache_clear()
