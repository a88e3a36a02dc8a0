"""Likeliest shares of the answers of people, from masked reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masquerade.errors import EmptyTable
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth.channel_view import SymbolChannel

_MOST_STEPS = 60  # of Newton's iteration


def likeliest_shares(groups: Sequence[tuple[Sequence[int], CategoricalMechanism]]) -> Floats:
    """Return the maximum-likelihood shares of answers, from reports at several levels.

    They lie within 0 and 1 and sum to 1, and every report counts as much as its mask lets through.
    That is best if levels do not differ, and biased if they do; shares near 0 are biased upwards.

    Parameters
    ----------
    groups : sequence of (counts, CategoricalMechanism)
        For each level how many people sent each report, and the mask; all of one question.

    Returns
    -------
    float array, shape (n_symbols,)

    Raises
    ------
    EmptyTable
        No reports.

    Notes
    -----
    The logarithm of the likelihood, ``sum over levels and symbols of count ln(q + D share)``, is
    concave and a sum over symbols but for the constraint. So a symbol's share follows from the
    constraint's multiplier by a monotone Newton iteration, and the multiplier is found by
    bracketing: the same shares as by expectation and maximisation, which takes thousands of
    iterations where masks are strong.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, flip_probability=0.25)
    >>> likeliest_shares([([60, 40], mask), ([100, 0], mask)]).round(6).tolist()
    [1.0, 0.0]
    """
    levels = [(np.asarray(counts, float), SymbolChannel.of(m)) for counts, m in groups]
    levels = [(counts, channel) for counts, channel in levels if counts.sum() > 0]
    if not levels:
        raise EmptyTable("there are no reports; shares need at least one.")
    count = np.stack([counts for counts, _ in levels])  # [level, symbol]
    other = np.array([channel.other for _, channel in levels])[:, None]
    signal = np.array([channel.signal for _, channel in levels])[:, None]
    n = float(count.sum())

    def shares_at(multiplier: float) -> Floats:
        # From the left: each level alone would put the share no lower, and the slope is convex.
        start = count / multiplier - other / signal
        held: Floats = np.maximum(start.max(axis=0), 0.0)
        for _ in range(_MOST_STEPS):
            reported = other + signal * held
            part = np.divide(signal, reported, out=np.zeros_like(count), where=count > 0)
            slope = (count * part).sum(axis=0) - multiplier
            curve = (count * part**2).sum(axis=0)
            step = np.divide(slope, curve, out=np.zeros_like(held), where=curve > 0)
            step = np.maximum(step, 0.0)  # below 0 only where the share is 0, or by rounding
            held = held + step
            if step.max() <= 1e-15:
                break
        return held

    # The multiplier is at most n, and n without masks; shares fall as it grows.
    low = n
    while shares_at(low).sum() < 1:
        low /= 2
    multiplier = low
    if low < n:
        from scipy.optimize import brentq  # dear to load, and only masks need it

        multiplier = float(
            brentq(lambda m: float(shares_at(m).sum()) - 1, low, 2 * low, xtol=1e-12 * n)
        )
    held = shares_at(multiplier)
    total: Floats = held / held.sum()
    return total
