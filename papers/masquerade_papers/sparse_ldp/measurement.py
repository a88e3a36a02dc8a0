"""Sun et al. (IEEE Big Data 2018): sparse numbers behind Laplace noise, response, factorization.

Of the paper its slides are public: two formulas with a number each, and the claim that matrix
factorization keeps the error small where the other two do not. That claim is measured, on ``wsd``
and ``adult_content`` where `MASQUERADE_DATA` has them, and on made-up ratings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade import datasets
from masquerade.answers import Claims
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import DiscreteLaplace, Mechanism, QuantisedResponse
from masquerade.truth.numeric import ChannelEM
from masquerade_papers import simulated_crowds
from masquerade_papers.sparse_ldp.matrix_factorization import MatrixFactorization
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge
from masquerade_papers.sparse_ldp.quality_weighted import QualityWeighted
from masquerade_papers.study import Cells, Job, Scale, real
from masquerade_papers.verdict import printed_in

CITATION = (
    'H. Sun, B. Dong, H. Wang, T. Yu, Z. Qin, "Truth inference on sparse crowdsourcing data with '
    'local differential privacy", IEEE Big Data 2018 (slides)'
)


PRINTED = printed_in("sparse-ldp")
EPSILONS, QUICK_EPSILONS = ("0.5", "1", "2", "3", "4", "6"), ("1", "2", "4")
SHAPES: tuple[simulated_crowds.TruthShape, ...] = ("uniform", "concentrated", "equal")
REAL = ("wsd", "adult_content")
CATEGORIES = {"wsd": ("1", "2", "3"), "adult_content": ("G", "P", "R", "X")}
PUBLISHED = {"LP": "Laplace (LP)", "RR": "response (RR)", "MF": "factorization (MF)"}
OURS = {"EM": "response, decoded with the mask (ours)", "ridge": "factorization, proven (ours)"}
#: LP with noise for exactly epsilon; the published scale costs (K - 1) / K of it.
EXACT_LAPLACE = "LP, exact"
CONSTANT = "constant"
DIMENSION = 2

TASKS_WHEN_QUICK = 1200


def jobs(scale: Scale) -> list[Job]:
    """Return one job a data set, epsilon and seed."""
    epsilons = QUICK_EPSILONS if scale.quick else EPSILONS
    some = [
        Job(
            f"web-{shape}-{seed}",
            web_crowd,
            {"shape": shape, "seed": seed, "epsilons": list(epsilons)},
        )
        for shape in SHAPES
        for seed in range(scale.pick(10, 4))
    ]
    for name in filter(real, REAL):
        tasks = TASKS_WHEN_QUICK if scale.quick and name == "adult_content" else None
        trials = scale.pick(10 if name == "wsd" else 3, 4 if name == "wsd" else 2)
        shared = {"name": name, "tasks": tasks}
        some += [
            Job(f"{name}-{epsilon}-{seed}", real_set, {**shared, "epsilon": epsilon, "seed": seed})
            for epsilon in epsilons
            for seed in range(trials)
        ]
    runs = 1000 if scale.quick else 4000
    return [*some, Job("one-report", simple_setting, {"seed": 1, "runs": runs})]


def web_crowd(*, shape: simulated_crowds.TruthShape, seed: int, epsilons: list[str]) -> Cells:
    """Measure every method on one made-up crowd of the shape of Web."""
    claims, truth = simulated_crowds.web_ratings(np.random.default_rng([seed, 34]), truths=shape)
    cells: Cells = []
    for epsilon in epsilons:
        cells += _errors(claims, truth, epsilon, seed, 1, 5)
    return cells


def real_set(*, name: str, epsilon: str, seed: int, tasks: int | None) -> Cells:
    """Measure every method on a real set, categories as the numbers 1, 2, ..."""
    data = datasets.dataset_named(name)
    names = CATEGORIES[name]
    claims = data.claims(options=names, duplicates="last")
    codes = data.truths().codes(claims)
    # codes from 0 are the numbers from 1; NaN where the truth is not known
    truth = np.where(codes >= 0, codes + 1.0, np.nan)
    value = claims.value + 1.0
    numbers = Claims(claims.task, claims.worker, value, claims.tasks, claims.workers, None)
    if tasks is not None:
        numbers, truth = _some_tasks(numbers, truth, tasks)
    return _errors(numbers, truth, epsilon, seed, 1, len(names))


def simple_setting(*, seed: int, runs: int) -> Cells:
    """Measure the slides' simple setting: ten values, one answer in ten, errors of deviation 1.

    The estimate is the plain mean over 34 workers, of all reports under Laplace noise and of those
    that are values under randomized response.
    """
    rng = np.random.default_rng(seed)
    workers, size = 34, 34 * runs
    person = np.arange(size, dtype=np.int32)
    answered = rng.random(size) < 0.1
    laplace = DiscreteLaplace(1, 10, epsilon=1, null=True, fill="uniform", scale_rule="paper")
    response = QuantisedResponse(0, 9, epsilon=1, levels=10, null=True)
    cells: Cells = []
    for name, mechanism, low, truth in (("LP", laplace, 1, 1), ("RR", response, 0, 0)):
        answer = np.clip(np.rint(truth + rng.standard_normal(size)), low, low + 9)
        tasks = np.repeat(np.arange(runs, dtype=np.int32), workers)
        value, names = np.where(answered, answer, np.nan), (np.arange(runs), np.arange(size))
        claims = Claims(tasks, person, value, _texts(names[0]), _texts(names[1]), None, True)
        reports = mechanism.simulate(claims, rng, presence="assigned").value.reshape(runs, workers)
        # reports[run, worker]; NaN is "no answer"
        off = np.abs(np.nanmean(reports, axis=1) - truth)
        error = float(off.std(ddof=1) / runs**0.5)
        cells.append({"mechanism": name, "mae": float(off.mean()), "error": error})
    return cells


def _errors(claims: Claims, truth: Floats, epsilon: str, seed: int, low: int, high: int) -> Cells:
    """Return each method's mean absolute error, every worker reporting on every task."""
    levels = high - low + 1
    response = QuantisedResponse(low, high, epsilon=epsilon, levels=levels, null=True)
    laplace = DiscreteLaplace(low, high, epsilon=epsilon, null=True, scale_rule="paper")
    shared: dict[str, Any] = {
        "low": low,
        "high": high,
        "tasks": claims.n_tasks,
        "dimension": DIMENSION,
        "epsilon": epsilon,
        "seed": bytes([seed % 256]) * 32,
    }
    published = MatrixFactorization(
        **shared, on_underdetermined="prior", acknowledge_no_guarantee=True
    )
    ridge = MatrixFactorizationRidge(**shared)
    known = truth[~np.isnan(truth)]
    cells: Cells = []

    def add(method: str, values: Floats, mechanism: Mechanism | None) -> None:
        off = np.abs(values - truth)
        promise = mechanism.guarantee() if mechanism is not None else None
        loss = promise.epsilon_event.epsilon if promise is not None else 0.0
        cells.append(
            {
                "epsilon": epsilon,
                "method": method,
                "mae": float(np.nanmean(off)),
                "epsilon_event": loss if np.isfinite(loss) else None,
                "status": promise.status if promise is not None else "public",
            }
        )

    rng = np.random.default_rng([seed, int(100 * float(epsilon))])
    exact = DiscreteLaplace(low, high, epsilon=epsilon, null=True)
    mechanisms: dict[str, Mechanism] = {
        "LP": laplace,
        "RR": response,
        "MF": published,
        "ridge": ridge,
        EXACT_LAPLACE: exact,
    }
    for method, mechanism in mechanisms.items():
        reports = mechanism.simulate(claims, rng, presence="hidden")
        add(method, _naive(reports, mechanism, high - low), mechanism)
        if method == "RR":
            fit = ChannelEM(presence="hidden").fit(reports, mechanism=mechanism)
            add("EM", fit.values_, mechanism)
    add("no mask", QualityWeighted().fit(claims).values_, None)
    # one number for all tasks, with the truths known: what a method has to be better than
    add(CONSTANT, np.full(len(truth), np.median(known)), None)
    return cells


def _naive(reports: Claims, mechanism: Mechanism, width: int) -> Floats:
    """Return algorithm 1 on the reports, those that are values.

    Its floor is a twentieth of the domain's width: reports can be far outside, and a floor in their
    own range would give everybody the same weight.
    """
    spread = float(np.nanmax(reports.value) - np.nanmin(reports.value))
    floor = 0.05 * width / max(spread, float(width))
    fit = QualityWeighted(floor=floor, tolerance=1e-6 * floor).fit(reports, mechanism=mechanism)
    # a task without any report that is a value is guessed at the middle of the others
    middle = float(np.nanmedian(fit.values_))
    return np.where(np.isnan(fit.values_), middle, fit.values_)


def _some_tasks(claims: Claims, truth: Floats, tasks: int) -> tuple[Claims, Floats]:
    """Return the claims on all tasks of known truth and the first others, `tasks` in all."""
    known = ~np.isnan(truth)
    others = np.flatnonzero(~known)[: max(0, tasks - int(known.sum()))]
    kept = np.sort(np.concatenate((np.flatnonzero(known), others)))
    table = claims.to_arrow()
    rows = np.isin(claims.task, kept)
    some = Claims.from_frame(table.filter(rows), kind="numeric")
    # the filtered table has an order of tasks of its own
    place = {name: i for i, name in enumerate(claims.tasks.to_pylist())}
    return some, truth[[place[name] for name in some.tasks.to_pylist()]]


def _texts(numbers: NDArray[Any]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())
