"""Results are the library's estimates, for every kind of survey, and safe to open elsewhere."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from masquerade.answers import Choice, Claims, Comparison, Number, Question, Rating
from masquerade.mechanisms import CategoricalMechanism, Coins, DiscreteGaussian, mask_response
from masquerade.server import Store
from masquerade.server.definition import Definition
from masquerade.server.results import CONFIDENCE, FEWEST_SHOWN, NO_ANSWER, as_csv, compute
from masquerade.server.store import Response, Survey
from masquerade.truth import Estimate, OneCoin, estimate_shares, pool_mean, pool_shares

if TYPE_CHECKING:
    from tests.server.conftest import Kit


def closed_survey(definition: Definition, **known: list[float]) -> Survey:
    """Return a closed survey that nobody keeps."""
    return Survey(
        token="0123456789abcdef",
        definition=definition,
        hash=definition.content_hash(),
        state="closed",
        opened="2026-03-14",
        closed="2026-03-15",
        responses=0,
        simulated_truth=known or None,
    )


def responses_of(*rows: tuple[int, ...], level: str = "medium") -> list[Response]:
    """Return a response for each row of reports."""
    return [Response(f"{level}-{number}", level, row) for number, row in enumerate(rows)]


def masks(definition: Definition, level: str | None = None) -> list[CategoricalMechanism]:
    """Return the mechanisms of a level, by default the first, of questions with options."""
    found = definition.levels[0] if level is None else definition.level(level)
    return [m for m in found.mechanisms if isinstance(m, CategoricalMechanism)]


def made_up(definition: Definition, people: int) -> list[Response]:
    """Return reports drawn evenly, the same in every run."""
    draw = random.Random(people)
    sizes = [mechanism.symbols for mechanism in masks(definition)]
    rows = (tuple(draw.randrange(s) for s in sizes) for _ in range(people))
    return responses_of(*rows, level=definition.levels[0].name)


def assert_is(found: dict[str, Any], name: str, estimate: Estimate) -> None:
    """Check that a part of a result says exactly what an estimate says."""
    assert found[name] == estimate.value
    for key in ("low", "high", "standard_error", "sampling_error", "mechanism_error"):
        assert found[key] == getattr(estimate, key)


@pytest.mark.parametrize("masking", ["per-answer", "per-person"])
def test_results_are_the_librarys_estimates(kit: Kit, masking: str) -> None:
    """Every share, mean and interval is what the library gives for the counts of reports."""
    definition = kit.define(masking=masking)
    responses = made_up(definition, 60)
    result = compute(closed_survey(definition), responses)
    assert (result["responses"], result["confidence"]) == (60, CONFIDENCE)
    guarantee = definition.levels[0].guarantee()
    assert result["guarantee_per_participant"] == guarantee.to_json()
    assert result["ledger"]["epsilon_user_each"] == guarantee.epsilon_user.to_json()
    assert result["level"] == "medium"
    assert result["ledger"]["clear_disclosures"] == 0
    for place, question in enumerate(definition.questions):
        sent = [response.reports[place] for response in responses]
        mechanism = masks(definition)[place]
        shares = estimate_shares([sent.count(c) for c in range(mechanism.symbols)], mechanism)
        found = result["questions"][place]
        assert [option["label"] for option in found["options"]] == list(question.labels)
        for option, estimate, raw in zip(
            found["options"], shares.estimates, shares.reported, strict=True
        ):
            assert_is(option, "share", estimate)
            assert option["reported_share"] == raw
            assert option["known_share"] is None
        if question.scores is None:
            assert found["mean"] is None
        else:
            assert_is(found["mean"], "mean", shares.mean(question.scores))
            assert 1 <= found["mean"]["low"] <= found["mean"]["high"] <= 5
    assert result["labels"] == []


def test_results_are_plain_json(kit: Kit) -> None:
    """A result is strict JSON: no NaN, no infinity, nothing that is lost on the way."""
    rating = Rating("r", "How?", allow_skip=True)
    definition = kit.define(rating, Choice("c", "?", ("A", "B"), allow_skip=True))
    for responses in (made_up(definition, 30), responses_of(*[(5, 2)] * 40), responses_of((5, 2))):
        result = compute(closed_survey(definition), responses)
        assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_skipping_is_an_answer_of_its_own(kit: Kit) -> None:
    """The answer "Prefer not to say" has a share; the mean is of the people who answered."""
    definition = kit.define(Rating("r", "How?", allow_skip=True))
    responses = made_up(definition, 500)
    [found] = compute(closed_survey(definition), responses)["questions"]
    assert [option["label"] for option in found["options"]] == [*"12345", NO_ANSWER]
    held = [option["share"] for option in found["options"]]
    mean = sum(score * share for score, share in enumerate(held[:5], 1)) / (1 - held[5])
    assert found["mean"]["mean"] == pytest.approx(mean)


def test_a_mean_of_nobody_is_null(kit: Kit) -> None:
    """Where nobody seems to have answered, the mean is null and not a number that misleads."""
    definition = kit.define(Rating("r", "How?", allow_skip=True))
    [found] = compute(closed_survey(definition), responses_of(*[(5,)] * 30))["questions"]
    assert found["mean"]["mean"] is None
    assert found["mean"]["standard_error"] is None


def test_negative_shares_are_told_as_they_are(kit: Kit) -> None:
    """An estimate below zero stays below zero in the data; its interval begins at zero."""
    definition = kit.define(Choice("c", "?", ("A", "B")), level="high")
    [found] = compute(closed_survey(definition), responses_of(*[(0,)] * 20, level="high"))[
        "questions"
    ]
    second = found["options"][1]
    assert second["share"] < 0
    assert second["low"] == 0
    assert found["options"][0]["share"] > 1
    assert found["options"][0]["high"] == 1


def test_simulated_truth_stands_beside_the_estimate(kit: Kit) -> None:
    """For made-up people the known shares and the known mean are shown, and it says simulated."""
    definition = kit.define()
    known = {"ill": [0.25, 0.75], "stress": [0.1, 0.2, 0.3, 0.4, 0.0]}
    result = compute(closed_survey(definition, **known), made_up(definition, 20))
    assert result["simulated"] is True
    for question in result["questions"]:
        assert [option["known_share"] for option in question["options"]] == known[question["id"]]
    assert result["questions"][1]["mean"]["known_mean"] == pytest.approx(3.0)


def test_the_known_mean_leaves_out_who_skipped(kit: Kit) -> None:
    """The known mean of a rating is over the people who answered, like the estimate."""
    definition = kit.define(Rating("r", "How?", allow_skip=True))
    for known, mean in (([0.2, 0, 0, 0, 0.2, 0.6], 3.0), ([0, 0, 0, 0, 0, 1.0], None)):
        result = compute(closed_survey(definition, r=known), made_up(definition, 50))
        found = result["questions"][0]["mean"]["known_mean"]
        assert found == (mean if mean is None else pytest.approx(mean))


def test_no_responses_give_an_empty_result(kit: Kit) -> None:
    """Nothing is estimated from nothing."""
    result = compute(closed_survey(kit.define()), [])
    assert (result["responses"], result["questions"], result["labels"]) == (0, [], [])
    assert as_csv(result).count("\r\n") == 1


def label_survey(
    kit: Kit, labels: tuple[str, ...] = ("Cat", "Dog"), *, skip: bool = False, **options: Any
) -> Definition:
    """Return a labelling survey of twelve items; of the first the right label is known."""
    items = [
        Choice(f"q{n}", f"Item {n}", labels, allow_skip=skip, truth=labels[0] if n == 0 else None)
        for n in range(12)
    ]
    return kit.define(*items, template="label", level="low", **options)


@pytest.mark.parametrize("masking", ["per-answer", "per-person"])
def test_labels_are_the_librarys_inference(kit: Kit, masking: str) -> None:
    """Each item's inferred label and probability are those of the library on the same reports."""
    definition = label_survey(kit, masking=masking)
    draw = random.Random(3)
    chances = [0.3, 0.7] * 6
    rows = [tuple(int(draw.random() < chance) for chance in chances) for _ in range(50)]
    responses = responses_of(*rows, level="low")
    result = compute(closed_survey(definition), responses)
    claims = Claims.from_frame(
        {
            "task": [f"q{n}" for _ in rows for n in range(12)],
            "worker": [r.pseudonym for r in responses for _ in range(12)],
            "label": [("Cat", "Dog")[report] for row in rows for report in row],
        },
        options=["Cat", "Dog"],
    )
    fit = OneCoin().fit(claims, mechanism=masks(definition)[0])
    truths = {row["task"]: row["label"] for row in fit.truths_.to_pylist()}
    assert {row["id"]: row["label"] for row in result["labels"]} == truths
    assert [row["label"] for row in result["labels"]] == ["Cat", "Dog"] * 6
    assert all(0.5 < row["probability"] <= 1 for row in result["labels"])
    assert [row["known_label"] for row in result["labels"]] == ["Cat"] + [None] * 11
    assert [row["item"] for row in result["labels"]] == [f"Item {n}" for n in range(12)]


def test_labels_with_skipping(kit: Kit) -> None:
    """Items that people may skip are inferred from those who answered."""
    definition = label_survey(kit, skip=True)
    draw = random.Random(4)
    rows = [tuple(draw.choice((n % 2, n % 2, 2)) for n in range(12)) for _ in range(60)]
    result = compute(closed_survey(definition), responses_of(*rows, level="low"))
    assert [row["label"] for row in result["labels"]] == ["Cat", "Dog"] * 6


@pytest.mark.parametrize("labels", [("task", "worker"), ("label", "probability"), ("=1", "null")])
def test_labels_of_any_name(kit: Kit, labels: tuple[str, str]) -> None:
    """Labels that are named like a table's columns give results like any others."""
    definition = label_survey(kit, labels)
    result = compute(
        closed_survey(definition), responses_of(*[tuple([0, 1] * 6)] * 30, level="low")
    )
    assert [row["label"] for row in result["labels"]] == list(labels) * 6
    assert all(row["probability"] > 0.5 for row in result["labels"])


def test_one_response_gives_a_result(kit: Kit) -> None:
    """A survey that one person answered has estimates, with intervals wide enough to say so."""
    for definition in (kit.define(), label_survey(kit), label_survey(kit, skip=True)):
        one = responses_of((0,) * len(definition.questions), level=definition.levels[0].name)
        result = compute(closed_survey(definition), one)
        for question in result["questions"]:
            assert all(option["high"] - option["low"] > 0.5 for option in question["options"])


def test_results_from_the_store(store: Store, kit: Kit) -> None:
    """What was submitted is what is counted, on each kind of database."""
    survey = store.open_survey(kit.define())
    rows = [(0, 4), (1, 4), (1, 0)]
    for row in rows:
        kit.device().send(store, survey, row)
    survey = store.close_survey(survey.token)
    found = compute(survey, store.responses(survey.token))
    raw = [[option["reported_share"] for option in q["options"]] for q in found["questions"]]
    assert raw == [[1 / 3, 2 / 3], [1 / 3, 0, 0, 0, 2 / 3]]


FORMULAS = (
    '=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "＝1", "＋1", "－1", "＠x",
)  # fmt: skip


def test_no_formula_in_the_table(kit: Kit) -> None:
    """No cell of the CSV table that somebody wrote begins like a spreadsheet's formula."""
    questions: list[Question] = [
        Choice(f"q{n}", text, (text, f"{text}{n}")) for n, text in enumerate(FORMULAS)
    ]
    definition = kit.define(*questions, Rating("scale", "Change", low=-2, high=2))
    table = as_csv(compute(closed_survey(definition), made_up(definition, 30)))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 2 * len(FORMULAS) + 5 + 1
    for row in rows:
        for column in ("question", "text", "option", "mechanism"):
            assert row[column][0] not in "=+-@\t\r\n＝＋－＠"
    assert rows[0]["text"] == f"'{FORMULAS[0]}"
    assert [row["option"] for row in rows[-6:]] == ["'-2", "'-1", "0", "1", "2", "(mean)"]


def test_the_table_holds_the_numbers(kit: Kit) -> None:
    """The CSV table has a row for each option, with numbers that read back exactly."""
    definition = kit.define(Choice("c", 'Comma, "quote"\u2028and more', ("A;B", "C,D")))
    result = compute(closed_survey(definition), made_up(definition, 25))
    rows = list(csv.DictReader(io.StringIO(as_csv(result), newline="")))
    for row, option in zip(rows, result["questions"][0]["options"], strict=True):
        assert (row["question"], row["option"], row["n"]) == ("c", option["label"], "25")
        assert row["text"] == 'Comma, "quote"\u2028and more'
        assert row["mechanism"] == str(masks(definition)[0])
        for column in ("reported_share", "share", "low", "high", "standard_error"):
            assert float(row[column]) == option[column]
            assert math.isfinite(float(row[column]))


def at_levels(definition: Definition, answers: list[list[int]], level: str) -> list[Response]:
    """Return masked responses of people at a level."""
    rows = (tuple(mask_response(row, masks(definition, level))) for row in answers)
    return responses_of(*rows, level=level)


def test_everybody_counts_once(kit: Kit) -> None:
    """Over several levels the estimate is the levels' own, weighted by how many chose each."""
    definition = kit.define(levels=("high", "medium", "low"))
    draw = random.Random(7)
    sizes = {"high": 40, "medium": 90, "low": 20}
    responses = [
        response
        for name, size in sizes.items()
        for response in responses_of(
            *((draw.randrange(2), draw.randrange(5)) for _ in range(size)), level=name
        )
    ]
    result = compute(closed_survey(definition), responses)
    assert (result["level"], result["estimator"]) == (None, "respondent")
    assert [level["responses"] for level in result["levels"]] == [40, 90, 20]
    for place, question in enumerate(result["questions"]):
        assert [part["level"] for part in question["by_level"]] == list(sizes)
        for option, shown in enumerate(question["options"]):
            weighted = sum(
                part["n"] * part["options"][option]["share"] for part in question["by_level"]
            )
            assert shown["share"] == pytest.approx(weighted / 150)
            raw = [response.reports[place] for response in responses].count(option) / 150
            assert shown["reported_share"] == pytest.approx(raw)
        for part in question["by_level"]:
            mine = [r.reports[place] for r in responses if r.level == part["level"]]
            mechanism = masks(definition, part["level"])[place]
            alone = estimate_shares([mine.count(c) for c in range(mechanism.symbols)], mechanism)
            for option, estimate in zip(part["options"], alone.estimates, strict=True):
                assert_is(option, "share", estimate)
    mean = result["questions"][1]["mean"]["mean"]
    shares = [option["share"] for option in result["questions"][1]["options"]]
    assert mean == pytest.approx(sum(s * x for s, x in enumerate(shares, 1)) / sum(shares))
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_weight_is_not_the_precision(kit: Kit) -> None:
    """Where people who think otherwise choose the stronger level, the estimate is still right.

    Weights by precision would give 0.17; 4,000 people, false alarm below 1e-6 at 6 errors.
    """
    definition = kit.define(Choice("c", "?", ("A", "B")), levels=("high", "low"))
    people = [([0], "high")] * 2000 + [([1], "low")] * 2000
    responses = [
        Response(str(n), level, tuple(mask_response(answer, masks(definition, level))))
        for n, (answer, level) in enumerate(people)
    ]
    [question] = compute(closed_survey(definition), responses)["questions"]
    share = question["options"][0]
    assert abs(share["share"] - 0.5) < 6 * share["standard_error"]
    assert share["standard_error"] < 0.06


def test_levels_that_few_chose_are_not_shown(kit: Kit) -> None:
    """A level with fewer than five people counts in the whole and is not shown by itself."""
    definition = kit.define(levels=("high", "low"))
    responses = responses_of(*[(0, 0)] * (FEWEST_SHOWN - 1), level="high")
    responses += responses_of(*[(1, 4)] * FEWEST_SHOWN, level="low")
    result = compute(closed_survey(definition), responses)
    for question in result["questions"]:
        assert [part["level"] for part in question["by_level"]] == ["low"]
        assert question["n"] == 2 * FEWEST_SHOWN - 1


def test_pooled_intervals_cover() -> None:
    """Intervals over two levels hold the truth in 95 of 100 surveys: 600 surveys of 120 people.

    At a coverage of 0.95 fewer than 0.90 of 600 has a chance below 1e-6.
    """
    from masquerade.mechanisms import level_named

    rng = random.Random(11)
    groups = [(level_named(name).randomized_response(3), size) for name, size in
              (("medium", 70), ("low", 50))]  # fmt: skip
    truth, hits, mean_hits = [0.6, 0.3, 0.1], 0, 0
    for _ in range(600):
        counted = []
        for mechanism, size in groups:
            keep = float(mechanism.keep_probability)
            counts = [0, 0, 0]
            for answer in rng.choices(range(3), truth, k=size):
                other = rng.choice([c for c in range(3) if c != answer])
                counts[answer if rng.random() < keep else other] += 1
            counted.append((counts, mechanism))
        shares = pool_shares(counted)
        hits += shares.estimates[1].low <= 0.3 <= shares.estimates[1].high
        mean = shares.mean([0, 1, 2])
        mean_hits += mean.low <= 0.5 <= mean.high
    assert 0.90 < hits / 600 <= 1
    assert 0.90 < mean_hits / 600 <= 1


def test_numbers_have_a_mean(kit: Kit) -> None:
    """A number's mean is that of all reports on its scale, with the noise known exactly."""
    question = Number("n", "How long?", 0, 40, "hours", 0.5)
    definition = kit.define(question, levels=("high", "low"))
    strong, weak = (level.mechanisms[0] for level in definition.levels)
    assert isinstance(strong, DiscreteGaussian)
    assert isinstance(weak, DiscreteGaussian)
    source = Coins()
    answers = [20, 30, 50, 60] * 25
    import numpy as np

    sent = {
        name: mechanism.mask(
            np.array(answers, dtype=np.int64), np.zeros(100, dtype=np.int32), source
        ).tolist()
        for name, mechanism in (("high", strong), ("low", weak))
    }
    responses = [r for name, reports in sent.items()
                 for r in responses_of(*((x,) for x in reports), level=name)]  # fmt: skip
    result = compute(closed_survey(definition), responses)
    [found] = result["questions"]
    everything = sent["high"] + sent["low"]
    assert found["options"] == []
    assert found["mean"]["mean"] == pytest.approx(sum(everything) / 200 / 2)
    noise = (strong.variance() + weak.variance()) / 2 / 200
    assert found["mean"]["mechanism_error"] == pytest.approx(math.sqrt(noise))
    assert abs(found["mean"]["mean"] - 20) < 6 * found["mean"]["standard_error"]
    alone = pool_mean([(sent["low"], weak)], weak.lattice)
    assert_is(found["by_level"][1]["mean"], "mean", alone)
    table = list(csv.DictReader(io.StringIO(as_csv(result))))
    assert [(row["level"], row["option"]) for row in table] == [
        ("all", "(mean)"),
        ("high", "(mean)"),
        ("low", "(mean)"),
    ]


def test_one_number_says_little(kit: Kit) -> None:
    """From one report the interval is the whole range, and no error is nothing or infinite."""
    definition = kit.define(Number("n", "?", 0, 10, "h"), level="low")
    [found] = compute(closed_survey(definition), responses_of((25,), level="low"))["questions"]
    assert (found["mean"]["mean"], found["mean"]["low"], found["mean"]["high"]) == (25, 0, 10)
    assert found["mean"]["sampling_error"] == 5


def test_ratings_with_noise_and_in_clear(kit: Kit) -> None:
    """A rating with Gaussian noise has a mean and no shares; answers in clear add no noise."""
    definition = kit.define(Rating("r", "?"), levels=("none", "low"), rating_mask="gaussian")
    responses = responses_of(*[(0,), (4,)] * 20, level="none")
    responses += responses_of(*[(-7,), (11,)] * 20, level="low")
    result = compute(closed_survey(definition), responses)
    [found] = result["questions"]
    assert (found["options"], found["mean"]["mean"]) == ([], 3)
    assert found["by_level"][0]["mean"]["mechanism_error"] == 0
    assert result["ledger"]["clear_disclosures"] == 40


def test_comparisons_have_shares(kit: Kit) -> None:
    """A comparison has the share of people who prefer each, and of ties."""
    definition = kit.define(Comparison("p", "Which?", "A", "B", "Neither"), levels=("high", "low"))
    responses = responses_of(*[(0,), (1,), (2,)] * 10, level="high")
    [found] = compute(closed_survey(definition), responses)["questions"]
    assert [option["label"] for option in found["options"]] == ["A", "B", "Neither"]
    assert sum(option["share"] for option in found["options"]) == pytest.approx(1)


def test_labels_over_several_levels(kit: Kit) -> None:
    """Labels are inferred from all levels together, more surely than from one."""
    items = [Choice(f"q{n}", f"Item {n}", ("Cat", "Dog")) for n in range(12)]
    definition = kit.define(*items, template="label", levels=("medium", "low"))
    truth = [0, 1] * 6
    responses = [
        response
        for level in ("medium", "low")
        for response in at_levels(definition, [truth] * 150, level)
    ]
    result = compute(closed_survey(definition), responses)
    assert [row["label"] for row in result["labels"]] == ["Cat", "Dog"] * 6
    assert all(row["probability"] > 0.99 for row in result["labels"])
