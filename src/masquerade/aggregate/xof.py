"""The extendable output function of the draft: seeds become more seeds and vectors.

VDAF draft 20, section 6.2.1 ("XofTurboShake128"), over TurboSHAKE128 of RFC 9861.
"""

from __future__ import annotations

from masquerade.aggregate.field import Elements, Field
from masquerade.errors import ParameterError

try:
    from Crypto.Hash import TurboSHAKE128
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "answers split between two parties need pycryptodome, which is not installed; "
        "pip install 'masquerade[parties]'."
    ) from error

SEED_SIZE = 32
_VERSION = 18
"""Of the wire format: drafts 18 to 20 share it."""
_CLASS_VDAF = 0


class XofTurboShake128:
    """An endless stream of bytes from a seed, a tag that keeps uses apart, and a binder.

    Parameters
    ----------
    seed : bytes
        At most 255; `SEED_SIZE` everywhere in Prio3.
    dst : bytes
        Domain separation tag, at most 65535.
    binder : bytes
        What else the stream depends on.

    Examples
    --------
    >>> XofTurboShake128(bytes(32), b"a tag", b"").next(4).hex()
    '79a20f17'
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: bytes, dst: bytes, binder: bytes) -> None:
        if len(seed) > 255 or len(dst) > 65535:
            raise ParameterError(
                f"a seed of {len(seed)} bytes and a tag of {len(dst)}; expected at most 255 and "
                "65535."
            )
        message = len(dst).to_bytes(2, "little") + dst + bytes([len(seed)]) + seed + binder
        self._stream = TurboSHAKE128.new(domain=1, data=message)

    def next(self, length: int) -> bytes:
        """Return the next bytes of the stream."""
        return self._stream.read(length)

    def next_vector(self, field: Field, length: int) -> Elements:
        """Return the next elements of a field, uniform on it by rejection (section 6.2)."""
        values = field.unpack(self.next(length * field.size))
        # A number at or above the modulus is left out, and as many are read on. Both fields fill
        # their bytes but for 2**-32 and 2**-59, so no bit has to be masked first.
        while values and max(values) >= field.modulus:
            values = [value for value in values if value < field.modulus]
            values += field.unpack(self.next((length - len(values)) * field.size))
        return values


def derive_seed(seed: bytes, dst: bytes, binder: bytes) -> bytes:
    """Return a new seed from another."""
    return XofTurboShake128(seed, dst, binder).next(SEED_SIZE)


def expand(field: Field, seed: bytes, dst: bytes, binder: bytes, length: int) -> Elements:
    """Return a vector of elements from a seed."""
    return XofTurboShake128(seed, dst, binder).next_vector(field, length) if length else []


def domain_separation_tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """Return the tag of one use of the function by one algorithm (section 6.2.3)."""
    tag = bytes([_VERSION, _CLASS_VDAF]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big")
    return tag + context
