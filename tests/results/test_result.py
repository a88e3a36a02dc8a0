"""Results are the library's estimates, for every kind of survey, and safe to open elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.results.made_up_reports import (
    EVERY_KIND,
    compute,
    define,
    made_up,
    masked,
    masks,
    reports_of,
    rows_of,
)

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import DiscreteGaussian, Lattice
from masquerade.results import result_bytes, result_table, survey_result
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import FEWEST_SHOWN
from masquerade.surveys import Choice, Comparison, Number, Question, Rating, ShowIf
from masquerade.surveys import survey as server_definition
from masquerade.surveys.codebook import NO_ANSWER, Codebook
from masquerade.surveys.survey import Survey
from masquerade.truth import (
    ESTIMATORS,
    BayesianCombination,
    BoundedReport,
    Estimate,
    estimate_shares,
    level_mean,
    level_shares,
)


def assert_is(found: dict[str, Any], estimate: Estimate) -> None:
    """Check that a part of a result says exactly what an estimate says."""
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


@pytest.mark.parametrize("masking", ["per-answer", "per-person"])
def test_one_level_is_the_librarys_estimate(masking: str) -> None:
    """At a fixed level every share is what the library gives for the counts, by every estimator."""
    definition = define(masking=masking)
    rows = made_up(definition, 60)
    result = compute(definition, rows)
    assert (result["responses"], result["confidence"]) == (60, CONFIDENCE)
    guarantee = definition.levels[0].guarantee()
    assert result["guarantee_per_participant"] == guarantee.to_json()
    assert result["ledger"]["epsilon_user_each"] == guarantee.epsilon_user.to_json()
    assert result["level"] == "medium"
    assert result["ledger"]["clear_disclosures"] == 0
    assert result["labels"] == result["ranking"] == []
    for place, question in enumerate(definition.questions):
        sent = [reports[place] for _, _, reports in rows]
        mechanism = masks(definition)[place]
        shares = estimate_shares([sent.count(c) for c in range(mechanism.symbols)], mechanism)
        found = result["questions"][place]
        assert [option["label"] for option in found["options"]] == list(question.labels)
        assert found["heterogeneity"] is None
        assert found["by_level"] == []
        for option, estimate, raw in zip(
            found["options"], shares.estimates, shares.reported, strict=True
        ):
            assert_is(option, estimate)
            for estimator in ESTIMATORS:
                assert_is(option["estimators"][estimator], estimate)
            assert option["reported_share"] == raw
            assert option["known_share"] is None
        assert sum(o["top_probability"] for o in found["options"]) == pytest.approx(1)
        assert sum(o["likeliest_share"] for o in found["options"]) == pytest.approx(1)
        if question.scores is None:
            assert found["mean"] is None
        else:
            values = [option["value"] for option in found["options"]]
            expected = sum(s * v for s, v in zip(question.scores, values, strict=True))
            assert found["mean"]["value"] == pytest.approx(expected)


def test_several_levels_are_the_librarys_estimates() -> None:
    """Each estimator's figures are `level_shares`'; the headline is the definition's."""
    for estimator in (None, "respondent", "ivw"):
        more = {} if estimator is None else {"estimator": estimator}
        definition = define(levels=("high", "medium", "low"), **more)
        rows = made_up(definition, 150)
        result = compute(definition, rows)
        headline = estimator or "eb"
        assert (result["level"], result["estimator"]) == (None, headline)
        assert sum(level["responses"] for level in result["levels"]) == 150
        for place, question in enumerate(result["questions"]):
            groups = {}
            for level in definition.levels:
                mechanism = masks(definition, level.name)[place]
                mine = [reports[place] for _, name, reports in rows if name == level.name]
                groups[level.name] = (
                    [mine.count(c) for c in range(mechanism.symbols)],
                    mechanism,
                )
            shares = level_shares(groups)
            for code, option in enumerate(question["options"]):
                for name in ESTIMATORS:
                    assert_is(option["estimators"][name], shares.estimates(name)[code])
                assert_is(option, shares.estimates(headline)[code])
                wide = shares.estimates(headline, simultaneous=True)[code]
                assert option["simultaneous_low"] == wide.low
                assert option["simultaneous_high"] == wide.high
                assert_is(option["sensitivity"], shares.sensitivity()[code])
            test = question["heterogeneity"]
            assert test["probability"] == shares.heterogeneity.probability
            assert [part["level"] for part in question["by_level"]] == ["high", "medium", "low"]
            for part in question["by_level"]:
                alone = estimate_shares(*groups[part["level"]])
                for option, estimate in zip(part["options"], alone.estimates, strict=True):
                    assert_is(option, estimate)


def test_the_servers_estimators_are_the_librarys() -> None:
    """A definition can name exactly the estimators that there are."""
    assert set(server_definition.ESTIMATORS) == set(ESTIMATORS)


def test_an_older_definition_reads() -> None:
    """A definition of one level and without an estimator gives a result by eb."""
    definition = define()
    old = definition.to_json()
    old["level"], old["mechanisms"] = "medium", old.pop("levels")["medium"]
    reports = reports_of(definition, made_up(definition, 10))
    book = replace(Codebook("t", Survey.from_json(old), "h"), n_by_level=None)
    assert book.survey.estimator == "eb"
    assert survey_result(replace(reports, codebook=book))["estimator"] == "eb"


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
        assert json.loads(result_bytes(result)) == result


def test_the_same_reports_give_the_same_bytes() -> None:
    """The order of rows does not matter; one report more or other changes what went in."""
    definition = define(*EVERY_KIND, levels=("high", "medium", "low"))
    rows = made_up(definition, 80)
    first = compute(definition, rows)
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    assert result_bytes(compute(definition, shuffled)) == result_bytes(first)
    changed = [(p, name, [*report[:-1], 1 - min(report[-1], 1)]) for p, name, report in rows]
    assert compute(definition, changed)["inputs"] != first["inputs"]
    assert compute(definition, rows[1:])["inputs"] != first["inputs"]


def test_skipping_is_an_answer_of_its_own() -> None:
    """The answer "Prefer not to say" has a share; the mean is of the people who answered."""
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


def test_negative_shares_are_told_as_they_are() -> None:
    """An estimate below zero stays below zero in the data; its interval begins at zero."""
    definition = define(Choice("c", "?", ("A", "B")), levels=("high",))
    rows = rows_of([(0,)] * 20, level="high")
    [found] = compute(definition, rows)["questions"]
    second = found["options"][1]
    assert second["value"] < 0
    assert second["low"] == 0
    assert found["options"][0]["value"] > 1
    assert found["options"][0]["high"] == 1


def test_simulated_truth_stands_beside_the_estimate() -> None:
    """For made-up people the known shares and the known mean are shown, and it says simulated."""
    definition = define()
    known = {"ill": [0.25, 0.75], "stress": [0.1, 0.2, 0.3, 0.4, 0.0]}
    result = compute(definition, made_up(definition, 20), known_shares=known)
    assert result["simulated"] is True
    for question in result["questions"]:
        assert [option["known_share"] for option in question["options"]] == known[question["id"]]
    assert result["questions"][1]["mean"]["known_mean"] == pytest.approx(3.0)


def test_the_known_mean_leaves_out_who_skipped() -> None:
    """The known mean of a rating is over the people who answered, like the estimate."""
    definition = define(Rating("r", "How?", allow_skip=True))
    for known, mean in (([0.2, 0, 0, 0, 0.2, 0.6], 3.0), ([0, 0, 0, 0, 0, 1.0], None)):
        rows = made_up(definition, 50)
        result = compute(definition, rows, known_shares={"r": known})
        found = result["questions"][0]["mean"]["known_mean"]
        assert found == (mean if mean is None else pytest.approx(mean))


def test_no_responses_give_an_empty_result() -> None:
    """Nothing is estimated from nothing."""
    result = compute(define(), [])
    assert (result["responses"], result["questions"], result["labels"]) == (0, [], [])
    assert result_table(result).count("\r\n") == 1


def label_survey(
    labels: tuple[str, ...] = ("Cat", "Dog"), *, skip: bool = False, **options: Any
) -> Any:
    """Return a labelling survey of twelve items; of the first the right label is known."""
    items = [
        Choice(f"q{n}", f"Item {n}", labels, allow_skip=skip, truth=labels[0] if n == 0 else None)
        for n in range(12)
    ]
    return define(*items, template="label", **{"levels": ("low",), **options})


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
    """Items that people may skip are inferred from those who answered."""
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


def test_a_labelling_task_needs_one_set_of_labels() -> None:
    """Where items have different labels there is nothing to infer together."""
    definition = define(
        Choice("a", "?", ("X", "Y")), Choice("b", "?", ("X", "Z")), template="label"
    )
    assert compute(definition, made_up(definition, 10))["labels"] == []


def test_one_response_gives_a_result() -> None:
    """A survey that one person answered has estimates, with intervals wide enough to say so."""
    for definition in (define(), label_survey(), label_survey(skip=True)):
        level = definition.levels[0].name
        result = compute(definition, rows_of([(0,) * len(definition.questions)], level=level))
        for question in result["questions"]:
            assert all(option["high"] - option["low"] > 0.5 for option in question["options"])


FORMULAS = (
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1",
    "@SUM(A1)",
    "＝1",
    "＋1",
    "－1",
    "＠x",
)


def test_no_formula_in_the_table() -> None:
    """No cell of the CSV table that somebody wrote begins like a spreadsheet's formula."""
    questions: list[Question] = [
        Choice(text, text, (text, f"{text}{n}")) for n, text in enumerate(FORMULAS)
    ]
    questions += [Comparison("p", "?", "=a", "+b"), Rating("scale", "Change", low=-2, high=2)]
    definition = define(*questions, levels=("high", "low"))
    table = result_table(compute(definition, made_up(definition, 30)))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) > 5 * len(FORMULAS)
    for row in rows:
        for column in ("survey", "question", "option", "estimator", "level"):
            assert not row[column].startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert rows[0]["question"] == f"'{FORMULAS[0]}"


def test_the_table_is_tidy_and_exact() -> None:
    """Each estimate has one row, with numbers that read back exactly."""
    definition = define(
        Choice("c", 'Comma, "quote"\u2028and more', ("A;B", "C,D")), levels=("high", "low")
    )
    result = compute(definition, made_up(definition, 40))
    rows = list(csv.DictReader(io.StringIO(result_table(result), newline="")))
    keys = [(r["question"], r["option"], r["estimator"], r["level"]) for r in rows]
    assert len(set(keys)) == len(keys)
    by_key = dict(zip(keys, rows, strict=True))
    for option in result["questions"][0]["options"]:
        for estimator, found in option["estimators"].items():
            row = by_key["c", option["label"], estimator, "all"]
            assert float(row["value"]) == found["value"]
            assert float(row["se"]) == found["standard_error"]
            assert (float(row["ci_lo"]), float(row["ci_hi"])) == (found["low"], found["high"])
            assert row["n"] == "40"
    assert {row["level"] for row in rows} == {"all", "high", "low"}


def test_levels_that_few_chose_are_not_shown() -> None:
    """A level with fewer than five people counts in the whole, and is not shown by itself.

    The smallest other level is not counted apart either: the total would tell the first.
    """
    definition = define(levels=("none", "high", "low"))
    rows = rows_of([(0, 0)] * (FEWEST_SHOWN - 1), level="none")
    rows += rows_of([(1, 4)] * FEWEST_SHOWN, level="high")
    rows += rows_of([(1, 4)] * (FEWEST_SHOWN + 1), level="low")
    result = compute(definition, rows)
    told = {"none": None, "high": None, "low": FEWEST_SHOWN + 1}
    for question in result["questions"]:
        assert [part["level"] for part in question["by_level"]] == ["low"]
        assert question["n"] == 3 * FEWEST_SHOWN
        assert question["n_by_level"] == told
    assert {level["name"]: level["responses"] for level in result["levels"]} == told
    for level in result["levels"][:2]:
        assert (level["share"], level["rho_total"]) == (None, None)
    assert result["ledger"]["clear_disclosures"] is None
    assert [rho is None for rho in result["ledger"]["rho_total"].values()] == [True, True, False]
    levels = {row["level"] for row in csv.DictReader(io.StringIO(result_table(result)))}
    assert levels == {"all", "low"}


def test_numbers_have_a_mean() -> None:
    """A number's mean is the library's, from the reports on its scale."""
    definition = define(Number("n", "How long?", 0, 40, "hours", 0.5), levels=("high", "low"))
    rows = made_up(definition, 200)
    result = compute(definition, rows)
    [found] = result["questions"]
    groups = {}
    for level in definition.levels:
        [mechanism] = level.mechanisms
        assert isinstance(mechanism, DiscreteGaussian)
        mine = sorted((p, r[0]) for p, name, r in rows if name == level.name)
        groups[level.name] = (np.array([report for _, report in mine]), mechanism)
    mean = level_mean(groups, Lattice(0, 40, 0.5))
    assert found["options"] == []
    assert found["unit"] == "hours"
    for name in ESTIMATORS:
        assert_is(found["mean"]["estimators"][name], mean.estimate(name))
    assert_is(found["mean"]["sensitivity"], mean.sensitivity())
    assert_is(found["by_level"][1]["mean"], mean.at_level("low"))
    bounded = {
        name: BoundedReport.of(mask, len(reports)) for name, (reports, mask) in groups.items()
    }
    worth = [bounded[name].values(reports / 2).sum() for name, (reports, _) in groups.items()]
    everything = sum(worth) / 200
    assert found["mean"]["estimators"]["respondent"]["value"] == pytest.approx(everything)
    noise = [bounded[name].variance * len(groups[name][0]) for name in groups]
    parts = found["mean"]["estimators"]["respondent"]
    assert parts["mechanism_error"] == pytest.approx(math.sqrt(sum(noise)) / 200)
    forecast = (sum(noise) + 200 * 10**2) / 200**2
    assert found["forecast_standard_error"] == pytest.approx(math.sqrt(forecast))


@pytest.mark.parametrize("skip", [False, True])
def test_planning_for_a_rating_is_for_its_mean(skip: bool) -> None:
    """In points of the scale: within a quarter of the error of 2000 people alike (seed 1)."""
    definition = define(Rating("r", "?", low=1, high=7, allow_skip=skip), levels=("medium",))
    [found] = compute(definition, made_up(definition, 2000))["questions"]
    error = found["mean"]["estimators"]["respondent"]["standard_error"]
    assert found["forecast_standard_error"] == pytest.approx(error, rel=0.25)


def test_one_number_says_little() -> None:
    """From one report the interval is the whole range, and no error is nothing or infinite."""
    definition = define(Number("n", "?", 0, 10, "h"), levels=("low",))
    [found] = compute(definition, rows_of([(25,)], level="low"))["questions"]
    mechanism = definition.levels[0].mechanisms[0]
    assert isinstance(mechanism, DiscreteGaussian)
    assert found["mean"]["value"] == BoundedReport.of(mechanism, 1).values(25)
    assert found["mean"]["shown"] == 10
    assert (found["mean"]["low"], found["mean"]["high"]) == (0, 10)
    assert found["mean"]["sampling_error"] == 5


def test_ratings_with_noise_and_in_clear() -> None:
    """A rating with Gaussian noise has a mean and no shares; answers in clear add no noise."""
    definition = define(Rating("r", "?"), levels=("none", "low"), rating_mask="gaussian")
    rows = rows_of([(0,), (4,)] * 20, level="none")
    rows += rows_of([(-7,), (11,)] * 20, level="low")
    result = compute(definition, rows)
    [found] = result["questions"]
    assert (found["options"], found["mean"]["value"]) == ([], pytest.approx(3))
    assert found["by_level"][0]["mean"]["mechanism_error"] == 0
    assert result["ledger"]["clear_disclosures"] == 40
    assert result["ledger"]["rho_total"]["none"] == 0
    each = definition.level("low").cost("0123456789abcdef").micro_rho
    assert result["ledger"]["rho_total"]["low"] == each * 40 / 1e6


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
    """With a pool the weights are the pool's, and a pool that cannot be is refused."""
    definition = define(Choice("c", "?", ("A", "B")), levels=("high", "low"))
    rows = rows_of([(0,)] * 30, level="high") + rows_of([(1,)] * 30, level="low")
    result = compute(definition, rows, pool={"high": 300, "low": 100})
    [found] = result["questions"]
    part = {part["level"]: part["options"][0]["value"] for part in found["by_level"]}
    respondent = found["options"][0]["estimators"]["respondent"]["value"]
    assert respondent == pytest.approx(0.75 * part["high"] + 0.25 * part["low"])
    assert [level["pool"] for level in result["levels"]] == [300, 100]
    missing = compute(definition, rows[:30], pool={"high": 300, "low": 100})
    assert missing["questions"][0]["n"] == 30
    for wrong in ({"high": 300}, {"high": 29, "low": 100}):
        with pytest.raises(ParameterError, match="pool"):
            compute(definition, rows, pool=wrong)


def test_guarantees_know_what_hides_questions() -> None:
    """Where an answer decides what is asked, the promise is that of the server's definition."""
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
