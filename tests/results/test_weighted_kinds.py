"""Weighted ticks, numbers, scores and rankings: R's numbers in clear, right through masks."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.honesty.weighted_kinds import QUESTIONS as KINDS
from tests.honesty.weighted_kinds import RAKED as MARGINS
from tests.results.made_up_reports import define, reports_of, rows_of

from masquerade.estimation.weights import WeightedReports
from masquerade.exact import SimulatedCoins
from masquerade.exact.arrays import Floats
from masquerade.results import SurveyReports, Weighting, survey_result, weighted_result
from masquerade.results.question_figures import Figure, QuestionResult
from masquerade.results.question_reports import TickReports
from masquerade.results.weighting import WeightedPeople
from masquerade.surveys import Number
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.survey import Survey

SEX, AGE, *_ = KINDS
DESIGN = Weighting(weights={"age": {"Young": 1.0, "Middle": 2.0, "Old": 4.0}})


@cache
def answers(n: int = 150) -> Floats:
    """Return codes of people with answers that go with sex and age."""
    rng = np.random.default_rng(8)
    sex = (rng.random(n) < 0.35).astype(int)
    age = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    columns = [
        *(sex, age),
        (rng.random(n) < 0.2 + 0.2 * age) + 2 * (rng.random(n) < 0.3 + 0.4 * sex),
        np.clip(rng.integers(0, 30, n) + 5 * age, 0, 40),
        np.where(rng.random(n) < 0.2, 41, rng.integers(0, 20, n) + 8 * sex),
        np.clip(rng.integers(0, 2, n) + sex, 0, 2),
        np.clip(rng.integers(0, 5, n) + sex, 0, 5),
        np.where(rng.random(n) < 0.1 + 0.1 * age, 2, rng.integers(0, 2, n)),
    ]
    return np.stack(columns, axis=1)


def sent(level: str, codes: Floats) -> SurveyReports:
    """Return reports of these answers at a level, masked from a fixed seed."""
    survey = define(*KINDS, levels=(level,))
    source, everybody = SimulatedCoins(np.random.default_rng(9)), np.arange(len(codes))
    masks = zip(codes.astype(np.int64).T, survey.levels[0].mechanisms, strict=True)
    columns = [mask.mask(column, everybody, source) for column, mask in masks]
    return reports_of(survey, rows_of(np.stack(columns, axis=1).tolist(), level=level))


def figures(one: QuestionResult) -> list[Figure]:
    """Return every figure of a question."""
    answered = [option.of_answered for option in one.options if option.of_answered is not None]
    means = [] if one.mean is None else [one.mean.mean]
    shares = [option.share for option in one.options]
    return [*shares, *answered, *means, *(rank.mean for rank in one.ranks or ())]


@pytest.mark.parametrize("level", ["none", "low"])
def test_equal_weights_change_no_kind(level: str) -> None:
    """Of every kind, in clear and masked, values, intervals and errors are those of everybody."""
    reports = sent(level, answers())
    same = Weighting(weights={"sex": {"Woman": 3.0, "Man": 3.0}})
    plain, found = survey_result(reports), weighted_result(reports, same)
    assert [one.id for one in found.questions] == [one.id for one in KINDS]
    for one, other in zip(plain.questions, found.questions, strict=True):
        for a, b in zip(figures(one), figures(other), strict=True):
            known = (a.value, a.low, a.high, a.standard_error)
            assert known == pytest.approx((b.value, b.low, b.high, b.standard_error), abs=1e-6)
            parts = (a.sampling_error, a.mechanism_error)
            assert parts == pytest.approx((b.sampling_error, b.mechanism_error), abs=1e-6)


def variables() -> dict[str, tuple[Floats, Floats]]:
    """Return of each figure the part and the whole of which it is a ratio, person by person."""
    codes = answers()
    one, given = np.ones(len(codes)), (codes[:, 4] != 41).astype(float)
    places = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    first = np.array([order.index(0) + 1.0 for order in places])
    said = (codes[:, 7] != 2).astype(float)
    return {
        "ticks": ((codes[:, 2].astype(int) >> 1 & 1).astype(float), one),
        "hours": (codes[:, 3].astype(float), one),
        "maybe": (np.where(given > 0, codes[:, 4], 0.0), given),
        "nps": (100.0 * (codes[:, 5] - 1), one),
        "rank": (first[codes[:, 6].astype(int)], one),
        "some": ((codes[:, 7] == 0).astype(float), said),
    }


def found_figure(one: QuestionResult) -> Figure:
    """Return the figure of a question that `variables` gives."""
    if one.mean is not None:
        return one.mean.mean
    if one.ranks is not None:
        return one.ranks[0].mean
    option = one.options[1 if one.id == "ticks" else 0]
    return option.of_answered or option.share


def ranks_follow_codes() -> bool:
    """Return whether orders are numbered as `variables` has them."""
    result = survey_result(sent("none", answers()))
    part, whole = variables()["rank"]
    value = found_figure(result.question("rank")).value
    return value == pytest.approx(part.sum() / whole.sum(), abs=1e-9)


def in_closed_form(weight: Floats, part: Floats, whole: Floats) -> tuple[Floats, float]:
    """Return each person's part of a weighted ratio, around it, and the ratio."""
    ratio = float((weight @ part) / (weight @ whole))
    return weight * (part - ratio * whole) / float(weight @ whole), ratio


def weights_of(weighting: Weighting) -> Floats:
    """Return each person's weight."""
    model = WeightedPeople.of(sent("none", answers()), weighting)
    codes, weight = answers().astype(int), np.ones(len(answers()))
    for place, number in model.by.items():
        weight = weight * number[codes[:, place]]
    return weight


@pytest.mark.parametrize("weighting", [MARGINS, DESIGN], ids=["raked", "design"])
def test_every_kind_in_clear_is_the_closed_form(weighting: Weighting) -> None:
    """Values are weighted ratios to 1e-9; errors their linearised ones, to a thirtieth.

    The error of a raked figure is of the residuals of a weighted regression on the margins. What
    differs is half a person at the far end (a thirtieth of 150 people's), and R's n / (n - 1).
    """
    assert ranks_follow_codes()
    result, weight = weighted_result(sent("none", answers()), weighting), weights_of(weighting)
    codes = answers().astype(int)
    sides = np.concatenate([np.eye(2)[codes[:, 0]], np.eye(3)[codes[:, 1]]], axis=1)
    for name, (part, whole) in variables().items():
        figure = found_figure(result.question(name))
        added, ratio = in_closed_form(weight, part, whole)
        assert figure.value == pytest.approx(ratio, abs=1e-9), name
        if weighting.margins:
            own, root = added / weight, np.sqrt(weight)
            slope = np.linalg.lstsq(sides * root[:, None], own * root, rcond=None)[0]
            added = weight * (own - sides @ slope)
        assert figure.standard_error == pytest.approx(np.sqrt((added**2).sum()), rel=0.035), name


def linearised(group: WeightedReports, scores: Floats) -> tuple[float, float]:
    """Return a figure and the error of its linearised worths, as survey statistics have it."""
    worths = group.worths(scores)
    n = group.n
    count, worth = worths.count[0], worths.worth[0]
    mean = float(count @ worth) / n
    return mean, float(np.sqrt(count @ (worth - mean) ** 2 / n / (n - 1)))


R = """
library(survey)
d <- read.csv(file("stdin"))
base <- svydesign(ids = ~1, weights = ~w, data = d)
raked <- calibrate(svydesign(ids = ~1, weights = ~one, data = d), ~factor(sex) + factor(age),
  c(nrow(d), 0.49 * nrow(d), 0.4 * nrow(d), 0.3 * nrow(d)), calfun = "raking",
  epsilon = 1e-12, maxit = 500)
for (design in list(base, raked)) for (y in c("ticks", "hours", "nps", "rank")) {
  m <- svymean(as.formula(paste0("~", y)), design)
  cat(sprintf("%.15g %.15g\\n", coef(m), SE(m)))
}
for (design in list(base, raked)) {
  m <- svyratio(~maybe, ~given, design)
  cat(sprintf("%.15g %.15g\\n", coef(m), SE(m)))
}
"""


def r_has_survey() -> bool:
    """Return whether R and its package survey are installed."""
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", 'cat(requireNamespace("survey", quietly = TRUE))']
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout == "TRUE"


def of_r() -> Floats:
    """Return values and errors as R's survey has them, by design weights and raked."""
    table, codes = variables(), answers().astype(int)
    columns = {name: part for name, (part, _) in table.items()}
    columns |= {"given": table["maybe"][1], "sex": codes[:, 0], "age": codes[:, 1]}
    columns |= {"w": 2.0 ** codes[:, 1], "one": np.ones(len(codes))}
    rows = np.stack(list(columns.values()), axis=1).tolist()
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    told = subprocess.run(
        ["Rscript", "--vanilla", "-e", R],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array([[float(x) for x in line.split()] for line in told.stdout.split("\n") if line])


SCORES = {
    "ticks": [0.0, 1.0],
    "hours": [1.0],
    "nps": [-100.0, 0.0, 100.0],
    "rank": [1.0, 0.0, 0.0, 0.0],
}


@pytest.mark.skipif(not r_has_survey(), reason="R with its package survey is not installed")
def test_every_kind_in_clear_is_that_of_rs_survey() -> None:
    """Values are R's to 1e-9, raked and by design; so are errors by design, before half a person.

    Of raked people R fits the regression of its residuals with the weights before raking, we with
    those after, as the margins hold with these: errors differ by under a hundredth.
    """
    known, found = of_r(), []
    places = {one.id: place for place, one in enumerate(KINDS)}
    for weighting in (DESIGN, MARGINS):
        model = WeightedPeople.of(sent("none", answers()), weighting)
        for name, scores in SCORES.items():
            reports = model.answers(places[name])
            crowd = reports._crowd(1) if isinstance(reports, TickReports) else reports.crowd
            [group] = crowd.groups
            assert isinstance(group, WeightedReports)
            found.append(linearised(group, np.array([scores])))
    value, error = np.array(found).T
    assert value == pytest.approx(known[:8, 0], rel=1e-9, abs=1e-9)
    assert error[:4] == pytest.approx(known[:4, 1], rel=1e-9, abs=1e-9)
    assert error[4:] == pytest.approx(known[4:8, 1], rel=0.01)
    for row, weighting in zip(known[8:], (DESIGN, MARGINS), strict=True):
        result = weighted_result(sent("none", answers()), weighting)
        figure = found_figure(result.question("maybe"))
        assert figure.value == pytest.approx(row[0], rel=1e-9)
        assert figure.standard_error == pytest.approx(row[1], rel=0.035)


def test_exact_masked_ticks_are_taken_out_of_weights_on_average() -> None:
    """Over all reports of one person, the mean of weighted worths is their answer times weight."""
    survey = define(SEX, KINDS[2], levels=("low",))
    sex, ticks = survey.levels[0].mechanisms
    channel, bit = sex.label_response, ticks.as_sets
    assert channel is not None
    assert bit is not None
    keep, hold = float(channel.keep_probability), float(bit.bit.keep_probability)
    total, truth = 0.0, (1, 0b010)  # a man who ticks B, and counts five times
    design = Weighting(weights={"sex": {"Woman": 1.0, "Man": 5.0}})
    rows = [(a, b) for a in range(2) for b in range(8)]
    reports = reports_of(survey, rows_of(rows, level="low"))
    found = WeightedPeople.of(reports, design).answers(1)
    assert isinstance(found, TickReports)
    [group] = found._crowd(1).groups
    assert isinstance(group, WeightedReports)
    each = group.reports.worths(np.array([[0.0, 1.0]])).worth[0, group.place] * group.rows.total
    sent_rows, _ = reports.counted("low")
    for worth, (a, b) in zip(each, sent_rows.tolist(), strict=True):
        same = 3 - (b ^ truth[1]).bit_count()
        chance = (keep if a == truth[0] else 1 - keep) * hold**same * (1 - hold) ** (3 - same)
        total += chance * float(worth)
    assert total == pytest.approx(5.0)


def test_masked_kinds_of_many_people_are_those_in_clear() -> None:
    """Weighted figures of 20,000 masked people are within six errors of the same in clear.

    12 figures; a false alarm is rarer than 1e-7 in all.
    """
    codes = np.tile(answers(), (134, 1))
    clear, low = (weighted_result(sent(level, codes), MARGINS) for level in ("none", "low"))
    for one, other in zip(clear.questions[2:], low.questions[2:], strict=True):
        for a, b in zip(figures(one), figures(other), strict=True):
            assert a.value is not None
            assert b.value is not None
            assert b.standard_error is not None
            assert abs(a.value - b.value) < 6 * b.standard_error, one.id


def test_first_choices_count_by_weight() -> None:
    """Of two groups that agree within, the share of an item ranked first is its group's weight."""
    survey = define(SEX, KINDS[6], levels=("none",))
    reports = reports_of(survey, rows_of([[0, 0]] * 30 + [[1, 5]] * 30, level="none"))
    shares = []
    for women in (0.5, 0.8):
        margins = Weighting({"sex": {"Woman": women, "Man": 1 - women}})
        ranks = weighted_result(reports, margins).question("rank").ranks
        assert ranks is not None
        assert ranks[0].first_choice is not None
        shares.append((ranks[0].first_choice, ranks[0].mean.value, ranks[0].strength))
    assert shares[1][0] > shares[0][0]
    assert shares[1][1] == pytest.approx(0.8 + 0.2 * 3)
    assert shares[1][2] is None


def test_people_who_were_not_asked_are_weighed_by_nobody() -> None:
    """Where each person is asked some questions alone, a figure is of the people asked."""
    hours = Number("hours", "?", 0, 40, "h")
    told: dict[str, Any] = {"title": "Work", "levels": ("low",)}
    draw = Survey.at_levels(
        questions=(SEX, KINDS[2], hours), asked=1, together=(("sex", "hours"),), **told
    )
    rows = [[n % 3 % 2, NOT_DRAWN, 10 + 20 * (n % 2)] for n in range(90)]
    rows += [[NOT_DRAWN, n % 8, NOT_DRAWN] for n in range(40)]
    margins = Weighting({"sex": {"Woman": 0.6, "Man": 0.4}})
    found = weighted_result(reports_of(draw, rows_of(rows, level="low")), margins)
    both = Survey.at_levels(questions=(SEX, hours), **told)
    pairs = [[row[0], row[2]] for row in rows[:90]]
    known = weighted_result(reports_of(both, rows_of(pairs, level="low")), margins)
    assert [one.id for one in found.questions] == ["sex", "hours"]
    for one, other in zip(found.questions, known.questions, strict=True):
        for a, b in zip(figures(one), figures(other), strict=True):
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-9)
