"""The noise that a result states is the noise that it has."""

from __future__ import annotations

import numpy as np
import pytest
from tests.representative import first_of_each

from masquerade.answers import Comparisons
from masquerade.preference import SocialPreference, made_up_voters
from masquerade.preference.other_voters import direction
from masquerade_papers.preferences.functional import LocalFunctional

RELEASES = 60
DECISIONS = np.random.default_rng(6).normal(size=(30, 5))


def crowd(voters: int, records: int) -> Comparisons:
    """Return made-up voters with five features."""
    rng = np.random.default_rng(5)
    return made_up_voters(rng, voters=voters, features=5).choose(rng, records)


def margins(
    data: Comparisons, mechanism: str, epsilon: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return margins less their mean, shape (releases, decisions), deviations, the weights."""
    found, stated, weights = [], [], []
    for seed in range(RELEASES):
        learned = SocialPreference.simulate(
            data, np.random.default_rng([seed, 9]), mechanism=mechanism, epsilon=epsilon
        )
        decisions = [learned.decide(each, 0 * each) for each in DECISIONS]
        found.append([decision.margin for decision in decisions])
        stated.append([decision.noise_sd for decision in decisions])
        weights.append(learned.release.weights)
    off = np.array(found) - np.mean(found, axis=0)
    return off, np.array(stated), np.array(weights)


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "voters"),
    first_of_each(
        [
            ("central-laplace", 1, 4),
            ("local-laplace", 0.3, 4),
            ("linear-knorm", 0.1, 60),
            ("linear-knorm", 1, 60),
            ("linear-laplace", 1, 60),
            ("linear-gaussian", 3, 60),
            ("choice-response", 0.2, 50),
            ("choice-response", 1, 50),
            ("choice-response", 5, 50),
            ("choice-response:estimator=linear", 0.1, 60),
            ("choice-response:estimator=linear", 3, 60),
            ("direction-selection:candidates=32", 1, 60),
            ("direction-selection:candidates=32", 8, 60),
            ("direction-selection:candidates=32", 20, 60),
            ("central-functional", 0.03, 60),
            ("central-functional", 1, 60),
            ("aggregate-functional", 1, 60),
            ("aggregate-functional", 10, 60),
            ("local-functional", 0.3, 60),
            ("local-functional", 3, 60),
            ("local-functional", 20, 60),
        ]
    ),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_audit_margins_are_within_the_stated_noise(
    mechanism: str, epsilon: float, voters: int
) -> None:
    """Over 60 releases and 30 decisions, 1.64 stated deviations hold 82 to 97 % of the noise.

    The median of stated over true deviation is 0.75 to 1.3: the standard error of one deviation is
    9 %, and decisions share their draws. The seeds are fixed.
    """
    off, stated, _ = margins(crowd(voters, 15 if voters > 4 else 2), mechanism, epsilon)
    assert 0.82 < (np.abs(off) < 1.645 * stated).mean() < 0.97
    assert 0.75 < np.median(np.median(stated, axis=0) / off.std(axis=0)) < 1.3


@pytest.mark.parametrize(
    "weights", ["inverse-variance", pytest.param("capped", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize("mechanism", ["linear-knorm", "choice-response", "local-functional"])
def test_audit_personal_epsilons_are_in_the_stated_noise(mechanism: str, weights: str) -> None:
    """The same where voters have different epsilons and weights."""
    epsilons = [0.5, 2, 2, 8] * 10
    off, stated, _ = margins(crowd(40, 10), f"{mechanism}:weights={weights}", epsilons)
    assert 0.82 < (np.abs(off) < 1.645 * stated).mean() < 0.97


def test_a_direction_has_noise_across_itself_alone_where_noise_is_small() -> None:
    """The delta method: the covariance over the squared length, without the part along it."""
    weights, covariance = direction(np.array([3.0, 4.0]), np.eye(2) * 1e-6)
    np.testing.assert_allclose(weights, [0.6, 0.8])
    np.testing.assert_allclose(
        covariance, 4e-8 * np.array([[0.64, -0.48], [-0.48, 0.36]]), atol=1e-12
    )


def test_a_direction_of_noise_alone_decides_nothing() -> None:
    """Of pure noise, 84 to 96 % of decisions are called unstable, in any number of dimensions."""
    rng = np.random.default_rng(3)
    for d in (1, 2, 3, 10):
        unstable = []
        for raw in rng.normal(size=(400, d)):
            weights, covariance = direction(raw, np.eye(d))
            off = rng.normal(size=(20, d))
            deviation = np.sqrt(np.einsum("nd,de,ne->n", off, covariance, off))
            unstable.append(np.abs(off @ weights) < 1.645 * deviation)
        assert 0.84 < np.mean(unstable) < 0.96


def test_a_direction_of_zero_has_no_noise_to_state() -> None:
    """Zeros are a tie in every decision."""
    weights, covariance = direction(np.zeros(3), np.eye(3))
    assert not weights.any()
    assert not covariance.any()


def test_heavy_noise_stays_finite() -> None:
    """No voter's quadratic blows up: at epsilon 0.1 every weight of 50 releases is below 1."""
    data = crowd(40, 10)
    rng = np.random.default_rng(1)
    for _ in range(50):
        released = LocalFunctional(epsilon=0.1).simulate(data, rng)
        assert np.abs(released.weights).max() < 1
