"""Numbers that can be skipped, and scores of recommendations: figures from levels and classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from masquerade.estimation import Counts, Levelled
from masquerade.exact.coins import SimulatedCoins
from masquerade.mechanisms import Lattice, QuantisedResponse, level_named
from masquerade.results.forecasts import forecast
from masquerade.results.question_reports import question_reports
from masquerade.results.reports import SentReports
from masquerade.surveys import Number, PromoterScore, Question
from masquerade.surveys.question import MaskRules
from masquerade.surveys.survey import DEFAULT_ESTIMATOR, Survey

HOURS = Number("hours", "How many hours?", 0, 40, "hours", allow_skip=True)
NPS = PromoterScore("nps", "Would you recommend us?")
LEVELS = ("high", "medium", "low")
PEOPLE = 400


def mean_of(question: Question, level: str, answers: list[int], seed: int) -> tuple[float, ...]:
    """Return value, ends and standard error of the mean of masked answers, given as codes."""
    mask = question.mask(level, MaskRules())
    codes = np.array([question.masked_code(code) for code in answers], dtype=mask.code_type)

    sent = mask.mask(codes, np.arange(len(codes)), SimulatedCoins(np.random.default_rng(seed)))
    code, people = np.unique(sent, return_counts=True)
    reports = {level: SentReports(code.astype(np.int64), people, mask)}
    figures = question_reports(question, reports, estimator=DEFAULT_ESTIMATOR).mean_figures()
    assert figures is not None
    found = figures.estimates()[0]
    return found.value, found.low, found.high, found.standard_error


def test_exact_the_worth_of_a_level_is_the_number_and_that_it_was_given() -> None:
    """Over the whole channel, the worths of reports have the answer itself as their mean."""
    mask = QuantisedResponse(0, 12, epsilon=1, levels=3, null=True)
    levels = Levelled.of(Counts.of([1, 1, 1, 1], mask.level_response), mask.level_values)
    worth = levels.worths(np.eye(2)).worth
    for answer, row in enumerate(mask.channel().table):
        chance = np.array([float(one) for one in row])
        expected = [answer, 1.0] if answer < 13 else [0.0, 0.0]
        np.testing.assert_allclose(worth @ chance, expected, atol=1e-12)


def test_exact_a_number_that_can_be_skipped_costs_what_its_levels_cost() -> None:
    """At each level of protection the loss is that of randomized response on levels and null."""
    for name, levels in (("high", 2), ("medium", 5), ("low", 5)):
        mask = level_named(name).quantised_response(Lattice(0, 40, 1), null=True)
        assert (mask.levels, mask.null) == (levels, True)
        same = level_named(name).randomized_response(levels, null=True)
        assert mask.guarantee().epsilon_user == same.guarantee().epsilon_user
    few = level_named("low").quantised_response(Lattice(0, 2, 1), null=True)
    assert few.levels == 3, "a scale of three points has three levels"


@pytest.mark.parametrize(("level", "error"), [("high", 17.5), ("medium", 9.0), ("low", 3.6)])
def test_the_mean_of_those_who_answered_errs_as_planned(level: str, error: float) -> None:
    """The standard error is that of the table, in percent of the range, where 4 of 5 answer.

    n = 400 people in 40 runs; a fifth of tolerance is beyond 7 standard errors of the mean.
    """
    rng = np.random.default_rng(7)
    errors = []
    for seed in range(40):
        told = np.clip(np.rint(rng.normal(20, 8, PEOPLE)), 0, 40).astype(int)
        answers = np.where(rng.random(PEOPLE) < 0.8, told, 41)
        value, low, high, found = mean_of(HOURS, level, answers.tolist(), seed)
        errors.append(found / 40 * 100)
        assert 0 <= low <= value <= high <= 40
    assert np.median(errors) == pytest.approx(error, rel=0.2)


@pytest.mark.parametrize("share", [0.0, 0.03])
def test_where_hardly_anybody_answers_nothing_is_claimed(share: float) -> None:
    """The interval is nearly the whole range, and holds, where the share of answers may be 0."""
    answers = np.where(np.random.default_rng(3).random(PEOPLE) < share, 30, 41).tolist()
    value, low, high, _ = mean_of(HOURS, "medium", answers, 5)
    assert (low, high) == (0, 40) or low <= 30 <= high
    assert not np.isfinite(value) or 0 <= value <= 40


@pytest.mark.parametrize(("level", "least", "most"), [("high", 28, 30), ("medium", 13, 15)])
def test_the_score_errs_as_planned(level: str, least: float, most: float) -> None:
    """The score of 400 people errs as three classes do, half as much as eleven answers would."""
    rng = np.random.default_rng(9)
    answers = rng.choice(11, PEOPLE, p=np.r_[np.full(7, 0.05), 0.15, 0.15, 0.2, 0.15]).tolist()
    *_, error = mean_of(NPS, level, answers, 1)
    assert least - 1 <= error <= most + 1
    each = PromoterScore("nps", "Would you recommend us?", each=True)
    *_, wider = mean_of(each, level, answers, 1)
    assert 1.4 < wider / error < 2.2


def test_the_score_in_clear_is_the_published_one() -> None:
    """Without a mask: 3 of 9 or 10, 2 of 7 or 8, 5 below make a score of -20."""
    answers = [10, 9, 9, 8, 7, 6, 5, 4, 0, 0]
    assert mean_of(NPS, "none", answers, 1)[0] == pytest.approx(-20)


@pytest.mark.parametrize("question", [HOURS, NPS])
@pytest.mark.parametrize("level", LEVELS)
def test_a_forecast_is_the_margin_that_comes_out(question: Question, level: str) -> None:
    """The forecast of a question agrees to a tenth with intervals of answers as it assumes.

    n = 20 runs of 2,000 people.
    """
    survey = Survey.at_levels(title="T", questions=(question,), levels=(level,))
    margin = forecast(survey, 0, {level: 2000}, answering=0.8).margin
    rng = np.random.default_rng(11)
    halves = []
    for seed in range(20):
        if question is HOURS:
            told = np.clip(np.rint(rng.normal(20, 10, 2000)), 0, 40)
            answers = np.where(rng.random(2000) < 0.8, told, 41)
        else:
            answers = rng.choice([3, 7, 9], 2000, p=[1 / 3] * 3)
        _, low, high, _ = mean_of(question, level, answers.astype(int).tolist(), seed)
        halves.append((high - low) / 2)
    assert np.mean(halves) == pytest.approx(margin, rel=0.1)


def test_a_number_can_be_conditional() -> None:
    """A number that can be skipped can have a condition, and then "no answer" is masked too."""
    assert HOURS.answer(HOURS.no_answer_code) is None
    assert HOURS.code(None) == 41
    assert HOURS.answer(HOURS.code("12.0")) == Fraction(12)
    assert HOURS.report_in_words(5, HOURS.mask("medium", MaskRules())) == "prefer not to say"
    assert HOURS.report_in_words(1, HOURS.mask("medium", MaskRules())) == "10 hours"
