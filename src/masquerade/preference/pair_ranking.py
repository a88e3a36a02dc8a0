"""Strengths of items from estimated shares of votes for one of two.

A survey that asks about pairs learns for each pair how many prefer the first: from masked reports
at several privacy levels, with an error. This turns those shares into one scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.special import expit

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Floats

#: Precision of a strength before anything is known: a standard deviation of 2 in logits.
PRIOR = 0.25

_MOST_STEPS = 100
_CLOSE = 1e-12  # largest move of a strength at which Newton's method ends


def strength_table(items: Any, strengths: Floats, errors: Floats) -> pa.Table:
    """Return items with their strengths, standard errors and 95 % intervals."""
    return pa.table(
        {
            "item": items,
            "strength": strengths,
            "standard_error": errors,
            "low": strengths - 1.96 * errors,
            "high": strengths + 1.96 * errors,
        }
    )


@dataclass(frozen=True, slots=True, eq=False)
class PairRanking(Result):
    """Items on one scale.

    Attributes
    ----------
    items : tuple of str
        In the order in which the pairs name them.
    strengths : float array, shape (n_items,)
        Sum to 0 in each group. Item a is preferred to b with probability
        ``1 / (1 + exp(strengths[b] - strengths[a]))``.
    covariance : float array, shape (n_items, n_items)
        Under asking other people, and under other masks.
    group : int array, shape (n_items,)
        Items of different groups were never compared, not even by way of others: their strengths
        say nothing of each other.

    Examples
    --------
    >>> from masquerade.preference import rank_pairs
    >>> rank_pairs([("tea", "milk")], [0.7], [[0.001]]).items
    ('tea', 'milk')
    """

    drawing: ClassVar[str] = "rankings"

    items: tuple[str, ...]
    strengths: Floats
    covariance: Floats
    group: Codes

    def to_arrow(self) -> pa.Table:
        """Return ``item``, ``group``, ``strength``, ``standard_error``, ``low`` and ``high``."""
        table = strength_table(self.items, self.strengths, self.standard_errors)
        return table.add_column(1, "group", pa.array(self.group))

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of `strengths`, shape (n_items,)."""
        errors: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors


def rank_pairs(
    pairs: Sequence[tuple[str, str]],
    shares: ArrayLike,
    covariance: ArrayLike,
    *,
    prior: float = PRIOR,
) -> PairRanking:
    """Return Bradley-Terry strengths from the share of votes for the first of each pair.

    Parameters
    ----------
    pairs : sequence of (str, str)
        A pair may stand several times.
    shares : float array, shape (n_pairs,)
        Who prefer the first, half of the ties included; noise may put it outside 0 to 1, where it
        counts as 0 or 1.
    covariance : float array, shape (n_pairs, n_pairs)
        Of `shares`; the same people answered several pairs.
    prior : float
        Weight of a normal prior, ``-prior / 2 * sum(strengths**2)``, above 0; it matters where the
        shares are nearly all or nothing, or very noisy.

    Raises
    ------
    ParameterError
        Shapes do not fit, an item is compared with itself, or a number is not finite.

    Notes
    -----
    A pair counts as so many clear choices as would give its share the same error. The equations are
    those of maximum likelihood, ``sum(m (share - P)) = prior * strength``, solved by Newton's
    method; they are unbiased for shares that are. The covariance is the sandwich (Huber 1967), and
    what the prior may have drawn the strengths by: nearly nothing where the shares are sharp, and
    the prior's own width where they say nothing.

    References
    ----------
    Bradley and Terry (1952).

    Examples
    --------
    >>> ranking = rank_pairs([("a", "b"), ("b", "c")], [0.75, 0.5], [[1e-6, 0], [0, 1e-6]])
    >>> ranking.strengths.round(3).tolist()
    [0.732, -0.366, -0.366]
    """
    share, spread = np.asarray(shares, np.float64), np.asarray(covariance, np.float64)
    if share.shape != (len(pairs),) or spread.shape != (len(pairs), len(pairs)) or not pairs:
        raise ParameterError(
            f"{len(pairs)} pairs, shares of shape {share.shape} and covariance of shape "
            f"{spread.shape}; give a share and a row for each pair."
        )
    if not (np.isfinite(share).all() and np.isfinite(spread).all() and 0 < prior < np.inf):
        raise ParameterError(
            "a share, a covariance or the prior is not finite, or prior is not > 0."
        )
    items = tuple(dict.fromkeys(item for pair in pairs for item in pair))
    place = {item: i for i, item in enumerate(items)}
    first = np.array([place[a] for a, _ in pairs])
    second = np.array([place[b] for _, b in pairs])
    if (first == second).any():
        twice = items[int(first[np.argmax(first == second)])]
        raise ParameterError(f"{twice!r} is compared with itself; remove the pair.")
    k, rows = len(items), np.arange(len(pairs))
    design = np.zeros((len(pairs), k))
    design[rows, first], design[rows, second] = 1.0, -1.0
    # A share p of m clear choices has variance p (1 - p) / m: near 1/2, m is 1 / (4 variance).
    worth = 0.25 / np.maximum(np.diag(spread), 1e-12)
    observed = np.clip(share, 0.0, 1.0)
    strengths = np.zeros(k)
    for _ in range(_MOST_STEPS):
        # Score and information of the binomial likelihood with a normal prior (Newton's method).
        chance = expit(design @ strengths)
        score = design.T @ (worth * (observed - chance)) - prior * strengths
        slope = (design * (worth * chance * (1 - chance))[:, None]).T @ design + prior * np.eye(k)
        step = np.linalg.solve(slope, score)
        # Far from the maximum a whole step may overshoot.
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        strengths = strengths + step
        if float(np.abs(step).max()) < _CLOSE:
            break
    # Ties of comparisons, not of wins: with a prior every item has a strength.
    group = _compared(first, second, k)
    # Delta method: a small change of the shares moves the strengths by this matrix.
    lift = np.linalg.solve(slope, design.T * worth)
    # The prior draws strengths towards 0 by prior * slope^-1 * strengths; what that is of strengths
    # as the prior has them, which sum to 0 in each group, is uncertain too.
    apart = np.eye(k) - (group[:, None] == group) / np.bincount(group)[group]
    pull = np.linalg.solve(slope, apart)
    spread = lift @ spread @ lift.T + prior * pull @ pull.T
    return PairRanking(items, strengths, spread, group.astype(np.int32))


def _compared(first: Codes, second: Codes, items: int) -> Codes:
    """Return the group of each item: those of a group are compared with each other, by others."""
    from scipy.sparse.csgraph import connected_components  # dear to load

    graph = coo_array((np.ones(len(first)), (first, second)), shape=(items, items))
    group: Codes = connected_components(graph, directed=False)[1]
    return group
