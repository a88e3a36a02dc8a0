"""One fit for everybody: known maxima, standard errors, corner cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.preference import made_up_voters
from masquerade.preference.pooled_fit import fit_pooled
from masquerade.preference.thurstone import fit_voters


def _crowd(seed: int, *, voters: int = 60, records: int = 20, features: int = 3) -> Comparisons:
    rng = np.random.default_rng(seed)
    return made_up_voters(rng, voters=voters, features=features).choose(rng, records)


def test_a_general_solver_agrees() -> None:
    """BFGS on the same likelihood finds the same weights to 1e-5."""
    comparisons = _crowd(1)
    fit = fit_pooled(comparisons)
    other = minimize(lambda b: -log_ndtr(comparisons.difference @ b).sum(), np.zeros(3))
    np.testing.assert_allclose(fit.weights, other.x, atol=1e-5)
    assert fit.log_likelihood == pytest.approx(-other.fun, abs=1e-8)
    assert fit.converged
    assert fit.identified
    assert not fit.on_bound
    assert 0 <= fit.gap <= 1e-9 * len(comparisons)


def test_one_voter_is_fitted_alike_alone_and_pooled() -> None:
    """Under the same bound the pooled fit of one voter is that voter's fit."""
    comparisons = _crowd(2, voters=1, records=15)
    alone = fit_voters(comparisons, bound=1.5, tolerance=1e-11)
    pooled = fit_pooled(comparisons, bound=1.5, tolerance=1e-11)
    np.testing.assert_allclose(pooled.weights, alone.weights[0], atol=1e-6)
    assert pooled.on_bound
    assert pooled.covariance is None


def test_standard_errors_are_those_of_redrawn_voters() -> None:
    """The sandwich matches the spread of fits over 200 redrawn crowds within 20 %.

    The spread of 200 fits has a relative error of 5 %: false alarms need four of them, in one of
    three weights, below 1e-3; the seed is fixed.
    """
    rng = np.random.default_rng(3)
    population = made_up_voters(rng, voters=30, features=3)
    fits, errors = [], []
    for _ in range(200):
        drawn = made_up_voters(rng, voters=30, features=3)
        moved = population.population + drawn.weights - drawn.population
        crowd = type(drawn)(moved, population.population)
        fit = fit_pooled(crowd.choose(rng, 12))
        assert fit.covariance is not None
        fits.append(fit.weights)
        errors.append(np.sqrt(np.diag(fit.covariance)))
    ratio = np.mean(errors, axis=0) / np.std(fits, axis=0)
    assert np.abs(ratio - 1).max() < 0.2


def test_voters_can_count_equally() -> None:
    """Repeating one voter's records ten times changes a plain fit, not one of equal voters."""
    rows: dict[str, list[Any]] = {
        "voter": ["a"] * 4 + ["b"] * 4,
        "f": [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0],
    }
    repeated = {key: values[:4] * 10 + values[4:] for key, values in rows.items()}
    once, often = Comparisons.from_frame(rows), Comparisons.from_frame(repeated)
    assert fit_pooled(once).weights[0] == pytest.approx(0, abs=1e-6)
    assert fit_pooled(often).weights[0] > 0.5
    assert fit_pooled(often, voters_count_equally=True).weights[0] == pytest.approx(0, abs=1e-6)


def test_separable_choices_end_on_the_bound_and_say_so() -> None:
    """Where one direction explains everything there are no standard errors."""
    fit = fit_pooled(Comparisons.from_frame({"voter": ["a", "b"], "f": [1.0, 2.0]}), bound=5)
    assert fit.weights.tolist() == [5.0]
    assert fit.on_bound
    assert fit.covariance is None


def test_collinear_features_are_said_not_to_be_identified() -> None:
    """A copied feature is noticed; the weights still exist."""
    rng = np.random.default_rng(4)
    f = rng.normal(size=80)
    rows = {"voter": np.arange(80) % 8, "f": f, "g": f}
    fit = fit_pooled(Comparisons.from_frame(rows))
    assert not fit.identified
    assert fit.converged


def test_many_blocks_give_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Working through the records in blocks changes nothing but rounding."""
    comparisons = _crowd(5)
    whole = fit_pooled(comparisons)
    monkeypatch.setattr("masquerade.preference.pooled_fit._BLOCK", 7)
    np.testing.assert_allclose(fit_pooled(comparisons).weights, whole.weights, atol=1e-9)


def test_nobody_said_anything() -> None:
    """Without a record the weights are zero."""
    fit = fit_pooled(Comparisons.from_frame({"voter": [], "f": []}, voters=["a", "b"]))
    assert fit.weights.tolist() == [0.0]
    assert not fit.identified


@pytest.mark.parametrize(("bound", "tolerance"), [(0, 1e-9), (np.inf, 1e-9), (10, 0)])
def test_parameters_out_of_range_are_refused(bound: float, tolerance: float) -> None:
    """The bound is finite and above 0, as is the tolerance."""
    with pytest.raises(ParameterError):
        fit_pooled(_crowd(6), bound=bound, tolerance=tolerance)
