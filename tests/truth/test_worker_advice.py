"""Advice on workers: what is odd is found with its evidence, and honest workers are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import Auto, BayesianCombination, worker_advice


def crowd(seed: int, *, odd: str = "", tasks: int = 120, options: int = 2) -> Claims:
    """Return claims of ten honest workers, and of one more, or two, who are odd in a way."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, options, tasks)

    def answers(right: np.ndarray) -> np.ndarray:
        wrong = (truth + rng.integers(1, options, tasks)) % options
        return np.where(rng.random(tasks) < right, truth, wrong)

    given = {f"w{w}": answers(np.full(tasks, rng.uniform(0.7, 0.9))) for w in range(10)}
    if odd == "below":
        given["odd"] = answers(np.full(tasks, 0.3 / options**2))
    elif odd == "constant":
        given["odd"] = np.zeros(tasks, dtype=int)
    elif odd == "copying":
        given["odd"] = given["w3"].copy()
    elif odd == "drifting":
        given["odd"] = answers(np.where(np.arange(tasks) < tasks // 2, 0.95, 0.5))
    rows = [(t, name, int(label[t])) for t in range(tasks) for name, label in given.items()]
    task, worker, label = zip(*rows, strict=True)
    return Claims.from_frame({"task": task, "worker": worker, "label": label})


@pytest.mark.parametrize(
    ("odd", "code", "words"),
    [
        ("below", "BELOW_CHANCE", "by chance it would be"),
        ("constant", "CONSTANT", "all 120 answers are 0"),
        ("copying", "COPYING", "on 120 of 120 shared tasks"),
        ("drifting", "DRIFTING", "of earlier and"),
    ],
)
@pytest.mark.parametrize("options", [2, 4])
def test_who_is_odd_is_found_with_the_evidence(
    odd: str, code: str, words: str, options: int
) -> None:
    """Each kind is found, says so in numbers, and is surer than one in a hundred."""
    for seed in range(3):
        fit = BayesianCombination().fit(crowd(seed, odd=odd, options=options))
        rows: list[dict[str, Any]] = worker_advice(fit).to_pylist()
        found = [row for row in rows if row["advice"] == code]
        assert len(found) == 1
        assert "odd" in (found[0]["worker"], found[0]["other"])
        assert words in found[0]["evidence"]
        assert found[0]["p_value"] < 0.01
        if odd == "copying":
            assert {found[0]["worker"], found[0]["other"]} == {"w3", "odd"}


def test_honest_workers_are_left_alone() -> None:
    """Of 60 honest crowds, clear and masked, at most two have any remark (one in 100 may)."""
    alarms = 0
    mask = RandomizedResponse(3, epsilon=2)
    for seed in range(30):
        claims = crowd(100 + seed, options=3)
        alarms += bool(len(worker_advice(BayesianCombination().fit(claims))))
        reports = mask.simulate(claims, np.random.default_rng(seed))
        fit = BayesianCombination().fit(reports, mechanism=mask)
        alarms += bool(len(worker_advice(fit, mechanism=mask)))
    assert alarms <= 2


def test_a_device_that_does_not_mask_is_seen() -> None:
    """Behind a mask nobody's reports are all one label by chance; whose are, sends no reports."""
    mask, rng = RandomizedResponse(2, epsilon=1), np.random.default_rng(1)
    claims = crowd(7, odd="constant")
    reports = mask.simulate(claims, rng)
    odd = claims.workers.to_pylist().index("odd")
    value = np.where(claims.worker == odd, 0, reports.value).astype(np.int32)
    fit = Auto().fit(reports.with_values(value), mechanism=mask)
    assert ("odd", "CONSTANT") in [
        (row["worker"], row["advice"]) for row in worker_advice(fit, mechanism=mask).to_pylist()
    ]


def test_few_answers_are_no_evidence() -> None:
    """With four answers each nobody is remarked on, and a wrong significance is refused."""
    fit = BayesianCombination().fit(crowd(1, odd="constant", tasks=4))
    assert worker_advice(fit).num_rows == 0
    with pytest.raises(ParameterError, match="significance"):
        worker_advice(fit, significance=0)
