"""The linear statistic: the sum of the directions that were chosen, plain and private.

It is the slope of the Thurstone-Mosteller likelihood at indifference, for differences of length 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers import Comparisons, Frame
from masquerade.answers.comparison_columns import Feature
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA
from masquerade.exact.number import NumberLike, in_range
from masquerade.preference.composition import Composition, Estimate, Reports, Sensitivity, Unit
from masquerade.preference.directions import (
    UNIT,
    direction_sensitivity,
    sums_by_voter,
    whole_directions,
)
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import register
from masquerade.preference.other_voters import (
    explained_share,
    reports_show_spread,
    spread_of_direction,
    spread_of_reports,
)
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.thurstone import require_features
from masquerade.preference.trust import whose_noise
from masquerade.preference.two_parties import TwoParties, require_gaussian
from masquerade.preference.vector_noise import LAPLACE, NORM, AdditiveNoise
from masquerade.preference.voter_device import VoterDevice

MOMENT_IS_PUBLIC = "the second moment of the directions comes from the public pairs"


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit(Result):
    """The direction that the linear statistic points to.

    Attributes
    ----------
    weights : float array, shape (n_features,)
        Of the scaled features, of length 1 (zeros where the statistic is zero).
    covariance : float array, shape (n_features, n_features)
        Of `weights` under drawing other voters.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> from masquerade.preference.mechanisms.linear import fit_linear
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_linear(choices).covariance.shape
    (2, 2)
    """

    weights: Floats
    covariance: Floats


def directions(comparisons: Comparisons) -> Floats:
    """Return each scaled difference divided by its length, shape (n_records, n_features).

    A zero difference stays zero.
    """
    require_features(comparisons)
    scaled = comparisons.scaled()
    length = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    # In floating point, which is enough without privacy; `whole_directions` is exact.
    scaled /= np.where(length > 0, length, 1)[:, None]
    return scaled


def voter_sums(comparisons: Comparisons, values: Floats) -> Floats:
    """Return the sums of `values`, shape (n_records, k), over each voter's records.

    The result has shape (n_voters, k); zeros for a voter without a record.
    """
    sums = np.zeros((comparisons.n_voters, values.shape[1]))
    some = np.flatnonzero(comparisons.records_per_voter())
    if some.size:
        # reduceat on an empty range would return the next voter's first row: such are left out.
        sums[some] = np.add.reduceat(values, comparisons.offsets[some], axis=0)
    return sums


def second_moment(comparisons: Comparisons) -> Floats:
    """Return the mean outer product of the directions, shape (n_features, n_features).

    It does not depend on which alternative was chosen. It is public only where the pairs are.
    """
    units = directions(comparisons)
    moment: Floats = units.T @ units / max(len(units), 1)
    return moment


def fit_linear(
    comparisons: Comparisons | Frame, *, moment: ArrayLike | None = None, ridge: float = 0.0
) -> LinearFit:
    """Return the direction ``(moment + ridge)^-1 * (sum of directions)``.

    One pass over the data. For features that are spread evenly in all directions it points where
    the mean weight of voters points; `moment` corrects for features that are not.

    Parameters
    ----------
    comparisons : Comparisons, or a table as `Comparisons.from_frame` reads it
    moment : float array, shape (n_features, n_features), optional
        Second moment of the directions. Default: `second_moment` of the comparisons.
    ridge : float
        Added to the diagonal, at least 0.

    References
    ----------
    The gradient of the Thurstone-Mosteller likelihood at zero weights, with differences of length
    1.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> fit_linear(choices).weights.shape
    (2,)
    """
    in_range(ridge, "ridge", low=0, below=math.inf)
    comparisons = Comparisons.of(comparisons)
    d = comparisons.n_features
    units = directions(comparisons)
    # per_voter[voter, feature]
    per_voter = voter_sums(comparisons, units)
    sigma = second_moment(comparisons) if moment is None else np.asarray(moment, dtype=np.float64)
    if sigma.shape != (d, d):
        raise ParameterError(f"moment has shape {sigma.shape}, expected ({d}, {d}).")
    # Sigma^-1 t, Sigma the second moment and t the sum of directions (the specification, 5.4 a).
    inverse = np.linalg.pinv(sigma + ridge * np.eye(d), hermitian=True)
    raw = inverse @ per_voter.sum(axis=0)
    length = float(np.linalg.norm(raw))
    if length == 0:
        return LinearFit(np.zeros(d), np.zeros((d, d)))
    weights = raw / length
    # The sum's covariance under drawing other voters, carried onto the sphere: the derivative of
    # x / |x| is (I - w w') / |x| (delta method).
    centred = per_voter - per_voter.mean(axis=0)
    voters = len(per_voter)
    spread = centred.T @ centred * (voters / max(voters - 1, 1))
    onto_sphere = (np.eye(d) - np.outer(weights, weights)) @ inverse / length
    return LinearFit(weights, onto_sphere @ spread @ onto_sphere.T)


@dataclass(frozen=True, slots=True)
class LinearSum:
    """The sum of the directions that a voter chose: one record moves it by two lengths.

    `moment` (n_features, n_features): public second moment of the directions. Default: that of the
    public pairs, or, where these are private, that of directions spread evenly.
    """

    moment: ArrayLike | None = None

    units: ClassVar[tuple[Unit, ...]] = ("record", "choice")
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.moment is None:
            return
        if isinstance(self.moment, str):
            raise ParameterError("moment is a text; give a matrix, from Python.")
        matrix = np.array(self.moment, dtype=np.float64)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        if not square or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
            raise ParameterError("moment is no symmetric matrix of finite numbers.")
        object.__setattr__(self, "moment", tuple(map(tuple, matrix.tolist())))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's sum, in steps of 1 / `UNIT`, shape (n_voters, n_features)."""
        return sums_by_voter(whole_directions(records.scaled()), records.offsets)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far two directions can lie apart."""
        return direction_sensitivity(features)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters, for directions' sums over their number.

        A sum of n directions means n times as much, and has variance about n / features.
        """
        count = np.maximum(records, 1)
        return np.full(len(count), 1 / features), variance / UNIT**2 / count

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the direction of the weighted sum, corrected for the features' second moment."""
        d = reports.features
        moment = self.second_moment(d, pairs)
        variance = reports.total_variance / UNIT**2
        # Where the noise is large, the correction must not blow it up: a ridge of one standard
        # deviation of the noise a record (the specification, section 5.4 a).
        ridge = math.sqrt(variance) / max(reports.total_records, 1e-9)
        inverse = np.asarray(np.linalg.pinv(moment + ridge * np.eye(d), hermitian=True), np.float64)
        total = reports.total / UNIT
        raw = inverse @ total
        noise = variance * np.eye(d)
        if reports_show_spread(reports):
            sampling = at_least_zero(spread_of_reports(reports.rows / UNIT, reports.shares) - noise)
        else:
            # Of the sum of n directions: n M, less what the weights explain where M is that of the
            # very pairs (regression of choices on them); M itself where these are drawn too.
            records = max(reports.total_records, 1e-9)
            explained = explained_share(total, np.asarray(inverse / records), noise, records)
            share = 0.0 if pairs is None else explained
            sampling = (1 - share) * float(reports.shares**2 @ reports.records) * moment
        # The ridge takes `ridge (M + ridge)^-1` of the weights, whichever way these point.
        bias = ridge**2 * float(raw @ raw) / d * inverse @ inverse
        found = spread_of_direction(
            raw, inverse @ noise @ inverse, inverse @ sampling @ inverse, bias
        )
        return Estimate(
            *found,
            direction_only=True,
            assumptions=() if pairs is None or self.moment is not None else (MOMENT_IS_PUBLIC,),
            details={"ridge": ridge},
        )

    def second_moment(self, features: int, pairs: Comparisons | None) -> Floats:
        """Return the public second moment of the directions, shape (n_features, n_features)."""
        if self.moment is not None:
            moment = np.array(self.moment, dtype=np.float64)
            if moment.shape != (features, features):
                raise ParameterError(
                    f"moment has shape {moment.shape}, expected ({features}, {features}) for "
                    f"{features} features."
                )
            return moment
        if pairs is None or len(pairs) == 0:
            return np.eye(features) / features
        # Directions of opposite records are opposite, so this does not depend on the choices.
        rows = whole_directions(pairs.scaled()) / UNIT
        product: Floats = rows.T @ rows
        return product / len(rows)


@dataclass(frozen=True)
class LinearMechanism(PrivateMechanism):
    """The sum of chosen directions plus additive noise: the base of three mechanisms."""

    unit: Unit = "record"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    trust: Literal["local", "aggregator", "two-parties"] = "local"
    moment: ArrayLike | None = None

    units = LinearSum.units

    def with_noise(self, noise: AdditiveNoise) -> Composition:
        """Return the linear sum with this noise."""
        if self.trust == "two-parties":
            require_gaussian(noise)
            return Composition(LinearSum(self.moment), noise, TwoParties())
        trust = whose_noise(self.trust, self.weights, self.most)
        return Composition(LinearSum(self.moment), noise, trust)

    def device(self, features: Sequence[Feature], *, epsilon: Any = None) -> VoterDevice:
        """Return the voter's half; see `PrivateMechanism.device`. It does not need `moment`."""
        if self.moment is not None:
            return replace(self, moment=None).device(features, epsilon=epsilon)
        return super().device(features, epsilon=epsilon)


@register
@dataclass(frozen=True)
class LinearKNorm(LinearMechanism):
    """Publish the direction of the sum of chosen directions, with noise by Euclidean length.

    Each record counts as the direction of its difference, of length 1. The sum of directions is the
    slope of the likelihood at indifference; divided by the second moment of the directions it
    points where the mean preference points. Only that direction is estimated.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all; one a voter where `trust` is ``"local"``.
    unit : {"record", "choice"}
        ``"choice"``: the pair that was shown is public and only which one was chosen is protected.
    weights, most
        How much each voter counts; see `voter_weights`.
    trust : {"local", "aggregator"}
        Who adds the noise: each voter, or once whoever computes the result.
    moment : float array, shape (n_features, n_features), optional
        Public second moment of the directions of scaled differences, from the design of the
        questions. Default: directions spread evenly; under the unit ``"choice"``, that of the
        public pairs.

    Privacy
    -------
    Protects each record (or choice), not a whole voter: a voter with n records is protected at n
    times epsilon. Neighbours: one record is replaced (one choice turned round); how many records
    each voter has is public. Directions are whole numbers whose squares add to at most a square, so
    two of them are at most 2 lengths apart, exactly; noise with probability proportional to
    ``exp(-epsilon * floor(length) / 2)`` costs exactly epsilon.

    References
    ----------
    Hardt and Talwar (2010) for the noise; drawn exactly here, see `norm_noise`.

    Examples
    --------
    >>> LinearKNorm(epsilon=1).unit, str(LinearKNorm(epsilon=1))
    ('record', 'linear-knorm:epsilon=1')
    """

    name = "linear-knorm"

    def compose(self) -> Composition:
        """Return the linear sum with noise by length."""
        return self.with_noise(NORM)


@register
@dataclass(frozen=True)
class LinearLaplace(LinearMechanism):
    """As `LinearKNorm` with independent discrete Laplace noise a coordinate; for many features.

    Privacy
    -------
    As `LinearKNorm`. Two directions differ by at most ``2 sqrt(d)`` in the L1 norm, so for d
    features the variance is about ``2 d / (d + 1)`` times larger: nearly twice.

    Examples
    --------
    >>> LinearLaplace(epsilon=1).unit, str(LinearLaplace(epsilon=1))
    ('record', 'linear-laplace:epsilon=1')
    """

    name = "linear-laplace"

    def compose(self) -> Composition:
        """Return the linear sum with Laplace noise."""
        return self.with_noise(LAPLACE)


@register
@dataclass(frozen=True)
class LinearGaussian(LinearMechanism):
    """As `LinearKNorm` with discrete Gaussian noise; better for many features or many releases.

    Parameters
    ----------
    trust : {"local", "aggregator", "two-parties"}
        As `LinearKNorm`, or two parties who see only sums: each voter's sum is split between them
        with a proof of its length, and each party adds all of the noise (needs the extra
        `parties`).
    delta : number
        Probability with which epsilon may fail.

    Privacy
    -------
    As `LinearKNorm`, but approximate: one record costs ``rho = 4 / (2 variance)`` of
    zero-concentrated loss, a voter with n records n squared times that. Between two parties only
    the honest one's noise counts, and the published sum has twice its variance.

    Examples
    --------
    >>> LinearGaussian(epsilon=1).unit, str(LinearGaussian(epsilon=1))
    ('record', 'linear-gaussian:epsilon=1')
    """

    delta: NumberLike = DEFAULT_DELTA

    name = "linear-gaussian"

    def compose(self) -> Composition:
        """Return the linear sum with Gaussian noise."""
        return self.with_noise(AdditiveNoise.gaussian(self.delta))
