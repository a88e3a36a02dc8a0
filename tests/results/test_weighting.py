"""Weighted results: those of survey statistics in clear, right on average through masks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.results.made_up_reports import define, reports_of, rows_of

from masquerade.errors import EmptyTable, ParameterError
from masquerade.estimation.weights import raked
from masquerade.exact.arrays import Floats
from masquerade.results import SurveyReports, Weighting, weighted_result
from masquerade.results.weighting import WeightedPeople
from masquerade.surveys import Choice, Number, Rating

SEX, AGE = Choice("sex", "?", ("Woman", "Man")), Choice("age", "?", ("Young", "Middle", "Old"))
ILL, RATED = Choice("ill", "?", ("Yes", "No")), Rating("r", "?")
MARGINS = Weighting(
    {"sex": {"Woman": 0.51, "Man": 0.49}, "age": {"Young": 0.3, "Middle": 0.4, "Old": 0.3}}
)
DESIGN = Weighting(weights={"age": {"Young": 1.0, "Middle": 2.0, "Old": 4.0}})


def people(n: int = 240, seed: int = 5) -> dict[str, Floats]:
    """Return a crowd in which illness goes with sex and age."""
    rng = np.random.default_rng(seed)
    sex = (rng.random(n) < 0.35).astype(int)
    age = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    ill = (rng.random(n) < 0.3 + 0.2 * sex + 0.1 * age).astype(int)
    return {"sex": sex, "age": age, "ill": ill, "r": np.clip(rng.integers(0, 3, n) + age, 0, 4)}


def in_clear(crowd: dict[str, Floats], level: str = "none") -> SurveyReports:
    """Return their answers as reports."""
    rows = np.stack([crowd["sex"], crowd["age"], 1 - crowd["ill"], crowd["r"]], axis=1)
    survey = define(SEX, AGE, ILL, RATED, levels=(level,))
    return reports_of(survey, rows_of(rows.astype(int).tolist(), level=level))


def test_raked_figures_are_those_of_survey_statistics() -> None:
    """Shares and means are samplics 0.6.1's to 1e-9; errors are R's closed form to a fiftieth.

    samplics: `SampleWeight.rake` with the two margins, then the weighted mean. R's `svymean` after
    `rake`: residuals of a weighted regression on the margins' indicators.
    """
    crowd = people()
    found = weighted_result(in_clear(crowd), MARGINS)
    ill, rated = found.question("ill"), found.question("r").mean
    assert ill.option("Yes").share.value == pytest.approx(0.5183931751205, abs=1e-9)
    assert rated is not None
    assert rated.mean.value == pytest.approx(2.9961375832022, abs=1e-9)
    assert found.question("sex").option("Woman").share.value == pytest.approx(0.51)
    model = WeightedPeople.of(in_clear(crowd), MARGINS)
    numbers = list(model.by.values())
    weight = numbers[0][crowd["sex"].astype(int)] * numbers[1][crowd["age"].astype(int)]
    margins = np.stack(
        [crowd["sex"] == 0, crowd["sex"] == 1] + [crowd["age"] == a for a in range(3)], axis=1
    )
    for y, figure in ((crowd["ill"], ill.option("Yes").share), (crowd["r"] + 1, rated.mean)):
        root = np.sqrt(weight)
        mean = (weight * y).sum() / weight.sum()
        slope = np.linalg.lstsq(margins * root[:, None], (y - mean) * root, rcond=None)[0]
        added = weight * (y - mean - margins @ slope) / weight.sum()
        error = np.sqrt(len(y) / (len(y) - 1) * ((added - added.mean()) ** 2).sum())
        assert figure.standard_error == pytest.approx(error, rel=0.02)


def test_weights_of_groups_are_those_of_survey_statistics() -> None:
    """Shares, means and errors are samplics' (Taylor) to 1e-9, and to a hundredth."""
    found = weighted_result(in_clear(people()), DESIGN)
    golden = (
        (found.question("ill").option("Yes").share, 0.49563318777293, 0.0379064556),
        (found.question("r").option("1").share, 0.09170305676856, 0.0145772422),
    )
    rated = found.question("r").mean
    assert rated is not None
    for figure, value, error in (*golden, (rated.mean, 3.17030567685590, 0.0848309461)):
        assert figure.value == pytest.approx(value, abs=1e-9)
        assert figure.standard_error == pytest.approx(error, rel=0.01)


def test_weights_of_one_change_nothing() -> None:
    """With equal weights every figure is that of everybody alike."""
    reports = in_clear(people(60))
    same = Weighting(weights={"sex": {"Woman": 3.0, "Man": 3.0}})
    from masquerade.results import survey_result

    plain, found = survey_result(reports), weighted_result(reports, same)
    for one, other in zip(plain.questions, found.questions, strict=True):
        for a, b in zip(one.options, other.options, strict=True):
            assert (a.share.value, a.share.low, a.share.high) == pytest.approx(
                (b.share.value, b.share.low, b.share.high), abs=1e-9
            )


def test_exact_a_mask_is_taken_out_of_weights_on_average() -> None:
    """Over all reports of one person, the mean of the weighted sum is that of their answers."""
    survey = define(SEX, AGE, ILL, RATED, levels=("low",))
    masks = [mask.separate_response for mask in survey.levels[0].mechanisms[:3]]
    design = Weighting(weights={"sex": {"Woman": 1.0, "Man": 5.0}})
    keep = [float(m.keep_probability) for m in masks if m]
    total, weight = 0.0, 0.0
    for sex, ill in itertools.product(range(2), repeat=2):  # of one man who is ill
        chance = (keep[0] if sex == 1 else 1 - keep[0]) * (keep[2] if ill == 0 else 1 - keep[2])
        reports = reports_of(survey, rows_of([[sex, 0, ill, 0]], level="low"))
        people_there = WeightedPeople.of(reports, design)
        own = float(people_there.weight("low")[0])
        total += chance * float(people_there.worth("low", 2)[0, 0]) * own
        weight += chance * own
    assert (total, weight) == pytest.approx((5.0, 5.0))


def test_a_population_of_which_most_answered_leaves_little_unknown() -> None:
    """In clear the error falls with the part that was not asked; all asked, nothing is unknown."""
    reports = in_clear(people(200))
    errors = []
    for size in (None, 400, 200):
        weighting = Weighting(weights={"sex": {"Woman": 1.0, "Man": 1.0}}, population=size)
        share = weighted_result(reports, weighting).question("ill").option("Yes").share
        assert share.low is not None
        assert share.high is not None
        errors.append(share.high - share.low)
    assert errors[1] == pytest.approx(errors[0] * np.sqrt(0.5), rel=0.03)
    assert errors[2] == pytest.approx(0, abs=1e-3)


def test_tables_of_any_spelling_are_read() -> None:
    """Percent or parts, commas or semicolons, a byte-order mark; columns in any order."""
    rows = "\ufeffanswer;share;question\nWoman;51 %;sex\nMan;49 %;sex\n"
    assert Weighting.read(rows).margins == {"sex": {"Woman": 0.51, "Man": 0.49}}
    weights = Weighting.read("Question,Answer,Weight\nsex,Woman,1.5\nsex,Man,2\n", population=900)
    assert weights.weights == {"sex": {"Woman": 1.5, "Man": 2.0}}
    assert weights.to_json()["population"] == 900


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("a,b\n1,2\n", "expected question"),
        ("question,answer,share\nsex,Woman,x\n", "row 2: 'x' is no number"),
        ("question,answer,share\nsex,Woman,-1\n", "no number of at least 0"),
        ("question,answer,share\nsex,Woman,nan\n", "no number"),
        ("question,answer,share\nsex,Woman,50 %\n", "add up to 0.5"),
        ("question,answer,share\nsex,Woman,1\nsex,Woman,0\n", "stands twice"),
        ("question,answer,share\n", "gives no share"),
        ("question,answer,share\nsx,Woman,100 %\n", "Did you mean 'sex'"),
        ("question,answer,share\nsex,Women,100 %\n", "no answer 'Women'"),
        ("question,answer,share\nsex,Woman,100 %\n", "no number for 'Man'"),
        ("question,answer,share,weight\nsex,Woman,50,1\nsex,Man,50,1\n", "shares and weights"),
        ("question,answer,share\nh,0,100 %\n", "'h'"),
    ],
)
def test_what_cannot_be_weighed_by_is_refused(table: str, words: str) -> None:
    """The message names the row, the question or the answer, and the expected value."""
    survey = define(SEX, Number("h", "?", 0, 4, "h"), levels=("low",))
    reports = reports_of(survey, rows_of([[0, 1], [1, 2]] * 20, level="low"))
    with pytest.raises(ParameterError, match=words):
        weighted_result(reports, Weighting.read(table))


def test_margins_that_nobody_stands_for_are_refused() -> None:
    """An answer that nobody gave cannot be given a share; too small a population is named."""
    reports = reports_of(define(SEX, ILL, levels=("none",)), rows_of([[0, 1]] * 30, level="none"))
    with pytest.raises(ParameterError, match="nobody seems to have given it"):
        weighted_result(reports, Weighting({"sex": {"Woman": 0.5, "Man": 0.5}}))
    with pytest.raises(ParameterError, match="population of 5"):
        weighted_result(reports, Weighting(population=5))
    with pytest.raises(EmptyTable):
        weighted_result(reports_of(define(SEX, ILL), []), Weighting(population=5))
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    margins = [np.array([0.9, 0.1]), np.array([0.1, 0.9])]
    with pytest.raises(ParameterError, match="cannot all hold together"):
        raked(np.array([5.0, 5.0]), [rows, rows], margins, np.ones(2))
