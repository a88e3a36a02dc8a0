"""Matrix factorization with a ridge: its computation, and its proven promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize

from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge

SEED = bytes(range(32))


def repaired(tasks: int, dimension: int, **more: Any) -> MatrixFactorizationRidge:
    """Return the repaired form for answers 1 to 5 at epsilon 1."""
    given = {"low": 1, "high": 5, "epsilon": 1, "seed": SEED, **more}
    return MatrixFactorizationRidge(tasks=tasks, dimension=dimension, **given)


def some(tasks: int, told: int, seed: int) -> Floats:
    """Return answers of a worker to `told` of the tasks."""
    rng = np.random.default_rng(seed)
    answers = np.full(tasks, math.nan)
    answers[rng.permutation(tasks)[:told]] = rng.integers(1, 6, told)
    return answers


@pytest.mark.parametrize("told", [0, 1, 4, 9])
def test_a_profile_is_the_minimiser_of_the_objective(
    told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A general optimiser finds no lower value, and the same profile to a rounding cell."""
    mechanism = repaired(9, 3)
    answers = some(9, told, told)
    noise = np.random.default_rng(1).integers(-(1 << 46), 1 << 46, (4, 3))
    monkeypatch.setitem(vars(mechanism), "_noise", lambda source, size: noise[:size])
    profiles = mechanism.draw(answers, 4, np.random.default_rng(0))
    known = np.isfinite(answers)
    x, target = mechanism.features[known], (answers[known] - 3) / 4
    for profile, eta in zip(profiles, noise * (mechanism._scale / (1 << 46)), strict=True):

        def objective(u: Floats, eta: Floats = eta) -> float:
            pseudo_huber = 0.25 * np.log(np.cosh((target - x @ u) / 0.5)).sum()
            return float(pseudo_huber + mechanism.ridge / 2 * (u @ u) + u @ eta)

        found = optimize.minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
        assert objective(profile / 4) <= found.fun + 1e-9
        assert profile / 4 == pytest.approx(found.x, abs=1e-4)


def test_without_answers_the_profile_is_noise_over_the_ridge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The closed form -eta / ridge, rounded to a millionth of the width."""
    mechanism = repaired(4, 2)
    noise = np.array([[1 << 46, -(1 << 45)]])
    monkeypatch.setitem(vars(mechanism), "_noise", lambda source, size: noise)
    profile = mechanism.draw(np.full(4, math.nan), 1, np.random.default_rng(0))[0] / 4
    exact = -np.array([1, -0.5]) * mechanism._scale / mechanism.ridge
    assert profile == pytest.approx(exact, abs=0.6e-6)


@pytest.mark.parametrize("told", [0, 1, 3])
def test_the_density_of_one_feature_adds_to_one(told: int) -> None:
    """Integrated over all profiles it is 1."""
    mechanism = repaired(3, 1)
    answers = some(3, told, 5)
    total, _ = integrate.quad(
        lambda u: float(np.exp(mechanism.log_density(np.array([[u]]), answers))[0]),
        -900,
        900,
        points=[-3.0, 0.0, 3.0],
        limit=900,
    )
    assert total == pytest.approx(1, abs=1e-7)


def test_audit_draws_follow_the_density() -> None:
    """Of 100,000 profiles of two features, the noise recovered is Laplace (alarm 1e-6)."""
    mechanism = repaired(6, 2)
    answers = some(6, 5, 2)
    known = np.isfinite(answers)
    x, target = mechanism.features[known], (answers[known] - 3) / 4
    u = mechanism.draw(answers, 100_000, np.random.default_rng(5)) / 4
    noise = 0.5 * np.tanh((target - u @ x.T) / 0.5) @ x - mechanism.ridge * u
    quantiles = np.array([0.1, 0.5, 0.9])
    points = mechanism._scale * np.array([math.log(0.2), 0.0, -math.log(0.2)])
    found = (noise[:, :, None] <= points).mean(axis=0)
    assert np.abs(found - quantiles).max() < 5 * 0.5 / math.sqrt(100_000)


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("distribution", ["uniform", "signed"])
def test_exact_loss_of_one_task_stays_below_the_promise(dimension: int, distribution: str) -> None:
    """The log ratio of densities, at drawn and at far profiles, for answers and "no answer".

    Few answers (none, one, about `dimension`) and all of them, every pair of `neighbours`.
    """
    mechanism = repaired(8, dimension, distribution=distribution)
    rng = np.random.default_rng(11)
    worst = 0.0
    for _, one, other in mechanism.neighbours(rng):
        near = mechanism.draw(one, 300, rng)
        profiles = np.concatenate([near, near * 10, rng.standard_cauchy(near.shape) * 4])
        ratio = mechanism.log_density(profiles, one) - mechanism.log_density(profiles, other)
        worst = max(worst, float(np.abs(ratio).max()))
    promise = mechanism.guarantee().epsilon_event.epsilon
    assert worst <= promise - mechanism.discretisation_loss
    assert worst > 0.3 * promise
    assert worst <= joint_supremum(mechanism) <= 0.6661 * promise


def joint_supremum(mechanism: MatrixFactorizationRidge) -> float:
    """Return the largest loss of one task, of noise and determinant at one and the same profile.

    Two answers that tell most lie a width, 2 B, apart (the loss is convex in either residual's
    tanh); in units of B their residuals are ``t - 1`` and ``t + 1``, t at least 0.
    """
    slope, share = 0.5 / mechanism._scale, mechanism._largest_square / mechanism.ridge
    t, grid_error = np.linspace(0, 30, 300_001), 1e-3
    first, second = (np.log1p(share / np.cosh(place) ** 2) for place in (t - 1, t + 1))
    two = slope * (np.tanh(1 - t) + np.tanh(1 + t)) + first - second
    x = np.linspace(0, 1, 100_001)
    one = slope * x + np.log1p(share * (1 - x**2))
    return float(max(two.max(), one.max())) + grid_error


def test_losses_of_100000_draws_stay_below_epsilon() -> None:
    """Sampled loss at d = 5 with 0, 1, 4, 5 and 9 answers and one more: at most 1 + 1e-6."""
    mechanism = repaired(10, 5)
    for told in (0, 1, 4, 5, 9):
        one = some(10, told, 100 + told)
        other = one.copy()
        other[np.flatnonzero(np.isnan(one))[0]] = 5.0
        drawn = mechanism.draw(one, 20_000, np.random.default_rng(told))
        ratio = mechanism.log_density(drawn, one) - mechanism.log_density(drawn, other)
        assert np.abs(ratio).max() <= 1 + 1e-6


@given(
    epsilon=st.sampled_from(["0.1", "0.5", "1", "2", "3"]),
    split=st.sampled_from(["0.1", "0.25", "0.5"]),
    answers=st.integers(0, 30),
    dimension=st.integers(1, 4),
)
def test_prop_a_person_pays_at_most_the_sum_and_never_less_than_one(
    epsilon: str, split: str, answers: int, dimension: int
) -> None:
    """User level: 0 for no answer, epsilon for one, monotone, at most n epsilon."""
    mechanism = repaired(30, dimension, epsilon=epsilon, split=split)
    promise = mechanism.guarantee(answers=answers)
    one = Micro.of_amount(mechanism.epsilon)
    assert promise.status == "proven"
    assert promise.epsilon_single == one
    assert promise.epsilon_event == one * min(answers, 1)
    assert promise.epsilon_user <= one * answers
    more = mechanism.guarantee(answers=answers + 1)
    assert promise.epsilon_user <= more.epsilon_user
    if answers == 1:
        assert promise.epsilon_user <= one


def test_ridge_and_noise_share_epsilon_as_the_proof_says() -> None:
    """ln(1 + l2sq / ridge) is split * epsilon; 1 / scale and the grid take the rest at most."""
    mechanism = repaired(20, 3, split="0.4")
    rows = mechanism.features
    square = float((rows**2).sum(axis=1).max())
    assert math.log1p(square / mechanism.ridge) == pytest.approx(0.4, rel=1e-6)
    assert math.log1p(square / mechanism.ridge) <= 0.4
    assert np.abs(rows).sum(axis=1).max() <= 1
    spent = 1 / mechanism._scale + mechanism.discretisation_loss
    assert spent <= 0.6
    assert spent == pytest.approx(0.6, rel=1e-6)
    assert mechanism.discretisation_loss < 1e-3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"split": 0}, "split is 0, expected above 0 and below 1"),
        ({"split": 1}, "split is 1"),
        ({"split": "nan"}, "split is 'nan'"),
        ({"epsilon": 60, "split": "0.9"}, "too small to compute a profile accurately"),
    ],
    ids=str,
)
def test_each_bad_parameter_is_named(change: dict[str, Any], said: str) -> None:
    """A parameter out of range is an error that names it and the expected range."""
    with pytest.raises(ParameterError, match=said):
        repaired(6, 2, **change)
