"""Task features that everybody derives alike from a public seed, so that nobody can choose them.

A server that chose the features of a factorization could scale one row up and so remove the noise
from that task. Here a device computes them itself, with whole numbers only: the same seed gives the
same features on every computer and in every language.
"""

from __future__ import annotations

import hashlib

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers

ONE = 1 << 30
"""Features are whole multiples of 1 / `ONE`."""

DISTRIBUTIONS = ("uniform", "signed")
MOST_FEATURES = 1 << 24
_SEED_BYTES = 32
_HEADER = "masquerade public features 1"


def read_seed(seed: bytes | str) -> bytes:
    """Return a seed of 32 bytes, given as such or as 64 hexadecimal digits."""
    try:
        raw = bytes.fromhex(seed) if isinstance(seed, str) else seed
    except ValueError as error:
        raise ParameterError(f"seed is {seed!r}, expected 64 hexadecimal digits.") from error
    if not isinstance(raw, bytes):
        raise ParameterError(f"seed is {raw!r}, expected bytes or 64 hexadecimal digits.")
    if len(raw) != _SEED_BYTES:
        raise ParameterError(
            f"seed has {len(raw)} bytes, expected {_SEED_BYTES} (64 hexadecimal digits); "
            "it is public: take, for instance, the SHA-256 of the survey's name."
        )
    return raw


def public_features(
    seed: bytes, *, tasks: int, dimension: int, distribution: str = "uniform"
) -> Integers:
    """Return the features of each task, times `ONE`; absolute values of a row add to at most `ONE`.

    Parameters
    ----------
    seed : bytes
        32 bytes, public.
    tasks, dimension : int
        Number of rows, and of columns.
    distribution : {"uniform", "signed"}
        Entries are uniform on (0, 1], or on [-1, 1] without 0, before a row is divided by the sum
        of its absolute values, rounded towards 0.

    Returns
    -------
    int64 array, shape (tasks, dimension)

    Examples
    --------
    >>> rows = public_features(bytes(32), tasks=3, dimension=2)
    >>> bool((abs(rows).sum(axis=1) <= ONE).all())
    True
    """
    if distribution not in DISTRIBUTIONS:
        raise ParameterError(
            f"distribution is {distribution!r}, expected one of {', '.join(DISTRIBUTIONS)}."
        )
    size = tasks * dimension
    if size > MOST_FEATURES:
        raise ParameterError(
            f"{tasks} tasks with {dimension} features each are {size} numbers, expected at most "
            f"{MOST_FEATURES}; lower dimension."
        )
    message = f"{_HEADER},{tasks},{dimension},{distribution},".encode() + seed
    stream = hashlib.shake_256(message).digest(4 * size)
    words = np.frombuffer(stream, dtype="<u4").reshape(tasks, dimension).astype(np.int64)
    entries = (words >> 10) + 1  # 1 to 2**22: no row is all zeros
    rows: Integers = (entries << 30) // entries.sum(axis=1, keepdims=True)
    if distribution == "signed":
        rows[words & 1 == 1] *= -1
    return rows
