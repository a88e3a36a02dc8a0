"""Intervals turn out as wide as the builder said they would."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from masquerade.accounting import Caps
from masquerade.answers import Choice, Number, Question, Rating
from masquerade.findings import Codebook, SurveyReports, survey_result
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian
from masquerade.server.building.document import changed, definition_of
from masquerade.server.building.forecast import error_by_cost, forecast, margins
from masquerade.server.building.templates import TEMPLATES
from masquerade.server.definition import Definition

QUESTIONS: tuple[Question, ...] = (
    Choice("c", "?", ("A", "B")),
    Rating("r", "?"),
    Number("n", "?", 0, 40, "h"),
)
PEOPLE = {"high": 300, "medium": 500, "low": 300}


def reports_of(
    mechanism: object, answers: np.ndarray[tuple[int], np.dtype[np.int64]], rng: np.random.Generator
) -> list[int]:
    """Return simulated reports of answers."""
    if isinstance(mechanism, CategoricalMechanism):
        table = np.array([[float(x) for x in row] for row in mechanism.channel().table])
        draws = rng.random((len(answers), 1))
        return [int(x) for x in (table[answers].cumsum(axis=1) < draws).sum(axis=1)]
    assert isinstance(mechanism, DiscreteGaussian)
    sigma = float(mechanism.sigma / mechanism.lattice.step)
    return [int(x) for x in answers + np.rint(rng.normal(0, sigma, len(answers)))]


def test_the_result_has_the_intervals_that_were_forecast() -> None:
    """Of 1100 simulated people at three levels, each within a tenth; a fixed seed."""
    definition = Definition.at_levels(
        title="T", questions=QUESTIONS, levels=tuple(PEOPLE), template="pick"
    )
    rng = np.random.default_rng(3)
    people: list[str] = []
    levels: list[str] = []
    reports: list[str] = []
    for level in definition.levels:
        n = PEOPLE[level.name]
        answers = (
            rng.integers(0, 2, n),
            np.clip(np.rint(rng.normal(2, 1, n)), 0, 4).astype(np.int64),
            np.clip(np.rint(rng.normal(20, 10, n)), 0, 40).astype(np.int64),
        )
        columns = [
            reports_of(mechanism, column, rng)
            for mechanism, column in zip(level.mechanisms, answers, strict=True)
        ]
        people += [f"{level.name}-{i:04d}" for i in range(n)]
        levels += [level.name] * n
        reports += [json.dumps(list(row)) for row in zip(*columns, strict=True)]
    codebook = Codebook.of(
        "aa",
        definition.to_json(),
        hash=definition.content_hash(),
        known_shares=None,
        n_by_level=PEOPLE,
    )
    result = survey_result(SurveyReports.from_rows(codebook, people, levels, reports))
    choice, rating, number = result["questions"]
    found = [
        (choice["options"][0]["high"] - choice["options"][0]["low"]) / 2,
        (rating["mean"]["high"] - rating["mean"]["low"]) / 2,
        (number["mean"]["high"] - number["mean"]["low"]) / 2,
    ]
    expected = [one["margin"] for one in margins(definition, PEOPLE, estimator="eb")]
    assert found == pytest.approx(expected, rel=0.1)


def test_the_error_falls_as_money_is_spent() -> None:
    """Each point of the curve costs no more than its budget, and more people know more."""
    document = changed(
        TEMPLATES["pick"].document(), {"plan": {"prices": {"high": 1, "medium": 2, "low": 4}}}
    )
    points = error_by_cost(document, definition_of(document), caps=Caps())
    assert len(points) == 8
    for before, after in itertools.pairwise(points):
        assert before["cost"] <= after["cost"]
        assert before["margin"] >= after["margin"]


def test_a_level_beyond_the_cap_is_not_planned_for() -> None:
    """It is shown with what it takes, and nobody is asked at it."""
    document = changed(TEMPLATES["rate"].document(), {"levels": ["high", "low"]})
    high, low = forecast(document, definition_of(document), caps=Caps())["levels"]
    assert low["share_of_cap"] > 1
    assert (low["asked"], high["asked"] > 0) == (0, True)
