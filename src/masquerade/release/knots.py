"""Knots: the public grid, where knots stand on it, and the soft counts that they take of claims.

A value between two knots counts in parts at both, so that the counts of a claim add to one and
their mean is the value. Two knots are a noisy mean, a knot at every answer is a noisy histogram,
and everything between is this one family.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers

#: Most answers of a step that are the grid themselves.
MOST_ANSWERS = 1025
#: Cells of the grid where every number can be answered.
EVEN_CELLS = 101
#: Parts of a claim, where knots are not the answers themselves.
PARTS = 256
MOST_KNOTS = 41
#: Below so many claims an object, templates tell more than a knot at the crowd's median does.
FEW_CLAIMS = 10

#: Fewest claims times epsilon for more than two knots.
_LEAST_EVIDENCE = 4
_FEW_ANSWERS = 5
#: Share of the knots that is spread evenly, wherever the pool lies.
_EVEN = 0.2


def number_of_knots(evidence: float, *, answers: int | None, means: bool, few: bool = False) -> int:
    """Return the number of knots.

    Parameters
    ----------
    evidence : float
        Public number of claims about an object, times the object's epsilon.
    answers : int, optional
        Number of values that can be answered; None where every number can.
    means : bool
        Whether the release is for means alone, which two knots give best.
    few : bool
        Whether an object has fewer than `FEW_CLAIMS` claims: one knot more is better then.

    Examples
    --------
    >>> [number_of_knots(t, answers=None, means=False) for t in (3, 4, 10, 80, 400, 20_000)]
    [2, 3, 5, 7, 11, 39]
    >>> number_of_knots(10, answers=10, means=False)
    10
    """
    if means:
        return 2
    knots = 2
    if evidence >= _LEAST_EVIDENCE:
        knots = int(np.clip(2 * round(0.7 * evidence ** (1 / 3)) + 1, 3, MOST_KNOTS))
        # measured on 60 objects of 5 claims: distance of the rows 5.9 with 5 knots, 4.7 with 6
        knots += few and knots > 3
    if answers is not None and (answers <= _FEW_ANSWERS or knots >= answers / 2):
        return answers
    return knots


def placed_knots(pool: Floats, count: int) -> Integers:
    """Return the cells of the knots, ascending, with both ends of the grid among them.

    Parameters
    ----------
    pool : float array, shape (n_cells,)
        Released shares of all claims together: knots stand where claims lie, a fifth of them evenly
        spread.
    count : int
        2 to the number of cells.

    Examples
    --------
    >>> placed_knots(np.full(21, 1 / 21), 5)
    array([ 0,  5, 10, 15, 20])
    """
    cells = pool.size
    if not 2 <= count <= cells:
        raise ParameterError(f"knots is {count}, expected 2 to {cells}.", field="knots")
    weight = _EVEN / cells + (1 - _EVEN) * pool
    middle = np.cumsum(weight) - weight / 2
    # from 0 at the middle of the first cell to 1 at that of the last
    middle = (middle - middle[0]) / (middle[-1] - middle[0])
    levels = np.arange(1, count - 1) / (count - 1)
    inner = np.rint(np.interp(levels, middle, np.arange(cells))).astype(np.int64)
    # distinct cells between both ends: pushed up from below, then down from above
    order = np.arange(1, count - 1)
    inner = np.maximum.accumulate(np.maximum(inner, 1) - order) + order
    inner = np.minimum(inner, cells - 1 - (count - 1 - order))
    return np.concatenate(([0], inner, [cells - 1]))


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Knots on a grid of cells, and how many parts a claim has.

    Attributes
    ----------
    cell : int array, shape (n_knots,)
        Ascending, from 0 to the last cell.
    cells : int
        Cells of the grid.
    parts : int
        What the soft counts of a claim add to: 1 where knots are the answers.
    """

    cell: Integers
    cells: int
    parts: int

    @classmethod
    def at(cls, cell: Integers, cells: int) -> Knots:
        """Return knots at these cells."""
        return cls(cell, cells, 1 if len(cell) == cells else PARTS)

    @property
    def count(self) -> int:
        """Number of knots."""
        return len(self.cell)

    @property
    def hard(self) -> bool:
        """Whether there is a knot at every cell, so that nothing lies between."""
        return self.count == self.cells

    @property
    def place(self) -> Floats:
        """Places of the knots, from 0 to 1."""
        return self.cell / (self.cells - 1)

    @property
    def hats(self) -> Floats:
        """Share of each cell that counts at each knot, shape (n_knots, n_cells)."""
        grid = np.arange(self.cells)
        # as claims are counted, in whole parts
        table = self.table(grid.astype(np.float64), grid, self.cells, np.ones_like(grid))
        return np.asarray(table.T / self.parts)

    def soft_counts(self, at: Floats) -> tuple[Integers, Integers]:
        """Return the knot below each place, and the parts that count at the knot above it.

        `at`: places on the grid, from 0 to its last cell. What is left of `parts` counts below.
        """
        below = np.clip(np.searchsorted(self.cell, at, side="right") - 1, 0, self.count - 2)
        low, high = self.cell[below], self.cell[below + 1]
        parts = np.rint(self.parts * (at - low) / (high - low)).astype(np.int64)
        return below, parts

    def table(self, at: Floats, row: Integers, rows: int, weight: Integers) -> Integers:
        """Return sums of soft counts, shape (rows, n_knots).

        Shapes: `at`, `row` and `weight` (n_claims,): places on the grid, the row that each counts
        in, and how often it does.
        """
        below, above = self.soft_counts(at)
        flat = row * self.count + below
        size = rows * self.count
        # whole numbers far below 2**53, so that the sums are exact
        counts = np.bincount(flat, weight * (self.parts - above), size)
        counts += np.bincount(flat + 1, weight * above, size)
        return np.rint(counts).astype(np.int64).reshape(rows, self.count)
