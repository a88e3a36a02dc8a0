"""What the release engines reach: errors at equal epsilon, real data, and time.

Run with ``python benchmarks/release.py [errors] [real] [speed]``; by default all three, at small
size all but ``real``, which needs the data sets named by ``MASQUERADE_DATA``. Errors are relative
integrated squared errors, means over repetitions with standard errors; ratios in the table are
against ``hist``.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from card import Cards, sized
from masquerade.answers import Claims
from masquerade.release import (
    Domain,
    Engine,
    GroupedClaims,
    Histogram,
    Mixtures,
    PooledHistogram,
    TwoPassHistogram,
    fit_density,
    ise,
    simulate,
)
from masquerade_papers.priscrowd.engine import PrisCrowd, UniformPrisCrowd
from masquerade_papers.priscrowd.local_noise import LocalNoise
from masquerade_papers.priscrowd.proven_test import ProvenTest

CARDS = Cards(__file__)
OBJECTS, REPETITIONS = 120, sized(2, 5)
ENDS = (-20, 20)


def crowd(rng: np.random.Generator, users: int, kind: str) -> tuple[GroupedClaims, Mixtures]:
    """Return claims of every user about every object, and the densities of reliable claims.

    Truths are uniform on -12 to 12, spreads of reliable claims log-uniform on 0.8 to 2.

    - ``heavy``: a fifth of the users err with three times the spread and Student's t, 2 degrees.
    - ``copied``: three tenths of the users put seven tenths of their claims on one wrong value.
    - ``two-modes``: no bad users; each object has two true values of random shares.
    """
    truth = rng.uniform(-12, 12, OBJECTS)
    spread = np.exp(rng.uniform(np.log(0.8), np.log(2.0), OBJECTS))
    noise = rng.standard_normal((OBJECTS, users))
    values = truth[:, None] + spread[:, None] * noise
    densities = Mixtures(np.arange(OBJECTS + 1), truth, np.ones(OBJECTS), spread)
    if kind == "heavy":
        bad = rng.random(users) < 0.2
        wide = truth[:, None] + 3 * spread[:, None] * rng.standard_t(2, (OBJECTS, users))
        values = np.where(bad, wide, values)
    elif kind == "copied":
        bad = rng.random(users) < 0.3
        wrong = rng.uniform(-12, 12, OBJECTS)[:, None] + 0.5 * spread[:, None] * noise
        copies = bad & (rng.random((OBJECTS, users)) < 0.7)
        values = np.where(copies, wrong, values)
    else:
        other, share = rng.uniform(-12, 12, OBJECTS), rng.uniform(0.3, 0.7, OBJECTS)
        second = rng.random((OBJECTS, users)) >= share[:, None]
        values = np.where(second, values + (other - truth)[:, None], values)
        densities = Mixtures(
            2 * np.arange(OBJECTS + 1),
            np.stack((truth, other), axis=1).ravel(),
            np.stack((share, 1 - share), axis=1).ravel(),
            np.repeat(spread, 2),
        )
    return every_cell(values), densities


def every_cell(values: np.ndarray) -> GroupedClaims:
    """Return claims of every user about every object."""
    objects, users = values.shape
    return GroupedClaims(
        pa.array([f"o{i:06}" for i in range(objects)]),
        pa.array([f"u{j:06}" for j in range(users)]),
        values.ravel(),
        np.tile(np.arange(users, dtype=np.int32), objects),
        np.arange(objects + 1) * users,
    )


def engines(epsilon: float) -> list[Engine]:
    """Return all engines with a guarantee, each object getting `epsilon`."""
    return [
        Histogram(epsilon=epsilon, domain=ENDS),
        PooledHistogram(epsilon=epsilon, domain=ENDS),
        TwoPassHistogram(epsilon=epsilon * OBJECTS, domain=ENDS, unit="user", cap=OBJECTS),
        ProvenTest(epsilon=epsilon, domain=ENDS, bandwidth=1.5),
        LocalNoise(epsilon=epsilon, domain=ENDS),
    ]


def errors() -> None:
    """Print errors at equal epsilon on made-up crowds."""
    cells = [
        (10, 2.0),
        (10, 8.0),
        (20, 1.0),
        (20, 4.0),
        (50, 1.0),
        (50, 4.0),
        (200, 1.0),
        (200, 2.0),
        (200, 4.0),
    ]
    cells = sized([(20, 1.0), (50, 4.0)], cells)
    print(
        f"\n{OBJECTS} objects, domain {ENDS}, {REPETITIONS} repetitions; test-honest has delta .01"
    )
    print("crowd n epsilon | engine error+-standard error (ratio) ...")
    for kind in ("heavy", "copied", "two-modes"):
        for users, epsilon in cells:
            found: dict[str, list[float]] = {}
            for seed in range(REPETITIONS):
                rng = np.random.default_rng([seed, users])
                claims, truth = crowd(rng, users, kind)
                for engine in engines(epsilon):
                    error = ise(truth, simulate(claims, rng, engine=engine, samples=1)).rel_ise
                    found.setdefault(engine.name, []).append(error)
                model = fit_density(claims, weights="uniform")
                found.setdefault("no privacy", []).append(ise(truth, model).rel_ise)
            base = np.mean(found["hist"])
            for name in ("hist", "pooled", "hist2", "test-honest"):
                CARDS.add(
                    f"error of {name}, {kind} crowd, {users} claims, epsilon {epsilon:g}",
                    float(np.mean(found[name])),
                    "",
                    peer="noise on every claim (basic)",
                    peer_value=float(np.mean(found["basic"])),
                )
            print(
                f"{kind:9} {users:3} {epsilon:g} |",
                "  ".join(
                    f"{name} {np.mean(e):.3f}+-{np.std(e, ddof=1) / len(e) ** 0.5:.3f}"
                    f" ({np.mean(e) / base:.2f})"
                    for name, e in found.items()
                ),
            )


def load(name: str) -> GroupedClaims:
    """Return a real data set."""
    folder = Path(os.environ["MASQUERADE_DATA"]) / name
    path = folder / "claims.csv.gz"
    return GroupedClaims.of(Claims.read(path, kind="numeric", duplicates="last"))


def inliers(claims: GroupedClaims, bandwidth: float) -> Mixtures:
    """Return the density of the claims within three robust deviations of the median."""
    kept = np.zeros(len(claims))
    for i in range(claims.n_objects):
        x = claims.value[claims.rows_of(i)]
        apart = np.abs(x - np.median(x))
        scale = 1.4826 * np.median(apart) or x.std(ddof=1)
        inside = apart <= 3 * scale + 1e-9
        kept[claims.rows_of(i)] = inside / inside.sum()
    width = np.full(len(claims), bandwidth)
    return Mixtures(claims.offset, claims.value, kept, width)


REAL: dict[str, tuple[Domain, float]] = {
    "population": (Domain(0, 10**8), 10**6),
    "emotion": (Domain(-100, 100), 10),
    "weather": (Domain(-40, 120), 2),
    "flights": (Domain(0, 1440), 15),
}


def real() -> None:
    """Print that every engine completes on real data, and the errors on `emotion`."""
    for name, (domain, bandwidth) in REAL.items():
        claims = load(name)
        print(f"\n{name}: {len(claims)} claims, {claims.n_objects} objects, {claims.n_users} users")
        reference = fit_density(claims, bandwidth=bandwidth)
        for engine in (
            Histogram(epsilon=1, domain=domain, bandwidth=bandwidth),
            PooledHistogram(epsilon=1, domain=domain, bandwidth=bandwidth),
            TwoPassHistogram(epsilon=10, domain=domain, bandwidth=bandwidth, unit="user"),
            LocalNoise(epsilon=1, domain=domain),
            ProvenTest(epsilon=1, domain=domain, bandwidth=bandwidth),
            PrisCrowd(),
            UniformPrisCrowd(),
        ):
            started = time.perf_counter()
            data = reference if isinstance(engine, PrisCrowd) else claims
            release = simulate(data, np.random.default_rng(1), engine=engine)
            seconds = time.perf_counter() - started
            drawn = ", ".join(f"{s} {n}" for s, n in release.statuses.items())
            shown = "–"
            if all(s == "ok" for s in release.status):
                shown = f"{ise(reference, release).rel_ise:.3f}"
            print(f"  {engine.name:12} {seconds:6.2f} s  {drawn}; error {shown}")
    emotion()


def emotion() -> None:
    """Print errors on `emotion` at the level of claims, 11 bins, bandwidth 10."""
    claims = load("emotion")
    print("\nemotion, claim level, 11 bins; against inliers, bandwidth 10")
    reference = inliers(claims, 10.0)
    for epsilon in (1.0, 2.0, 4.0, 8.0):
        ends, public = (-100, 100), {"bins": 11, "bandwidth": 10.0}
        made: list[Engine] = [
            Histogram(epsilon=epsilon, domain=ends, **public),  # type: ignore[arg-type]
            PooledHistogram(epsilon=epsilon, domain=ends, **public),  # type: ignore[arg-type]
            ProvenTest(epsilon=epsilon, domain=ends, bandwidth=10),
            LocalNoise(epsilon=epsilon, domain=ends),
        ]
        row = []
        for engine in made:
            found = [
                ise(reference, simulate(claims, np.random.default_rng(s), engine=engine)).rel_ise
                for s in range(REPETITIONS)
            ]
            row.append(f"{engine.name} {np.mean(found):.3f}+-{np.std(found, ddof=1) / 5**0.5:.3f}")
        print(f"  epsilon {epsilon:g}: {'  '.join(row)}")


def speed() -> None:
    """Print times of weights and releases."""
    rng = np.random.default_rng(0)
    print("\nspeed")
    made = (
        Histogram(epsilon=1, domain=ENDS),
        PooledHistogram(epsilon=1, domain=ENDS),
        TwoPassHistogram(epsilon=10**3, cap=10**3, domain=ENDS, unit="user"),
        PrisCrowd(),
    )
    few = every_cell(rng.standard_normal((10, 20)))
    for engine in made:
        simulate(few, rng, engine=engine)  # libraries are loaded with the first release
    for objects, each in sized(
        ((5_000, 20), (100, 1_000)), ((50_000, 20), (10_000, 100), (100, 10_000))
    ):
        truth = rng.uniform(-12, 12, (objects, 1))
        claims = every_cell(truth + rng.standard_normal((objects, each)))
        started = time.perf_counter()
        model = fit_density(claims)
        weights = time.perf_counter() - started
        CARDS.add(f"weights, {objects:,} objects of {each:,} claims", weights, "s")
        row = []
        for engine in made:
            started = time.perf_counter()
            simulate(model, rng, engine=engine)
            taken = time.perf_counter() - started
            row.append(f"{engine.name} {taken:.1f} s")
            CARDS.add(f"{engine.name}, {objects:,} objects of {each:,} claims", taken, "s")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"  {objects} objects x {each} claims: weights {weights:.1f} s, {', '.join(row)}; "
            f"peak memory so far {memory:.2f} GB"
        )
    if "MASQUERADE_DATA" not in os.environ:
        return
    claims = load("population")
    times = []
    for _ in range(3):
        started = time.perf_counter()
        model = fit_density(claims, global_form="sum")
        times.append(time.perf_counter() - started)
    print(f"  population weights {min(times):.2f} s")
    for small in ("skip", "try"):
        started = time.perf_counter()
        release = simulate(model, rng, engine=PrisCrowd(small=small))
        seconds = time.perf_counter() - started
        print(
            f"  population, 30 test-paper releases, small={small}: {seconds:.2f} s, "
            f"{release.statuses}, {release.collector['attempts']} attempts"
        )


def main() -> None:
    """Run the parts that are asked for."""
    parts = {"errors": errors, "real": real, "speed": speed}
    asked = sys.argv[1:] or sized(["errors", "speed"], list(parts))
    for name in asked:
        if name == "real" and "MASQUERADE_DATA" not in os.environ:
            print("real: name the folder of the data sets in MASQUERADE_DATA")
            continue
        parts[name]()


if __name__ == "__main__":
    main()
