"""The functional mechanism: noise in the coefficients of the likelihood instead of the weights.

Algorithm 3 of Wang et al. (2019), their RLDP, and two better ways to use the same noise.

Around indifference ``ln Phi(z) = ln(1/2) + sqrt(2/pi) z - z**2 / pi``, so a voter's log-likelihood
is a quadratic ``l . b - b . M b`` in the weights b, with ``l = sqrt(2/pi) sum of V`` and
``M = sum of V V^T / pi`` over directions V. Its coefficients are what the functional mechanism
masks: d linear ones, d squares, and one cross term ``2 M_kl`` for each pair of features.

Here both parts are multiplied by ``pi UNIT**2`` and the factor of the linear part is a whole
number, so all coefficients are whole numbers and their sensitivity is exact.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import NumberLike, finite, one_of, positive
from masquerade.preference.composition import Composition, Estimate, Reports, Sensitivity, Unit
from masquerade.preference.directions import UNIT, sums_by_voter, whole_directions
from masquerade.preference.l1_ball import project
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import register
from masquerade.preference.other_voters import (
    explained_share,
    reports_show_spread,
    spread_of_reports,
)
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import Aggregator, Device
from masquerade.preference.vector_noise import LAPLACE

SensitivityRule = Literal["tight", "published"]

#: The ridge is this many standard deviations of the noise in a coefficient.
RIDGE_DEVIATIONS = 4

LINEAR_FACTOR = round(math.sqrt(2 * math.pi) * UNIT)
_STEPS_PER_COEFFICIENT = math.pi * UNIT**2
_DIGITS = 60  # of the decimals in which the sensitivity is computed
_HALVINGS = 150  # of the interval that holds the cosine
_TRIM = 4  # directions below one part in so many of the ridge are dropped


def coefficients(features: int) -> int:
    """Return how many coefficients there are."""
    return features + features * (features + 1) // 2


def coefficient_rows(directions: Integers, offsets: NDArray[np.int64]) -> Integers:
    """Return each voter's coefficients in steps: linear ones, squares, cross terms (k < l).

    Shapes: `directions` (n_records, n_features), `offsets` (n_voters + 1,), the result (n_voters,
    coefficients(n_features)).
    """
    d = directions.shape[1]
    # Monomials of l . b - b . M b, times pi UNIT**2: sqrt(2 pi) UNIT V_k; V_k**2; 2 V_k V_l.
    parts = [
        LINEAR_FACTOR * sums_by_voter(directions, offsets),
        sums_by_voter(directions**2, offsets),
    ]
    parts += [
        2 * sums_by_voter(directions[:, k + 1 :] * directions[:, k : k + 1], offsets)
        for k in range(d - 1)
    ]
    return np.concatenate(parts, axis=1)


def linear_and_matrix(rows: Floats, features: int) -> tuple[Floats, Floats]:
    """Return l, shape (n, d), and symmetric M, shape (n, d, d), from rows in steps."""
    d = features
    linear = rows[:, :d] * (math.sqrt(2 / math.pi) / (LINEAR_FACTOR * UNIT))
    scaled = rows[:, d:] / _STEPS_PER_COEFFICIENT
    matrix = np.zeros((len(rows), d, d))
    matrix[:, np.arange(d), np.arange(d)] = scaled[:, :d]
    # A cross coefficient is 2 M_kl: half of it, and of its noise, to each of M_kl and M_lk.
    upper = np.triu_indices(d, 1)
    matrix[:, upper[0], upper[1]] = matrix[:, upper[1], upper[0]] = scaled[:, d:] / 2
    return linear, matrix


def in_coefficients(steps: Floats) -> Floats:
    """Return sizes in steps as sizes in the coefficients' own unit."""
    return steps / _STEPS_PER_COEFFICIENT


@lru_cache(maxsize=64)
def quadratic_sensitivity(features: int, rule: SensitivityRule) -> Sensitivity:
    """Return how far a voter's coefficients move when one record is replaced.

    `rule`: ``"published"``: ``2 (sqrt(2 d / pi) + d / pi)`` of Wang et al. (2019), section 4.3.
    Valid, but it adds the largest moves of both parts, which cannot happen together. ``"tight"``:
    the largest of ``sqrt(2 d / pi) sqrt(2 - 2 c) + (d / pi) sqrt(2 - 2 c**2)`` over -1 <= c <= 1,
    about a quarter less.

    Notes
    -----
    *Tight is proven.* Let two directions have lengths a, b <= 1 and inner product a b c. The parts
    move, in the L1 norm, at most ``sqrt(d)`` and d times as far as in the L2 norm, where the
    squares of the moves are ``a**2 + b**2 - 2 a b c`` and ``a**4 + b**4 - 2 (a b c)**2``. Let b be
    the longer; dividing both directions by b shrinks neither move, so b = 1. Then with c' = a c
    both squares are at most ``2 - 2 c'`` and ``2 - 2 c'**2``, those of two directions of length 1.
    What remains is a maximum over one number of a sum of two concave functions, found to 60 digits
    and rounded up with the slope that is left.
    """
    one_of(rule, "sensitivity", ("tight", "published"))
    absolute = math.isqrt(features * UNIT**2)  # of one direction: Cauchy and Schwarz
    published = 2 * LINEAR_FACTOR * absolute + 2 * absolute**2
    # The Euclidean move is at most the absolute one.
    size = published if rule == "published" else min(_tight(features), published)
    return Sensitivity(absolute=size, euclidean=size)


def _tight(features: int) -> int:
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        d, unit = decimal.Decimal(features), decimal.Decimal(UNIT)
        # Moves of the linear and of the quadratic part, in steps, for directions at cosine c.
        first = LINEAR_FACTOR * d.sqrt() * unit
        second = d * unit**2

        def value(c: decimal.Decimal) -> decimal.Decimal:
            return first * (2 - 2 * c).sqrt() + second * (2 - 2 * c * c).sqrt()

        def slope(c: decimal.Decimal) -> decimal.Decimal:
            return -first / (2 - 2 * c).sqrt() - 2 * second * c / (2 - 2 * c * c).sqrt()

        low, high = decimal.Decimal(-1), decimal.Decimal(0)  # the slope falls from +inf to below 0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if slope(middle) > 0:
                low = middle
            else:
                high = middle
        # A concave function is below each of its tangents; c is at most 2 away.
        bound = value(high) + 2 * abs(slope(high))
        return int((bound * (1 + decimal.Decimal(10) ** -40)).to_integral_value("ROUND_CEILING"))


def maximise(linear: Floats, matrix: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Return where noisy quadratics are largest, regularised and trimmed; costs no privacy.

    With noise the matrix is mostly indefinite, and there is no largest value. `ridge` is added to
    the diagonal, and directions in which the matrix then is not above a quarter of it are dropped:
    a direction that is kept at hardly more than 0 would put its noise, many times enlarged, into
    the weights.

    Shapes: `linear` (n, d), `matrix` (n, d, d), `ridge` (n,), `weights` (n, d). `inverse` (n, d,
    d): the pseudo-inverses of the matrices that were used.
    """
    d = linear.shape[1]
    # b = (M + ridge I)^-1 l / 2, over the eigendirections that bend enough (specification, 5.3).
    values, axes = np.linalg.eigh(matrix + ridge[:, None, None] * np.eye(d))
    bent = values > np.maximum(ridge / _TRIM, 1e-9)[:, None]
    inverted = np.where(bent, 1 / np.where(bent, values, 1), 0)
    inverse = np.matmul(axes * inverted[:, None, :], axes.transpose(0, 2, 1))
    return 0.5 * np.matmul(inverse, linear[:, :, None])[:, :, 0], inverse


def noise_covariance(weights: Floats, inverse: Floats, variance: Floats) -> Floats:
    """Return, to first order, the covariance of each row of weights from noise in coefficients.

    Shapes: the result (n, d, d). `weights`, `inverse`: as `maximise` returns them. `variance` (n,):
    of the noise in each coefficient; a cross term's is split over two entries of the matrix.
    """
    d = weights.shape[1]
    # db = M^-1 (dl / 2 - dM b). With variance v in each coefficient, a cross term's noise halved
    # over two entries, dl / 2 - dM b has covariance v (b b' / 4 + diag(1 + |b|**2 + 2 b**2) / 4).
    squares = weights**2
    middle = 0.25 * weights[:, :, None] * weights[:, None, :]
    middle[:, np.arange(d), np.arange(d)] += (
        0.25 + 0.25 * squares.sum(axis=1, keepdims=True) + 0.5 * squares
    )
    covariance: Floats = variance[:, None, None] * np.matmul(np.matmul(inverse, middle), inverse)
    return covariance


@dataclass(frozen=True, slots=True)
class QuadraticSum:
    """The coefficients of each voter's likelihood to second order.

    `sensitivity_rule`: see `quadratic_sensitivity`. `bound`: projects maxima to this L1 ball.
    `one_maximum`: whether the weighted sum of the voters' quadratics is maximised once. Otherwise
    each one is maximised by itself, and the result is the weighted mean of the maxima.
    `same_shrinkage`: whether maxima are brought to the same shrinkage before they are averaged, for
    the ridge of a small epsilon shrinks more.
    """

    sensitivity_rule: SensitivityRule = "tight"
    bound: NumberLike | None = None
    one_maximum: bool = True
    same_shrinkage: bool = False

    units: ClassVar[tuple[Unit, ...]] = ("record",)
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        quadratic_sensitivity(1, self.sensitivity_rule)
        if self.bound is not None:
            object.__setattr__(self, "bound", positive(self.bound, "bound"))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's coefficients in steps; see `coefficient_rows`."""
        return coefficient_rows(whole_directions(records.scaled()), records.offsets)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far a voter's coefficients move when one record is replaced."""
        return quadratic_sensitivity(features, self.sensitivity_rule)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters, of coefficients over their number."""
        count = np.maximum(records, 1)
        return np.full(len(count), 1 / features), in_coefficients(np.sqrt(variance)) ** 2 / count

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the maximum of the sum, or the mean of the maxima."""
        return self._maximum_of_sum(reports) if self.one_maximum else self._mean_of_maxima(reports)

    def _maximum_of_sum(self, reports: Reports) -> Estimate:
        # The noise stated is that from before the projection.
        linear, matrix = linear_and_matrix(reports.total[None], reports.features)
        # The noise in a mean of N voters is sqrt(N) times smaller than in one, and so is the ridge.
        deviation = in_coefficients(np.sqrt([reports.total_variance]))
        maximum, inverse = maximise(linear, matrix, RIDGE_DEVIATIONS * deviation)
        covariance = noise_covariance(maximum, inverse, deviation**2)
        weights, bread, bend = maximum[0], inverse[0], matrix[0]
        noise, d = covariance[0], reports.features
        if reports_show_spread(reports):
            # What a voter adds to the slope of the sum at its maximum, noise and all.
            slopes, bends = linear_and_matrix(reports.rows.astype(np.float64), d)
            each = slopes / 2 - bends @ weights
            every = bread @ spread_of_reports(each, reports.shares) @ bread
            sampling = at_least_zero(every - noise)
        else:
            # l is sqrt(2 / pi) times the sum of directions, M 1 / pi times that of their products,
            # so the maximum is a regression of signs on directions, and l / 2 has variance M / 2.
            explained = explained_share(
                linear[0] * math.sqrt(math.pi / 2),
                bread / math.pi,
                deviation[0] ** 2 * math.pi / 2 * np.eye(d),
                reports.total_records,
            )
            repeated = float(reports.shares**2 @ reports.records) / max(reports.total_records, 1e-9)
            sampling = (1 - explained) / 2 * repeated * at_least_zero(bread @ bend @ bread)
        # As for masked choices (`fit_masked_choices`): what a ninth of the ridge, and dropped
        # directions, take of weights that point any way, and the gap to that maximum.
        wider, wide = maximise(linear, matrix, RIDGE_DEVIATIONS * deviation / 9)
        taken, gap = np.eye(d) - wide[0] @ bend, wider[0] - weights
        kept = max(int(np.linalg.matrix_rank(wide[0], hermitian=True)), 1)
        shrinkage = float(wider[0] @ wider[0]) / kept * taken @ taken.T + np.outer(gap, gap)
        return Estimate(self._project(maximum)[0], noise, sampling, shrinkage)

    def _mean_of_maxima(self, reports: Reports) -> Estimate:
        rows = reports.rows.astype(np.float64)
        linear, matrix = linear_and_matrix(rows, reports.features)
        deviation = in_coefficients(np.sqrt(reports.variance))
        ridge = RIDGE_DEVIATIONS * deviation
        maxima, inverse = maximise(linear, matrix, ridge)
        covariance = noise_covariance(maxima, inverse, deviation**2)
        shares = reports.shares
        if self.same_shrinkage:
            # Where the ridge rules, a maximum is about l / (2 ridge).
            shares = shares * ridge / ridge.min()
        maxima = self._project(maxima)
        noise: Floats = np.tensordot(shares**2, covariance, axes=1)
        # First order overstates large noise; voters differ by their noise at least.
        centre = shares @ maxima / shares.sum()
        parts = shares[:, None] * (maxima - centre)
        spread = parts.T @ parts * (len(parts) / max(len(parts) - 1, 1))
        smaller = len(parts) > 1 and np.trace(spread) < np.trace(noise)
        if smaller:
            noise = spread
        # Maxima of single voters' noisy quadratics are far from the voters' own, all alike.
        return Estimate(shares @ maxima, noise, at_least_zero(spread - noise))

    def _project(self, weights: Floats) -> Floats:
        return weights if self.bound is None else project(weights, float(finite(self.bound, "")))


@register
@dataclass(frozen=True)
class LocalFunctional(PrivateMechanism):
    """Each voter sends noisy coefficients of the likelihood; each quadratic is maximised by itself.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter.
    unit : {"record"}
    weights, most
        How much each voter counts; see `voter_weights`. Other than ``"equal"``, maxima are first
        brought to the same shrinkage, for the ridge of a small epsilon shrinks more.
    sensitivity : {"tight", "published"}
        Both proven; the published one needs a third more noise. See `quadratic_sensitivity`.
    bound : number, optional
        Projects each voter's maximum to this L1 ball. Where the sum is maximised once, the noise
        stated is that from before the projection.

    Privacy
    -------
    Protects each record from everybody but the voter's own device; a voter with n records is
    protected at n times epsilon. Neighbours: one record is replaced. Differences are brought to
    length 1 one by one, which needs no number from the data. Coefficients are whole numbers, and
    discrete Laplace noise of scale sensitivity / epsilon costs exactly epsilon. What is computed
    from them costs nothing.

    The published maximisation does not exist: with noise nearly every quadratic is unbounded. Here
    a ridge of four standard deviations of the noise is added, and directions in which the quadratic
    then bends by less than one are dropped. `LinearKNorm` is more accurate at the same guarantee.

    References
    ----------
    Wang et al. (2019), Algorithm 3; Zhang et al. (2012).

    Examples
    --------
    >>> LocalFunctional(epsilon=1).unit, str(LocalFunctional(epsilon=1))
    ('record', 'local-functional:epsilon=1')
    """

    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    sensitivity: SensitivityRule = "tight"
    bound: NumberLike | None = None

    name = "local-functional"
    units = QuadraticSum.units

    def compose(self) -> Composition:
        """Return voters' quadratics, each masked and maximised by itself."""
        statistic = QuadraticSum(
            self.sensitivity,
            self.bound,
            one_maximum=False,
            same_shrinkage=self.weights != "equal",
        )
        return Composition(statistic, LAPLACE, Device(self.weights, self.most))


@register
@dataclass(frozen=True)
class AggregateFunctional(LocalFunctional):
    """As `LocalFunctional`, but the noisy coefficients are added up and maximised once.

    Noise cancels in a sum before anything that is not linear is done with it, so the weights shrink
    less towards zero and know their noise better; the directions are about as good. For pairs that
    are private and whose second moment is not known.

    Privacy
    -------
    The reports are those of `LocalFunctional`, and so is the guarantee.

    Examples
    --------
    >>> AggregateFunctional(epsilon=1).unit, str(AggregateFunctional(epsilon=1))
    ('record', 'aggregate-functional:epsilon=1')
    """

    name = "aggregate-functional"

    def compose(self) -> Composition:
        """Return voters' quadratics, each masked; their sum is maximised."""
        statistic = QuadraticSum(self.sensitivity, self.bound)
        return Composition(statistic, LAPLACE, Device(self.weights, self.most))


@register
@dataclass(frozen=True)
class CentralFunctional(PrivateMechanism):
    """A trusted aggregator adds up the coefficients of all voters and adds noise once.

    Parameters
    ----------
    epsilon : number
    unit : {"record"}
    sensitivity, bound
        As for `LocalFunctional`.

    Privacy
    -------
    Protects each record from everybody who sees the result, not from whoever computes it. One
    record moves the sum exactly as far as it moves its voter's coefficients.

    Examples
    --------
    >>> CentralFunctional(epsilon=1).unit, str(CentralFunctional(epsilon=1))
    ('record', 'central-functional:epsilon=1')
    """

    sensitivity: SensitivityRule = "tight"
    bound: NumberLike | None = None

    name = "central-functional"
    units = QuadraticSum.units

    def compose(self) -> Composition:
        """Return voters' quadratics; their sum is masked and maximised."""
        return Composition(QuadraticSum(self.sensitivity, self.bound), LAPLACE, Aggregator())
