"""A real survey by forced response comes out as published, and as R's packages have it.

2,457 people in Nigeria threw a die and said yes or no (Blair, Imai and Zhou 2015).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from masquerade.analysis import FitOptions, correlation, regress

MASKS = {"reported": "forced-response:no=1/6,yes=1/6"}
COLUMNS = "assets + married + age + age2 + education + female"
PLAIN = FitOptions(penalty=0)


@pytest.fixture(scope="module")
def survey() -> dict[str, Any]:
    """Return the rows with all values, ages in tens of years."""
    named = os.environ.get("MASQUERADE_DATA")
    if not named:
        pytest.skip("name the folder of the real data sets in MASQUERADE_DATA")
    path = Path(named) / "nigeria_rr" / "survey.csv"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    table = pa_csv.read_csv(path).to_pandas().dropna()
    assert len(table) == 2423
    columns = {name: table[name].to_numpy() for name in table.columns}
    columns["age"] = columns["age"] / 10
    columns["age2"] = columns["age"] ** 2
    return columns


def test_a_masked_outcome(survey: dict[str, Any]) -> None:
    """Coefficients, errors, profile, test and effect, by plain maximum likelihood."""
    fit = regress(survey, f"reported ~ {COLUMNS}", mechanisms=MASKS, fitting=PLAIN)
    assert [one.estimate for one in fit.terms] == pytest.approx(
        [-0.34017, 0.07896, -0.26742, -0.35283, 0.04099, -0.00691, -0.55439], abs=1e-5
    )
    assert [one.error for one in fit.terms] == pytest.approx(
        [0.49292, 0.04042, 0.24137, 0.26368, 0.02713, 0.04466, 0.16268], abs=1e-5
    )
    assert fit.log_likelihood == pytest.approx(-1540.117850, abs=1e-6)
    female = fit.term("female")
    assert (female.low, female.high) == pytest.approx((-0.882606, -0.241476), abs=1e-5)
    smaller = regress(survey, f"reported ~ {COLUMNS[:-9]}", mechanisms=MASKS, fitting=PLAIN)
    test = fit.compare(smaller)
    assert test.statistic == pytest.approx(12.276525, abs=1e-5)
    assert test.probability == pytest.approx(0.000459, abs=1e-6)
    effects = fit.effects()
    place = [*zip(effects.name, effects.answer, strict=True)].index(("female", "1"))
    assert effects.value[place] == pytest.approx(-0.103407, abs=1e-6)
    assert effects.error[place] == pytest.approx(0.029433, abs=1e-5)
    assert fit.naive_of(female) == pytest.approx(-0.31634, abs=1e-5)


def test_robust_errors(survey: dict[str, Any]) -> None:
    """With equal weights the errors are the sandwich's."""
    survey = survey | {"one": np.ones(2423)}
    fit = regress(survey, f"reported ~ {COLUMNS}", mechanisms=MASKS, weights="one", fitting=PLAIN)
    assert [one.error for one in fit.terms] == pytest.approx(
        [0.48321, 0.03993, 0.22983, 0.26722, 0.02870, 0.04400, 0.16386], abs=1e-5
    )


def test_half_a_person_and_the_sentence(survey: dict[str, Any]) -> None:
    """The default: slopes, profile, the interval at Holm's level and the sentence from it."""
    fit = regress(survey, f"reported ~ {COLUMNS}", mechanisms=MASKS)
    assert [one.estimate for one in fit.slopes] == pytest.approx(
        [0.078317, -0.301826, -0.270309, 0.032470, -0.009123, -0.552931], abs=1e-6
    )
    female = fit.term("female")
    assert (female.low, female.high) == pytest.approx((-0.879179, -0.241714), abs=1e-6)
    assert female.probability == pytest.approx(0.00044, abs=5e-6)
    assert (female.said_low, female.said_high) == pytest.approx((-0.997738, -0.135902), abs=1e-6)
    assert fit.sentences() == (
        "People with female = 1 have reported = 1 less often: "
        "odds 0.58, between 0.37 and 0.87 times.",
    )


def test_a_masked_predictor(survey: dict[str, Any]) -> None:
    """The likelihood is above that of R's rr, which stops at -3128.42."""
    fit = regress(survey, f"civic ~ {COLUMNS} + reported", mechanisms=MASKS, fitting=PLAIN)
    assert [one.estimate for one in fit.terms] == pytest.approx(
        [-3.18301, 0.13336, 0.23677, 1.09956, -0.11647, 0.07444, -0.03608, 0.40656], abs=1e-5
    )
    assert fit.term("reported").error == pytest.approx(0.16111, abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-3127.077059, abs=1e-6)
    assert fit.log_likelihood > -3128.421600


def test_a_number_by_a_masked_predictor(survey: dict[str, Any]) -> None:
    """Linear, with a masked predictor that depends on no column."""
    fit = regress(
        survey,
        "education ~ reported + age + female",
        mechanisms=MASKS,
        fitting=FitOptions(penalty=0, cells="independent"),
    )
    values = {one.name: one.estimate for one in fit.terms}
    # the prototype stopped early here: its score was not 0, and ours is 1e-13
    assert values["(constant)"] == pytest.approx(5.05656, abs=1e-4)
    assert values["reported"] == pytest.approx(0.04658, abs=1e-4)
    assert values["age"] == pytest.approx(-0.08055, abs=3e-5)
    assert values["female"] == pytest.approx(-0.35557, abs=3e-5)
    assert np.exp(values["log(sigma)"] or 0) == pytest.approx(1.80629, abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-6425.514596, abs=1.5e-6)


def test_correlations_of_a_masked_answer(survey: dict[str, Any]) -> None:
    """Correlations of the masked answer with education and civic work, within their intervals."""
    for column, value in (("education", 0.02778239), ("civic", 0.06299687)):
        found = correlation(survey, "reported", column, mechanisms=MASKS)
        assert found.value == pytest.approx(value, abs=1e-8)
        assert found.low < value < found.high
        assert found.people == 2423
