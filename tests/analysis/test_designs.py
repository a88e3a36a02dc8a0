"""Shares, power and two-group designs come out as R's RRreg and rr have them, or better."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from masquerade.analysis import (
    FitOptions,
    odds_sample,
    share_power,
    share_sample,
    shares,
    two_group_power,
    two_group_sample,
    two_groups,
)
from masquerade.errors import ParameterError, UnknownLabel

FORCED = "forced-response:no=1/6,yes=1/6"
PLAIN = FitOptions(penalty=0)


@pytest.mark.parametrize(
    ("design", "counts", "share", "error"),
    [
        ("warner:p=0.8", (614, 386), 0.31, 0.02567106),
        ("crosswise:p=0.25", (389, 611), 0.278, 0.03084911),
        (FORCED, (637, 363), 0.2945, 0.02282084),
        ("unrelated-question:p=0.7,q=0.3", (695, 305), 0.307143, 0.02080949),
        ("mangat:p=0.6", (404, 596), 0.326667, 0.02587497),
        ("triangular:p=0.4", (450, 550), 0.25, 0.02623334),
        ("kuk:p1=0.8,p2=0.2,cards=3", (355, 298, 181, 166), 0.31, 0.01903),
    ],
)
def test_shares_of_designs(
    design: str, counts: tuple[int, ...], share: float, error: float
) -> None:
    """Moments and errors with n - 1, as RRuni; the interval holds the estimate."""
    found = shares(counts, design)
    wide = len(counts) > 2
    if not wide:
        assert found.value[1] == pytest.approx(share, abs=1e-6)
        assert found.error[1] == pytest.approx(error, abs=1e-8)
        assert found.likelihood[1] == pytest.approx(found.value[1], abs=1e-8)
    else:
        assert found.likelihood[1] == pytest.approx(0.308874, abs=1e-6)
    assert found.low[1] < found.likelihood[1] < found.high[1]


def test_shares_of_three_options() -> None:
    """A table of one's own: all shares and errors."""
    found = shares((456, 316, 228), "custom:chances=0.7|0.2|0.1;0.1|0.8|0.1;0.2|0.1|0.7")
    assert found.value == pytest.approx((0.557778, 0.228889, 0.213333), abs=1e-6)
    assert found.error == pytest.approx((0.028279, 0.023406, 0.022122), abs=1e-6)


def test_power_as_in_r() -> None:
    """Each golden value of rr's power.rr.test, to nine digits."""
    assert share_power(FORCED, 200, share=0.2, level=0.01, sides=1) == pytest.approx(
        0.986887158, abs=1e-9
    )
    assert share_power(FORCED, 500, share=0.3, against=0.2) == pytest.approx(0.890579336, abs=1e-9)
    assert share_power(FORCED, 500, share=0.3, against=0.2, groups=2) == pytest.approx(
        0.629919043, abs=1e-9
    )
    assert share_power("disguised:p=0.75", 500, share=0.3, against=0.2) == pytest.approx(
        0.645788161, abs=1e-9
    )
    assert share_power("unrelated-question:p=0.7,q=0.3", 500, share=0.3, against=0.2) == (
        pytest.approx(0.946926224, abs=1e-9)
    )


def test_samples_reach_their_power() -> None:
    """The number asked for is the least with the power; in clear it is that of textbooks."""
    one = share_sample(FORCED, share=0.3, against=0.2)
    two = share_sample(FORCED, share=0.3, against=0.2, groups=2)
    assert (one.people, one.clear) == (383, 137)
    assert (two.people, two.clear) == (754, 263)
    for plan, groups in ((one, 1), (two, 2)):
        assert plan.power >= 0.8
        fewer = share_power(FORCED, plan.people - 2, share=0.3, against=0.2, groups=groups)  # type: ignore[arg-type]
        assert fewer < 0.8
    assert "times as many" in one.statement


def test_a_difference_in_odds_needs_the_information_that_is_left() -> None:
    """At the odds' null, the ratio of people is 1 / lambda: 5.4 at epsilon 1 and a share of .3."""
    plan = odds_sample("randomized-response:options=2,epsilon=1", odds=1.05, share=0.3)
    assert plan.people / plan.clear == pytest.approx(1 / 0.186, rel=0.02)
    assert plan.information == pytest.approx(0.186, abs=0.004)
    with pytest.raises(ParameterError, match="nothing to find"):
        odds_sample(FORCED, odds=1, share=0.3)
    with pytest.raises(ParameterError, match="3 answers"):
        share_sample("randomized-response:options=3,epsilon=1", share=0.3)


def test_a_second_unknown_costs_power() -> None:
    """With q estimated the power is .649298, and a plan has the power that was asked for."""
    asked: Any = {"chances": (0.75, 0.25), "share": 0.3, "against": 0.2, "other": 0.3}
    found = two_group_power("unrelated-question", 500, level=0.025, sides=1, **asked)
    assert found == pytest.approx(0.649298, abs=1e-6)
    # the far tail of a test with two sides adds 3e-5
    assert two_group_power("unrelated-question", 500, **asked) - found < 4e-5
    plan = two_group_sample("unrelated-question", **asked)
    assert plan.power >= 0.8
    assert two_group_power("unrelated-question", plan.people - 2, **asked) < 0.8


@pytest.mark.parametrize(
    ("design", "chances", "groups", "share", "other", "error"),
    [
        ("unrelated-question", (0.75, 0.25), 1000, 0.3065, 0.4765, 0.023929),
        ("stochastic-lie-detector", (0.2, 0.8), 1000, 0.268333, 0.818634, 0.032873),
        ("cheating-detection", (0.25, 0.75), 1000, 0.2775, 0.1685, 0.024491),
    ],
)
def test_errors_of_planning_are_those_of_the_fit(
    design: Any, chances: Any, groups: int, share: float, other: float, error: float
) -> None:
    """A difference of z golden errors is found in half of surveys, by a test with one side."""
    z, larger = 1.6448536269514722, 1000  # so many people that share and hypothesis are close
    against = share - z * error / larger
    people = 2 * groups * larger**2
    asked: Any = {"chances": chances, "share": share, "other": other, "against": against}
    assert two_group_power(design, people, sides=1, **asked) == pytest.approx(0.5, abs=1e-3)


def test_planning_refuses_groups_that_are_alike() -> None:
    """Groups with one chance tell only one unknown; impossible shares are named."""
    asked: Any = {"share": 0.3, "against": 0.2, "other": 0.3}
    with pytest.raises(ParameterError, match="whose chances differ"):
        two_group_power("unrelated-question", 500, chances=(0.5, 0.5), **asked)
    with pytest.raises(ParameterError, match="expected above 0 and below 1"):
        two_group_power("unrelated-question", 500, chances=(1, 0.5), share=0.3, other=0.3)


def reports(first: tuple[int, int], second: tuple[int, int]) -> dict[str, Any]:
    """Return the people of two groups by their counts of reports 0 and 1."""
    times = [*first, *second]
    return {"said": np.repeat([0, 1, 0, 1], times), "group": np.repeat([1, 1, 2, 2], times)}


def test_an_unrelated_question_of_unknown_share() -> None:
    """Both shares, their errors, and the log-likelihood."""
    found = two_groups(
        reports((651, 349), (566, 434)),
        "said ~ 1",
        design="unrelated-question",
        groups="group",
        chances={1: 0.75, 2: 0.25},
        fitting=PLAIN,
    )
    assert (found.share, found.share_error) == pytest.approx((0.3065, 0.023929), abs=1e-6)
    assert (found.other, found.other_error) == pytest.approx((0.4765, 0.024688), abs=1e-6)
    assert found.log_likelihood == pytest.approx(-1331.235104, abs=1e-6)


def test_a_stochastic_lie_detector() -> None:
    """The share and the honesty, their errors, and the log-likelihood."""
    found = two_groups(
        reports((195, 805), (634, 366)),
        "said ~ 1",
        design="stochastic-lie-detector",
        groups="group",
        chances={1: 0.2, 2: 0.8},
        fitting=PLAIN,
    )
    assert (found.share, found.share_error) == pytest.approx((0.268333, 0.032873), abs=1e-6)
    assert (found.other, found.other_error) == pytest.approx((0.818634, 0.048174), abs=1e-6)
    assert found.log_likelihood == pytest.approx(-1150.184774, abs=1e-6)


def test_a_cheating_detection() -> None:
    """The share of yes and that of cheaters; together never above 1."""
    found = two_groups(
        reports((584, 416), (307, 693)),
        "said ~ 1",
        design="cheating-detection",
        groups="group",
        chances={1: 0.25, 2: 0.75},
        fitting=PLAIN,
    )
    assert (found.share, found.share_error) == pytest.approx((0.2775, 0.024491), abs=1e-6)
    assert found.other == pytest.approx(0.1685, abs=1e-6)
    assert found.log_likelihood == pytest.approx(-1295.647268, abs=1e-6)
    assert found.regression.naive == ()


def minarets() -> dict[str, Any]:
    """Return 1,621 people on a ban of minarets; skipped where their answers are not there."""
    named = os.environ.get("MASQUERADE_DATA")
    path = Path(named or "") / "minarets_rr" / "survey.csv"
    if not named or not path.is_file():
        pytest.skip("name the folder of the real data sets in MASQUERADE_DATA")
    table = pa_csv.read_csv(path).to_pandas()
    return {name: table[name].to_numpy() for name in table.columns}


def test_a_real_survey_with_people_asked_directly() -> None:
    """Coefficients of a real survey, and honesty; RRlog stops within 1e-5 of it."""
    data = minarets()
    for name in ("age", "left_right"):
        data[name] = data[name] - data[name].mean()
    found = two_groups(
        data,
        "reported ~ age + left_right",
        design="stochastic-lie-detector",
        groups="condition",
        chances={0: None, 1: 2 / 12, 2: 10 / 12},
        fitting=PLAIN,
    )
    values = [one.estimate for one in found.regression.terms[:3]]
    assert values == pytest.approx([0.248838, 0.005871, 0.392436], abs=1e-5)
    assert found.other == pytest.approx(0.717643, abs=1e-5)
    assert found.log_likelihood == pytest.approx(-1089.198094, abs=1e-6)
    slope = found.regression.term("left_right")
    assert (slope.low, slope.high) == pytest.approx((0.293216, 0.499217), abs=1e-5)


def test_a_real_survey_of_two_groups_alone() -> None:
    """Share and honesty of a real survey without columns, and their errors."""
    data = minarets()
    asked = data["condition"] != 0
    found = two_groups(
        {name: values[asked] for name, values in data.items()},
        "reported ~ 1",
        design="stochastic-lie-detector",
        groups="condition",
        chances={1: 2 / 12, 2: 10 / 12},
        fitting=PLAIN,
    )
    assert found.regression.people == 1256
    assert (found.share, found.other) == pytest.approx((0.870695, 0.635806), abs=1e-6)
    # RRuni divides by n - 1 in each of two groups of nearly the same size
    errors = np.array([found.share_error, found.other_error]) * np.sqrt(1256 / 1254)
    assert errors == pytest.approx([0.041118, 0.017344], abs=2e-6)


def test_two_groups_need_two_chances() -> None:
    """One chance alone leaves the second unknown open; a strange group is named with its row."""
    people = reports((60, 40), (50, 50))
    with pytest.raises(ParameterError, match="different chances"):
        two_groups(
            people,
            "said ~ 1",
            design="unrelated-question",
            groups="group",
            chances={1: 0.5, 2: 0.5},
        )
    with pytest.raises(UnknownLabel, match="row 101: 2 is no group"):
        two_groups(
            people,
            "said ~ 1",
            design="unrelated-question",
            groups="group",
            chances={1: 0.5, 3: 0.2},
        )


@pytest.mark.parametrize("missing", ["drop", "keep"])
@pytest.mark.parametrize(
    ("design", "chances"),
    [("unrelated-question", {1: 0.75, 2: 0.25}), ("cheating-detection", {1: 0.3, 2: 0.7})],
)
def test_two_groups_without_some_reports(
    missing: Any, design: Any, chances: dict[int, float]
) -> None:
    """Missing reports are left out, or kept as unknown: both give the estimate of the others."""
    group = np.repeat([1, 1, 2, 2], [651, 349, 566, 434])
    said = np.repeat([0, 1, 0, 1], [651, 349, 566, 434])
    there = np.arange(2000) % 10 > 0
    holes = [int(one) if known else None for one, known in zip(said, there, strict=True)]
    found = two_groups(
        {"said": holes, "group": group},
        "said ~ 1",
        design=design,
        groups="group",
        chances=chances,
        fitting=FitOptions(missing=missing, intervals=False),
    )
    whole = two_groups(
        {"said": said[there], "group": group[there]},
        "said ~ 1",
        design=design,
        groups="group",
        chances=chances,
        fitting=FitOptions(intervals=False),
    )
    assert found.share == pytest.approx(whole.share, abs=1e-6)
    assert found.other_error == pytest.approx(whole.other_error, rel=1e-4)


def test_a_mask_never_needs_fewer_people_than_none() -> None:
    """Against a share of 0 too, where one clear yes says all; and where the share is 1."""
    for share in (0.05, 0.3, 0.9, 1.0):
        plan = share_sample(FORCED, share=share)
        assert plan.people > plan.clear >= 1
        assert 0 <= plan.information < 1
    proof = share_sample("mangat:p=0.6", share=0.3)
    assert proof.people >= proof.clear
