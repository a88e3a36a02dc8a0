"""Strengths of items where some workers do not look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.answers import Comparisons
from masquerade.errors import EmptyTable, InvalidRecord, ParameterError, SchemaError
from masquerade.preference import fit_bradley_terry, fit_noisy_bradley_terry
from masquerade.preference.crowd_kit import BradleyTerry, NoisyBradleyTerry

ITEMS = np.array(["a", "b", "c", "d", "e", "f"])
STRENGTHS = np.array([1.5, 0.9, 0.3, -0.3, -0.9, -1.5])


def crowd(seed: int, looks: list[float], *, habit: float = 0.9, each: int = 80) -> dict[str, Any]:
    """Return choices of workers who look so often, and else take the left by habit."""
    rng = np.random.default_rng(seed)
    worker = np.repeat(np.arange(len(looks)), each)
    pairs = np.array([rng.choice(6, 2, replace=False) for _ in worker])
    looked = rng.random(len(worker)) < np.array(looks)[worker]
    margin = STRENGTHS[pairs[:, 0]] - STRENGTHS[pairs[:, 1]]
    left = rng.random(len(worker)) < np.where(looked, 1 / (1 + np.exp(-margin)), habit)
    return {
        "worker": worker,
        "left": ITEMS[pairs[:, 0]],
        "right": ITEMS[pairs[:, 1]],
        "label": ITEMS[np.where(left, pairs[:, 0], pairs[:, 1])],
    }


def test_who_does_not_look_is_told_apart() -> None:
    """Reliability orders workers, habits are seen, and strengths are nearer than without."""
    table = crowd(1, [1.0] * 6 + [0.1] * 6)
    fit = fit_noisy_bradley_terry(table, prior=0.01)
    assert fit.converged
    workers = fit.of_workers()
    reliability = np.array(workers["reliability"].to_pylist())
    assert reliability[:6].min() > reliability[6:].max()
    assert np.mean(workers["left_habit"].to_pylist()[6:]) > 0.75
    other = np.where(table["label"] == table["left"], table["right"], table["left"])
    plain = fit_bradley_terry(
        Comparisons.from_frame(
            {"voter": table["worker"], "chosen": table["label"], "rejected": other}
        )
    )
    error = np.abs(fit.strengths - STRENGTHS).mean()
    assert error < np.abs(plain.strengths - STRENGTHS).mean() / 2


def test_everybody_looking_gives_bradley_terry() -> None:
    """Where all look, strengths are those of the plain model, but for a quarter.

    Some upsets are taken for lapses, which makes strengths larger.
    """
    table = crowd(2, [1.0] * 8, each=300)
    other = np.where(table["label"] == table["left"], table["right"], table["left"])
    plain = fit_bradley_terry(
        Comparisons.from_frame(
            {"voter": table["worker"], "chosen": table["label"], "rejected": other}
        ),
        prior=0.1,
    )
    fit = fit_noisy_bradley_terry(table)
    assert fit.strengths == pytest.approx(plain.strengths, rel=0.25, abs=0.05)
    assert fit.to_arrow()["item"].to_pylist() == list("abcdef")
    assert fit.probability("a", "f") > 0.9


def test_more_iterations_never_lower_the_likelihood() -> None:
    """The result of a longer fit is at least as probable, with its priors all but flat."""
    table = crowd(3, [0.9] * 4 + [0.2] * 4)
    values = [
        fit_noisy_bradley_terry(table, prior=1e-6, max_iterations=k, tolerance=1e-12).log_likelihood
        for k in (1, 3, 10, 40)
    ]
    assert (np.diff(values) > -0.5).all()
    assert values[-1] > values[0] + 5


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"label": ["c", "b"]}, InvalidRecord, "row 1: 'c' was chosen from two others"),
        ({"right": ["b", "b"]}, InvalidRecord, "row 2: 'b' is compared with itself"),
        ({"left": []} | {n: [] for n in ("worker", "right", "label")}, EmptyTable, "no rows"),
    ],
)
def test_bad_rows_are_named(change: Any, error: type[Exception], message: str) -> None:
    """Each error says which row, and what is wrong with it."""
    rows = {"worker": ["x", "y"], "left": ["a", "b"], "right": ["b", "a"], "label": ["a", "b"]}
    with pytest.raises(error, match=message):
        fit_noisy_bradley_terry(rows | change)


def test_what_is_refused() -> None:
    """Missing columns and parameters out of range."""
    with pytest.raises(SchemaError, match="'label'"):
        fit_noisy_bradley_terry({"worker": ["x"], "left": ["a"], "right": ["b"]})
    with pytest.raises(ParameterError, match="prior"):
        fit_noisy_bradley_terry(crowd(4, [1.0]), prior=0)
    with pytest.raises(ParameterError, match="none of the 6 items"):
        fit_noisy_bradley_terry(crowd(4, [1.0])).probability("a", "z")


def test_scores_have_crowd_kits_form() -> None:
    """Scores are Hunter's after so many iterations, skills and biases are by worker."""
    pandas = pytest.importorskip("pandas")
    rows = [("w", "a", "b", "a"), ("w", "b", "c", "b"), ("w", "c", "a", "a")]
    frame = pandas.DataFrame(rows, columns=["worker", "left", "right", "label"])
    assert BradleyTerry(0).fit_predict(frame).to_list() == pytest.approx([1 / 3] * 3)
    ten = BradleyTerry(n_iter=10, tol=0).fit_predict(frame)
    assert ten.to_dict() == pytest.approx({"a": 0.934, "b": 0.065, "c": 0}, abs=0.005)
    assert ten.name == "agg_score"
    circle = frame.assign(label=["a", "b", "c"])
    assert BradleyTerry(100).fit_predict(circle).to_list() == pytest.approx([1 / 3] * 3)
    noisy = NoisyBradleyTerry()
    assert noisy.fit_predict(frame).is_monotonic_decreasing
    assert (noisy.skills_.name, noisy.biases_.name) == ("skill", "bias")
    assert len(BradleyTerry(1).fit_predict(frame[:0])) == 0
