"""Labels are the inference of the library, from all levels together."""

from __future__ import annotations

import random

import pytest
from tests.results.made_up_reports import (
    compute,
    define,
    label_survey,
    made_up,
    masked,
    masks,
    rows_of,
)

from masquerade.answers import Claims
from masquerade.surveys import Choice
from masquerade.truth import (
    BayesianCombination,
)


@pytest.mark.parametrize("masking", ["per-answer", "per-person"])
def test_labels_are_the_librarys_inference(masking: str) -> None:
    """Labels and probabilities are the library's on the same reports, held to known labels."""
    definition = label_survey(masking=masking)
    draw = random.Random(3)
    chances = [0.3, 0.7] * 6
    sent = [tuple(int(draw.random() < chance) for chance in chances) for _ in range(50)]
    rows = rows_of(sent, level="low")
    result = compute(definition, rows)
    claims = Claims.from_frame(
        {
            "task": [f"q{n}" for _ in rows for n in range(12)],
            "worker": [pseudonym for pseudonym, _, _ in rows for _ in range(12)],
            "label": [("Cat", "Dog")[report] for _, _, row in rows for report in row],
        },
        options=["Cat", "Dog"],
    )
    fit = BayesianCombination().fit(claims, mechanism=masks(definition)[0], gold={"q0": "Cat"})
    truths = {row["task"]: row["label"] for row in fit.truths_.to_pylist()}
    assert {row["id"]: row["label"] for row in result["labels"]} == truths
    posterior = fit.solution_.posteriors.max(axis=1).tolist()
    assert [row["probability"] for row in result["labels"]] == pytest.approx(posterior)
    assert [row["known_label"] for row in result["labels"]] == ["Cat"] + [None] * 11
    assert [row["item"] for row in result["labels"]] == [f"Item {n}" for n in range(12)]


def test_labels_with_skipping() -> None:
    """Items that people may skip are inferred from the answers given."""
    definition = label_survey(skip=True)
    draw = random.Random(4)
    sent = [tuple(draw.choice((n % 2, n % 2, 2)) for n in range(12)) for _ in range(60)]
    result = compute(definition, rows_of(sent, level="low"))
    assert [row["label"] for row in result["labels"]] == ["Cat", "Dog"] * 6


@pytest.mark.parametrize("labels", [("task", "worker"), ("label", "probability"), ("=1", "null")])
def test_labels_of_any_name(labels: tuple[str, str]) -> None:
    """Labels that are named like a table's columns give results like any others."""
    definition = label_survey(labels)
    result = compute(definition, rows_of([tuple([0, 1] * 6)] * 30, level="low"))
    assert [row["label"] for row in result["labels"]] == list(labels) * 6
    assert all(row["probability"] > 0.5 for row in result["labels"])


def test_labels_over_several_levels() -> None:
    """Labels are inferred from all levels together, more surely than from one."""
    definition = label_survey(levels=("medium", "low"))
    truth = [[0, 1] * 6] * 150
    rows = [row for name in ("medium", "low") for row in masked(definition, name, truth)]
    result = compute(definition, rows)
    assert [row["label"] for row in result["labels"]] == ["Cat", "Dog"] * 6
    assert all(row["probability"] > 0.99 for row in result["labels"])


def test_each_report_counts_by_the_mask_of_its_level() -> None:
    """Labels are the library's on all levels together, each report with its own mechanism."""
    definition = label_survey(levels=("medium", "low"))
    draw = random.Random(6)
    truth = [[int(draw.random() < chance) for chance in [0.3, 0.7] * 6] for _ in range(40)]
    rows = [row for name in ("medium", "low") for row in masked(definition, name, truth)]
    found = compute(definition, rows)["labels"]
    table = {
        "task": [f"q{n}" for _ in rows for n in range(12)],
        "worker": [name for name, _, _ in rows for _ in range(12)],
        "label": [("Cat", "Dog")[report] for _, _, row in rows for report in row],
        "level": [level for _, level, _ in rows for _ in range(12)],
    }
    levels = {name: masks(definition, name)[0] for name in ("medium", "low")}
    fit = BayesianCombination().fit(table, mechanism=levels, gold={"q0": "Cat"})
    posterior = fit.solution_.posteriors.max(axis=1).tolist()
    # the row of the known label is inferred without it
    assert [row["probability"] for row in found[1:]] == pytest.approx(posterior[1:], abs=1e-6)
    swapped = {"medium": levels["low"], "low": levels["medium"]}
    wrong = BayesianCombination().fit(table, mechanism=swapped, gold={"q0": "Cat"})
    off = wrong.solution_.posteriors.max(axis=1).tolist()
    assert [row["probability"] for row in found[1:]] != pytest.approx(off[1:], abs=1e-3)


def test_a_labelling_task_needs_one_set_of_labels() -> None:
    """Where items have different labels there is nothing to infer together."""
    definition = define(
        Choice("a", "?", ("X", "Y")), Choice("b", "?", ("X", "Z")), template="label"
    )
    assert compute(definition, made_up(definition, 10))["labels"] == []
