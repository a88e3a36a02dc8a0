"""Claims by object, density models, mixtures and errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.integrate import quad

from masquerade.answers import Claims
from masquerade.errors import DuplicateClaim, EmptyTable, InputError, MissingValue, ParameterError
from masquerade.exact import SimulatedCoins
from masquerade.release import GroupedClaims
from masquerade_papers.priscrowd.density import DensityModel, fit_density
from masquerade_papers.priscrowd.metrics import expected_ise, ise
from masquerade_papers.priscrowd.mixtures import Mixtures

Grouped = Callable[..., GroupedClaims]


def mixture(*bumps: tuple[float, float, float]) -> Mixtures:
    """Return one object's mixture of (location, weight, width)."""
    table = np.array(bumps)
    return Mixtures(np.array([0, len(bumps)]), table[:, 0], table[:, 1], table[:, 2])


def test_claims_are_sorted_whatever_their_order() -> None:
    """Objects and users come in the order of their names."""
    table: dict[str, Any] = {
        "task": ["b", "a", "b"],
        "worker": ["y", "z", "x"],
        "value": [1.0, 2.0, 3.0],
    }
    claims = GroupedClaims.of(table)
    assert claims.objects.to_pylist() == ["a", "b"]
    assert claims.users.to_pylist() == ["x", "y", "z"]
    assert claims.value.tolist() == [2, 3, 1]
    assert claims.offset.tolist() == [0, 1, 3]
    back = GroupedClaims.of({name: column[::-1] for name, column in table.items()})
    assert back.value.tolist() == claims.value.tolist()


@pytest.mark.parametrize(("duplicates", "value"), [("first", 1.0), ("last", 5.0), ("mean", 3.0)])
def test_second_claims_are_resolved_as_told(duplicates: Any, value: float) -> None:
    """Of two claims of a user about an object, the first, the last or their mean is taken."""
    table = {"task": ["a", "a", "b"], "worker": ["x", "x", "x"], "value": [1.0, 5.0, 2.0]}
    claims = GroupedClaims.of(table, duplicates=duplicates)
    assert claims.value.tolist() == [value, 2.0]
    with pytest.raises(DuplicateClaim, match="row 2"):
        GroupedClaims.of(table)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([1.0, math.nan], MissingValue),
        ([1.0, math.inf], InputError),
        ([1.0, 1e151], InputError),
        (["1", "many"], InputError),
        ([1.0], InputError),
        ([], InputError),
    ],
)
def test_unusable_claims_are_refused(values: list[Any], error: type[Exception]) -> None:
    """Missing, infinite, huge and non-numeric values, short columns and empty tables are errors."""
    users = ["x", "y"] if values else []
    with pytest.raises(error):
        GroupedClaims.of({"task": ["a"] * len(users), "worker": users, "value": values})


def test_missing_claims_are_dropped_and_counted() -> None:
    """With ``missing='drop'`` an object without numbers goes, and the count is kept."""
    table = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "value": [1.0, math.nan, math.nan]}
    claims = GroupedClaims.of(table, missing="drop")
    assert (claims.objects.to_pylist(), claims.dropped) == (["a"], 2)
    only = {"task": ["a"], "worker": ["x"], "value": pa.array([None], pa.float64())}
    with pytest.raises(EmptyTable):
        GroupedClaims.of(only, missing="drop")


def test_options_and_kinds_are_checked() -> None:
    """Categorical claims and unknown options are refused."""
    claims = Claims.from_frame({"task": ["a"], "worker": ["x"], "label": ["yes"]})
    with pytest.raises(ParameterError, match="categorical"):
        GroupedClaims.of(claims)
    for words in ({"missing": "some"}, {"duplicates": "all"}):
        with pytest.raises(ParameterError):
            GroupedClaims.of({"task": ["a"], "worker": ["x"], "value": [1.0]}, **words)  # type: ignore[arg-type]


def test_a_cap_leaves_so_many_claims_of_each_user(grouped: Grouped) -> None:
    """Every user keeps at most the cap, every object stays, and which claims go is random."""
    claims = grouped(np.zeros((20, 6)))
    kept = claims.capped(3, SimulatedCoins(np.random.default_rng(0)))
    assert kept.objects_per_user().tolist() == [3] * 6
    assert kept.n_objects == 20
    assert len(kept) == kept.offset[-1] == 18
    other = claims.capped(3, SimulatedCoins(np.random.default_rng(1)))
    assert other.count.tolist() != kept.count.tolist()
    assert claims.capped(20, SimulatedCoins(np.random.default_rng(0))) is claims


def test_the_density_integrates_to_one(grouped: Grouped) -> None:
    """A density is a density."""
    model = fit_density(grouped([[0, 0.3, 1, 4, 9.0]]))
    total, _ = quad(lambda y: float(model.evaluate("o0000", y)), -40, 60, limit=400)
    assert total == pytest.approx(1, abs=1e-6)


def test_models_survive_json(grouped: Grouped) -> None:
    """The output of `to_json` is read back the same by `from_json`, and nothing else is."""
    model = fit_density(grouped([[0, 1, 2, 3, 9.0], [4, 5]]))
    back = DensityModel.from_json(json.loads(json.dumps(model.to_json())))
    assert back.evaluate("o0000", [0.0, 2.0]).tolist() == model.evaluate("o0000", [0, 2]).tolist()
    assert back.reliability.tolist() == model.reliability.tolist()
    for broken in ({}, model.to_json() | {"weight": [1.0]}, model.to_json() | {"value": "x"}):
        with pytest.raises(InputError):
            DensityModel.from_json(broken)


def test_models_are_drawn(grouped: Grouped) -> None:
    """A plot is one SVG without scripts; an unknown object is named."""
    model = fit_density(grouped([[0, 1, 2, 3, 9.0]]))
    figure = model.figure("o0000")
    assert figure.startswith("<svg")
    assert "script" not in figure
    with pytest.raises(ParameterError, match="there is no object 'x'"):
        model.evaluate("x", [0.0])
    with pytest.raises(ParameterError, match="there is no object 7"):
        model.figure(7)


def test_errors_equal_the_published_values() -> None:
    """Two pairs of normal densities: another variance, another mean."""
    one = mixture((0, 1, 1))
    assert ise(one, mixture((0, 1, 2**0.5))).mise == pytest.approx(0.0209070660, abs=1e-9)
    assert ise(one, mixture((1, 1, 1))).mise == pytest.approx(0.1247982941, abs=1e-9)


def test_errors_equal_quadrature() -> None:
    """The closed form is the integral of the squared difference."""
    one = mixture((0, 0.7, 1), (3, 0.3, 0.4))
    other = mixture((0.5, 0.5, 0.8), (2, 0.2, 0.3), (5, 0.3, 2))
    found, _ = quad(lambda y: (one.density(0, y) - other.density(0, y)) ** 2, -20, 25, limit=400)
    errors = ise(one, other)
    assert errors.mise == pytest.approx(found, rel=1e-7)
    assert errors.relative[0] == pytest.approx(found / one.inner(one)[0], rel=1e-7)


def test_an_empty_release_scores_one() -> None:
    """Nothing released is the density 0, with relative error 1."""
    empty = Mixtures(np.array([0, 0]), np.empty(0), np.empty(0), np.empty(0))
    errors = ise(mixture((0, 1, 1)), empty)
    assert errors.relative.tolist() == [1.0]
    assert errors.empty_share == 1
    with pytest.raises(ParameterError, match="0 everywhere"):
        ise(empty, empty)


def test_means_of_errors(grouped: Grouped) -> None:
    """Mean, root mean square and mean relative error are those of the objects."""
    truth = Mixtures.of_points([0, 1, 2], [0.0, 0.0], [1.0, 1.0])
    errors = ise(truth, Mixtures.of_points([0, 1, 2], [0.0, 1.0], [1.0, 1.0]))
    assert errors.mise == pytest.approx(0.1247982941 / 2)
    assert errors.rms_ise == pytest.approx(0.1247982941 / 2**0.5)
    assert set(errors.to_json()) == {"rel_ise", "mise", "rms_ise", "empty_share"}
    with pytest.raises(ParameterError, match="1 and of 2 objects"):
        mixture((0, 1, 1)).inner(truth)


def test_the_expected_error_is_that_of_drawing() -> None:
    """The oracle without the test agrees with 2,000 draws, 5 standard errors (1 in 10**6)."""
    truth, h, m = mixture((0, 0.8, 0.5), (4, 0.2, 0.5)), 0.5, 10
    rng = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        location = np.where(rng.random(m) < 0.8, 0, 4) + 0.5 * rng.standard_normal(m)
        found.append(ise(truth, Mixtures.of_points([0, m], location, [h])).mise)
    expected = expected_ise(truth, np.array([h]), m)[0]
    assert abs(np.mean(found) - expected) < 5 * np.std(found) / 2000**0.5
    assert expected_ise(truth, np.array([h]), 10**9)[0] < expected
    with pytest.raises(ParameterError):
        expected_ise(truth, np.array([h]), 0)


def test_large_products_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks change no inner product."""
    rng = np.random.default_rng(0)
    offset = np.array([0, 3, 3, 40, 45])
    one = Mixtures(offset, rng.normal(size=45), rng.random(45), rng.random(45) + 0.1)
    whole = one.inner(one)
    monkeypatch.setattr("masquerade_papers.priscrowd.mixtures._PAIRS", 50)
    assert one.inner(one) == pytest.approx(whole)
    assert whole[1] == 0


def test_a_second_claim_is_named_by_its_row_in_the_table() -> None:
    """Rows that are dropped before it still count."""
    rows = {"task": ["a", "a", "a"], "worker": ["x", "y", "y"], "value": [None, 1.0, 2.0]}
    with pytest.raises(DuplicateClaim, match="row 3: "):
        GroupedClaims.of(rows, missing="drop")
