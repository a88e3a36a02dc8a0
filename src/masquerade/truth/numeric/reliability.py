"""Worker models: a variance for each worker, learnt with the crowd's; tails and biases."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, stdtrit

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.truth.estimator import check_iteration, check_positive
from masquerade.truth.numeric.catd import ScaledClaims
from masquerade.truth.numeric.estimator import (
    AfterRound,
    NumericEstimator,
    NumericSolution,
    median_of,
    no_round,
)
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
        As of `CATD`: the tolerance is a share of the range of all claims.

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

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        model = _Model(crowd, tail=math.inf, sharpness=self.sharpness, biased=False)
        return model.solution(self.tolerance, self.max_iterations, self.confidence, after_round)


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
        As of `CATD`: the tolerance is a share of the range of all claims.

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

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        model = _Model(crowd, tail=self.tail, sharpness=1.0, biased=self.biased)
        return model.solution(self.tolerance, self.max_iterations, self.confidence, after_round)


@dataclass(eq=False, kw_only=True)
class GaussianTruth(NumericEstimator):
    """Infer normal truths from normal claims with a variance for each worker.

    Claims are standardised within their task; a task's standardised truth is N(0, 1), a claim of a
    worker N(truth, variance of the worker), the variance inverse-gamma; by
    expectation-maximisation.

    Parameters
    ----------
    shape, scale : float
        Of the inverse-gamma prior of a worker's variance, above 0. Its mode is
        ``scale / (shape + 1)``.
    tolerance, max_iterations, confidence
        As of `CATD`: the tolerance is a share of the range of all claims.

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

    def solve(
        self, claims: Claims, mechanism: Masks, after_round: AfterRound = no_round
    ) -> NumericSolution:
        """Return values and intervals; see `NumericEstimator.solve`."""
        crowd = ScaledClaims.of(claims)
        mean = crowd.by_task(crowd.value) / crowd.of_task
        spread = np.sqrt(crowd.by_task((crowd.value - mean[crowd.task]) ** 2) / crowd.of_task)
        spread[spread == 0] = 1.0
        claim = (crowd.value - mean[crowd.task]) / spread[crowd.task]

        def advanced(state: _NormalRound) -> _NormalRound:
            # E-step: the normal posterior of a standardised truth
            precision = 1 / state.variance[crowd.worker]
            # posterior variance of a truth that is N(0, 1) beforehand
            left = 1 / (1 + crowd.by_task(precision))
            truth = left * crowd.by_task(precision * claim)
            # E[(claim - truth)**2]: distance from the mean, and what is not known of the truth
            squares = crowd.by_worker((claim - truth[crowd.task]) ** 2 + left[crowd.task])
            change = (np.abs(truth - state.truth) * spread).max(initial=0.0)
            # M-step: the mode of each worker's inverse-gamma posterior
            variance = (2 * self.scale + squares) / (2 * (self.shape + 1) + crowd.of_worker)
            rounds = state.rounds + 1
            converged = rounds > 1 and bool(change < 2 * self.tolerance)
            return _NormalRound(variance, truth, left, converged, rounds)

        nothing = np.zeros(len(mean))
        last = _NormalRound(np.ones(crowd.n_workers), nothing, nothing)
        while not last.converged and last.rounds < self.max_iterations:
            last = advanced(last)
            after_round()
        error = spread * np.sqrt(last.left)
        # A task's scale is learnt from its own claims.
        freedom = np.maximum(crowd.of_task - 1, 1)
        reach = stdtrit(freedom, (1 + self.confidence) / 2) * error
        intervals = crowd.on_claims_scale(mean + spread * last.truth, error, reach)
        active = crowd.of_worker > 0
        workers = {
            "standard_deviation": np.where(active, np.sqrt(last.variance), np.nan),
            "weight": np.where(active, 1 / last.variance, 0.0),
        }
        return NumericSolution(intervals, workers, last.converged, last.rounds)


@dataclass(frozen=True, slots=True, eq=False)
class _NormalRound:
    """The state of `GaussianTruth` after a round."""

    variance: Floats  # float array, shape (n_workers,)
    # truth, left: float array, shape (n_answered,). Standardised truths, and their variances.
    truth: Floats
    left: Floats
    converged: bool = False
    rounds: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """The state of `_Model` after a round; values from -1 to 1."""

    # value, uncertainty: float array, shape (n_answered,). Values of tasks, and their variances.
    value: Floats
    uncertainty: Floats
    # bias, bias_variance, variance: float array, shape (n_workers,)
    bias: Floats
    bias_variance: Floats
    variance: Floats
    # Of the inverse-gamma distribution that variances come from: place of the shape among those
    # that are tried, and mode's counterpart in the crowd.
    place: int
    typical: float
    bias_share: float = 0.1  # variance of biases, in variances of their workers
    shared: float = 0.0  # variance of the mean bias, which the values take on
    change: float = np.inf  # largest of the values in the round
    converged: bool = False
    rounds: int = 0


class _Model:
    """Workers with variances, and biases where `biased`; errors have a tail."""

    def __init__(self, crowd: ScaledClaims, *, tail: float, sharpness: float, biased: bool) -> None:
        self.crowd, self.tail, self.sharpness, self.biased = crowd, tail, sharpness, biased

    def solution(
        self, tolerance: float, most: int, confidence: float, after_round: AfterRound
    ) -> NumericSolution:
        last = self._start()
        while not last.converged and last.rounds < most:
            last = self._next(last)
            last = replace(last, converged=last.change < 2 * tolerance)
            after_round()
        crowd, active = self.crowd, self.crowd.of_worker > 0
        unit = crowd.half_width
        workers = {
            "standard_deviation": np.where(active, np.sqrt(last.variance), np.nan) * unit,
            "weight": np.where(active, last.variance**-self.sharpness, 0.0),
        }
        if self.biased:
            workers["bias"] = np.where(active, last.bias, np.nan) * unit
        intervals = crowd.on_claims_scale(last.value, *self._error(last, confidence))
        return NumericSolution(intervals, workers, last.converged, last.rounds)

    def _start(self) -> _Round:
        crowd = self.crowd
        residual = np.abs(crowd.value - crowd.median[crowd.task])
        # Where most claims agree, the median of all distances would be 0.
        apart = median_of(residual[residual > 0])
        # A normal variance is about twice the squared median distance.
        typical = 1.0 if np.isnan(apart) else 2 * apart**2
        nothing = np.zeros(crowd.n_workers)
        return _Round(
            crowd.median,
            np.zeros(len(crowd.tasks)),
            nothing,
            nothing,
            np.full(crowd.n_workers, typical),
            int(np.abs(_STRENGTHS - 1).argmin()),
            typical,
        )

    def _next(self, state: _Round) -> _Round:
        """Update workers' variances and biases, then the values."""
        crowd = self.crowd
        off = crowd.value - state.value[crowd.task] - state.bias[crowd.worker]
        # E[(claim - truth - bias)**2]: without the second part, who answers alone seems perfect
        square = off**2 + state.uncertainty[crowd.task]
        damped = np.ones(len(off))
        if math.isfinite(self.tail):
            # E-step of Student errors as a scale mixture (Lange, Little and Taylor, 1989)
            damped = (self.tail + 1) / (self.tail + square / state.variance[crowd.worker])
        state = self._variances(state, crowd.by_worker(damped * square))
        weight = damped * state.variance[crowd.worker] ** -self.sharpness
        if self.biased:
            pull = crowd.by_worker(weight * (crowd.value - state.value[crowd.task]))
            state = self._biases(state, crowd.by_worker(weight), pull)
        total = crowd.by_task(weight)
        shifted = crowd.value - state.bias[crowd.worker]
        # M-step of truths: weighted means of claims without their workers' biases
        value = crowd.by_task(weight * shifted) / total
        share = weight / total[crowd.task]
        return replace(
            state,
            value=value,
            # variance of a weighted mean of independent errors
            uncertainty=crowd.by_task(share**2 * state.variance[crowd.worker]),
            change=float(np.abs(value - state.value).max(initial=0.0)),
            rounds=state.rounds + 1,
        )

    def _variances(self, state: _Round, squares: Floats) -> _Round:
        """Learn the crowd's distribution by a step of its likelihood, then every worker's mean."""
        half = self.crowd.of_worker / 2
        active = half > 0
        half, squares = half[active], squares[active] / 2

        # One step a round, to the best of nine likelihoods; the next round goes on from there.
        place, typical = state.place, state.typical
        if squares.size and squares.max() > 0:
            nearby = (place, place - 1, place + 1)
            places = [p for p in nearby if 0 <= p < len(_STRENGTHS)]
            steps = [(p, typical * math.exp(step)) for p in places for step in (0, -_STEP, _STEP)]
            place, typical = steps[int(_likelihoods(half, squares, steps).argmax())]
        a = _STRENGTHS[place]
        variance = np.full(self.crowd.n_workers, typical)
        # 1 / E[precision], of the inverse-gamma posterior with shape a + n / 2
        variance[active] = (a * typical + squares) / (a + half)
        # Who is at the values by chance must not own the result.
        variance = np.maximum(variance, _SMALLEST * variance.max())
        return replace(state, place=place, typical=typical, variance=variance)

    def _biases(self, state: _Round, total: Floats, pull: Floats) -> _Round:
        """Learn every worker's bias, shrunk as far as the crowd shows none."""
        # E-step of biases: normal around 0, with precisions that add up
        prior = 1 / (state.bias_share * state.variance)
        bias_variance = 1 / (total + prior)
        bias = pull * bias_variance
        count = self.crowd.of_worker
        # The median, by claims: a mean would follow the few who are far off.
        bias = bias - _weighted_median(bias, count)
        part = count / np.maximum(count.sum(), 1.0)
        typical = _DEVIATION * _weighted_median(np.abs(bias), count)
        shares = (bias**2 + bias_variance) / state.variance
        spread = float((shares * (count > 0)).sum() / max(int((count > 0).sum()), 1))
        return replace(
            state,
            bias=bias,
            bias_variance=bias_variance,
            # The variance of a median is pi / 2 times that of the mean of normal biases.
            shared=float(np.pi / 2 * typical**2 * (part**2).sum()),
            bias_share=min(max(spread, _LEAST_BIAS), _MOST_BIAS),
        )

    def _error(self, state: _Round, confidence: float) -> tuple[Floats, Floats]:
        """Return each value's standard error and how far its interval reaches."""
        crowd = self.crowd
        weight = state.variance[crowd.worker] ** -self.sharpness
        share = weight / crowd.by_task(weight)[crowd.task]
        # Asymptotic variance of a Student location, in squared scales: (nu + 3) / (nu + 1).
        tail = (self.tail + 3) / (self.tail + 1) if math.isfinite(self.tail) else 1.0
        part = share**2 * state.variance[crowd.worker] * tail
        if self.biased:
            part += share**2 * state.bias_variance[crowd.worker]
        squared = crowd.by_task(part) + state.shared
        # degrees of freedom of a worker's variance: twice the posterior's shape
        known = 2 * _STRENGTHS[state.place] + crowd.of_worker[crowd.worker]
        spread = crowd.by_task(part**2 / known)  # degrees of freedom by Satterthwaite
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(spread > 0, squared**2 / spread, np.inf)
        reach = stdtrit(np.clip(degrees, 1.0, 1e6), (1 + confidence) / 2)
        return np.sqrt(squared), reach * np.sqrt(squared)


def _likelihoods(half: Floats, squares: Floats, steps: list[tuple[int, float]]) -> Floats:
    """Return the marginal log likelihoods of squares under inverse-gamma variances.

    Of ``(place of the shape, typical variance)``, three of the same shape after one another.
    """
    a = np.array([_STRENGTHS[place] for place, _ in steps[::3]])[:, None]
    b = np.array([_STRENGTHS[place] * typical for place, typical in steps]).reshape(-1, 3, 1)
    terms = (gammaln(half + a) - gammaln(a))[:, None] - (half + a)[:, None] * np.log(b + squares)
    return np.asarray((terms.sum(axis=2) + len(half) * a * np.log(b[..., 0])).ravel())


def _weighted_median(values: Floats, weight: Floats) -> float:
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(cumulative, cumulative[-1] / 2)])
