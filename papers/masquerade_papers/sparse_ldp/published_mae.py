"""The error formulas that were published for masked sparse numbers, for comparison.

Sun, Dong, Wang, Yu and Qin, "Truth inference on sparse crowdsourcing data with local differential
privacy", IEEE Big Data 2018 (arXiv 1808.08181), theorems 1 and 2. Neither describes what truth
inference on the reports comes to; only a simulation tells that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade_papers.two_layer.error_bounds import Formula, probabilities


def published_laplace_mae(
    values: ArrayLike,
    truths: ArrayLike,
    *,
    epsilon: float,
    answered_share: ArrayLike,
    deviation: ArrayLike,
    weight: ArrayLike | None = None,
    fill: float | None = None,
) -> Formula:
    """Return theorem 1: the mean absolute error under Laplace noise of scale K / epsilon.

    Parameters
    ----------
    values : float array, shape (K,)
        The domain, ascending, in the unit of the answers.
    truths : float array, shape (n_tasks,)
    epsilon : float
        Loss of a cell, above 0.
    answered_share : float array, shape (n_workers,), or float
        Share of the tasks that a worker answers, 0 to 1.
    deviation : float array, shape (n_workers,), or float
        Standard deviation of a worker's answers around the truth, at least 0.
    weight : float array, shape (n_workers,), optional
        Weights of the workers, scaled to sum 1 here; even by default.
    fill : float, optional
        Expected value that stands for a missing answer; the mean of `values` by default.

    Returns
    -------
    Formula
        With ``is_bound`` false: the sum over workers of weight times
        ``(1 - s)(|truth - fill| + K / epsilon) + s (deviation sqrt(2 / pi) + K / epsilon)``,
        averaged over tasks. It is about the error of one report, as if the mean of many were no
        better, so the error of an estimate is usually far smaller.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> print(published_laplace_mae(range(1, 11), [1], epsilon=1, answered_share=0.1, deviation=1))
    14.1298 (published as a bound (Sun et al. 2018, theorem 1); not verified as one)
    """
    domain, truth, count, share, spread, q = _checked(
        values, truths, epsilon, answered_share, deviation, weight
    )
    # E|x| of Laplace noise is its scale; of a normal error it is deviation sqrt(2 / pi).
    noise = len(domain) / epsilon
    expected = float(domain.mean()) if fill is None else fill
    missing = (1 - share) * (np.abs(truth[:, None] - expected) + noise)
    # Theorem 1: the parts of an answer that is given, and of one that is not.
    given = share * (spread * math.sqrt(2 / math.pi) + noise)
    return Formula(
        float(np.average((missing + given) @ q, weights=count)),
        False,
        "published as a bound (Sun et al. 2018, theorem 1); not verified as one",
    )


def published_response_mae(
    values: ArrayLike,
    truths: ArrayLike,
    *,
    epsilon: float,
    answered_share: ArrayLike,
    deviation: ArrayLike,
    weight: ArrayLike | None = None,
    normalised: bool = False,
) -> Formula:
    """Return theorem 2: the mean absolute error under randomized response with "no answer".

    Parameters
    ----------
    values, truths, epsilon, answered_share, deviation, weight
        See `published_laplace_mae`.
    normalised : bool
        Whether the normal weights of the answers are scaled to sum 1 over the domain; the formula
        takes the normal density at each value as it is. Needs a deviation above 0 either way.

    Returns
    -------
    Formula
        With ``is_bound`` false. It is a bias, with "no answer" counted as the number 0, so it
        changes when a constant is added to all values, and estimates can have a larger error.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> print(published_response_mae(range(10), [0], epsilon=1, answered_share=0.1, deviation=1))
    3.4368 (published as a bound (Sun et al. 2018, theorem 2); not a bound)
    """
    domain, truth, count, share, spread, q = _checked(
        values, truths, epsilon, answered_share, deviation, weight
    )
    if (spread <= 0).any():
        raise ParameterError(f"deviation holds {spread.min()}, expected above 0.")
    # e**epsilon / (e**epsilon + K): the K other symbols have "no answer" among them
    keep, other = softmax([epsilon, math.log(len(domain))])
    other /= len(domain)
    reported = (keep - other) * domain + other * domain.sum()  # expected report[answer]
    # off[truth, worker, answer]: distance in the worker's deviations
    off = (domain[None, None, :] - truth[:, None, None]) / spread[None, :, None]
    log_density = -0.5 * off**2 - np.log(spread)[None, :, None] - 0.5 * math.log(2 * math.pi)
    answered = softmax(log_density, axis=2) if normalised else np.exp(log_density)
    missing = np.abs(truth - other * domain.sum())[:, None]
    # Theorem 2, as published: distances of expectations, which is why it is no bound.
    error = (1 - share) * missing + share * np.abs(truth[:, None] - answered @ reported)
    return Formula(
        float(np.average(error @ q, weights=count)),
        False,
        "published as a bound (Sun et al. 2018, theorem 2); not a bound",
    )


def _checked(
    values: ArrayLike,
    truths: ArrayLike,
    epsilon: float,
    answered_share: ArrayLike,
    deviation: ArrayLike,
    weight: ArrayLike | None,
) -> tuple[Floats, Floats, Integers, Floats, Floats, Floats]:
    """Return domain, distinct truths, how many tasks have them, and each worker's figures.

    These are the share answered, the deviation and the weight (sum 1).
    """
    domain = np.asarray(values, dtype=np.float64).ravel()
    truth = np.atleast_1d(np.asarray(truths, dtype=np.float64)).ravel()
    if len(domain) < 2 or not np.isfinite(domain).all() or not (np.diff(domain) > 0).all():
        raise ParameterError("values must be at least two finite numbers in ascending order.")
    if len(truth) == 0 or not np.isfinite(truth).all():
        raise ParameterError("truths must be at least one finite number each.")
    if not 0 < epsilon < math.inf:
        raise ParameterError(f"epsilon is {epsilon}, expected above 0 and finite.")
    share = probabilities(answered_share, "answered_share")
    spread = np.asarray(deviation, dtype=np.float64)
    if not ((spread >= 0) & np.isfinite(spread)).all():
        raise ParameterError("deviation must be finite numbers of at least 0.")
    given = np.ones(1) if weight is None else np.asarray(weight, dtype=np.float64)
    if not ((given >= 0) & np.isfinite(given)).all() or given.sum() == 0:
        raise ParameterError("weight must be finite numbers of at least 0, not all 0.")
    try:
        share, spread, given = np.broadcast_arrays(
            np.atleast_1d(share), np.atleast_1d(spread), np.atleast_1d(given)
        )
    except ValueError as error:
        raise ParameterError(
            f"answered_share, deviation and weight have shapes {share.shape}, {spread.shape} and "
            f"{given.shape}, expected one number for each worker."
        ) from error
    truth, count = np.unique(truth, return_counts=True)
    return domain, truth, count, share, spread, given / given.sum()
