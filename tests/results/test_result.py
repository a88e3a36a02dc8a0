"""Results are the library's estimates, for every kind of survey, and safe to open elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from dataclasses import replace

import pytest
from tests.results.made_up_reports import (
    EVERY_KIND,
    compute,
    define,
    label_survey,
    made_up,
    masked,
    masks,
    reports_of,
    rows_of,
)

from masquerade.errors import ParameterError
from masquerade.estimation import OWN, WITHIN, Counts, Crowd, shown_shares
from masquerade.results import SurveyResult, result_bytes, result_table, survey_result
from masquerade.results.question_reports import BOUNDS
from masquerade.results.question_result import CONFIDENCE
from masquerade.surveys import Choice, Comparison, Rating, ShowIf
from masquerade.surveys import survey as server_definition
from masquerade.surveys.codebook import Codebook
from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL
from masquerade.surveys.question import NO_ANSWER
from masquerade.surveys.survey import Survey


@pytest.mark.parametrize("masking", ["per-answer", "per-person"])
def test_one_level_is_the_cores_figures(masking: str) -> None:
    """At a fixed level every share and mean is the core's for the counts."""
    definition = define(masking=masking)
    rows = made_up(definition, 60)
    result = compute(definition, rows)
    assert (result["responses"], result["confidence"]) == (60, CONFIDENCE)
    guarantee = definition.levels[0].guarantee()
    assert result["guarantee_per_participant"] == guarantee.to_json()
    assert result["ledger"]["epsilon_user_each"] == guarantee.epsilon_user.to_json()
    assert result["labels"] == result["ranking"] == []
    for place, question in enumerate(definition.questions):
        sent = [reports[place] for _, _, reports in rows]
        mechanism = masks(definition)[place]
        count = [sent.count(code) for code in range(mechanism.symbols)]
        crowd = Crowd.of([Counts.of(count, mechanism)])
        found = result["questions"][place]
        assert (found["heterogeneity"], found["by_level"]) == (None, [])
        shares = shown_shares(crowd.shares().estimates())
        for option, estimate in zip(found["options"], shares, strict=True):
            for key in ("low", "high", "standard_error"):
                assert option[key] == pytest.approx(getattr(estimate, key))
            assert option["value"] == pytest.approx(estimate.shown)
        if question.scores is not None:
            [mean] = crowd.mean(list(question.scores)).estimates()
            assert found["mean"]["value"] == pytest.approx(mean.shown)
            assert (found["mean"]["low"], found["mean"]["high"]) == pytest.approx(
                (mean.low, mean.high)
            )


def test_tests_of_levels_are_corrected_for_the_number_of_questions() -> None:
    """The same reports to one question and beside nine others: Holm's correction, tenfold at most.

    A difference at p = .02 is told of a survey of one question, and not of one of ten.
    """
    asked = [Choice(f"q{place}", "?", ("a", "b")) for place in range(10)]
    found = []
    for questions in (asked[:1], asked):
        definition = define(*questions, levels=("medium", "low"))
        rows = []
        for level, yes in (("medium", 22), ("low", 36)):  # of 60
            some = [[int(n >= yes)] + [n % 2] * (len(questions) - 1) for n in range(60)]
            rows += rows_of(some, level=level)
        found.append(compute(definition, rows)["questions"][0]["heterogeneity"])
    alone, together = found
    assert alone["probability"] < 0.05 < together["probability"]
    assert together["probability"] == pytest.approx(min(10 * alone["probability"], 1))
    assert (alone["differ"], together["differ"]) == (True, False)
    assert alone["statistic"] == pytest.approx(together["statistic"])


@pytest.mark.parametrize(("estimator", "bound"), [("eb", WITHIN), ("respondent", OWN)])
def test_several_levels_are_the_cores_figures(estimator: str, bound: float) -> None:
    """Levels are put together with the bound that was fixed; each stands alone beside them."""
    definition = define(levels=("high", "medium", "low"), estimator=estimator)
    rows = made_up(definition, 150)
    result = compute(definition, rows)
    for place, question in enumerate(result["questions"]):
        groups = []
        for level in definition.levels:
            mechanism = masks(definition, level.name)[place]
            mine = [reports[place] for _, name, reports in rows if name == level.name]
            count = [mine.count(code) for code in range(mechanism.symbols)]
            groups.append(Counts.of(count, mechanism))
        for option, estimate in zip(
            question["options"], Crowd.of(groups, bound=bound).shares().estimates(), strict=True
        ):
            assert (option["low"], option["high"]) == pytest.approx((estimate.low, estimate.high))
        assert [part["level"] for part in question["by_level"]] == ["high", "medium", "low"]
        for part, group in zip(question["by_level"], groups, strict=True):
            alone = Crowd.of([group]).shares().estimates()
            for option, estimate in zip(part["options"], alone, strict=True):
                assert option["low"] == pytest.approx(estimate.low)


def test_the_servers_estimators_are_the_results() -> None:
    """A definition can name exactly the estimators that there are."""
    named = set(server_definition.ESTIMATORS)
    assert named <= set(BOUNDS)
    assert {BOUNDS[one] for one in named} == set(BOUNDS.values())  # others are their names in print


def test_an_older_definition_reads() -> None:
    """A definition of one level and without an estimator gives a result by eb."""
    definition = define()
    old = definition.to_json()
    old["level"], old["mechanisms"] = "medium", old.pop("levels")["medium"]
    reports = reports_of(definition, made_up(definition, 10))
    book = replace(Codebook("t", Survey.from_json(old), "h"), n_by_level=None)
    assert book.survey.estimator == "eb"
    assert survey_result(replace(reports, codebook=book)).estimator == "within"


def test_results_are_plain_json() -> None:
    """A result is strict JSON: no NaN, no infinity, nothing that is lost on the way."""
    definition = define(*EVERY_KIND, levels=("high", "low"))
    one = define(Rating("r", "How?", allow_skip=True), Choice("c", "?", ("A", "B")))
    for result in (
        compute(definition, made_up(definition, 30)),
        compute(definition, made_up(definition, 1)),
        compute(definition, []),
        compute(one, rows_of([(5, 1)] * 40)),
    ):
        assert json.loads(result_bytes(SurveyResult.of(result))) == result


def test_the_same_reports_give_the_same_bytes() -> None:
    """The order of rows does not matter; one report more or other changes the input's hash."""
    definition = define(*EVERY_KIND, levels=("high", "medium", "low"))
    rows = made_up(definition, 80)
    first = compute(definition, rows)
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    assert compute(definition, shuffled) == first
    changed = [(p, name, [*report[:-1], 1 - min(report[-1], 1)]) for p, name, report in rows]
    assert compute(definition, changed)["inputs"] != first["inputs"]
    assert compute(definition, rows[1:])["inputs"] != first["inputs"]


def test_skipping_is_an_answer_of_its_own() -> None:
    """The answer "Prefer not to say" has a share; the mean is over the given answers."""
    definition = define(Rating("r", "How?", allow_skip=True))
    [found] = compute(definition, made_up(definition, 500))["questions"]
    assert [option["label"] for option in found["options"]] == [*"12345", NO_ANSWER]
    held = [option["value"] for option in found["options"]]
    mean = sum(score * share for score, share in enumerate(held[:5], 1)) / (1 - held[5])
    assert found["mean"]["value"] == pytest.approx(mean)


def test_a_mean_of_nobody_is_null() -> None:
    """Where nobody seems to have answered, the mean is null and not a number that misleads."""
    definition = define(Rating("r", "How?", allow_skip=True))
    [found] = compute(definition, rows_of([(5,)] * 30))["questions"]
    assert found["mean"]["value"] is None
    assert found["mean"]["standard_error"] is None


def test_nothing_impossible_is_in_the_data() -> None:
    """An estimate below zero is zero in the data, as is the end of its interval."""
    definition = define(Choice("c", "?", ("A", "B")), levels=("high",))
    rows = rows_of([(0,)] * 20, level="high")
    [found] = compute(definition, rows)["questions"]
    second = found["options"][1]
    assert second["value"] == 0
    assert second["low"] == 0
    assert found["options"][0]["value"] == 1
    assert found["options"][0]["high"] == 1


def test_simulated_truth_stands_beside_the_estimate() -> None:
    """For made-up people the known shares and the known mean are shown, and it says simulated."""
    definition = define()
    known = {"ill": [0.25, 0.75], "stress": [0.1, 0.2, 0.3, 0.4, 0.0]}
    result = compute(definition, made_up(definition, 20), known_shares=known)
    assert result["simulated"] is True
    for question in result["questions"]:
        assert [option["known_share"] for option in question["options"]] == known[question["id"]]
    assert result["questions"][1]["mean"].get("known_mean") == pytest.approx(3.0)


def test_the_known_mean_leaves_out_who_skipped() -> None:
    """The known mean of a rating is over the given answers, like the estimate."""
    definition = define(Rating("r", "How?", allow_skip=True))
    for known, mean in (([0.2, 0, 0, 0, 0.2, 0.6], 3.0), ([0, 0, 0, 0, 0, 1.0], None)):
        rows = made_up(definition, 50)
        result = compute(definition, rows, known_shares={"r": known})
        found = result["questions"][0]["mean"].get("known_mean")
        assert found == (mean if mean is None else pytest.approx(mean))


def test_no_responses_give_an_empty_result() -> None:
    """Nothing is estimated from nothing."""
    result = compute(define(), [])
    assert (result["responses"], result["questions"], result["labels"]) == (0, [], [])
    assert result_table(SurveyResult.of(result)).count("\r\n") == 1


def test_one_response_gives_a_result() -> None:
    """A survey that one person answered has estimates, with intervals wide enough to say so."""
    for definition in (define(), label_survey(), label_survey(skip=True)):
        level = definition.levels[0].name
        result = compute(definition, rows_of([(0,) * len(definition.questions)], level=level))
        for question in result["questions"]:
            assert question["headline"]["kind"] == "few"
            assert all(option["high"] - option["low"] > 0.5 for option in question["options"])


def test_levels_are_not_shown_where_few_chose_one() -> None:
    """Where fewer than five people chose a level, no level is shown by itself; all count."""
    definition = define(levels=("none", "high", "low"))
    rows = rows_of([(0, 0)] * (FEWEST_AT_LEVEL - 1), level="none")
    rows += rows_of([(1, 4)] * FEWEST_AT_LEVEL, level="high")
    rows += rows_of([(1, 4)] * (FEWEST_AT_LEVEL + 1), level="low")
    result = compute(definition, rows)
    hidden = {"none": None, "high": None, "low": None}
    for question in result["questions"]:
        assert question["by_level"] == []
        assert question["n"] == 3 * FEWEST_AT_LEVEL
        assert question["n_by_level"] == hidden
    assert {level["name"]: level["responses"] for level in result["levels"]} == hidden
    for level in result["levels"]:
        assert (level["share"], level["rho_total"]) == (None, None)
    assert result["ledger"]["clear_disclosures"] is None
    assert set(result["ledger"]["rho_total"].values()) == {None}
    table = result_table(SurveyResult.of(result))
    levels = {row["level"] for row in csv.DictReader(io.StringIO(table))}
    assert levels == {"all"}


def test_comparisons_are_ranked() -> None:
    """Three items that people prefer in one order stand in that order, ties counted half."""
    definition = define(
        Comparison("p1", "Which?", "A", "B", "Neither"),
        Comparison("p2", "Which?", "B", "C"),
        Comparison("p3", "Which?", "Red", "Blue"),
        levels=("medium", "low"),
    )
    people = [[0, 0, 1]] * 350 + [[2, 0, 0]] * 100 + [[1, 1, 0]] * 150
    rows = [row for name in ("medium", "low") for row in masked(definition, name, people)]
    result = compute(definition, rows)
    first = [row["item"] for row in result["ranking"] if row["group"] == 0]
    assert first == ["A", "B", "C"]
    assert {row["item"] for row in result["ranking"] if row["group"] == 1} == {"Red", "Blue"}
    for row in result["ranking"]:
        assert row["low"] < row["strength"] < row["high"]
    strengths = {row["item"]: row for row in result["ranking"]}
    truth = math.log((350 + 50) / (150 + 50))  # A over B, in logits; within 6 standard errors
    gap = strengths["A"]["strength"] - strengths["B"]["strength"]
    error = math.hypot(strengths["A"]["standard_error"], strengths["B"]["standard_error"])
    assert abs(gap - truth) < 6 * error
    shares = [option["value"] for option in result["questions"][0]["options"]]
    assert sum(shares) == pytest.approx(1)


def test_a_pool_counts_levels_as_in_the_pool() -> None:
    """Levels weigh as in the pool, for all people (unbiased estimates of own levels)."""
    definition = define(levels=("high", "low"), estimator="respondent")
    rows = made_up(definition, 100)
    pool = {"high": 300, "low": 100}
    found = compute(definition, rows, pool=pool)["questions"][0]
    own = [part["options"][0]["value"] for part in found["by_level"]]
    assert found["options"][0]["value"] == pytest.approx(0.75 * own[0] + 0.25 * own[1])


def test_guarantees_know_what_hides_questions() -> None:
    """Where an answer decides the next question, the promise is that of the server's definition."""
    definition = define(
        Choice("a", "?", ("X", "Y")),
        Choice("b", "?", ("X", "Z"), allow_skip=True),
        conditions=(None, ShowIf("a", ("X",))),
    )
    result = compute(definition, made_up(definition, 10))
    expected = definition.levels[0].guarantee().to_json()
    assert result["guarantee_per_participant"] == expected


def test_an_unknown_estimator_is_refused() -> None:
    """A codebook that names an estimator that there is not gives an error."""
    reports = reports_of(define(), [])
    data = reports.codebook.to_json()
    data["definition"]["estimator"] = "median"
    with pytest.raises(ParameterError, match="median"):
        Codebook.from_json(data)
