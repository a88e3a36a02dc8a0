"""A fitted crowd labels tasks that the fit has not seen, and can be kept in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from masquerade.answers import Claims
from masquerade.errors import MixedTypes, ParameterError, UnknownLabel, UnreadableFile
from masquerade.mechanisms import DiscreteLaplace, RandomizedResponse
from masquerade.simulate import crowd
from masquerade.truth import Auto, FittedCrowd, MajorityVote, OneCoin, ReportMechanisms


def halves(seed: int, **more: Any) -> tuple[Any, Any, dict[Any, int]]:
    """Return tables of the claims on two halves of the tasks, and truths of the second."""
    claims, truths = crowd(
        np.random.default_rng(seed), tasks=400, workers=30, answers_per_task=7, **more
    )
    table = claims.to_arrow().to_pandas()
    first = table["task"].isin(claims.tasks.to_pylist()[:200])
    known = dict(zip(claims.tasks.to_pylist(), truths.codes(claims).tolist(), strict=True))
    return table[first], table[~first], known


def test_workers_once_fitted_label_other_tasks_better_than_votes() -> None:
    """On tasks that were not fitted, known workers beat the majority vote."""
    gain = []
    for seed in range(5):
        old, new, known = halves(seed, options=3)
        labels = FittedCrowd.of(Auto().fit(old)).predict(new)
        vote = MajorityVote().fit_predict(new)
        truth = pd.Series(known)[labels.index]
        gain.append(
            float((labels.astype(int) == truth).mean() - (vote.astype(int) == truth).mean())
        )
    assert np.mean(gain) > 0.01


def test_predictions_come_in_the_kind_of_the_table() -> None:
    """A pandas table gives a series and a frame with crowd-kit's names; a dict gives a dict."""
    old, new, _ = halves(1)
    fitted = FittedCrowd.of(OneCoin().fit(old))
    labels, shares = fitted.predict(new), fitted.predict_proba(new)
    assert (labels.name, labels.index.name) == ("agg_label", "task")
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.idxmax(axis=1) == labels).all()
    table = fitted.predict({name: new[name].to_numpy() for name in new.columns})
    assert set(table) == {"task", "label"}
    read = Claims.from_frame(new, options=fitted.options.to_pylist())
    assert fitted.predict(read)["label"].to_pylist() == table["label"].tolist()


def test_a_worker_who_lies_is_read_the_other_way_round() -> None:
    """A worker that always says the opposite labels a new task all alone."""
    rows = [(t, w, t % 2 if w != "liar" else 1 - t % 2) for t in range(40) for w in "abc"]
    rows += [(t, "liar", 1 - t % 2) for t in range(40)]
    task, worker, label = zip(*rows, strict=True)
    fitted = FittedCrowd.of(Auto().fit({"task": task, "worker": worker, "label": label}))
    new = {"task": [99, 98], "worker": ["liar", "nobody"], "label": [1, 1]}
    assert fitted.predict(new)["label"].tolist() == [0, 1]


def test_masks_are_part_of_the_crowd(tmp_path: Path) -> None:
    """Behind levels each report counts by its own, known or not, saved and loaded again."""
    levels = {"low": RandomizedResponse(2, epsilon=6), "high": RandomizedResponse(2, epsilon="0.5")}
    rng = np.random.default_rng(5)
    claims, _ = crowd(rng, tasks=300, workers=20, answers_per_task=8)
    level = np.where(claims.worker < 10, "low", "high")
    report = np.where(
        level == "low",
        levels["low"].simulate(claims, rng).value,
        levels["high"].simulate(claims, rng).value,
    )
    table = {"task": claims.task, "worker": claims.worker, "label": report, "level": level}
    masks = ReportMechanisms.read(table, levels)
    fit = Auto().fit(table, mechanism=levels)
    fitted = FittedCrowd.of(fit, mechanism=masks)
    texts = [str(levels["low"]), str(levels["high"]), str(levels["high"])]
    new = {"task": ["t"] * 3, "worker": [901, 902, 903], "label": [1, 0, 0], "mechanism": texts}
    assert fitted.predict(new)["label"].tolist() == [1]
    fitted.save(tmp_path / "crowd")
    again = FittedCrowd.load(tmp_path / "crowd")
    assert np.array_equal(again.predict_proba(new)["1"], fitted.predict_proba(new)["1"])
    assert again.mechanisms == fitted.mechanisms
    with pytest.raises(ParameterError, match="several mechanisms"):
        fitted.predict({name: new[name] for name in ("task", "worker", "label")})
    with pytest.raises(ParameterError, match="none of the crowd's"):
        fitted.predict({**new, "mechanism": [str(RandomizedResponse(2, epsilon=1))] * 3})


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """Other labels, other ids, another kind of mask, a folder of something else."""
    fit = OneCoin().fit({"task": [1, 1], "worker": ["x", "y"], "label": ["a", "b"]})
    fitted = FittedCrowd.of(fit)
    with pytest.raises(UnknownLabel, match="'c'"):
        fitted.predict({"task": [2], "worker": ["x"], "label": ["c"]})
    with pytest.raises(MixedTypes, match="ids of one type"):
        fitted.predict({"task": [2], "worker": [1], "label": ["a"]})
    other = Claims.from_frame({"task": [1], "worker": ["x"], "label": ["a"]}, options=["b", "a"])
    with pytest.raises(ParameterError, match="options are not the crowd's"):
        fitted.predict(other)
    with pytest.raises(ParameterError, match="does not mask categories"):
        FittedCrowd.of(fit, mechanism=DiscreteLaplace(1, 5, step=1, epsilon=1))
    with pytest.raises(UnreadableFile, match="masquerade-fitted-crowd"):
        FittedCrowd.load(tmp_path)
