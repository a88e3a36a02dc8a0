"""Knots: the public range of values and its grid, and the soft counts that knots take of claims.

A value between two knots counts in parts at both, so that the counts of a claim add to one and
their mean is the value. Two knots are a noisy mean, a knot at every answer is a noisy histogram,
and everything between is this one family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import NumberLike, finite, positive, text_of

Ends = tuple[NumberLike, NumberLike]


@dataclass(frozen=True, slots=True)
class Domain:
    """The public range of values.

    Parameters
    ----------
    low, high : number
        Ends, low below high. Claims outside are moved to the nearer end.
    step : number, optional
        Distance of the values that can be answered (1 for whole numbers); high - low is a multiple.
        Releases are then rounded to such values.
    of_objects : mapping of object to (low, high), optional
        Ends of objects that have their own.

    Raises
    ------
    ParameterError
        Ends or step do not fit.

    Examples
    --------
    >>> Domain(0, 10, step="0.5").step
    Fraction(1, 2)
    """

    low: Fraction
    high: Fraction
    step: Fraction | None
    of_objects: Mapping[Any, tuple[Fraction, Fraction]]

    def __init__(
        self,
        low: NumberLike,
        high: NumberLike,
        *,
        step: NumberLike | None = None,
        of_objects: Mapping[Any, Ends] | None = None,
    ) -> None:
        exact_step = None if step is None else positive(step, "step")
        ends = _ends((low, high), exact_step)
        own = {name: _ends(pair, exact_step) for name, pair in (of_objects or {}).items()}
        for field, value in zip(
            ("low", "high", "step", "of_objects"), (*ends, exact_step, own), strict=True
        ):
            object.__setattr__(self, field, value)

    @classmethod
    def of(cls, domain: Domain | Ends | None) -> Domain:
        """Return a domain from itself or its two ends.

        Raises
        ------
        ParameterError
            There is none.
        """
        if domain is None:
            raise ParameterError(
                "a private release needs the public domain (low, high) of the values, for instance "
                "the survey's scale. It cannot be taken from the claims: their smallest and "
                "largest value are somebody's claims, and would be published."
            )
        if isinstance(domain, Domain):
            return domain
        try:
            low, high = domain
        except (TypeError, ValueError) as error:
            raise ParameterError(f"domain is {domain!r}, expected (low, high).") from error
        return cls(low, high)

    def ends(self, objects: pa.Array) -> tuple[Floats, Floats]:
        """Return the low and the high end of each object, shape (n_objects,) each.

        Raises
        ------
        ParameterError
            Objects have ends of their own, and none of them is among these.
        """
        # low, high[object]: an object's own ends, where it has any
        low = np.full(len(objects), float(self.low))
        high = np.full(len(objects), float(self.high))
        if self.of_objects:
            names = objects.to_pylist()
            if names and not any(name in self.of_objects for name in names):
                raise ParameterError(
                    f"ends of their own are given for {list(self.of_objects)[:5]}, and none of "
                    f"these has a claim; the claims are about {names[:5]}. A name as a text is not "
                    "the same name as a number."
                )
            for i, name in enumerate(names):
                if name in self.of_objects:
                    low[i], high[i] = map(float, self.of_objects[name])
        return low, high

    def rounded(self, values: Floats, low: Floats, high: Floats) -> Floats:
        """Return values moved into the range and, with a step, to the nearest that can be given."""
        inside = np.clip(values, low, high)
        if self.step is None:
            return inside
        step = float(self.step)
        # counted from each object's own low end; a float multiple can end just beyond the high one
        return np.clip(low + np.rint((inside - low) / step) * step, low, high)

    def __str__(self) -> str:
        step = "" if self.step is None else f" in steps of {text_of(self.step)}"
        own = f", {len(self.of_objects)} objects with their own ends" if self.of_objects else ""
        return f"{text_of(self.low)} to {text_of(self.high)}{step}{own}"


def _ends(pair: Ends, step: Fraction | None) -> tuple[Fraction, Fraction]:
    low, high = finite(pair[0], "low"), finite(pair[1], "high")
    if low >= high:
        raise ParameterError(
            f"the domain is {text_of(low)} to {text_of(high)}, expected low below high."
        )
    # in fractions: 1 is ten steps of a tenth, which floats would deny
    if step is not None and ((high - low) / step).denominator != 1:
        raise ParameterError(
            f"the domain {text_of(low)} to {text_of(high)} is no whole number of steps of "
            f"{text_of(step)}."
        )
    return low, high


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
