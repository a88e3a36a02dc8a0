"""Made-up crowds and studies of masking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd, study
from masquerade.truth import MajorityVote, OneCoin, accuracy


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_crowd_has_the_shape_asked_for() -> None:
    """Every task has the same number of answers, each of another worker, and a truth."""
    claims, truths = crowd(_rng(), tasks=50, workers=12, options=3, answers_per_task=5)
    assert (len(claims), claims.n_tasks, claims.n_options, len(truths)) == (250, 50, 3, 50)
    assert np.bincount(claims.task).tolist() == [5] * 50
    assert len(np.unique(claims.task * 12 + claims.worker)) == 250
    assert claims.options is not None
    assert claims.options.to_pylist() == ["0", "1", "2"]
    assert (truths.codes(claims) >= 0).all()


def test_a_crowd_is_the_claims_that_its_table_gives() -> None:
    """Codes are those that reading the same rows from a table would give."""
    claims, _ = crowd(_rng(1), tasks=30, workers=40, answers_per_task=2, options=4)
    again = Claims.from_frame(claims.to_arrow(), options=["0", "1", "2", "3"])
    assert again.workers.equals(claims.workers)
    assert again.tasks.equals(claims.tasks)
    for name in ("task", "worker", "value"):
        assert (getattr(again, name) == getattr(claims, name)).all()
        assert getattr(claims, name).dtype == np.int32


def test_workers_are_drawn_evenly() -> None:
    """Each worker gets the same share of tasks.

    n = 20000 answers of 10 workers: a share is off by six standard errors with a probability
    below 1e-6.
    """
    claims, _ = crowd(_rng(2), tasks=5000, workers=10, answers_per_task=4)
    assert np.abs(np.bincount(claims.worker) - 2000).max() < 6 * np.sqrt(20000 * 0.1 * 0.9)


def test_workers_have_the_accuracy_given() -> None:
    """Shares of right answers are the accuracies, and wrong answers are spread evenly.

    n = 4000 answers a worker, six standard errors: false alarms below 1e-6.
    """
    ability = np.array([0.3, 0.6, 0.9])
    claims, truths = crowd(
        _rng(3), tasks=4000, workers=3, options=4, answers_per_task=3, accuracy=ability
    )
    off = (claims.value - truths.codes(claims)[claims.task]) % 4
    for worker in range(3):
        share = np.bincount(off[claims.worker == worker], minlength=4) / 4000
        right = ability[int(str(claims.workers[worker])[1:])]
        assert share[0] == pytest.approx(right, abs=6 * 0.5 / np.sqrt(4000))
        assert share[1:] == pytest.approx((1 - right) / 3, abs=6 * 0.5 / np.sqrt(4000))


def test_accuracies_follow_the_beta_distribution() -> None:
    """Without given accuracies, the mean of Beta(a, b) is reached.

    n = 3000 workers: six standard errors of the mean (.0033 each).
    """
    claims, truths = crowd(
        _rng(4), tasks=30, workers=3000, answers_per_task=3000, accuracy=(4.0, 2.0)
    )
    right = (claims.value == truths.codes(claims)[claims.task]).mean()
    assert right == pytest.approx(2 / 3, abs=6 * 0.0036)


def test_truths_and_missing_answers_have_the_shares_given() -> None:
    """Shares of truths and of "no answer" are those asked for (n = 5000, six standard errors)."""
    claims, truths = crowd(
        _rng(5),
        tasks=5000,
        workers=5,
        options=3,
        answers_per_task=1,
        truth_shares=[0.7, 0.3, 0],
        null_share=0.25,
    )
    share = np.bincount(truths.codes(claims), minlength=3) / 5000
    assert share == pytest.approx([0.7, 0.3, 0], abs=0.04)
    assert claims.null
    assert (claims.value == 3).mean() == pytest.approx(0.25, abs=0.04)


def test_a_seed_makes_one_crowd() -> None:
    """The same generator state gives the same crowd."""
    first, second = (crowd(_rng(6), tasks=20, workers=8, answers_per_task=3) for _ in range(2))
    assert first[0].to_arrow().equals(second[0].to_arrow())
    assert first[1].table.equals(second[1].table)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tasks": 0}, "tasks is 0, expected at least 1"),
        ({"workers": 0}, "workers is 0"),
        ({"options": 1}, "options is 1, expected at least 2"),
        ({"answers_per_task": 6}, r"answers_per_task is 6, expected 1 to 5"),
        ({"accuracy": (0, 1)}, "expected two positive numbers"),
        ({"accuracy": [0.5]}, r"accuracy has shape \(1,\), expected \(5,\)"),
        ({"accuracy": [0.5, 0.5, 0.5, 0.5, 1.5]}, "with numbers from 0 to 1"),
        ({"truth_shares": [0.5, 0.6]}, "truth_shares is .* expected 2 numbers"),
        ({"null_share": 2}, "null_share is 2, expected 0 to 1"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    """A parameter out of range is refused, with the expected range."""
    given = {"tasks": 3, "workers": 5, "answers_per_task": 2, **parameters}
    with pytest.raises(ParameterError, match=message):
        crowd(_rng(), **given)


def test_a_study_has_a_row_for_every_epsilon_and_method() -> None:
    """Rows carry exact losses, the accuracy, its error, and the change against clean answers."""
    claims, truths = crowd(_rng(7), tasks=60, workers=12, answers_per_task=6, accuracy=(9, 1))
    table = study(
        claims, truths, mechanism="one-layer", epsilons=[2, 0], methods=["mv", OneCoin()], trials=8
    )
    rows = table.to_pylist()
    assert [(row["epsilon_single"], row["method"]) for row in rows] == [
        (2.0, "majority-vote"),
        (2.0, "one-coin"),
        (0.0, "majority-vote"),
        (0.0, "one-coin"),
    ]
    answers = np.sort(np.bincount(claims.worker))[6]
    assert rows[0]["epsilon_user"] == 2 * answers
    assert rows[0]["epsilon_event"] == 2
    clean = accuracy(MajorityVote().fit(claims), truths)
    for row in rows:
        assert row["trials"] == 8
        assert row["standard_error"] >= 0
        assert row["error_rate_change"] == pytest.approx(row["clean_accuracy"] - row["accuracy"])
    assert rows[0]["clean_accuracy"] == pytest.approx(clean)
    assert rows[0]["accuracy"] > 0.8
    assert rows[3]["accuracy"] == pytest.approx(0.5)  # nothing is learnt, every task is tied


def test_two_layers_cost_more_than_their_single_report() -> None:
    """The two-layer rows show a larger event-level loss than the single-report one."""
    claims, truths = crowd(_rng(8), tasks=40, workers=8, answers_per_task=4)
    row = study(
        claims, truths, mechanism="two-layer", epsilons=["0.5"], methods=["td"], trials=1
    ).to_pylist()[0]
    assert row["epsilon_single"] == pytest.approx(0.5, abs=2e-6)
    assert row["epsilon_event"] > 1
    assert np.isnan(row["standard_error"])


def test_a_study_is_reproducible_and_leaves_its_methods_alone() -> None:
    """One seed gives one table; estimators passed in stay as they were."""
    claims, truths = crowd(_rng(9), tasks=30, workers=8, answers_per_task=4)
    method = MajorityVote(seed=5)

    def run(seed: int) -> list[float]:
        table = study(
            claims,
            truths,
            mechanism=lambda epsilon, s: RandomizedResponse(s, epsilon=epsilon),
            epsilons=[1],
            methods=[method],
            trials=5,
            seed=seed,
        )
        found: list[float] = table["accuracy"].to_pylist()
        return found

    assert run(1) == run(1) != run(2)
    assert method.seed == 5
    assert not hasattr(method, "truths_")


def test_studies_that_make_no_sense_are_refused() -> None:
    """An unknown family, a method for numbers, or no trial is refused with the choices."""
    claims, truths = crowd(_rng(10), tasks=10, workers=5, answers_per_task=2)
    with pytest.raises(ParameterError, match="'three-layer' is unknown; expected one of one-layer"):
        study(claims, truths, mechanism="three-layer")
    with pytest.raises(ParameterError, match="Median is for numbers"):
        study(claims, truths, mechanism="one-layer", methods=["median"])
    with pytest.raises(ParameterError, match="trials is 0"):
        study(claims, truths, mechanism="one-layer", trials=0)
