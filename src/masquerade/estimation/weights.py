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
from masquerade.estimation.reports import LinearReports, Reports, Worths
from masquerade.exact.arrays import Floats, Integers

_ROUNDS, _PRECISION = 1000, 1e-11
_LARGEST = 1e9  # of a weight
_LEAST = 1e-9  # share below which nobody seems to have given an answer


@dataclass(frozen=True, slots=True, eq=False)
class RowWeights:
    """Weights of the people at one level, by their reports, for the figures of one question.

    Attributes
    ----------
    count : float array, shape (n_rows,)
        People who sent each combination of reports.
    total : float array, shape (n_rows,)
        Worth of the weight itself.
    margins : float array, shape (n_rows, n_margins)
        Worths of the weighted answers whose shares are known.
    known : float array, shape (n_margins,)
        These shares.
    gram : float array, shape (n_margins, n_margins)
        Weighted means of products of two margins.
    own : (float array, float array, float array) or None
        Where people are weighed by the question itself: the number of each of its answers, the
        weight of each row but for it, and the weighted means of products of a margin and an answer.
    clear : bool
        Whether the weights follow from answers in clear.
    left : float
        Part of the variance that is unknown, of a finite population and answers in clear.
    """

    count: Floats
    total: Floats
    margins: Floats
    known: Floats
    gram: Floats
    own: tuple[Floats, Floats, Floats] | None = None
    clear: bool = False
    left: float = 1.0
    _inverse: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # shares of a question add to 1, so that margins of two questions are dependent
        object.__setattr__(self, "_inverse", np.linalg.pinv(self.gram, rcond=1e-9))

    @property
    def n(self) -> float:
        """Number of people."""
        return float(self.count.sum())

    @property
    def people(self) -> Floats:
        """Weighted number of people of each row, as many in all as there are."""
        # Masks can take a row's weight below 0; as counts they stand for how answers spread.
        part = np.maximum(self.count * self.total, 0.0)
        return part * (self.n / float(part.sum()))

    @property
    def effective(self) -> float:
        """Effective number of people (Kish): as many without weights give a mean as exact."""
        return float((self.count @ self.total) ** 2 / (self.count @ self.total**2))

    def slopes(self, products: Floats) -> Floats:
        """Return the coefficients of figures on the margins, from their mean products."""
        found: Floats = self._inverse @ products
        return found

    def weigh(self, reports: LinearReports, place: Integers) -> WeightedReports:
        """Return reports to the question with these weights; `place`: the report of each row."""
        return WeightedReports(self, reports, place)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedReports:
    """Weighted reports to one question, of the people at one level.

    Attributes
    ----------
    rows : RowWeights
    reports : LinearReports
        The same without weights: the worth of every possible report.
    place : int array, shape (n_rows,)
        Place of each row's report in these worths.
    """

    rows: RowWeights
    reports: LinearReports
    place: Integers

    @property
    def n(self) -> float:
        """Number of people."""
        return self.rows.n

    @property
    def symbols(self) -> int:
        """Number of possible answers."""
        return self.reports.symbols

    def tiled(self, times: int) -> WeightedReports:
        """Return the reports for a batch of figures so many times as large."""
        return WeightedReports(self.rows, self.reports.tiled(times), self.place)

    def worths(self, scores: Floats) -> Worths:
        """Return the worths of reports for figures of the answers."""
        rows, plain = self.rows, self.reports.worths(scores)
        total = rows.total
        mean = float(rows.count @ total) / rows.n
        each = plain.worth[:, self.place]
        if rows.own is None:
            value, products = each * total, None
        else:
            number, rest, pairs = rows.own
            value = self.reports.worths(scores * number).worth[:, self.place] * rest
            products = pairs @ scores.T
        estimate = (value @ rows.count) / (mean * rows.n)
        # Of a ratio of sums: what each report adds to it.
        worth = estimate[:, None] + (value - estimate[:, None] * total) / mean
        if len(rows.known):
            if products is None:
                products = (rows.margins.T * rows.count) @ each.T / rows.n
            away = rows.margins - rows.known * total[:, None]
            worth = worth - (away @ rows.slopes(products)).T / mean
        people = plain.people * rows.n / rows.effective
        clear = rows.clear and bool(np.all(plain.clear))
        if clear:  # nothing but who answered makes the figure err
            people = (worth - estimate[:, None]) ** 2 @ rows.count / rows.n
        zero = np.zeros(len(scores))
        count, far = np.broadcast_to(rows.count, worth.shape), None
        if plain.far is None:
            # Every possible report without a weight: where the half person stands.
            none = np.zeros_like(plain.worth)
            count = np.concatenate([count, none], axis=1)
            worth = np.concatenate([worth, plain.worth], axis=1)
        else:
            size = np.array([total.min(), mean, total.max()]) / mean
            ends = (
                estimate[:, None, None] + (plain.far - estimate[:, None])[:, None] * size[:, None]
            )
            far = np.stack([ends.min(axis=(1, 2)), ends.max(axis=(1, 2))], axis=-1)
        worths = Worths(count, worth, far, zero, zero, people, ends=plain.ends, clear=clear)
        # Who was not asked is all that is unknown of answers in clear; masks stay as they are.
        return worths.of_population(rows.left) if clear and rows.left < 1 else worths

    def shares(self) -> Worths:
        """Return the worths of reports for the share of each answer.

        Raises
        ------
        ParameterError
            The reports give none: numbers with noise, or pairs of options.
        """
        if not isinstance(self.reports, Reports):
            raise ParameterError("these reports give no shares of answers; ask for `figures`.")
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
