"""``masquerade select`` and ``masquerade plan``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from masquerade.mechanisms import level_named

Run = Callable[..., Any]

POOL = "person,cost,level\n" + "".join(
    f"{level}{i},{cost},{level}\n"
    for level, cost in (("low", 0.4), ("medium", 0.2), ("high", 0.1))
    for i in range(20)
)


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Return a file of 60 people at three levels."""
    path = tmp_path / "pool.csv"
    path.write_text(POOL)
    return path


def test_select_says_who_and_at_what_cost(run: Run, pool: Path, tmp_path: Path) -> None:
    """The keys that scripts rely on; the file has the same people."""
    out = tmp_path / "chosen.csv"
    found = run("select", pool, "--budget", 4, "--out", out, "--json")
    assert found.code == 0
    assert found.json["cost"] <= 4 + 1e-9
    assert 0 < found.json["predicted_rmse"] < 1
    assert out.read_text().replace('"', "").split()[1:] == found.json["selected"]
    assert found.json["policy"] == "precision"
    assert "people" in run("select", pool, "--budget", 4).out


def test_select_by_chance_repeats_with_a_seed(run: Run, pool: Path) -> None:
    """The same seed, the same people."""
    words = ("select", pool, "--budget", 3, "--policy", "random", "--seed", 5, "--json")
    assert run(*words).json["selected"] == run(*words).json["selected"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("person,level\na,low\n", "no column 'cost'"),
        ("person,cost\na,1\n", "neither a column level nor noise_variance"),
        ("person,cost,level\na,1,low\nb,x,low\n", "row 2: cost is 'x'"),
        ("person,cost,level\na,1,tiny\n", "level is 'tiny'"),
        ("person,cost,level\na,1,low\n,1,low\n", "row 2: person is missing"),
        ("person,cost,level\na,1,low\na,1,low\n", "'a' stands 2 times"),
    ],
)
def test_bad_pools_are_refused_with_row_and_value(
    run: Run, tmp_path: Path, text: str, said: str
) -> None:
    """Exit code 1 and one line with the remedy."""
    path = tmp_path / "pool.csv"
    path.write_text(text)
    found = run("select", path, "--budget", 1)
    assert found.code == 1
    assert said in found.err


def test_plan_says_how_many(run: Run) -> None:
    """1,818 for five points at epsilon 1; a refusal where masks say nothing."""
    spec = "randomized-response:options=2,epsilon=1"
    found = run("plan", spec, "--margin", 0.05, "--json")
    assert found.json["participants"] == 1818
    assert found.json["epsilon_event"] == 1
    assert "1818" in run("plan", spec, "--margin", 0.05).out
    nothing = "randomized-response:options=2,flip_probability=0.5"
    assert run("plan", nothing, "--margin", 0.05).code == 1


def test_plan_takes_a_level_by_its_name(run: Run) -> None:
    """A level gives the mask that it has in a survey; the message asks for the options."""
    found = run("plan", "medium:options=2", "--margin", 0.05, "--json").json
    assert found["mechanism"] == str(level_named("medium").randomized_response(2))
    assert found["participants"] == 3618
    assert "medium:options=2" in run("plan", "medium", "--margin", 0.05).err


def test_an_infinite_budget_is_strict_json(run: Run, pool: Path) -> None:
    """A value for which JSON has no number is a text."""
    found = run("select", pool, "--budget", "inf", "--json")
    assert found.code == 0
    assert found.json["budget"] == "inf"


def test_an_unknown_level_is_named_with_its_row(run: Run, pool: Path) -> None:
    """Another spelling of a level is an error with the row of the file."""
    pool.write_text("person,cost,level\na,1,low\nb,1,Low\n")
    found = run("select", pool, "--budget", 2)
    assert found.code == 1
    assert "row 2: level is 'Low', expected one of high, medium, low, none" in found.err


def test_plan_remarks_on_numbers_that_nobody_can_ask(run: Run) -> None:
    """More people than live on earth, more than surveys reach, too few for the interval."""
    words = ("plan", "randomized-response:options=2,epsilon=0.001", "--json", "--margin")
    assert "more people than live on earth" in run(*words, 0.0001).json["remarks"][0]
    assert "more people than surveys reach" in run(*words, 0.05).json["remarks"][0]
    clear = ("plan", "randomized-response:options=2,epsilon=8", "--json", "--margin")
    assert "the interval is rough" in run(*clear, 0.4).json["remarks"][0]
    assert run(*clear, 0.05).json["remarks"] == []
    shown = run("plan", "randomized-response:options=2,epsilon=8", "--margin", 0.05).out
    assert re.search(r"remarks +│ none", shown)


@pytest.mark.parametrize(
    ("spec", "margin", "said"),
    [
        ("randomized-response:options=2,epsilon=1", 5, "margin is 5, expected below 0.5"),
        ("randomized-response:options=2,epsilon=1", 0.5, "five points are 0.05"),
        ("discrete-laplace:low=1,high=5,epsilon=1", 2, "half of all that is possible"),
    ],
)
def test_a_margin_as_wide_as_everything_is_no_plan(
    run: Run, spec: str, margin: float, said: str
) -> None:
    """Percent written for a share, and intervals that say nothing, are refused."""
    found = run("plan", spec, "--margin", margin)
    assert (found.code, said in found.err, found.out) == (1, True, "")


def test_a_selection_of_nobody_ends_with_1(run: Run, pool: Path) -> None:
    """The record is printed, and the reason stands on standard error."""
    found = run("select", pool, "--budget", 0.001, "--json")
    assert (found.code, found.json["selected"]) == (1, [])
    assert "nobody was chosen" in found.err


def test_plan_says_what_so_many_people_give(run: Run) -> None:
    """`--people` gives the margin, noise and sampling apart, with the same keys in either trust."""
    keys = []
    for spec in (
        "two-parties:questions=10,options=5,rho=0.5",
        "randomized-response:options=5,epsilon=1",
    ):
        result = run("plan", spec, "--people", 400, "--json").json
        assert result["participants"] == 400
        both = result["margin_noise"] ** 2 + result["margin_sampling"] ** 2
        # half a person at the far end makes an interval a little wider
        assert result["margin"] ** 2 == pytest.approx(both, rel=0.04)
        keys.append(set(result) - {"rho"})
    assert keys[0] == keys[1]


def test_plan_compares_groups_and_counts_invitations(run: Run) -> None:
    """`--compare` plans two groups, `--response-rate` says how many to invite."""
    spec = "two-parties:questions=10,options=5,rho=0.5"
    result = run("plan", spec, "--compare", 0.1, "--response-rate", 0.4, "--json").json
    assert result["participants"] == 2 * result["participants_each_group"]
    assert result["invite"] == -(-result["participants"] * 10 // 4)


def test_plan_finds_a_difference_in_odds(run: Run) -> None:
    """`--odds` says how many people find a relation, masked and in clear."""
    spec = "randomized-response:options=2,epsilon=1"
    asked = ("--odds", 2, "--share", 0.3, "--response-rate", 0.5)
    result = run("plan", spec, *asked, "--json").json
    assert (result["participants"], result["participants_in_clear"]) == (1608, 304)
    assert result["invite"] == 3216
    assert 0.8 <= result["power"] < 0.81
    assert "times as many" in run("plan", spec, *asked).out
    assert "--odds assumes" in run("plan", spec, "--odds", 2, "--population", 500).err
    assert "nothing to find" in run("plan", spec, "--odds", 1).err


def test_plan_takes_one_question_at_a_time(run: Run) -> None:
    """Both `--margin` and `--people`, or none, is a fault of usage that names all four."""
    spec = "randomized-response:options=2,epsilon=1"
    for more in ([], ["--margin", "0.05", "--people", "400"]):
        done = run("plan", spec, *more)
        assert done.code == 2
        assert "--compare" in done.err
        assert "--odds" in done.err
