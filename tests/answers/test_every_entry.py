"""Every public function that takes data takes it as a table of any kind, with the same result."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.json as pa_json
import pytest
from tests.results.made_up_reports import codebook, define, made_up

import masquerade as mq
from masquerade import preference, release, selection, truth
from masquerade.preference import SocialPreference, pooled_fit, thurstone
from masquerade.preference.mechanisms import linear
from masquerade.results import read_reports, survey_result, write_reports
from masquerade.truth.diagnostics import components
from masquerade.truth.numeric import Mean
from masquerade.truth.scores import scored

Columns = dict[str, list[Any]]

CLAIMS: Columns = {
    "task": [f"t{t}" for t in range(6) for _ in range(5)],
    "worker": [f"w{w}" for _ in range(6) for w in range(5)],
    "label": [("yes", "no")[(t + (w == t % 5)) % 2] for t in range(6) for w in range(5)],
}
NUMBERS: Columns = {
    **{name: CLAIMS[name] for name in ("task", "worker")},
    "value": [float(t + w % 3) for t in range(6) for w in range(5)],
}
TRUTHS: Columns = {
    "task": [f"t{t}" for t in range(6)],
    "truth": [("yes", "no")[t % 2] for t in range(6)],
}
LISTS: Columns = {**CLAIMS, "label": [[label, "seen"] for label in CLAIMS["label"]]}
LEVELS: Columns = {"task": TRUTHS["task"], "truth": [float(t) for t in range(6)]}
CHOICES: Columns = {
    "voter": [f"v{v}" for v in range(8) for _ in range(3)],
    "price": [(-1.0) ** r * (1 + v % 3) for v in range(8) for r in range(3)],
    "size": [0.5 + r - v % 2 for v in range(8) for r in range(3)],
}
PAIRS: Columns = {
    "voter": list("aabbcc"),
    "chosen": ["tea", "milk", "milk", "beer", "beer", "tea"],
    "rejected": ["milk", "beer", "tea", "milk", "tea", "beer"],
}
RANKS: Columns = {
    "voter": list("aaabbbccc"),
    "item": ["tea", "milk", "beer", "milk", "beer", "tea", "beer", "tea", "milk"],
    "rank": [1, 2, 3] * 3,
}
MENUS: Columns = {
    "voter": list("aabbccdd"),
    "choice": [0] * 8,
    "chosen": [1, 0, 0, 1, 1, 0, 1, 0],
    "price": [1.0, 2, 1, 3, 2, 3, 2, 1],
}
POOL: Columns = {
    "person": list("abcd"),
    "cost": [1.0, 1, 2, 2],
    "level": ["high", "low", "none", "medium"],
}
BOOK = codebook(define())
_ROWS = [(name, level, json.dumps(row)) for name, level, row in made_up(BOOK.survey, 12)]
REPORTS: Columns = pa_json.read_json(
    pa.BufferReader(b"".join(write_reports(BOOK, [_ROWS], kind="jsonl")))
).to_pydict()
FITTED = truth.OneCoin().fit(CLAIMS)
MEAN = Mean().fit(NUMBERS)
MASK = mq.parse_mechanism("randomized-response:options=2,epsilon=1")
NOISE = mq.parse_mechanism("discrete-gaussian:low=0,high=8,step=1,sigma=3")


def seed() -> np.random.Generator:
    """Return a generator that is the same each time."""
    return np.random.default_rng(1)


def collection() -> truth.Collection:
    """Return a collection of labels before anybody answered."""
    return truth.Collection(tasks=TRUTHS["task"], options=["yes", "no"])


def learned(method: str, table: Any) -> Any:
    """Return the result of a truth method."""
    fresh = METHODS[method]()
    if isinstance(fresh, truth.CategoricalEstimator):  # one of them needs known truths
        return fresh.fit(table, gold=TRUTHS).result_
    return fresh.fit(table).result_


METHODS: dict[str, type[truth.Estimator]] = {method.name: method for method in truth.METHODS}
PREFERENCE = SocialPreference.learn(mq.Comparisons.from_frame(CHOICES), mechanism="none")

ENTRIES: dict[str, tuple[Columns, Callable[[Any], Any]]] = {
    "Claims": (CLAIMS, mq.Claims.from_frame),
    "Truths": (TRUTHS, mq.Truths.from_frame),
    "Comparisons": (CHOICES, mq.Comparisons.from_frame),
    "mask labels": (CLAIMS, lambda table: MASK.simulate(table, seed())),
    "mask numbers": (NUMBERS, lambda table: NOISE.simulate(table, seed())),
    "randomize": (NUMBERS, lambda table: len(NOISE.randomize(table))),
    "known truths": (TRUTHS, lambda table: truth.DawidSkene().fit(CLAIMS, gold=table).result_),
    "accuracy": (TRUTHS, lambda table: truth.accuracy(FITTED, table)),
    "accuracy of labels": (TRUTHS, lambda table: truth.accuracy(FITTED.truths_, table)),
    "error_rate": (TRUTHS, lambda table: truth.error_rate(FITTED, table)),
    "scored": (TRUTHS, lambda table: scored(FITTED, table)),
    "calibration_table": (TRUTHS, lambda table: truth.calibration_table(FITTED, table)),
    "calibration": (TRUTHS, lambda table: truth.expected_calibration_error(FITTED, table)),
    "mean_absolute_error": (LEVELS, lambda table: truth.mean_absolute_error(MEAN, table)),
    "root_mean_squared_error": (LEVELS, lambda table: truth.root_mean_squared_error(MEAN, table)),
    "constant_error": (LEVELS, lambda table: MEAN.constant_error(table)),
    "BinaryRelevance": (LISTS, lambda table: truth.BinaryRelevance().fit(table).truths_),
    "components": (CLAIMS, components),
    "krippendorff_alpha": (CLAIMS, truth.krippendorff_alpha),
    "fleiss_kappa": (CLAIMS, truth.fleiss_kappa),
    "pairwise_agreement": (CLAIMS, truth.pairwise_agreement),
    "Collection": (CLAIMS, lambda table: collection().partial_fit(table).truths_),
    "SocialPreference": (CHOICES, lambda t: SocialPreference.learn(t, mechanism="none")),
    "SocialPreference.simulate": (
        CHOICES,
        lambda t: SocialPreference.simulate(t, seed(), mechanism="linear-knorm", epsilon=1),
    ),
    "mechanism of a preference": (
        CHOICES,
        lambda t: (
            preference.preference_mechanism("linear-knorm", epsilon=1)
            .simulate(t, seed())
            .weights.tolist()
        ),
    ),
    "fit_linear": (CHOICES, linear.fit_linear),
    "fit_pooled": (CHOICES, pooled_fit.fit_pooled),
    "fit_voters": (CHOICES, lambda table: thurstone.fit_voters(table).weights.tolist()),
    "held_out_accuracy": (CHOICES, lambda t: preference.held_out_accuracy(PREFERENCE, t)),
    "one_feature_baseline": (CHOICES, preference.one_feature_baseline),
    "split_voters": (CHOICES, lambda t: preference.split_voters(t, seed())[0]),
    "Leaderboard": (PAIRS, lambda t: preference.Leaderboard.fit(t, prior=1.0)),
    "fit_rankings": (RANKS, preference.fit_rankings),
    "fit_menus": (MENUS, preference.fit_menus),
    "MenuResponse": (MENUS, lambda table: preference.MenuResponse(1).simulate(table, seed())),
    "synthesize": (
        NUMBERS,
        lambda table: (
            release.synthesize(table, epsilon=1, domain=(0, 8)).summary["task"].to_pylist()
        ),
    ),
    "simulate_release": (
        NUMBERS,
        lambda t: release.simulate_release(t, seed(), epsilon=1, domain=(0, 8)),
    ),
    "GroupedClaims": (NUMBERS, lambda table: release.GroupedClaims.of(table).value.tolist()),
    "read_pool": (POOL, lambda table: selection.read_pool(table).digest()),
    "read_reports": (REPORTS, lambda t: survey_result(read_reports(t, codebook=BOOK))),
}

for _name, _method in METHODS.items():
    _columns = CLAIMS if _method.kind == "categorical" else NUMBERS
    ENTRIES[f"truth by {_name}"] = (_columns, partial(learned, _name))

KINDS: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "Arrow": pa.table,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


def plain(result: Any) -> Any:
    """Return a result as texts, numbers and lists, which are compared."""
    if hasattr(result, "to_dict"):
        return result.to_dict()
    if isinstance(result, pa.Table | pa.Array):
        return result.to_pylist()
    if isinstance(result, tuple):
        return [plain(part) for part in result]
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_takes_any_table(entry: str, kind: str) -> None:
    """The result of a table is that of a dict of arrays, for every library of tables."""
    columns, call = ENTRIES[entry]
    np.testing.assert_equal(plain(call(KINDS[kind](columns))), plain(call(columns)))
