"""Intervals of ranks: which pairs are decided, and which items may be first."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.preference.rank_intervals import behind_best, rank_intervals


def test_the_critical_value_is_that_of_all_pairs_together() -> None:
    """For equal independent errors it is the studentized range's .95 quantile over sqrt 2.

    Of 3, 4 and 10 items 2.344, 2.569 and 3.164 (tables of Tukey's test, infinite degrees of
    freedom); 1000 draws leave a standard deviation of .03, so .17 fails by chance below 1e-6.
    """
    for items, quantile in ((3, 2.344), (4, 2.569), (10, 3.164)):
        found = rank_intervals(np.zeros(items), np.eye(items), seed=1)
        assert found.critical == pytest.approx(quantile, abs=0.17)
        assert not found.better.any()


def test_a_pair_is_decided_above_the_critical_value_alone() -> None:
    """Three items: a gap just above the critical value decides, one just below does not."""
    critical = rank_intervals(np.zeros(3), np.eye(3), seed=7).critical
    gap = critical * np.sqrt(2)
    for factor, decided in ((0.999, False), (1.001, True)):
        strengths = np.array([gap * factor, 0.0, 0.5 * gap])
        found = rank_intervals(strengths, np.eye(3), seed=7)
        assert found.better[0, 1] == decided
        assert found.low[1] == 1 + decided


def test_an_item_behind_by_no_more_than_chance_may_be_first() -> None:
    """Behind by the .95 quantile of its own draws it stays, by more it goes."""
    behind = np.tile(np.linspace(0, 1, 101)[:, None], 2)
    for ahead, may in ((0.949, True), (0.951, False)):
        apart = np.array([[0.0, ahead], [-ahead, 0.0]])
        assert behind_best(apart, behind, 0.95).tolist() == [True, may]
