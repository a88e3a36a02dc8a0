"""Errors of densities: integrated squared differences in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.number import in_range
from masquerade_papers.priscrowd.density import DensityModel
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.release import Release


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Errors(Result):
    """Errors of densities against reference densities.

    Attributes
    ----------
    squared : float array, shape (n_objects,)
        Integrated squared error of each object.
    relative : float array, shape (n_objects,)
        The same over the reference's own integrated square: without a unit, and 1 where nothing
        was released.
    empty : bool array, shape (n_objects,)
        Objects of which nothing was released.

    Examples
    --------
    >>> Errors(np.array([0.1, 0.3]), np.array([0.2, 0.6]), np.array([1.0, 1.0])).mise
    0.2
    """

    squared: Floats
    relative: Floats
    empty: Floats

    def __repr__(self) -> str:
        means = f"mise={self.mise:.6g}, rel_ise={self.rel_ise:.6g}"
        return f"Errors({len(self.squared)} objects, {means})"

    @property
    def mise(self) -> float:
        """Mean integrated squared error; it depends on the unit of measurement."""
        return float(self.squared.mean())

    @property
    def rms_ise(self) -> float:
        """Root mean square of the integrated squared errors."""
        return float(np.sqrt(np.mean(self.squared**2)))

    @property
    def rel_ise(self) -> float:
        """Mean relative error; use this one to compare data sets."""
        return float(self.relative.mean())

    @property
    def empty_share(self) -> float:
        """Share of objects of which nothing was released."""
        return float(self.empty.mean())

    def to_json(self) -> dict[str, float]:
        """Return the means as a JSON object."""
        return {
            "rel_ise": self.rel_ise,
            "mise": self.mise,
            "rms_ise": self.rms_ise,
            "empty_share": self.empty_share,
        }


def ise(reference: DensityModel | Mixtures, released: Release | DensityModel | Mixtures) -> Errors:
    """Return the integrated squared error of each object, in closed form.

    Parameters
    ----------
    reference : DensityModel or Mixtures
        What the release should resemble.
    released : Release, DensityModel or Mixtures
        Of the same objects. A release is judged by its ``densities``: what a histogram engine
        publishes, or else the points with the bandwidth that the release states.

    Raises
    ------
    ParameterError
        The objects differ.

    Examples
    --------
    >>> one = Mixtures.of_points([0, 1], [0.0], [1.0])
    >>> other = Mixtures.of_points([0, 1], [1.0], [1.0])
    >>> round(ise(one, other).mise, 10)
    0.1247982941
    """
    if (
        isinstance(reference, DensityModel)
        and isinstance(released, Release | DensityModel)
        and not reference.objects.equals(released.objects)
    ):
        raise ParameterError("the release is of other objects than the reference.")
    truth = reference.mixtures() if isinstance(reference, DensityModel) else reference
    match released:
        case Release():
            densities = released.densities
        case DensityModel():
            densities = released.mixtures()
        case _:
            densities = released
    own = truth.inner(truth)
    # int (f - g)^2 = <f, f> - 2 <f, g> + <g, g>; rounding can lead below 0
    squared = np.maximum(own - 2 * truth.inner(densities) + densities.inner(densities), 0.0)
    # without bumps the density is 0: the relative error is then exactly 1
    empty = np.diff(densities.offset) == 0
    if not (own > 0).all():
        raise ParameterError("a reference density is 0 everywhere; leave such objects out.")
    return Errors(squared, squared / own, empty)


def expected_ise(truth: Mixtures, bandwidth: Floats, samples: int) -> Floats:
    """Return the expected error of drawing points and smoothing them, without any test.

    `samples` points are drawn from the truth and get a bump of the bandwidth each; the first term
    is the bias of smoothing, which more points do not lower, the second is sampling.

    Parameters
    ----------
    bandwidth : float array, shape (n_objects,)
    samples : int
        Points of each object, at least 1.
    """
    in_range(samples, "samples", low=1)
    of = np.repeat(np.asarray(bandwidth, np.float64), np.diff(truth.offset))
    # E int (f - f_m)^2 = int (f - K * f)^2 + (R(K) / h - int (K * f)^2) / m: smoothing a bump of
    # width s by h gives one of width sqrt(s^2 + h^2), and R(K) = 1 / (2 sqrt(pi))
    smooth = Mixtures(truth.offset, truth.location, truth.weight, np.sqrt(truth.width**2 + of**2))
    own = smooth.inner(smooth)
    bias = np.maximum(truth.inner(truth) - 2 * truth.inner(smooth) + own, 0.0)
    return np.asarray(bias + (1 / (2 * np.asarray(bandwidth) * math.sqrt(math.pi)) - own) / samples)
