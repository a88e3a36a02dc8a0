"""The parts of a private mechanism: a statistic, its noise, and the trust model.

The three meet in whole numbers. A statistic turns each voter's records into a row of integers and
bounds how far one record can move it; noise masks rows at an epsilon; trust decides whether every
voter's row is masked by itself or one sum is. Whatever has been masked is for everybody to see, and
the statistic then estimates weights from it at no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Comparisons
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource

Rows = NDArray[Any]

Unit = Literal["voter", "record", "choice"]
TrustName = Literal["local", "two-parties", "aggregator", "everyone"]
#: One a voter.
Epsilons = Sequence[Fraction]

RECORDS_ARE_PUBLIC = "how many records each voter has is public"
PAIRS_ARE_PUBLIC = (
    "which two alternatives each voter was shown is public, and none was picked by raw answers: "
    "the caller said so (public_menus)"
)
MENUS_ARE_PUBLIC = (
    "which alternatives each voter was shown is public, and no menu was made by looking at raw "
    "answers: the caller said so (public_menus)"
)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Largest distances of two neighbouring rows, exact or rounded up."""

    absolute: int  # largest sum of absolute differences
    euclidean: int  # largest Euclidean distance


class Fidelity(NamedTuple):
    """Share of a row that is left in its report, and the noise beside it."""

    # The mean of a report is this many times the row (or its direction), above 0 and at most 1.
    contrast: float
    # Of the noise in each coordinate of a report divided by `contrast`, in squared steps.
    variance: float
    # Of the cosine between report and row, for reports that are directions.
    mean_square: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """Masked rows, as the server or the aggregator gets them."""

    # array, shape (n_rows, size). Masked. One a voter or one a record from devices; one for all
    # where the sum was masked.
    rows: Rows
    # variance, contrast, mean_square: float array, shape (n_voters,). See `Fidelity`. Of one voter
    # where the sum was masked, as all that follow.
    variance: Floats
    records: Integers  # array, shape (n_voters,). Numbers of records.
    features: int
    # float array, shape (n_voters,). How much each voter counts; they add to 1.
    shares: Floats = field(default_factory=lambda: np.ones(1))
    contrast: Floats = field(default_factory=lambda: np.ones(1))
    mean_square: Floats = field(default_factory=lambda: np.ones(1))
    voters: int = 1  # how many voters' rows `total` adds up: 1 where shares make it a mean
    assumptions: tuple[str, ...] = ()  # what has to be true of the people involved
    # Public numbers on who counted how much. JSON values.
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def total(self) -> Floats:
        """Sum of the rows, each times its voter's share, shape (size,)."""
        total: Floats = self.shares @ self.rows
        return total

    @property
    def total_variance(self) -> float:
        """Variance of the noise in each coordinate of `total`."""
        # Rows are masked independently of one another.
        return float(self.shares**2 @ self.variance)

    @property
    def total_records(self) -> float:
        """Number of records that `total` stands for."""
        return float(self.shares @ self.records)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Weights learned from reports.

    Attributes
    ----------
    weights : float array, shape (n_features,)
    noise : float array, shape (n_features, n_features)
        Covariance of the weights under masking the same answers again.
    sampling, shrinkage : float array, shape (n_features, n_features), optional
        See `Release`.
    direction_only : bool
        Whether only the direction of the weights was estimated.
    assumptions : tuple of str
        What else the estimate takes for public.
    details : mapping
        Further public numbers. JSON values.
    """

    weights: Floats
    noise: Floats
    sampling: Floats | None = None
    shrinkage: Floats | None = None
    direction_only: bool = False
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


class Statistic(Protocol):
    """A statistic of each voter's records, in whole numbers; a frozen dataclass."""

    #: What a mechanism with this statistic can protect.
    units: ClassVar[tuple[Unit, ...]]

    #: Whether all records of a voter together move a row no further than one of them.
    whole_voter: ClassVar[bool]

    #: Whether there is one row a record instead of one a voter.
    row_a_record: ClassVar[bool]

    def rows(self, records: Comparisons) -> Integers:
        """Return one row a voter (or a record), shape (n_rows, size).

        A row depends on its own voter's records alone, to the last bit.
        """
        ...

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far a row moves when one unit changes."""
        ...

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variance between voters and that of each voter's noise, on one scale.

        From public numbers alone; voters' shares are taken from these. Shape (n_voters,) each.
        """
        ...

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return weights; `pairs` are the shown pairs, where these are public."""
        ...


class Noise(Protocol):
    """Noise that hides a row; a frozen dataclass."""

    #: Whether it is drawn exactly, on whole numbers.
    hardened: ClassVar[bool]

    #: Name of a hardened mechanism that does the same work, where this one is not.
    replacement: ClassVar[str | None]

    @property
    def delta(self) -> Fraction:
        """Probability with which losses may fail; 0 where they hold outright."""
        ...

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Rows:
        """Return a report of each row, independent of one another."""
        ...

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return the largest loss of changing `units` units of a voter together."""
        ...

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return how much of a row of `size` numbers is left in its report."""
        ...


class Trust(Protocol):
    """A trust model: the side that adds the noise; a frozen dataclass."""

    #: Whether noise is drawn for all voters together, so that they share an epsilon.
    one_epsilon: ClassVar[bool]

    @property
    def name(self) -> TrustName:
        """The trust model, as guarantees name it."""
        ...

    def collect(
        self, parts: Composition, comparisons: Comparisons, epsilons: Epsilons, source: WordSource
    ) -> Reports:
        """Return the masked rows of all voters."""
        ...


@dataclass(frozen=True, slots=True)
class Composition:
    """A private mechanism without its epsilon: statistic, noise and trust.

    Examples
    --------
    >>> from masquerade.preference.mechanisms.linear import LinearSum
    >>> from masquerade.preference.vector_noise import NORM
    >>> from masquerade.preference.trust import Device
    >>> parts = Composition(LinearSum(), NORM, Device())
    >>> parts.noise.loss(Fraction(1), parts.statistic.sensitivity(3), units=5)
    Micro(micro=5000000)
    """

    statistic: Statistic
    noise: Noise
    trust: Trust

    def loss(self, epsilon: Fraction, *, features: int, units: int) -> Micro:
        """Return the largest loss of changing `units` units of a voter together."""
        return self.noise.loss(epsilon, self.statistic.sensitivity(features), units=units)
