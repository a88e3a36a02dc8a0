"""What `claims`, `source` and `wiener` reach: errors beside `hist`, steps of epsilon, and uses.

Run with ``python benchmarks/release_claims.py [cells] [steps] [uses] [emotion] [speed]``; the parts
``uses`` and ``emotion`` need the data sets named by ``MASQUERADE_DATA``. Errors are relative
integrated squared errors: *to the claims* against the kernel density of the claims that were made,
bumps at least .15 wide; *to the truth* against the density they were drawn from.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
from scipy.stats import gamma, norm, t

from card import Cards, sized
from masquerade.release import (
    Domain,
    Engine,
    GroupedClaims,
    Mixtures,
    bandwidths,
    fit_density,
    ise,
    parse_engine,
    simulate,
)
from release import every_cell, load

CARDS = Cards(__file__)
OBJECTS, REPETITIONS = 60, sized(1, 2)
LOW, HIGH = 0, 10
SMOOTH = ("unimodal", "bimodal", "skewed", "heavy")
CLAIMS = (5, 20, 50)
EPSILONS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)
LEAST_WIDTH = 0.15
AT = np.linspace(LOW - 4, HIGH + 4, 1801)


def crowd(rng: np.random.Generator, users: int, shape: str) -> tuple[GroupedClaims, np.ndarray]:
    """Return claims about objects of one shape, and the density of each at `AT`."""
    size, one = (OBJECTS, users), (OBJECTS, 1)
    centre = rng.uniform(2, 8, one)
    spread = rng.uniform(0.4, 0.9, one)
    if shape == "unimodal":
        values, truth = rng.normal(centre, spread, size), norm.pdf(AT, centre, spread)
    elif shape == "bimodal":
        spread, apart = rng.uniform(0.35, 0.7, one), rng.uniform(2.5, 4.5, one)
        first, share = rng.uniform(1.5, 8.5 - apart, one), rng.uniform(0.3, 0.7, one)
        left = rng.random(size) < share
        values = rng.normal(np.where(left, first, first + apart), spread)
        truth = share * norm.pdf(AT, first, spread) + (1 - share) * norm.pdf(
            AT, first + apart, spread
        )
    elif shape == "skewed":
        form, first = rng.uniform(1.5, 3, one), rng.uniform(1, 6, one)
        values = first + rng.gamma(form, spread, size)
        truth = gamma.pdf(AT, form, first, spread)
    elif shape == "heavy":
        values, truth = centre + spread * rng.standard_t(2, size), t.pdf(AT, 2, centre, spread)
    else:  # spikes on the answers 0 to 10
        shares = rng.dirichlet(np.full(11, 0.35), OBJECTS)
        values = np.stack([rng.choice(11, users, p=share) for share in shares]).astype(float)
        truth = np.stack([share @ norm.pdf(AT, np.arange(11)[:, None], 0.5) for share in shares])
    return every_cell(np.clip(values, LOW, HIGH)), truth


def reference(claims: GroupedClaims, shape: str) -> Mixtures:
    """Return the kernel density of the claims that were made."""
    width = np.maximum(bandwidths(claims), LEAST_WIDTH)
    if shape == "spikes":
        width = np.full(claims.n_objects, 0.5)
    return Mixtures.of_points(claims.offset, claims.value, width)


def to_truth(truth: np.ndarray, densities: Mixtures) -> float:
    """Return the mean relative error against densities at `AT`."""
    found = np.stack([densities.density(i, AT) for i in range(densities.n_objects)])
    return float((((found - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)).mean())


def engine_of(name: str, epsilon: float, shape: str) -> Engine:
    """Return an engine at an epsilon; spikes have a public step."""
    return parse_engine(
        name, epsilon=epsilon, domain=Domain(LOW, HIGH, step=1 if shape == "spikes" else None)
    )


def errors_of(name: str, epsilon: float, users: int, shape: str) -> tuple[float, float]:
    """Return the mean errors to the claims and to the truth; the same coins for every engine."""
    found = []
    for seed in range(REPETITIONS):
        claims, truth = crowd(np.random.default_rng([seed, users]), users, shape)
        coins = np.random.default_rng([seed, users, 1])
        released = simulate(claims, coins, engine=engine_of(name, epsilon, shape), samples=1)
        error = ise(reference(claims, shape), released).rel_ise
        found.append((error, to_truth(truth, released.densities)))
    means = np.mean(found, axis=0)
    return float(means[0]), float(means[1])


def cells() -> None:
    """Print errors on the 60 smooth cells and the 15 of spikes, and their ratios to `hist`."""
    print(f"\n{OBJECTS} objects x {REPETITIONS} repetitions, domain {LOW} to {HIGH}")
    ratio: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for shape, users in itertools.product((*SMOOTH, "spikes"), CLAIMS):
        for epsilon in EPSILONS[1:6]:
            hist = errors_of("hist", epsilon, users, shape)
            row = [f"hist {hist[0]:.3f} {hist[1]:.3f}"]
            for name in ("claims", "source", "wiener"):
                if name == "source" and shape == "spikes":
                    continue
                error = errors_of(name, epsilon, users, shape)
                row.append(f"{name} {error[0]:.3f} {error[1]:.3f}")
                pair = (error[0] / hist[0], error[1] / hist[1])
                ratio.setdefault((name, shape == "spikes"), []).append(pair)
            print(f"  {shape:9} n {users:2} epsilon {epsilon:3g}: {'  '.join(row)}", flush=True)
    for (name, spikes), pairs in ratio.items():
        for what, ratios in zip(("the claims", "the truth"), np.array(pairs).T, strict=True):
            where = "spikes" if spikes else "smooth shapes"
            mean = float(np.exp(np.log(ratios).mean()))
            target = {"the claims": 0.45, "the truth": 0.70}[what]
            wanted = target if (name, spikes) == ("claims", False) else None
            text = f"{name}, error to {what} over that of hist, {where}"
            CARDS.add(f"{text}, geometric mean", mean, "", at_most=wanted)
            CARDS.add(
                f"{text}, worst of {len(ratios)} cells",
                float(ratios.max()),
                "",
                at_most=1.0 if wanted else None,
            )


def steps() -> None:
    """Print in how many steps to a larger epsilon an engine's error to the claims rises."""
    for name in ("hist", "claims"):
        worse = 0
        for shape, users in itertools.product((*SMOOTH, "spikes"), CLAIMS):
            errors = [errors_of(name, epsilon, users, shape)[0] for epsilon in EPSILONS]
            for i, (less, more) in enumerate(itertools.pairwise(errors)):
                if more > 1.05 * less + 0.003:
                    worse += 1
                    print(
                        f"  {name} {shape} n {users}: {EPSILONS[i]:g} {less:.3f}, then {more:.3f}"
                    )
        CARDS.add(
            f"{name}, steps of 135 to a larger epsilon that are worse",
            worse,
            "",
            at_most=4 if name == "claims" else None,
        )


def emotion() -> None:
    """Print errors on `emotion`, bandwidth 10, at the level of claims."""
    claims = load("emotion")
    claimed = fit_density(claims, weights="uniform", bandwidth=10.0)
    print("\nemotion, all 700 objects, bandwidth 10, against the density of the claims")
    for epsilon in (1, 2, 4, 8):
        for name in ("hist", "claims", "source", "wiener"):
            engine = parse_engine(name, epsilon=epsilon, domain=(-100, 100), bandwidth=10)
            made = [
                ise(claimed, simulate(claims, np.random.default_rng(seed), engine=engine)).rel_ise
                for seed in range(REPETITIONS)
            ]
            CARDS.add(
                f"emotion, {name}, bandwidth 10, epsilon {epsilon}",
                float(np.mean(made)),
                "",
                at_most=0.04 if (name, epsilon) == ("claims", 4) else None,
            )


def uses() -> None:
    """Print what a release is good for: truths from released claims, and their spread.

    On the 600 scales from 0 to 100 of `emotion` the truth of each object is known.
    """
    claims, truth = emotion_scales()
    print(f"\nemotion, {claims.n_objects} objects on 0 to 100, {REPETITIONS} repetitions")
    print("mean absolute error of means and of medians; correlation; spread of points over claims'")
    spread = within(claims.value, claims.offset)
    print(f"  original claims: {downstream(claims.value, claims.offset, truth)}")
    for epsilon in (1, 2, 4, 8):
        for name in ("hist", "claims", "claims:keep_spread=true", "source", "wiener"):
            rows = []
            for seed in range(REPETITIONS):
                engine = parse_engine(name, epsilon=epsilon, domain=(0, 100))
                made = simulate(claims, np.random.default_rng(seed), engine=engine)
                ratio = within(made.points, made.offset) / spread
                rows.append((*downstream(made.points, made.offset, truth), ratio))
            shown = "  ".join(f"{x:.3f}" for x in np.mean(rows, axis=0))
            print(f"  epsilon {epsilon} {name:23} {shown}", flush=True)


def emotion_scales() -> tuple[GroupedClaims, np.ndarray]:
    """Return the claims of `emotion` on its scales from 0 to 100, and the truth of each object."""
    claims = load("emotion")
    table = pc.read_csv(Path(os.environ["MASQUERADE_DATA"]) / "emotion" / "truth.csv").to_pydict()
    truths = dict(zip(table["task"], table["truth"], strict=True))
    names = [name for name in claims.objects.to_pylist() if not name.startswith("valence")]
    return claims.about(names), np.array([float(truths[name]) for name in sorted(names)])


def downstream(values: np.ndarray, offset: np.ndarray, truth: np.ndarray) -> tuple[float, ...]:
    """Return the errors of means and of medians as estimates of the truth, and a correlation."""
    rows = [values[a:b] for a, b in itertools.pairwise(offset.tolist())]
    means = np.array([row.mean() for row in rows])
    medians = np.array([np.median(row) for row in rows])
    return (
        float(np.abs(means - truth).mean()),
        float(np.abs(medians - truth).mean()),
        float(np.corrcoef(means, truth)[0, 1]),
    )


def within(values: np.ndarray, offset: np.ndarray) -> float:
    """Return the root of the mean variance within objects."""
    return float(
        np.sqrt(np.mean([values[a:b].var() for a, b in itertools.pairwise(offset.tolist())]))
    )


def speed() -> None:
    """Print times."""
    rng = np.random.default_rng(0)
    for objects, users in sized(((1_000, 20),), ((1_000, 20), (1_000, 200), (20_000, 20))):
        claims = every_cell(rng.uniform(2, 8, (objects, 1)) + rng.standard_normal((objects, users)))
        for name in ("hist", "pooled", "claims", "source", "wiener"):
            started = time.perf_counter()
            simulate(claims, rng, engine=engine_of(name, 1, ""))
            taken = time.perf_counter() - started
            CARDS.add(f"{name}, {objects:,} objects of {users} claims", taken, "s")


def main() -> None:
    """Run the parts that are asked for."""
    parts = {"cells": cells, "steps": steps, "emotion": emotion, "uses": uses, "speed": speed}
    for name in sys.argv[1:] or list(parts):
        if name in ("emotion", "uses") and "MASQUERADE_DATA" not in os.environ:
            print(f"{name}: name the folder of the data sets in MASQUERADE_DATA")
            continue
        parts[name]()


if __name__ == "__main__":
    main()
