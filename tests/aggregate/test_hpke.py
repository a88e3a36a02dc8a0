"""Encryption to a party: the official vectors, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aggregate.official import FOLDER

from masquerade.aggregate.hpke import AEAD, KDF, HpkeKey, Kem, seal
from masquerade.errors import InvalidReport, ParameterError

VECTORS = json.loads((FOLDER.parent / "hpke.json").read_text(encoding="utf-8"))["vectors"]
KEYS = {kem: HpkeKey(kem, bytes(range(32))) for kem in Kem}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: hex(vector["kem_id"]))
def test_the_vectors_of_rfc_9180_open(vector: dict[str, Any]) -> None:
    """Key and first message of base mode are those of RFC 9180, for both key exchanges."""
    assert (vector["kdf_id"], vector["aead_id"]) == (KDF, AEAD)
    key = HpkeKey(Kem(vector["kem_id"]), bytes.fromhex(vector["ikmR"]))
    assert key.public_key.hex() == vector["pkRm"]
    first = {name: bytes.fromhex(text) for name, text in vector["encryption"].items()}
    info, enc = bytes.fromhex(vector["info"]), bytes.fromhex(vector["enc"])
    assert key.open(enc, first["ct"], info=info, aad=first["aad"]) == first["pt"]


@given(st.sampled_from(Kem), st.binary(max_size=99), st.binary(max_size=9), st.binary(max_size=9))
def test_prop_what_is_sealed_opens(kem: Kem, text: bytes, info: bytes, aad: bytes) -> None:
    """The holder of the key reads the sealed text; it is 16 bytes longer, and new each time."""
    key = KEYS[kem]
    enc, payload = seal(kem, key.public_key, text, info=info, aad=aad)
    assert key.open(enc, payload, info=info, aad=aad) == text
    assert (len(enc), len(payload)) == (kem.public_size, len(text) + 16)
    assert seal(kem, key.public_key, text, info=info, aad=aad) != (enc, payload)


@pytest.mark.parametrize("kem", Kem)
def test_anything_else_is_refused(kem: Kem) -> None:
    """Another key, info or data, a changed bit, or a point off the curve opens nothing."""
    key = KEYS[kem]
    enc, payload = seal(kem, key.public_key, b"share", info=b"i", aad=b"a")
    changed = payload[:-1] + bytes([payload[-1] ^ 1])
    wrong: list[tuple[HpkeKey, bytes, bytes, bytes, bytes]] = [
        (HpkeKey.generate(kem), enc, payload, b"i", b"a"),
        (key, enc, payload, b"j", b"a"),
        (key, enc, payload, b"i", b"b"),
        (key, enc, changed, b"i", b"a"),
        (key, enc, b"", b"i", b"a"),
        (key, b"\x04" + bytes(kem.public_size - 1), payload, b"i", b"a"),
        (key, enc[:-1], payload, b"i", b"a"),
    ]
    for reader, sent_enc, sent, info, aad in wrong:
        with pytest.raises(InvalidReport, match="cannot be decrypted"):
            reader.open(sent_enc, sent, info=info, aad=aad)


def test_a_compressed_point_is_refused() -> None:
    """A point of P-256 has one form, so that nobody can send one report in two."""
    key = KEYS[Kem.P256]
    enc, payload = seal(Kem.P256, key.public_key, b"share", info=b"", aad=b"")
    compressed = bytes([2 + enc[-1] % 2]) + enc[1:33]
    with pytest.raises(InvalidReport, match="cannot be decrypted"):
        key.open(compressed, payload, info=b"", aad=b"")


@pytest.mark.parametrize("kem", Kem)
@pytest.mark.parametrize("key", [b"", bytes(31), b"\x04" + bytes(64), bytes(66)])
def test_what_is_no_public_key_is_refused(kem: Kem, key: bytes) -> None:
    """Nothing is sealed to bytes that are no point of the curve."""
    with pytest.raises(ParameterError, match="no public key"):
        seal(kem, key, b"", info=b"", aad=b"")


def test_a_low_order_point_of_x25519_is_refused() -> None:
    """A public key with which every shared secret is 0 is none."""
    with pytest.raises(ParameterError, match="no public key"):
        seal(Kem.X25519, bytes(32), b"share", info=b"", aad=b"")


def test_a_seed_has_32_bytes() -> None:
    """A shorter seed could be guessed."""
    with pytest.raises(ParameterError, match="expected 32"):
        HpkeKey(Kem.P256, bytes(31))
