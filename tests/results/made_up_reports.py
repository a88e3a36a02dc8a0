"""Surveys and reports that tests of results share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from masquerade.estimation import Estimate
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism, mask_response
from masquerade.results import Codebook, SurveyReports, survey_result
from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.survey import Survey

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No")),
    Rating("stress", "How stressful is your work?"),
)
EVERY_KIND: tuple[Question, ...] = (
    Choice("=c", 'Which, "now"?', ("A,1", "B", "-C")),
    Rating("r", "How good?", allow_skip=True),
    Number("n", "How long?", -2, 40, "hours", 0.5),
    Comparison("p1", "Which?", "X", "Y", "Neither"),
    Comparison("p2", "Which?", "Y", "Z", allow_skip=True),
)
Row = tuple[str, str, list[int]]


def define(*questions: Question, **asked: Any) -> Survey:
    """Return a survey of a choice and a rating, or of `questions`."""
    given: dict[str, Any] = {"title": "Work", "levels": ("medium",), **asked}
    return Survey.at_levels(questions=questions or QUESTIONS, **given)


def codebook(definition: Survey, **more: Any) -> Codebook:
    """Return the codebook of a survey."""
    return Codebook("0123456789abcdef", definition, definition.content_hash(), **more)


def rows_of(reports: Sequence[Sequence[int]], *, level: str = "medium") -> list[Row]:
    """Return people at a level with these reports."""
    return [(f"{level}x{n:05}", level, list(row)) for n, row in enumerate(reports)]


def reports_of(definition: Survey, rows: Sequence[Row], **more: Any) -> SurveyReports:
    """Return the reports of people."""
    pseudonyms, levels, reports = zip(*rows, strict=True) if rows else ((), (), ())
    return SurveyReports.from_rows(codebook(definition, **more), pseudonyms, levels, reports)


def compute(definition: Survey, rows: Sequence[Row], **more: Any) -> dict[str, Any]:
    """Return the result of people's reports as a JSON object."""
    return survey_result(reports_of(definition, rows, **more)).to_json()


def masks(definition: Survey, level: str | None = None) -> list[CategoricalMechanism]:
    """Return the mechanisms of a level, by default the first, of questions with options."""
    found = definition.levels[0] if level is None else definition.level(level)
    return [m for m in found.mechanisms if isinstance(m, CategoricalMechanism)]


def masked(definition: Survey, level: str, answers: Sequence[Sequence[int]]) -> list[Row]:
    """Return masked reports of people at a level."""
    mechanisms = masks(definition, level)
    return rows_of([mask_response(row, mechanisms) for row in answers], level=level)


def made_up(definition: Survey, people: int, *, seed: int = 1) -> list[Row]:
    """Return reports as the masks give them, drawn from a fixed seed, over all levels."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for place in rng.integers(len(definition.levels), size=people).tolist():
        level = definition.levels[place]
        report = [_report(mechanism, rng) for mechanism in level.mechanisms]
        pseudonym = "".join(f"{b:02x}" for b in rng.bytes(32))
        rows.append((pseudonym, level.name, report))
    return rows


def _report(mechanism: Mechanism, rng: np.random.Generator) -> int:
    if isinstance(mechanism, CategoricalMechanism):
        return int(rng.integers(mechanism.symbols))
    assert isinstance(mechanism, DiscreteGaussian)
    steps = float(mechanism.sigma / mechanism.lattice.step)
    return int(rng.integers(mechanism.lattice.points) + round(rng.normal(0, steps)))


def label_survey(
    labels: tuple[str, ...] = ("Cat", "Dog"), *, skip: bool = False, **options: Any
) -> Survey:
    """Return a labelling survey of twelve items; of the first the right label is known."""
    items = [
        Choice(f"q{n}", f"Item {n}", labels, allow_skip=skip, truth=labels[0] if n == 0 else None)
        for n in range(12)
    ]
    return define(*items, template="label", **{"levels": ("low",), **options})


def assert_is(found: dict[str, Any], estimate: Estimate) -> None:
    """Check that a part of a result agrees exactly with an estimate."""
    for key in (
        "value",
        "shown",
        "low",
        "high",
        "standard_error",
        "sampling_error",
        "mechanism_error",
    ):
        assert found[key] == getattr(estimate, key)
