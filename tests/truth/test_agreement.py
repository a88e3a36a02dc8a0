"""Agreement, calibration and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.representative import first_of_each

from masquerade.answers import Claims, Truths
from masquerade.errors import InputError, ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd
from masquerade.truth import (
    Auto,
    BayesianCombination,
    CategoricalEstimator,
    MajorityVote,
    OneCoin,
    Subtypes,
    TwoCoin,
    calibration_table,
    cohen_kappa,
    expected_calibration_error,
    fleiss_kappa,
    krippendorff,
    krippendorff_alpha,
    reliability_intervals,
    truth_share_intervals,
)
from masquerade.truth.agreement import Distance
from masquerade.truth.agreement_surplus import agreement_surplus
from masquerade.truth.categorical import problem_of
from masquerade.truth.problem import gold_codes

DISTANCES: tuple[Distance, ...] = ("nominal", "ordinal", "interval")

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C: four observers.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


def _observed(column: str) -> dict[str, list[object]]:
    cells = [
        (unit, who, int(label))
        for who, row in enumerate(OBSERVERS)
        for unit, label in enumerate(row.split())
        if label != "."
    ]
    return dict(zip(("task", "worker", column), map(list, zip(*cells, strict=True)), strict=True))


def test_alpha_of_the_published_example() -> None:
    """Nominal and interval alpha are .743 and .849, as published."""
    assert krippendorff_alpha(_observed("label")) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(_observed("value")) == pytest.approx(0.849, abs=5e-4)


def test_alpha_of_an_order_is_that_of_all_pairs() -> None:
    """Every distance agrees with the sums over all pairs; the published ordinal alpha is .815."""
    found = {one: krippendorff(_observed("label"), distance=one).value for one in DISTANCES}
    assert found["ordinal"] == pytest.approx(0.815, abs=5e-4)
    assert found["nominal"] == pytest.approx(0.743, abs=5e-4)
    assert found["interval"] == pytest.approx(0.849, abs=5e-4)
    words = _observed("label")
    words["label"] = ["abcde"[int(str(one)) - 1] for one in words["label"]]
    ordered = krippendorff(words, distance="ordinal", order="abcde")
    assert ordered.value == pytest.approx(found["ordinal"])
    assert krippendorff(words, order="abcde") == ordered
    with pytest.raises(ParameterError, match="no order of their own"):
        krippendorff(words, distance="ordinal")
    with pytest.raises(ParameterError, match="name each label once"):
        krippendorff(words, distance="ordinal", order="abc")


def test_missing_labels_are_no_answers() -> None:
    """A table with missing labels agrees as one without these rows."""
    table: dict[str, list[object]] = _observed("label")
    longer = {name: [*each] for name, each in table.items()}
    longer["task"].append(0)
    longer["worker"].append(9)
    longer["label"].append(None)
    assert krippendorff_alpha(longer) == pytest.approx(krippendorff_alpha(table))
    kept = Claims.from_frame(longer, missing="drop")
    assert len(kept) == len(table["label"])
    with pytest.raises(InputError, match="missing='drop'"):
        Claims.from_frame(longer)


def test_kappa_of_two_has_the_published_error() -> None:
    """Fleiss, Cohen and Everitt (1969), table 1: kappa .429 with error .054."""
    # Proportions of 200 subjects, by two judges and three diagnoses.
    table = np.array([[0.53, 0.05, 0.02], [0.11, 0.14, 0.05], [0.01, 0.06, 0.03]])
    counts = np.rint(table * 200).astype(int)
    cells = [(a, b) for a in range(3) for b in range(3) for _ in range(counts[a, b])]
    first, second = zip(*cells, strict=True)
    claims = {"task": [*range(200)] * 2, "worker": [0] * 200 + [1] * 200, "label": first + second}
    found = cohen_kappa(claims)
    assert found.value == pytest.approx(0.429, abs=5e-4)
    assert found.error == pytest.approx(0.054, abs=5e-4)
    assert found.low < 0.429 < found.high
    assert (found.tasks, found.answers) == (200, 400)
    for weights in ("linear", "quadratic"):
        sklearn = pytest.importorskip("sklearn.metrics")
        theirs = sklearn.cohen_kappa_score(first, second, weights=weights)
        assert cohen_kappa(claims, weights=weights).value == pytest.approx(theirs)
    with pytest.raises(InputError, match="is of two"):
        cohen_kappa(_observed("label"))


def test_audit_intervals_of_agreement_hold() -> None:
    """Of 200 crowds of 40 tasks, at least 164 intervals hold (promised .91; false alarm 1e-6)."""
    rng = np.random.default_rng(3)

    def crowd_of(tasks: int, workers: int) -> Claims:
        truth = rng.integers(0, 3, tasks)
        said = np.where(
            rng.random((tasks, workers)) < 0.7, truth[:, None], rng.integers(0, 3, (tasks, workers))
        )
        task = np.repeat(np.arange(tasks), workers)
        worker = np.tile(np.arange(workers), tasks)
        return Claims.from_frame({"task": task, "worker": worker, "label": said.ravel()})

    large = krippendorff(crowd_of(40_000, 3)).value
    pair = cohen_kappa(crowd_of(40_000, 2)).value
    held = np.zeros(2)
    for _ in range(200):
        alpha, kappa = krippendorff(crowd_of(40, 3)), cohen_kappa(crowd_of(40, 2))
        held += [alpha.low <= large <= alpha.high, kappa.low <= pair <= kappa.high]
    assert held.min() >= 164


def test_alpha_needs_two_answers() -> None:
    """Without a task of two answers nothing can be compared; equal answers compare to nothing."""
    with pytest.raises(InputError, match="two answers"):
        krippendorff_alpha({"task": [1, 2], "worker": [1, 1], "label": ["a", "b"]})
    same = {"task": [1, 1], "worker": [1, 2], "label": ["a", "a"]}
    assert math.isnan(krippendorff_alpha(same))
    assert math.isnan(fleiss_kappa(same))


def test_kappa_of_the_published_example() -> None:
    """Kappa of the usual worked example (10 subjects, 14 raters, 5 categories) is .210."""
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    rows: dict[str, list[int]] = {"task": [], "worker": [], "label": []}
    for task, counts in enumerate(table):
        for worker, label in enumerate(np.repeat(range(5), counts)):
            rows["task"].append(task)
            rows["worker"].append(worker)
            rows["label"].append(int(label))
    assert fleiss_kappa(rows) == pytest.approx(0.210, abs=5e-4)


def test_kappa_needs_a_full_design() -> None:
    """Tasks with different numbers of answers, and numbers, are refused."""
    with pytest.raises(InputError, match="krippendorff_alpha"):
        fleiss_kappa({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["a", "a", "b"]})
    with pytest.raises(ParameterError, match="categories"):
        fleiss_kappa({"task": [1, 1], "worker": [1, 2], "value": [1.5, 2.0]})


def test_surplus_is_standard_without_agreement() -> None:
    """Over 300 crowds that answer without regard to tasks, its mean is 0 and its deviation 1.

    Tolerances are four standard errors, and .1 for what workers' rates are estimated from.
    """
    rng = np.random.default_rng(1)
    found = []
    for _ in range(300):
        task, worker = (part.ravel() for part in np.indices((40, 8)))
        label = (rng.random(320) < np.linspace(0.2, 0.8, 8)[worker]).astype(int)
        claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
        found.append(agreement_surplus(problem_of(claims, None, gold_codes(None, claims))[0]))
    assert np.mean(found) == pytest.approx(0, abs=4 / math.sqrt(300) + 0.1)
    assert np.std(found) == pytest.approx(1, abs=4 / math.sqrt(600) + 0.1)


def test_calibration_counts_labels() -> None:
    """A label of posterior 2/3 that is right one time in two is 1/6 off."""
    rows = {
        "task": ["a"] * 3 + ["b"] * 3,
        "worker": ["x", "y", "z"] * 2,
        "label": ["n", "n", "y", "n", "n", "y"],
    }
    truths = Truths.from_frame({"task": ["a", "b"], "truth": ["n", "y"]})
    fit = MajorityVote().fit(rows)
    assert expected_calibration_error(fit, truths) == pytest.approx(1 / 6)
    (row,) = calibration_table(fit, truths, bins=2).to_pylist()
    assert (row["least"], row["most"], row["tasks"], row["accuracy"]) == (0.5, 1.0, 2, 0.5)
    with pytest.raises(ParameterError, match="bins"):
        calibration_table(fit, truths, bins=0)
    with pytest.raises(InputError, match="name tasks alike"):
        calibration_table(fit, Truths.from_frame({"task": ["c"], "truth": ["n"]}))


def test_posteriors_of_the_right_model_are_calibrated() -> None:
    """On 2,000 tasks made up by the model, full trust is calibrated to .03, the default to .08.

    The default is too modest there, for crowds that share mistakes.
    """
    claims, truths = crowd(np.random.default_rng(2), tasks=2000, workers=60, answers_per_task=7)
    full = BayesianCombination(trust=(1.0,)).fit(claims)
    assert expected_calibration_error(full, truths) < 0.03
    fit = BayesianCombination().fit(claims)
    assert expected_calibration_error(fit, truths) < 0.08
    table = calibration_table(fit, truths)
    assert (table["accuracy"].to_numpy() >= table["mean_posterior"].to_numpy() - 0.03).all()


@pytest.mark.parametrize(
    ("method", "options", "epsilon", "size"),
    first_of_each(
        [
            (Auto, 3, None, (300, 60, 10)),
            (BayesianCombination, 5, None, (300, 60, 10)),
            (BayesianCombination, 2, 2.0, (300, 60, 10)),
            (OneCoin, 5, 1.0, (300, 60, 10)),
            (OneCoin, 2, None, (200, 20, 5)),
            (TwoCoin, 3, 2.0, (200, 20, 5)),
            (Subtypes, 3, None, (200, 20, 5)),
            (BayesianCombination, 2, 1.0, (300, 60, 10)),
            (BayesianCombination, 5, 2.0, (200, 20, 5)),
            (BayesianCombination, 2, 1.0, (200, 20, 5)),
        ]
    ),
)
def test_intervals_of_reliability_cover(
    method: type[CategoricalEstimator],
    options: int,
    epsilon: float | None,
    size: tuple[int, int, int],
) -> None:
    """90 % intervals hold 85 to 95 in a hundred of workers' accuracies, masked or not."""
    tasks, workers, each = size
    mask = None if epsilon is None else RandomizedResponse(options, epsilon=epsilon)
    held = []
    for seed in range(800 // workers):
        rng = np.random.default_rng([3, seed])
        ability = rng.beta(4, 2, workers)
        claims, _ = crowd(
            rng,
            tasks=tasks,
            workers=workers,
            options=options,
            answers_per_task=each,
            accuracy=ability,
        )
        if mask is not None:
            claims = mask.simulate(claims, rng)
        table = reliability_intervals(method().fit(claims, mechanism=mask))
        true = ability[[int(name[1:]) for name in table["worker"].to_pylist()]]
        held.append((table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy()))
    assert 0.85 <= np.mean(np.concatenate(held)) <= 0.95


@pytest.mark.parametrize("method", [Auto, BayesianCombination, OneCoin, Subtypes])
def test_intervals_are_the_priors_where_claims_tell_nothing(
    method: type[CategoricalEstimator],
) -> None:
    """A lone worker, and anybody behind epsilon 0, is as reliable as the prior says."""
    alone = {"task": range(30), "worker": ["x"] * 30, "label": [task % 2 for task in range(30)]}
    claims, _ = crowd(np.random.default_rng(6), tasks=30, workers=6, answers_per_task=4)
    masked = method().fit(claims, mechanism=RandomizedResponse(2, epsilon=0))
    for table in map(reliability_intervals, (method().fit(alone), masked)):
        assert table["reliability"].to_pylist() == pytest.approx([2 / 3] * len(table), abs=0.03)
        assert max(table["low"].to_pylist()) < 0.4
        assert min(table["high"].to_pylist()) > 0.9


def test_gold_counts_in_intervals() -> None:
    """Known truths judge workers in intervals too: one that is wrong on all is known to be."""
    table = {
        "task": [task for task in range(20) for _ in range(2)],
        "worker": ["right", "wrong"] * 20,
        "label": ["yes", "no"] * 20,
    }
    fit = OneCoin().fit(table, gold=dict.fromkeys(range(20), "yes"))
    found = {row["worker"]: row for row in reliability_intervals(fit).to_pylist()}
    assert found["right"]["low"] > 0.7
    assert found["wrong"]["high"] < 0.3


def test_intervals_of_truth_shares_cover() -> None:
    """90% intervals hold the population's share of a truth in 86% to 94% of 150 crowds."""
    held = []
    for seed in range(150):
        rng = np.random.default_rng([4, seed])
        claims, _ = crowd(
            rng,
            tasks=120,
            workers=20,
            truth_shares=[0.7, 0.3],
            answers_per_task=9,
            accuracy=(6.0, 2.0),
        )
        table = truth_share_intervals(BayesianCombination().fit(claims))
        held.append(table["low"][1].as_py() <= 0.3 <= table["high"][1].as_py())
    assert 0.86 <= np.mean(held) <= 0.94


def test_a_method_without_errors_gives_no_intervals() -> None:
    """Votes do not say how sure they are of a worker; a confidence must be a probability."""
    claims, _ = crowd(np.random.default_rng(5), tasks=20, workers=5, answers_per_task=5)
    with pytest.raises(ParameterError, match="OneCoin"):
        reliability_intervals(MajorityVote().fit(claims))
    with pytest.raises(ParameterError, match="confidence"):
        reliability_intervals(OneCoin().fit(claims), confidence=1.0)
