"""The default for categories: chosen by claims that were held out, never by truths."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import NotFitted, ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import (
    Auto,
    BayesianCombination,
    MajorityVote,
    OneCoin,
    Subtypes,
    accuracy,
)
from masquerade.truth.auto import Choice, Gains
from masquerade.truth.numeric.auto import halves_by_worker, held_out_sparing
from masquerade.truth.samples import Split
from masquerade.truth.ties import uniform_by_claim


def crowd(seed: int, *, misleading: float, tasks: int = 400) -> tuple[Claims, Truths]:
    """Return yes-or-no tasks; on the misleading ones half of the workers errs alike."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, tasks)
    hard = (truth == 0) & (rng.random(tasks) < misleading)
    worker = np.argsort(rng.random((tasks, 30)), axis=1)[:, :12].ravel()
    task = np.repeat(np.arange(tasks), 12)
    right = np.where(hard[task], np.where(worker < 15, 0.15, 0.9), 0.85)
    label = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
    return claims, Truths.from_frame({"task": np.arange(tasks), "truth": truth})


def test_tasks_in_kinds_are_told_apart() -> None:
    """Where many err alike on some tasks, subtypes are chosen, say so, and find more truths."""
    claims, truths = crowd(1, misleading=0.4)
    fit = Auto().fit(claims)
    assert fit.chosen_.name == "subtypes"
    (remark,) = [one for one in fit.remarks_ if one.code == "SUBTYPES"]
    t = fit.selection_.to_pydict()["t"]
    assert t[1] > 2
    assert f"t = {t[1]:.1f}" in remark.text
    assert accuracy(fit, truths) == accuracy(Subtypes().fit(claims), truths)
    assert accuracy(fit, truths) > accuracy(BayesianCombination().fit(claims), truths) + 0.01
    assert accuracy(fit, truths) > accuracy(MajorityVote().fit(claims), truths) + 0.05


def test_an_even_crowd_keeps_the_first_model() -> None:
    """Where tasks are of one kind nothing else is clearly better, and the result is the same."""
    claims, _ = crowd(2, misleading=0.0)
    fit, first = Auto().fit(claims), BayesianCombination().fit(claims)
    table = fit.selection_.to_pydict()
    assert table["candidate"] == ["bayesian-combination", "subtypes"]
    assert table["chosen"] == [True, False]
    assert table["t"][1] <= 2
    assert np.array_equal(fit.solution_.posteriors, first.solution_.posteriors)
    assert not {"SUBTYPES", "OWN_ACCURACY"} & {remark.code for remark in fit.remarks_}


def test_three_options_have_a_third_candidate() -> None:
    """With three options or more workers may be drawn to their own accuracy."""
    rng = np.random.default_rng(3)
    rows = {"task": np.repeat(np.arange(60), 5), "worker": np.tile(np.arange(5), 60)}
    claims = Claims.from_frame({**rows, "label": (rows["task"] + (rng.random(300) < 0.2)) % 3})
    fit = Auto().fit(claims)
    names = fit.selection_["candidate"].to_pylist()
    assert names == ["bayesian-combination", "subtypes", "bayesian-combination, one-coin"]


@pytest.mark.parametrize("epsilon", [None, 2])
def test_workers_may_be_drawn_to_their_own_accuracy(epsilon: int | None) -> None:
    """Workers of few claims and many options are found as good as they are, masked or not."""
    rng = np.random.default_rng(11)
    truth, good = rng.integers(0, 6, 150), np.repeat([0.9, 0.5], 20)
    worker = np.argsort(rng.random((150, 40)), axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(150), 10)
    wrong = (truth[task] + rng.integers(1, 6, 1500)) % 6
    label = np.where(rng.random(1500) < good[worker], truth[task], wrong)
    claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
    mask = None if epsilon is None else RandomizedResponse(6, epsilon=epsilon)
    reports = claims if mask is None else mask.simulate(claims, rng)
    fit = BayesianCombination(shrink="one-coin").fit(reports, mechanism=mask)
    assert accuracy(fit, Truths.from_frame({"task": np.arange(150), "truth": truth})) > 0.85
    names = claims.workers.to_numpy()
    for part, right in ((names < 20, 0.9), (names >= 20, 0.5)):
        assert abs(fit.solution_.reliability[part].mean() - right) < 0.08
    with pytest.raises(ParameterError, match="shrink is 'nobody'"):
        BayesianCombination(shrink="nobody")  # type: ignore[arg-type]


def test_the_choice_does_not_depend_on_the_order_of_rows() -> None:
    """Splits follow from names: shuffled rows give the same scores to rounding."""
    claims, _ = crowd(4, misleading=0.4, tasks=120)
    table = claims.to_arrow()
    order = np.random.default_rng(0).permutation(len(claims))
    one, other = (Auto().fit(each).selection_ for each in (claims, table.take(order)))
    assert one["chosen"] == other["chosen"]
    assert np.allclose(one["score"].to_numpy(), other["score"].to_numpy(), atol=1e-6)


def test_nothing_is_compared_with_known_truths_or_one_option() -> None:
    """With gold, and where all say the same, the first model is taken and no score is given."""
    claims, _ = crowd(5, misleading=0.4, tasks=60)
    for fit in (
        Auto().fit(claims, gold={0: 1, 1: 0}),
        Auto().fit({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["a", "a", "a"]}),
    ):
        assert fit.chosen_.name == "bayesian-combination"
        assert fit.selection_["score"].null_count == len(fit.selection_) == 1


def test_masked_claims_are_predicted_through_the_mask() -> None:
    """Behind a weak mask kinds of tasks are still found, with reliability of answers."""
    claims, truths = crowd(6, misleading=0.4)
    mask = RandomizedResponse(2, epsilon=3)
    fit = Auto().fit(mask.simulate(claims, np.random.default_rng(1)), mechanism=mask)
    assert fit.chosen_.name == "subtypes"
    assert accuracy(fit, truths) > 0.85
    # Workers from 15 on are right on 85 or 90 % of tasks, whatever the mask does to reports.
    assert abs(fit.solution_.reliability[15:].mean() - 0.86) < 0.06


def test_an_unfitted_method_has_no_selection() -> None:
    """Asking why before fitting is an error, and so is a threshold of nothing."""
    with pytest.raises(NotFitted, match="Auto has learnt nothing"):
        _ = Auto().selection_
    with pytest.raises(ParameterError, match="threshold is 0"):
        Auto(threshold=0)


def test_known_truths_of_tasks_in_kinds_are_kept() -> None:
    """Subtypes keep gold labels, and their subtype is still inferred."""
    claims, _ = crowd(7, misleading=0.4, tasks=80)
    fit = Subtypes().fit(claims, gold={0: 1, 1: 0, 2: 1})
    assert fit.labels_[:3].tolist() == [1, 0, 1]
    assert np.allclose(fit.solution_.posteriors[:3], [[0, 1], [1, 0], [0, 1]])
    assert np.allclose(fit.solution_.posteriors.sum(axis=1), 1)


def test_one_subtype_is_a_model_of_confusions() -> None:
    """With one subtype, easy claims get the labels of the other models."""
    claims, truths = crowd(8, misleading=0.0, tasks=100)
    fit = Subtypes(subtypes=1).fit(claims)
    assert fit.converged_
    assert accuracy(fit, truths) > 0.97
    assert fit.solution_.confusion is not None
    assert np.allclose(fit.solution_.confusion.sum(axis=2), 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"subtypes": 0}, "subtypes is 0"),
        ({"right": 0.0}, "right is 0"),
        ({"wrong": -1.0}, "wrong is -1"),
        ({"tolerance": 0.0}, "tolerance is 0"),
    ],
)
def test_parameters_of_subtypes_are_checked(parameters: dict[str, float], message: str) -> None:
    """A value out of range is an error that names it."""
    with pytest.raises(ParameterError, match=message):
        Subtypes(**parameters)  # type: ignore[arg-type]


def test_folds_share_nothing_and_hold_everything() -> None:
    """Folds are disjoint, of about the same size, and together all claims on tasks of enough."""
    claims, _ = crowd(9, misleading=0.0, tasks=100)
    uniform, on_task = uniform_by_claim(claims, 0), np.full(len(claims), 12)
    folds = np.stack([Split(k, 10, 3).held_out(uniform, on_task) for k in range(10)])
    assert (folds.sum(axis=0) == 1).all()
    # 1,200 claims: a fold has 120 on average with a standard deviation of 10.4 (false alarm 1e-6)
    assert abs(folds.sum(axis=1) - 120).max() < 60
    assert not Split(0, 10, 13).held_out(uniform, on_task).any()


def test_claims_stay_with_every_task() -> None:
    """Sparing splits leave two claims of each task, one where it has two, and any only one."""
    rows = {"task": [1, 2, 2, *[3] * 3, *[4] * 9], "worker": [*range(15)], "value": [0.5] * 15}
    claims = Claims.from_frame(rows)
    for seed in range(20):
        kept = claims.among(~held_out_sparing(claims, seed, share=0.9))
        left = np.bincount(kept.task, minlength=4)
        assert (left >= [1, 1, 2, 2]).all()


def test_halves_are_of_workers() -> None:
    """No worker is in both halves, and tasks of few claims are in neither."""
    claims, _ = crowd(10, misleading=0.0, tasks=50)
    one, other = halves_by_worker(claims, 1, least=4)
    assert not set(claims.worker[one]) & set(claims.worker[other])
    assert (one | other).all()
    assert not any(half.any() for half in halves_by_worker(claims, 1, least=13))


def test_repeated_claims_are_never_split() -> None:
    """A worker's repeated claims on a task have one number."""
    rows = {"task": [1, 1, 2], "worker": ["a", "a", "a"], "label": ["x", "y", "x"]}
    drawn = uniform_by_claim(Claims.from_frame(rows, duplicates="all"), 3)
    assert drawn[0] == drawn[1] != drawn[2]
    assert ((drawn >= 0) & (drawn < 1)).all()


@pytest.mark.parametrize(("threshold", "place"), [(1.9, 1), (2.1, 0), (0.5, 2)])
def test_a_model_is_chosen_above_the_threshold_of_standard_errors(
    threshold: float, place: int
) -> None:
    """Of models 2 and 1 standard errors better, those above the threshold count; the best wins."""
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((2, 400))
    noise -= noise.mean(axis=1, keepdims=True)
    noise /= noise.std(axis=1, ddof=1, keepdims=True) / np.sqrt(400)
    # means 2 and 3 in units where standard errors are 1 and 3
    scores = np.stack([np.zeros(400), 2 + noise[0], 3 + 3 * noise[1]])
    gains = Gains.of(scores)
    assert gains.t(0) == pytest.approx([0, 2, 1], rel=1e-2)
    models = (BayesianCombination(), Subtypes(), OneCoin())
    assert Choice.of(models, 0, gains, threshold).chosen is models[place]
