"""A voter's device: it sees the records, and only a masked report leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from masquerade.answers import Comparisons
from masquerade.answers.comparison_columns import Feature, widths
from masquerade.errors import InvalidRecord
from masquerade.exact.coins import Coins
from masquerade.exact.number import finite, text_of
from masquerade.preference.composition import Rows


@dataclass(frozen=True, slots=True)
class VoterReport:
    """The message that leaves a voter's device.

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

    def to_json(self) -> dict[str, object]:
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


class Masking(Protocol):
    """The part of a private mechanism that a device runs."""

    @property
    def hides_records(self) -> bool:
        """Whether the number of a voter's records is hidden, and so not sent."""
        ...

    def report_rows(
        self, records: Comparisons, epsilon: Fraction, *, coins: Coins | None = None
    ) -> Rows:
        """Return the masked rows of voters at one epsilon."""
        ...


@dataclass(frozen=True, slots=True)
class VoterDevice:
    """The voter's half of a local mechanism.

    Attributes
    ----------
    features : tuple of Feature
        With their public ranges.

    Examples
    --------
    >>> from masquerade_papers.preferences.local_laplace import LocalLaplace
    >>> device = LocalLaplace(epsilon=2).device([Feature("price", 0, 9), Feature("size", 0, 1)])
    >>> len(device.report([[3, -1], [2, 0]]).values)
    2
    """

    mechanism: Masking
    features: tuple[Feature, ...]
    epsilon: Fraction

    def report(self, differences: ArrayLike, *, coins: Coins | None = None) -> VoterReport:
        """Return the report of one voter; randomness from the operating system.

        Parameters
        ----------
        differences : array, shape (n_records, n_features)
            Chosen minus rejected alternative, in the features' own units. What is beyond a public
            range is clipped to it. May have no rows.

        Raises
        ------
        InvalidRecord
            The shape does not fit the features, or a number is not finite.
        """
        records = one_voter(differences, self.features)
        rows = self.mechanism.report_rows(records, self.epsilon, coins=coins)
        # Of whole voters the number of records is protected too, so it does not leave the device.
        count = 0 if self.mechanism.hides_records else len(records)
        return VoterReport(self.epsilon, count, tuple(rows.ravel().tolist()))


def one_voter(differences: ArrayLike, features: Sequence[Feature]) -> Comparisons:
    """Return one voter's records, checked, clipped to the public ranges."""
    rows = np.asarray(differences, dtype=np.float64)
    if rows.size == 0:
        rows = rows.reshape(0, len(features))
    if rows.ndim != 2 or rows.shape[1] != len(features):
        raise InvalidRecord(
            f"the records have shape {rows.shape}, expected (records, {len(features)}): one row a "
            "record, one column a feature."
        )
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InvalidRecord(f"record {row + 1} holds a number that is not finite; correct it.")
    most = widths(features)
    if any(feature.declared for feature in features):
        # By the public range: a length beyond it would need more noise than was planned.
        rows = np.clip(rows, -most, most)
    return Comparisons(rows, np.array([0, len(rows)]), pa.array([0]), tuple(features))
