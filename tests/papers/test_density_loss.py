"""Losses of matrix factorization: the published form fails, the repaired one holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage, compose, pairs_of
from masquerade.errors import NoGuarantee
from masquerade.exact import Micro
from masquerade_papers.sparse_ldp.density_loss import DensityLoss, HasDensity, bound_of, of_density
from masquerade_papers.sparse_ldp.matrix_factorization import MatrixFactorization
from masquerade_papers.sparse_ldp.matrix_factorization_ridge import MatrixFactorizationRidge

SEED = bytes(range(32))


def published(**changed: Any) -> MatrixFactorization:
    """Return the published form for five-point answers to 20 tasks."""
    words: dict[str, Any] = {
        "low": 1,
        "high": 5,
        "tasks": 20,
        "dimension": 2,
        "epsilon": 1,
        "seed": SEED,
    }
    return MatrixFactorization(**words | changed)


def ridge(**changed: Any) -> MatrixFactorizationRidge:
    """Return the repaired form for five-point answers to 20 tasks."""
    words: dict[str, Any] = {
        "low": 1,
        "high": 5,
        "tasks": 20,
        "dimension": 2,
        "epsilon": 1,
        "seed": SEED,
    }
    return MatrixFactorizationRidge(**words | changed)


def loss_of(mechanism: HasDensity, claimed: Micro, *, samples: int, seed: int) -> DensityLoss:
    """Return log ratios of workers that differ in one task."""
    rng = np.random.default_rng(seed)
    return of_density(mechanism, cells=1, claimed=claimed, samples=samples, rng=rng)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_exact_the_published_form_loses_without_bound(dimension: int) -> None:
    """Turned into "no answer", an answer shows itself by more than any epsilon."""
    mechanism = published(dimension=dimension)
    claimed = mechanism.published_loss(answers=1)
    assert claimed.epsilon == 1
    found = loss_of(mechanism, claimed, samples=20_000, seed=1)
    assert found.largest > 1
    assert found.grows is not None
    assert "no answer" in found.grows


def test_exact_the_smallest_counterexample_of_the_published_form() -> None:
    """One feature, v = 1: the spread of the profile tells how many answers there were."""
    mechanism = published(tasks=2, dimension=1)
    assert mechanism.features.tolist() == [[1.0], [1.0]]
    both, one = np.array([3.0, 3.0]), np.array([3.0, math.nan])
    profiles = np.array([[3.0], [103.0], [1003.0]])
    loss = mechanism.log_density(profiles, one) - mechanism.log_density(profiles, both)
    # One answer: scale 5; two: scale 5 / 2, twice the density in the middle.
    assert loss == pytest.approx([-math.log(2), 20 - math.log(2), 200 - math.log(2)])


def test_exact_with_few_answers_most_profiles_of_the_published_form_exceed() -> None:
    """Five dimensions and six answers: 3 of 4 profiles lose more than 10 times epsilon."""
    mechanism = published(tasks=40, dimension=5)
    rng = np.random.default_rng(3)
    answers = np.full(40, math.nan)
    answers[:6] = [1, 5, 3, 2, 4, 1]
    other = answers.copy()
    other[0] = math.nan
    profiles = mechanism.draw(answers, 5_000, rng)
    loss = mechanism.log_density(profiles, answers) - mechanism.log_density(profiles, other)
    assert (np.abs(loss) > 10).mean() > 0.7
    assert (np.abs(loss) > 1).mean() > 0.95


def test_exact_the_published_form_keeps_what_is_proven_of_it() -> None:
    """Where the answered tasks are public, one moved answer loses exactly the stated amount."""
    mechanism = published()
    promise = mechanism.guarantee(presence="assigned", all_answered=True)
    assert promise.status == "proven"
    rng = np.random.default_rng(4)
    answers = rng.integers(1, 6, 20).astype(float)
    largest = 0.0
    for task in range(20):
        one, other = answers.copy(), answers.copy()
        one[task], other[task] = 1, 5
        profiles = mechanism.draw(one, 2_000, rng)
        loss = mechanism.log_density(profiles, one) - mechanism.log_density(profiles, other)
        largest = max(largest, float(np.abs(loss).max()))
    assert promise.epsilon_event.epsilon - 2e-6 < largest <= promise.epsilon_event.epsilon + 1e-9


def test_the_published_form_is_labelled_and_refused_by_the_ledger() -> None:
    """Its guarantee is none, infinite at every level; nothing that accounts for losses takes it."""
    mechanism = published(acknowledge_no_guarantee=True)
    promise = mechanism.guarantee(answers=3)
    shown = promise.to_json()
    assert promise.status == shown["status"] == "none"
    assert {shown[f"epsilon_{level}"] for level in ("single", "event", "user")} == {"inf"}
    with pytest.raises(NoGuarantee, match="promises nothing"):
        pairs_of([mechanism])
    with pytest.raises(NoGuarantee):
        Cost.of("Study", [mechanism])
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps())
    with pytest.raises(NoGuarantee):
        ledger.charge("p-1", "study", Cost.of("Study", [mechanism]))
    assert ledger.entries("p-1") == []
    assert compose([mechanism]).status == "none"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"dimension": 1, "epsilon": "0.1"},
        {"dimension": 5, "epsilon": 3},
        {"dimension": 5, "distribution": "signed", "split": "0.5"},
        {"tasks": 1, "dimension": 1},
    ],
)
def test_audit_the_repaired_form_stays_below_its_claim(changed: dict[str, Any]) -> None:
    """No log ratio at 100,000 drawn profiles exceeds the claim, with any number of answers.

    Answered tasks: none, one, about as many as dimensions, and all; moved from end to end and
    turned into "no answer".
    """
    mechanism = ridge(**changed)
    claimed = mechanism.guarantee().epsilon_event
    found = loss_of(mechanism, claimed, samples=100_000, seed=5)
    bound = bound_of(mechanism, cells=1)
    assert found.grows is None
    assert found.largest <= bound.epsilon
    assert bound <= claimed
    assert found.share_above == 0


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "5"])
@pytest.mark.parametrize("cells", [1, 2, 10, 20])
def test_exact_the_bound_of_the_repaired_form_is_within_its_claim(epsilon: str, cells: int) -> None:
    """Features, noise and ridge bound the loss of any number of changed answers by the claim."""
    mechanism = ridge(epsilon=epsilon)
    claim = mechanism.guarantee(answers=cells).epsilon_user
    bound = bound_of(mechanism, cells=cells)
    assert bound <= claim
    assert bound.epsilon > 0.8 * claim.epsilon


def test_exact_too_little_noise_for_the_ridge_is_found() -> None:
    """A ridge form that draws half the noise it should is not bounded by its claim."""
    mechanism = ridge()
    object.__setattr__(mechanism, "_scale", mechanism._scale / 2)
    assert bound_of(mechanism, cells=1).epsilon > 1.7
