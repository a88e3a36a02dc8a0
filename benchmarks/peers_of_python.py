"""The tasks of `peers` in other libraries of Python, in an interpreter that has them.

``PYTHON peers_of_python.py TASK DATA.npz`` prints a line of JSON for each library that is there:
``{"library": ..., "version": ..., "seconds": ..., NAME: [numbers], ...}``.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

RUNS, ENOUGH = 5, 3.0
MARGINS = {"sex": (0.51, 0.49), "age": (0.3, 0.4, 0.3)}
Data = dict[str, Any]
Work = Callable[[], dict[str, Any]]


def no_answer(_: object) -> dict[str, Any]:
    """Return an empty answer: draws are not compared."""
    return {}


def pure_ldp(data: Data) -> Work:
    library = importlib.import_module("pure_ldp.frequency_oracles.direct_encoding")
    client, given = library.DEClient(epsilon=1, d=4), (data["answer"] + 1).tolist()
    return lambda: no_answer([client.privatise(one) for one in given])


def opendp() -> Any:
    library = importlib.import_module("opendp.prelude")
    library.enable_features("contrib")
    return library


def opendp_one(data: Data) -> Work:
    keep, given = math.e / (math.e + 3), data["answer"].tolist()
    measure = opendp().m.make_randomized_response([0, 1, 2, 3], keep)
    return lambda: no_answer([measure(one) for one in given])


def opendp_bits(data: Data) -> Work:
    dp = opendp()
    # f = 1/2: each bit is drawn anew with probability 1/2, and so kept with 3/4.
    domain = dp.bitvector_domain(max_weight=len(data["bit"]))
    measure = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.5)
    packed = np.packbits(data["bit"].astype(bool)).tobytes()
    return lambda: no_answer(measure(packed))


def opendp_noise(name: str) -> Callable[[Data], Work]:
    def prepared(data: Data) -> Work:
        dp, given = opendp(), data["number"].tolist()
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        if name == "laplace":
            measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), 4.0)
        else:
            measure = dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), 3.0)
        return lambda: no_answer(measure(given))

    return prepared


def crowd_kit(method: str, **options: Any) -> Callable[[Data], Work]:
    def prepared(data: Data) -> Work:
        import pandas as pd

        frame = pd.DataFrame(data)
        made = getattr(importlib.import_module("crowdkit.aggregation"), method)
        return lambda: {"labels": made(**options).fit_predict(frame).sort_index().tolist()}

    return prepared


def peerannot(method: str, **options: Any) -> Callable[[Data], Work]:
    def prepared(data: Data) -> Work:
        answers: dict[int, dict[int, int]] = {}
        rows = (data[key].tolist() for key in ("task", "worker", "label"))
        for task, worker, label in zip(*rows, strict=True):
            answers.setdefault(task, {})[worker] = label
        sizes = {"n_workers": int(data["worker"].max()) + 1, "n_classes": 5}
        module = {"DawidSkene": "dawid_skene", "MajorityVoting": "majority_voting"}[method]
        made = getattr(importlib.import_module(f"peerannot.models.aggregation.{module}"), method)

        def work() -> dict[str, Any]:
            model = made(answers=answers, **sizes)
            if hasattr(model, "run"):
                model.run(**options)
            return {"labels": [int(label) for label in model.get_answers()]}

        return work

    return prepared


def choix(data: Data) -> Work:
    import pandas as pd

    library = importlib.import_module("choix")

    def work() -> dict[str, Any]:
        columns = pd.concat([pd.Series(data["model_a"]), pd.Series(data["model_b"])])
        codes, names = pd.factorize(columns, sort=True)
        first, second = codes[: len(codes) // 2], codes[len(codes) // 2 :]
        won = data["winner"] == "model_a"
        pairs = np.stack([np.where(won, first, second), np.where(won, second, first)], axis=1)
        strengths = library.ilsr_pairwise(len(names), pairs.tolist())
        return {"strengths": (strengths - strengths.mean()).tolist()}

    return work


def arena_rank(data: Data) -> Work:
    import pandas as pd

    models = importlib.import_module("arena_rank.models.bradley_terry")
    tables = importlib.import_module("arena_rank.utils.data_utils")
    frame = pd.DataFrame(data)

    def work() -> dict[str, Any]:
        pairs = tables.PairDataset.from_pandas(frame)
        model = models.BradleyTerry(n_competitors=pairs.n_competitors)
        found = model.compute_ratings_and_cis(pairs)
        order = np.argsort(found["competitors"])
        strengths = np.asarray(found["ratings"])[order] * math.log(10) / 400
        return {"strengths": (strengths - strengths.mean()).tolist()}

    return work


def statsmodels(data: Data) -> Work:
    api = importlib.import_module("statsmodels.api")
    # The side on which the chosen one stands is drawn: an outcome that is always 1 has no fit.
    side = np.random.default_rng(2).integers(0, 2, len(data["voter"]))
    turned = data["difference"] * (2 * side - 1)[:, None]
    cluster = {"groups": data["voter"], "use_correction": False}

    def work() -> dict[str, Any]:
        model = api.Probit(side, turned)
        fit = model.fit(disp=0, cov_type="cluster", cov_kwds=cluster)
        return {"coefficients": fit.params.tolist(), "standard errors": fit.bse.tolist()}

    return work


def samplics(data: Data) -> Work:
    library = importlib.import_module("samplics")
    n = len(data["ill"])
    margins = {k: {c: s * n for c, s in enumerate(v)} for k, v in MARGINS.items()}
    columns = {key: data[key] for key in MARGINS}

    def work() -> dict[str, Any]:
        weight = library.SampleWeight().rake(
            samp_weight=np.ones(n), margins=columns, control=margins, tol=1e-11, max_iter=1000
        )
        estimator = library.TaylorEstimator(library.PopParam.mean)
        estimator.estimate(y=data["ill"].astype(float), samp_weight=np.asarray(weight))
        frame = estimator.to_dataframe()
        return {
            "the share": [float(frame["_estimate"].iloc[0])],
            "the standard error": [float(frame["_stderror"].iloc[0])],
        }

    return work


def svy(data: Data) -> Work:
    import polars as pl

    library = importlib.import_module("svy")
    frame = pl.DataFrame({**data, "weight": np.ones(len(data["ill"]))})
    n = len(frame)
    controls = {k: {c: s * n for c, s in enumerate(v)} for k, v in MARGINS.items()}

    def work() -> dict[str, Any]:
        sample = library.Sample(frame, library.Design(wgt="weight"))
        raked = sample.weighting.rake(controls=controls, tol=1e-11, max_iter=1000)
        found = raked.estimation.mean("ill").estimates[0]
        return {"the share": [found.est], "the standard error": [found.se]}

    return work


TASKS: dict[str, dict[str, Callable[[Data], Work]]] = {
    "one": {"pure-ldp": pure_ldp, "opendp": opendp_one},
    "bits": {"opendp": opendp_bits},
    "laplace": {"opendp": opendp_noise("laplace")},
    "gaussian": {"opendp": opendp_noise("gaussian")},
    "majority": {
        "crowd-kit": crowd_kit("MajorityVote"),
        "peerannot": peerannot("MajorityVoting"),
    },
    "dawid-skene": {
        "crowd-kit": crowd_kit("DawidSkene", n_iter=10, tol=0),
        "peerannot": peerannot("DawidSkene", maxiter=10, epsilon=0),
    },
    "one-coin": {"crowd-kit": crowd_kit("OneCoinDawidSkene", n_iter=10, tol=0)},
    "pairs": {"choix": choix, "arena-rank": arena_rank},
    "ties": {"arena-rank": arena_rank},
    "probit": {"statsmodels": statsmodels},
    "regression": {},
    "raking": {"samplics": samplics, "svy": svy},
}


def main() -> None:
    """Print a line for each library that has the task."""
    warnings.filterwarnings("ignore")
    name, path = sys.argv[1:]
    data, silent = dict(np.load(path)), io.StringIO()
    for library, prepare in TASKS[name].items():
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                seconds, found = least_time(prepare(data))
            line = {"library": library, "version": importlib.metadata.version(library)}
            print(json.dumps(line | {"seconds": seconds} | found), flush=True)
        except Exception as error:  # a library that is not there, or that fails, has no figure
            print(f"{library} on {name}: {error!r}", file=sys.stderr)


def least_time(work: Work) -> tuple[float, dict[str, Any]]:
    """Return the least processor time of a few runs, after one that is not counted."""
    found, taken = work(), list[float]()
    while len(taken) < RUNS and sum(taken) < ENOUGH:
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken), found


if __name__ == "__main__":
    main()
