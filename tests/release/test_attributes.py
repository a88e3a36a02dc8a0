"""Releases that keep how values go with attributes: what is kept, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from masquerade.errors import ParameterError, SchemaError
from masquerade.exact import Micro
from masquerade.release import Cells, Domain, Release, simulate, synthesize_with_attributes
from masquerade.release.histogram import noisy_counts

GROUPS = ["day", "night"]
FALSE_ALARM = 1e-6


def claims_of(rng: np.random.Generator, *, objects: int = 6, claims: int = 60) -> dict[str, Any]:
    """Return claims of two groups: a third by night, four higher than those by day."""
    task = np.repeat(np.arange(objects), claims)
    night = rng.random(len(task)) < 1 / 3
    value = np.clip(3 + 4 * night + rng.normal(size=len(task)), 0, 10)
    worker = np.tile(np.arange(claims), objects)
    shift = np.where(night, "night", "day")
    return {"task": task, "worker": worker, "value": value, "shift": shift}


def simulated(data: dict[str, Any], cells: Cells, seed: int, **words: Any) -> Release:
    """Draw a release with a seed."""
    samples = words.pop("samples", 60)
    known: dict[str, Any] = {"expected": 60, "epsilon": 8, "domain": (0, 10)}
    engine = cells.engine(**{**known, **words})
    rng = np.random.default_rng(seed)
    made = simulate(cells.claims(data), rng, engine=engine, samples=samples)
    return cells.shared_out(made, samples)


def drawn(data: dict[str, Any], **words: Any) -> Release:
    """Release claims about listed objects."""
    known: dict[str, Any] = {
        "objects": list(range(6)),
        "expected": 60,
        "epsilon": 8,
        "domain": (0, 10),
        "samples": 60,
    }
    attributes = words.pop("attributes", {"shift": GROUPS})
    return synthesize_with_attributes(data, attributes, **{**known, **words})


def test_values_go_with_their_attribute() -> None:
    """Means and shares of groups are those of the claims, to half a unit and a tenth."""
    data = claims_of(np.random.default_rng(1))
    made = simulated(data, Cells(range(6), {"shift": GROUPS}), 2).to_arrow().to_pydict()
    value, night = np.array(made["value"]), np.array(made["shift"]) == "night"
    assert value[night].mean() == pytest.approx(7, abs=0.5)
    assert value[~night].mean() == pytest.approx(3, abs=0.5)
    assert night.mean() == pytest.approx(1 / 3, abs=0.1)
    assert np.bincount(made["task"]).tolist() == [60] * 6
    assert list(made) == ["task", "shift", "worker", "value"]


def test_every_cell_is_there_and_nothing_else() -> None:
    """Cells follow from the lists alone: empty ones are released, unlisted claims left out."""
    data = claims_of(np.random.default_rng(1), objects=2)
    data["shift"] = np.where(np.arange(len(data["task"])) % 2, "dusk", data["shift"])
    made = drawn(data, attributes={"shift": ["day", "noon"]}, objects=[0, 1, 7])
    assert made.objects.to_pylist() == sorted(
        f"{o} · {g}" for o in (0, 1, 7) for g in ("day", "noon")
    )
    assert set(made.status) == {"ok"}
    assert made.noisy_claims is not None
    assert (made.noisy_claims >= 1).all()
    columns = {name: column.to_pylist() for name, column in made.columns.items()}
    assert columns == {"task": [0, 0, 1, 1, 7, 7], "shift": ["day", "noon"] * 3}
    assert len(made.points) == 3 * 60
    assert "an attribute" in made.codebook()["columns"]["shift"]


def test_several_attributes_and_own_domains() -> None:
    """Cells are combinations; an object's own range holds in each of its cells."""
    data = claims_of(np.random.default_rng(3), objects=2)
    data["site"] = ["north", "south"] * 60
    made = drawn(
        data,
        attributes={"shift": GROUPS, "site": ["north", "south"]},
        objects=[0, 1],
        domain=Domain(0, 10, of_objects={1: (0, 5)}),
    )
    rows = made.to_arrow().to_pydict()
    assert len(made.objects) == 8
    assert max(v for t, v in zip(rows["task"], rows["value"], strict=True) if t == 1) <= 5
    assert set(zip(rows["shift"], rows["site"], strict=True)) <= {
        (g, s) for g in GROUPS for s in ("north", "south")
    }


def test_a_release_is_kept(tmp_path: Any) -> None:
    """Attributes are in the file of a result, and in tables and densities."""
    made = drawn(claims_of(np.random.default_rng(1), objects=2), objects=[0, 1])
    assert made.density_table().column_names[:2] == ["task", "shift"]
    assert made.csv().startswith(b'"task","shift","worker","value"') or made.csv().startswith(
        b"task"
    )


def test_the_guarantee_is_that_of_listed_objects() -> None:
    """A claim is added or removed with its category; categories are named as given."""
    data = claims_of(np.random.default_rng(1))
    promised = drawn(data, epsilon=Fraction(1, 2), objects=[0]).guarantee
    assert promised.epsilon == Micro(500_000)
    assert "added or removed" in str(promised.neighbours)
    assert any("categories of shift, day, night" in one for one in promised.assumptions)
    assert any("objects are cells here, 2 of each object" in one for one in promised.assumptions)
    whole = drawn(data, unit="user", cap=3, objects=[0]).guarantee
    assert "at most 3 objects" in str(whole.neighbours)


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ({"attributes": {"shift": []}}, ParameterError, "shift is given the list"),
        ({"attributes": {"shift": ["day", "day"]}}, ParameterError, "each once"),
        ({"attributes": {"shift": [1, 2]}}, ParameterError, "is not of string"),
        ({"attributes": {"site": ["north"]}}, SchemaError, "column 'site' is missing"),
        ({"objects": []}, ParameterError, "task is given the list"),
        ({"attributes": {"worker": [1]}}, ParameterError, "worker is a column of every table"),
        ({"samples": 0}, ParameterError, "samples"),
    ],
)
def test_lists_that_cannot_be_right_are_refused(
    words: dict[str, Any], error: type[Exception], said: str
) -> None:
    """Empty, doubled or mistyped lists, and columns that are not there."""
    with pytest.raises(error, match=said):
        drawn(claims_of(np.random.default_rng(1)), **words)


def above(first: int, second: int, draws: int, comparisons: int) -> float:
    """Return a bound that log(P first / P second) exceeds, wrong at most at the false alarm."""
    alarm = FALSE_ALARM / comparisons / 2
    low = beta.ppf(alarm, first, draws - first + 1) if first else 0.0
    high = beta.ppf(1 - alarm, second + 1, draws - second) if second < draws else 1.0
    return math.log(low / high) if low > 0 else -math.inf


def neighbour(category: str | None) -> dict[str, Any]:
    """Return claims about 1,500 objects, in each one claim by somebody, in a category or gone."""
    rows = [(o, 1, 0.0, "day") for o in range(1500)]
    if category is not None:
        rows += [(o, 0, 3.0, category) for o in range(1500)]
    columns = zip(*rows, strict=True)
    return dict(zip(("task", "worker", "value", "shift"), map(list, columns), strict=True))


@pytest.mark.parametrize("fault", [False, True])
def test_audit_no_claim_is_told_apart(monkeypatch: pytest.MonkeyPatch, fault: bool) -> None:
    """1,500 copies: a claim gone, or of another category, shows at most epsilon, or twice that.

    Events are thresholds of each cell's noisy number of claims, 24 comparisons with a false alarm
    of 1e-6 together; with half the noise the same audit finds the fault.
    """
    if fault:
        monkeypatch.setattr(
            "masquerade.release.posterior.noisy_counts",
            lambda claims, grid, weight, epsilon, source, *a, **w: noisy_counts(
                claims, grid, weight, 4 * epsilon, source, *a, **w
            ),
        )
    epsilon, found = 2.0, {}
    for category in ("day", "night", None):
        made = simulated(
            neighbour(category),
            Cells(range(1500), {"shift": GROUPS}),
            len(category or ""),
            expected=2,
            epsilon=2,
            domain=(0, 3),
            bins=3,
            samples=1,
        )
        counts = made.noisy_claims
        assert counts is not None
        found[category] = {
            group: counts[np.array([each == group for each in made.columns["shift"].to_pylist()])]
            for group in GROUPS
        }
    worst = {True: -math.inf, False: -math.inf}
    for first, second in (("day", None), ("night", None), ("day", "night")):
        for group in GROUPS:
            for least in (2, 3):
                one, other = (int((found[side][group] >= least).sum()) for side in (first, second))
                for pair in ((one, other), (1500 - other, 1500 - one)):
                    gone = second is None
                    worst[gone] = max(worst[gone], above(*pair, 1500, 24))
    if fault:
        assert worst[True] > epsilon
    else:
        assert worst[True] <= epsilon
        assert worst[False] <= 2 * epsilon
