"""How often a weighted vote is wrong at most: a bound that holds, and the published formula.

Li et al., "An efficient two-layer mechanism for privacy-preserving truth discovery", KDD 2018,
section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats


@dataclass(frozen=True, slots=True)
class Formula:
    """The value of a formula for an error, with what the formula is worth.

    Attributes
    ----------
    value : float
    is_bound : bool
        Whether the error is proven to be at most `value`. False for formulas that were published as
        bounds and are none: they are for comparison with the papers only.
    note : str
        What the formula is, in words to print next to it.
    """

    value: float
    is_bound: bool
    note: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.6g} ({self.note})"


def masked_accuracy(
    accuracy: ArrayLike, flip_probability: ArrayLike, *, options: int = 2
) -> Floats:
    """Return the probability that a masked report is the truth.

    Parameters
    ----------
    accuracy : float array, shape (n_workers,), or float
        Probability that a worker's answer is the truth, 0 to 1; wrong answers are spread evenly.
    flip_probability : float array, shape (n_workers,), or float
        Probability that a report differs from the answer, 0 to 1.
    options : int
        At least 2.

    Returns
    -------
    float array, of the shape that the two have together
        ``accuracy (1 - flip) + (1 - accuracy) flip / (options - 1)``. Equation 8 of Li et al. is
        this with two options.

    Raises
    ------
    ParameterError
        A probability is outside 0 to 1, or there are fewer than two options.

    Examples
    --------
    >>> masked_accuracy([0.9, 0.6], 0.25).round(3).tolist()
    [0.7, 0.55]
    """
    right, flip = probabilities(accuracy, "accuracy"), probabilities(flip_probability, "flip")
    _check_options(options)
    return np.asarray(right * (1 - flip) + (1 - right) * flip / (options - 1))


def weighted_vote_bound(accuracy: ArrayLike, *, options: int = 2) -> Formula:
    """Return a bound on the probability that the best weighted vote on a task is wrong.

    The vote weighs each report by its log-likelihood ratio ``ln((s - 1) q / (1 - q))``, q the
    probability that the report is the truth and s the number of options; workers err
    independently, wrong reports are even over the other options, and ties count as errors. The
    weights must be known: the bound is for the best that truth discovery can come to.

    Parameters
    ----------
    accuracy : float array, shape (n_workers,)
        Each voter's q, 0 to 1; of masked reports, see `masked_accuracy`.
    options : int
        s, at least 2.

    Returns
    -------
    Formula
        ``(s - 1) prod(2 sqrt(q r) + (s - 2) r)`` with ``r = (1 - q) / (s - 1)``, at most 1;
        for two options ``prod 2 sqrt(q (1 - q))``.

    Raises
    ------
    ParameterError
        A probability is outside 0 to 1, or there are fewer than two options.

    Notes
    -----
    Chernoff's bound at one half for each wrong option, added up over these. Halving all weights
    changes no decision, and makes ``E[exp(score of a wrong option - score of the truth)]`` the
    product above; it bounds the probability that the score of the wrong option is as large.

    Examples
    --------
    >>> round(weighted_vote_bound([0.7] * 11).value, 3)
    0.383
    """
    right = probabilities(accuracy, "accuracy").ravel()
    _check_options(options)
    other = (1 - right) / (options - 1)
    factor = 2 * np.sqrt(right * other) + (options - 2) * other
    with np.errstate(divide="ignore"):
        value = (options - 1) * np.exp(np.log(factor).sum())
    return Formula(min(float(value), 1.0), True, "a bound: Chernoff at the optimal weights")


def published_error_formula(accuracy: ArrayLike) -> Formula:
    """Return the value of equation 7 of Li et al., which was published as a bound and is none.

    It multiplies ``G(q) = (q / e + (1 - q) e) ** ln(q / (1 - q))`` over the voters. Its derivation
    takes the weight w out of an expectation, ``E[exp(-x w)]`` for ``E[exp(-x)] ** w``, which makes
    the result too small where w > 1 or w < 0: for 11 voters who are wrong three times of ten (and
    weigh below zero) it gives 0.0015, the true error is 0.078. With w inside, the expectation is
    exactly 1 for every voter, which bounds nothing. `weighted_vote_bound` holds.

    Parameters
    ----------
    accuracy : float array, shape (n_workers,)
        Each voter's probability of a true report, 0 to 1. The paper takes it to be at most 1/2,
        saying that q and 1 - q are equivalent; the formula treats them differently
        (G(0.2) = 0.325, G(0.8) = 0.783, and G > 1 between 0.5 and 0.73).

    Returns
    -------
    Formula
        With ``is_bound`` false.

    Raises
    ------
    ParameterError
        A probability is outside 0 to 1.

    Examples
    --------
    >>> print(published_error_formula([0.3] * 11))
    0.00147153 (published as a bound (Li et al. 2018, eq. 7); not a bound)
    """
    value = np.exp(log_error_factor(accuracy).sum())
    return Formula(float(value), False, "published as a bound (Li et al. 2018, eq. 7); not a bound")


def log_error_factor(accuracy: ArrayLike) -> Floats:
    """Return ln G of equation 7, by its limits at 0 and 1; see `published_error_formula`."""
    right = probabilities(accuracy, "accuracy")
    with np.errstate(divide="ignore"):
        weight = np.log(right) - np.log1p(-right)
    return np.asarray(weight * np.log(right / np.e + (1 - right) * np.e))


def probabilities(values: ArrayLike, name: str) -> Floats:
    """Return `values` as floats, checked to be from 0 to 1."""
    array = np.asarray(values, dtype=np.float64)
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        raise ParameterError(
            f"{name} holds {array[bad].flat[0]}, expected probabilities from 0 to 1."
        )
    return array


def _check_options(options: int) -> None:
    if options < 2:
        raise ParameterError(f"options is {options}, expected at least 2.")
