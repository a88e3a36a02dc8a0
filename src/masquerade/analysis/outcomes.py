"""Models of an outcome: the probability of its report, and its derivatives, by linear predictors.

A report of an outcome enters as its likelihood under each answer, ``l[person, answer]``: a column
of a channel, one-hot where the outcome is in clear, all ones where nothing was reported.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from masquerade.exact.arrays import Floats

_MARGIN_STEPS = 20
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, slots=True)
class Density:
    """Likelihoods of reports given the cell, and derivatives in the linear predictors.

    Attributes
    ----------
    value : float array, shape (people, cells)
    first : float array, shape (predictors, people, cells)
    second : float array, shape (predictors, predictors, people, cells); empty if not asked for
    shift : float array, shape (people,)
        Logarithm of a factor that was taken out of each row.
    """

    value: Floats
    first: Floats
    second: Floats
    shift: Floats | float = 0.0


class Outcome(ABC):
    """A model of an outcome."""

    name: ClassVar[str]
    #: Whether slopes are log-odds, on which half a person can be put.
    log_odds: ClassVar[bool] = True
    #: Name of a last predictor that has a constant alone; None where there is none.
    extra: ClassVar[str | None] = None

    #: Number of answers; 1 where the outcome is a number.
    answers: int

    @property
    @abstractmethod
    def predictors(self) -> int:
        """Number of linear predictors."""

    @abstractmethod
    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return likelihoods of reports; `eta` has shape (predictors, people, cells)."""

    @abstractmethod
    def probabilities(self, eta: Floats) -> Floats:
        """Return P(answer), shape (answers, people, cells); the mean where it is a number."""

    @abstractmethod
    def information(self, eta: Floats) -> Floats:
        """Return the information on the predictors of an answer that is seen in clear."""

    def unit(self, seen: Floats, weight: Floats) -> float:
        """Return the size of a step of 1 in scaled units: of log-odds, 1."""
        del seen, weight
        return 1.0

    def basis(self, columns: int, slopes: int) -> Floats:
        """Return the matrix from parameters to the coefficients of all predictors.

        Of each predictor, coefficients are those of `columns` clear columns, the constant first,
        and of `slopes` codes of masked predictors.
        """
        return np.eye(self.predictors * (columns + slopes))

    def starts(self, seen: Floats, weight: Floats) -> Floats:
        """Return the first predictors' constants, by the outcome alone."""
        return self._constants(margins(seen, weight))

    def _constants(self, shares: Floats) -> Floats:
        raise NotImplementedError


def margins(seen: Floats, weight: Floats) -> Floats:
    """Return shares of answers by some steps of expectation and maximisation."""
    shares = np.full(seen.shape[1], 1 / seen.shape[1])
    for _ in range(_MARGIN_STEPS):
        joint = seen * shares
        shares = weight @ (joint / joint.sum(axis=1, keepdims=True)) / weight.sum()
    shares = np.maximum(shares, _LEAST_SHARE)
    floored: Floats = shares / shares.sum()
    return floored


@dataclass(frozen=True)
class Multinomial(Outcome):
    """One of several answers; log-odds of each against the first."""

    answers: int
    name: ClassVar[str] = "multinomial"

    @property
    def predictors(self) -> int:
        """One less than there are answers."""
        return self.answers - 1

    def probabilities(self, eta: Floats) -> Floats:
        """Return P(answer)."""
        all_eta = np.concatenate([np.zeros((1, *eta.shape[1:])), eta])
        all_eta -= all_eta.max(axis=0)
        np.exp(all_eta, out=all_eta)
        all_eta /= all_eta.sum(axis=0)
        return all_eta

    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return q = sum of l_j p_j; q_a = p_a (l_a - q)."""
        p = self.probabilities(eta)
        like = seen.T[:, :, None]
        q = (like * p).sum(axis=0)
        first = p[1:] * (like[1:] - q)
        if not second:
            return Density(q, first, np.empty(0))
        m = self.predictors
        # q_ab = [a = b] q_a - p_a p_b (l_a + l_b - 2 q)
        hess = np.empty((m, m, *q.shape))
        for a in range(m):
            for b in range(a, m):
                hess[a, b] = -p[a + 1] * p[b + 1] * (like[a + 1] + like[b + 1] - 2 * q)
                hess[b, a] = hess[a, b]
            hess[a, a] += first[a]
        return Density(q, first, hess)

    def information(self, eta: Floats) -> Floats:
        """Return diag(p) - p p'."""
        p = self.probabilities(eta)[1:]
        out = -p[:, None] * p[None]
        for a in range(len(p)):
            out[a, a] += p[a]
        return out

    def _constants(self, shares: Floats) -> Floats:
        logs: Floats = np.log(shares[1:] / shares[0])
        return logs


@dataclass(frozen=True)
class Logistic(Multinomial):
    """Yes or no; the log-odds of yes."""

    answers: int = 2
    name: ClassVar[str] = "logistic"

    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return q = l0 + (l1 - l0) p; q' = (l1 - l0) p (1 - p); q'' = q' (1 - 2 p)."""
        p = expit(eta[0])
        step = (seen[:, 1] - seen[:, 0])[:, None]
        q = seen[:, :1] + step * p
        first = step * p * (1 - p)
        hess = (first * (1 - 2 * p))[None, None] if second else np.empty(0)
        return Density(q, first[None], hess)


@dataclass(frozen=True)
class Ordered(Outcome):
    """Ordered answers; the log-odds of an answer up to each cut (cumulative logit)."""

    answers: int
    name: ClassVar[str] = "ordered"

    @property
    def predictors(self) -> int:
        """The cuts: one less than there are answers."""
        return self.answers - 1

    def basis(self, columns: int, slopes: int) -> Floats:
        """Predictors are cuts less one sum of slopes: eta_j = tau_j - u.beta."""
        width, m = columns + slopes, self.predictors
        out = np.zeros((m * width, m + width - 1))
        for j in range(m):
            out[j * width, j] = 1
            out[j * width + 1 : (j + 1) * width, m:] = -np.eye(width - 1)
        return out

    def probabilities(self, eta: Floats) -> Floats:
        """Return the differences of cumulative probabilities."""
        up_to = expit(eta)
        one = np.ones((1, *eta.shape[1:]))
        differences: Floats = np.diff(np.concatenate([0 * one, up_to, one]), axis=0)
        return differences

    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return q = l_last + sum of F_j (l_j - l_j+1); q_j and q_jj alone are not 0."""
        up_to = expit(eta)
        steps = (seen[:, :-1] - seen[:, 1:]).T[:, :, None]
        q = seen[:, -1:] + (up_to * steps).sum(axis=0)
        if self.predictors > 1 and bool((np.diff(eta, axis=0) <= 0).any()):
            q = np.full_like(q, -1.0)  # cuts that cross are no model: the likelihood says so
        first = up_to * (1 - up_to) * steps
        if not second:
            return Density(q, first, np.empty(0))
        m = self.predictors
        hess = np.zeros((m, m, *q.shape))
        for j in range(m):
            hess[j, j] = first[j] * (1 - 2 * up_to[j])
        return Density(q, first, hess)

    def information(self, eta: Floats) -> Floats:
        """Return the sum over answers of the products of slopes over P(answer)."""
        up_to = expit(eta)
        slope = up_to * (1 - up_to)
        p = np.maximum(self.probabilities(eta), 1e-12)
        m = self.predictors
        out = np.zeros((m, m, *eta.shape[1:]))
        for j in range(m):
            out[j, j] = slope[j] ** 2 * (1 / p[j] + 1 / p[j + 1])
            if j + 1 < m:
                out[j, j + 1] = out[j + 1, j] = -slope[j] * slope[j + 1] / p[j + 1]
        return out

    def _constants(self, shares: Floats) -> Floats:
        up_to = np.cumsum(shares)[:-1]
        logs: Floats = np.log(up_to / (1 - up_to))
        return logs


@dataclass(frozen=True)
class Linear(Outcome):
    """A number in clear, with normal errors; its second predictor is log sigma."""

    answers: int = 1
    name: ClassVar[str] = "linear"
    log_odds: ClassVar[bool] = False
    extra: ClassVar[str | None] = "log(sigma)"

    @property
    def predictors(self) -> int:
        """The mean, and the logarithm of sigma."""
        return 2

    def unit(self, seen: Floats, weight: Floats) -> float:
        """Return the standard deviation: the unit of the numbers then changes no test."""
        return math.exp(float(self.starts(seen, weight)[1]))

    def basis(self, columns: int, slopes: int) -> Floats:
        """Sigma has a constant alone."""
        width = columns + slopes
        return np.eye(2 * width)[:, : width + 1]

    def probabilities(self, eta: Floats) -> Floats:
        """Return the mean."""
        return eta[:1]

    def density(self, eta: Floats, seen: Floats, *, second: bool) -> Density:
        """Return the normal density, each row times exp(-shift)."""
        mean, log_sigma = eta
        precision = np.exp(-log_sigma)
        e = (seen - mean) * precision  # in sigmas
        log_q = -0.5 * e * e - log_sigma - 0.5 * math.log(2 * math.pi)
        shift = log_q.max(axis=1)
        q = np.exp(log_q - shift[:, None])
        first = np.stack([q * e * precision, q * (e * e - 1)])
        if not second:
            return Density(q, first, np.empty(0), shift)
        hess = np.empty((2, 2, *q.shape))
        hess[0, 0] = q * (e * e - 1) * precision**2
        hess[0, 1] = hess[1, 0] = q * e * precision * (e * e - 3)
        hess[1, 1] = q * ((e * e - 1) ** 2 - 2 * e * e)
        return Density(q, first, hess, shift)

    def information(self, eta: Floats) -> Floats:
        """Return 1 / sigma**2 and 2."""
        out = np.zeros((2, 2, *eta.shape[1:]))
        out[0, 0], out[1, 1] = np.exp(-2 * eta[1]), 2.0
        return out

    def starts(self, seen: Floats, weight: Floats) -> Floats:
        """Return mean and log standard deviation."""
        mean = float(weight @ seen[:, 0] / weight.sum())
        spread = float(weight @ (seen[:, 0] - mean) ** 2 / weight.sum())
        return np.array([mean, 0.5 * math.log(max(spread, 1e-12))])


def outcome_named(name: str, answers: int) -> Outcome:
    """Return the model of a name for so many answers."""
    made: dict[str, Outcome] = {
        "logistic": Logistic(),
        "multinomial": Multinomial(answers),
        "ordered": Ordered(answers),
        "linear": Linear(),
    }
    return made[name]
