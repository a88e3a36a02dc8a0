"""Releases of made-up claims, and how often their intervals hold the true value."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.release import simulate_release

#: Objects of a release: each is a case of its own.
OBJECTS = 20
#: Ways of a release that its intervals have to allow for.
WAYS = ("plain", "list", "weights", "attributes", "means")
SHAPES: dict[str, tuple[float, float, int | None]] = {
    "ratings": (1, 5, 1),
    "yes or no": (0, 1, 1),
    "both ends": (0, 10, None),
    "lognormal": (0, 10, None),
}


def _claims(shape: str, users: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return values, shape (objects, users), and the mean of each object's distribution."""
    size = (OBJECTS, users)
    share = rng.beta(2, 2, (OBJECTS, 1))
    if shape == "yes or no":
        return (rng.random(size) < share).astype(np.float64), share[:, 0]
    if shape == "both ends":
        values = np.where(rng.random(size) < share, 10.0, 0.0)
        return values, 10 * share[:, 0]
    if shape == "ratings":
        middle = rng.uniform(2, 4.5, (OBJECTS, 1))
        wide = np.clip(np.rint(rng.normal(middle, 1, (OBJECTS, 20_000))), 1, 5)
    else:
        middle = rng.uniform(1, 4, (OBJECTS, 1))
        wide = np.clip(rng.lognormal(np.log(middle), 0.4, (OBJECTS, 20_000)), 0, 10)
    return wide[:, :users], wide.mean(axis=1)


class _Held:
    """Counts of intervals that hold, by the figure that they are about."""

    def __init__(self) -> None:
        self.held: dict[str, list[bool]] = {}

    def add(self, figure: str, low: float, value: float, high: float) -> None:
        self.held.setdefault(figure, []).append(low - 1e-9 <= value <= high + 1e-9)


@lru_cache(maxsize=4)
def _rates(runs: int, seed: int) -> dict[str, dict[str, float]]:
    """Return the rate of each figure in each case."""
    found: dict[str, dict[str, float]] = {}
    for way in WAYS:
        for shape in SHAPES:
            for epsilon, users in ((1, 20), (4, 5)):
                held = _Held()
                for run in range(max(runs // OBJECTS, 1)):
                    _one(way, shape, (epsilon, users), np.random.default_rng([seed, run]), held)
                for figure, each in held.held.items():
                    case = f"{way}, {shape}, epsilon {epsilon}, {users} claims"
                    found.setdefault(figure, {})[case] = float(np.mean(each))
    return found


def rates_of(figure: str) -> Callable[[int, int], dict[str, float]]:
    """Return the rates of one figure, as a row of the table takes them."""
    return lambda runs, seed: _rates(runs, seed)[figure]


def _one(
    way: str, shape: str, size: tuple[int, int], rng: np.random.Generator, held: _Held
) -> None:
    """Release one made-up crowd and note which intervals hold."""
    epsilon, users = size
    low, high, step = SHAPES[shape]
    values, source = _claims(shape, users, rng)
    weight, shift = np.ones(users), np.zeros(values.shape, dtype=np.int64)
    names = [f"o{i:02}" for i in range(OBJECTS)]
    table: dict[str, Any] = {
        "task": np.repeat(names, users),
        "worker": np.tile([f"u{j:02}" for j in range(users)], OBJECTS),
        "value": values.ravel(),
    }
    more: dict[str, Any] = {}
    if way == "list":
        more = {"listed": names, "expected": users}
    elif way == "weights":
        weight = np.where(np.arange(users) % 3 == 0, 1.0, 0.25)
        more = {"weights": {f"u{j:02}": float(weight[j]) for j in range(users)}}
    elif way == "attributes":
        shift = (rng.random(values.shape) < 0.3).astype(np.int64)
        table["shift"] = np.where(shift.ravel() == 1, "night", "day")
        more = {"attributes": {"shift": ["day", "night"]}}
    elif way == "means":
        more = {"aim": "means"}
    made = simulate_release(table, rng, epsilon=epsilon, domain=(low, high), step=step, **more)
    shares = made.shares.to_pylist() if "low" in made.shares.column_names else []
    for one in made.summary.to_pylist():
        index = int(one["task"][1:])
        chosen = shift[index] == (one.get("shift") == "night")
        own, weights = values[index][chosen], weight[chosen]
        if "claims_low" in one:
            held.add("claims", one["claims_low"], len(own), one["claims_high"])
        if not len(own):
            continue
        mean = float(np.average(own, weights=weights))
        held.add("mean", one["mean_low"], mean, one["mean_high"])
        held.add("source", one["mean_source_low"], source[index], one["mean_source_high"])
        if way != "weights":
            for level in (10, 25, 50, 75, 90):
                place = max(int(np.ceil(level / 100 * len(own) - 1e-9)) - 1, 0)
                exact = float(np.sort(own)[place])
                held.add("quantiles", one[f"q{level}_low"], exact, one[f"q{level}_high"])
        for row in shares:
            if (row["task"], row.get("shift")) == (one["task"], one.get("shift")):
                exact = float(weights[own == row["value"]].sum() / weights.sum())
                held.add("shares", row["low"], exact, row["high"])
