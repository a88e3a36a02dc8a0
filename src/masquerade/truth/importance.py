"""How much a worker matters to a vote's error, by the score of Li et al., KDD 2018."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats
from masquerade.truth.error_bounds import log_error_factor


def importance(accuracy: ArrayLike) -> Floats:
    """Return each worker's importance: the error formula without the worker over that with.

    Parameters
    ----------
    accuracy : float array, shape (n_workers,)
        Probability of a true report, 0 to 1; the paper takes it to be at most 1/2.

    Returns
    -------
    float array, shape (n_workers,)
        ``1 / G(accuracy)``, section 6.2.3 of Li et al., KDD 2018: 1 for a worker who guesses
        between two options, infinite for one who is always right or always wrong. It inherits what
        is wrong with `published_error_formula`: below 1 for accuracies between 0.5 and 0.73, and
        different for q and 1 - q. The score orders workers of accuracy at most 1/2 rightly.

    Raises
    ------
    ParameterError
        A probability is outside 0 to 1.

    Examples
    --------
    >>> importance([0.1, 0.3, 0.5]).round(2).tolist()
    [7.38, 1.81, 1.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-log_error_factor(accuracy)))


def important_workers(accuracy: ArrayLike, *, share: float) -> Flags:
    """Return which workers have at least a share of the greatest importance.

    Parameters
    ----------
    accuracy : float array, shape (n_workers,)
        See `importance`.
    share : float
        The paper's c, above 0 and at most 1: 1 keeps the best alone, a value near 0 nearly everyone
        (the paper says: those near the best). Where someone's importance is infinite, only such
        workers are kept.

    Returns
    -------
    bool array, shape (n_workers,)

    Raises
    ------
    ParameterError
        `share` or a probability is out of range.

    Examples
    --------
    >>> important_workers([0.1, 0.12, 0.3], share=0.5).tolist()
    [True, True, False]
    """
    if not 0 < share <= 1:
        raise ParameterError(f"share is {share}, expected above 0 and at most 1.")
    # Compared in logs: a great importance does not overflow.
    score = -log_error_factor(accuracy)
    return np.asarray(score >= np.max(score, initial=-np.inf) + np.log(share))
