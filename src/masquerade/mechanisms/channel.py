"""Channels: a mechanism as a table of exact probabilities, or as a mixture for inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.loss import Loss

_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, slots=True)
class Channel:
    """P(report | answer) for every answer and report, in exact fractions.

    Attributes
    ----------
    table : tuple of tuples of Fraction
        ``table[answer][report]``; each row sums to 1.

    Examples
    --------
    >>> Channel.symmetric(symbols=2, flip_probability=Fraction(1, 4)).epsilon()
    Loss(micro=1098613)
    """

    table: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def symmetric(cls, *, symbols: int, flip_probability: Fraction) -> Channel:
        """Return the channel that keeps an answer or moves it evenly to another symbol.

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        require_small(symbols, symbols)
        keep, other = 1 - flip_probability, flip_probability / (symbols - 1)
        return cls(
            tuple(
                tuple(keep if report == answer else other for report in range(symbols))
                for answer in range(symbols)
            )
        )

    def matrix(self) -> Floats:
        """Return the table as floats, shape (answers, reports), for inference."""
        return np.array([[float(p) for p in row] for row in self.table])

    def worst_ratio(self) -> Fraction | float:
        """Return the largest P(report | answer) / P(report | other answer)."""
        worst = Fraction(1)
        # One report y tells a from b by P(y | a) / P(y | b): the worst pair of each column.
        for column in zip(*self.table, strict=True):
            high, low = max(column), min(column)
            if low == 0 and high > 0:
                return math.inf
            if low > 0:
                worst = max(worst, high / low)
        return worst

    def epsilon(self) -> Loss:
        """Return the exact pure epsilon of one report, found by looking at the whole table."""
        return Loss.of_ratio(self.worst_ratio())


@dataclass(frozen=True, slots=True, eq=False)
class FlipMixture:
    """A person's flip probability as a discrete mixture, for inference.

    Attributes
    ----------
    flip_probability : float array, shape (n_nodes,)
    weight : float array, shape (n_nodes,)
        Sums to 1.
    """

    flip_probability: Floats
    weight: Floats


def require_small(answers: int, reports: int) -> None:
    """Raise `ParameterError` where a table of so many answers and reports would be too large."""
    if answers * reports > _MOST_ENTRIES:
        raise ParameterError(
            f"a table of {answers} answers and {reports} reports has more than 2**22 entries; work "
            "with the few probabilities that matter."
        )
