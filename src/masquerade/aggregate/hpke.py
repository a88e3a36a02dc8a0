"""Encryption to a party's public key: HPKE in base mode (RFC 9180), by pyhpke.

HKDF-SHA256 and AES-128-GCM, with one of two key exchanges: over P-256, which every browser has, or
X25519, which other implementations of DAP ask for.
"""

from __future__ import annotations

import os
from contextlib import suppress
from enum import IntEnum
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from masquerade.errors import InvalidReport, MissingExtra, ParameterError

if TYPE_CHECKING:
    from pyhpke import CipherSuite

SEED_SIZE = 32
#: Identifiers of HKDF-SHA256 and AES-128-GCM (RFC 9180, tables 3 and 5).
KDF, AEAD = 1, 1
#: Bytes that encryption adds: the tag of AES-128-GCM.
TAG_SIZE = 16


class Kem(IntEnum):
    """A key exchange, by its identifier (RFC 9180, table 2)."""

    P256 = 0x0010
    X25519 = 0x0020

    @property
    def public_size(self) -> int:
        """Bytes of a public key, and of `enc`."""
        return 65 if self is Kem.P256 else 32


class HpkeKey:
    """A party's private key, from 32 bytes, which open all that was encrypted to the party.

    Examples
    --------
    >>> key = HpkeKey.generate()
    >>> enc, payload = seal(key.kem, key.public_key, b"a share", info=b"who to whom", aad=b"")
    >>> key.open(enc, payload, info=b"who to whom", aad=b"")
    b'a share'
    """

    def __init__(self, kem: Kem, seed: bytes) -> None:
        if len(seed) != SEED_SIZE:
            raise ParameterError(f"a seed has {len(seed)} bytes, expected {SEED_SIZE}.")
        self.kem, self.seed = kem, seed
        pair = _suite(kem).kem.derive_key_pair(seed)
        self._private, self.public_key = pair.private_key, pair.public_key.to_public_bytes()

    @classmethod
    def generate(cls, kem: Kem = Kem.P256) -> HpkeKey:
        """Return a new key, from the operating system's randomness."""
        return cls(kem, os.urandom(SEED_SIZE))

    def open(self, enc: bytes, payload: bytes, *, info: bytes, aad: bytes) -> bytes:
        """Return the plain text of a message to this key (RFC 9180, section 6.1, ``OpenBase``).

        Raises `InvalidReport` where key, `info` or `aad` were others, or it was changed since.
        """
        try:
            # a point has one form here: the library takes compressed ones of P-256 too
            if len(enc) != self.kem.public_size:
                raise ValueError
            context = _suite(self.kem).create_recipient_context(enc, self._private, info=info)
            return context.open(payload, aad=aad)
        # a point off the curve is a ValueError of the library below
        except (_pyhpke().PyHPKEError, ValueError) as error:
            raise InvalidReport(
                "a share cannot be decrypted; expected one that was encrypted to this key, for "
                "this task and report. Count it as refused."
            ) from error


def seal(
    kem: Kem, public_key: bytes, plaintext: bytes, *, info: bytes, aad: bytes
) -> tuple[bytes, bytes]:
    """Return `enc` and the encrypted bytes, for the holder of the private key alone.

    `info`, `aad`: what the reader has to know to open it: not secret, and bound to the encrypted
    bytes.
    """
    if len(public_key) == kem.public_size:
        # a point off the curve, or one of low order, is an error of the library below
        with suppress(_pyhpke().PyHPKEError, ValueError):
            recipient = _suite(kem).kem.deserialize_public_key(public_key)
            enc, context = _suite(kem).create_sender_context(recipient, info=info)
            return enc, context.seal(plaintext, aad=aad)
    raise ParameterError(
        f"{len(public_key)} bytes are no public key of {kem.name}; ask the party for its key."
    )


@cache
def _pyhpke() -> ModuleType:
    # Loaded where it is first used: most servers have no survey between two parties.
    try:
        import pyhpke
    except ImportError as error:  # pragma: no cover
        raise MissingExtra(
            "shares between two parties are encrypted by pyhpke", "parties"
        ) from error
    return pyhpke


@lru_cache
def _suite(kem: Kem) -> CipherSuite:
    library = _pyhpke()
    suite: CipherSuite = library.CipherSuite.new(
        library.KEMId(kem), library.KDFId(KDF), library.AEADId(AEAD)
    )
    return suite
