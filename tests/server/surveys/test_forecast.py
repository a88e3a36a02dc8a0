"""Intervals turn out as wide as the builder said they would."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps
from masquerade.accounting.caps import least_cap
from masquerade.exact import Micro
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian
from masquerade.mechanisms.registry import parse_mask
from masquerade.results import Codebook, SurveyReports, survey_result
from masquerade.server.surveys.document import Document, Issue, changed
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.server.surveys.forecast import (
    affordable,
    barriers,
    error_by_cost,
    forecast,
    margins,
)
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys import Choice, Number, PairVote, Question, Rating
from masquerade.surveys.kinds import kinds
from masquerade.surveys.offered_levels import (
    OfferedLevel,
    percent_of_cap,
    share_of_cap,
)
from masquerade.surveys.survey import Survey

QUESTIONS: tuple[Question, ...] = (
    Choice("c", "?", ("A", "B")),
    Rating("r", "?"),
    Number("n", "?", 0, 40, "h"),
)
PEOPLE = {"high": 300, "medium": 500, "low": 300}


def survey_of(document: Document) -> Survey:
    """Return the survey that a finished document opens as."""
    survey, issues = survey_or_issues(document, allow_clear=True, today="2026-03-14")
    assert survey is not None, issues
    return survey


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
    """The median of five surveys of 1100 people at three levels is within a tenth (fixed seed)."""
    definition = Survey.at_levels(
        title="T", questions=QUESTIONS, levels=tuple(PEOPLE), template="pick"
    )
    rng, found = np.random.default_rng(3), []
    codebook = Codebook(
        "aa", definition, definition.content_hash(), known_shares=None, n_by_level=PEOPLE
    )
    for _ in range(5):
        people, levels, reports = made_up(definition, rng)
        made = SurveyReports.from_rows(codebook, people, levels, reports)
        choice, rating, number = survey_result(made).to_json()["questions"]
        # of the option that is named, which holds for all options at once
        option = choice["options"][0]
        ends = [
            (option["simultaneous_low"], option["simultaneous_high"]),
            *((one["mean"]["low"], one["mean"]["high"]) for one in (rating, number)),
        ]
        found.append([(high - low) / 2 for low, high in ends])
    expected = [one["margin"] for one in margins(definition, PEOPLE)]
    assert np.median(found, axis=0).tolist() == pytest.approx(expected, rel=0.1)


def test_further_votes_are_no_questions_of_the_document() -> None:
    """After a list of five votes, the next question has its own margin, in its place."""
    vote = PairVote("v", "Which?", ("A", "B", "C", "D"), votes=5)
    levels = tuple(PEOPLE)
    both = Survey.at_levels(title="T", questions=(vote, QUESTIONS[2]), levels=levels)
    alone = Survey.at_levels(title="T", questions=(QUESTIONS[2],), levels=levels)
    found = margins(both, PEOPLE)
    assert [one["id"] for one in found] == ["v", "n"]
    assert found[1] == margins(alone, PEOPLE)[0]


def made_up(definition: Survey, rng: np.random.Generator) -> tuple[list[str], list[str], list[str]]:
    """Return people, their levels and their reports."""
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
    return people, levels, reports


def test_the_error_falls_as_money_is_spent() -> None:
    """Each point of the curve costs no more than its budget, and more people know more.

    People at levels that hide more come last. The figure is of them too then, so the margin may
    rise by a twentieth as they come.
    """
    document = changed(
        TEMPLATES["pick"].document(), {"plan": {"prices": {"high": 1, "medium": 2, "low": 4}}}
    )
    points = error_by_cost(document, survey_of(document), caps=Caps())
    assert len(points) == 8
    for before, after in itertools.pairwise(points):
        assert before["cost"] <= after["cost"]
        assert before["margin"] is not None
        assert after["margin"] is not None
        assert 1.05 * before["margin"] >= after["margin"]
    first, last = points[0]["margin"], points[-1]["margin"]
    assert first is not None
    assert last is not None
    assert first > 1.5 * last


RATE = survey_of(TEMPLATES["rate"].document())


def barriers_of(document: Document, survey: Survey, caps: Caps) -> list[Issue]:
    """Return the parts that keep everybody from a survey at its forecast."""
    return barriers(survey, forecast(document, survey, caps=caps), caps=caps)


def with_ratings(count: int, **changes: Any) -> Document:
    """Return a survey of some ratings."""
    [first, *_] = TEMPLATES["rate"].document().questions
    questions = [{**first, "id": f"q{place}"} for place in range(count)]
    return changed(TEMPLATES["rate"].document(), {"questions": questions, **changes})


def test_a_level_beyond_the_cap_is_not_planned_for() -> None:
    """It is shown with its need, and nobody is asked at it."""
    document = with_ratings(12, levels=["high", "low"])
    high, low = forecast(document, survey_of(document), caps=Caps())["levels"]
    assert low["share_of_cap"] > 1
    assert (low["asked"], high["asked"] > 0) == (0, True)


def test_the_share_of_a_cap_is_that_by_which_it_admits() -> None:
    """A level is beyond the cap exactly where a fresh account is refused, by both of its sums."""
    caps = Caps()
    for count in (1, 2, 4, 8, 16, 64):
        definition = survey_of(with_ratings(count))
        for level in definition.levels:
            assert affordable(level, caps) == (share_of_cap(level, caps) <= 1)


@pytest.mark.parametrize(
    ("text", "just", "beyond"),
    [
        pytest.param(  # by the rho of Gaussian noise
            "discrete-gaussian:low=1,high=5,step=0.1,sigma=12",
            29,
            30,
            marks=pytest.mark.exhaustive,
        ),
        ("discrete-gaussian:low=1,high=5,step=1,sigma=6", 7, 8),  # by the clock
        ("randomized-response:options=2,epsilon=0.625", 16, 17),  # by epsilon
    ],
)
def test_exact_a_percent_of_a_cap_is_above_100_where_it_is_refused(
    text: str, just: int, beyond: int
) -> None:
    """Shares are of the sum that admits, rounded up: at most 100 % exactly where it is admitted."""
    mechanism = parse_mask(text)
    for count, fits in ((just, True), (beyond, False)):
        level = OfferedLevel("high", (mechanism,) * count)
        cost = level.cost("")
        assert affordable(level, Caps()) == fits
        assert (percent_of_cap(level, Caps()) <= 100) == fits
        # A cap of exactly what it costs admits it, and one that is a millionth lower does not.
        exact = int(least_cap(cost.loss, Caps().delta).micro)
        for epsilon in (exact, exact - 1):
            caps = Caps(Micro(epsilon))
            assert affordable(level, caps) == (share_of_cap(level, caps) <= 1)
            assert affordable(level, caps) == (percent_of_cap(level, caps) <= 100)


def test_a_survey_that_nobody_can_take_has_a_barrier() -> None:
    """Where no level fits the caps it is said, with each share and advice."""
    document = with_ratings(64, levels=["medium", "low"])
    [(place, detail)] = barriers_of(document, survey_of(document), Caps())
    assert place == "/levels"
    assert "medium" in detail
    assert "Ask fewer questions" in detail
    assert barriers_of(TEMPLATES["rate"].document(), RATE, Caps()) == []


def test_a_plan_for_nobody_is_a_barrier() -> None:
    """Where shares or budget leave nobody to be asked, that is said before it opens."""
    nobody = changed(
        with_ratings(12, levels=["high", "low"]), {"plan": {"shares": {"high": 0, "low": 1}}}
    )
    [(place, detail)] = barriers_of(nobody, survey_of(nobody), Caps())
    assert (place, "0 people" in detail) == ("/plan", True)


def test_answers_in_clear_alone_need_a_cap_that_lets_them() -> None:
    """A survey in clear can be taken by nobody where the caps allow no answer in clear."""
    document = with_ratings(2, levels=["none"])
    definition = survey_of(document)
    [(place, detail)] = barriers_of(document, definition, Caps())
    assert (place, "0 answers in clear" in detail) == ("/levels", True)
    assert barriers_of(document, definition, Caps(clear=2)) == []


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_a_new_question_of_every_kind_has_a_margin_within_its_range(kind: str) -> None:
    """The builder can draw a draft with a new question of any kind, with its forecast."""
    question = {**kinds()[kind].builder.blank, "kind": kind, "id": "q1", "text": "Which?"}
    document = changed(Document(title="T"), {"questions": [question]})
    survey, issues = survey_or_issues(document, allow_clear=False, today="2026-01-01")
    assert issues == []
    assert survey is not None
    found = margins(survey, {"high": 200, "medium": 200})
    assert found
    for one in found:
        assert one["margin"] is not None
        assert 0 < one["margin"] < one["high"] - one["low"]


def test_votes_on_a_list_are_foretold_by_ranks() -> None:
    """The margin says over how many places a rank is known, and when that tells nothing."""
    vote = PairVote("v", "Which?", tuple("abcdefghij"), votes=5, tie="Both alike")
    survey = Survey.at_levels(title="T", questions=(vote,), levels=("low",))
    [many] = margins(survey, {"low": 2000})
    [some] = margins(survey, {"low": 400})
    [few] = margins(survey, {"low": 10})
    assert many["words"].startswith("ranks known to ")
    places = [float(one["words"].split()[3]) for one in (many, some)]
    assert 1 < places[0] < places[1] < 10
    assert (many["tells"], few["words"]) == ("enough", "tells nothing")
