"""A regression does not depend on units, on the size of weights, or on missing rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from masquerade.analysis import FitOptions, Regression, Term, correlation, regress
from masquerade.analysis.formula import Formula
from masquerade.analysis.likelihood import MOST_NUMBERS, Model, Seen
from masquerade.analysis.outcomes import Multinomial
from masquerade.errors import InputError, MissingValue, ParameterError, UnknownLabel

MASK = {"said": "warner:p=0.8"}
RATING = {"said": "randomized-response:options=5,epsilon=3"}


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    """Return 600 people: an answer that goes along with age, and reports of it."""
    rng = np.random.default_rng(11)
    age = rng.integers(20, 60, 600)
    yes = rng.random(600) < 1 / (1 + np.exp(3 - age / 13))
    said = np.where(rng.random(600) < 0.8, yes, ~yes).astype(int)
    rating = np.clip(age // 12 + rng.integers(-1, 2, 600), 1, 5)
    income = 20_000 + 500 * age + rng.normal(0, 8000, 600)
    weight = rng.uniform(0.5, 2, 600)
    village = rng.integers(0, 12, 600)
    return {
        "age": age,
        "said": said,
        "rating": rating,
        "income": income,
        "weight": weight,
        "village": village,
    }


def numbers(fit: Regression) -> list[float]:
    """Return estimate and interval of each term."""
    return [
        float(v) for one in fit.terms for v in (one.estimate, one.low, one.high) if v is not None
    ]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_an_outcome_is_of_no_matter(people: dict[str, Any], unit: float) -> None:
    """An income in cents or in millions: the same slopes in that unit, and the same sentence."""
    fit = regress(people | {"income": people["income"] * unit}, "income ~ age")
    slope, intercept = np.polyfit(people["age"], people["income"], 1)
    assert fit.term("age").estimate == pytest.approx(slope * unit, rel=1e-6)
    assert fit.term("(constant)").estimate == pytest.approx(intercept * unit, rel=1e-6)
    assert fit.term("age").shown is not None
    assert fit.sentence().startswith("People with more age have more income")
    far = regress(people | {"income": (people["income"] + 1e9) * unit}, "income ~ age")
    assert far.term("age").estimate == pytest.approx(slope * unit, rel=1e-4)


def test_odds_beside_1_are_told_with_digits_that_show_it() -> None:
    """An interval without 1 does not read as if it held 1; a regression prints in a line."""
    slope: dict[str, Any] = {"slope": True, "said": True, "unit": 0.03, "probability": 0.004}
    term = Term(
        "age", estimate=0.018, low=0.005, high=0.03, said_low=0.004, said_high=0.03, **slope
    )
    fit = regress({"said": [0, 1] * 30, "age": [0, 0, 1, 1] * 15}, "said ~ age")
    told = replace(fit, terms=(term,), answers=("no", "yes")).sentence()
    assert told == (
        "People with more age have said = yes more often: odds 1.02, between 1.004 and 1.03 times "
        "for each unit of age."
    )
    assert "array" not in repr(fit)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_size_of_weights_is_of_no_matter(people: dict[str, Any], size: float) -> None:
    """Weights that add to 1, or to a population, give the same numbers and predictions."""
    one, other = (
        regress(
            people | {"weight": people["weight"] * times},
            "said ~ age",
            mechanisms=MASK,
            weights="weight",
        )
        for times in (1, size)
    )
    assert numbers(other) == pytest.approx(numbers(one), rel=1e-6)
    rows = {"age": [25, 55]}
    assert other.predict(rows).low == pytest.approx(one.predict(rows).low, abs=1e-6)
    assert other.effects().error == pytest.approx(one.effects().error, rel=1e-5)


def test_effects_have_the_errors_of_clusters(people: dict[str, Any]) -> None:
    """Each person four times, as clusters: the errors are as of one, and not half as large."""
    alone = regress(people, "said ~ age", mechanisms=MASK, weights="weight")
    copies = {name: np.tile(column, 4) for name, column in people.items()}
    copies["person"] = np.tile(np.arange(600), 4)
    fit = regress(copies, "said ~ age", mechanisms=MASK, weights="weight", clusters="person")
    assert fit.effects().error == pytest.approx(alone.effects().error, rel=0.02)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_a_column_moves_no_prediction(people: dict[str, Any], unit: float) -> None:
    """Intervals of predictions are by slopes in scaled units."""
    one, other = (
        regress(people | {"age": people["age"] * times}, "said ~ age", mechanisms=MASK).predict(
            {"age": [30 * times, 50 * times]}
        )
        for times in (1, unit)
    )
    assert other.low == pytest.approx(one.low, abs=1e-6)
    assert other.high == pytest.approx(one.high, abs=1e-6)


def test_predictions_of_the_people_of_the_fit_are_in_their_rows(people: dict[str, Any]) -> None:
    """Also where equal people were joined for the fit."""
    fit = regress(people, "said ~ age", mechanisms=MASK)
    assert fit.patterns < fit.people
    own, given = fit.predict(), fit.predict({"age": people["age"]})
    assert own.row == given.row
    assert own.value == pytest.approx(given.value)


def test_predictions_refuse_what_the_fit_does_not_know(people: dict[str, Any]) -> None:
    """A label that nobody had is not the first one; a missing value and a text are no numbers."""
    data = people | {"town": np.where(people["village"] < 6, "Ahm", "Bur")}
    fit = regress(data, "said ~ age + town", mechanisms=MASK, fitting=FitOptions(intervals=False))
    with pytest.raises(UnknownLabel, match="row 2: 'Cey'"):
        fit.predict({"age": [30, 30], "town": ["Ahm", "Cey"]})
    with pytest.raises(UnknownLabel, match="row 1: 'old' is not a number"):
        fit.predict({"age": ["old"], "town": ["Ahm"]})
    with pytest.raises(MissingValue, match="row 2"):
        fit.predict({"age": [30, None], "town": ["Ahm", "Bur"]})


def test_least_squares_of_ratings_say_what_they_found(people: dict[str, Any]) -> None:
    """A slope that is told from 0 has a sentence; clusters widen by Student's t of their number."""
    data = people | {"said": people["rating"]}
    fit = regress(data, "said ~ age", mechanisms=RATING, model="linear")
    assert fit.sentence().startswith("People with more age have more said")
    few = data | {"half": people["village"] % 3}
    by_cluster = regress(few, "said ~ age", mechanisms=RATING, model="linear", clusters="half")
    term = by_cluster.term("age")
    assert term.high is not None
    assert term.estimate is not None
    assert term.error is not None
    reach = (term.high - term.estimate) / term.error
    assert reach == pytest.approx(4.3027, abs=1e-3)  # Student's t of 2 degrees


def test_least_squares_without_an_error_are_refused(people: dict[str, Any]) -> None:
    """All say the same, a column of one value, and columns that say the same."""
    same = people | {"said": np.full(600, 3), "one": np.ones(600), "twice": 2 * people["age"]}
    options = {"said": [1, 2, 3, 4, 5]}
    with pytest.raises(InputError, match="without any error"):
        regress(same, "said ~ age", mechanisms=RATING, model="linear", options=options)
    rated = same | {"said": people["rating"]}
    with pytest.raises(InputError, match="one value alone"):
        regress(rated, "said ~ one", mechanisms=RATING, model="linear")
    with pytest.raises(InputError, match="say the same"):
        regress(rated, "said ~ age + twice", mechanisms=RATING, model="linear")


def test_reports_that_are_no_answers_have_no_naive_slope() -> None:
    """Numbers of cards are not read as the last answer."""
    rng = np.random.default_rng(2)
    data = {"cards": rng.integers(0, 4, 400), "x": rng.integers(0, 2, 400)}
    masks = {"cards": "kuk:p1=0.8,p2=0.2,cards=3"}
    assert regress(data, "cards ~ x", mechanisms=masks, model="linear").naive == ()
    assert correlation(data, "cards", "x", mechanisms=masks).naive is None


def test_the_model_does_not_depend_on_the_number_of_people() -> None:
    """A column of 0 and 1 is one of two answers, also of very many people."""
    many = 1 << 17
    data = {"y": np.arange(many) % 2, "x": np.arange(many) // 2 % 2}
    assert regress(data, "y ~ x", fitting=FitOptions(intervals=False)).model == "logistic"


def test_reports_that_could_be_counted_from_0_or_from_1_are_a_doubt() -> None:
    """Of three options, reports 1 and 2 alone say not which; of two, 1 alone is yes."""
    data = {"said": [1, 2] * 30, "x": list(range(60))}
    masks = {"said": "randomized-response:options=3,epsilon=1"}
    with pytest.raises(ParameterError, match="order of the options of said is not clear"):
        regress(data, "said ~ x", mechanisms=masks)
    quick = FitOptions(intervals=False)
    fit = regress(data, "said ~ x", mechanisms=masks, options={"said": [1, 2, 3]}, fitting=quick)
    assert fit.answers == ("1", "2", "3")


def test_people_without_a_level_are_left_out() -> None:
    """With missing='drop', a row without the column of levels is no error."""
    data = {
        "said": [0, 1] * 30,
        "x": [0, 1, 1, 0] * 15,
        "level": [None if n == 7 else "high" if n % 2 else "low" for n in range(60)],
    }
    masks = {"said": {"low": "warner:p=0.9", "high": "warner:p=0.7"}}
    fit = regress(
        data, "said ~ x", mechanisms=masks, fitting=FitOptions(levels="level", missing="drop")
    )
    assert fit.people == 59
    with pytest.raises(MissingValue, match="column 'level', row 8"):
        regress(data, "said ~ x", mechanisms=masks, fitting=FitOptions(levels="level"))


def test_a_correlation_above_1_has_an_interval_in_order() -> None:
    """Where the noise is large, both ends stay within -1 and 1, the lower one first."""
    rng = np.random.default_rng(3)
    spread = []
    for _ in range(60):
        truth = rng.integers(0, 3, 100)
        a, b = (np.where(rng.random(100) < 0.4, truth, rng.integers(0, 3, 100)) for _ in range(2))
        mask = "randomized-response:options=3,epsilon=1.1"
        found = correlation({"a": a, "b": b}, "a", "b", mechanisms={"a": mask, "b": mask})
        assert -1 <= found.low <= found.high <= 1
        spread.append(found.high - found.low)
    assert max(spread) > 0


def test_correlations_of_numbers_in_clear_take_no_table_of_their_values() -> None:
    """A hundred thousand different numbers: such a table would have 80 GB."""
    x = np.random.default_rng(4).normal(size=(2, 100_000))
    found = correlation({"a": x[0], "b": x[0] + x[1]}, "a", "b")
    assert found.value == pytest.approx(np.corrcoef(x[0], x[0] + x[1])[0, 1])


def test_people_are_worked_on_in_parts_whose_tables_are_small() -> None:
    """With 60 answers and 200 cells a part is a few people, and none is left out."""
    seen = Seen(np.eye(60), np.arange(60, dtype=np.int32))
    cells = Seen(np.full((1, 200), 1.0), np.zeros(60, dtype=np.int32))
    model = Model(np.ones((60, 1)), Multinomial(60), seen, (cells,), (np.eye(200),), np.ones(60))
    parts = list(model._parts())
    assert all((part.stop - part.start) * 59**2 * 200 <= MOST_NUMBERS for part in parts)
    assert [n for part in parts for n in range(part.start, part.stop)] == list(range(60))


def test_a_number_in_a_term_is_no_missing_constant() -> None:
    """Years above 18 are a term; a model without a constant is refused."""
    found = Formula.of("said ~ {age - 18} + sex", columns=("said", "age", "sex"), masked=("said",))
    assert found.clear == ("{age - 18}", "sex")
    for text in ("said ~ age - 1", "said ~ {age} - 1 + {sex}", "said ~ 0 + age"):
        with pytest.raises(ParameterError, match="leaves out the constant"):
            Formula.of(text, columns=("said", "age", "sex"), masked=("said",))
