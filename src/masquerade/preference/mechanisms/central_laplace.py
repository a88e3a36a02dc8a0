"""Bounded fits: each voter's whole preference as one vector on a grid, masked in sum.

Algorithm 1 of Wang et al. (2019), their VLCP and RLCP: noise of a trusted aggregator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import NumberLike, finite, in_range
from masquerade.preference.composition import Composition, Estimate, Reports, Sensitivity, Unit
from masquerade.preference.l1_ball import STEPS, on_grid
from masquerade.preference.masked_choices import at_least_zero
from masquerade.preference.mechanism import register
from masquerade.preference.other_voters import reports_show_spread, spread_of_reports
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.thurstone import fit_voters
from masquerade.preference.trust import Aggregator
from masquerade.preference.vector_noise import LAPLACE

DEFAULT_BOUND = Fraction(2)
#: Of a fit on the grid, when all records of its voter change: two points of the ball at most two
#: radii apart, in both norms. It is attained by opposite corners.
SENSITIVITY = Sensitivity(absolute=2 * STEPS, euclidean=2 * STEPS)


def read_bound(bound: NumberLike) -> Fraction:
    """Return the bound as a fraction above 0."""
    number = finite(bound, "bound")
    in_range(number, "bound", above=0, high=10**6)
    return number


def fits_on_grid(records: Comparisons, bound: Fraction) -> Integers:
    """Return each voter's fit in steps of ``bound / STEPS``, shape (n_voters, n_features).

    The fit of a voter does not depend on the other voters in a single bit; see `fit_voters`. Else
    one voter could change more than one row, and the sensitivity would be larger than claimed.

    The result: absolute values of a row add to at most `STEPS`, exactly.
    """
    # A fit that did not converge is still in the ball, and privacy depends on nothing else.
    fits = fit_voters(records, bound=float(bound)).weights
    return on_grid(np.nan_to_num(fits), bound)


@dataclass(frozen=True, slots=True)
class BoundedFit:
    """Each voter's fit under an L1 bound, on a grid.

    `bound`: largest sum of a voter's absolute weights (B).
    """

    bound: NumberLike = DEFAULT_BOUND

    units: ClassVar[tuple[Unit, ...]] = ("voter", "record")
    whole_voter: ClassVar[bool] = True
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", read_bound(self.bound))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's fit in grid steps; see `fits_on_grid`."""
        return fits_on_grid(records, read_bound(self.bound))

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far a fit moves when all records of its voter change."""
        return SENSITIVITY

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the largest variance between fits under the bound."""
        # Of vectors whose squares add to at most B**2, the mean square a feature is B**2 / d.
        bound = float(read_bound(self.bound))
        return np.full(len(variance), bound**2 / features), variance * (bound / STEPS) ** 2

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return the (weighted) mean of the fits."""
        bound = float(read_bound(self.bound))
        # Of the mean: Laplace noise of scale 2 B / (N epsilon) (Wang et al. 2019, Algorithm 1).
        step = bound / STEPS / reports.voters
        noise = np.eye(reports.features) * (reports.total_variance * step**2)
        if reports_show_spread(reports):
            spread = spread_of_reports(reports.rows * step, reports.shares)
            sampling = at_least_zero(spread - noise)
        else:
            # The bound of `spread`, over the voters: how their fits differ is private.
            between = bound**2 / reports.features / reports.voters
            sampling = between * float(reports.shares @ reports.shares) * np.eye(reports.features)
        return Estimate(reports.total * step, noise, sampling, details={"bound": bound})


@register
@dataclass(frozen=True)
class CentralLaplace(PrivateMechanism):
    """Publish the mean of the voters' bounded fits with discrete Laplace noise.

    Parameters
    ----------
    epsilon : number
    unit : {"voter", "record"}
        Both have the same noise: one record can turn a voter's whole fit round. So under either a
        whole voter is protected at the same epsilon.
    bound : number
        Largest sum of a voter's absolute weights (B). Smaller bounds need less noise and bend the
        fits more.

    Privacy
    -------
    Protects each voter, with all records, from everybody who sees the result; not from whoever
    computes it, who sees all records. Neighbours: one voter's records are replaced, the number of
    voters is public. Each fit is cut to a grid on which its absolute weights add to at most a whole
    number of steps; so the sum of the fits changes by at most ``2 * steps`` in the L1 norm, and
    noise of scale ``2 * steps / epsilon`` costs exactly epsilon. The published noise has scale
    ``2 bound / (voters * epsilon)`` on the mean, which is the same.

    References
    ----------
    Wang et al. (2019), Algorithm 1 and Theorem 1. Ours is on the integers, and its bound is exact.

    Examples
    --------
    >>> mechanism = CentralLaplace(epsilon=1)
    >>> str(mechanism)
    'central-laplace:epsilon=1'
    """

    unit: Unit = "voter"
    bound: NumberLike = DEFAULT_BOUND

    name = "central-laplace"
    units = BoundedFit.units

    def compose(self) -> Composition:
        """Return the mean of fits with Laplace noise of an aggregator."""
        return Composition(BoundedFit(self.bound), LAPLACE, Aggregator())
