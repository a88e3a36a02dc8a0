"""Releases whole: files that agree, intervals that hold, corner cases and promises."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from masquerade.errors import EmptyTable, ParameterError
from masquerade.release import (
    Domain,
    GroupedClaims,
    Release,
    ReleaseParameters,
    errors_of,
    guarantee_sentence,
    release,
    report_page,
    simulate_release,
    summaries,
    synthesize,
)

Table = dict[str, Any]


def crowd(objects: int, users: int, seed: int, *, shape: str = "ratings") -> Table:
    """Return claims about objects of one shape, on 1 to 5 or on 0 to 10."""
    rng = np.random.default_rng(seed)
    size = (objects, users)
    if shape == "ratings":
        middle = rng.uniform(2, 4.5, (objects, 1))
        values = np.clip(np.rint(rng.normal(middle, 1, size)), 1, 5)
    elif shape == "ends":
        values = np.where(rng.random(size) < rng.uniform(0.1, 0.9, (objects, 1)), 10.0, 0.0)
    elif shape == "heavy":
        values = np.clip(5 + 0.6 * rng.standard_t(1.5, size), 0, 10)
    else:
        centre = rng.uniform(2, 8, (objects, 1))
        values = np.clip(rng.normal(centre, 1, size), 0, 10)
    return {
        "task": np.repeat([f"o{i:03}" for i in range(objects)], users),
        "worker": np.tile([f"u{i:03}" for i in range(users)], objects),
        "value": values.ravel(),
    }


def simulated(table: Table, seed: int = 1, **changed: Any) -> Release:
    """Return a release of ratings from a seed."""
    words: dict[str, Any] = {"epsilon": 1, "domain": (1, 5), "step": 1, **changed}
    return simulate_release(table, np.random.default_rng(seed), **words)


def test_where_all_say_the_same_nothing_is_moved() -> None:
    """All say 1 in {0, 1}, epsilon 8: at most one row in 1,000 differs; 40 objects of 50."""
    table = crowd(40, 50, 1) | {"value": np.ones(2000)}
    made = simulated(table, epsilon=8, domain=(0, 1))
    assert (made.rows["value"].to_numpy() != 1).sum() <= 2
    assert abs(np.array(made.summary["mean"]) - 1).max() < 1e-3


def test_no_answer_is_moved_where_epsilon_is_large() -> None:
    """Ratings and yes or no at epsilon 8: rows are the claims, but for one in a hundred."""
    for domain, table in (((1, 5), crowd(60, 40, 2)), ((0, 1), crowd(60, 40, 2))):
        if domain == (0, 1):
            table = table | {"value": (table["value"] > 3).astype(float)}
        made = simulated(table, epsilon=8, domain=domain)
        errors = errors_of(made, GroupedClaims.of(table))
        assert errors.wasserstein < 0.01 * (domain[1] - domain[0])
        assert errors.rank_correlation > 0.999


def test_only_what_was_answered_is_in_the_rows() -> None:
    """Whole stars alone at a public step of half a star: no half stars at epsilon 8."""
    table = crowd(60, 100, 3)
    values = simulated(table, epsilon=8, step="0.5").rows["value"].to_numpy()
    assert (values % 1 != 0).mean() < 0.002
    assert set(np.unique(values * 2 % 1)) == {0.0}


@pytest.mark.parametrize("shape", ["ratings", "smooth", "heavy", "ends"])
def test_more_epsilon_is_not_worse(shape: str) -> None:
    """Twice epsilon: the distance of the rows is at most a tenth more, over eight steps."""
    table = crowd(40, 20, 5, shape=shape)
    claims = GroupedClaims.of(table)
    domain, step = ((1, 5), 1) if shape == "ratings" else ((0, 10), None)
    width = domain[1] - domain[0]
    found = [
        np.mean(
            [
                errors_of(
                    simulated(table, seed, epsilon=2.0**k, domain=domain, step=step), claims
                ).wasserstein
                for seed in range(2)
            ]
        )
        / width
        for k in range(-1, 7)
    ]
    for less, more in itertools.pairwise(found):
        assert more <= 1.1 * less + 0.004
    assert found[-1] < found[0] / 3


def test_means_are_as_good_as_a_direct_release() -> None:
    """For means: 20 seeds, error at most 1.25 times a Laplace mean's at nine tenths of epsilon."""
    table = crowd(60, 20, 6, shape="smooth")
    claims = GroupedClaims.of(table)
    ours = np.mean(
        [
            errors_of(simulated(table, s, domain=(0, 10), step=None, aim="means"), claims).mean
            for s in range(20)
        ]
    )
    assert ours <= 1.25 * (10 / 20) / 0.9


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"listed": [f"o{i:03}" for i in range(100)], "expected": 20},
        {"weights": {f"u{i:03}": 0.25 for i in range(10)}},
    ],
    ids=["plain", "listed", "weighted"],
)
def test_intervals_hold_what_they_say(more: dict[str, Any]) -> None:
    """100 objects, 5 seeds: the mean in 92 to 99 %, the median in 93 % or more."""
    table = crowd(100, 20, 7)
    values = table["value"].reshape(100, 20)
    weight = np.full(20, 1.0)
    if "weights" in more:
        weight[:10] = 0.25
    means = values @ weight / weight.sum()
    medians = np.sort(values, axis=1)[:, 9]
    held, middle = [], []
    for seed in range(5):
        told = simulated(table, seed, **more).summary.to_pandas()
        held.append((told["mean_low"] - 1e-9 <= means) & (means <= told["mean_high"] + 1e-9))
        middle.append((told["q50_low"] <= medians) & (medians <= told["q50_high"]))
    assert 0.92 <= np.mean(held) <= 0.995
    if "weights" not in more:  # the summary's median is of the weighted claims
        assert np.mean(middle) >= 0.93


def test_hidden_counts_stand_in_their_intervals() -> None:
    """200 listed objects of 20 claims: the released number's interval holds it in 92 to 99 %."""
    table = crowd(200, 20, 8)
    names = sorted(set(table["task"].tolist()))
    told = simulated(table, listed=names, expected=20).summary.to_pandas()
    held = (told["claims_low"] <= 20) & (told["claims_high"] >= 20)
    assert 0.92 <= held.mean() <= 0.99
    assert abs(told["claims"].mean() - 20) < 2


def test_attributes_are_released_with_their_values() -> None:
    """Day and night of each object: rows keep the public number, means are near, also hidden."""
    rng = np.random.default_rng(9)
    shift = rng.choice(["day", "night"], 40 * 30, p=[2 / 3, 1 / 3])
    values = np.where(shift == "day", 3.0, 7.0) + rng.normal(0, 0.5, 1200)
    table = {
        "task": np.repeat([f"o{i:02}" for i in range(40)], 30),
        "worker": np.tile([f"u{i:02}" for i in range(30)], 40),
        "value": values,
        "shift": shift,
    }
    given = {"shift": ["day", "night"]}
    names = sorted(set(table["task"].tolist()))
    modes: list[dict[str, Any]] = [{}, {"listed": names, "expected": 30}]
    for more in modes:
        made = simulated(table, epsilon=4, domain=(0, 10), step=None, attributes=given, **more)
        assert made.rows.column_names == ["task", "shift", "worker", "value"]
        told = made.summary.to_pandas().groupby("shift")["mean"].mean()
        assert abs(told["day"] - 3) < 0.4
        assert abs(told["night"] - 7) < 0.6
        if not more:
            assert made.rows.to_pandas().groupby("task").size().eq(30).all()
    with pytest.raises(ParameterError, match="row 1: shift is 'noon', expected one of day, night"):
        simulated(table | {"shift": ["noon"] * 1200}, domain=(0, 10), attributes=given)


def test_the_files_say_the_same(tmp_path: Path) -> None:
    """Rows, summary, shares and codebook: numbers of rows, shares that add to 1, the promise."""
    made = synthesize(crowd(5, 12, 10), epsilon=2, domain=(1, 5), step=1)
    files = made.write(tmp_path / "out.csv")
    names = [path.name for path in files]
    assert names == ["out.csv", "out.summary.csv", "out.shares.csv", "out.codebook.json"]
    rows, told, shares = (pa_csv.read_csv(path).to_pandas() for path in files[:3])
    codebook = json.loads(files[3].read_text())
    assert len(rows) == codebook["rows"] == told["claims"].sum() == 60
    assert set(rows["value"]) <= {1, 2, 3, 4, 5}
    assert shares.groupby("task")["share"].sum().to_numpy() == pytest.approx(np.ones(5))
    assert (shares["low"] <= shares["share"]).all()
    assert (shares["share"] <= shares["high"]).all()
    assert codebook["guarantee"]["status"] == "proven"
    assert codebook["level_of_intervals"] == 0.95
    means = rows.groupby("task")["value"].mean().to_numpy()
    assert np.abs(means - told["mean"]).max() <= 4 / (2 * 12) + 1e-9
    assert not set(rows["worker"]) & {f"u{i:03}" for i in range(12)}


def test_a_page_says_what_a_release_is_good_for() -> None:
    """From the release alone; with errors against the claims it is for the collector only."""
    table = crowd(5, 12, 10)
    made = summaries(table, epsilon=2, domain=(1, 5), step=1)
    page = report_page(made)
    assert "What it is good for" in page
    assert 'class="promise"' in page
    assert "For the collector only" not in page
    compared = report_page(made, errors=errors_of(made, GroupedClaims.of(table)))
    assert "For the collector only" in compared
    assert 'class="warning"' in report_page(simulated(table))


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ({"task": ["a"], "worker": ["u"], "value": [3.0]}, {}),
        ({"task": ["a"], "worker": ["u"], "value": [1e9]}, {}),
        ({"task": ["a"] * 30, "worker": list(range(30)), "value": [5.0] * 30}, {"epsilon": 1024}),
        ({"task": ["a"] * 30, "worker": list(range(30)), "value": [5.0] * 30}, {"epsilon": 1e-3}),
        ({"task": ["a", "b"], "worker": ["u", "u"], "value": [1.0, 5.0]}, {"per_user": 1}),
        ({"task": ["a"], "worker": ["u"], "value": [3.0]}, {"listed": ["a", "b"], "expected": 1}),
        ({"task": ["a"], "worker": ["u"], "value": [3.0]}, {"knots": 41}),
        ({"task": ["a"] * 9, "worker": list(range(9)), "value": [3.0] * 9}, {"step": None}),
        (
            {"task": ["a"] * 9, "worker": list(range(9)), "value": [3.0] * 9},
            {"domain": (0, 2000), "step": 1},
        ),
        ({"task": [1, 2], "worker": ["u", "v"], "value": [0.5, 7.0]}, {"domain": (0, 8)}),
    ],
    ids=str,
)
def test_corner_cases_are_released(table: Table, changed: dict[str, Any]) -> None:
    """One claim, an end, no noise, much noise, a cap, nobody: every number is finite and inside."""
    made = simulated(table, **changed)
    low, high = changed.get("domain", (1, 5))
    told = made.summary.to_pandas()
    for name in told.columns[1:]:
        assert np.isfinite(told[name]).all(), name
    assert (told["mean_low"] <= told["mean"]).all()
    assert (told["mean"] <= told["mean_high"]).all()
    if made.rows.num_rows:
        values = made.rows["value"].to_numpy()
        assert values.min() >= low
        assert values.max() <= high


def test_objects_with_ends_of_their_own_are_read_on_their_own_scale() -> None:
    """Another number of answers is another group; the same number is one."""
    domain = Domain(1, 5, step=1, of_objects={"o001": (11, 15), "o002": (0, 1)})
    table = crowd(3, 40, 11)
    values = table["value"].copy()
    values[40:80] += 10
    values[80:] = (values[80:] > 3).astype(float)
    rng = np.random.default_rng(1)
    made = simulate_release(table | {"value": values}, rng, epsilon=16, domain=domain)
    told = made.summary["mean"].to_pylist()
    expected = [values[:40].mean(), values[40:80].mean(), values[80:].mean()]
    assert told == pytest.approx(expected, abs=0.05)
    assert made.parameters["knots"] == [2, 5]


def test_a_list_hides_who_took_part_and_says_so() -> None:
    """Every listed object is there, others leave no trace, and the sentence names the pair."""
    table = crowd(3, 12, 12)
    made = release(
        table, ReleaseParameters(epsilon=1, domain=(1, 5), listed=["o001", "z"], expected=9)
    )
    assert set(made.summary["task"].to_pylist()) == {"o001", "z"}
    assert "one listed object is added or removed" in guarantee_sentence(made.guarantee)
    nobody: Table = {"task": [], "worker": [], "value": []}
    with pytest.raises(EmptyTable):
        summaries(nobody, epsilon=1, domain=(1, 5))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": 2000}, "epsilon is 2000"),
        ({"domain": None}, "public domain"),
        ({"aim": "ranks"}, "aim is 'ranks'"),
        ({"listed": ["a"]}, "expected is missing"),
        ({"expected": 5}, "listed is missing"),
        ({"knots": 1}, "knots is 1"),
        ({"pool": 1}, "pool is 1"),
        ({"attributes": {"value": ["a"]}}, "no attribute"),
        ({"attributes": {"shift": []}}, "one at least"),
        ({"weights": {"u": 1}, "listed": ["a"], "expected": 1}, "weights of users"),
    ],
    ids=str,
)
def test_wrong_parameters_say_what_was_expected(changed: dict[str, Any], said: str) -> None:
    """Each is refused before a claim is read."""
    words: dict[str, Any] = {"epsilon": 1, "domain": (0, 10), **changed}
    with pytest.raises(ParameterError, match=said):
        ReleaseParameters(**words)


def test_weights_are_of_users_there_are() -> None:
    """A weight that is no share, or weights of strangers alone, are refused."""
    table = crowd(2, 5, 13)
    for weights in ({"u000": 2}, {"u000": 0}, {"stranger": 0.5}):
        with pytest.raises(ParameterError, match="weight"):
            simulated(table, weights=weights)


def test_a_seed_gives_the_same_release_and_promises_nothing() -> None:
    """The same generator state gives the same bytes; the sentence says it is simulated."""
    table = crowd(4, 10, 14)
    first, second = simulated(table, 3), simulated(table, 3)
    assert first.rows.equals(second.rows)
    assert first.summary.equals(second.summary)
    assert "simulated" in guarantee_sentence(first.guarantee)
    assert first.guarantee.status == "none"


def test_a_missing_value_moves_no_category_of_others() -> None:
    """NaN, null and no row at all: each other value keeps its category, in a release of all."""
    names = {"task": ["a"] * 6, "worker": list("uvwxyz"), "shift": ["day"] * 3 + ["night"] * 3}
    parameters = ReleaseParameters(
        epsilon=1024, domain=Domain(0, 10, step=1), attributes={"shift": ["day", "night"]}
    )
    told = []
    for missing in (float("nan"), None):
        value = pa.array([missing, 1.0, 1.0, 9.0, 9.0, 9.0], pa.float64())
        made = release(pa.table({**names, "value": value}), parameters, missing="drop")
        told.append((made.summary["claims"].to_pylist(), made.summary["q50"].to_pylist()))
    # at epsilon 1024 no count is moved, but with a probability below 1e-100
    assert told == [([2, 3], [1.0, 9.0])] * 2


def test_categories_are_read_whatever_the_column_of_values_is_called() -> None:
    """A column `answer` is read before `value`, and categories stay beside it."""
    table = {
        "task": ["a"] * 4,
        "worker": list("uvwx"),
        "answer": [1.5, 1.5, 9.5, 9.5],
        "value": [0.5] * 4,
        "shift": ["day", "day", "night", "night"],
    }
    parameters = ReleaseParameters(
        epsilon=1024, domain=Domain(0, 10, step="0.5"), attributes={"shift": ["day", "night"]}
    )
    assert release(table, parameters).summary["q50"].to_pylist() == [1.5, 9.5]


@pytest.mark.parametrize("rows", [0, 1])
def test_with_attributes_too_nobody_of_a_list_is_released_like_anything_else(rows: int) -> None:
    """No row, or one of another category: a list gives a release, and no error tells of it."""
    texts = (pa.array(["x"] * rows, pa.string()) for _ in range(3))
    table = pa.table(dict(zip(("task", "worker", "shift"), texts, strict=True)))
    table = table.append_column("value", pa.array([1.0] * rows))
    parameters = ReleaseParameters(
        epsilon=1,
        domain=(0, 10),
        listed=["a", "b"],
        expected=5,
        attributes={"shift": ["day", "night"]},
    )
    assert release(table, parameters).summary.num_rows == 4
