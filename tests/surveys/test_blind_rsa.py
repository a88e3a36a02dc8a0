"""Blind RSA signatures against the vectors of RFC 9474, another implementation, and forgers."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from masquerade.errors import ParameterError
from masquerade.surveys.blind_rsa import EXPONENT, PrivateKey, PublicKey

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "blind-rsa.json").read_text(encoding="utf-8")
)


def made(bits: int = 2048) -> PrivateKey:
    """Return a new key."""
    numbers = rsa.generate_private_key(EXPONENT, bits).private_numbers()
    return PrivateKey(numbers.p, numbers.q)


KEY = made()


@pytest.mark.parametrize("vector", VECTORS, ids=[one["name"] for one in VECTORS])
def test_vectors_of_the_rfc_come_out_byte_for_byte(vector: dict[str, Any]) -> None:
    """Blinding, signing and finalizing give the bytes of RFC 9474, appendix A."""
    private = PrivateKey(int(vector["p"], 16), int(vector["q"], 16))
    public = PublicKey(int(vector["n"], 16))
    assert private.public == public
    message = bytes.fromhex(vector["input_msg"])
    blinded, inverse = public.blind(
        message, salt=bytes.fromhex(vector["salt"]), inverse=int(vector["inv"], 16)
    )
    assert blinded.hex() == vector["blinded_msg"]
    signed = private.sign_blinded(blinded)
    assert signed.hex() == vector["blind_sig"]
    assert public.finalize(message, signed, inverse).hex() == vector["sig"]


def test_signatures_are_those_of_another_implementation_too() -> None:
    """A signature made here verifies in OpenSSL, and one made there verifies here."""
    for bits in (2048, 3072):
        own = made(bits)
        numbers = rsa.RSAPublicNumbers(EXPONENT, own.public.modulus)
        scheme = padding.PSS(padding.MGF1(hashes.SHA384()), 48)
        blinded, inverse = own.public.blind(b"a message")
        signature = own.public.finalize(b"a message", own.sign_blinded(blinded), inverse)
        numbers.public_key().verify(signature, b"a message", scheme, hashes.SHA384())
        theirs = rsa.generate_private_key(EXPONENT, bits)
        public = PublicKey(theirs.public_key().public_numbers().n)
        assert public.verifies(b"other", theirs.sign(b"other", scheme, hashes.SHA384()))
        other = padding.PSS(padding.MGF1(hashes.SHA384()), 20)
        assert not public.verifies(b"other", theirs.sign(b"other", other, hashes.SHA384()))


def test_every_changed_bit_is_refused() -> None:
    """No signature with one bit changed verifies, nor one of another message, length or key."""
    public = KEY.public
    blinded, inverse = public.blind(b"message")
    good = public.finalize(b"message", KEY.sign_blinded(blinded), inverse)
    assert public.verifies(b"message", good)
    for place in range(8 * len(good)):
        changed = bytearray(good)
        changed[place // 8] ^= 1 << place % 8
        assert not public.verifies(b"message", bytes(changed))
    above = int.from_bytes(good, "big") + public.modulus
    for wrong in (b"", good[:-1], b"\0" + good, bytes(len(good)), above.to_bytes(257, "big")):
        assert not public.verifies(b"message", wrong)
    assert not public.verifies(b"massage", good)
    assert not made().public.verifies(b"message", good)


def test_a_signer_that_cheats_is_noticed() -> None:
    """A value that is no signature of the named key raises, and so does one not blinded."""
    public = KEY.public
    _, inverse = public.blind(b"message")
    for answer in (b"", secrets.token_bytes(256), made().sign_blinded(b"\1" * 256)):
        with pytest.raises(ParameterError):
            public.finalize(b"message", answer, inverse)
    for blinded in (b"", bytes(256), bytes(255), b"\xff" * 256, b"\1" * 257):
        with pytest.raises(ParameterError):
            KEY.sign_blinded(blinded)


@pytest.mark.parametrize(
    "text", ["", "0", "zz", "1" * 10, "F" + "1" * 511, "f" * 511, "f" * 511 + "e", "f" * 1026]
)
def test_a_key_that_is_none_is_refused(text: str) -> None:
    """Keys that are short, long, even, upper-case or no number are refused."""
    with pytest.raises(ParameterError):
        PublicKey.of_hex(text)


def test_a_key_comes_back_from_its_text() -> None:
    """Both halves of a key are read from their text, and the private one is not shown."""
    assert PublicKey.of_hex(KEY.public.hex()) == KEY.public
    assert PrivateKey.of_text(KEY.text()) == KEY
    assert str(KEY.first) not in repr(KEY)
