"""The command ``regress``: a table with masks, a survey's export, and its words for mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.analysis import survey_correlation, survey_regression
from masquerade.mechanisms import CategoricalMechanism
from masquerade.results import Codebook, read_reports, write_reports
from masquerade.surveys import Choice, Rating
from masquerade.surveys.survey import Survey

Run = Callable[..., Any]
FORCED = "said=forced-response:no=1/6,yes=1/6"


@pytest.fixture
def survey_file(tmp_path: Path) -> Path:
    """A made-up survey by forced response: women say yes less often."""
    rng = np.random.default_rng(10)
    female, age = rng.integers(0, 2, 1500), rng.integers(20, 60, 1500)
    yes = rng.random(1500) < 1 / (1 + np.exp(0.2 + 1.2 * female))
    die = rng.integers(1, 7, 1500)
    said = np.where(die == 1, 0, np.where(die == 6, 1, yes)).astype(int)
    rows = zip(said, female, age, np.arange(1500) % 40, strict=True)
    path = tmp_path / "survey.csv"
    lines = ["said,female,age,village", *(f"{a},{b},{c},v{d}" for a, b, c, d in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_with_a_mask(run: Run, survey_file: Path) -> None:
    """The JSON has terms, the naive fit, log-likelihood and people; the sentence is true."""
    said = run("regress", survey_file, "said ~ female + age", "--mechanism", FORCED, "--json")
    found = said.json
    assert {"terms", "naive", "log_likelihood", "people"} <= set(found)
    assert found["people"] == 1500
    female = next(one for one in found["terms"] if one["name"] == "female")
    assert female["low"] < -1.2 < female["high"] < 0
    naive = next(one for one in found["naive"] if one["name"] == "female")
    assert abs(naive["estimate"]) < abs(female["estimate"])
    assert found["sentence"].startswith("People with female = 1 have said = 1 less often: odds 0.")


def test_a_table_for_people(run: Run, survey_file: Path) -> None:
    """The sentence stands first, and each term has a line."""
    out = run("regress", survey_file, "said ~ female", "--mechanism", FORCED).out
    assert out.startswith("People with female = 1")
    assert "naive" in out
    assert "< 0.0001" in out
    assert "0.0000" not in out  # no p-value is zero
    clustered = run(
        "regress", survey_file, "said ~ female", "--mechanism", FORCED, "--cluster", "village"
    )
    assert clustered.code == 0


def test_a_formula_with_functions(run: Run, survey_file: Path) -> None:
    """Formulaic reads it, also where columns come from a CSV file as texts."""
    pytest.importorskip("formulaic")
    formula = "said ~ female + {age / 10} + female:age"
    found = run("regress", survey_file, formula, "--mechanism", FORCED, "--json").json
    assert [one["name"] for one in found["terms"]][1:] == ["female", "age / 10", "female:age"]


@pytest.mark.parametrize(
    ("formula", "more", "said"),
    [
        ("said ~ agee", (), "Did you mean 'age'"),
        ("said", (), "is no formula"),
        ("said ~ said", (), "outcome and predictor"),
        ("said ~ female + female", (), "stands twice"),
        ("age ~ female:said", (), "stands alone"),
        ("said ~ age", ("--weights", "female"), "the weight is 0, expected above 0"),
        ("said ~ age", ("--cluster", "town"), "column 'town' is missing"),
        ("said ~ village", ("--options", "said=a,b"), "row 1"),
        ("said ~ age", ("--model", "ordered", "--mechanism", "age=warner:p=0.8"), "age"),
    ],
)
def test_mistakes_are_named(
    run: Run, survey_file: Path, formula: str, more: tuple[str, ...], said: str
) -> None:
    """Each says column or row, and the remedy; exit code 1."""
    found = run("regress", survey_file, formula, "--mechanism", FORCED, *more)
    assert found.code == 1
    assert said in found.err


def test_a_report_that_no_mask_gives_is_named(run: Run, tmp_path: Path) -> None:
    """Row and value of a strange report and of a missing one."""
    path = tmp_path / "odd.csv"
    path.write_text("said,age\n0,20\n7,30\n1,40\n")
    found = run("regress", path, "said ~ age", "--mechanism", FORCED)
    assert "row 2" in found.err
    assert "'7'" in found.err
    path.write_text("said,age\n0,20\n1,\n1,40\n")
    found = run("regress", path, "said ~ age", "--mechanism", FORCED)
    assert "column 'age', row 2: the value is missing" in found.err
    usage = run("regress", path, "said ~ age", "--mechanism", "said")
    assert usage.code == 2


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """An export of a survey at two levels: people under stress work while ill more often."""
    questions = (
        Choice("ill", "Have you worked while ill?", ("No", "Yes")),
        Rating("stress", "How stressed are you?", 1, 5),
    )
    survey = Survey.at_levels(title="Work", questions=questions, levels=("low", "none"))
    book = Codebook("0123456789abcdef", survey, survey.content_hash())
    rng = np.random.default_rng(4)
    rows = []
    for number in range(1200):
        stress = int(rng.integers(0, 5))
        ill = int(rng.random() < 1 / (1 + np.exp(-0.9 * (stress - 2))))
        level = ("low", "none")[number % 2]
        sent = []
        for answer, mask in zip((ill, stress), survey.level(level).mechanisms, strict=True):
            assert isinstance(mask, CategoricalMechanism)
            chances = mask.channel().matrix()[answer]
            sent.append(int(rng.choice(len(chances), p=chances / chances.sum())))
        rows.append((f"{number:05x}", level, json.dumps(sent)))
    path = tmp_path / "reports.parquet"
    path.write_bytes(b"".join(write_reports(book, [rows], kind="parquet")))
    return path


def test_an_export_carries_its_masks(run: Run, export: Path) -> None:
    """No mechanism is given; the level is a column of its own, and a mask given is refused."""
    found = run("regress", export, "ill ~ stress", "--json").json
    names = [one["name"] for one in found["terms"]]
    assert names == ["(constant)", "level[none]", "stress"]
    stress = found["terms"][2]
    assert stress["low"] < 0.9 < stress["high"]
    assert stress["masked"]
    assert found["sentence"].startswith("People with more stress have ill = Yes more often")
    refused = run("regress", export, "ill ~ stress", "--mechanism", FORCED)
    assert "carries its masks" in refused.err
    strange = run("regress", export, "ill ~ stres")
    assert "Did you mean 'stress'" in strange.err


def test_an_export_in_python(export: Path) -> None:
    """The same fit, and the correlation of two questions."""
    reports = read_reports(export)
    fit = survey_regression(reports, "stress ~ ill")
    assert fit.model == "ordered"
    assert (fit.term("ill[Yes]").low or 0) > 0
    with pytest.raises(ValueError, match="no numbers"):
        survey_correlation(reports, "ill", "stress")
