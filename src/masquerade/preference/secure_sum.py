"""A sum of many people's vectors of which nobody sees a part: what it takes, and a simulation."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import Coins, Words


@runtime_checkable
class SecureSum(Protocol):
    """A protocol that adds vectors modulo 2**64 and shows only their sum."""

    protects: bool
    """Whether whoever runs it is kept from seeing a single vector."""

    def total(self, vectors: Words) -> Words:
        """Return the sum modulo 2**64 of the rows, shape (dimension,).

        Parameters
        ----------
        vectors : uint64 array, shape (n_voters, dimension)
        """
        ...


class SimulatedSecureSum:
    """Goes through the motions of a secure sum in this process, which sees everything.

    Each row is hidden behind random words that add to zero, then the hidden rows are added. It
    shows what a real protocol would carry, and protects nobody from whoever runs the process.

    Examples
    --------
    >>> SimulatedSecureSum().total(np.array([[1, 2], [2**64 - 3, 4]], dtype=np.uint64))
    array([18446744073709551614,                    6], dtype=uint64)
    """

    protects = False

    def total(self, vectors: Words) -> Words:
        """Return the sum modulo 2**64 of the rows, shape (dimension,)."""
        hidden = self.hide(vectors)
        total: Words = hidden.sum(axis=0, dtype=np.uint64)
        return total

    def hide(self, vectors: Words) -> Words:
        """Return rows of which each by itself is uniformly random, with the same sum."""
        voters, dimension = vectors.shape
        if voters < 2:
            raise ParameterError("a sum of one vector hides nothing; at least two voters.")
        masks = np.empty_like(vectors)
        masks[1:] = Coins().words((voters - 1) * dimension).reshape(voters - 1, dimension)
        masks[0] = np.uint64(0) - masks[1:].sum(axis=0, dtype=np.uint64)
        return vectors + masks


def to_words(vectors: Integers) -> Words:
    """Return integers modulo 2**64."""
    return vectors.astype(np.int64).view(np.uint64)


def from_words(words: Words) -> Integers:
    """Return words as integers between -2**63 and 2**63 - 1."""
    return words.view(np.int64)
