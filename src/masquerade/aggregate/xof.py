"""The extendable output function of the draft, and the seeds that go into it.

VDAF draft 20, section 6.2.1 ("XofTurboShake128"), over TurboSHAKE128 of RFC 9861. Seeds come from
the operating system or from a test vector, and the two never meet: `Prio3.shard` takes `Coins` and
makes a `SplitReport`; `Prio3.simulate` takes `GivenSeeds` and makes a `SimulatedSplitReport`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from masquerade.aggregate.field import Elements, Field
from masquerade.errors import MissingExtra, ParameterError
from masquerade.exact import Coins
from masquerade.exact.coins import require_coins

SEED_SIZE = 32
#: Of the wire format: drafts 18 to 20 share it.
_VERSION = 18
_CLASS_VDAF = 0


@cache
def _turboshake128() -> ModuleType:
    # Loaded where it is first used: most of what plans or reads sums never expands a seed.
    try:
        from Crypto.Hash import TurboSHAKE128
    except ImportError as error:  # pragma: no cover
        raise MissingExtra(
            "answers split between two parties need pycryptodome", "parties"
        ) from error
    return TurboSHAKE128


class XofTurboShake128:
    """An endless stream of bytes from a seed, a tag that keeps uses apart, and a binder.

    `seed`: at most 255 bytes; `SEED_SIZE` everywhere in Prio3. `dst`: at most 65535.

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
        # each length before its part, so that no two inputs give the same message
        message = len(dst).to_bytes(2, "little") + dst + bytes([len(seed)]) + seed + binder
        self._stream = _turboshake128().new(domain=1, data=message)

    def next(self, length: int) -> bytes:
        """Return the next bytes of the stream."""
        read: bytes = self._stream.read(length)
        return read

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


_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class GivenSeeds:
    """Seeds that somebody knows, hence for studies and test vectors only.

    Attributes
    ----------
    nonce : bytes
        16.
    seeds : tuple of bytes
        Of 32 each.

    Examples
    --------
    >>> from masquerade.aggregate import One, prio3_survey
    >>> vdaf = prio3_survey([One(2)])
    >>> seeds = GivenSeeds(bytes(16), (bytes(32),) * vdaf.seeds_needed)
    >>> len(vdaf.simulate([1], context=b"a study", seeds=seeds).input_shares)
    2
    """

    nonce: bytes
    seeds: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if len(self.nonce) != 16 or any(len(seed) != SEED_SIZE for seed in self.seeds):
            raise ParameterError(
                f"a nonce of {len(self.nonce)} bytes and seeds of {[len(s) for s in self.seeds]}; "
                f"expected 16 and {SEED_SIZE} each."
            )

    @classmethod
    def of_bytes(cls, nonce: bytes, rand: bytes) -> GivenSeeds:
        """Return the seeds that stand one after the other in `rand`."""
        starts = range(0, len(rand), SEED_SIZE)
        return cls(nonce, tuple(rand[start : start + SEED_SIZE] for start in starts))


def fresh_seeds(*sizes: int, coins: Coins | None = None) -> Sequence[bytes]:
    """Return independent uniform bytes of these lengths from the operating system."""
    total = sum(sizes)
    drawn = require_coins(coins).words(-(-total // _WORD_BYTES)).tobytes()
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    return [drawn[end - size : end] for end, size in zip(ends, sizes, strict=True)]
