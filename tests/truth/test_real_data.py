"""The accuracy of the methods on real crowds.

The data are not part of the package: name their folder in the environment variable
``MASQUERADE_DATA``; it holds ``index.json``, ``README.md`` and one folder a set.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from masquerade.answers import Claims, Truths
from masquerade.mechanisms import TwoLayer
from masquerade.simulate import study
from masquerade.truth import (
    Auto,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    TruthDiscovery,
    accuracy,
    mean_absolute_error,
    root_mean_squared_error,
)
from masquerade.truth.numeric import Mean, Median

pytestmark = pytest.mark.real_data

FAR_BELOW_MAJORITY = {"ducks"}
"""Sets on which truth discovery falls more than .05 below the majority vote.

On ``ducks`` most workers take grebes, and half of them geese, for ducks. They agree with one
another, so every round trusts them more: .60 instead of .69, and one-coin inference is no better.
"""


@pytest.fixture(scope="module")
def folder() -> Path:
    """Return the folder of the data, or skip."""
    named = os.environ.get("MASQUERADE_DATA")
    if not named:
        pytest.skip("MASQUERADE_DATA is not set; it names the folder of the real data sets")
    path = Path(named)
    if not (path / "index.json").is_file():
        pytest.skip(f"MASQUERADE_DATA is {named}, which has no index.json")
    return path


@cache
def _index(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((folder / "index.json").read_text("utf-8"))
    return found


@cache
def _load(folder: Path, name: str) -> tuple[Claims, Truths]:
    kind = "categorical" if _index(folder)[name]["kind"] == "categorical" else "numeric"
    # the published figures count every repeated answer
    claims = Claims.read(folder / name / "claims.csv.gz", kind=kind, duplicates="all")  # type: ignore[arg-type]
    return claims, Truths.read(folder / name / "truth.csv")


@cache
def _scores(folder: Path, method: type[CategoricalEstimator]) -> dict[str, float]:
    """Return the accuracy of a method, with its defaults, on every set of categories."""
    names = [name for name, facts in _index(folder).items() if "mv_accuracy" in facts]
    scores = {}
    for name in names:
        claims, truths = _load(folder, name)
        scores[name] = accuracy(method().fit(claims), truths)
    return scores


def test_majority_vote_equals_the_published_figures(folder: Path) -> None:
    """On every set, expected accuracy over ties is the one of the data's own description."""
    scores = _scores(folder, MajorityVote)
    assert len(scores) >= 20
    for name, score in scores.items():
        assert score == pytest.approx(_index(folder)[name]["mv_accuracy"], abs=1e-3), name
    rows = re.findall(
        r"^\| \[(\w+)\].*\| ([\d.]+) \|$",
        (folder / "README.md").read_text("utf-8").split("## Numeric")[0],
        flags=re.MULTILINE,
    )
    published = {name: float(figure) for name, figure in rows}
    assert published.keys() == scores.keys()
    for name, score in scores.items():
        assert score == pytest.approx(published[name], abs=1e-3), name


def test_truth_discovery_beats_the_majority_vote_on_average(folder: Path) -> None:
    """Its mean over all sets is higher, by .02 on rte, and only listed sets fall far below."""
    votes, found = _scores(folder, MajorityVote), _scores(folder, TruthDiscovery)
    assert np.mean(list(found.values())) > np.mean(list(votes.values())) + 0.005
    assert found["rte"] >= max(votes["rte"] + 0.02, 0.92)
    assert {name for name in votes if found[name] < votes[name] - 0.05} == FAR_BELOW_MAJORITY


def test_one_coin_is_level_with_the_majority_vote_on_average(folder: Path) -> None:
    """Its mean over all sets is not below; on rte it is .02 higher."""
    votes, found = _scores(folder, MajorityVote), _scores(folder, OneCoin)
    assert np.mean(list(found.values())) > np.mean(list(votes.values()))
    assert found["rte"] >= votes["rte"] + 0.02


def test_the_default_is_the_best_single_choice(folder: Path) -> None:
    """Its mean accuracy over the sets is .837 at least, and no set is .01 below majority vote."""
    votes, found = _scores(folder, MajorityVote), _scores(folder, Auto)
    assert np.mean(list(found.values())) >= 0.837
    assert min(found[name] - votes[name] for name in votes) > -0.01
    for method in (TruthDiscovery, OneCoin, DawidSkene):
        assert np.mean(list(found.values())) > np.mean(list(_scores(folder, method).values()))


@pytest.mark.parametrize(
    ("name", "mechanism", "reached"),
    [
        pytest.param("rte", "two-layer", 0.80, marks=pytest.mark.exhaustive),
        ("rte", "one-layer", 0.77),
        ("bluebird", "two-layer", 0.80),
    ],
)
def test_the_default_behind_masks(folder: Path, name: str, mechanism: str, reached: float) -> None:
    """At a single-report epsilon of 1, over 10 trials, at least this.

    Standard errors are about .01 on rte, .015 on bluebird.
    """
    table = study(
        *_load(folder, name),
        mechanism=mechanism,
        epsilons=[1],
        methods=["majority-vote", "auto"],
        trials=10,
    )
    found = {row["method"]: row["accuracy"] for row in table.to_pylist()}
    assert found["auto"] >= reached
    assert found["auto"] > found["majority-vote"]


def test_numbers_equal_the_published_figures(folder: Path) -> None:
    """Median and mean have the errors of the data's own description, on its common scale."""
    checked = 0
    for name, facts in _index(folder).items():
        if "median_mae" not in facts:
            continue
        claims, truths = _load(folder, name)
        for method, prefix in ((Median(), "median"), (Mean(), "mean")):
            fit = method.fit(claims)
            assert mean_absolute_error(fit, truths) == pytest.approx(
                facts[f"{prefix}_mae"], rel=1e-4
            )
            assert root_mean_squared_error(fit, truths) == pytest.approx(
                facts[f"{prefix}_rmse"], rel=1e-4
            )
        checked += 1
    assert checked >= 4


def _accuracies(table: pa.Table) -> dict[str, tuple[float, float]]:
    return {row["method"]: (row["accuracy"], row["standard_error"]) for row in table.to_pylist()}


def test_two_layers_at_epsilon_one(folder: Path) -> None:
    """On rte behind the two-layer mechanism, truth discovery and one-coin beat votes.

    40 trials; standard errors are about .005.
    """
    found = _accuracies(
        study(*_load(folder, "rte"), mechanism="two-layer", epsilons=[1], trials=40)
    )
    assert found["truth-discovery"][0] >= 0.78
    assert found["one-coin"][0] >= 0.79
    assert found["majority-vote"][0] < 0.76


def test_one_layer_at_epsilon_one(folder: Path) -> None:
    """On rte behind randomized response, knowing the channel is worth four points over voting.

    40 trials; standard errors are about .003.
    """
    methods = ["majority-vote", "one-coin"]
    found = _accuracies(
        study(
            *_load(folder, "rte"), mechanism="one-layer", epsilons=[1], methods=methods, trials=40
        )
    )
    assert found["one-coin"][0] >= 0.76
    assert found["one-coin"][0] > found["majority-vote"][0] + 0.02


@pytest.mark.parametrize("mechanism", ["one-layer", "U(0, 1)"])
def test_epsilon_zero_is_a_coin(folder: Path, mechanism: str) -> None:
    """At epsilon 0 no method is better or worse than chance: 40 trials, false alarm below 1e-6."""
    family = "one-layer" if mechanism == "one-layer" else lambda _, s: TwoLayer(s, low=0, high=1)
    table = study(*_load(folder, "rte"), mechanism=family, epsilons=[0], trials=40)
    for method, (mean, error) in _accuracies(table).items():
        # Six standard errors, of 40 trials: t with 39 degrees of freedom.
        assert abs(mean - 0.5) <= 6 * error + 1e-12, method
