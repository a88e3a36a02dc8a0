"""Huge label sets: figures of given labels alone are those of tables of all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Claims, Truths
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import (
    Auto,
    BayesianCombination,
    DawidSkene,
    MajorityVote,
    OneCoin,
    Subtypes,
    TruthDiscovery,
    WeightedVote,
    accuracy,
    calibration_table,
    categorical,
    fleiss_kappa,
    krippendorff_alpha,
    label_slots,
)
from masquerade.truth.collection import worker_advice

OPTIONS = 12
AGAINST = dict(enumerate((1.0, -0.5, -1.0, 0.0, 2.0)))
METHODS = [
    MajorityVote(),
    MajorityVote(ties="first"),
    MajorityVote(ties="abstain"),
    WeightedVote(),
    WeightedVote(weights=AGAINST),
    WeightedVote(weights=AGAINST, ties="first"),
    TruthDiscovery(),
    TruthDiscovery(weights="share", floor=None),
    TruthDiscovery(weights="linear", floor=-1.0, smoothing=0.0),
    OneCoin(),
    OneCoin(accuracy_prior=(1.0, 30.0)),
]


def crowd(seed: int, options: int = OPTIONS, tasks: int = 30) -> Claims:
    """Return claims of five workers with at most three answers each, some with no answer."""
    rng = np.random.default_rng(seed)
    truth, rows = rng.integers(0, options, tasks), []
    for task in range(tasks):
        for worker in rng.choice(5, rng.integers(1, 4), replace=False):
            label: Any = int(truth[task] if rng.random() < 0.6 else rng.integers(0, options))
            rows.append((task, int(worker), None if rng.random() < 0.1 else label))
    columns = zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)
    return Claims.from_frame(
        {name: list(column) for name, column in columns},
        options=list(range(options)),
        null=True,
        tasks=range(tasks),
        workers=range(5),
    )


def figures(fit: Any, truths: Truths) -> list[Any]:
    """Return the readable results of a fit with tables that hold given labels alone."""
    table = fit.result_.truths
    return [
        fit.labels_,
        np.nan_to_num(table["posterior"].to_numpy(zero_copy_only=False), nan=-1),
        fit.reliability_["reliability"].to_numpy(),
        fit.reliability_["weight"].to_numpy(),
        fit.iterations_,
        accuracy(fit, truths),
        calibration_table(fit, truths)["accuracy"].to_numpy(),
        fit.unanswered_.to_pylist(),
    ]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(seed=st.integers(0, 10**6), known=st.booleans(), masked=st.booleans())
def test_prop_given_labels_alone_tell_the_same(
    method: Any, seed: int, known: bool, masked: bool
) -> None:
    """Labels, posteriors, workers and scores are those of the tables of all labels."""
    claims = crowd(seed)
    mask = RandomizedResponse(OPTIONS, epsilon=3, null=True) if masked else None
    gold = {0: 11, 3: 2} if known else None
    truths = Truths.from_frame({"task": range(1, 30), "truth": [t % OPTIONS for t in range(1, 30)]})
    whole = figures(method.fit(claims, mechanism=mask, gold=gold), truths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(categorical, "_MANY_CELLS", 0)
        fit = method.fit(claims, mechanism=mask, gold=gold)
        assert fit.fitted.slots is not None
        for own, other in zip(figures(fit, truths), whole, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-9)


@pytest.mark.parametrize("method", [Auto(), BayesianCombination()], ids=lambda one: one.name)
def test_the_default_falls_back_to_given_labels(method: Any) -> None:
    """With 3000 labels it is one-coin inference, in places, and says so."""
    claims = crowd(4, 3000, 7000)
    fit = method.fit(claims)
    assert fit.fitted.slots.n_places == 4
    assert "MANY_OPTIONS" in [remark.code for remark in fit.remarks_]
    assert np.array_equal(fit.labels_, OneCoin().fit(claims).labels_)


def test_tables_of_all_labels_are_refused_with_their_size() -> None:
    """The error names the size, and results that can be read instead."""
    fit = MajorityVote().fit(crowd(5, 3000, 7000))
    for read in (
        lambda: fit.posteriors_,
        lambda: fit.scores_,
        lambda: fit.chances_,
        lambda: fit.solution_,
        lambda: worker_advice(fit),
    ):
        with pytest.raises(ParameterError, match=r"7,000 tasks times 3,000 options.*truths_"):
            read()


@pytest.mark.parametrize(
    ("method", "needs"),
    [
        (DawidSkene(), "7,000 tasks times 3,000 options"),
        (DawidSkene(), "5 workers times 3,000 options squared"),
        (Subtypes(), "5 workers times 3,000 options squared"),
    ],
)
def test_what_memory_does_not_hold_is_refused_before(
    method: Any, needs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of all labels are refused by their size, and methods without them are named."""
    monkeypatch.setattr(label_slots, "memory_at_hand", lambda: 0.5e9)
    tasks = 7000 if "tasks" in needs else 50
    with pytest.raises(ParameterError, match=f"{needs} make tables of .*one-coin"):
        method.fit(crowd(6, 3000, tasks))


def test_memory_at_hand_is_known() -> None:
    """It is between a megabyte and a petabyte on any machine."""
    assert 1e6 < label_slots.memory_at_hand() < 1e15


def test_agreement_of_huge_label_sets_is_of_given_labels() -> None:
    """A label that is named 10**9 tasks times options away costs nothing; coefficients are same."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(50_000), 3)
    truth = rng.integers(0, 5, 50_000)[task]
    label = np.where(rng.random(150_000) < 0.8, truth, rng.integers(0, 5, 150_000))
    frame = {"task": task, "worker": np.tile(np.arange(3), 50_000)}
    few = Claims.from_frame({**frame, "label": label}, options=list(range(5)))
    many = Claims.from_frame({**frame, "label": label}, options=list(range(30_000)))
    for coefficient in (krippendorff_alpha, fleiss_kappa):
        assert coefficient(many) == pytest.approx(coefficient(few), abs=1e-12)
