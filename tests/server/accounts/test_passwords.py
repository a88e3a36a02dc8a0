"""Passwords are long, kept as Argon2id, and compared in the same time for all askers."""

from __future__ import annotations

from typing import Literal

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type

from masquerade.errors import ParameterError
from masquerade.server.accounts import passwords
from masquerade.server.accounts.passwords import check_password, hash_password, verify_password


def test_a_hash_is_argon2id_with_a_salt_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes are Argon2id at no less than RFC 9106 recommends, and no two are alike."""
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher())
    first, second = hash_password("four words in a row"), hash_password("four words in a row")
    assert first != second
    found = extract_parameters(first)
    assert found.type is Type.ID
    assert found.memory_cost >= 64 * 1024
    assert found.time_cost >= 3
    assert found.salt_len >= 16
    assert verify_password(first, "four words in a row")
    assert not verify_password(first, "four words in a roW")


def test_the_same_letters_in_another_encoding_are_the_same() -> None:
    """A password typed with a combined accent matches one typed with a composed letter."""
    assert verify_password(hash_password("cafe\u0301 cafe\u0301 noir"), "caf\u00e9 caf\u00e9 noir")


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        ("short", "5 characters"),
        ("x" * 1001, "1001 characters"),
        ("abababababababab", "different characters"),
        ("Ann.Example is me", "holds the login"),
    ],
)
def test_what_is_no_password(password: str, complaint: str) -> None:
    """Passwords too short, too long, too simple or with the login are refused, with the reason."""
    with pytest.raises(ParameterError, match=complaint):
        check_password(password, login="ann.example")


@pytest.mark.parametrize(
    "password",
    [
        "password1234",
        "P@ssw0rd-2026",
        "PasswordPassword",
        "qwertyuiop123",
        "123456789012",
        "1qaz2wsx3edc",
        "iloveyou2026!",
        "Welcome12345",
        "adminadmin12",
        "letmein-letmein",
        "abcdefghijkl",
        "Masquerade2026!",
        "summer-winter-1",
        "zyxwvutsrqpo",
        "trustno1-1234",
        "abc123abc123",
        "ann12345-2026",
    ],
)
def test_what_many_choose_is_no_password(password: str) -> None:
    """Common words, runs of keys, years and repetitions are refused, however they are spelt."""
    with pytest.raises(ParameterError, match=r"easily guessed|holds the login"):
        check_password(password, login="ann")


@pytest.mark.parametrize(
    "password",
    ["three words in a row", "four words in a row", "tea kettle moss", "xk7#Lq9!vTz2"],
)
def test_other_passwords_are_taken(password: str) -> None:
    """Several unusual words, and random letters, are taken."""
    assert check_password(password, login="ann") == password


@pytest.mark.parametrize("kept", [None, "", "no hash", "$argon2id$v=19$m=8,t=1,p=1$abc$def"])
def test_nothing_matches_where_no_hash_is_kept(kept: str | None) -> None:
    """Without a usable hash no password is right, not even an empty one."""
    for password in ("", "nobody has this password", "x" * 5000):
        assert not verify_password(kept, password)


def test_a_missing_hash_costs_a_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is kept, one hash is computed all the same, of the same parameters."""
    calls = []
    kept = hash_password("four words in a row")

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
            calls.append(extract_parameters(str(hash)))
            return super().verify(hash, password)

    monkeypatch.setattr(passwords, "_HASHER", Counting(time_cost=1, memory_cost=8, parallelism=1))
    passwords._nobodys.cache_clear()
    assert not verify_password(None, "whatever it is")
    assert not verify_password(kept, "whatever it is")
    assert len(calls) == 2
    assert calls[0] == calls[1]


def test_few_hashes_are_computed_at_once() -> None:
    """At most two computations, each of 64 MiB, run at the same time."""
    assert passwords._AT_ONCE.acquire(timeout=60)
    assert passwords._AT_ONCE.acquire(timeout=60)
    assert not passwords._AT_ONCE.acquire(blocking=False)
    passwords._AT_ONCE.release()
    passwords._AT_ONCE.release()
