"""Numeric truth: error, coverage and speed of every method, beside the constant predictor's.

Run with ``python benchmarks/truth_numeric.py [plain] [masked] [coverage] [speed]``; real sets are
read from the folder that ``MASQUERADE_DATA`` names, and left out without it.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from card import Cards, sized
from masquerade.answers import Claims, Truths
from masquerade.mechanisms import (
    DiscreteLaplace,
    Mechanism,
    Presence,
    QuantisedResponse,
    RandomizedResponse,
)
from masquerade.truth import NumericAuto, NumericEstimator
from masquerade.truth.numeric import (
    CATD,
    ChannelEM,
    GaussianTruth,
    HeavyTail,
    Mean,
    Median,
    Moments,
    Reliability,
)
from masquerade_papers.sparse_ldp.matrix_factorization import MatrixFactorization
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge
from masquerade_papers.sparse_ldp.quality_weighted import QualityWeighted

PLAIN = (
    Mean,
    Median,
    CATD,
    GaussianTruth,
    Reliability,
    HeavyTail,
    NumericAuto,
)
DATA = os.environ.get("MASQUERADE_DATA")
CARDS = Cards(__file__)
RUNS, LARGE_RUNS = sized(2, 8), sized(1, 3)
CLAIMS = sized(100_000, 1_000_000)
PRESENCES: tuple[Presence, ...] = ("hidden", "assigned")


def main() -> None:
    """Measure the parts named on the command line, or everything."""
    parts = {"plain": plain, "masked": masked, "coverage": coverage, "speed": speed}
    for name in sys.argv[1:] or parts:
        parts[name]()


def plain() -> None:
    """Print the error of each method on unmasked real claims."""
    for name in ("emotion", "population", "population_full", "flights", "wordsim"):
        read = real(name)
        if read is None:
            continue
        claims, truth = read
        constant = np.nanmean(np.abs(np.median(claims.value) - truth))
        for method in PLAIN:
            fit = method().fit(claims)
            off = fit.values_ - truth
            known = ~np.isnan(off)
            agreement = np.corrcoef(fit.values_[known], truth[known])[0, 1]
            root = np.sqrt((off[known] ** 2).mean())
            CARDS.add(
                f"mean absolute error on {name}, {fit.name}",
                np.abs(off[known]).mean(),
                "",
                peer="the best constant",
                peer_value=constant,
                note=f"root mean squared {root:.4g}, correlation {agreement:.3f}",
            )


def masked() -> None:
    """Print errors behind masks, against the constant's and the decoders that ignore the mask."""
    for shape in ("uniform", "concentrated"):
        for presence in PRESENCES:
            for epsilon in sized(("1", "4"), ("0.5", "1", "2", "4")):
                report(
                    f"ratings, {shape}, {presence}",
                    partial(web, shape=shape),
                    QuantisedResponse(1, 5, epsilon=epsilon, levels=5, null=True),
                    presence,
                    RUNS,
                    factors=presence == "hidden" and shape == "uniform",
                )
    emotion, adult = real("emotion"), adult_content()
    for presence in PRESENCES:
        for epsilon in sized(("2",), ("1", "2", "4")):
            for make in (QuantisedResponse, DiscreteLaplace):
                if emotion is not None:
                    mechanism = make(-100, 100, epsilon=epsilon, null=True)
                    report(
                        f"emotion, {presence}", partial(always, emotion), mechanism, presence, RUNS
                    )
    for presence, losses in zip(PRESENCES, (("2", "4", "6"), ("1", "2", "4")), strict=True):
        for epsilon in losses:
            if adult is not None:
                response = RandomizedResponse(4, epsilon=epsilon, null=True)
                name = f"adult_content, {presence}"
                report(name, partial(always, adult), response, presence, LARGE_RUNS)


def always(read: tuple[Claims, Any], seed: int) -> tuple[Claims, Any]:
    """Return the same claims for every seed."""
    return read


def report(
    name: str,
    make: Callable[[int], tuple[Claims, Any]],
    mechanism: Mechanism,
    presence: Presence,
    runs: int,
    *,
    factors: bool = False,
) -> None:
    """Print mean absolute errors over `runs` masks."""
    errors: dict[str, list[float]] = {}
    closed = 0
    for seed in range(runs):
        claims, truth = make(seed)
        rng = np.random.default_rng([seed, 9])
        answers = declined(claims, rng) if presence == "assigned" else claims
        reports = mechanism.simulate(answers, rng, presence=presence)
        levels = (1.0, 2.0, 3.0, 4.0) if claims.options is not None else None
        fit = ChannelEM(levels=levels).fit(reports, mechanism=mechanism)
        closed += bool(fit.remarks_ and fit.remarks_[0].code == "PRIOR_ONLY")
        fits: list[tuple[str, Any]] = [
            ("channel-em", fit.values_),
            ("constant", np.full(len(truth), fit.constant_)),
        ]
        if levels is None:
            naive = QualityWeighted().fit(reports, mechanism=mechanism).values_
            fits.append(("quality-weighted", naive))
        if not isinstance(mechanism, DiscreteLaplace):
            found = Moments(levels=levels).fit(reports, mechanism=mechanism).values_
            fits.append(("moments", np.where(np.isnan(found), fit.constant_, found)))
        if factors:
            fits += rebuilt(claims, mechanism.fields()["epsilon"], rng)
        for method, values in fits:
            errors.setdefault(method, []).append(float(np.nanmean(np.abs(values - truth))))
    shown = ", ".join(
        f"{method} {np.mean(each):.3f}+-{np.std(each) / runs**0.5:.3f}"
        for method, each in errors.items()
    )
    CARDS.add(
        f"mean absolute error, {name}, {mechanism}, channel-em",
        float(np.mean(errors["channel-em"])),
        "",
        peer="one guess for all tasks",
        peer_value=float(np.mean(errors["constant"])),
        note=f"{shown}; gate closed {closed} of {runs}",
    )


def rebuilt(claims: Claims, epsilon: str, rng: np.random.Generator) -> list[tuple[str, Any]]:
    """Return the results of algorithm 1 for both forms of matrix factorization."""
    shared: dict[str, Any] = {
        "low": 1,
        "high": 5,
        "tasks": claims.n_tasks,
        "dimension": 2,
        "epsilon": epsilon,
        "seed": bytes(32),
    }
    forms: list[Any] = [
        MatrixFactorization(
            **shared,
            on_underdetermined="prior",
            acknowledge_no_guarantee=True,
        ),
        MatrixFactorizationRidge(**shared),
    ]
    return [
        (
            form.name,
            QualityWeighted()
            .fit(form.simulate(claims, rng, presence="hidden"), mechanism=form)
            .values_,
        )
        for form in forms
    ]


def coverage() -> None:
    """Print how often 90 % intervals hold the truth, over simulated crowds."""
    for name, options in (
        ("normal", {}),
        ("four answers a task", {"each": 4}),
        ("5 % gross mistakes", {"gross": 0.05}),
        ("biased workers", {"bias": 4.0}),
    ):
        for method in PLAIN:
            inside = []
            for seed in range(RUNS):
                claims, truth = numbers(seed, **options)
                inside.append(share_inside(method(confidence=0.9).fit(claims), truth))
            shown = np.nanmean(inside) if np.isfinite(inside).any() else np.nan
            if np.isfinite(shown):
                CARDS.add(f"90 % intervals that hold, {name}, {method.name}", float(shown), "")
    for epsilon in (1, 2, 4):
        inside = []
        mechanism = QuantisedResponse(1, 5, epsilon=epsilon, levels=5, null=True)
        for seed in range(RUNS):
            claims, truth = web(seed, "uniform")
            reports = mechanism.simulate(claims, np.random.default_rng(seed), presence="hidden")
            fit = ChannelEM(confidence=0.9).fit(reports, mechanism=mechanism)
            inside.append(share_inside(fit, truth))
        what = f"90 % intervals that hold, ratings, hidden, epsilon {epsilon}, channel-em"
        CARDS.add(what, float(np.mean(inside)), "")


def share_inside(fit: NumericEstimator, truth: Any) -> float:
    """Return the share of truths within the intervals; NaN where there are none."""
    low, high = (fit.intervals_[name].to_numpy(zero_copy_only=False) for name in ("low", "high"))
    known = ~np.isnan(low)
    return float(((low <= truth) & (truth <= high))[known].mean()) if known.any() else np.nan


def speed() -> None:
    """Print seconds at a million claims, and how many times the mean's."""
    rng = np.random.default_rng(1)
    tasks, workers = CLAIMS // 10, 5000
    task = np.repeat(np.arange(tasks, dtype=np.int32), 10)
    worker = rng.integers(0, workers, CLAIMS).astype(np.int32)
    truth = rng.normal(0, 1, tasks)
    value = truth[task] + rng.normal(0, 1, CLAIMS)
    names = pa.array(np.arange(tasks)), pa.array(np.arange(workers))
    claims = Claims(task, worker, value, *names, None, False)
    one = 0.0
    for method in PLAIN:
        started = time.perf_counter()
        fit = method().fit(claims)
        seconds = time.perf_counter() - started
        one = one or seconds
        CARDS.add(
            f"{method.name}, {CLAIMS:,} claims",
            seconds,
            "s",
            peer="the mean",
            peer_value=one,
            note=f"{fit.iterations_} rounds",
        )
    rating = claims.with_values(np.clip(np.rint(3 + value), 1, 5), null=True)
    mechanism = QuantisedResponse(1, 5, epsilon=2, levels=5, null=True)
    reports = mechanism.simulate(rating, rng, presence="assigned")
    started = time.perf_counter()
    masked_fit = ChannelEM().fit(reports, mechanism=mechanism)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    CARDS.add(
        f"channel-em, five levels, {CLAIMS:,} claims",
        seconds,
        "s",
        peer="the mean",
        peer_value=one,
        note=f"{masked_fit.iterations_} rounds; peak memory of the process {peak:.0f} MiB",
    )


def real(name: str) -> tuple[Claims, Any] | None:
    """Return a real set's claims and truths in the claims' order, or None where it is not there."""
    if DATA is None:
        print(f"{name}: MASQUERADE_DATA is not set")
        return None
    folder = Path(DATA) / name
    claims = Claims.read(folder / "claims.csv.gz", kind="numeric", duplicates="last")
    return claims, Truths.read(folder / "truth.csv").numbers(claims)


def adult_content() -> tuple[Claims, Any] | None:
    """Return adult_content as categories G, P, R, X, with truths 1 to 4."""
    if DATA is None:
        return None
    folder = Path(DATA) / "adult_content"
    claims = Claims.read(
        folder / "claims.csv.gz",
        kind="categorical",
        options=["G", "P", "R", "X"],
        duplicates="last",
    )
    codes = Truths.read(folder / "truth.csv").codes(claims)
    return claims, np.where(codes >= 0, codes + 1.0, np.nan)


def declined(claims: Claims, rng: np.random.Generator) -> Claims:
    """Return the claims with a tenth turned into "no answer"."""
    missing = claims.n_options if claims.options is not None else np.nan
    gone = rng.random(len(claims)) < 0.1
    return claims.with_values(
        np.where(gone, missing, claims.value).astype(claims.value.dtype), null=True
    )


def web(seed: int, shape: str) -> tuple[Claims, Any]:
    """Return ratings of 34 workers for 177 tasks from 1 to 5, ten a task, few workers busy."""
    rng = np.random.default_rng(seed)
    activity, spread = 1 + rng.pareto(1.5, 34), rng.uniform(0.4, 1.2, 34)
    concentrated = np.clip(np.rint(rng.normal(2, 0.5, 177)), 1, 5)
    truth = rng.integers(1, 6, 177) if shape == "uniform" else concentrated
    keys = rng.exponential(size=(177, 34)) / activity
    worker = np.argsort(keys, axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(177), 10)
    value = np.clip(np.rint(truth[task] + rng.normal(0, spread[worker])), 1, 5)
    return Claims.from_frame({"task": task, "worker": worker, "value": value}), truth * 1.0


def numbers(
    seed: int, *, each: int = 8, gross: float = 0.0, bias: float = 0.0
) -> tuple[Claims, Any]:
    """Return 40 workers of spread-out precision on 200 tasks."""
    rng = np.random.default_rng(seed)
    truth, spread = rng.normal(50, 20, 200), np.exp(rng.normal(1, 0.7, 40))
    worker = np.argsort(rng.random((200, 40)), axis=1)[:, :each].ravel()
    task = np.repeat(np.arange(200), each)
    error = rng.normal(0, spread[worker]) + rng.normal(0, bias, 40)[worker]
    mistaken = rng.random(len(task)) < gross
    error[mistaken] = rng.normal(0, 200, int(mistaken.sum()))
    rows = {"task": task, "worker": worker, "value": truth[task] + error}
    return Claims.from_frame(rows), truth


if __name__ == "__main__":
    main()
