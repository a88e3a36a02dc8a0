"""Intervals are as wide as was forecast."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import ParameterError
from masquerade.estimation import Figures
from masquerade.estimation.expected import half_width
from masquerade.exact.arrays import Integers
from masquerade.mechanisms import (
    BitwiseResponse,
    CategoricalMechanism,
    DiscreteGaussian,
    RandomizedResponse,
    level_named,
)
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.results.forecasts import (
    asked_share,
    forecast,
    headline_figures,
    mask_variance,
    masked_forecast,
    people_for,
)
from masquerade.results.question_reports import question_reports
from masquerade.results.reports import SentReports
from masquerade.results.two_party_result import split_result
from masquerade.selection import participants_needed
from masquerade.surveys import Choice, Number, Question, Rating, SeveralOf, ShowIf
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.survey import Survey
from masquerade.surveys.two_parties import TwoParties

CHOICE = Choice("c", "?", ("A", "B", "C"))
RATING = Rating("r", "?", 1, 7)
NUMBER = Number("n", "?", 0, 40, "h")
QUESTIONS: tuple[Question, ...] = (
    CHOICE,
    RATING,
    NUMBER,
    Choice("k", "?", ("A", "B"), allow_skip=True),
    Rating("t", "?", 1, 5, allow_skip=True),
    SeveralOf("s", "?", ("A", "B", "C")),
)
MIXED = {"high": 300, "medium": 500, "low": 300}


def answers_of(question: Question, n: int, answering: float, rng: np.random.Generator) -> Integers:
    """Return answers as a forecast has them: half for the first option, else around the middle."""
    options = len(question.labels)
    if question.kind == "several":
        return np.asarray((rng.random((n, options)) < 0.5) @ (1 << np.arange(options)))
    if question.lattice is None:
        chance = [0.5, *[0.5 / (options - 1)] * (options - 1)]
        codes = rng.choice(options, n, p=chance)
    else:
        last = question.lattice.points - 1
        codes = np.clip(np.rint(rng.normal(last / 2, last / 4, n)), 0, last).astype(int)
    if question.allow_skip:
        codes[rng.random(n) >= answering] = options
    return np.asarray(codes)


def reports_of(mask: DeviceMechanism, codes: Integers, rng: np.random.Generator) -> Integers:
    """Return simulated reports."""
    if isinstance(mask, BitwiseResponse):
        ticked = codes[:, None] >> np.arange(mask.bits) & 1
        chance = float(mask.bit.other_probability) + float(mask.bit.signal) * ticked
        return np.asarray((rng.random(ticked.shape) < chance) @ (1 << np.arange(mask.bits)))
    if isinstance(mask, CategoricalMechanism):
        table = np.array([[float(x) for x in row] for row in mask.channel().table])
        return np.asarray((table[codes].cumsum(axis=1) < rng.random((len(codes), 1))).sum(axis=1))
    assert isinstance(mask, DiscreteGaussian)
    sigma = float(mask.sigma / mask.lattice.step)
    return np.asarray(codes + np.rint(rng.normal(0, sigma, len(codes))), dtype=np.int64)


def made_up_headline(
    survey: Survey,
    people: Mapping[str, int],
    answering: float,
    rng: np.random.Generator,
    place: int = 0,
) -> tuple[Figures, float]:
    """Return the figure of a question's headline and its confidence, of made-up people."""
    question, sent = survey.questions[place], {}
    for level in survey.levels:
        mask = level.mechanisms[place]
        codes = answers_of(question, people[level.name], answering, rng)
        found = reports_of(mask, codes, rng)
        sent[level.name] = SentReports(*np.unique(found, return_counts=True), mask)
    reports = question_reports(question, sent, estimator=survey.estimator)
    return headline_figures(reports, len(question.labels))


@pytest.mark.parametrize("people", [MIXED, {"low": 400}], ids=["mixed", "low"])
@pytest.mark.parametrize("place", range(len(QUESTIONS)), ids=[one.id for one in QUESTIONS])
def test_a_forecast_is_the_margin_of_the_headline(place: int, people: Mapping[str, int]) -> None:
    """The median interval of 25 surveys is within a tenth, of those asked too (fixed seeds)."""
    survey = Survey.at_levels(title="T", questions=QUESTIONS, levels=tuple(people), template="pick")
    question, margins = QUESTIONS[place], []
    answering = 0.4 if question.allow_skip else 1.0
    expected = forecast(survey, place, people, answering=answering)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        margins.append(half_width(*made_up_headline(survey, people, answering, rng, place)))
    assert np.median(margins) == pytest.approx(expected.margin, rel=0.1)


@pytest.mark.parametrize("place", range(4))
def test_a_forecast_between_two_parties_is_the_margin_of_the_headline(place: int) -> None:
    """Exact sums of the assumed answers, with noise that is small, within a tenth."""
    questions: tuple[Question, ...] = (
        Choice("ill", "?", ("Yes", "No")),
        Choice("why", "?", ("A", "B", "C"), allow_skip=True),
        Rating("r", "?"),
        SeveralOf("s", "?", ("A", "B")),
    )
    terms = TwoParties.of(
        helper="https://helper.example.org", operator="O", fingerprint="0" * 32, rho="8", minimum=2
    )
    conditions = (None, ShowIf("ill", ("Yes",)), None, None)
    level = OfferedLevel(TWO_PARTIES, ())
    survey = Survey("T", "", "pick", questions, (level,), conditions=conditions, two_parties=terms)
    sums = [[500, 500], [251, 124, 125, 0, 500], [61, 245, 388, 245, 61], [500, 450]]
    result = split_result(survey, sums, token="5a", count=1000, refused=0)
    found = result.questions[place]
    one = found.mean.mean if found.mean else None
    low, high = (one.low, one.high) if one else (found.headline.low, found.headline.high)
    if low is None or high is None:  # not named, for it is a tie: what it would have had
        low, high = found.options[0].simultaneous_low, found.options[0].simultaneous_high
    assert low is not None
    assert high is not None
    assert (high - low) / 2 == pytest.approx(
        forecast(survey, place, {TWO_PARTIES: 1000}).margin, rel=0.1
    )


def test_half_of_the_people_see_a_question_that_one_of_two_answers_shows() -> None:
    """By default a condition lets through the part of the answers that meet it."""
    questions = (CHOICE, Choice("d", "?", ("A", "B"), allow_skip=True))
    conditions = (None, ShowIf("c", ("A", "B")))
    survey = Survey.at_levels(
        title="T", questions=questions, levels=("low",), conditions=conditions, template="pick"
    )
    assert asked_share(survey, 1) == pytest.approx(2 / 3)
    whole = forecast(survey, 1, {"low": 600}, answering=1.0).margin
    assert forecast(survey, 1, {"low": 600}).margin > 1.2 * whole


def test_one_level_is_planned_as_a_plan_has_it() -> None:
    """The margin of a number is the one for which `participants_needed` names the people."""
    noisy = DiscreteGaussian(0, 40, 1, sigma=30)
    margin = masked_forecast(NUMBER, {"a": noisy}, {"a": 1000}).margin
    assert participants_needed(noisy, margin=margin) == pytest.approx(1000, abs=2)


def test_more_people_and_weaker_masks_narrow_it() -> None:
    """The margin falls with people, and rises with protection, in the question's own unit."""
    masks = {name: level_named(name).randomized_response(7) for name in ("high", "medium", "low")}
    few, many = (masked_forecast(RATING, masks, dict.fromkeys(masks, n)).margin for n in (50, 500))
    assert many < few <= 3
    alone = [masked_forecast(RATING, masks, {name: 300}).margin for name in masks]
    assert alone == sorted(alone, reverse=True)
    assert math.isnan(masked_forecast(RATING, masks, {"high": 0}).margin)
    noise = [mask_variance(RATING, mask) for mask in masks.values()]
    assert noise == sorted(noise, reverse=True)


@pytest.mark.parametrize("question", [CHOICE, RATING])
def test_so_many_people_give_a_quarter_of_the_range(question: Question) -> None:
    """The number that is named gives the margin within a hundredth."""
    mask = level_named("medium").randomized_response(len(question.labels))
    people = people_for(question, mask, 0.125)
    width = 6 if question is RATING else 1
    found = masked_forecast(question, {"a": mask}, {"a": people}).margin / width
    assert found == pytest.approx(0.125, rel=0.01)


def test_masks_that_say_nothing_are_refused() -> None:
    """With a flip probability of one half no number of people is enough."""
    mask = RandomizedResponse(2, flip_probability=0.5)
    with pytest.raises(ParameterError, match="say nothing; no number is enough"):
        masked_forecast(Choice("q", "?", ("a", "b")), {"a": mask}, {"a": 5})
