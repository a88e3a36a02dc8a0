"""Mechanisms that run on each voter's own device, and what such a device needs and sends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from masquerade.answers import Comparisons
from masquerade.answers.features import Feature, widths
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import Coins, WordSource, require_coins
from masquerade.exact.number import finite, text_of
from masquerade.preference.personal_epsilon import read_epsilon
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.voter_weights import (
    MOST_TIMES_EQUAL,
    WEIGHTINGS,
    Weighting,
    voter_weights,
    weight_report,
)

Rows = NDArray[Any]


@dataclass(frozen=True, slots=True)
class VoterReport:
    """All that leaves a voter's device.

    Attributes
    ----------
    epsilon : Fraction
        Which the voter chose; public.
    records : int
        Number of the voter's records; public under the units record and choice, and not sent (0)
        under the unit voter.
    values : tuple of numbers
        Masked.
    """

    epsilon: Fraction
    records: int
    values: tuple[int | float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "epsilon": text_of(self.epsilon),
            "records": self.records,
            "values": list(self.values),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> VoterReport:
        """Return the report that `to_json` wrote."""
        return cls(
            finite(value["epsilon"], "epsilon"), int(value["records"]), tuple(value["values"])
        )


@dataclass(frozen=True)
class LocalMechanism(PrivateMechanism):
    """A mechanism whose noise is added by each voter.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        One for all, or one a voter in the order of ``comparisons.voters``.
    unit : {"voter", "record", "choice"}
    weights : {"equal", "inverse-variance", "capped"}
        How much each voter counts; see `voter_weights`.
    most : float
        Largest share under ``"capped"``, times an equal share.
    """

    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL

    hides_records: ClassVar[bool] = False
    """Whether the number of a voter's records is hidden, and so not sent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights not in WEIGHTINGS:
            raise ParameterError(
                f"weights is {self.weights!r}, expected one of {', '.join(WEIGHTINGS)}."
            )
        if not self.most >= 1:
            raise ParameterError(f"most is {self.most!r}, expected at least 1.")

    def _check_personal(self) -> None:
        pass

    @abstractmethod
    def _report_rows(self, records: Comparisons, epsilon: Fraction, source: WordSource) -> Rows:
        """Return the report of each voter, shape (n_voters, size); they share an epsilon.

        A voter's report depends on that voter's records alone. Inside this room alone is the source
        anything but the operating system, for `simulate`.
        """

    def report_rows(
        self, records: Comparisons, epsilon: Fraction, *, coins: Coins | None = None
    ) -> Rows:
        """Return the report of each voter, shape (n_voters, size); they share an epsilon.

        Parameters
        ----------
        records : Comparisons
            A voter's report depends on that voter's records alone.
        epsilon : Fraction
        coins : Coins, optional

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`: a seed never makes a report.
        """
        source = require_coins(coins)
        self.check(records)
        return self._report_rows(records, epsilon, source)

    def device(self, features: Sequence[Feature], *, epsilon: Any = None) -> VoterDevice:
        """Return the voter's half, which needs nothing but public parameters.

        Parameters
        ----------
        features : sequence of Feature
        epsilon : number, optional
            The voter's own; default: the mechanism's.
        """
        own = read_epsilon(self.epsilons() if epsilon is None else epsilon)
        if isinstance(own, tuple):
            raise ParameterError("the mechanism has an epsilon a voter; give this voter's own.")
        return VoterDevice(replace(self, epsilon=own), tuple(features), own)

    def _shares(
        self, epsilons: Sequence[Fraction], between: Floats, noise: Floats
    ) -> tuple[Floats, dict[str, Any]]:
        shares = voter_weights(self.weights, between=between, noise=noise, most=self.most)
        report = {"weights": self.weights, **weight_report(shares, epsilons)}
        return shares, report


@dataclass(frozen=True, slots=True)
class VoterDevice:
    """A voter's half of a local mechanism: it sees the records, and only reports leave it.

    Attributes
    ----------
    mechanism : LocalMechanism
    features : tuple of Feature
        With their public ranges.
    epsilon : Fraction

    Examples
    --------
    >>> from masquerade.preference.local_fit import LocalLaplace
    >>> device = LocalLaplace(epsilon=2).device([Feature("price", 0, 9), Feature("size", 0, 1)])
    >>> len(device.report([[3, -1], [2, 0]]).values)
    2
    """

    mechanism: LocalMechanism
    features: tuple[Feature, ...]
    epsilon: Fraction

    def report(self, differences: ArrayLike, *, coins: Coins | None = None) -> VoterReport:
        """Return the report of one voter; randomness from the operating system.

        Parameters
        ----------
        differences : array, shape (n_records, n_features)
            Chosen minus rejected alternative, in the features' own units. What is beyond a public
            range is clipped to it. May have no rows.
        coins : Coins, optional

        Raises
        ------
        InvalidRecord
            The shape does not fit the features, or a number is not finite.
        """
        records = one_voter(differences, self.features)
        rows = self.mechanism.report_rows(records, self.epsilon, coins=coins)
        sent = 0 if self.mechanism.hides_records else len(records)
        return VoterReport(self.epsilon, sent, tuple(rows[0].tolist()))

    def to_json(self) -> dict[str, Any]:
        """Return the public parameters as a JSON object, which `read_voter_device` reads."""
        return {
            "mechanism": str(self.mechanism),
            "features": [
                {"name": each.name, "range": [each.low, each.high] if each.declared else None}
                for each in self.features
            ],
        }


def one_voter(differences: ArrayLike, features: Sequence[Feature]) -> Comparisons:
    """Return one voter's records, checked, clipped to the public ranges."""
    import pyarrow as pa

    given = np.asarray(differences, dtype=np.float64)
    if given.size == 0:
        given = given.reshape(0, len(features))
    if given.ndim != 2 or given.shape[1] != len(features):
        raise InvalidRecord(
            f"the records have shape {given.shape}, expected (records, {len(features)}): one row a "
            "record, one column a feature."
        )
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
        raise InvalidRecord(f"record {row + 1} holds a number that is not finite; correct it.")
    most = widths(features)
    if any(feature.declared for feature in features):
        given = np.clip(given, -most, most)
    return Comparisons(given, np.array([0, len(given)]), pa.array([0]), tuple(features))
