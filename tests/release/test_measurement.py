"""The one measurement: the differences of neighbours in it, enumerated; and its noise."""

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
from masquerade.exact.loss import laplace, pure_loss
from masquerade.release import (
    Domain,
    GroupedClaims,
    ReleaseParameters,
    measurement,
    release,
    releases,
    simulate_release,
)
from masquerade.release.measurement import UNITS, Measured, coded, measured

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
    assert made.loss(1).epsilon == Micro(2_000_000)
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


class Path:
    """The whole way of a release up to its measurement, without noise: cap, list, attributes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.exact = Exact(patch)
        self.found: list[Measured] = []

        def kept(*words: Any) -> Measured:
            self.found.append(measured(*words))
            raise StopIteration

        patch.setattr(releases, "measured", kept)

    def of(self, rows: list[tuple[Any, ...]], made: ReleaseParameters) -> tuple[Floats, Floats]:
        """Return soft counts and the pool's exact counts of a table of task, worker, value, ..."""
        names = ("task", "worker", "value", *made.attributes)
        with pytest.raises(StopIteration):
            release({name: [row[i] for row in rows] for i, name in enumerate(names)}, made)
        found = self.found[-1]
        pool = found.measured_pool
        assert pool is not None
        return found.counts.ravel().astype(np.float64), pool.counts

    def cost(
        self, one: list[tuple[Any, ...]], other: list[tuple[Any, ...]], made: ReleaseParameters
    ) -> float:
        """Return the loss between two tables: distances over the scales of their noise."""
        (first, pool), (second, moved) = self.of(one, made), self.of(other, made)
        lost = distance(first, second) / float((self.exact.simplex or self.exact.laplace)[-1])
        scale = self.exact.laplace[-2] if made.hidden else self.exact.laplace[-1]
        if made.hidden and len(one) != len(other):
            # the pool's counts are corrected to their own total, so they are counted here
            return lost + abs(len(one) - len(other)) / float(scale)
        return lost + distance(pool, moved) / float(scale)


CROWD: list[tuple[Any, ...]] = [("a", "v", 0.0, "x"), ("b", "w", 3.0, "y"), ("c", "x", 2.0, "y")]
THREE: dict[str, Any] = {"listed": ["a", "b", "c"], "expected": 20}


@pytest.mark.parametrize("cap", [1, 2, 3])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("attributes", [{}, {"shift": ["x", "y"]}], ids=["plain", "attributes"])
def test_exact_a_user_with_all_claims_costs_epsilon(
    cap: int, listed: bool, attributes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all values (and categories) about as many objects as the cap: 1, reached, never passed.

    Replaced with public numbers of claims; added or removed with a list, where replaced is 2.
    """
    path = Path(monkeypatch)
    more: dict[str, Any] = {**(THREE if listed else {}), "attributes": attributes}
    made = parameters(knots=3, domain=Domain(0, 3, step=None), per_user=cap, **more)

    def user(values: tuple[float, ...], shift: str) -> list[tuple[Any, ...]]:
        said = zip("abc"[:cap], values, strict=False)
        return [*CROWD, *((name, "u", value, shift) for name, value in said)]

    tables = [user(each, s) for each in ((0.0, 0.0, 0.0), (3.0, 0.0, 1.0)) for s in "xy"]
    tables += [user((3.0, 3.0, 3.0), s) for s in "xy"]
    replaced = [path.cost(one, other, made) for one, other in itertools.combinations(tables, 2)]
    charges = made.neighbours.charges
    assert max(replaced) == pytest.approx(charges)
    if listed:
        assert max(path.cost(CROWD, one, made) for one in tables) == pytest.approx(1)
    assert made.loss(cap).epsilon == Micro(charges * 1_000_000)


@pytest.mark.parametrize("listed", [False, True])
def test_a_charge_is_what_the_accountant_composes(*, listed: bool) -> None:
    """At every order between the loss of the noise itself and that of a pure epsilon as a whole."""
    made = parameters(per_user=8, **(THREE if listed else {}))
    charged = made.loss(8)
    whole = pure_loss(charged.epsilon)
    times = 2 if listed else 1
    itself = laplace(times, Fraction(80, 9)) * 8 + laplace(8 * times, Fraction(80))
    assert charged.pure == whole.pure == times * 1_000_000
    assert all(
        a <= b <= c for a, b, c in zip(itself.orders, charged.orders, whole.orders, strict=True)
    )
    assert charged.of_order(2) < whole.of_order(2) / 2


def test_audit_a_user_with_two_objects_and_attributes_betrays_no_more_than_epsilon() -> None:
    """4,000 users of one release in each of two worst neighbours; false alarm 1e-6."""
    copies, scores = 4000, []
    for seed, (value, shift) in enumerate(((3.0, "x"), (0.0, "y"))):
        rows = [(f"{side}{i}", f"v{i}", 0.0, "x") for i in range(copies) for side in "ab"]
        rows += [(f"{side}{i}", f"u{i}", value, shift) for i in range(copies) for side in "ab"]
        names = ("task", "worker", "value", "shift")
        found: list[Measured] = []
        with pytest.MonkeyPatch.context() as patch:

            def kept(*words: Any, into: list[Measured] = found) -> Measured:
                into.append(measured(*words))
                raise StopIteration

            patch.setattr(releases, "measured", kept)
            with pytest.raises(StopIteration):
                simulate_release(
                    {name: [row[k] for row in rows] for k, name in enumerate(names)},
                    np.random.default_rng(seed),
                    epsilon=2,
                    domain=Domain(0, 3, step=None),
                    knots=2,
                    pool=0,
                    per_user=2,
                    attributes={"shift": ["x", "y"]},
                )
        counts = found[0].counts / found[0].knots.parts
        # objects in order of their names: all of side a, then all of side b
        moved = counts[:, 0, 1] - counts[:, 1, 0]
        scores.append(moved[:copies] + moved[copies:])
    margin = np.sqrt(np.log(2 * 40 / 1e-6) / (2 * copies))
    most = 0.0
    for cut in np.linspace(-4, 4, 20):
        first, second = (float((each > cut).mean()) for each in scores)
        for one, other in ((first, second), (1 - second, 1 - first)):
            if one > margin:
                most = max(most, np.log((one - margin) / (other + margin)))
    assert 0.5 < most <= 2


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
