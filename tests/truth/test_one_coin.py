"""One-coin inference: its accuracy, its masks, and its certainty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from masquerade.answers import Claims, Truths
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import OneCoin, TruthDiscovery, accuracy


def _reliability(fit: OneCoin, workers: int) -> NDArray[np.float64]:
    """Return the estimated accuracies of workers w0, w1, ... in this order."""
    table = fit.reliability_
    found = dict(zip(*(table[c].to_pylist() for c in ("worker", "reliability")), strict=True))
    return np.array([found[f"w{number}"] for number in range(workers)])


def _right(fit: OneCoin, truths: Truths) -> NDArray[np.bool_]:
    return np.asarray(fit.labels_ == truths.codes(fit.claims_))


@pytest.mark.parametrize("options", [2, 5])
def test_accuracies_are_recovered(options: int) -> None:
    """Each worker's accuracy is found within six standard errors of the answers counted.

    n = 1000 answers a worker on average, 20 workers: false alarms below 1e-6.
    """
    ability = np.linspace(0.55, 0.95, 20)
    claims, _ = crowd(
        np.random.default_rng(11), tasks=2000, workers=20, options=options, accuracy=ability
    )
    off = np.abs(_reliability(OneCoin().fit(claims), 20) - ability)
    assert off.max() < 6 * 0.5 / np.sqrt(1000)
    assert off.mean() < 0.02


def test_accuracies_are_recovered_through_a_mask() -> None:
    """Knowing the mechanism, the accuracy of answers is found from masked reports.

    The mask keeps 73 % and so widens the standard error by 1 / 0.46; n = 2000 answers a worker.
    """
    ability = np.linspace(0.6, 0.95, 20)
    rng = np.random.default_rng(12)
    claims, truths = crowd(rng, tasks=4000, workers=20, accuracy=ability)
    mechanism = RandomizedResponse(2, epsilon=1)
    reports = mechanism.simulate(claims, rng)
    aware = OneCoin().fit(reports, mechanism=mechanism)
    blind = OneCoin().fit(reports)
    limit = 6 * 0.5 / 0.46 / np.sqrt(2000)
    assert np.abs(_reliability(aware, 20) - ability).max() < limit
    assert np.abs(_reliability(aware, 20) - ability).mean() < 0.05
    assert np.abs(_reliability(blind, 20) - ability).mean() > 0.1
    assert accuracy(aware, truths) > 0.75


@pytest.mark.parametrize(("options", "answers"), [(2, 5), (4, 4)])
def test_posteriors_are_roughly_calibrated(options: int, answers: int) -> None:
    """Among labels given a probability, about that share is right (the model made the data).

    At least 300 labels a bin; mean field may be too sure by a few hundredths.
    """
    claims, truths = crowd(
        np.random.default_rng(13),
        tasks=6000,
        workers=150,
        options=options,
        answers_per_task=answers,
    )
    fit = OneCoin().fit(claims)
    sure = np.array([fit.posteriors_.column(1 + k).to_numpy() for k in range(options)]).max(axis=0)
    right = _right(fit, truths)
    bins = np.digitize(sure, [0.6, 0.7, 0.8, 0.9, 0.97])
    for number in range(6):
        inside = bins == number
        if inside.sum() >= 300:
            assert abs(sure[inside].mean() - right[inside].mean()) < 0.06
    assert abs(sure.mean() - right.mean()) < 0.02


def test_a_mask_that_flips_most_answers_is_undone() -> None:
    """Where reports are usually wrong, the channel tells, and labels come out the right way."""
    rng = np.random.default_rng(14)
    for options, flip in ((2, 0.9), (3, 1.0)):
        claims, truths = crowd(rng, tasks=300, workers=30, options=options, answers_per_task=20)
        mechanism = RandomizedResponse(options, flip_probability=flip)
        reports = mechanism.simulate(claims, rng)
        assert accuracy(OneCoin().fit(reports, mechanism=mechanism), truths) > 0.9
        assert accuracy(TruthDiscovery().fit(reports), truths) < 0.2


def test_each_component_finds_its_own_orientation() -> None:
    """A group with most of its reports flipped is turned, its neighbour is not."""
    rng = np.random.default_rng(15)
    mechanism = TwoLayer(2, low=0, high=0.95)
    halves = []
    for half, flip in ((0, 0.05), (1, 0.95)):
        claims, truths = crowd(rng, tasks=200, workers=12, answers_per_task=12, accuracy=(9, 1))
        reports = RandomizedResponse(2, flip_probability=flip).simulate(claims, rng)
        halves.append((half, reports, truths))
    table = {
        "task": [f"{h}{t}" for h, c, _ in halves for t in c.to_arrow()["task"].to_pylist()],
        "worker": [f"{h}{w}" for h, c, _ in halves for w in c.to_arrow()["worker"].to_pylist()],
        "label": [label for _, c, _ in halves for label in c.to_arrow()["label"].to_pylist()],
    }
    truth = {
        "task": [f"{h}{t}" for h, _, k in halves for t in k.table["task"].to_pylist()],
        "truth": [label for _, _, k in halves for label in k.table["truth"].to_pylist()],
    }
    prior = (9.0, 1.0)
    fit = OneCoin(accuracy_prior=prior).fit(table, mechanism=TwoLayer(2, low=0.5, high=1))
    assert fit.components_ == 2
    right = _right(fit, Truths.from_frame(truth))
    assert right[200:].mean() > 0.9  # flipped reports are read as flipped
    fit = OneCoin(accuracy_prior=prior).fit(table, mechanism=mechanism)
    assert not fit.orientation_ambiguous_
    assert _right(fit, Truths.from_frame(truth))[:200].mean() > 0.9


def test_no_answer_is_accounted_for_through_the_channel() -> None:
    """With masked "no answer", accuracies are still found; taking them at face value fails.

    n = 3000 answers a worker, of which 30 % are "no answer": six standard errors, widened by the
    mask.
    """
    ability = np.linspace(0.65, 0.95, 10)
    rng = np.random.default_rng(16)
    claims, truths = crowd(
        rng,
        tasks=6000,
        workers=10,
        options=3,
        answers_per_task=5,
        accuracy=ability,
        null_share=0.3,
    )
    mechanism = RandomizedResponse(3, flip_probability=0.3, null=True)
    reports = mechanism.simulate(claims, rng, presence="assigned")
    fit = OneCoin().fit(reports, mechanism=mechanism)
    assert np.abs(_reliability(fit, 10) - ability).max() < 6 * 0.5 / 0.6 / np.sqrt(3000 * 0.7)
    assert np.abs(_reliability(fit, 10) - ability).mean() < 0.03
    face_value = OneCoin().fit(reports)
    assert np.abs(_reliability(face_value, 10) - ability).mean() > 0.1
    assert accuracy(fit, truths) > 0.7


def test_reports_without_information_decide_nothing() -> None:
    """At epsilon 0 with one flip probability every posterior is even and every task tied."""
    rng = np.random.default_rng(17)
    claims, truths = crowd(rng, tasks=50, workers=10, options=4)
    mechanism = RandomizedResponse(4, epsilon=0)
    fit = OneCoin().fit(mechanism.simulate(claims, rng), mechanism=mechanism)
    assert np.allclose(fit.chances_, 0.25)
    assert accuracy(fit, truths) == pytest.approx(0.25)


def test_everyone_silent_behind_a_mask() -> None:
    """Null reports only, behind a mask that keeps everything, give no label and no error."""
    claims = Claims.from_frame(
        {"task": ["a", "b"], "worker": ["x", "y"], "label": ["no", "yes"]}, null=True
    )
    silent = claims.with_values(np.full(2, 2, np.int32))
    mechanism = RandomizedResponse(2, flip_probability=0, null=True)
    fit = OneCoin().fit(silent, mechanism=mechanism)
    assert fit.truths_["label"].to_pylist() == [None, None]
    assert fit.components_ == 0


def test_a_sharp_prior_is_obeyed() -> None:
    """A prior far sharper than the claims fixes every worker's accuracy."""
    claims, _ = crowd(np.random.default_rng(19), tasks=60, workers=6, answers_per_task=3)
    found = _reliability(OneCoin(accuracy_prior=(70000.0, 30000.0)).fit(claims), 6)
    assert found == pytest.approx(np.full(6, 0.7), abs=0.01)


def test_a_run_cut_short_says_so() -> None:
    """Where posteriors still move at the last iteration allowed, converged_ is false."""
    claims, _ = crowd(np.random.default_rng(18), tasks=200, workers=30, answers_per_task=4)
    assert OneCoin().fit(claims).converged_
    cut = OneCoin(max_iterations=2).fit(claims)
    assert not cut.converged_
    assert cut.iterations_ == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"accuracy_prior": (4.0, 0.0)}, "accuracy_prior is .* expected two positive numbers"),
        ({"accuracy_prior": (4.0,)}, "accuracy_prior"),
        ({"tolerance": 0}, "tolerance is 0, expected above 0"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"ties": "none"}, "ties is 'none'"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], message: str) -> None:
    """A parameter out of range is refused when the estimator is made."""
    with pytest.raises(ParameterError, match=message):
        OneCoin(**parameters)  # type: ignore[arg-type]
