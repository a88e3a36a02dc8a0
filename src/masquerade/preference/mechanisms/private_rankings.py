"""Whole rankings of named items, hidden with their voter: Borda scores and exact sensitivities."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import one_of
from masquerade.preference.composition import (
    Composition,
    Estimate,
    Fidelity,
    Reports,
    Rows,
    Sensitivity,
    Unit,
)
from masquerade.preference.mechanism import register
from masquerade.preference.mechanisms.noisy_item_wins import (
    ItemMechanism,
    on_all_items,
    perturbed_strengths,
    published_counts,
    require_item_records,
    scores_a_meeting,
)
from masquerade.preference.trust import whose_noise
from masquerade.preference.vector_noise import LAPLACE, NORM, AdditiveNoise

RankingDesign = Literal["unknown", "complete"]

_MOST_BY_LENGTH = 20
_SMALLEST = Fraction(1, 1000)

COMPLETE = "every voter was asked to rank all items"


@dataclass(frozen=True, slots=True)
class BordaScores:
    """How many items each voter puts below an item, less how many above it.

    A pair of items counts once for a voter, by the order in which most of the voter's records put
    it, whatever records there are: so a row is the scores of a tournament, and no voter's row can
    be larger than that of one ranking of all items.

    `design`: what the plan of the questions says of the items that voters rank.
    """

    design: RankingDesign = "unknown"

    units: ClassVar[tuple[Unit, ...]] = ("voter",)
    whole_voter: ClassVar[bool] = True
    row_a_record: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of(self.design, "design", ("unknown", "complete"))

    def rows(self, records: Comparisons) -> Integers:
        """Return each voter's scores: of each item, or of the first of two."""
        difference = records.difference
        require_item_records(difference)
        k, voters = records.n_features, records.n_voters
        rows = np.zeros((voters, k), dtype=np.int64)
        compared = difference.any(axis=1)
        if compared.any():
            won, lost = difference[compared].argmax(axis=1), difference[compared].argmin(axis=1)
            first, second = np.minimum(won, lost), np.maximum(won, lost)
            pair = (records.voter[compared].astype(np.int64) * k + first) * k + second
            pairs, place = np.unique(pair, return_inverse=True)
            net = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(net, place, np.where(won == first, 1, -1))
            voter, first, second = pairs // (k * k), pairs // k % k, pairs % k
            np.add.at(rows, (voter, first), np.sign(net))
            np.add.at(rows, (voter, second), -np.sign(net))
        return published_counts(rows)

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far two voters' scores can lie apart: a ranking of all items, turned round."""
        if features == 2:
            return Sensitivity(2, 2)
        # The scores of a tournament are majorised by those of an order, K - 1, K - 3, ..., 1 - K
        # (Landau 1953): sizes add to at most floor(K**2 / 2), squares to K (K**2 - 1) / 3. Twice
        # that, and four times, lie between two voters.
        k = features
        squares = 4 * (k * (k * k - 1) // 3)
        return Sensitivity(2 * (k * k // 2), math.isqrt(squares - 1) + 1)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variances between and within voters; which items each ranked is private."""
        return np.full(len(variance), (features**2 - 1) / 3), variance

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return mean scores from -1 to 1, or strengths where every voter ranks all items.

        The order of two items in a Plackett-Luce ranking follows the Bradley-Terry model (Luce
        1959), so that the expected scores of complete rankings are those of its comparisons.
        """
        k, voters = reports.features, reports.voters
        # of one row a voter: their mean by share; of a masked sum: all voters at once
        scale = len(reports.shares) if len(reports.shares) > 1 else 1
        n = max(scale * voters, 1)
        net, variance = on_all_items(
            scale * reports.total, scale**2 * reports.total_variance, items=k
        )
        centre = np.eye(k) - 1 / k
        # Squares of a voter's scores add to at most K (K**2 - 1) / 3, evenly at indifference.
        effective = n**2 * float(reports.shares @ reports.shares) / voters
        between = effective * k * (k + 1) / 3 * centre
        if self.design == "unknown":
            return scores_a_meeting(net, variance, between, meetings=float(n * (k - 1)))
        met = np.full((k, k), float(n))
        np.fill_diagonal(met, 0)
        found = perturbed_strengths(net / 2 + n * (k - 1) / 2, met, variance / 4)
        assert found.sampling is not None
        # The pairs of a ranking agree with one another: scores vary (K + 1) / 3 times as much as
        # those of pairs that voters decide one by one.
        return replace(found, sampling=found.sampling * (k + 1) / 3, assumptions=(COMPLETE,))


@dataclass(frozen=True, slots=True)
class SmallerNoise:
    """Exact noise with the smaller variance: by length, or independent on each coordinate.

    Which one is taken follows from the sensitivity and the number of items, both public.
    """

    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None

    @property
    def delta(self) -> Fraction:
        """0: losses hold outright."""
        return Fraction(0)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Rows:
        """Return the rows plus noise."""
        chosen = self._of(rows.shape[1], epsilon, sensitivity)
        return chosen.mask(rows, epsilon, sensitivity, source)

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return the epsilon of changing `units` units together; the same for both noises."""
        return LAPLACE.loss(epsilon, sensitivity, units=units)

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return a contrast of 1 and the variance: sums are not biased."""
        return self._of(size, epsilon, sensitivity).fidelity(epsilon, sensitivity, size)

    @staticmethod
    def _of(size: int, epsilon: Fraction, sensitivity: Sensitivity) -> AdditiveNoise:
        # Noise by length is drawn for such losses a step, and in no time for so many items.
        drawn = _SMALLEST <= epsilon <= sensitivity.euclidean
        if size > _MOST_BY_LENGTH or not drawn:
            return LAPLACE
        kinds = (LAPLACE, NORM)
        return min(kinds, key=lambda kind: kind.fidelity(epsilon, sensitivity, size).variance)


@register
@dataclass(frozen=True)
class ItemRankings(ItemMechanism):
    """Publish Borda scores of named items, with noise that hides each voter's whole ranking.

    A ranking of m items is given as its m (m - 1) / 2 pairs, as `Rankings.comparisons` makes them;
    items that a voter did not rank are not compared.

    Parameters
    ----------
    unit : {"voter"}
    epsilon, weights, most, trust
        As for `ItemWins`.
    design : {"unknown", "complete"}
        What the plan of the questions says, before anybody answered. ``"complete"``: every voter is
        asked to rank all items; weights are then Plackett-Luce strengths with standard errors.
        ``"unknown"``: weights are scores from -1 to 1, as if all voters ranked all items.

    Privacy
    -------
    Protects each voter, with all that the voter ranked and how many items that are. Neighbours: the
    ranking of one voter, or all of the voter's, is replaced by any other or by none. Each pair of
    items counts once, so two voters' scores of K items differ by at most ``2 floor(K**2 / 2)`` in
    all and by a length of at most ``2 sqrt(K (K**2 - 1) / 3)``, which a ranking and its reverse
    attain. Independent discrete Laplace noise or exact noise by length, whichever is smaller, costs
    epsilon.
    """

    unit: Unit = "voter"
    design: RankingDesign = "unknown"

    name = "item-rankings"
    units = BordaScores.units

    def compose(self) -> Composition:
        """Return Borda scores with the smaller noise."""
        trust = whose_noise(self.trust, self.weights, self.most)
        return Composition(BordaScores(self.design), SmallerNoise(), trust)
