"""Votes weighted by accuracy on known truths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.truth import CategoricalEstimator, GoldMajorityVote

ORACLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "crowd-kit.json").read_text("utf-8")
)


def _weights(fit: CategoricalEstimator) -> dict[str, float]:
    table = fit.reliability_
    return dict(zip(table["worker"].to_pylist(), table["weight"].to_pylist(), strict=True))


def _labels(fit: CategoricalEstimator) -> dict[str, str]:
    return dict(zip(*fit.truths_.to_pydict().values(), strict=True))


def test_weights_of_gold_are_crowd_kits() -> None:
    """Accuracies on known truths are crowd-kit 1.4's, and so are the labels of other tasks."""
    fit = GoldMajorityVote(ties="first").fit(ORACLE["three"], gold=ORACLE["gold"])
    assert _weights(fit) == pytest.approx(ORACLE["gold_skills"], abs=1e-12)
    labels = _labels(fit)
    others = ORACLE["gold_labels"].keys() - ORACLE["gold"].keys()
    assert {task: labels[task] for task in others} == {
        task: ORACLE["gold_labels"][task] for task in others
    }
    assert {task: labels[task] for task in ORACLE["gold"]} == ORACLE["gold"]


def test_gold_is_needed() -> None:
    """Without a known truth, or a worker's share in one, the error gives advice."""
    rows = {"task": ["a", "a", "b"], "worker": ["x", "y", "z"], "label": ["n", "y", "n"]}
    with pytest.raises(ParameterError, match=r"no truth .* gold="):
        GoldMajorityVote().fit(rows)
    with pytest.raises(ParameterError, match=r"1 workers, such as 'z'.* default_weight"):
        GoldMajorityVote().fit(rows, gold={"a": "y"})
    fit = GoldMajorityVote(default_weight=0.25).fit(rows, gold={"a": "y"})
    assert _weights(fit) == {"x": 0, "y": 1, "z": 0.25}


def test_a_default_weight_is_finite() -> None:
    """A weight without end is refused by name."""
    with pytest.raises(ParameterError, match="default_weight is inf, expected finite"):
        GoldMajorityVote(default_weight=np.inf)
