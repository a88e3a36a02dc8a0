"""Exact randomness, in integers.

Two types, never interchangeable: `Coins` draws from the operating system and is the only source
that real reports accept; `SimulatedCoins` wraps a seeded `numpy.random.Generator` for studies and
tests. All randomness is uniform 64-bit words turned into uniform integers by rejection, so no
floating-point number ever decides what a person reports.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masquerade.errors import InsecureRandomness, ParameterError

Words = NDArray[np.uint64]

_BLOCK_BYTES = 1 << 23
_GENERATORS_OF_WORDS = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)


class WordSource(Protocol):
    """Anything that gives independent uniform 64-bit words.

    Examples
    --------
    >>> coins = Coins()
    >>> isinstance(coins.words(4)[0].item(), int)
    True
    """

    def words(self, size: int) -> Words:
        """Draw `size` words."""
        ...


class Coins:
    """Uniform 64-bit words from the operating system; cannot be seeded.

    Examples
    --------
    >>> Coins().words(3).dtype
    dtype('uint64')
    """

    __slots__ = ()

    def words(self, size: int) -> Words:
        """Draw `size` words from the operating system, in blocks of 8 MiB."""
        out = np.empty(size, dtype=np.uint64)
        view = out.data.cast("B") if size else memoryview(b"")
        # In blocks: one call for everything would hold all bytes twice.
        for start in range(0, len(view), _BLOCK_BYTES):
            stop = min(start + _BLOCK_BYTES, len(view))
            view[start:stop] = os.urandom(stop - start)
        return out


class SimulatedCoins:
    """Uniform 64-bit words from a seeded generator; for simulation and tests only.

    Parameters
    ----------
    rng : numpy.random.Generator
        Reproducible, hence predictable: never for the answer of a person.

    Examples
    --------
    >>> first = SimulatedCoins(np.random.default_rng(1)).words(3)
    >>> again = SimulatedCoins(np.random.default_rng(1)).words(3)
    >>> bool((first == again).all())
    True
    """

    __slots__ = ("_raw", "_rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = require_generator(rng)
        # The same words, in a twentieth of the time where they are few.
        self._raw = isinstance(rng.bit_generator, _GENERATORS_OF_WORDS)

    def words(self, size: int) -> Words:
        """Draw `size` words from the generator."""
        if self._raw:
            return self._rng.bit_generator.random_raw(size)
        return self._rng.integers(0, 1 << 64, size=size, dtype=np.uint64)


def require_generator(rng: object) -> np.random.Generator:
    """Return a generator for studies; refuse everything else, for instance a seed."""
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(
            f"rng is {type(rng).__name__}, expected numpy.random.Generator; "
            "pass numpy.random.default_rng(seed)."
        )
    return rng


def require_coins(coins: Coins | None) -> Coins:
    """Return `coins`, or fresh ones for None; refuse everything that is not from the system.

    Subclasses are refused too, so that no override can make real reports predictable.
    """
    if coins is None:
        return Coins()
    # Not a subclass either: it could draw from a seed.
    if type(coins) is not Coins:
        raise InsecureRandomness(
            f"{type(coins).__name__} was offered for real reports, which accept Coins "
            "(operating-system entropy) only; use simulate(claims, rng) for studies."
        )
    return coins


def uniform_below(source: WordSource, bound: int, size: int) -> Words:
    """Draw `size` integers uniform on 0, ..., bound - 1, exactly, by rejection; bound <= 2**64.

    A word at or above the largest multiple of `bound` below 2**64 is rejected, so that the
    remainder is exactly uniform, and replaced by a later word. The device's half
    (``web/static/mechanisms/coins.js``) does the same with the same words.
    """
    if not 1 <= bound <= 1 << 64:
        raise ParameterError(f"bound is {bound}, expected 1 to 2**64.")
    words = source.words(size)
    if bound & (bound - 1) == 0:  # a power of two: no word is beyond whole rounds of it
        return words & np.uint64(bound - 1)
    # The last word of whole rounds of `bound`: those beyond would make small numbers likelier.
    largest = np.uint64((1 << 64) // bound * bound - 1)
    (rejected,) = (words > largest).nonzero()
    while rejected.size:
        words[rejected] = source.words(rejected.size)
        rejected = rejected[words[rejected] > largest]
    return words % np.uint64(bound)
