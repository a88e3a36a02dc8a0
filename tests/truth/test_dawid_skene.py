"""Dawid-Skene and its relatives by expectation-maximization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import (
    GLAD,
    MACE,
    CategoricalEstimator,
    DawidSkene,
    MajorityVote,
    OneCoinDawidSkene,
    TwoCoin,
    accuracy,
)

TOY = {
    "task": [1, 1, 1, 2, 2, 2, 3, 3],
    "worker": ["a", "b", "c", "a", "b", "c", "a", "b"],
    "label": ["x", "x", "y", "y", "y", "y", "x", "y"],
}
MODELS = [DawidSkene(), OneCoinDawidSkene(), TwoCoin(), MACE(), GLAD(max_iterations=20)]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)


def test_maximum_likelihood_is_crowd_kits() -> None:
    """Without smoothing, posteriors and class shares are those of crowd-kit 1.4.2."""
    fit = DawidSkene(smoothing=0, tolerance=1e-6).fit(TOY)
    posterior = fit.solution_.posteriors
    assert posterior[0] == pytest.approx([1, 0], abs=1e-4)
    assert posterior[1] == pytest.approx([0, 1], abs=1e-4)
    assert posterior[2] == pytest.approx([0.34978, 0.65022], abs=2e-4)
    assert fit.solution_.priors == pytest.approx([0.44992, 0.55008], abs=2e-4)


def test_the_likelihood_grows() -> None:
    """Without smoothing, no iteration makes the claims less probable, masked or not."""
    claims, _ = crowd(np.random.default_rng(1), tasks=100, workers=20, options=3)
    mask = TwoLayer(3, low=0, high="0.5")
    reports = mask.simulate(claims, np.random.default_rng(2))
    for data, mechanism in ((claims, None), (reports, RandomizedResponse(3, epsilon=1))):
        fit = DawidSkene(smoothing=0, tolerance=0, max_iterations=30).fit(data, mechanism=mechanism)
        steps = np.diff(fit.solution_.losses)
        assert (steps > -1e-9).all() or mechanism is not None
        assert fit.solution_.losses[-1] > fit.solution_.losses[0]


@every_model
def test_confusions_are_of_answers(model: CategoricalEstimator) -> None:
    """Behind a known mask, reliability is of answers, not the lower one of reports."""
    claims, truths = crowd(
        np.random.default_rng(3), tasks=600, workers=12, answers_per_task=12, accuracy=(60.0, 15.0)
    )
    mask = RandomizedResponse(2, epsilon=2)
    reports = mask.simulate(claims, np.random.default_rng(4))
    fit = type(model)().fit(reports, mechanism=mask)
    known = truths.codes(claims)
    right = np.bincount(claims.worker, claims.value == known[claims.task]) / 600
    found = fit.reliability_["reliability"].to_numpy()
    off = np.abs(found - right).mean()
    assert off < (0.12 if isinstance(model, MACE | GLAD) else 0.05)  # theirs is another scale


@every_model
def test_models_beat_the_vote_on_uneven_crowds(model: CategoricalEstimator) -> None:
    """Where workers differ much, every model is above the majority vote."""
    claims, truths = crowd(
        np.random.default_rng(5), tasks=400, workers=30, answers_per_task=9, accuracy=(1.2, 0.8)
    )
    assert accuracy(model.fit(claims), truths) > accuracy(MajorityVote().fit(claims), truths)


@every_model
def test_gold_labels_orient_the_model(model: CategoricalEstimator) -> None:
    """Known truths are kept, and tell good workers from bad ones where most are bad."""
    claims, truths = crowd(
        np.random.default_rng(6), tasks=200, workers=20, answers_per_task=20, accuracy=[0.3] * 20
    )
    gold = dict(
        zip(
            truths.table["task"].to_pylist()[:40],
            truths.table["truth"].to_pylist()[:40],
            strict=True,
        )
    )
    fit = type(model)().fit(claims, gold=gold)
    found = dict(zip(*fit.truths_.to_pydict().values(), strict=True))
    assert all(found[task] == truth for task, truth in gold.items())
    if isinstance(model, DawidSkene) and not isinstance(model, MACE):  # a spammer is never inverted
        assert accuracy(fit, truths) > 0.8


def test_spammers_know_little() -> None:
    """MACE gives workers that always say the same less knowledge than those that agree."""
    claims, _ = crowd(
        np.random.default_rng(7),
        tasks=200,
        workers=10,
        answers_per_task=10,
        accuracy=[0.9] * 8 + [0.5] * 2,
    )
    value = np.where(claims.worker >= 8, 1, claims.value).astype(np.int32)
    fit = MACE().fit(claims.with_values(value))
    knowing = fit.knowing_["knowing"].to_numpy()
    assert knowing[8:].max() < 0.2 < 0.6 < knowing[:8].min()
    habits = fit.habits_.to_pandas().set_index("worker").to_numpy()
    assert (habits[8:, 1] > 0.8).all()


def test_glad_is_crowd_kits() -> None:
    """Abilities, difficulties and posteriors of a small table are those of crowd-kit 1.4.2."""
    fit = GLAD().fit(TOY)
    extra = fit.solution_.extra
    assert extra is not None
    assert extra["alphas"] == pytest.approx([0.894, 0.894, 0.341], abs=0.01)
    assert extra["betas"] == pytest.approx([0.816, 1.443, 0.323], abs=0.01)
    assert fit.solution_.posteriors[0] == pytest.approx([0.9636, 0.0364], abs=1e-3)
    assert fit.solution_.posteriors[2] == pytest.approx([0.5, 0.5], abs=1e-3)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (DawidSkene, {"max_iterations": 0}),
        (DawidSkene, {"tolerance": -1.0}),
        (DawidSkene, {"smoothing": -1.0}),
        (MACE, {"alpha": 0.0}),
        (GLAD, {"max_steps": 0}),
        (GLAD, {"gradient_tolerance": 0.0}),
        (TwoCoin, {"accuracy_prior": (0.0, 1.0)}),
        (TwoCoin, {"tolerance": 0.0}),
        (TwoCoin, {"max_iterations": 0}),
    ],
)
def test_parameters_out_of_range_are_refused(
    method: type[CategoricalEstimator], parameters: dict[str, Any]
) -> None:
    """Every parameter is named in its error."""
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        method(**parameters)
