"""The ball of weights under a bound on the sum of absolute values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from masquerade.exact.arrays import Floats, Integers, on_simplex
from masquerade.exact.number import in_range

#: Grid steps from the centre of the ball to a corner.
STEPS = 1 << 20

_GRADIENT_STEPS = 6  # before each Newton step
_MOST_ROUNDS = 60  # of gradient steps and a Newton step
_DAMPING = 1e-9  # as a share of the matrix's trace


def project(points: Floats, bound: float) -> Floats:
    """Return the nearest points of the ball, row by row.

    Shapes: `points` (n, d). `bound`: above 0.

    Notes
    -----
    Duchi et al. (2008), figure 1: soft thresholding, the sizes projected on the simplex. Rounding
    can leave a row above the bound by some 1e-15; `on_grid` is exact.
    """
    size = np.abs(points)
    outside = size.sum(axis=1) > bound
    if not outside.any():
        return points
    out = points.copy()
    out[outside] = np.copysign(on_simplex(size[outside], bound), points[outside])
    return out


def gap(points: Floats, gradient: Floats, bound: float) -> Floats:
    """Return an upper bound of how far each row's concave objective is below its maximum.

    It is ``bound * max|g| - g . b``, at least 0 for points of the ball (Frank-Wolfe gap).
    """
    # A concave L is below its tangent, L(b') - L(b) <= g . (b' - b), and over the ball g . b' is at
    # most bound * max|g|, reached at a corner.
    certificate: Floats = bound * np.abs(gradient).max(axis=1, initial=0)
    certificate -= np.einsum("nd,nd->n", gradient, points)
    return np.maximum(certificate, 0)


def on_grid(points: Floats, bound: Fraction, *, steps: int = STEPS) -> Integers:
    """Return rows as whole multiples of ``bound / steps``, cut towards zero.

    The absolute values of a row sum to at most `steps`, exactly: a row that rounding has left
    outside is cut further. So two rows differ by at most ``2 * steps`` in total.

    Shapes: the result (n, d). `points` (n, d): rows of the ball of `bound`, up to rounding.
    `bound`: above 0. `steps`: grid steps in `bound`, at least 1.
    """
    in_range(bound, "bound", above=0)
    in_range(steps, "steps", low=1)
    # Towards zero, not to the nearest: rounding to nearest could leave the ball by d / 2 steps.
    scaled = np.clip(points * (steps / float(bound)), -steps, steps)
    grid: Integers = np.trunc(scaled).astype(np.int64)
    # Exact: compares integers, so that no float rounding can stretch the sensitivity.
    excess = np.abs(grid).sum(axis=1) - steps
    for row in np.flatnonzero(excess > 0):
        left = int(excess[row])
        for column in np.argsort(-np.abs(grid[row]), kind="stable"):
            cut = min(left, abs(int(grid[row, column])))
            grid[row, column] -= cut if grid[row, column] > 0 else -cut
            left -= cut
    if (np.abs(grid).sum(axis=1) > steps).any():
        raise AssertionError("a row on the grid is outside the ball")
    return grid


def maximise_quadratic(
    matrix: Floats, linear: Floats, start: Floats, bound: float, tolerance: Floats
) -> Floats:
    """Return rows b of the ball that nearly maximise ``linear . b - b . matrix b / 2``.

    Projected gradient steps with momentum find the face of the ball on which the maximum lies, and
    a Newton step on that face goes to it; a step ends where a weight would change its sign.

    `matrix` (n, d, d): positive semidefinite. `linear`, `start` (n, d): `start` in the ball.
    `tolerance` (n,): rows end when their `gap` is at most this. What is returned is never worse
    than the start.
    """
    best = start.copy()
    rows = np.arange(len(start))
    diagonal = np.arange(matrix.shape[1])
    matrix = matrix.copy()
    # a little damping picks one of many maxima; the caller's next model has its centre there
    trace = matrix[:, diagonal, diagonal].sum(axis=1)
    matrix[:, diagonal, diagonal] += (_DAMPING * trace + 1e-300)[:, None]
    linear = linear + (_DAMPING * trace)[:, None] * start
    # The largest absolute row sum bounds the largest eigenvalue, the gradient's Lipschitz constant.
    step = 1 / np.abs(matrix).sum(axis=2).max(axis=1)[:, None]
    point = start
    for _ in range(_MOST_ROUNDS):
        gradient = linear - _times(matrix, point)
        open_ = gap(point, gradient, bound) > tolerance
        best[rows] = point
        if not open_.any():
            break
        if not open_.all():
            rows, matrix, linear, step = rows[open_], matrix[open_], linear[open_], step[open_]
            point, tolerance = point[open_], tolerance[open_]
        point = _gradient_steps(matrix, linear, point, step, bound)
        point = _face_step(matrix, linear, point, bound)
    best[rows] = point
    return best


def _times(matrix: Floats, point: Floats) -> Floats:
    product: Floats = np.matmul(matrix, point[:, :, None])[:, :, 0]
    return product


def _gradient_steps(
    matrix: Floats, linear: Floats, point: Floats, step: Floats, bound: float
) -> Floats:
    """Return the rows after some steps of FISTA (Beck and Teboulle 2009)."""
    ahead, t = point, 1.0
    for _ in range(_GRADIENT_STEPS):
        earlier = point
        # Beck and Teboulle (2009), eq. 4.1: a step from the point ahead, back onto the ball.
        point = project(ahead + step * (linear - _times(matrix, ahead)), bound)
        # eq. 4.2 and 4.3: t grows, and with it how far to look ahead.
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        change = point - earlier
        back = np.einsum("nd,nd->n", ahead - point, change) > 0  # restart where momentum overshoots
        ahead = point + np.where(back, 0, (before - 1) / t)[:, None] * change
    return point


def _face_step(matrix: Floats, linear: Floats, point: Floats, bound: float) -> Floats:
    """Return the rows after one Newton step on the face of the ball that each lies on."""
    n, d = point.shape
    # Where the maximum lies on a face, b . sign = bound and b_k = 0 off the face; its equations are
    # the Karush-Kuhn-Tucker system [[M, s], [s', 0]] of the free coordinates, bordered by the sign.
    free = point != 0
    sign = np.sign(point)
    tight = np.abs(point).sum(axis=1) >= bound * (1 - 1e-12)
    system = np.zeros((n, d + 1, d + 1))
    system[:, :d, :d] = matrix * (free[:, :, None] & free[:, None, :])
    diagonal = np.arange(d)
    system[:, diagonal, diagonal] += ~free  # rows of ones for coordinates that stay 0
    border = sign * tight[:, None]
    system[:, :d, d] = border
    system[:, d, :d] = border
    system[:, d, d] = ~(tight & free.any(axis=1))
    right = np.zeros((n, d + 1, 1))
    right[:, :d, 0] = (linear - _times(matrix, point)) * free
    move = _solved(system, right)[:, :d, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        # A sign that changes, or the bound, ends the face: go no further.
        to_zero = np.where(sign * move < 0, -point / move, np.inf)
        outward = np.where(tight, 0, np.einsum("nd,nd->n", sign, move))
        room = bound - np.abs(point).sum(axis=1)
        to_bound = np.where(outward > 0, room / outward, np.inf)
    length = np.minimum(np.minimum(to_zero.min(axis=1), to_bound), 1)[:, None]
    target = np.where(to_zero <= length, 0, point + length * move)
    before = _value(matrix, linear, point)
    # A singular system gives nonsense; such a row stays where the gradient steps left it.
    better = np.isfinite(target).all(axis=1) & (_value(matrix, linear, target) >= before)
    return np.where(better[:, None], project(target, bound), point)


def _solved(system: Floats, right: Floats) -> Floats:
    """Return the solutions, NaN for rows without one, each as if it were alone."""
    try:
        return np.asarray(np.linalg.solve(system, right), np.float64)
    except np.linalg.LinAlgError:
        if len(system) == 1:
            return np.full_like(right, np.nan)
        halves = (slice(0, len(system) // 2), slice(len(system) // 2, None))
        return np.concatenate([_solved(system[half], right[half]) for half in halves])


def _value(matrix: Floats, linear: Floats, point: Floats) -> Floats:
    value: Floats = np.einsum("nd,nd->n", linear - _times(matrix, point) / 2, point)
    return value
