"""Labels of items: known ones are checked without themselves, and liars count as anybody."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.results.made_up_reports import compute, reports_of, rows_of

from masquerade.answers import Claims
from masquerade.mechanisms import CategoricalMechanism
from masquerade.results import labels as labels_module
from masquerade.surveys import Choice
from masquerade.surveys.survey import Survey
from masquerade.truth import BayesianCombination

LABELS = ("cat", "dog")


def survey(truths: list[str | None], *, level: str = "low", **asked: Any) -> Survey:
    """Return a labelling survey with a known label for each item that has one."""
    items = tuple(
        Choice(f"i{n}", f"Item {n}", LABELS, truth=truth) for n, truth in enumerate(truths)
    )
    given: dict[str, Any] = {"levels": (level,), "template": "label", **asked}
    return Survey.at_levels(title="Beasts", questions=items, **given)


def mask_of(definition: Survey) -> CategoricalMechanism:
    """Return the mask of every item at the first level."""
    mechanism = definition.levels[0].mechanisms[0]
    assert isinstance(mechanism, CategoricalMechanism)
    return mechanism


def sent(
    definition: Survey, people: int, accuracy: float, *, seed: int, truth: list[int]
) -> list[list[int]]:
    """Return masked reports of people with this rate of right answers, with a fixed seed."""
    rng = np.random.default_rng(seed)
    right = rng.random((people, len(truth))) < accuracy
    answers = np.where(right, truth, 1 - np.array(truth))
    kept = rng.random(answers.shape) < float(mask_of(definition).keep_probability)
    reports: list[list[int]] = np.where(kept, answers, 1 - answers).tolist()
    return reports


def test_a_wrong_known_label_is_said_to_differ() -> None:
    """Where everybody reports the other label, the known one differs: it is not held to itself."""
    definition = survey(["cat", *["dog"] * 3, None, None])  # in truth all are dogs
    rows = rows_of(sent(definition, 200, 0.95, seed=1, truth=[1] * 6), level="low")
    first, *others = compute(definition, rows)["labels"]
    assert (first["known_label"], first["label"]) == ("cat", "dog")
    assert first["probability"] > 0.9
    assert all(row["label"] == "dog" for row in others)
    assert [row["known_label"] for row in others] == [*["dog"] * 3, None, None]


def test_from_noise_a_known_label_is_not_certain() -> None:
    """With reports that say nothing, known labels are as uncertain as the others.

    Before, each was more than 99.9 % sure, being held to itself.
    """
    definition = survey(["cat", "dog"] * 4)
    rng = np.random.default_rng(2)
    rows = rows_of(rng.integers(2, size=(3, 8)).tolist(), level="low")
    found = compute(definition, rows)["labels"]
    assert all(row["probability"] < 0.99 for row in found)
    assert any(row["label"] != row["known_label"] for row in found)


@pytest.mark.parametrize("parts", [50, 3])
def test_known_labels_are_left_out_while_they_are_checked(
    parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row of a known label is the library's inference held to the other known labels.

    Of more known labels than parts, to those of the other parts; rows without one to all.
    """
    monkeypatch.setattr(labels_module, "PARTS", parts)
    truths: list[str | None] = ["cat", "dog", "cat", None, "dog", None, "cat", "dog"]
    truth = [LABELS.index(one) if one else 0 for one in truths]
    definition = survey(truths)
    reports = sent(definition, 40, 0.8, seed=3, truth=truth)
    found = compute(definition, rows_of(reports, level="low"))["labels"]
    people, items = len(reports), len(truths)
    claims = Claims(
        np.tile(np.arange(items, dtype=np.int32), people),
        np.repeat(np.arange(people, dtype=np.int32), items),
        np.array(reports, dtype=np.int32).ravel(),
        pa.array([f"i{n}" for n in range(items)]),
        pa.array(range(people)),
        pa.array(LABELS),
        False,
    )
    known = {f"i{n}": one for n, one in enumerate(truths) if one}
    for row in found:
        place = list(known).index(row["id"]) % parts if row["id"] in known else None
        gold = {name: one for i, (name, one) in enumerate(known.items()) if i % parts != place}
        fit = BayesianCombination(ties="first").fit(
            claims, mechanism=mask_of(definition), gold=gold
        )
        own = fit.solution_.posteriors[int(row["id"][1:])]
        assert row["probability"] == pytest.approx(own.max(), abs=1e-12)
        assert row["label"] == LABELS[int(own.argmax())]


def test_known_labels_of_several_levels_are_left_out_at_each() -> None:
    """A wrong known label differs also where levels are multiplied."""
    definition = survey(["cat", *[None] * 5], levels=("medium", "low"))
    rows = []
    for name in ("medium", "low"):
        one = survey(["cat", *[None] * 5], level=name)
        rows += rows_of(sent(one, 150, 0.95, seed=4, truth=[1] * 6), level=name)
    found = compute(definition, rows)["labels"]
    assert (found[0]["known_label"], found[0]["label"]) == ("cat", "dog")


@pytest.mark.parametrize("level", ["high", "medium", "low"])
def test_one_liar_moves_the_odds_of_a_label_by_about_one_epsilon(level: str) -> None:
    """With any report of one of 101 people, no item's log odds move by more than 1.5 epsilons.

    Of one answer; five of 105 move them by at most five times that. Three fixed seeds.
    """
    truth = [0, 1] * 5
    definition = survey([None] * 10, level=level)
    epsilon = float(mask_of(definition).guarantee(answers=1).epsilon_event.epsilon)
    for seed in range(3):
        honest = sent(definition, 100, 0.9, seed=seed, truth=truth)
        before = log_odds(definition, honest, level)
        lie = [1 - label for label in truth]
        for liars in (1, 5):
            for report in (lie, [0] * 10, [1] * 10):
                after = log_odds(definition, honest + [report] * liars, level)
                assert np.abs(after - before).max() <= 1.5 * epsilon * liars


def log_odds(definition: Survey, reports: list[list[int]], level: str) -> np.ndarray:
    """Return the log odds of the first label of each item."""
    odds = []
    for row in labels_module.label_result(reports_of(definition, rows_of(reports, level=level))):
        chance = min(row.probability or 0.0, 1 - 1e-12)
        sign = 1 if row.label == LABELS[0] else -1
        odds.append(sign * math.log(chance / (1 - chance)))
    return np.array(odds)
