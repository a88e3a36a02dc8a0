"""The agreement of two parties: their key, and the set of reports."""

from __future__ import annotations

import itertools

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from masquerade.aggregate import BatchTally, verification_key
from masquerade.errors import InvalidReport, ParameterError

NONCES = st.lists(st.binary(min_size=16, max_size=16), unique=True, max_size=8)
HALF = st.binary(min_size=32, max_size=32)


@given(HALF, HALF)
def test_prop_the_key_is_that_of_the_standard(seed: bytes, task: bytes) -> None:
    """The key is HKDF-SHA256 with salt "verify_key", by another implementation of it."""
    kdf = HKDF(algorithm=SHA256(), length=32, salt=b"verify_key", info=task)
    assert verification_key(seed, task) == kdf.derive(seed)


def test_a_key_needs_a_whole_seed_and_task() -> None:
    """A short seed could be guessed, and a short task stand for another."""
    for seed, task in ((bytes(31), bytes(32)), (bytes(32), bytes(31))):
        with pytest.raises(ParameterError, match="expected 32 and 32"):
            verification_key(seed, task)


@given(NONCES, st.integers(0, 8))
def test_prop_a_tally_knows_no_order_and_goes_in_parts(nonces: list[bytes], cut: int) -> None:
    """Jobs may come in any order and be counted apart."""
    whole = BatchTally.of(nonces)
    assert BatchTally.of(reversed(nonces)) == whole
    assert BatchTally.of(nonces[:cut]).merge(BatchTally.of(nonces[cut:])) == whole
    assert whole.merge(BatchTally()) == whole


def test_a_report_that_only_one_party_has_is_found() -> None:
    """Sets of one size that differ in one report have different checksums."""
    nonces = [bytes([i] * 16) for i in range(6)]
    tallies = {BatchTally.of(few) for few in itertools.combinations(nonces, 3)}
    assert len(tallies) == 20


@pytest.mark.parametrize("nonces", [[bytes(16), bytes(16)], [bytes(15)]])
def test_a_report_twice_is_refused(nonces: list[bytes]) -> None:
    """A nonce that stands twice, or is none, is an error and not a larger count."""
    with pytest.raises(InvalidReport, match="expected each report once"):
        BatchTally.of(nonces)
