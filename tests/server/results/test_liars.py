"""Liars among participants: their reports are bounded, and the pages of results warn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.server.devices import Device
from tests.server.results.reading import numbers, read_page
from tests.surveys.small_surveys import define

from masquerade.errors import InvalidReport
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian
from masquerade.server import Services
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Number, Question
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.server.conftest import Site

QUESTIONS: tuple[Question, ...] = (
    Number("n", "How many hours?", 0, 40, "hours"),
    Choice("c", "Which?", ("A", "B")),
)


def survey_with(services: Services, *, honest: int, liars: int, level: str) -> SurveyRecord:
    """Return a published survey of people with answer 10 hours, and of liars."""
    definition: Survey = define(*QUESTIONS, level=level)
    survey = services.surveys.open_survey(definition)
    noise, choice = definition.levels[0].mechanisms
    assert isinstance(noise, DiscreteGaussian)
    assert isinstance(choice, CategoricalMechanism)
    rng = np.random.default_rng(11)
    for _ in range(honest):
        kept = rng.random() < float(choice.keep_probability)
        hours = round(10 + rng.normal(0, float(noise.sigma)))
        Device().send(services, survey, [hours, 0 if kept else 1])
    for _ in range(liars):
        Device().send(services, survey, [noise.possible_reports()[1], 1])
    services.surveys.close(survey)
    services.surveys.publish(services.surveys.record(survey.token))
    return services.surveys.record(survey.token)


def test_what_no_mask_gives_is_refused(services: Services) -> None:
    """A report farther than 9 sigma outside of the range is refused, the last before it is not."""
    survey = services.surveys.open_survey(define(*QUESTIONS, level="high"))
    [noise, _] = survey.survey.levels[0].mechanisms
    assert isinstance(noise, DiscreteGaussian)
    low, high = noise.possible_reports()
    assert -low == high - 40 == int(9 * noise.sigma) + 1
    Device().send(services, survey, [high, 0])
    Device().send(services, survey, [low, 0])
    for beyond in (low - 1, high + 1):
        with pytest.raises(InvalidReport, match="none that its mask gives"):
            Device().send(services, survey, [beyond, 0])
    assert services.surveys.record(survey.token).responses == 2


def test_the_pages_warn_of_five_liars(site: Site) -> None:
    """With 5 of 205 that send the largest accepted value, the page and the picture warn.

    The mean is in its range and interval, and not farther from that without liars than 1.5 errors.
    """
    plain = survey_with(site.services, honest=200, liars=0, level="high")
    survey = survey_with(site.services, honest=200, liars=5, level="high")
    results: list[Any] = [
        site.visitor.get(f"/api/v1/surveys/{one.token}/results").json() for one in (plain, survey)
    ]
    before, after = (result["questions"][0] for result in results)
    assert not before["plausibility"]["doubtful"]
    assert after["plausibility"]["doubtful"]
    assert "205 reports" in after["plausibility"]["reason"]
    assert after["headline"]["kind"] != "few"
    mean = after["mean"]
    assert 0 <= mean["low"] <= mean["high"] <= 40
    possible = [min(max(one["value"], 0), 40) for one in (mean, before["mean"])]
    moved = abs(possible[0] - possible[1])
    assert moved <= 1.5 * mean["standard_error"]
    for one, said in ((plain, False), (survey, True)):
        page = site.visitor.get(f"/r/{one.token}", headers={"Accept": "text/html"}).text
        assert ("Some reports cannot be trusted" in page) == said
        assert ("reports doubtful" in page) == said
        assert ("Reports were not such as the masks make" in page) == said
        embed = site.visitor.get(f"/r/{one.token}/embed").text
        assert ("Some devices did not mask, or lied" in embed) == said
        section = next(
            part
            for part in read_page(page.replace("<!doctype html>", "")).all("section", "question")
            if part.attributes["id"] == "question-n"
        )
        for figure in section.all("b", "big-number"):
            assert all(0 <= number <= 40 for number in numbers(figure.text))


def test_both_databases_bound_liars_alike(services: Services) -> None:
    """From 60 people and 3 liars the mean is in its range, and doubtful, for every store."""
    survey = survey_with(services, honest=60, liars=3, level="medium")
    question = services.results.result(survey).to_json()["questions"][0]
    assert question["plausibility"]["doubtful"]
    assert 0 <= question["mean"]["low"] <= question["mean"]["high"] <= 40
