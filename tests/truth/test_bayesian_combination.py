"""The default method: confusions drawn towards the crowd's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import (
    Auto,
    BayesianCombination,
    MajorityVote,
    OneCoin,
    Subtypes,
    accuracy,
)
from masquerade.truth import bayesian_combination as module


def _codes(fit: BayesianCombination | Auto) -> set[str]:
    return {remark.code for remark in fit.remarks_}


def _biased_crowd(seed: int) -> tuple[Claims, np.ndarray]:
    """Return 300 tasks of 20 workers, half of them with 1 for nearly everything, and the truths."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 300)
    hit = np.array([[0.9, 0.8]] * 8 + [[0.15, 0.95]] * 12)  # by worker and truth
    right = rng.random((300, 20)) < hit[:, truth].T
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(label.shape)
    rows = {"task": task.ravel(), "worker": worker.ravel(), "label": label.ravel()}
    return Claims.from_frame(rows), truth


def test_biased_workers_are_seen_through() -> None:
    """Where most workers favour one label, their confusions are learnt and allowed for."""
    claims, truth = _biased_crowd(1)
    fit = BayesianCombination().fit(claims)
    right = float((fit.labels_ == truth).mean())
    votes = float((MajorityVote().fit(claims).labels_ == truth).mean())
    assert right > 0.95
    assert right > votes + 0.2
    confusion = fit.solution_.confusion
    assert confusion is not None
    assert np.allclose(confusion.sum(axis=2), 1)
    assert confusion[15, 0, 1] > 0.7  # says 1 where the truth is 0


def test_it_is_as_good_as_the_right_model() -> None:
    """On a crowd made up by the one-coin model it is level with one-coin inference."""
    claims, truths = crowd(np.random.default_rng(2), tasks=400, workers=40, options=3)
    fit = BayesianCombination().fit(claims)
    assert accuracy(fit, truths) >= accuracy(OneCoin().fit(claims), truths) - 0.02


def test_a_worker_with_one_claim_counts_as_the_crowd() -> None:
    """The fewer the claims of a worker, the nearer the reliability to everybody's."""
    claims, _ = crowd(np.random.default_rng(3), tasks=300, workers=30, accuracy=(8.0, 2.0))
    table = claims.to_arrow().to_pydict()
    rows = {
        "task": [*table["task"], "t0"],
        "worker": [*table["worker"], "new"],
        "label": [*table["label"], table["label"][0]],
    }
    fit = BayesianCombination().fit(rows)
    reliability = fit.reliability_["reliability"].to_numpy()
    assert reliability[-1] == pytest.approx(reliability[:-1].mean(), abs=0.1)


def test_known_noise_is_part_of_the_model() -> None:
    """Behind a two-layer mask, knowing it beats the majority vote by ten points."""
    claims, truths = crowd(np.random.default_rng(4), tasks=400, workers=60, answers_per_task=20)
    mask = TwoLayer.from_epsilon_single(1, 2)
    reports = mask.simulate(claims, np.random.default_rng(5))
    fit = BayesianCombination().fit(reports, mechanism=mask)
    assert accuracy(fit, truths) > accuracy(MajorityVote().fit(reports), truths) + 0.1


def test_a_null_symbol_is_understood() -> None:
    """Where "no answer" is masked too, reports of people without an answer are allowed for."""
    claims, truths = crowd(
        np.random.default_rng(6), tasks=300, workers=40, answers_per_task=20, null_share=0.3
    )
    mask = RandomizedResponse(2, epsilon=2, null=True)
    reports = mask.simulate(claims, np.random.default_rng(7), presence="assigned")
    fit = BayesianCombination().fit(reports, mechanism=mask)
    assert accuracy(fit, truths) >= accuracy(MajorityVote().fit(reports), truths) - 0.01


@pytest.mark.parametrize("epsilon", [0, "0.01"])
def test_claims_that_tell_nothing_are_said_to(epsilon: Any) -> None:
    """Behind a mask that hides all, the remark is PRIOR_ONLY and labels are the majority's."""
    claims, _ = crowd(np.random.default_rng(8), tasks=200, workers=30)
    mask = RandomizedResponse(2, epsilon=epsilon)
    reports = mask.simulate(claims, np.random.default_rng(9))
    fit = BayesianCombination().fit(reports, mechanism=mask)
    assert fit.remarks_[0].code == "PRIOR_ONLY"
    if epsilon != 0:
        assert fit.labels_.tolist() == MajorityVote().fit(reports).labels_.tolist()
    assert np.abs(fit.solution_.posteriors - 0.5).max() < 0.1


def test_the_remark_on_chance_is_true_of_the_estimates() -> None:
    """Labels that votes alone decide differ by task, and PRIOR_ONLY does not say otherwise."""
    votes = {"a": "yyn", "b": "yyy", "c": "yny"}
    rows = [(task, f"w{i}", vote) for task, cast in votes.items() for i, vote in enumerate(cast)]
    task, worker, label = zip(*rows, strict=True)
    fit = BayesianCombination().fit({"task": task, "worker": worker, "label": label})
    (remark,) = (one for one in fit.remarks_ if one.code == "PRIOR_ONLY")
    assert len({round(float(each), 6) for each in fit.solution_.posteriors[:, 0]}) > 1
    assert "one estimate" not in remark.text
    assert remark.text.startswith("no worker's reliability was learnt, only votes count: chance")


def test_claims_that_tell_much_are_not_gated() -> None:
    """A clear crowd has no such remark."""
    claims, _ = crowd(np.random.default_rng(10), tasks=200, workers=30)
    assert not _codes(BayesianCombination().fit(claims)) & {"PRIOR_ONLY", "ONE_COIN"}


def test_too_many_options_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where confusions would not fit into memory, one-coin inference is used and it is said."""
    claims, _ = crowd(np.random.default_rng(11), tasks=50, workers=10, options=4)
    monkeypatch.setattr(module, "_MOST_CELLS", 100)
    fit = BayesianCombination().fit(claims)
    assert "MANY_OPTIONS" in _codes(fit)
    assert fit.labels_.tolist() == OneCoin().fit(claims).labels_.tolist()


def test_confusions_are_not_learnt_from_fewer_claims_than_they_have_pairs() -> None:
    """60 options and 600 claims are one coin's, with the remark; 5 options are not."""
    for options, many in ((60, True), (5, False)):
        task = np.repeat(np.arange(200), 3)
        label = task % options
        claims = Claims.from_frame(
            {"task": task, "worker": np.arange(600) % 7, "label": [f"l{one}" for one in label]}
        )
        for method in (BayesianCombination(), Auto()):
            fit = method.fit(claims)
            assert ("MANY_OPTIONS" in _codes(fit)) == many
            assert fit.truths_["label"].to_pylist() == [f"l{one % options}" for one in range(200)]


def test_trust_of_zero_judges_workers_by_votes() -> None:
    """With no trust in its own conclusions a single iteration is done."""
    claims, _ = crowd(np.random.default_rng(12), tasks=100, workers=20)
    fit = BayesianCombination(trust=(0.0,)).fit(claims)
    assert (fit.iterations_, fit.converged_) == (1, True)


def test_progress_is_told() -> None:
    """The callback gets every iteration's number and the most there can be."""
    claims, _ = crowd(np.random.default_rng(13), tasks=100, workers=20)
    calls: list[tuple[int, int]] = []
    BayesianCombination(trust=(1.0,)).fit(claims, progress=lambda i, most: calls.append((i, most)))
    assert calls
    assert calls == [(i + 1, 300) for i in range(len(calls))]


@pytest.mark.parametrize(
    "parameters",
    [
        {"trust": ()},
        {"trust": (1.5,)},
        {"accuracy": 1.0},
        {"strength": 0.0},
        {"tolerance": 0.0},
        {"max_iterations": 0},
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any]) -> None:
    """Every parameter is named in its error."""
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        BayesianCombination(**parameters)


@pytest.mark.parametrize(
    "mask", [RandomizedResponse(2, epsilon=1), TwoLayer(2, low=0, high="0.5")], ids=["one", "two"]
)
@pytest.mark.parametrize("method", [BayesianCombination(), Subtypes()], ids=lambda m: m.name)
def test_confusions_are_of_answers_behind_a_mask(method: Any, mask: Any) -> None:
    """Behind a mask the diagonals of confusions are the reliabilities, and rows add to 1.

    Of reports behind the first mask they would be .68 for .9. Of a worker who drew the flip not
    enough is known for .9.
    """
    claims, _ = crowd(
        np.random.default_rng(16),
        tasks=1500,
        workers=10,
        answers_per_task=10,
        accuracy=(90.0, 10.0),
    )
    reports = mask.simulate(claims, np.random.default_rng(17))
    fit = method.fit(reports, mechanism=mask)
    confusion = fit.solution_.confusion
    assert confusion.sum(axis=2) == pytest.approx(np.ones((10, 2)))
    right = np.einsum("waa->w", confusion) / 2
    assert right == pytest.approx(fit.solution_.reliability, abs=0.02)
    if isinstance(mask, RandomizedResponse):
        assert right.mean() == pytest.approx(0.9, abs=0.05)
