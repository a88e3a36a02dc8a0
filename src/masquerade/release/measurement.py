"""The one private measurement of a release: noisy soft counts of each object, and a noisy pool.

Everything that is published is computed from it and costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.noise import discrete_laplace, laplace_variance, scale_rounded_up
from masquerade.exact.number import finite
from masquerade.release.grouped_claims import GroupedClaims
from masquerade.release.knots import (
    EVEN_CELLS,
    FEW_CLAIMS,
    MOST_ANSWERS,
    Knots,
    number_of_knots,
    placed_knots,
)
from masquerade.release.parameters import ReleaseParameters
from masquerade.release.simplex import noise_of_sum_zero, on_simplex, variance_of_sum_zero

#: Standard deviations, in cells, of the kernels that are tried in turn.
_WIDTHS = (0, 1, 2, 4, 8, 16)
#: Most noise in a cell, of what an even share of the claims would be.
_MOST_NOISE = 0.3
#: How many standard deviations above its neighbours a cell is a heap of its own.
_HEAP = 4.0
_ROUNDS = 3
#: Share that is even, whatever the pool says: no cell is impossible.
_FLOOR = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A released histogram of all claims.

    Attributes
    ----------
    counts : float array, shape (n_cells,)
        Noisy counts; they add to `claims`.
    claims : int
        Public or released number of claims in it, at least 1.
    variance : float
        Of the noise of one cell.
    """

    counts: Floats
    claims: int
    variance: float

    @classmethod
    def of(cls, noisy: Integers, *, claims: int | None, variance: float) -> Pool:
        """Return a pool of noisy counts; `claims`: their number where it is public."""
        number = max(1, round(noisy.sum())) if claims is None else max(1, claims)
        # what noise adds to the total is taken off evenly
        return cls(noisy + (number - noisy.sum()) / noisy.size, number, variance)

    @property
    def shares(self) -> Floats:
        """The smoothed shares of the cells, each above 0, shape (n_cells,)."""
        return with_floor(self._smoothed())

    def _smoothed(self) -> Floats:
        cells, noise = self.counts.size, self.variance**0.5
        grid = np.arange(cells)
        for width in _WIDTHS:
            apart = grid[:, None] - grid[None, :]
            kernel = np.exp(-0.5 * (apart / width) ** 2) if width else np.eye(cells)
            kernel /= kernel.sum(axis=1, keepdims=True)
            error = noise * np.sqrt((kernel**2).sum(axis=1)).max()
            if error <= _MOST_NOISE * self.claims / cells:
                return self._without_heaps(kernel, noise) if width else self.counts
        return np.full(cells, self.claims / cells)

    def _without_heaps(self, kernel: Floats, noise: float) -> Floats:
        """Return smoothed counts; heaps, as at round numbers, stand as they were counted."""
        heap = np.zeros(self.counts.size, dtype=np.bool_)
        smooth = kernel @ self.counts
        for _ in range(_ROUNDS):
            rest = np.maximum(kernel @ (~heap).astype(np.float64), 1e-12)
            smooth = kernel @ np.where(heap, 0.0, self.counts) / rest
            heap = self.counts > smooth + _HEAP * noise
        return np.where(heap, self.counts, smooth)


def with_floor(counts: Floats) -> Floats:
    """Return counts as shares, none negative, with a small even share in each cell."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    shape = positive / total if total > 0 else np.full(counts.size, 1 / counts.size)
    return np.asarray((1 - _FLOOR) * shape + _FLOOR / counts.size)


#: Weights are whole multiples of 1 / `UNITS`.
UNITS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """The claims of a group of objects, as places on a grid.

    Attributes
    ----------
    objects : int array, shape (n_objects,)
        Which objects of the release are in the group.
    row : int array, shape (n_claims,)
        The place in `objects` of each claim's object.
    cell : int array, shape (n_claims,)
        Combination of categories of each claim.
    at : float array, shape (n_claims,)
        Place on the grid, from 0 to `cells` - 1.
    weight : int array, shape (n_claims,)
        Public weight in units; 1 without any.
    cells : int
    answers : bool
        Whether the places of the grid alone can be answered.
    """

    objects: Integers
    row: Integers
    cell: Integers
    at: Floats
    weight: Integers
    cells: int
    answers: bool


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A released measurement of a group of objects, and the public numbers that go with it.

    Attributes
    ----------
    counts : int array, shape (n_objects, n_categories, n_knots)
        Noisy soft counts.
    total : int array, shape (n_objects,)
        Public number of claims, or sum of weights in units; what is released of it where
        participation is hidden.
    claims : int array, shape (n_objects,)
        Number of claims, public or released.
    squares : float array, shape (n_objects,)
        Sum of squared weights over the squared sum: 1 / n without weights.
    scale : tuple of Fraction, one an object
        Of the noise of each soft count.
    variance : float array, shape (n_objects,)
        Of the noise of one soft count, in squared parts, across the sum.
    """

    objects: Integers
    counts: Integers
    total: Integers
    claims: Integers
    squares: Floats
    scale: tuple[Fraction, ...]
    variance: Floats
    knots: Knots
    pool: Floats
    measured_pool: Pool | None
    answers: bool
    hidden: bool


def coded(
    claims: GroupedClaims, cell: Integers, weight: Integers, parameters: ReleaseParameters
) -> list[Coded]:
    """Return the claims as places on grids, one group for each size of grid.

    Shapes: `cell` and `weight` (n_claims,).
    """
    domain = parameters.public_domain
    low, high = domain.ends(claims.objects)
    of = claims.object
    inside = domain.rounded(claims.value, low[of], high[of])
    unit = (inside - low[of]) / (high - low)[of]
    cells = np.full(claims.n_objects, EVEN_CELLS)
    answers = np.zeros(claims.n_objects, dtype=np.bool_)
    if domain.step is not None:
        numbers = np.rint((high - low) / float(domain.step)).astype(np.int64) + 1
        answers = numbers <= MOST_ANSWERS
        cells = np.where(answers, numbers, cells)
    groups = []
    for size, fine in sorted(set(zip(cells.tolist(), answers.tolist(), strict=True))):
        objects = np.flatnonzero((cells == size) & (answers == fine))
        place = np.full(claims.n_objects, -1)
        place[objects] = np.arange(objects.size)
        rows = np.flatnonzero(place[of] >= 0)
        at = unit[rows] * (size - 1)
        groups.append(
            Coded(
                objects,
                place[of[rows]],
                cell[rows],
                np.rint(at) if fine else at,
                weight[rows],
                size,
                fine,
            )
        )
    return groups


def measured(group: Coded, parameters: ReleaseParameters, source: WordSource) -> Measured:
    """Return the private measurement of a group of objects.

    Privacy
    -------
    One value replaced moves the soft counts of one object by a vector of sum 0 and L1 at most
    ``2 parts`` times the weight; with `noise_of_sum_zero` of scale ``2 parts weight / ((1 - f) e)``
    that costs at most ``(1 - f) e``, for ``|z + d|_1 <= |z|_1 + |d|_1``. Where participation is
    hidden, one value added moves counts by ``parts`` in all, and independent two-sided geometric
    noise of scale ``parts / ((1 - f) e)`` costs the same. The pool moves by 2 counts, or by 1, and
    costs ``f e``. The knots follow from the released pool: adaptive composition of the two is e.
    """
    epsilon, share = parameters.epsilon_of_object, finite(parameters.pool, "pool")
    size = len(group.objects)
    claims = np.bincount(group.row, minlength=size)
    count = _knots_of(group, claims, parameters)
    hard = count == group.cells
    pool: Pool | None = None
    if hard or not share:
        share = Fraction(0)
        knots = Knots.at(_even_or_all(group.cells, count), group.cells)
        shares: Floats | None = None
    else:
        pool = _measured_pool(group, share * epsilon, source, hidden=parameters.hidden)
        shares = pool.shares
        knots = Knots.at(placed_knots(shares, count), group.cells)
    table = knots.table(
        group.at, group.row * parameters.cells + group.cell, size * parameters.cells, group.weight
    ).reshape(size, -1)
    noise, scales, variance = _noise(
        group, knots, (1 - share) * epsilon, table.shape, source, parameters
    )
    noisy = (table + noise).reshape(size, parameters.cells, knots.count)
    total = np.bincount(group.row, group.weight, size).astype(np.int64)
    squares = np.bincount(group.row, group.weight.astype(np.float64) ** 2, size)
    if parameters.hidden:
        # nothing of the claims themselves from here on
        total = np.maximum(np.rint(noisy.sum(axis=(1, 2)) / knots.parts), 0).astype(np.int64)
        claims, squares = total, total.astype(np.float64)
    if shares is None:
        shares = _shares_of_counts(noisy, total, knots)
    return Measured(
        group.objects,
        noisy,
        total,
        claims,
        squares / np.maximum(total, 1).astype(np.float64) ** 2,
        scales,
        variance,
        knots,
        shares,
        pool,
        group.answers,
        parameters.hidden,
    )


def _knots_of(group: Coded, claims: Integers, parameters: ReleaseParameters) -> int:
    """Return the number of knots, from public numbers alone."""
    if parameters.knots is not None:
        return min(parameters.knots, group.cells)
    if parameters.expected is not None:
        typical = float(parameters.expected)
    else:
        # how many claims there are about each object is public then
        typical = float(np.median(claims[claims > 0])) if (claims > 0).any() else 0.0
    evidence = typical * float(parameters.epsilon_of_object)
    answers = group.cells if group.answers else None
    count = number_of_knots(
        evidence, answers=answers, means=parameters.aim == "means", few=typical < FEW_CLAIMS
    )
    return min(count, group.cells)


def _even_or_all(cells: int, count: int) -> Integers:
    if count == cells:
        return np.arange(cells)
    return placed_knots(np.full(cells, 1 / cells), count)


def _measured_pool(group: Coded, epsilon: Fraction, source: WordSource, *, hidden: bool) -> Pool:
    scale = scale_rounded_up((1 if hidden else 2) / epsilon)
    exact = np.bincount(np.rint(group.at).astype(np.int64), minlength=group.cells)
    noisy = exact + discrete_laplace(source, scale, group.cells)
    return Pool.of(
        noisy, claims=None if hidden else len(group.at), variance=laplace_variance(scale)
    )


def _noise(
    group: Coded,
    knots: Knots,
    epsilon: Fraction,
    shape: tuple[int, ...],
    source: WordSource,
    parameters: ReleaseParameters,
) -> tuple[Integers, tuple[Fraction, ...], Floats]:
    """Return the noise of every soft count, its scale and its variance in each object."""
    rows, columns = shape
    if parameters.hidden:
        scale = scale_rounded_up(knots.parts / epsilon)
        noise = discrete_laplace(source, scale, rows * columns).reshape(rows, columns)
        return noise, (scale,) * rows, np.full(rows, laplace_variance(scale))
    largest = np.ones(rows, dtype=np.int64)
    # a mean weight would not do: the heaviest value moves its counts the most
    np.maximum.at(largest, group.row, group.weight)
    noise = np.zeros(shape, dtype=np.int64)
    scales: list[Fraction] = [Fraction(1)] * rows
    variance = np.zeros(rows)
    for weight in np.unique(largest).tolist():
        scale = scale_rounded_up(2 * knots.parts * weight / epsilon)
        chosen = np.flatnonzero(largest == weight)
        noise[chosen] = noise_of_sum_zero(source, scale, chosen.size, columns)
        # v = Var(z_1) M / (M - 1): what is left of it across the sum
        variance[chosen] = variance_of_sum_zero(scale, columns) * columns / (columns - 1)
        for i in chosen.tolist():
            scales[i] = scale
    return noise, tuple(scales), variance


def _shares_of_counts(noisy: Integers, total: Integers, knots: Knots) -> Floats:
    """Return the crowd's shares, where no pool was measured: those of all counts together."""
    known: Flags = total > 0
    together = noisy[known].sum(axis=(0, 1)).astype(np.float64)
    number = max(float(total[known].sum()) * knots.parts, 1.0)
    at_knots = on_simplex((together / number)[None, :])[0]
    if knots.hard:
        return with_floor(at_knots)
    # between knots nothing is known: evenly
    weight = at_knots @ (knots.hats / knots.hats.sum(axis=1, keepdims=True))
    return with_floor(weight)
