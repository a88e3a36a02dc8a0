"""Errors of a weighted vote: a bound that holds, and the published formulas.

Li et al., "An efficient two-layer mechanism for privacy-preserving truth discovery", KDD 2018,
section 6.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammainccinv

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Flags, Floats


@dataclass(frozen=True, slots=True)
class Formula(Result):
    """The value of a formula for an error, with the worth of the formula.

    Attributes
    ----------
    is_bound : bool
        Whether the error is proven to be at most `value`. False for formulas that were published as
        bounds and are none: they are for comparison with the papers only.
    note : str
        What the formula is, in words to print next to it.

    Examples
    --------
    >>> Formula(0.05, is_bound=True, note="holds for any crowd").is_bound
    True
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
        # A voter who is always right has factor 0: the logarithm -inf gives the bound 0.
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


@dataclass(frozen=True, slots=True)
class FlipProduct:
    """The distribution of the product of `workers` independent draws from U(0, high).

    Li et al., KDD 2018, section 6.2.3, take it for the error rate that masking adds (up to a factor
    2 to the number of workers, which they leave out) and compare it with ``(high / 2) ** workers``
    under the one-layer mechanism of the same mean. Its density is as they give it. What follows
    from it is less than they say: the mean is the same under both mechanisms; only the typical
    value is smaller, see `below_one_layer`.

    Parameters
    ----------
    workers : int
        At least 1.
    high : float
        Above 0 and at most 1.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> product = FlipProduct(workers=5, high=0.5)
    >>> round(product.mean, 6), round(product.below_one_layer, 3)
    (0.000977, 0.732)
    """

    workers: int
    high: float

    def __post_init__(self) -> None:
        if self.workers < 1 or self.workers != int(self.workers):
            raise ParameterError(f"workers is {self.workers}, expected a whole number, at least 1.")
        if not 0 < self.high <= 1:
            raise ParameterError(f"high is {self.high}, expected above 0 and at most 1.")

    def density(self, product: ArrayLike) -> Floats:
        """Return ``ln(high**n / x)**(n - 1) / (high**n (n - 1)!)``; 0 outside ``(0, high**n]``.

        At 0 it is infinite, but for one worker.
        """
        # section 6.2.3: minus the log of a product of uniform draws is Gamma-distributed
        drop = self._drop(product)
        inside = (drop >= 0) & (np.asarray(product) >= 0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            power = (self.workers - 1) * np.log(drop) if self.workers > 1 else np.zeros_like(drop)
            density = np.exp(power - self.workers * math.log(self.high) - math.lgamma(self.workers))
        return np.where(inside, density, 0.0)

    def distribution(self, product: ArrayLike) -> Floats:
        """Return the probability that the product is at most `product`."""
        # The product is small where minus its logarithm is large: the upper tail.
        return np.asarray(gammaincc(self.workers, np.maximum(self._drop(product), 0)))

    def quantile(self, probability: ArrayLike) -> Floats:
        """Return the value that the product is at most with this probability, 0 to 1."""
        chance = probabilities(probability, "probability")
        drop = gammainccinv(self.workers, chance)
        return np.asarray(np.exp(self.workers * math.log(self.high) - drop))

    @property
    def mean(self) -> float:
        """``(high / 2) ** workers``: exactly the one-layer mechanism's product."""
        return float((self.high / 2) ** self.workers)

    @property
    def below_one_layer(self) -> float:
        """Probability that the product is at most its mean, the one-layer mechanism's value.

        It does not depend on `high`; 0.5 for one worker, and nearly 1 for many.
        """
        # In logarithms (high / 2)**n lies n ln 2 below high**n.
        return float(gammaincc(self.workers, self.workers * math.log(2)))

    def _drop(self, product: ArrayLike) -> Floats:
        """Return ``ln(high**n / x)``; infinite where x is 0 or below."""
        value = np.maximum(np.asarray(product, dtype=np.float64), 0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.workers * math.log(self.high) - np.log(value))
