"""The Thurstone-Mosteller likelihood, and fits of all voters at once under an L1 bound."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr

from masquerade.answers import Comparisons, Frame, Progress
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats, Integers
from masquerade.exact.number import in_range
from masquerade.preference.l1_ball import gap, maximise_quadratic

_PADDING = 4  # one part in so many of a length may be empty
_BLOCK_NUMBERS = 1 << 20  # of differences worked on at a time
_FEW_NUMBERS = 1 << 14  # fitted sooner than threads have started
_ARMIJO = 1e-4  # share of the rise that its slope promises, which a step has to reach
_MOST_HALVINGS = 40

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_FAR = -300.0  # further out, r + z has lost its digits


@dataclass(frozen=True, slots=True, eq=False)
class VoterFits(Result):
    """One weight vector a voter.

    Attributes
    ----------
    weights : float array, shape (n_voters, n_features)
        Of the scaled features; absolute values of a row sum to at most the bound, up to rounding
        (`l1_ball.on_grid` makes it exact). Zeros for a voter without a record.
    log_likelihood : float array, shape (n_voters,)
    gap : float array, shape (n_voters,)
        Certificate: the maximum of the log-likelihood is at most this much higher.
    converged : bool array, shape (n_voters,)
        Whether `gap` is at most the tolerance times the number of records (at least 1).
    iterations : int
        Newton steps of the slowest voter.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> from masquerade.preference.thurstone import fit_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_voters(choices).weights.shape
    (50, 2)
    """

    weights: Floats
    log_likelihood: Floats
    gap: Floats
    converged: Flags
    iterations: int


def slope(margin: ArrayLike) -> Floats:
    """Return r(z) = phi(z) / Phi(z), the derivative of ln Phi.

    Notes
    -----
    ``exp(-z**2 / 2 - ln Phi(z))`` would cancel for very negative z; the scaled complementary error
    function does not.
    """
    z = np.asarray(margin, dtype=np.float64)
    # phi(z) / Phi(z) = sqrt(2/pi) / erfcx(-z / sqrt 2) (the specification, section 3).
    r: Floats = _ROOT_TWO_OVER_PI / erfcx(z * -_ROOT_HALF)
    return r


def curvature(margin: ArrayLike, slope: ArrayLike) -> Floats:
    """Return w(z) = r (r + z) = -(ln Phi)''(z), between 0 and 1.

    `margin`: z. `slope`: r(z), as the function `slope` returns it.
    """
    z, r = np.asarray(margin, dtype=np.float64), np.asarray(slope, dtype=np.float64)
    w: Floats = r * (r + z)
    # Far out r + z cancels; the next term of the asymptotic series of r gives 1 - 1/z**2.
    far = z < _FAR
    if far.any():
        w = np.where(far, 1 - 1 / np.where(far, z, 1) ** 2, w)
    return np.clip(w, 0, 1)


def fit_voters(
    comparisons: Comparisons | Frame,
    *,
    bound: float = 2.0,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    progress: Progress | None = None,
) -> VoterFits:
    """Return each voter's maximum-likelihood weights under an L1 bound.

    The utility of an alternative is normal with mean ``weights . features`` and variance 1/2, so a
    choice with difference v has probability ``Phi(weights . v)``. The bound makes a maximum exist
    also where a voter's choices are separable, as they are for most voters with few records.

    Parameters
    ----------
    comparisons : Comparisons, or a table as `Comparisons.from_frame` reads it
        With features; the scaled differences are used.
    bound : float
        Largest sum of a voter's absolute weights, above 0.
    tolerance : float
        Largest certified shortfall of the log-likelihood per record, above 0.
    max_iterations : int
        Newton steps after which a voter is returned as it is.
    progress : callable, optional
        Called with the number of voters done and their total.

    Notes
    -----
    Proximal Newton: the quadratic model at the current weights is maximised over the ball by
    projected gradient steps and Newton steps on its faces (see `maximise_quadratic`), then a step
    is taken that raises the likelihood. Among several maxima (fewer records than features,
    collinear features) one is returned, always the same for the same data. Privacy never depends on
    convergence, only on the bound. A voter's fit is the same to the last bit whoever else is
    fitted: each stops by itself, and is padded to a length that depends on its own number of
    records alone. Private mechanisms need this, for one voter must change one fit and no more.

    **Cost**: time linear in records, times features squared; a voter takes four to nine Newton
    steps. Memory linear in records: voters are padded to one of few lengths, at most a quarter
    of it empty.

    References
    ----------
    Wang et al. (2019), section 3; Thurstone (1927), Mosteller (1951).

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_voters(choices).weights.shape
    (50, 2)
    """
    in_range(bound, "bound", above=0, below=math.inf)
    in_range(tolerance, "tolerance", above=0)
    comparisons = Comparisons.of(comparisons)
    require_features(comparisons)
    n, d = comparisons.n_voters, comparisons.n_features
    fits = VoterFits(
        np.zeros((n, d)), np.zeros(n), np.zeros(n), np.ones(n, dtype=np.bool_), iterations=0
    )
    counts = comparisons.records_per_voter()
    scaled = comparisons.scaled()
    lock = Lock()
    done = int(np.count_nonzero(counts == 0))

    def solve(block: Integers) -> int:
        nonlocal done
        padded = _padded(scaled, comparisons.offsets, block, int(lengths[block[0]]))
        allowance = tolerance * counts[block].astype(np.float64)
        solution = _solve(padded, bound, allowance, max_iterations)
        fits.weights[block] = solution.weights
        fits.gap[block] = solution.gap
        fits.converged[block] = solution.converged
        # padding adds ln(1/2) a row
        empty = padded.shape[1] - counts[block]
        fits.log_likelihood[block] = solution.log_likelihood - empty * np.log(0.5)
        if progress is not None:
            with lock:
                done += len(block)
                progress(done, n)
        return solution.iterations

    lengths = padded_lengths(counts)
    blocks = list(_blocks(lengths, d))
    if len(blocks) < 2 or lengths.sum() * d < _FEW_NUMBERS:
        iterations = max(map(solve, blocks), default=0)
    else:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            iterations = max(pool.map(solve, blocks))
    return VoterFits(fits.weights, fits.log_likelihood, fits.gap, fits.converged, iterations)


def require_features(comparisons: Comparisons) -> None:
    """Raise where the records only name items."""
    if not comparisons.features:
        raise ParameterError(
            "the comparisons name items and have no features; fit BradleyTerry, or turn each item "
            "into a feature with comparisons.by_items()."
        )


def padded_lengths(counts: Integers) -> Integers:
    """Return the length that each number of records is padded to; it depends on nothing else."""
    # A grid of lengths each at most 4/3 of the one before. A length that depended on other voters
    # would let them change the last bits of this voter's fit, and so its sensitivity.
    lengths = [0]
    while lengths[-1] < counts.max(initial=0):
        lengths.append(max(lengths[-1] + 1, lengths[-1] * _PADDING // (_PADDING - 1)))
    grid = np.array(lengths, dtype=np.int64)
    return grid[np.searchsorted(grid, counts)]


def _blocks(lengths: Integers, d: int) -> Iterator[Integers]:
    """Yield voters with records in groups of one length, each of bounded size."""
    order = np.argsort(lengths, kind="stable")
    for length in np.unique(lengths[lengths > 0]).tolist():
        first, last = np.searchsorted(lengths[order], [length, length + 1]).tolist()
        many = max(1, _BLOCK_NUMBERS // (length * d))
        for start in range(first, last, many):
            yield order[start : min(start + many, last)]


def _padded(scaled: Floats, offsets: Integers, voters: Integers, length: int) -> Floats:
    """Return the voters' records, shape (n_voters, length, d), short ones followed by zeros.

    A zero difference has no gradient and no curvature, so the fit does not see it.
    """
    first, counts = offsets[voters], offsets[voters + 1] - offsets[voters]
    place = np.arange(length)
    there = place < counts[:, None]
    rows = np.where(there, first[:, None] + place, 0)
    padded: Floats = scaled[rows]
    padded[~there] = 0
    return padded


def _solve(records: Floats, bound: float, allowance: Floats, max_iterations: int) -> VoterFits:
    """Return fits of voters with equally many records, shape (n_voters, n_records, d).

    Every step treats each row by itself: products go through one BLAS call a row, and a row leaves
    when it is done.
    """
    n, _, d = records.shape
    weights, value, certificate = np.zeros((n, d)), np.empty(n), np.empty(n)
    limit = allowance
    rows = np.arange(n)
    b = np.zeros((n, d))
    z = np.zeros(records.shape[:2])
    f = log_ndtr(z).sum(axis=1)
    iterations = 0
    while True:
        # Gradient: sum of r(z_j) V_j over the records of a voter.
        r = slope(z)
        g = np.matmul(r[:, None, :], records)[:, 0, :]
        shortfall = gap(b, g, bound)
        weights[rows], value[rows], certificate[rows] = b, f, shortfall
        open_ = shortfall > limit
        if not open_.any() or iterations >= max_iterations:
            break
        if not open_.all():  # voters who are done leave
            rows, records, limit = rows[open_], records[open_], limit[open_]
            b, z, f, r, g = b[open_], z[open_], f[open_], r[open_], g[open_]
            shortfall = shortfall[open_]
        iterations += 1
        # Negative second derivative: the sum of w(z_j) V_j V_j'. The quadratic model around the
        # current weights is maximised over the ball (proximal Newton).
        w = curvature(z, r)
        hessian = np.matmul(records.transpose(0, 2, 1) * w[:, None, :], records)
        linear = g + np.matmul(hessian, b[:, :, None])[:, :, 0]
        target = maximise_quadratic(
            hessian, linear, b, bound, np.maximum(0.01 * shortfall, 0.1 * limit)
        )
        b, z, f = _line_search(records, b, z, f, g, target)
    return VoterFits(weights, value, certificate, certificate <= allowance, iterations)


def _line_search(
    records: Floats, b: Floats, z: Floats, f: Floats, g: Floats, target: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return weights on the way to `target` that raise the likelihood, with margins and value."""
    # Armijo: a step counts if the likelihood rises by a ten-thousandth of what its slope promises.
    move = target - b
    rise = np.einsum("nd,nd->n", g, move)
    z_move = np.matmul(records, move[:, :, None])[:, :, 0]
    length = np.ones(len(b))
    z_new = z + z_move
    f_new = log_ndtr(z_new).sum(axis=1)
    slack = 1e-12 * (1 + np.abs(f))  # rounding of the sum
    for _ in range(_MOST_HALVINGS):
        low = f_new < f + _ARMIJO * length * rise - slack
        if not low.any():
            break
        length[low] /= 2
        z_new[low] = z[low] + length[low, None] * z_move[low]
        f_new[low] = log_ndtr(z_new[low]).sum(axis=1)
    return b + length[:, None] * move, z_new, f_new
