"""Errors of releases of claims: rows, means and ranks, beside a plain noisy mean and histogram.

Run with ``python benchmarks/release.py``. MovieLens needs ``MASQUERADE_DATA``. Errors are against
the claims themselves, in hundredths of the domain's width.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.release import GroupedClaims, errors_of, simulate_release
from masquerade.release.comparison import wasserstein

CARDS = Cards(__file__)
SEEDS = sized(1, 4)
EPSILONS = (0.25, 0.5, 1, 2, 4, 8)
FILMS = 300


@dataclass(frozen=True, slots=True)
class Case:
    """Claims with their public range."""

    name: str
    claims: GroupedClaims
    low: float
    high: float
    step: str | None


def made_up(name: str, objects: int, users: int, seed: int) -> Case:
    """Return claims of a made-up crowd."""
    rng = np.random.default_rng([seed, objects, users])
    centre, step, high = rng.uniform(2, 8, (objects, 1)), None, 10.0
    if name == "ratings":
        high, step = 5.0, "1"
        middle = rng.uniform(2, 4.5, (objects, 1))
        values = np.clip(np.rint(rng.normal(middle, 1, (objects, users))), 1, 5)
    elif name == "yes or no":
        high, step = 1.0, "1"
        values = (rng.random((objects, users)) < rng.beta(2, 2, (objects, 1))).astype(float)
    elif name == "heavy tails":
        values = np.clip(centre + 0.6 * rng.standard_t(1.5, (objects, users)), 0, 10)
    else:
        values = np.clip(rng.lognormal(np.log(centre / 2), 0.4, (objects, users)), 0, 10)
    table = {
        "task": np.repeat(np.arange(objects), users),
        "worker": np.tile(np.arange(users), objects),
        "value": values.ravel(),
    }
    low = 1.0 if name == "ratings" else 0.0
    title = f"{name}, {objects} x {users}"
    return Case(title, GroupedClaims.of(table), low, high, step)


def films() -> Case | None:
    """Return the films of MovieLens with most ratings, where they are there."""
    folder = os.environ.get("MASQUERADE_DATA")
    path = Path(folder or ".") / "movielens_small" / "claims.csv.gz"
    if not folder or not path.is_file():
        return None
    claims = GroupedClaims.of(Claims.read(path, kind="numeric", duplicates="last"))
    most = np.argsort(-claims.count, kind="stable")[:FILMS]
    names = [claims.objects[int(i)].as_py() for i in most]
    return Case(f"MovieLens, {FILMS} films", claims.about(names), 0.5, 5.0, "0.5")


def plain(case: Case, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the error of a Laplace mean, and of the rows of a noisy histogram, of each object."""
    claims, width = case.claims, case.high - case.low
    grid = np.linspace(case.low, case.high, 11 if case.step is None else _answers(case))
    means, rows = [], []
    for index in range(claims.n_objects):
        values = claims.value[claims.rows_of(index)]
        noise = rng.laplace(0, width / (len(values) * epsilon))
        means.append(
            abs(float(np.clip(values.mean() + noise, case.low, case.high) - values.mean()))
        )
        cell = np.abs(values[:, None] - grid).argmin(axis=1)
        counts = np.bincount(cell, minlength=grid.size) + rng.laplace(0, 2 / epsilon, grid.size)
        shares = np.maximum(counts, 0)
        shares = shares / shares.sum() if shares.sum() else np.full(grid.size, 1 / grid.size)
        rows.append(wasserstein(values, rng.choice(grid, len(values), p=shares)))
    return 100 * float(np.mean(means)) / width, 100 * float(np.mean(rows)) / width


def _answers(case: Case) -> int:
    return round((case.high - case.low) / float(case.step or 1)) + 1


def main() -> None:
    """Measure and print."""
    cases = [
        made_up("ratings", 60, 20, 1),
        made_up("yes or no", 60, 20, 2),
        made_up("lognormal", 60, 20, 3),
        made_up("lognormal", 60, 200, 4),
        made_up("heavy tails", 60, 20, 5),
    ]
    real = films()
    for case in cases if real is None else [real, *cases]:
        for epsilon in EPSILONS:
            _measure(case, epsilon)


def _measure(case: Case, epsilon: float) -> None:
    width = case.high - case.low
    found = {"claims": [], "means": []}  # type: dict[str, list[tuple[float, float, float]]]
    beside = []
    started = time.perf_counter()
    for seed in range(SEEDS):
        beside.append(plain(case, epsilon, np.random.default_rng([seed, 9])))
        for aim, each in found.items():
            made = simulate_release(
                case.claims,
                np.random.default_rng(seed),
                epsilon=epsilon,
                domain=(str(case.low), str(case.high)),
                step=case.step,
                aim=aim,
            )
            errors = errors_of(made, case.claims)
            each.append((errors.wasserstein, errors.mean, errors.rank_correlation))
    seconds = (time.perf_counter() - started) / SEEDS
    whole, direct = (np.mean(each, axis=0) for each in found.values())
    laplace, histogram = np.mean(beside, axis=0)
    CARDS.add(
        f"distance of the rows, {case.name}, epsilon {epsilon}",
        float(100 * whole[0] / width),
        "",
        peer="rows of a noisy histogram",
        peer_value=float(histogram),
        note=f"for means {100 * direct[0] / width:.3g}; {seconds:.1f} s",
    )
    CARDS.add(
        f"error of the means, {case.name}, epsilon {epsilon}",
        float(100 * direct[1] / width),
        "",
        peer="a Laplace mean",
        peer_value=float(laplace),
        note=f"for claims {100 * whole[1] / width:.3g}; rank correlation {direct[2]:.3f}, for "
        f"claims {whole[2]:.3f}",
    )


if __name__ == "__main__":
    main()
