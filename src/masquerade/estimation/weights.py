"""Weighted people: raking to known margins, and weights by group, through masks.

A weight is a product over questions of a number for the person's answer. The answer is masked, but
the unbiased worth of "answered a" is known of every report, so that a sum over reports of products
of worths is right on average for the weighted sum over answers (Deville, Särndal and Sautory, 1993,
for answers in clear, which this is without masks). Raking multiplies each answer's number by its
known share over its weighted one, question after question, until all margins hold (Deming and
Stephan, 1940).

A figure is then the mean of one worth a report, as every other figure; margins that hold exactly
carry no error, which is taken off as the residual of a regression on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from masquerade.errors import ParameterError
from masquerade.estimation.reports import Worths, variance_of
from masquerade.exact.arrays import Floats, on_simplex

_ROUNDS, _PRECISION = 1000, 1e-11
_LARGEST = 1e9  # of a weight
_LEAST = 1e-9  # share below which nobody seems to have given an answer


@dataclass(frozen=True, slots=True, eq=False)
class WeightedReports:
    """Weighted reports to one question, of the people at one level.

    Attributes
    ----------
    count : float array, shape (n_rows,)
        People who sent each combination of reports.
    symbol : float array, shape (n_rows, n_symbols)
        Worth of each answer to the question, weights included.
    total : float array, shape (n_rows,)
        Worth of the weight itself.
    margins : float array, shape (n_rows, n_margins)
        Worths of the weighted answers whose shares are known.
    known : float array, shape (n_margins,)
        These shares.
    gram : float array, shape (n_margins, n_margins + n_symbols)
        Weighted means of products of two margins, and of a margin and an answer.
    alone : float array, shape (n_reports, n_symbols)
        Worths of every possible report without a weight: where the half person stands.
    left : float
        Part of the variance that is unknown, of a finite population.
    """

    count: Floats
    symbol: Floats
    total: Floats
    margins: Floats
    known: Floats
    gram: Floats
    alone: Floats
    left: float = 1.0
    _inverse: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        square = self.gram[:, : len(self.known)]
        # shares of a question add to 1, so that margins of two questions are dependent
        object.__setattr__(self, "_inverse", np.linalg.pinv(square, rcond=1e-9))

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return int(self.symbol.shape[1])

    @property
    def effective(self) -> float:
        """Effective number of people (Kish): as many without weights give a mean as exact."""
        weight = self.total
        return float((self.count @ weight) ** 2 / (self.count @ weight**2))

    def tiled(self, times: int) -> WeightedReports:
        """Return the reports themselves, which serve a batch of any size."""
        del times
        return self

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        mean = float(self.count @ self.total) / self.n
        value = scores @ self.symbol.T
        estimate = (value @ self.count) / (mean * self.n)
        # Of a ratio of sums: what each report adds to it.
        worth = estimate[:, None] + (value - estimate[:, None] * self.total) / mean
        if len(self.known):
            slope = self._inverse @ (self.gram[:, len(self.known) :] @ scores.T)
            away = self.margins - self.known * self.total[:, None]
            worth = worth - (away @ slope).T / mean
        every = scores @ self.alone.T
        count = np.concatenate([self.count, np.zeros(len(self.alone))])
        zero = np.zeros(len(scores))
        share = on_simplex((self.symbol.T @ self.count) / (mean * self.n))
        people = variance_of(share, scores) * self.n / self.effective
        worths = Worths(
            np.broadcast_to(count, (len(scores), len(count))),
            np.concatenate([worth, every], axis=1),
            None,
            zero,
            zero,
            people,
        )
        return worths if self.left >= 1 else worths.of_population(self.left)

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer."""
        return self.worths(np.eye(self.symbols))


def raked(
    count: Floats, worths: Sequence[Floats], known: Sequence[Floats], base: Floats
) -> list[Floats]:
    """Return the number of each answer to each question, so that weighted shares are the known.

    Parameters
    ----------
    count : float array, shape (n_rows,)
    worths : sequence of float array, shape (n_rows, n_answers)
        Of each question, the worth of each answer.
    known : sequence of float array, shape (n_answers,)
        Shares; they sum to 1.
    base : float array, shape (n_rows,)
        Weight of each row before.

    Raises
    ------
    ParameterError
        Nobody seems to have given an answer that has a share, or the rounds come to no end.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> [number] = raked(np.array([30.0, 10.0]), [rows], [np.array([0.5, 0.5])], np.ones(2))
    >>> number.round(3).tolist()
    [0.667, 2.0]
    """
    n = float(count.sum())
    numbers = [np.ones(one.shape[1]) for one in worths]
    for _ in range(_ROUNDS):
        moved = 0.0
        for at, own in enumerate(worths):
            rest = base * _product(worths, numbers, at)
            share = numbers[at] * ((count * rest) @ own) / n
            if ((share < _LEAST) & (known[at] > 0)).any():
                place = int(np.flatnonzero((share < _LEAST) & (known[at] > 0))[0])
                raise ParameterError(
                    f"margin {at + 1}, answer {place + 1}: nobody seems to have given it, so that "
                    "no weight brings it to its share. Put answers together, or leave it out."
                )
            ratio = np.where(known[at] > 0, known[at] / np.where(share > 0, share, 1.0), 0.0)
            moved = max(moved, float(np.abs(ratio[known[at] > 0] - 1).max()))
            numbers[at] = numbers[at] * ratio
        if moved < _PRECISION:
            return numbers
        if max(float(one.max()) for one in numbers) > _LARGEST:
            break
    raise ParameterError("the margins cannot all hold together; look whether they fit each other.")


def _product(worths: Sequence[Floats], numbers: Sequence[Floats], without: int) -> Floats:
    found = np.ones(len(worths[0]))
    for at, (own, number) in enumerate(zip(worths, numbers, strict=True)):
        if at != without:
            found = found * (own @ number)
    return found
