"""The one measurement: what neighbours change in it, enumerated; and its noise."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.errors import InsufficientBudget
from masquerade.exact import Micro, SimulatedCoins
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import WordSource
from masquerade.release import Domain, GroupedClaims, ReleaseParameters, measurement, release
from masquerade.release.measurement import UNITS, coded, measured

Rows = list[tuple[str, str, float]]
VALUES = (0.0, 1.0, 2.0, 3.0)


def parameters(**changed: Any) -> ReleaseParameters:
    """Return public parameters of a release of four answers."""
    words: dict[str, Any] = {"epsilon": 1, "domain": (0, 3), **changed}
    return ReleaseParameters(**words)


class Exact:
    """Noise that is not there, and the scales that were asked for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.laplace: list[Fraction] = []
        self.simplex: list[Fraction] = []

        def laplace(_source: WordSource, scale: Fraction, size: int) -> Any:
            self.laplace.append(scale)
            return np.zeros(size, dtype=np.int64)

        def simplex(_source: WordSource, scale: Fraction, rows: int, count: int) -> Any:
            self.simplex.append(scale)
            return np.zeros((rows, count), dtype=np.int64)

        patch.setattr(measurement, "discrete_laplace", laplace)
        patch.setattr(measurement, "noise_of_sum_zero", simplex)


def counts(rows: Rows, made: ReleaseParameters, duplicates: str = "error") -> tuple[Any, Any]:
    """Return the soft counts and the pool's counts of a table, flat."""
    table = {name: [row[i] for row in rows] for i, name in enumerate(("task", "worker", "value"))}
    claims = GroupedClaims.of(table, duplicates=duplicates)  # type: ignore[arg-type]
    if made.listed is not None:
        claims = claims.about(made.listed)
    cell, weight = np.zeros(len(claims), dtype=np.int64), np.ones(len(claims), dtype=np.int64)
    if made.weights:
        units = [round(UNITS * made.weights.get(u, 1.0)) for u in claims.users.to_pylist()]
        weight = np.array(units)[claims.user]
    (group,) = coded(claims, cell, weight, made)
    found = measured(group, made, SimulatedCoins(np.random.default_rng(0)))
    pool = np.zeros(1) if found.measured_pool is None else found.measured_pool.counts
    return found.counts.ravel().astype(float), pool


def distance(one: Floats, other: Floats) -> float:
    """Return the L1 distance."""
    return float(np.abs(one - other).sum())


BASE: Rows = [("a", "v", 0.0), ("a", "w", 3.0), ("a", "x", 1.0), ("b", "v", 2.0)]


@pytest.mark.parametrize("knots", [2, 3, 4])
@pytest.mark.parametrize("step", [None, "1"])
def test_exact_a_replaced_value_costs_epsilon_and_no_more(
    knots: int, step: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of values of one user: table and pool together cost 1, and it is reached."""
    exact = Exact(monkeypatch)
    made = parameters(knots=knots, domain=Domain(0, 3, step=step))
    worst = 0.0
    for one, other in itertools.combinations(VALUES, 2):
        (first, pool), (second, moved) = (
            counts([*BASE, ("b", "u", value)], made) for value in (one, other)
        )
        cost = distance(first, second) / float(exact.simplex[-1])
        if exact.laplace:
            cost += distance(pool, moved) / float(exact.laplace[-1])
        assert cost <= 1 + 1e-12
        worst = max(worst, cost)
    assert worst == pytest.approx(1)


@pytest.mark.parametrize("weight", [13 / 256, 64 / 256, 1.0])
def test_exact_public_weights_cost_epsilon(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The heaviest value moves its counts the most; the noise of its object is made for it."""
    exact = Exact(monkeypatch)
    made = parameters(knots=4, weights={"u": weight, "v": 13 / 256, "w": 13 / 256, "x": 13 / 256})
    (first, pool), (second, moved) = (
        counts([*BASE, ("a", "u", value)], made) for value in (0.0, 3.0)
    )
    cost = distance(first, second) / float(max(exact.simplex))
    cost += distance(pool, moved) / float(exact.laplace[-1])
    assert cost == pytest.approx(1)


@pytest.mark.parametrize("duplicates", ["error", "first", "last", "mean"])
def test_exact_all_that_a_user_said_of_a_listed_object_costs_epsilon(
    duplicates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added or removed, with one row or with two: 1; replaced: 2, which a ledger is charged."""
    exact = Exact(monkeypatch)
    made = parameters(listed=["a", "b"], expected=20, knots=4)
    said = [[("b", "u", 3.0)], [("b", "u", 0.0)]]
    if duplicates != "error":
        said += [[("b", "u", 3.0), ("b", "u", 0.0)], [("b", "u", 1.0), ("b", "u", 1.0)]]
    without, pool = counts(BASE, made, duplicates)
    scale, pooled = float(exact.laplace[-1]), float(exact.laplace[-2])
    costs = []
    for rows in said:
        table, other = counts([*BASE, *rows], made, duplicates)
        # the pool's counts are corrected to their own total, so they are counted here
        costs.append(distance(table, without) / scale + 1 / pooled)
        del other
    assert max(costs) == pytest.approx(1)
    both = [counts([*BASE, *rows], made, duplicates)[0] for rows in said[:2]]
    assert distance(*both) / scale + 2 / pooled == pytest.approx(2)
    assert made.charged(1) == Micro(2_000_000)
    del pool


def test_exact_an_unlisted_claim_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims about other objects leave no trace."""
    Exact(monkeypatch)
    made = parameters(listed=["a", "b"], expected=20)
    one, other = (counts([*BASE, *more], made)[0] for more in ([], [("c", "u", 3.0)]))
    assert distance(one, other) == 0


def test_the_noise_for_adding_is_too_little_for_replacing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test has teeth: with the scale of a list a replaced value costs twice."""
    exact = Exact(monkeypatch)
    listed = parameters(listed=["a", "b"], expected=20, knots=4)
    counts(BASE, listed)
    adding = float(exact.laplace[-1])
    plain = parameters(knots=4)
    (first, _), (second, _) = (counts([*BASE, ("b", "u", v)], plain) for v in (0.0, 3.0))
    assert distance(first, second) / adding == pytest.approx(2 * 0.9)


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_user_counts_with_more_objects_than_the_cap(cap: int) -> None:
    """Of users about 1 to 5 objects, each keeps the cap's number of claims, or all they have."""
    rows = [(f"o{place}", f"u{many}", 1.0) for many in range(1, 6) for place in range(many)]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("task", "worker", "value"))}
    claims = GroupedClaims.of(table)
    kept = claims.capped(cap, SimulatedCoins(np.random.default_rng(0)))
    assert sorted(kept.objects_per_user().tolist()) == sorted(min(m, cap) for m in range(1, 6))


def test_a_user_pays_for_the_objects_that_are_used() -> None:
    """With a cap of 2, a user about three objects pays for two; a list charges twice."""
    rows = {"task": ["a", "b", "c"], "worker": ["u"] * 3, "value": [1.0, 2.0, 3.0]}
    for more, cost in (({}, 1), ({"listed": ["a", "b", "c"], "expected": 20}, 2)):
        made = parameters(per_user=2, **more)
        book = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(2_500_000)))
        release(rows, made, ledger=book)
        assert book.balance("u").spent_epsilon == cost * 1_000_000
        if cost == 2:
            with pytest.raises(InsufficientBudget):
                release(rows, made, ledger=book)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("knots", [2, 4])
def test_audit_no_event_of_a_measurement_betrays_more_than_epsilon(
    *, listed: bool, knots: int
) -> None:
    """8,000 measurements of each of two worst neighbours; false alarm 1e-6."""
    copies = 8000
    more: dict[str, Any] = (
        {"listed": [str(i) for i in range(copies)], "expected": 3} if listed else {}
    )
    made = parameters(epsilon=2, knots=knots, pool=0, **more)
    scores = []
    for seed, value in enumerate((3.0, None if listed else 0.0)):
        rows = [(str(i), f"v{i}", 0.0) for i in range(copies)]
        if value is not None:
            rows += [(str(i), f"u{i}", value) for i in range(copies)]
        table = {n: [row[i] for row in rows] for i, n in enumerate(("task", "worker", "value"))}
        claims = GroupedClaims.of(table)
        if listed:
            claims = claims.about(made.listed or [])
        ones = np.ones(len(claims), dtype=np.int64)
        (group,) = coded(claims, 0 * ones, ones, made)
        found = measured(group, made, SimulatedCoins(np.random.default_rng(seed)))
        scores.append(found.counts[:, 0, -1] / found.knots.parts)
    low, high = 0.0, 0.0
    margin = np.sqrt(np.log(2 * 40 / 1e-6) / (2 * copies))
    for cut in np.linspace(-1, 2, 20):
        shares = [float((each > cut).mean()) for each in scores]
        if shares[0] > margin:
            low = max(low, np.log((shares[0] - margin) / (shares[1] + margin)))
        rest = [1 - share for share in shares]
        if rest[1] > margin:
            high = max(high, np.log((rest[1] - margin) / (rest[0] + margin)))
    assert 0.2 < max(low, high) <= 2
