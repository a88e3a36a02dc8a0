"""Rare labels: the crowd as one coin, the discount, and the choice by held-out claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import Auto, BayesianCombination, MajorityVote, OneCoin, Subtypes
from masquerade.truth.categorical import problem_of
from masquerade.truth.channel_view import OptionChannel
from masquerade.truth.problem import gold_codes
from masquerade.truth.rare_labels import CrowdCoin, VoteRows, rare_discount
from masquerade.truth.report_mechanisms import ReportMechanisms
from masquerade.truth.scale import (
    DaskCluster,
    PartitionFit,
    Partitions,
    Stream,
    fit_partitions,
    partition_by_task,
)

ROWS = np.array([(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)], dtype=np.float64)
CLEAR = OptionChannel.of(None, n_options=2, null_share=0.0)


@pytest.mark.parametrize(
    ("tasks", "plain", "share", "hit", "right", "gain", "discount"),
    [
        ((600, 300, 50, 10, 40), 0.1482, 0.0516, 0.8956, 0.3480, 89.97, 0.696),
        ((60, 30, 5, 1, 4), 0.1544, 0.0600, 0.8902, 0.3888, 9.75, 1.0),
        ((12, 6, 1, 0, 1), 0.1818, 0.0957, 0.8717, 0.5264, 2.30, 1.0),
        ((40, 10, 2, 10, 38), 0.4902, 0.4900, 0.9324, 0.9995, 0.00, 1.0),
    ],
)
def test_the_crowds_coin_has_its_golden_values(
    tasks: tuple[int, ...],
    plain: float,
    share: float,
    hit: float,
    right: float,
    gain: float,
    discount: float,
) -> None:
    """Shares, hits, the share of right votes, the guard and the discount, of two options."""
    coin = CrowdCoin.of(VoteRows(ROWS, np.array(tasks, dtype=np.float64)), CLEAR)
    assert coin.plain[1] == pytest.approx(plain, abs=5e-5)
    assert coin.shares[1] == pytest.approx(share, abs=1e-4)
    assert coin.hit == pytest.approx(hit, abs=1e-4)
    assert coin.right[1] == pytest.approx(right, abs=5e-4)
    assert 2 * (coin.log_likelihood - coin.log_likelihood_at_plain) == pytest.approx(gain, abs=0.01)
    assert coin.discount[1] == pytest.approx(discount, abs=1e-3)


def test_a_symmetric_mask_only_lowers_the_hit() -> None:
    """With randomized response of epsilon 2 shares and likelihood stay."""
    mask = RandomizedResponse(2, epsilon=2)
    channel = OptionChannel.of(mask, n_options=2, null_share=0.0)
    coin = CrowdCoin.of(VoteRows(ROWS, np.array([600.0, 300, 50, 10, 40])), channel)
    assert coin.shares[1] == pytest.approx(0.0516, abs=1e-4)
    assert coin.log_likelihood == pytest.approx(-1515.545, abs=1e-3)


def whole_crowd() -> tuple[Claims, Any]:
    """Return 400 tasks of which 16 are 1, four answers each by twelve workers; and the truths."""
    rows = []
    for task in range(400):
        truth = int(task % 25 == 0)
        for k in range(4):
            worker = (3 * task + 5 * k) % 12
            right = (7919 * task + 104729 * worker + 31 * task * worker) % 100 >= 12
            rows.append((task, worker, truth if right else 1 - truth))
    columns = dict(zip(("task", "worker", "label"), np.array(rows).T, strict=True))
    return Claims.from_frame(columns), np.arange(400) % 25 == 0


def f1(labels: Any, truth: Any) -> float:
    """Return the F1 of label 1."""
    return float(2 * (labels.astype(bool) & truth).sum() / (labels.sum() + truth.sum()))


def test_the_default_finds_rare_truths() -> None:
    """Of a crowd with 4 % of truths: choice, accuracy, F1 and posteriors are the golden ones."""
    claims, truth = whole_crowd()
    fit = Auto().fit(claims)
    assert fit.chosen_.discount == pytest.approx((1.0, 0.43175), abs=1e-4)
    scores = {
        (row["candidate"], row["discounted"]): row["score"] for row in fit.selection_.to_pylist()
    }
    assert scores["bayesian-combination", False] == pytest.approx(-0.3319, abs=1e-4)
    assert scores["bayesian-combination", True] == pytest.approx(-0.3256, abs=5e-4)
    assert scores["subtypes", False] == pytest.approx(-0.3285, abs=1e-4)
    assert scores["subtypes", True] == pytest.approx(-0.3302, abs=5e-4)
    assert (fit.labels_ == truth).mean() == pytest.approx(0.99)
    assert f1(fit.labels_, truth) == pytest.approx(6 / 7)
    share = fit.solution_.posteriors[:, 1]
    assert share.sum() == pytest.approx(19.64, abs=0.01)
    assert share[[0, 25, 50, 1, 2]] == pytest.approx(
        [0.8098, 0.9811, 0.9995, 0.0021, 0.0205], abs=1e-3
    )


def test_rare_labels_are_said_with_figures() -> None:
    """Remarks say how many votes are right, and the expected number of tasks given the label."""
    claims, truth = whole_crowd()
    fit = Auto().fit(claims)
    said = {remark.code: remark.text for remark in fit.remarks_}
    assert "of its votes about 22% are right" in said["RARE_LABEL"]
    assert "0 everywhere would be right for 96.3%" in said["LOW_RATE"]
    (row,) = fit.rare_labels_.to_pylist()
    given = int(fit.labels_.sum())
    assert (row["label"], row["given"]) == (1, given)
    assert abs(row["precision"] - truth[fit.labels_ == 1].mean()) < 0.15
    assert abs(row["recall"] - (fit.labels_[truth] == 1).mean()) < 0.15
    assert MajorityVote().fit(claims).rare_labels_.num_rows == 0


@pytest.mark.parametrize(
    "method", [BayesianCombination(), OneCoin(), Subtypes()], ids=lambda m: m.name
)
def test_a_discount_lowers_how_often_a_rare_label_holds(method: Any) -> None:
    """Only `BayesianCombination` looks for one by itself; the others discount a given one."""
    claims, _ = whole_crowd()
    problem, _ = problem_of(claims, None, gold_codes(None, claims))
    alone = method.fit(claims).solution_.posteriors.copy()
    discount = rare_discount(problem)
    found = method.set_params(discount=discount).fit(claims).solution_.posteriors.copy()
    plain = method.set_params(discount=(1.0, 1.0)).fit(claims).solution_.posteriors.copy()
    assert found[:, 1].sum() < plain[:, 1].sum() - 2
    looks = isinstance(method, BayesianCombination)
    assert np.array_equal(alone, found if looks else plain)
    method.set_params(discount=None)


@pytest.mark.parametrize("given", [(1.0,), (1.0, 0.0), (1.0, 1.5)])
def test_a_discount_is_checked(given: tuple[float, ...]) -> None:
    """One factor above 0 and at most 1 for each option."""
    claims, _ = whole_crowd()
    with pytest.raises(ParameterError, match="expected 2 factors"):
        OneCoin(discount=given).fit(claims)


@pytest.mark.parametrize("epsilon", [0.5, 1])
def test_nothing_is_rare_behind_strong_masks(epsilon: float) -> None:
    """Where a report says little, a discount would find fewer rare truths: it is off."""
    claims, _ = whole_crowd()
    mask = RandomizedResponse(2, epsilon=epsilon)
    reports = mask.simulate(claims, np.random.default_rng(1))
    problem, _ = problem_of(reports, ReportMechanisms((mask,)), gold_codes(None, reports))
    assert rare_discount(problem) == (1.0, 1.0)


def test_partitions_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagnosis, choice and labels are those in memory, also where rows of votes do not travel."""
    claims, _ = whole_crowd()
    pa_parquet.write_table(claims.to_arrow(), tmp_path / "claims.parquet")
    partition_by_task(tmp_path / "claims.parquet", tmp_path / "parts", partitions=3)
    fit = Auto().fit(claims)
    labels = dict(zip(*fit.truths_.to_pydict().values(), strict=True))
    for most in (10_000, 2):
        monkeypatch.setattr("masquerade.truth.rare_labels._MOST_ROWS", most)
        with Stream() as engine:
            part = fit_partitions(Partitions.at(tmp_path / "parts"), Auto(), engine=engine)
            assert part.selection_.to_pylist() == [
                pytest.approx(row) for row in fit.selection_.to_pylist()
            ]
            assert dict(zip(*part.truths_.to_pydict().values(), strict=True)) == labels
            _same_figures(part, fit)


@pytest.mark.parametrize("method", [Auto(), OneCoin(), MajorityVote()], ids=lambda one: one.name)
def test_a_cluster_finds_the_same(method: Any, cluster: DaskCluster, tmp_path: Path) -> None:
    """Labels, choice, figures and remarks on rare labels are those in memory."""
    claims, _ = whole_crowd()
    pa_parquet.write_table(claims.to_arrow(), tmp_path / "claims.parquet")
    partition_by_task(tmp_path / "claims.parquet", tmp_path / "parts", partitions=3)
    part = fit_partitions(Partitions.at(tmp_path / "parts"), method, engine=cluster)
    fit = method.fit(claims)
    labels = dict(zip(*fit.truths_.to_pydict().values(), strict=True))
    assert dict(zip(*part.truths_.to_pydict().values(), strict=True)) == labels
    _same_figures(part, fit)


def _same_figures(part: PartitionFit, fit: Any) -> None:
    """Assert that figures and remarks on rare labels of partitions are those in memory."""
    found, whole = part.rare_labels_.to_pylist(), fit.rare_labels_.to_pylist()
    assert found == [pytest.approx(row, abs=1e-9) for row in whole]
    codes = ("RARE_LABEL", "LOW_RATE")
    texts = [
        [str(remark) for remark in one.remarks_ if remark.code in codes] for one in (part, fit)
    ]
    assert texts[0] == texts[1]


def test_known_truths_switch_the_diagnosis_off() -> None:
    """With gold, rates come from known labels, and no label is discounted."""
    claims, _ = whole_crowd()
    problem, _ = problem_of(claims, None, gold_codes({0: 1}, claims))
    assert rare_discount(problem) == (1.0, 1.0)
