"""Huai et al. (IJCAI 2019), PrisCrowd: densities by reliability, and synthetic claims.

Population is read where `MASQUERADE_DATA` has it; Stock and Indoor Floorplan were not found and are
simulated in their sizes. Integrated squared errors carry the unit of the claims, which is not
printed, so errors are compared as multiples of PrisCrowd's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade import datasets
from masquerade.exact.arrays import Floats, Integers
from masquerade.release import GroupedClaims
from masquerade_papers import simulated_crowds
from masquerade_papers.priscrowd.density import fit_density
from masquerade_papers.priscrowd.engine import PrisCrowd, UniformPrisCrowd
from masquerade_papers.priscrowd.engines import Engine
from masquerade_papers.priscrowd.histogram import Histogram
from masquerade_papers.priscrowd.local_noise import LocalNoise
from masquerade_papers.priscrowd.metrics import ise
from masquerade_papers.priscrowd.mixtures import Mixtures
from masquerade_papers.priscrowd.pooled import PooledHistogram
from masquerade_papers.priscrowd.proven_test import ProvenTest
from masquerade_papers.priscrowd.simulation import simulate
from masquerade_papers.study import Cells, Clock, Job, Scale, real
from masquerade_papers.verdict import printed_in

CITATION = (
    'M. Huai, D. Wang, C. Miao, J. Xu, A. Zhang, "Privacy-aware synthesizing for crowdsourced '
    'data", IJCAI 2019'
)

PRINTED = printed_in("priscrowd")
SIZES: dict[str, dict[str, int]] = PRINTED["sizes"]
#: Of table 2, in its order.
METHODS = ("PrisCrowd", "Uniform", "Basic 0.1", "Basic 1", "Basic 10")

SAMPLES = (1, 3, 5, 10, 15, 20, 30)
EPSILONS = (0.5, 1.0, 2.0, 4.0)

LABEL = {
    "population": "Population",
    "stock": "Stock",
    "indoor": "Indoor Floorplan",
    "emotion": "emotion",
}
#: Public ends and bandwidth.
_DOMAIN: dict[str, tuple[tuple[int, int], float]] = {
    "stock": ((-20, 20), 1.5),
    "indoor": ((-20, 20), 1.5),
    "emotion": ((-100, 100), 10.0),
}

_OBJECTS_WHEN_QUICK = {"stock": 250, "population": 400, "indoor": 129, "emotion": 700}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Claims, and the densities that releases are compared with."""

    claims: GroupedClaims
    truth: Mixtures
    data: str


def case(name: str, seed: int, objects: int | None) -> Case:
    """Return a data set: real where it is there, else simulated in its size."""
    rng = np.random.default_rng([seed, 2019])
    if name in ("population", "emotion") and real(name):
        claims = GroupedClaims.of(datasets.dataset_named(name).claims(duplicates="last"))
        if objects is not None and objects < claims.n_objects:
            some = np.sort(np.random.default_rng(3).permutation(claims.n_objects)[:objects])
            claims = _some_objects(claims, some)
        data = name if name == "population" else f"{name}, a stand-in"
        return Case(claims, _inliers(claims), data)
    makers = {
        "population": simulated_crowds.population,
        "stock": simulated_crowds.stock,
        "indoor": simulated_crowds.indoor_floorplan,
    }
    crowd = makers[name](rng, **({} if objects is None else {"objects": objects}))
    return Case(crowd.claims, crowd.densities, "simulated, true densities known")


def jobs(scale: Scale) -> list[Job]:
    """Return one job a data set and repetition."""
    some: list[Job] = []
    for name in (*SIZES, *(["emotion"] if real("emotion") else [])):
        objects = _OBJECTS_WHEN_QUICK[name] if scale.quick else None
        shared = {"name": name, "objects": objects, "real": _is_real(name)}
        seeds = range(scale.pick(6, 3))
        some += [Job(f"{name}-{s}", releases, {**shared, "seed": s}) for s in seeds]
        some.append(Job(f"densities-{name}", densities, {**shared, "seed": 0}))
        if name in _DOMAIN:
            equal = {**shared, "epsilons": list(EPSILONS)}
            some += [Job(f"honest-{name}-{s}", honest, {**equal, "seed": s}) for s in seeds]
    if scale.clock is not None:
        for name in ("population", "indoor"):
            parameters = {
                "name": name,
                "objects": _OBJECTS_WHEN_QUICK[name] if scale.quick else None,
                "real": _is_real(name),
                "repetitions": scale.pick(5, 3),
            }
            some.append(Job(f"times-{name}", times, parameters, {"clock": scale.clock}))
    return some


def _is_real(name: str) -> bool:
    return name in datasets.DATASETS and real(name)


def releases(*, name: str, seed: int, objects: int | None, real: bool) -> Cells:
    """Measure table 2 and figure 4 on one data set."""
    del real  # in the parameters, so that a simulated part is not taken for a real one
    crowd = case(name, seed, objects)
    claims = crowd.claims
    rng = np.random.default_rng([seed, 5])
    cells: Cells = [{"users": claims.n_users, "objects": claims.n_objects, "data": crowd.data}]
    models = {
        weights: fit_density(claims, weights=weights, global_form="sum")
        for weights in ("combined", "uniform")
    }
    engines: list[tuple[str, Engine, Any]] = [
        ("PrisCrowd", PrisCrowd(small="try"), models["combined"]),
        ("Uniform", UniformPrisCrowd(small="try"), models["uniform"]),
    ]
    for epsilon in ("0.1", "1", "10"):
        noise = LocalNoise(epsilon=epsilon, domain=(0, 1), span="claims")
        engines.append((f"Basic {epsilon}", noise, claims))
    for method, engine, data in engines:
        release = simulate(data, rng, engine=engine, samples=30)
        # One bandwidth for all methods, that of the claims: one learnt from a few noisy points can
        # be tiny, and a single such object then decides the mean.
        judged = _of_bandwidth(release.densities, models["combined"].bandwidth)
        errors = ise(crowd.truth, judged)
        cells.append(
            {
                "method": method,
                "samples": 30,
                "mise": errors.mise,
                "rms": errors.rms_ise,
                "relative": errors.rel_ise,
                "own": ise(models["combined"], judged).rel_ise,
                "relearnt": ise(crowd.truth, release).rel_ise,
                "empty": errors.empty_share,
            }
        )
    engine = PrisCrowd(small="try")
    for samples in SAMPLES[:-1]:
        release = simulate(models["combined"], rng, engine=engine, samples=samples)
        errors = ise(crowd.truth, release)
        cells.append(
            {
                "method": "PrisCrowd",
                "samples": samples,
                "mise": errors.mise,
                "rms": errors.rms_ise,
                "relative": errors.rel_ise,
            }
        )
    return cells


def honest(
    *, name: str, seed: int, objects: int | None, epsilons: list[float], real: bool
) -> Cells:
    """Measure the engines with a guarantee, and the noise of the baseline, at equal epsilon."""
    del real
    crowd = case(name, seed, objects)
    rng = np.random.default_rng([seed, 6])
    domain, bandwidth = _DOMAIN[name]
    # True densities are known of made-up claims; of real ones, only what a public bandwidth shows.
    is_real = name == "emotion"
    truth = _inliers(crowd.claims, bandwidth) if is_real else crowd.truth
    histogram: dict[str, Any] = {"bandwidth": bandwidth, "bins": 11} if is_real else {}
    cells: Cells = []
    for epsilon in epsilons:
        shared: dict[str, Any] = {"epsilon": epsilon, "domain": domain}
        engines: tuple[Engine, ...] = (
            LocalNoise(**shared),
            Histogram(**shared, **histogram),
            PooledHistogram(**shared, **histogram),
            ProvenTest(**shared, bandwidth=bandwidth),
        )
        for engine in engines:
            release = simulate(crowd.claims, rng, engine=engine, samples=30)
            cells.append(
                {
                    "engine": engine.name,
                    "epsilon": epsilon,
                    "delta": float(engine.guarantee().delta),
                    "relative": ise(truth, release).rel_ise,
                    "data": crowd.data,
                }
            )
    for weights in ("combined", "uniform"):
        width: Any = bandwidth if is_real else "robust"
        model = fit_density(crowd.claims, weights=weights, bandwidth=width)
        cells.append(
            {
                "engine": f"no privacy, {weights}",
                "epsilon": None,
                "delta": 0.0,
                "relative": ise(truth, model).rel_ise,
                "data": crowd.data,
            }
        )
    return cells


def densities(*, name: str, seed: int, objects: int | None, real: bool) -> Cells:
    """Return the densities of two objects with many claims (figure 3)."""
    del real
    crowd = case(name, seed, objects)
    claims = crowd.claims
    values = (claims.value[claims.rows_of(i)] for i in range(claims.n_objects))
    spread = np.array([np.median(np.abs(x - np.median(x))) for x in values])
    many = [i for i in np.argsort(-claims.count, kind="stable").tolist() if spread[i] > 0][:20]
    chosen = np.random.default_rng(seed).permutation(many)[:2]
    mixtures = {
        weights: fit_density(claims, weights=weights, global_form="sum").mixtures()
        for weights in ("combined", "global", "uniform")
    }
    true = "true density" if crowd.data.startswith("simulated") else "inliers"
    mixtures[true] = crowd.truth
    cells: Cells = []
    for place in chosen.tolist():
        low, high = np.quantile(claims.value[claims.rows_of(place)], (0.05, 0.95))
        reach = max(high - low, 1e-9)
        grid = np.linspace(low - reach, high + reach, 201)
        for label, mixture in mixtures.items():
            cells.append(
                {
                    "object": str(claims.objects[place]),
                    "density": label,
                    "x": grid.tolist(),
                    "y": mixture.density(place, grid).tolist(),
                    "data": crowd.data,
                }
            )
    return cells


def times(*, name: str, objects: int | None, real: bool, repetitions: int, clock: Clock) -> Cells:
    """Measure processor seconds against the number of samples (figure 5)."""
    del real
    claims = case(name, 0, objects).claims
    model = fit_density(claims, global_form="sum")
    rng = np.random.default_rng(7)
    cells: Cells = []
    for samples in SAMPLES:
        for tested in (True, False):
            for _ in range(repetitions):
                started = clock()
                if tested:
                    simulate(model, rng, engine=PrisCrowd(small="try"), samples=samples)
                else:
                    _untested(model.claims, model.weight, model.bandwidth, samples, rng)
                cells.append({"samples": samples, "tested": tested, "seconds": clock() - started})
    return cells


def _untested(
    claims: GroupedClaims, weight: Floats, bandwidth: Floats, samples: int, rng: np.random.Generator
) -> Floats:
    """Draw from the weighted densities, without any test."""
    cumulative = np.concatenate(([0.0], np.cumsum(weight)))
    first, last = claims.offset[:-1], claims.offset[1:]
    low, high = cumulative[first], cumulative[last]
    target = low[:, None] + rng.random((claims.n_objects, samples)) * (high - low)[:, None]
    seed = np.searchsorted(cumulative, target, side="right") - 1
    seed = np.clip(seed, first[:, None], last[:, None] - 1)
    step = rng.standard_normal(seed.shape)
    return np.asarray(claims.value[seed] + step * bandwidth[:, None])


def _of_bandwidth(mixtures: Mixtures, bandwidth: Floats) -> Mixtures:
    width = np.repeat(bandwidth, np.diff(mixtures.offset))
    return Mixtures(mixtures.offset, mixtures.location, mixtures.weight, width)


def _some_objects(claims: GroupedClaims, some: Integers) -> GroupedClaims:
    rows = np.isin(claims.object, some)
    users, user = np.unique(claims.user[rows], return_inverse=True)
    return GroupedClaims(
        claims.objects.take(some),
        claims.users.take(users),
        claims.value[rows],
        user.astype(np.int32),
        np.concatenate(([0], np.cumsum(claims.count[some]))),
    )


def _inliers(claims: GroupedClaims, bandwidth: float | None = None) -> Mixtures:
    """Return the densities of claims within three deviations of the median, robust bandwidth."""
    model = fit_density(claims, weights="uniform", bandwidth=bandwidth or "robust")
    weight = np.zeros(len(claims))
    for i in range(claims.n_objects):
        here = claims.rows_of(i)
        x = claims.value[here]
        distance = np.abs(x - np.median(x))
        # 1.4826 times the median distance is the standard deviation of normal claims
        scale = 1.4826 * np.median(distance) or float(x.std())
        inside = distance <= 3 * scale + 1e-9
        weight[here] = inside / inside.sum()
    return Mixtures(claims.offset, claims.value, weight, model.mixtures().width)
