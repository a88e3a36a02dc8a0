"""Batches of objects of similar size, so that their Gram matrices are computed many at a time.

Memory is linear in the claims: a batch holds some hundred thousand kernel values, whatever the
number of objects. The claims of a large object are gathered in cells a small part of the bandwidth
wide first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.release.grouped_claims import GroupedClaims

#: Kernel values held at a time.
MOST_ENTRIES = 1 << 18

#: Objects with more claims are gathered in cells.
LARGE_OBJECT = 2_000

_CELLS_PER_BANDWIDTH = 16
_PADDING = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The claims of all objects, those of large objects gathered."""

    # value, mass: float arrays, shape (n_atoms,). Where an atom stands, and how many claims are in
    # it.
    value: Floats
    mass: Floats
    offset: Integers  # int array, shape (n_objects + 1,)
    of_claim: Integers  # int array, shape (n_claims,). The atom of each claim.
    bandwidth: Floats  # float array, shape (n_objects,)

    @classmethod
    def of(cls, claims: GroupedClaims, bandwidth: Floats) -> Atoms:
        """Return the atoms of claims; one a claim where no object is large."""
        large = np.flatnonzero(claims.count > LARGE_OBJECT)
        if not large.size:
            ones = np.ones(len(claims))
            return cls(claims.value, ones, claims.offset, np.arange(len(claims)), bandwidth)
        count, values, masses = claims.count.copy(), [], []
        of_claim = np.empty(len(claims), dtype=np.int64)
        first, is_large = 0, claims.count > LARGE_OBJECT
        for i in range(claims.n_objects):
            at = claims.rows_of(i)
            value = claims.value[at]
            if is_large[i]:
                # cells a sixteenth of a bandwidth wide: a claim moves by at most a 32nd of it
                cell = np.floor((value - value.min()) / bandwidth[i] * _CELLS_PER_BANDWIDTH)
                _, atom, mass = np.unique(cell, return_inverse=True, return_counts=True)
                value = np.bincount(atom, value) / mass
                count[i] = len(mass)
            else:
                atom, mass = np.arange(len(value)), np.ones(len(value), dtype=np.int64)
            of_claim[at] = first + atom
            values.append(value)
            masses.append(mass.astype(np.float64))
            first += len(mass)
        offset = np.concatenate(([0], np.cumsum(count)))
        return cls(np.concatenate(values), np.concatenate(masses), offset, of_claim, bandwidth)

    def gathered(self, per_claim: Floats) -> Floats:
        """Return the sums over the claims of each atom."""
        return np.bincount(self.of_claim, per_claim, len(self.value)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some objects of similar size, padded to one width."""

    objects: Integers  # int array, shape (b,)
    index: Integers  # int array, shape (b, n). Atoms; padding repeats an atom.
    mask: Flags  # bool array, shape (b, n). False for padding.

    def take(self, per_atom: Floats) -> Floats:
        """Return one number an atom as a padded array, 0 for padding."""
        return np.where(self.mask, per_atom[self.index], 0.0)

    def gram(self, atoms: Atoms) -> Floats:
        """Return the Gaussian kernel of all pairs, 1 for equal values, shape (b, n, n)."""
        value = atoms.value[self.index]
        # exp(-(x - y)**2 / 2 h**2), in place: this array is most of the memory
        kernel: Floats = value[:, :, None] - value[:, None, :]
        with np.errstate(over="ignore"):  # by a tiny bandwidth: as far apart as can be
            kernel /= atoms.bandwidth[self.objects, None, None]
        np.clip(kernel, -40.0, 40.0, out=kernel)  # the kernel is 0 from there on
        np.multiply(kernel, kernel, out=kernel)
        kernel *= -0.5
        np.exp(kernel, out=kernel)
        return kernel


def batches(offset: Integers, *, most: int = MOST_ENTRIES) -> Iterator[Batch]:
    """Yield all objects that have atoms, smallest first, in batches of at most `most` pairs."""
    count = np.diff(offset)
    order = np.argsort(count, kind="stable")
    start = int(np.searchsorted(count[order], 1))
    while start < len(order):
        # at most a quarter of a batch's widest row is padding
        least = int(count[order[start]])
        stop = int(np.searchsorted(count[order], max(_PADDING * least, least + 1), side="right"))
        widest = int(count[order[stop - 1]])
        stop = min(stop, start + max(most // widest**2, 1))
        objects = order[start:stop]
        width = int(count[objects[-1]])
        inside = np.arange(width)
        mask = inside < count[objects, None]
        yield Batch(objects, offset[objects, None] + np.where(mask, inside, 0), mask)
        start = stop


def squared_distances(gram: Floats, weight: Floats) -> Floats:
    """Return each atom's squared distance to the weighted density, shape (b, n), 0 to 2.

    In the space of the kernel: ``1 - 2 (G w)_s + w' G w`` for weights that sum to 1.
    """
    product = np.matmul(gram, weight[:, :, None])[:, :, 0]
    norm = np.einsum("bi,bi->b", weight, product)
    # rounding can lead below 0, of which the root is taken
    return np.asarray(np.clip(1 - 2 * product + norm[:, None], 0.0, 2.0))
