"""Local mechanisms whose reports are vectors, which the server adds up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.preference.local_mechanism import LocalMechanism, Rows, VoterReport
from masquerade.preference.mechanism import Release
from masquerade.preference.personal_epsilon import epsilons_of


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The reports of voters, with what is public about each.

    Attributes
    ----------
    rows : array, shape (n_voters, size)
    epsilons : sequence of Fraction, one a voter
    records : int64 array, shape (n_voters,)
        Numbers of records.
    features : int
    moment : float array, shape (features, features), optional
        Public second moment of the directions that were shown, for mechanisms that use it.
    """

    rows: Rows
    epsilons: Sequence[Fraction]
    records: Integers
    features: int
    moment: Floats | None = None


@dataclass(frozen=True)
class LocalVectorMechanism(LocalMechanism):
    """A local mechanism whose reports all have the same length."""

    @abstractmethod
    def combine(self, collected: Collected) -> Release:
        """Return what the reports say together; the server's half."""

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        epsilons = epsilons_of(self.epsilons(), comparisons.n_voters)
        groups: dict[Fraction, list[int]] = {}
        for voter, epsilon in enumerate(epsilons):
            groups.setdefault(epsilon, []).append(voter)
        rows: Rows | None = None
        for epsilon, voters in groups.items():
            group = comparisons if len(groups) == 1 else comparisons.of_voters(voters)
            some = self._report_rows(group, epsilon, source)
            if rows is None:
                rows = np.empty((comparisons.n_voters, some.shape[1]), dtype=some.dtype)
            rows[voters] = some
        assert rows is not None
        return self.combine(
            Collected(
                rows,
                epsilons,
                comparisons.records_per_voter(),
                comparisons.n_features,
                self._moment(comparisons),
            )
        )

    def _moment(self, comparisons: Comparisons) -> Floats | None:
        return None

    def collect(
        self,
        reports: Sequence[VoterReport],
        *,
        features: int,
        moment: ArrayLike | None = None,
    ) -> Release:
        """Return what the reports of many devices say together.

        Raises
        ------
        InvalidRecord
            A report has another length than the others.
        """
        if not reports:
            raise ParameterError("there are no reports, so there is nothing to learn.")
        size = len(reports[0].values)
        for number, report in enumerate(reports, start=1):
            if len(report.values) != size or not np.isfinite(report.values).all():
                raise InvalidRecord(
                    f"report {number} does not hold {size} finite numbers as the first one does."
                )
        return self.combine(
            Collected(
                np.array([report.values for report in reports]),
                [report.epsilon for report in reports],
                np.array([report.records for report in reports], dtype=np.int64),
                features,
                None if moment is None else np.asarray(moment, dtype=np.float64),
            )
        )
