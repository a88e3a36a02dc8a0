"""The reports to a ranking: mean ranks, and which item is ranked first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from masquerade.estimation import (
    Ahead,
    Crowd,
    Estimate,
    Figures,
    Plausibility,
    Ranks,
    RankSums,
    Reports,
    Test,
    first_options,
    levels_alike,
    model_shares,
    model_strengths,
    ratios,
)
from masquerade.estimation.figures import CONFIDENCE
from masquerade.estimation.sums import SummedPeople
from masquerade.estimation.weights import RowWeights
from masquerade.exact.arrays import Floats, on_simplex
from masquerade.mechanisms import MaskedOrder
from masquerade.results.reports import SentReports
from masquerade.surveys.question_encoding import NoisySums, Ranked


@dataclass(frozen=True, eq=False)
class RankReports:
    """Reports to a ranking: masked orders of a few items at each level.

    Attributes
    ----------
    crowd : Crowd
        Of sums of ranks, and of who answered.
    sent : tuple of (SentReports, MaskedOrder)
        For each level.
    items : int
    """

    crowd: Crowd
    sent: tuple[tuple[SentReports, MaskedOrder], ...]
    items: int
    plausibility: Plausibility | None = None
    # Shares of first choices that two parties counted.
    firsts: tuple[Estimate, ...] = ()
    weights: tuple[RowWeights, ...] = ()

    @classmethod
    def of(
        cls,
        sent: Sequence[SentReports],
        pool: Sequence[float] | None,
        bound: float,
        weights: tuple[RowWeights, ...] = (),
    ) -> RankReports:
        """Return the reports of all levels."""
        masked = []
        for one in sent:
            mask = one.mask.as_orders
            assert mask is not None
            masked.append((one, mask))
        groups: list[Reports] = []
        for level, (one, mask) in enumerate(masked):
            own = weights[level] if weights else None
            plain = Ranks.of(one.code, one.people if own is None else own.people, mask)
            groups.append(plain if own is None else own.weigh(plain, np.arange(len(one.code))))
        # Ranks of two levels may differ by the bound in widths of their range.
        crowd = Crowd.of(groups, pool=pool, bound=bound)
        return cls(crowd, tuple(masked), masked[0][1].items, weights=weights)

    @classmethod
    def of_sums(
        cls, encoding: Ranked, sums: NoisySums, states: NoisySums | None, people: SummedPeople
    ) -> RankReports:
        """Return the sums of two parties."""
        m, n = len(encoding.items), float(people.count)
        unit, value = 2 * (m - 1), np.asarray(sums.values, dtype=np.float64)
        given = (n, 0.0) if states is None else (float(states.values[0]), states.variance)
        counts = value[:m] / unit
        totals = RankSums(n, value[m:] / 2, sums.variance / 4, given, counts, encoding.top)
        rest = max(n - float(counts.sum()), 0.0)
        first = Crowd.of([people.sums([*counts, rest], sums.variance / unit**2)])
        whole = np.append(np.ones(m), 0.0)
        shares = ratios(first, np.eye(m, m + 1), whole).estimates()
        return cls(Crowd.of([totals]), (), m, firsts=tuple(shares))

    @property
    def reported(self) -> list[float]:
        """No shares."""
        return []

    def shares(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return nothing: a ranking has no shares."""
        return ()

    def answered(self, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return nothing: a ranking has no shares."""
        return ()

    def answering(self) -> float:
        """Return the estimated share of respondents."""
        return min(max(float(self.crowd.values(np.eye(self.items + 1)[-1:])[0]), 0.0), 1.0)

    @cached_property
    def ranks(self) -> Figures:
        """The mean rank of each item, among respondents."""
        return self._ranks(np.eye(self.items), 1.0, float(self.items))

    def _ranks(self, scores: Floats, low: float, high: float) -> Figures:
        part = np.hstack([scores, np.zeros((len(scores), 1))])
        whole = np.eye(self.items + 1)[-1]
        return ratios(self.crowd, part, whole, low=low, high=high)

    def first_choices(self) -> Floats | None:
        """Return the share of first choices, of each item: counted, or by a model.

        None where noise is all there is: where the number of answers comes out as 0 or fewer.
        """
        if self.firsts:
            counted = np.array([one.value for one in self.firsts])
            return on_simplex(counted) if np.isfinite(counted).all() else None
        # The slope of a weighted likelihood is right on average through masks, with weights of any
        # sign: they come from other questions than the order.
        people = [one.count * one.total for one in self.weights]
        people = people or [one.people.astype(np.float64) for one, _ in self.sent]
        rows = zip(self.sent, people, strict=True)
        return model_shares([(one.code, count, mask) for (one, mask), count in rows])

    def strengths(self) -> tuple[Estimate, ...]:
        """Return the strength of each item by a model.

        None where first choices were counted, or people are weighed: errors of the model are of
        people who count alike.
        """
        if self.firsts or self.weights:
            return ()
        reach = float(ndtri(0.5 + CONFIDENCE / 2))
        found = model_strengths([(one.code, one.people, mask) for one, mask in self.sent])
        rows = zip(*(one.tolist() for one in found), strict=True)
        # The errors of sampling and of masks are not told apart.
        return tuple(
            Estimate(
                value,
                error,
                math.nan,
                math.nan,
                value - reach * error,
                value + reach * error,
                value,
            )
            for value, error in rows
        )

    def mean_figures(self) -> Figures | None:
        """Return nothing: there is a mean rank for each item."""
        return None

    def share_figures(self, place: int) -> Figures:
        """Return the mean rank of one item."""
        return self._ranks(np.eye(self.items)[[place]], 1.0, float(self.items))

    def ahead(self) -> Ahead | None:
        """Return which item has the best mean rank, or may have it."""
        unit, most = np.eye(self.items), float(self.items - 1)

        def pairs(first: int, others: Sequence[int]) -> Figures:
            return self._ranks(unit[list(others)] - unit[first], -most, most)

        value = np.nan_to_num(self.ranks.value, nan=float(self.items))
        return first_options(-value, pairs, n=self.crowd.n)

    def levels_alike(self) -> Test:
        """Test whether levels have the same mean ranks."""
        return levels_alike(self.crowd, np.eye(self.items + 1)[: self.items])

    def at_level(self, place: int) -> RankReports:
        """Return the reports of one level by themselves."""
        here = self.sent[place : place + 1]
        return RankReports(Crowd.of([self.crowd.groups[place]]), here, self.items)
