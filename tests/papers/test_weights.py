"""Bandwidths and weights: golden values, corner cases and properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import ParameterError
from masquerade.release import GroupedClaims
from masquerade_papers.priscrowd import batches as batches_module
from masquerade_papers.priscrowd.bandwidth import bandwidths
from masquerade_papers.priscrowd.batches import Atoms, batches, squared_distances
from masquerade_papers.priscrowd.density import fit_density
from masquerade_papers.priscrowd.weights import combined_weights, global_weights, local_weights

Grouped = Callable[..., GroupedClaims]

ONE = [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 12, 30]
FOUR = [[0, 0.1, 3], [1, 1.2, -2], [5, 5.1, 9], [2, 1.8, 6]]


def test_bandwidths_equal_the_published_values(grouped: Grouped) -> None:
    """The robust rule is not moved by two outliers; the standard deviation's is, fivefold."""
    claims = grouped([ONE])
    assert bandwidths(claims)[0] == pytest.approx(1.2394810006, abs=1e-9)
    assert bandwidths(claims, "scott")[0] == pytest.approx(6.1677795047, abs=1e-9)
    sd, iqr = np.std(ONE, ddof=1), np.subtract(*np.percentile(ONE, [75, 25]))
    expected = 0.9 * min(sd, iqr / 1.349) * 10**-0.2
    assert bandwidths(claims, "silverman")[0] == pytest.approx(expected)
    mad = np.median(np.abs(np.array(ONE) - np.median(ONE)))
    assert bandwidths(claims, "mad")[0] == pytest.approx(mad)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0], 5e-3),
        ([0.2, 0.2, 0.2], 1e-3),
        ([7.0, 7, 7, 7, 7, 8, 8], 1.06 * 0.5 / 1.349 * 7**-0.2),
        ([7.0] * 9 + [8.0], 1.06 * np.std([7.0] * 9 + [8.0], ddof=1) * 10**-0.2),
    ],
)
def test_without_spread_the_next_measure_is_taken(
    grouped: Grouped, values: list[float], expected: float
) -> None:
    """Where half of the claims agree the quartiles speak, then the deviation, then a floor."""
    assert bandwidths(grouped([values]))[0] == pytest.approx(expected)


def test_the_floor_can_be_given(grouped: Grouped) -> None:
    """The least bandwidth is the caller's, or a thousandth of the domain."""
    claims = grouped([[3.0, 3.0]])
    assert bandwidths(claims, least=0.25)[0] == 0.25
    assert bandwidths(claims, width=100.0)[0] == pytest.approx(0.1)


def test_each_object_has_its_own_bandwidth(grouped: Grouped) -> None:
    """No object's bandwidth is carried over to another."""
    together = bandwidths(grouped([ONE, np.array(ONE) * 100, np.array(ONE) + 7]))
    assert together == pytest.approx([1.2394810006, 123.94810006, 1.2394810006])


@pytest.mark.parametrize("rule", ["fixed", 0.0, -1.0, np.nan, [1.0, 2.0], [[1.0]], "x"])
def test_bad_bandwidths_are_refused(grouped: Grouped, rule: Any) -> None:
    """A bandwidth is a known rule, or above 0 and one for each object."""
    with pytest.raises(ParameterError, match="bandwidth"):
        bandwidths(grouped([ONE]), rule)


def test_distances_equal_the_published_values(grouped: Grouped) -> None:
    """Squared distances to the unweighted density of four claims."""
    claims = grouped([[0, 1, 2, 10]])
    atoms = Atoms.of(claims, np.ones(1))
    batch = next(batches(atoms.offset))
    found = squared_distances(batch.gram(atoms), np.full((1, 4), 0.25))
    expected = [0.5476166039, 0.3120189156, 0.5476166039, 0.9185495753]
    assert found[0] == pytest.approx(expected, abs=1e-9)


def test_local_weights_equal_the_published_values(grouped: Grouped) -> None:
    """Two outliers get exactly 0, the rest nearly equal weights."""
    found = local_weights(grouped([ONE]), np.ones(1))
    expected = [0.1113844311, *[0.129538523] * 6, 0.1113844311, 0, 0]
    assert found == pytest.approx(expected, abs=1e-6)
    assert found[-1] == 0


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("count", [5.2074571, 5.2049961, 1.4311438]),
        ("sum", [5.7732585, 5.7730979, 0.0062392]),
    ],
)
def test_global_weights_equal_the_published_values(
    grouped: Grouped, form: Literal["count", "sum"], expected: list[float]
) -> None:
    """Two users agree, the third does not."""
    found = global_weights(grouped(FOUR), np.ones(4), form=form)
    assert found.weight == pytest.approx(expected, abs=1e-5)
    assert found.converged


def test_the_largest_loss_sets_the_scale(grouped: Grouped) -> None:
    """With the form ``max`` the unreliable user's weight is ln 1.02, for crowds of all sizes."""
    found = global_weights(grouped(FOUR), np.ones(4), form="max")
    assert found.weight[2] == pytest.approx(np.log(1.02))
    assert found.weight[:2].min() > 5


def test_equal_losses_and_single_users_give_equal_weights(grouped: Grouped) -> None:
    """One user, or claims that all agree, leave every weight 1."""
    assert global_weights(grouped([[1.0], [2.0]]), np.ones(2), form="sum").weight.tolist() == [1]
    found = global_weights(grouped([[3.0, 3.0], [4.0, 4.0]]), np.ones(2))
    assert found.weight.tolist() == [1, 1]


def test_a_user_with_few_claims_gets_the_median_weight(grouped: Grouped) -> None:
    """A single agreeing claim does not make a user the most reliable."""
    rng = np.random.default_rng(1)
    rows: list[list[float]] = rng.normal(size=(8, 4)).tolist()
    rows[0].append(rows[0][0])
    found = global_weights(grouped(rows), np.ones(8)).weight
    assert found[4] == pytest.approx(np.median(found[:4]))


@pytest.mark.parametrize("values", [[4.0], [1.0, 2.0], [1.0, 2.0, 9.0], [5.0] * 6])
def test_small_and_equal_objects_have_equal_local_weights(
    grouped: Grouped, values: list[float]
) -> None:
    """Below four claims quantiles mean nothing; equal claims are equally central."""
    claims = grouped([values])
    assert local_weights(claims, bandwidths(claims)) == pytest.approx(1 / len(values))


def test_a_claim_far_away_weighs_nothing_and_moves_nothing(grouped: Grouped) -> None:
    """One claim at 1e12 (or 1e149) leaves bandwidth and other weights as they were."""
    near = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    for far in (1e12, 1e149):
        model = fit_density(grouped([[*near, far]]))
        assert model.bandwidth[0] < 1
        assert model.weight[-1] < 1e-6
        assert np.isfinite(model.weight).all()


def test_two_clusters_keep_the_larger_one(grouped: Grouped) -> None:
    """Claims of the majority weigh more each than those of the minority."""
    model = fit_density(grouped([[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 9, 9.1]]), weights="local")
    assert model.weight[:7].min() > model.weight[7:].max()


def test_combinations_and_the_floor(grouped: Grouped) -> None:
    """Product and geometric mean are as defined, and a floor leaves no weight at 0."""
    claims = grouped([[0, 1, 2]])
    local, reliability = np.array([0.0, 0.5, 0.5]), np.array([1.0, 1.0, 3.0])
    product = combined_weights(claims, local, reliability)
    assert product == pytest.approx([0, 0.25, 0.75])
    root = combined_weights(claims, local, reliability, combination="geometric")
    assert root == pytest.approx([0, 1 / (1 + 3**0.5), 3**0.5 / (1 + 3**0.5)])
    assert combined_weights(claims, local, reliability, floor=0.3)[0] == pytest.approx(0.1)
    assert combined_weights(claims, np.zeros(3), reliability) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "words",
    [
        {"weights": "best"},
        {"global_form": "mean"},
        {"combination": "sum"},
        {"weight_floor": 2.0},
        {"quantiles": (0.9, 0.5, 0.95)},
    ],
)
def test_bad_options_are_refused(grouped: Grouped, words: dict[str, Any]) -> None:
    """An unknown option is named."""
    with pytest.raises(ParameterError):
        fit_density(grouped([ONE]), **words)


def test_blocks_and_single_objects_agree(grouped: Grouped, monkeypatch: pytest.MonkeyPatch) -> None:
    """Padding and chunks do not change a weight."""
    rng = np.random.default_rng(5)
    rows = [rng.standard_t(2, size=n) for n in (1, 2, 3, 4, 5, 7, 11, 30, 4, 6)]
    whole = fit_density(grouped(rows), weights="local")
    for i, row in enumerate(rows):
        alone = fit_density(grouped([row]), weights="local")
        assert whole.weight[whole.claims.rows_of(i)] == pytest.approx(alone.weight, abs=1e-6)
    assert [len(b.objects) for b in batches(whole.claims.offset, most=1)] == [1] * 10
    assert batches_module.MOST_ENTRIES * 8 <= 1 << 25


def test_large_objects_are_gathered_with_little_loss(
    grouped: Grouped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells a small part of a bandwidth wide change no weight by more than a few per cent."""
    values = np.random.default_rng(2).normal(size=400)
    exact = fit_density(grouped([values]))
    monkeypatch.setattr(batches_module, "LARGE_OBJECT", 100)
    found = fit_density(grouped([values]))
    assert len(Atoms.of(found.claims, found.bandwidth).value) < 300
    assert np.abs(found.weight - exact.weight).max() < 0.05 * exact.weight.max()


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8), min_size=1, max_size=5))
def test_prop_weights_are_shares(rows: list[list[float]]) -> None:
    """For all claims, weights are at least 0 and sum to 1 in each object."""
    cells = [(i, j, x) for i, row in enumerate(rows) for j, x in enumerate(row)]
    table = {
        "task": [i for i, _, _ in cells],
        "worker": [j for _, j, _ in cells],
        "value": [x for _, _, x in cells],
    }
    model = fit_density(table)
    assert (model.weight >= 0).all()
    sums = np.bincount(model.claims.object, model.weight)
    assert sums == pytest.approx(np.ones(len(rows)))
    assert (model.bandwidth > 0).all()
