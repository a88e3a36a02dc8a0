"""Codes are those of RFC 6238, hold for a minute and a half, and work once."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.server.accounts import totp

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
RFC_CODES = [
    (59, "94287082"),
    (1111111109, "07081804"),
    (1111111111, "14050471"),
    (1234567890, "89005924"),
    (2000000000, "69279037"),
    (20000000000, "65353130"),
]
HOTP_CODES = ["755224", "287082", "359152", "969429", "338314", "254676"]


@pytest.mark.parametrize(("seconds", "code"), RFC_CODES)
def test_golden_codes_of_rfc_6238(seconds: int, code: str) -> None:
    """The codes of appendix B (SHA-1, eight digits)."""
    assert totp.code_at(RFC_SECRET, seconds // totp.STEP_SECONDS, digits=8) == code
    step = totp.matching_step(RFC_SECRET, code[-6:], seconds=seconds, after=None)
    assert step == seconds // totp.STEP_SECONDS


def test_golden_codes_of_rfc_4226() -> None:
    """The codes of appendix D, which is the same function of a counter."""
    assert [totp.code_at(RFC_SECRET, count) for count in range(6)] == HOTP_CODES


@given(step=st.integers(4, 2**40), off=st.integers(-3, 3), late=st.floats(0, 29.9))
def test_prop_one_step_early_or_late_is_accepted(step: int, off: int, late: float) -> None:
    """A code is accepted exactly while its step is at most one away from now."""
    code = totp.code_at(RFC_SECRET, step + off)
    seconds = step * totp.STEP_SECONDS + late
    found = totp.matching_step(RFC_SECRET, code, seconds=seconds, after=None)
    near = {totp.code_at(RFC_SECRET, each): each for each in range(step - 1, step + 2)}
    assert found == near.get(code)
    if abs(off) <= 1:
        assert found is not None


def test_a_used_step_and_those_before_it_are_over() -> None:
    """After a code was used, neither it nor an earlier one is accepted; a later one is."""
    now = 1_000_000 * totp.STEP_SECONDS
    codes = {step: totp.code_at(RFC_SECRET, step) for step in (999_999, 1_000_000, 1_000_001)}
    accepted = {
        step: totp.matching_step(RFC_SECRET, code, seconds=now, after=1_000_000)
        for step, code in codes.items()
    }
    assert accepted == {999_999: None, 1_000_000: None, 1_000_001: 1_000_001}


@pytest.mark.parametrize(
    "code", ["", "28708", "2870820", "abcdef", "２８７０８２", "287 083", "\ud800"]
)
def test_what_is_no_code_is_refused(code: str) -> None:
    """Other input is no code and no failure."""
    typed = code.encode("utf-8", "replace").decode()
    assert totp.matching_step(RFC_SECRET, typed, seconds=59, after=None) is None


def test_spaces_do_not_matter() -> None:
    """A code typed as apps show it, in two groups, is accepted."""
    assert totp.matching_step(RFC_SECRET, " 287 082 ", seconds=59, after=None) == 1


def test_secrets_are_of_160_bits_and_differ() -> None:
    """Each secret holds twenty random bytes, and the link holds the secret and its account."""
    secrets = {totp.new_secret() for _ in range(50)}
    assert len(secrets) == 50
    assert {len(base64.b32decode(secret)) for secret in secrets} == {20}
    parts = urlsplit(totp.link(RFC_SECRET, login="ann+b@example.org"))
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert parts.path == "/Masquerade:ann%2Bb%40example.org"
    query = parse_qs(parts.query)
    assert query["secret"] == [RFC_SECRET]
    assert query["digits"] == ["6"]
