"""Trust models: noise is added by every voter's own device, or once by an aggregator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import in_range, one_of
from masquerade.preference.composition import Composition, Epsilons, Reports, Rows, TrustName
from masquerade.preference.personal_epsilon import (
    MOST_TIMES_EQUAL,
    WEIGHTINGS,
    Weighting,
    voter_weights,
    weight_report,
)

ALONE = "each voter's fit is computed from that voter's records alone"


@dataclass(frozen=True, slots=True)
class Device:
    """Each voter's row is masked before it leaves the voter's device; nobody need be trusted.

    `weights`: how much each voter counts; see `voter_weights`. `most`: largest share under
    ``"capped"``, times an equal share.
    """

    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL

    name: ClassVar[TrustName] = "local"
    one_epsilon: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of(self.weights, "weights", WEIGHTINGS)
        in_range(self.most, "most", low=1)

    def collect(
        self, parts: Composition, comparisons: Comparisons, epsilons: Epsilons, source: WordSource
    ) -> Reports:
        """Return every voter's report, as if each had come from a device."""
        return self.weigh(
            parts,
            mask_rows(parts, comparisons, epsilons, source),
            epsilons,
            comparisons.records_per_voter(),
            comparisons.n_features,
        )

    def weigh(
        self, parts: Composition, rows: Rows, epsilons: Epsilons, records: Integers, features: int
    ) -> Reports:
        """Return reports with each voter's share, which depends on public numbers alone."""
        sensitivity = parts.statistic.sensitivity(features)
        # Few epsilons are distinct, and a fidelity can take a search: one of each.
        fidelities = {
            each: parts.noise.fidelity(each, sensitivity, rows.shape[1]) for each in set(epsilons)
        }
        contrast, variance, mean_square = np.array([fidelities[each] for each in epsilons]).T
        between, noise = parts.statistic.spread(variance, records, features)
        shares = voter_weights(self.weights, between=between, noise=noise, most=self.most)
        details = {"weights": self.weights, **weight_report(shares, epsilons)}
        return Reports(
            rows,
            variance,
            records,
            features,
            shares=shares,
            contrast=contrast,
            mean_square=mean_square,
            details=details,
        )


@dataclass(frozen=True, slots=True)
class Aggregator:
    """A trusted aggregator: it sees all records, adds the rows up and masks the sum once."""

    name: ClassVar[TrustName] = "aggregator"
    one_epsilon: ClassVar[bool] = True

    def collect(
        self, parts: Composition, comparisons: Comparisons, epsilons: Epsilons, source: WordSource
    ) -> Reports:
        """Return one masked sum. One unit moves it exactly as far as it moves its voter's row."""
        if comparisons.n_voters < 2:
            warnings.warn(
                "there is one voter only: the result is that voter's preference with noise.",
                stacklevel=5,
            )
        features = comparisons.n_features
        sensitivity = parts.statistic.sensitivity(features)
        # Whole numbers: the sum is exact, and its sensitivity that of one row.
        total = parts.statistic.rows(comparisons).sum(axis=0, keepdims=True)
        fidelity = parts.noise.fidelity(epsilons[0], sensitivity, total.shape[1])
        return Reports(
            parts.noise.mask(total, epsilons[0], sensitivity, source),
            np.array([fidelity.variance]),
            records=np.array([len(comparisons)]),
            voters=comparisons.n_voters,
            features=features,
            assumptions=(ALONE,) if parts.statistic.whole_voter else (),
        )


def whose_noise(trust: str, weights: Weighting, most: float) -> Device | Aggregator:
    """Return the trust model of a mechanism for either trust."""
    one_of(trust, "trust", ("local", "aggregator"))
    device = Device(weights, most)
    return Aggregator() if trust == "aggregator" else device


def mask_rows(
    parts: Composition, records: Comparisons, epsilons: Epsilons, source: WordSource
) -> Rows:
    """Return the masked rows of voters, each at the voter's own epsilon."""
    rows = parts.statistic.rows(records)
    sensitivity = parts.statistic.sensitivity(records.n_features)
    # Voters who share an epsilon share a draw; groups in the order of their first voters.
    group = {epsilon: number for number, epsilon in enumerate(dict.fromkeys(epsilons))}
    if len(group) == 1:
        return parts.noise.mask(rows, epsilons[0], sensitivity, source)
    group_of_row = np.array([group[epsilon] for epsilon in epsilons])
    if parts.statistic.row_a_record:
        group_of_row = group_of_row[records.voter]
    members = [np.flatnonzero(group_of_row == number) for number in group.values()]
    groups = [
        parts.noise.mask(rows[some], epsilon, sensitivity, source)
        for epsilon, some in zip(group, members, strict=True)
    ]
    # Back into the order of the rows.
    return np.concatenate(groups)[np.argsort(np.concatenate(members), kind="stable")]
