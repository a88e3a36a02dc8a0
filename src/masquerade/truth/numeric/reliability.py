"""Worker models: a variance for each worker, learnt with the crowd's; tails and biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, stdtrit

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.estimator import check_iteration, check_positive
from masquerade.truth.numeric.estimator import NumericEstimator, NumericSolution
from masquerade.truth.numeric.weighted_mean import ScaledClaims
from masquerade.truth.report_mechanisms import Masks

# Shapes of the inverse-gamma distribution that are tried: from uneven crowds to even ones.
_STRENGTHS = np.geomspace(0.25, 256, 31)
_STEP = 0.1  # of the logarithm of the crowd's variance, in its search
_SMALLEST = 1e-12  # a worker's variance, as a share of the largest
_LEAST_BIAS, _MOST_BIAS = 1e-6, 4.0  # of biases' variance, in variances of their workers
_DEVIATION = 1.4826  # standard deviation of a normal distribution, in median absolute deviations


@dataclass(eq=False, kw_only=True)
class Reliability(NumericEstimator):
    """Weight workers by their precision, shrunk to the crowd's as far as the crowd is even.

    A claim is normal around the truth with the worker's variance; workers' variances are
    inverse-gamma around the crowd's, and both parameters of that distribution are learnt from the
    claims (empirical Bayes). So in an even crowd all count alike, and in a crowd of a few experts
    and many vandals the experts decide, also where most workers are seen once.

    Parameters
    ----------
    sharpness : float
        Exponent of the precision in the weights, 0 (mean) to 1. Below 1 because errors on one task
        depend on one another, which makes precisions look more different than they are.
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    The variance of a residual is increased by what the estimate of the truth takes from it, so a
    worker who answers alone does not seem perfect. Values start at the medians.

    The interval takes errors of workers as independent: a bias that all share is outside it.

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> Reliability().fit(table).values_.round(1).tolist()
    [2.0, 4.4]
    """

    name: ClassVar[str] = "reliability"

    sharpness: float = 0.75
    tolerance: float = 1e-5
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        if not 0 <= self.sharpness <= 1:
            raise ParameterError(f"sharpness is {self.sharpness}, expected 0 to 1.")

    def solve(self, claims: Claims, mechanism: Masks) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        model = _Model(crowd, tail=math.inf, sharpness=self.sharpness, biased=False)
        return model.solution(self.tolerance, self.max_iterations, self.confidence)


@dataclass(eq=False, kw_only=True)
class HeavyTail(NumericEstimator):
    """Infer with Student errors, a variance and a bias for each worker.

    As `Reliability`, but the error of a claim has heavy tails, so that a gross mistake of a good
    worker costs little, and each worker may be off by a constant, which is taken out. Biases are
    shrunk to nothing as far as the crowd shows none.

    Parameters
    ----------
    tail : float
        Degrees of freedom of the errors, above 0; 1 is Cauchy, infinity normal.
    biased : bool
        Whether workers have biases.
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    The median bias, by claims, is zero: a bias that all share cannot be seen; how large it
    may be by chance is in the intervals. Where the answers to a task are skewed around the truth,
    the heavy tail follows the many and the mean would be nearer.

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> HeavyTail(biased=False).fit(table).values_.round(1).tolist()
    [2.0, 3.5]
    """

    name: ClassVar[str] = "heavy-tail"

    tail: float = 4.0
    biased: bool = True
    tolerance: float = 1e-5
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        if not self.tail > 0:
            raise ParameterError(f"tail is {self.tail}, expected above 0.")

    def solve(self, claims: Claims, mechanism: Masks) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        model = _Model(crowd, tail=self.tail, sharpness=1.0, biased=self.biased)
        return model.solution(self.tolerance, self.max_iterations, self.confidence)


@dataclass(eq=False, kw_only=True)
class GaussianTruth(NumericEstimator):
    """Infer normal truths from normal claims whose variance is the worker's.

    Claims are standardised within their task; a task's standardised truth is N(0, 1), a claim of a
    worker N(truth, variance of the worker), the variance inverse-gamma; by
    expectation-maximisation.

    Parameters
    ----------
    shape, scale : float
        Of the inverse-gamma prior of a worker's variance, above 0. Its mode is
        ``scale / (shape + 1)``.
    tolerance, max_iterations, confidence
        See `QualityWeighted`.

    Notes
    -----
    Zhao and Han, "A probabilistic model for estimating real-valued truth from conflicting sources",
    QDB 2012 (GTM). Where all claims on a task agree, its standard deviation is taken as 1.

    The interval is the posterior's, with Student's quantile for one claim less than the task has:
    standardised claims make it a share of the claims' own spread, which few claims tell badly (with
    the normal quantile, 90 % intervals of four claims a task hold 76 % of truths).

    **Cost**: each round linear in claims; memory linear in claims.

    Examples
    --------
    >>> table = {"task": [1, 1, 1, 2, 2, 2], "worker": ["x", "y", "z"] * 2,
    ...          "value": [1.0, 1.1, 4.0, 2.0, 2.2, 9.0]}
    >>> GaussianTruth().fit(table).values_.round(1).tolist()
    [2.0, 4.2]
    """

    name: ClassVar[str] = "gaussian-truth"

    shape: float = 10.0
    scale: float = 10.0
    tolerance: float = 1e-6
    max_iterations: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iteration(self.max_iterations, tolerance=self.tolerance)
        check_positive(shape=self.shape, scale=self.scale)

    def solve(self, claims: Claims, mechanism: Masks) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = np.sqrt(crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task)
        spread[spread == 0] = 1.0
        claim = (crowd.value - mean[crowd.task]) / spread[crowd.task]
        variance = np.ones(crowd.n_workers)
        truth, converged, iterations = np.zeros(len(mean)), False, 0
        while not converged and iterations < self.max_iterations:
            iterations += 1
            # E-step: the normal posterior of a standardised truth
            precision = 1 / variance[crowd.worker]
            # posterior variance of a truth that is N(0, 1) beforehand
            left = 1 / (1 + crowd.by_task(precision))
            earlier, truth = truth, left * crowd.by_task(precision * claim)
            # E[(claim - truth)**2]: distance from the mean, and what is not known of the truth
            squares = crowd.by_worker((claim - truth[crowd.task]) ** 2 + left[crowd.task])
            # M-step: the mode of each worker's inverse-gamma posterior
            variance = (2 * self.scale + squares) / (2 * (self.shape + 1) + crowd.of_worker)
            change = (np.abs(truth - earlier) * spread).max(initial=0.0)
            converged = iterations > 1 and bool(change < 2 * self.tolerance)
        error = spread * np.sqrt(left) if iterations else spread
        # A task's scale is learnt from its own claims.
        freedom = np.maximum(crowd.of_task - 1, 1)
        reach = stdtrit(freedom, (1 + self.confidence) / 2) * error
        intervals = crowd.on_claims_scale(mean + spread * truth, error, reach)
        active = crowd.of_worker > 0
        workers = {
            "standard_deviation": np.where(active, np.sqrt(variance), np.nan),
            "weight": np.where(active, 1 / variance, 0.0),
        }
        return NumericSolution(intervals, workers, converged, iterations)


class _Model:
    """The state of the iteration; values from -1 to 1.

    ``variance`` and ``bias`` are workers', ``strength`` and ``typical`` the inverse-gamma
    distribution that variances come from: shape, and mode's counterpart in the crowd.
    """

    def __init__(self, crowd: ScaledClaims, *, tail: float, sharpness: float, biased: bool) -> None:
        self.crowd, self.tail, self.sharpness, self.biased = crowd, tail, sharpness, biased
        self.value, self.uncertainty = crowd.median, np.zeros(len(crowd.tasks))
        self.bias, self.bias_variance = np.zeros(crowd.n_workers), np.zeros(crowd.n_workers)
        residual = np.abs(crowd.value - self.value[crowd.task])
        # Where most claims agree, the median of all distances would be 0.
        apart = residual[residual > 0]
        # A normal variance is about twice the squared median distance.
        self.typical = 2 * float(np.median(apart)) ** 2 if apart.size else 1.0
        self.place = int(np.abs(_STRENGTHS - 1).argmin())
        self.variance = np.full(crowd.n_workers, self.typical)
        self.bias_share = 0.1  # variance of biases, in variances of their workers
        self.shared = 0.0  # variance of the mean bias, which the values take on
        self.weight = np.zeros(len(crowd.value))

    def solution(self, tolerance: float, most: int, confidence: float) -> NumericSolution:
        converged, iterations = False, 0
        while not converged and iterations < most:
            iterations += 1
            earlier = self.value
            self._iterate()
            converged = bool(np.abs(self.value - earlier).max(initial=0.0) < 2 * tolerance)
        crowd, active = self.crowd, self.crowd.of_worker > 0
        unit = crowd.half_width
        workers = {
            "standard_deviation": np.where(active, np.sqrt(self.variance), np.nan) * unit,
            "weight": np.where(active, self.variance**-self.sharpness, 0.0),
        }
        if self.biased:
            workers["bias"] = np.where(active, self.bias, np.nan) * unit
        intervals = crowd.on_claims_scale(self.value, *self._error(confidence))
        return NumericSolution(intervals, workers, converged, iterations)

    def _iterate(self) -> None:
        """Update workers' variances and biases, then the values."""
        crowd = self.crowd
        off = crowd.value - self.value[crowd.task] - self.bias[crowd.worker]
        # E[(claim - truth - bias)**2]: without the second part, who answers alone seems perfect
        square = off**2 + self.uncertainty[crowd.task]
        damped = np.ones(len(off))
        if math.isfinite(self.tail):
            # E-step of Student errors as a scale mixture (Lange, Little and Taylor, 1989)
            damped = (self.tail + 1) / (self.tail + square / self.variance[crowd.worker])
        self._variances(crowd.by_worker(damped * square))
        weight = damped * self.variance[crowd.worker] ** -self.sharpness
        if self.biased:
            self._biases(weight)
        total = crowd.by_task(weight)
        shifted = crowd.value - self.bias[crowd.worker]
        # M-step of truths: weighted means of claims without their workers' biases
        self.value = crowd.by_task(weight * shifted) / total
        share = weight / total[crowd.task]
        # variance of a weighted mean of independent errors
        self.uncertainty = crowd.by_task(share**2 * self.variance[crowd.worker])
        self.weight = weight

    def _variances(self, squares: Floats) -> None:
        """Learn the crowd's distribution by a step of its likelihood, then every worker's mean."""
        half = self.crowd.of_worker / 2
        active = half > 0
        half, squares = half[active], squares[active] / 2

        def likelihood(place: int, typical: float) -> float:
            a, b = _STRENGTHS[place], _STRENGTHS[place] * typical
            # marginal likelihood of squares under an inverse-gamma variance
            terms = gammaln(half + a) - gammaln(a) - (half + a) * np.log(b + squares)
            return float(terms.sum() + len(half) * a * math.log(b))

        # One step a round, to the best of nine likelihoods; the next round goes on from there.
        nearby = (self.place, self.place - 1, self.place + 1)
        places = [p for p in nearby if 0 <= p < len(_STRENGTHS)]
        steps = [(p, self.typical * math.exp(step)) for p in places for step in (0, -_STEP, _STEP)]
        if squares.size and squares.max() > 0:
            self.place, self.typical = max(steps, key=lambda pair: likelihood(*pair))
        a = _STRENGTHS[self.place]
        self.variance = np.full(self.crowd.n_workers, self.typical)
        # 1 / E[precision], of the inverse-gamma posterior with shape a + n / 2
        self.variance[active] = (a * self.typical + squares) / (a + half)
        # Who is at the values by chance must not own the result.
        self.variance = np.maximum(self.variance, _SMALLEST * self.variance.max())

    def _biases(self, weight: Floats) -> None:
        """Learn every worker's bias, shrunk as far as the crowd shows none."""
        crowd = self.crowd
        total = crowd.by_worker(weight)
        pull = crowd.by_worker(weight * (crowd.value - self.value[crowd.task]))
        # E-step of biases: normal around 0, with precisions that add up
        prior = 1 / (self.bias_share * self.variance)
        self.bias_variance = 1 / (total + prior)
        bias = pull * self.bias_variance
        count = crowd.of_worker
        # The median, by claims: a mean would follow the few who are far off.
        middle = _weighted_median(bias, count)
        self.bias = bias - middle
        part = count / max(count.sum(), 1.0)
        typical = _DEVIATION * _weighted_median(np.abs(self.bias), count)
        # The variance of a median is pi / 2 times that of the mean of normal biases.
        self.shared = float(np.pi / 2 * typical**2 * (part**2).sum())
        shares = (self.bias**2 + self.bias_variance) / self.variance
        spread = float((shares * (count > 0)).sum() / max((count > 0).sum(), 1))
        self.bias_share = min(max(spread, _LEAST_BIAS), _MOST_BIAS)

    def _error(self, confidence: float) -> tuple[Floats, Floats]:
        """Return each value's standard error and how far its interval reaches."""
        crowd = self.crowd
        weight = self.variance[crowd.worker] ** -self.sharpness
        share = weight / crowd.by_task(weight)[crowd.task]
        # Asymptotic variance of a Student location, in squared scales: (nu + 3) / (nu + 1).
        tail = (self.tail + 3) / (self.tail + 1) if math.isfinite(self.tail) else 1.0
        part = share**2 * self.variance[crowd.worker] * tail
        if self.biased:
            part += share**2 * self.bias_variance[crowd.worker]
        squared = crowd.by_task(part) + self.shared
        # degrees of freedom of a worker's variance: twice the posterior's shape
        known = 2 * _STRENGTHS[self.place] + crowd.of_worker[crowd.worker]
        spread = crowd.by_task(part**2 / known)  # degrees of freedom by Satterthwaite
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(spread > 0, squared**2 / spread, np.inf)
        reach = stdtrit(np.clip(degrees, 1.0, 1e6), (1 + confidence) / 2)
        return np.sqrt(squared), reach * np.sqrt(squared)


def _weighted_median(values: Floats, weight: Floats) -> float:
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(cumulative, cumulative[-1] / 2)])
