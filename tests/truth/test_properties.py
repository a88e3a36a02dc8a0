"""Invariances of every truth method: the order of rows, and the names of things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.answers import Claims
from masquerade.truth import (
    MACE,
    BayesianCombination,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoin,
    OneCoinDawidSkene,
    TruthDiscovery,
    TwoCoin,
    WeightedVote,
)

ESTIMATORS = [
    MajorityVote(),
    TruthDiscovery(),
    TruthDiscovery(floor=None),
    TruthDiscovery(weights="share"),
    TruthDiscovery(weights="linear"),
    OneCoin(max_iterations=20),
    WeightedVote(),
    TwoCoin(max_iterations=20),
    DawidSkene(max_iterations=5),
    OneCoinDawidSkene(max_iterations=5),
    MACE(max_iterations=5),
    BayesianCombination(),
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)

Rows = list[tuple[str, str, str]]
LABELS = ["p", "q", "r"]


@st.composite
def rows(draw: st.DrawFn) -> tuple[Rows, list[str]]:
    """Draw a small crowd, each worker answering a task at most once, and the declared options."""
    options = LABELS[: draw(st.integers(2, 3))]
    pairs = draw(
        st.lists(
            st.tuples(st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=40, unique=True
        )
    )
    return [(f"t{t}", f"w{w}", draw(st.sampled_from(options))) for t, w in pairs], options


def _fit(estimator: CategoricalEstimator, data: Rows, options: list[str]) -> CategoricalEstimator:
    table = {
        name: [row[place] for row in data] for place, name in enumerate(("task", "worker", "label"))
    }
    return estimator.fit(Claims.from_frame(table, options=options))


def _labels(fit: CategoricalEstimator) -> dict[str, str]:
    return dict(zip(*fit.truths_.to_pydict().values(), strict=True))


def _clear_labels(fit: CategoricalEstimator) -> dict[str, str]:
    """Return the labels of tasks that were not tied."""
    sole = fit.chances_.max(axis=1) == 1
    return {
        task: label for (task, label), one in zip(_labels(fit).items(), sole, strict=True) if one
    }


def _posteriors(fit: CategoricalEstimator) -> dict[Any, dict[str, float]]:
    return {row.pop("task"): row for row in fit.posteriors_.to_pylist()}


def _reliability(fit: CategoricalEstimator) -> dict[str, float]:
    table = fit.reliability_
    return dict(zip(table["worker"].to_pylist(), table["reliability"].to_pylist(), strict=True))


def _close(first: dict[str, float], second: dict[str, float]) -> bool:
    return first.keys() == second.keys() and all(
        abs(first[key] - second[key]) < 1e-6 for key in first
    )


@every_estimator
@given(data=rows(), order=st.randoms(use_true_random=False))
def test_prop_the_order_of_rows_does_not_matter(
    estimator: CategoricalEstimator, data: tuple[Rows, list[str]], order: Any
) -> None:
    """Shuffled rows give the same labels, ties included, posteriors and reliabilities."""
    given_rows, options = data
    shuffled = list(given_rows)
    order.shuffle(shuffled)
    fit = _fit(estimator, given_rows, options)
    labels, posteriors, reliability = _labels(fit), _posteriors(fit), _reliability(fit)
    fit = _fit(estimator, shuffled, options)
    assert _labels(fit) == labels
    assert _close(_reliability(fit), reliability)
    assert all(_close(row, posteriors[task]) for task, row in _posteriors(fit).items())


@every_estimator
@given(data=rows(), order=st.permutations(LABELS))
def test_prop_the_order_of_options_does_not_matter(
    estimator: CategoricalEstimator, data: tuple[Rows, list[str]], order: list[str]
) -> None:
    """Options declared in another order give the same labels, ties included."""
    given_rows, options = data
    fit = _fit(estimator, given_rows, options)
    labels, posteriors = _labels(fit), _posteriors(fit)
    fit = _fit(estimator, given_rows, [label for label in order if label in options])
    assert _labels(fit) == labels
    assert all(_close(row, posteriors[task]) for task, row in _posteriors(fit).items())


@every_estimator
@given(data=rows(), order=st.permutations(LABELS))
def test_prop_relabelled_claims_give_relabelled_truths(
    estimator: CategoricalEstimator, data: tuple[Rows, list[str]], order: list[str]
) -> None:
    """Renaming the options renames the labels; a tied task stays tied between the renamed ones."""
    given_rows, options = data
    new = dict(zip(options, [label for label in order if label in options], strict=True))
    fit = _fit(estimator, given_rows, options)
    clear, posteriors = _clear_labels(fit), _posteriors(fit)
    fit = _fit(estimator, [(t, w, new[label]) for t, w, label in given_rows], options)
    assert _clear_labels(fit) == {task: new[label] for task, label in clear.items()}
    for task, row in _posteriors(fit).items():
        assert _close(row, {new[label]: share for label, share in posteriors[task].items()})


@every_estimator
@given(data=rows(), order=st.randoms(use_true_random=False))
def test_prop_the_names_of_tasks_and_workers_do_not_matter(
    estimator: CategoricalEstimator, data: tuple[Rows, list[str]], order: Any
) -> None:
    """Renamed tasks and workers keep their labels (where untied) and reliabilities."""
    given_rows, options = data
    tasks, workers = sorted({r[0] for r in given_rows}), sorted({r[1] for r in given_rows})
    new_task = dict(zip(tasks, order.sample(tasks, len(tasks)), strict=True))
    new_worker = dict(zip(workers, order.sample(workers, len(workers)), strict=True))
    fit = _fit(estimator, given_rows, options)
    clear, reliability = _clear_labels(fit), _reliability(fit)
    fit = _fit(estimator, [(new_task[t], new_worker[w], x) for t, w, x in given_rows], options)
    assert _clear_labels(fit) == {new_task[task]: label for task, label in clear.items()}
    assert _close(_reliability(fit), {new_worker[w]: r for w, r in reliability.items()})


@every_estimator
@given(data=rows())
def test_prop_rows_of_posteriors_sum_to_one(
    estimator: CategoricalEstimator, data: tuple[Rows, list[str]]
) -> None:
    """Each task's posteriors are 0 to 1 and sum to 1, and the label has the largest."""
    fit = _fit(estimator, *data)
    table = fit.posteriors_
    shares = np.array([table.column(place) for place in range(1, table.num_columns)]).T
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares.min() >= 0
    assert np.allclose(shares[np.arange(len(shares)), fit.labels_], shares.max(axis=1))
    assert all(0 <= value <= 1 for value in _reliability(fit).values())
