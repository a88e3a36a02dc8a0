"""Groups of alternatives that are reported together: nearly the best channel, from menus alone."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from masquerade.errors import ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.exact.arrays import Floats, Integers
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference import MenuChoices, MenuResponse
from masquerade.preference.masked_menus import MaskedMenus, plan_groups


def gain_of(groups: Integers, centred: Floats, epsilon: float) -> float:
    """Return the trace of a report's information at indifference."""
    k, total = len(centred), 0.0
    m = int(groups.max()) + 1
    other = 1 / (math.exp(epsilon) + m - 1)
    contrast = 1 - m * other
    for group in range(m):
        inside = groups == group
        moved = contrast * centred[inside].sum(axis=0) / k
        total += float(moved @ moved) / (other + contrast * inside.sum() / k)
    return total


def best_channel(centred: Floats, epsilon: float) -> float:
    """Return the same of the best epsilon-private channel of any kind (a linear program)."""
    k, e = len(centred), math.exp(epsilon)
    subsets = [s for r in range(1, k) for s in itertools.combinations(range(k), r)]
    columns = np.ones((k, len(subsets)))
    gains = []
    for place, subset in enumerate(subsets):
        columns[list(subset), place] = e
        moved = (e - 1) * centred[list(subset)].sum(axis=0) / k
        gains.append(float(moved @ moved) / (1 + (e - 1) * len(subset) / k))
    return -float(linprog(-np.array(gains), A_eq=columns, b_eq=np.ones(k)).fun)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_one_menu_is_grouped_nearly_as_well_as_any_channel_could(epsilon: float) -> None:
    """Five alternatives in two features, 20 menus: .98 of the optimum, and above each alone."""
    rng = np.random.default_rng(3)
    ours, best, single = 0.0, 0.0, 0.0
    for _ in range(20):
        values = rng.normal(size=(5, 2))
        # Whitened, so that the plan's measure of information is the trace.
        centred = values - values.mean(axis=0)
        centred = centred @ np.linalg.inv(np.linalg.cholesky(centred.T @ centred)).T
        groups = plan_groups(centred, np.array([0, 5]), [epsilon])
        ours += gain_of(groups, centred, epsilon)
        best += best_channel(centred, epsilon)
        single += gain_of(np.arange(5), centred, epsilon)
    assert single < ours <= best * (1 + 1e-9)
    assert ours > 0.98 * best


def test_the_same_menu_shown_to_all_is_grouped_in_several_ways() -> None:
    """One grouping would say something of one direction only; both weights are learned."""
    values = np.tile(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), (200, 1))
    groups = plan_groups(values, np.arange(0, 801, 4), [0.3] * 200).reshape(200, 4)
    assert len(np.unique(groups, axis=0)) > 1
    masked = MaskedMenus.grouped(
        values,
        np.arange(0, 801, 4),
        groups.ravel(),
        np.zeros(200, dtype=np.int64),
        np.full(200, 0.6),
        np.full(200, 0.4 / 3),
    )
    assert np.linalg.eigvalsh(masked.at(np.zeros(2)).information)[0] > 0


@given(st.integers(2, 9), st.integers(0, 10_000), st.floats(0.05, 5))
def test_prop_a_plan_has_two_or_more_groups_numbered_from_0(
    k: int, seed: int, epsilon: float
) -> None:
    """Any size of menu, any weights: each group has an alternative."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3 * k, 3))
    weights = None if seed % 2 else rng.normal(size=3)
    groups = plan_groups(values, np.arange(0, 3 * k + 1, k), [epsilon] * 3, weights)
    for menu in groups.reshape(3, k):
        assert sorted(set(menu.tolist())) == list(range(int(menu.max()) + 1))
        assert menu.max() >= 1


def test_exact_answers_in_planned_groups_are_within_epsilon() -> None:
    """Every pair of choices of 30 menus, every report: the ratio in fractions, at most e**1."""
    rng = np.random.default_rng(0)
    groups = plan_groups(rng.normal(size=(150, 2)), np.arange(0, 151, 5), [1.0] * 30)
    for menu in groups.reshape(30, 5).tolist():
        m = max(menu) + 1
        keep = RandomizedResponse(m, epsilon=Fraction(1)).keep_probability
        other = (1 - keep) / (m - 1)
        table = [[keep if report == group else other for report in range(m)] for group in menu]
        assert all(sum(row) == 1 for row in table)
        worst = max(a[r] / b[r] for a, b in itertools.permutations(table, 2) for r in range(m))
        assert math.log(worst) <= 1


def choices(chosen: int, *, n: int = 200) -> MenuChoices:
    """Return the same menus, of which the same place was chosen throughout."""
    rng = np.random.default_rng(7)
    columns: dict[str, Any] = {name: rng.normal(size=4 * n).tolist() for name in "xyz"}
    table = {"voter": np.repeat(np.arange(n) // 5, 4), "choice": np.repeat(np.arange(n), 4)}
    made = MenuChoices.from_frame({**table, "chosen": [1, 0, 0, 0] * n, **columns})
    return MenuChoices(
        *(made.values, made.offsets, np.full(n, chosen), made.voter, made.voters, made.features)
    )


def test_groups_are_planned_without_the_choices() -> None:
    """The first wave's groups are the same for all choices; so are all, for equal weights."""
    mechanism, weights = MenuResponse(1), np.array([1.0, -1.0, 0.5])
    plans = [mechanism.report(choices(each), weights=weights).groups for each in (0, 3)]
    assert plans[0] is not None
    assert plans[1] is not None
    assert plans[0].tolist() == plans[1].tolist()
    waves = []
    for each in (0, 3):
        coins = SimulatedCoins(np.random.default_rng(1))
        groups = mechanism._in_waves(choices(each), coins).groups
        assert groups is not None
        waves.append(groups)
    assert waves[0][: 25 * 4].tolist() == waves[1][: 25 * 4].tolist()
    assert waves[0].tolist() != waves[1].tolist()  # later ones follow what was reported


def test_reports_of_one_voter_carry_their_groups() -> None:
    """A device's report is read by its own groups; weights of other features are refused."""
    reported = MenuResponse(8).report(choices(2))
    learned = MenuResponse(8).collect(reported, public_menus=True)
    assert learned.weights.shape == (3,)
    assert 0 < learned.details["worth"] <= 1
    with pytest.raises(ParameterError, match="expected 3 finite numbers"):
        MenuResponse(8).report(choices(2), weights=[1.0])
    with pytest.raises(ParameterError, match="groups"):
        MenuResponse(8, groups="best")  # type: ignore[arg-type]
