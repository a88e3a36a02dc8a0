"""One Thurstone-Mosteller fit over the records of all voters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from masquerade.answers import Comparisons, Frame
from masquerade.answers.result import Result
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade.preference.l1_ball import gap, maximise_quadratic
from masquerade.preference.mechanisms.linear import voter_sums
from masquerade.preference.thurstone import curvature, require_features, slope

_BLOCK = 1 << 16  # records worked on at a time
_ARMIJO = 1e-4
_MOST_HALVINGS = 60
_UNIDENTIFIED = 1e-10  # curvature in a direction, relative to the largest


@dataclass(frozen=True, slots=True, eq=False)
class PooledFit(Result):
    """One weight vector for everybody.

    Attributes
    ----------
    weights : float array, shape (n_features,)
        Of the scaled features.
    covariance : float array, shape (n_features, n_features), or None
        Of `weights` under drawing other voters: the sandwich estimate, clustered by voter. None
        where the weights are on the bound, so that the data alone do not determine them.
    identified : bool
        Whether the data determine the weights in every direction; not so for collinear features.
        The covariance is zero in directions that they do not determine.
    log_likelihood : float
        Of the records, each times its weight.
    gap : float
        Certificate: the maximum is at most this much higher.
    converged : bool
        Whether `gap` is at most the tolerance times the number of records.
    on_bound : bool
        Whether the absolute weights sum to the bound: the choices are separable, or the bound is
        small.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> from masquerade.preference.pooled_fit import fit_pooled
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_pooled(choices).weights.shape
    (2,)
    """

    weights: Floats
    covariance: Floats | None
    identified: bool
    log_likelihood: float
    gap: float
    converged: bool
    iterations: int
    on_bound: bool


def fit_pooled(
    comparisons: Comparisons | Frame,
    *,
    bound: float = 1000.0,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
    voters_count_equally: bool = False,
) -> PooledFit:
    """Return the maximum-likelihood weights of all records together.

    Parameters
    ----------
    comparisons : Comparisons, or a table as `Comparisons.from_frame` reads it
        With features; the scaled differences are used.
    bound : float
        Largest sum of absolute weights, above 0. The default only matters for separable choices.
    tolerance : float
        Largest certified shortfall of the log-likelihood per record, above 0.
    voters_count_equally : bool
        Divides each voter's records by their number, so that a voter with many records has no more
        say than one with few.

    Notes
    -----
    The proximal Newton method of `fit_voters`, for one fit. **Cost**: a few passes over the
    records, each linear in records times features squared; memory for a block of records besides
    the scaled differences.

    References
    ----------
    Liang and Zeger (1986) for the clustered sandwich.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_pooled(choices).converged
    True
    """
    in_range(bound, "bound", above=0, below=math.inf)
    in_range(tolerance, "tolerance", above=0)
    comparisons = Comparisons.of(comparisons)
    require_features(comparisons)
    records = comparisons.scaled()
    share = np.ones(len(records))
    if voters_count_equally:
        counts = comparisons.records_per_voter()
        mean = len(records) / max(int(np.count_nonzero(counts)), 1)
        # A record weighs 1 / the voter's number, scaled so that weights still add to all records.
        share = mean / counts[comparisons.voter]
    # Proximal Newton, as in `fit_voters`, for one row.
    allowance = tolerance * max(len(records), 1)
    b = np.zeros(comparisons.n_features)
    f = _value(records, share, b)
    iterations = 0
    while True:
        g, hessian = _derivatives(records, share, b)
        shortfall = float(gap(b[None], g[None], bound)[0])
        if shortfall <= allowance or iterations >= max_iterations:
            break
        iterations += 1
        # The inner problem is solved as well as the outer one is, and no better.
        precision = np.array([max(1e-3 * shortfall, 0.1 * allowance)])
        linear = g + hessian @ b
        target = maximise_quadratic(hessian[None], linear[None], b[None], bound, precision)[0]
        b, f = _line_search(records, share, b, f, g, target)
    on_bound = bool(np.abs(b).sum() >= bound * (1 - 1e-9))
    # Collinear features leave directions without curvature; these are not identified, and the
    # pseudo-inverse leaves them out.
    spectrum, axes = np.linalg.eigh(hessian)
    identified = spectrum > _UNIDENTIFIED * max(spectrum.max(initial=0), 1e-300)
    covariance = None
    if not on_bound:
        bread = (axes[:, identified] / spectrum[identified]) @ axes[:, identified].T
        covariance = _sandwich(comparisons, records, share, b, bread)
    return PooledFit(
        b,
        covariance,
        bool(identified.all()),
        f,
        shortfall,
        shortfall <= allowance,
        iterations,
        on_bound,
    )


def _value(records: Floats, share: Floats, b: Floats) -> float:
    return float(share @ log_ndtr(records @ b))


def _derivatives(records: Floats, share: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the gradient and the negative second derivative."""
    d = len(b)
    g, hessian = np.zeros(d), np.zeros((d, d))
    for start in range(0, len(records), _BLOCK):
        block, s = records[start : start + _BLOCK], share[start : start + _BLOCK]
        z = block @ b
        # Sums over records of s r(z) V and of s w(z) V V', s the record's weight.
        r = slope(z)
        g += (s * r) @ block
        hessian += (block * (s * curvature(z, r))[:, None]).T @ block
    return g, hessian


def _line_search(
    records: Floats, share: Floats, b: Floats, f: float, g: Floats, target: Floats
) -> tuple[Floats, float]:
    # Armijo, as in `fit_voters`.
    move = target - b
    rise = float(g @ move)
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        value = _value(records, share, b + length * move)
        if value >= f + _ARMIJO * length * rise - 1e-12 * (1 + abs(f)):
            return b + length * move, value
        length /= 2
    return b, f


def _sandwich(
    comparisons: Comparisons, records: Floats, share: Floats, b: Floats, bread: Floats
) -> Floats:
    # Liang and Zeger (1986): bread . (sum over voters of score score') . bread, n / (n - 1).
    scores = voter_sums(comparisons, records * (share * slope(records @ b))[:, None])
    voters = max(int(np.count_nonzero(comparisons.records_per_voter())), 1)
    meat = scores.T @ scores * (voters / max(voters - 1, 1))
    covariance: Floats = bread @ meat @ bread
    return covariance
