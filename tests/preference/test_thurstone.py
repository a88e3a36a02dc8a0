"""Fits of all voters at once: known values, certificates, corner cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_ndtr

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.preference import made_up_voters
from masquerade.preference.l1_ball import gap
from masquerade.preference.thurstone import fit_voters, slope


def of_one_voter(records: Any) -> Comparisons:
    """Return comparisons of a single voter."""
    columns = np.asarray(records, dtype=float).T
    rows = {f"f{k}": column for k, column in enumerate(columns)}
    return Comparisons.from_frame({"voter": ["v"] * columns.shape[1], **rows})


THREE = [(1, 0), (0, 1), (-1, 0.5)]
FOUR = [(1, 2, 0), (2, -1, 1), (-1, 1, 1), (0.5, 0.5, -2)]


@pytest.mark.parametrize(
    ("records", "bound", "weights", "log_likelihood"),
    [
        (THREE, 1, (0, 1), -1.234847374872),
        (THREE, 5, (0.8759735384, 4.1240264616), -0.336724804062),
        (FOUR, 2, (0.8613074947, 1.0908851631, 0.0478073422), -0.992091042129),
        ([(1, 1)], 2, (1, 1), -0.023012909329),
    ],
)
def test_fits_have_their_known_values(
    records: Any, bound: float, weights: Any, log_likelihood: float
) -> None:
    """Weights and likelihood are those of the reference to nine digits."""
    fits = fit_voters(of_one_voter(records), bound=bound, tolerance=1e-12)
    np.testing.assert_allclose(fits.weights[0], weights, atol=1e-6)
    assert fits.log_likelihood[0] == pytest.approx(log_likelihood, abs=1e-11)
    assert fits.converged.all()


def _check(comparisons: Comparisons, bound: float, tolerance: float) -> None:
    """Assert that each voter's certificate, computed anew, is at most the tolerance."""
    fits = fit_voters(comparisons, bound=bound, tolerance=tolerance)
    assert fits.converged.all()
    assert np.abs(fits.weights).sum(axis=1).max() <= bound * (1 + 1e-12)
    scaled = comparisons.scaled()
    for voter in range(comparisons.n_voters):
        records = scaled[comparisons.offsets[voter] : comparisons.offsets[voter + 1]]
        b = fits.weights[voter]
        gradient = slope(records @ b) @ records
        certificate = gap(b[None], gradient[None], bound)[0]
        assert certificate <= tolerance * max(1, len(records)) * (1 + 1e-6) + 1e-13
        assert fits.log_likelihood[voter] == pytest.approx(log_ndtr(records @ b).sum(), abs=1e-9)


@pytest.mark.parametrize("bound", [0.1, 2, 10])
@pytest.mark.parametrize("records", [3, 30])
def test_the_certificate_holds_on_random_voters(records: int, bound: float) -> None:
    """Fewer and more records than features, small and large bounds: the gap is at most 1e-9."""
    rng = np.random.default_rng(2)
    _check(made_up_voters(rng, voters=30, features=8).choose(rng, records), bound, 1e-9)


@pytest.mark.parametrize("bound", [0.1, 2, 10])
def test_the_certificate_holds_on_separable_voters(bound: float) -> None:
    """Voters with choices that one vector explains have a fit on the bound."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(20, 4))
    difference = rng.normal(size=(20, 25, 4))
    difference *= np.sign(np.einsum("nkd,nd->nk", difference, truth))[:, :, None]
    flat = difference.reshape(-1, 4)
    rows = {f"f{k}": flat[:, k] for k in range(4)}
    _check(Comparisons.from_frame({"voter": np.repeat(np.arange(20), 25), **rows}), bound, 1e-9)


@pytest.mark.parametrize("bound", [0.1, 2, 10])
def test_the_certificate_holds_on_collinear_features_and_equal_rows(bound: float) -> None:
    """Copied features, sums of features and repeated records change nothing."""
    rng = np.random.default_rng(4)
    base = rng.normal(size=(40, 2))
    base = np.vstack([base, base[:10]])
    columns = [base[:, 0], base[:, 0], base[:, 1], base.sum(axis=1), np.zeros(50)]
    rows = {f"f{k}": column for k, column in enumerate(columns)}
    _check(Comparisons.from_frame({"voter": np.repeat(np.arange(5), 10), **rows}), bound, 1e-9)


@given(
    records=st.lists(
        st.lists(
            st.sampled_from([-1e3, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=8,
    ),
    bound=st.sampled_from([0.1, 2.0, 10.0]),
)
def test_prop_every_voter_has_a_fit(records: list[list[float]], bound: float) -> None:
    """Zeros, ties, separable and huge differences all end with a certified fit."""
    _check(of_one_voter(records), bound, 1e-6)


def test_a_general_solver_agrees() -> None:
    """SLSQP on the same problem finds the same likelihood to 1e-8."""
    rng = np.random.default_rng(6)
    comparisons = made_up_voters(rng, voters=5, features=4).choose(rng, 20)
    fits = fit_voters(comparisons, bound=2, tolerance=1e-11)
    for voter in range(5):
        records = comparisons.of_voter(voter)
        other = minimize(
            lambda x, records=records: -log_ndtr(records @ (x[:4] - x[4:])).sum(),
            np.full(8, 0.1),
            bounds=[(0, None)] * 8,
            constraints={"type": "ineq", "fun": lambda x: 2 - x.sum()},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-13},
        )
        assert fits.log_likelihood[voter] == pytest.approx(-other.fun, abs=1e-8)


def test_voters_are_fitted_alone() -> None:
    """A voter's fit depends neither on other voters nor on the number of records."""
    rng = np.random.default_rng(7)
    crowd = made_up_voters(rng, voters=30, features=5)
    comparisons = crowd.choose(rng, 12)
    kept = comparisons.of_voters(np.arange(0, 30, 3))
    mixed = fit_voters(comparisons, tolerance=1e-10)
    alone = fit_voters(kept, tolerance=1e-10)
    np.testing.assert_allclose(alone.weights, mixed.weights[::3], atol=1e-7)


def test_a_voter_without_records_has_zero_weights() -> None:
    """Nobody is dropped: no record gives the centre of the ball."""
    comparisons = Comparisons.from_frame({"voter": ["a"], "f": [1.0]}, voters=["b", "a"])
    fits = fit_voters(comparisons)
    assert fits.weights.tolist() == [[0.0], [2.0]]
    assert fits.gap[0] == 0
    assert fits.converged.all()


def test_progress_counts_every_voter() -> None:
    """The callback ends at the number of voters."""
    seen: list[tuple[int, int]] = []
    rng = np.random.default_rng(8)
    comparisons = made_up_voters(rng, voters=9, features=2).choose(rng, 4)
    fit_voters(comparisons, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (9, 9)


def test_an_unfinished_fit_says_so() -> None:
    """With too few steps `converged` is false and the gap is the true one."""
    rng = np.random.default_rng(9)
    comparisons = made_up_voters(rng, voters=3, features=4).choose(rng, 30)
    fits = fit_voters(comparisons, tolerance=1e-12, max_iterations=1)
    assert not fits.converged.any()
    assert (fits.gap > 0).all()


@pytest.mark.parametrize(
    ("bound", "tolerance"), [(0, 1e-6), (-1, 1e-6), (np.inf, 1e-6), (np.nan, 1e-6), (2, 0)]
)
def test_parameters_out_of_range_are_refused(bound: float, tolerance: float) -> None:
    """The bound is finite and above 0, as is the tolerance."""
    with pytest.raises(ParameterError):
        fit_voters(of_one_voter(THREE), bound=bound, tolerance=tolerance)


def test_items_without_features_are_refused() -> None:
    """Named items need a feature each."""
    items = Comparisons.from_frame({"voter": ["v"], "chosen": ["a"], "rejected": ["b"]})
    with pytest.raises(ParameterError, match="by_items"):
        fit_voters(items)
