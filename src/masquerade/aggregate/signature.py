"""Signatures of a helper: ECDSA over P-256 with SHA-256, which every browser can check."""

from __future__ import annotations

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from masquerade.errors import BrokenPromise, ParameterError

_SIZE = 32
_ALGORITHM = ec.ECDSA(hashes.SHA256())
_APPROVAL = b"masquerade helper approves task\x00"


def fingerprint_of(public_key: bytes) -> str:
    """Return the fingerprint of a public key: 128 bits of its SHA-256, in hexadecimal.

    Examples
    --------
    >>> len(fingerprint_of(SigningKey.generate().public_key))
    32
    """
    return hashlib.sha256(public_key).hexdigest()[:32]


def fingerprint_groups(fingerprint: str) -> str:
    """Return the digits of a fingerprint by fours, as people compare them.

    Examples
    --------
    >>> fingerprint_groups("95ace600036e")
    '95ac e600 036e'
    """
    return " ".join(fingerprint[start : start + 4] for start in range(0, len(fingerprint), 4))


class SigningKey:
    """The lasting key of a helper, by which it is known.

    `private_key`: 32; whoever has them speaks for the helper.
    """

    def __init__(self, private_key: bytes) -> None:
        number = int.from_bytes(private_key)
        if len(private_key) != _SIZE or not number:
            raise ParameterError(f"a private key has {len(private_key)} bytes, expected {_SIZE}.")
        self.private_key = private_key
        self._key = ec.derive_private_key(number, ec.SECP256R1())
        self.public_key = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a new key, from the operating system's randomness."""
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key.private_numbers().private_value.to_bytes(_SIZE))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the public key."""
        return fingerprint_of(self.public_key)

    def approve(self, configuration: bytes) -> bytes:
        """Return the signature of a task's configuration: r and s, 32 bytes each."""
        # In the form of WebCrypto, not of ASN.1.
        pair = decode_dss_signature(self._key.sign(_APPROVAL + configuration, _ALGORITHM))
        return b"".join(number.to_bytes(_SIZE) for number in pair)


def check_approval(
    public_key: bytes, signature: bytes, configuration: bytes, *, fingerprint: str
) -> None:
    """Check that the helper of this fingerprint approved a task.

    Raises `BrokenPromise` (the key has another fingerprint, or did not sign this configuration).
    """
    if fingerprint_of(public_key) != fingerprint:
        raise BrokenPromise(
            f"the helper's key has the fingerprint {fingerprint_of(public_key)}, expected "
            f"{fingerprint}. Ask the helper's operator which is right, and send nothing before."
        )
    try:
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public_key)
        if len(signature) != 2 * _SIZE:
            raise InvalidSignature
        pair = int.from_bytes(signature[:_SIZE]), int.from_bytes(signature[_SIZE:])
        key.verify(encode_dss_signature(*pair), _APPROVAL + configuration, _ALGORITHM)
    except (InvalidSignature, ValueError) as error:
        raise BrokenPromise(
            "the helper has not approved these terms of the survey: its signature does not hold. "
            "Nothing was sent."
        ) from error
