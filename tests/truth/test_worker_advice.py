"""Advice on workers: odd ones are found with evidence, and honest workers are left alone."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd as simulated
from masquerade.truth import Auto, BayesianCombination, FittedCrowd, OneCoin, worker_advice


def crowd(seed: int, *, odd: str = "", tasks: int = 120, options: int = 2) -> Claims:
    """Return claims of ten honest workers, and of one more, or two, with an odd way to answer."""
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
    elif odd == "random":
        given["odd"] = rng.integers(0, options, tasks)
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
        ("random", "RANDOM", "of 320 tasks; by chance"),
        ("drifting", "DRIFTING", "of earlier and"),
    ],
)
@pytest.mark.parametrize("options", [2, 4])
def test_odd_workers_are_found_with_the_evidence(
    odd: str, code: str, words: str, options: int
) -> None:
    """Each kind is found and named once, says so in numbers, and is surer than one in a hundred."""
    for seed in range(3):
        tasks = 320 if odd == "random" else 120  # clicks look like any answers for long
        fit = BayesianCombination().fit(crowd(seed, odd=odd, options=options, tasks=tasks))
        rows: list[dict[str, Any]] = worker_advice(fit).to_pylist()
        assert [(row["worker"], row["advice"]) for row in rows] == [("odd", code)]
        assert words in rows[0]["evidence"]
        assert rows[0]["p_value"] < 0.01


def sparse_crowd(seed: int, *, readings: bool = False, copies: bool = False) -> Claims:
    """Return 800 tasks of six answers by fifteen workers; one more may copy all of w1.

    With `readings`, three in ten workers read a fifth of the tasks the other way.
    """
    rng = np.random.default_rng([seed, 9])
    truth, right = rng.integers(0, 2, 800), rng.uniform(0.75, 0.95, 15)
    disputed, otherwise = rng.random(800) < 0.2, rng.random(15) < 0.3
    rows = []
    for task in range(800):
        for worker in rng.choice(15, 6, replace=False):
            label = truth[task] ^ (readings and disputed[task] and otherwise[worker])
            label ^= rng.random() >= right[worker]
            rows.append((task, f"w{worker}", int(label)))
            if copies and worker == 1:
                rows.append((task, "copy", int(label)))
    columns = zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)
    return Claims.from_frame({name: list(column) for name, column in columns})


def test_copies_are_found_by_labels_that_two_alone_gave() -> None:
    """Of three crowds, the pair is named in each, with the common answers that nobody else gave."""
    for seed in range(3):
        (row,) = worker_advice(OneCoin().fit(sparse_crowd(seed, copies=True))).to_pylist()
        assert row["advice"] == "COPYING"
        assert {row["worker"], row["other"]} == {"w1", "copy"}
        assert "answers that only two people gave" in row["evidence"]


def test_readings_and_harder_tasks_accuse_nobody_of_copying_or_drifting() -> None:
    """Of 20 crowds with two readings, and 20 with a harder second half, nobody is (one may be)."""
    found = []
    for seed in range(20):
        found += worker_advice(OneCoin().fit(sparse_crowd(seed, readings=True))).to_pylist()
        rng = np.random.default_rng(seed)
        truth, right = rng.integers(0, 2, 400), rng.uniform(0.75, 0.95, 15)
        task, worker = np.repeat(np.arange(400), 6), np.tile(np.arange(15), 160)
        skill = np.where(task < 200, right[worker], 0.5 + (right[worker] - 0.5) / 2)
        label = np.where(rng.random(2400) < skill, truth[task], 1 - truth[task])
        claims = Claims.from_frame({"task": task, "worker": worker, "label": label})
        found += worker_advice(OneCoin().fit(claims)).to_pylist()
    assert sum(row["advice"] in ("COPYING", "DRIFTING") for row in found) <= 1


@pytest.mark.parametrize("repeats", [1, 3])
def test_labels_in_order_are_no_drift(repeats: int) -> None:
    """A worker asked first of one truth, then of two, and right as ever, does not drift.

    Others know other mixtures of truths. Repeated answers of a worker are not those of others.
    """
    for seed in range(5):
        rng = np.random.default_rng([seed, 3])
        truth = np.repeat([0, 1], [320, 480])
        rows = []
        for task in range(800):
            workers = rng.choice(10, 3, replace=False) + 1
            if task < 400:
                workers[0] = 0
            for worker in workers:
                right = rng.random() < 0.97
                label = int(truth[task] if right else 1 - truth[task])
                rows += [(task, int(worker), label)] * (repeats if worker == 0 else 1)
        columns = zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)
        table = {name: list(column) for name, column in columns}
        claims = Claims.from_frame(table, duplicates="all")
        assert "DRIFTING" not in worker_advice(OneCoin().fit(claims))["advice"].to_pylist()


def test_repeats_of_a_worker_are_not_others() -> None:
    """Two answers of a worker on a task are judged by the answers of other workers alone."""
    table = {
        "task": ["t", "t", "t", "u", "u", "v", "v", "v"],
        "worker": ["a", "a", "b", "a", "a", "a", "b", "c"],
        "label": [0, 0, 1, 1, 1, 1, 1, 0],
    }
    claims = Claims.from_frame(table, duplicates="all")
    advice = importlib.import_module("masquerade.truth.collection.worker_advice")
    crowd = FittedCrowd.of(OneCoin().fit(claims))
    place = np.zeros(len(claims), dtype=np.int64)
    found = advice._Reports.of(claims, place, crowd)
    # b's answer is all that a's two on t are judged by, and nothing is there for those on u.
    once = Claims.from_frame(table, duplicates="first")
    alone = advice._Reports.of(once, place[: len(once)], crowd)
    assert found.others[0] == pytest.approx(alone.others[0])
    k, o, shared = found.knowledge(np.zeros(len(claims)))
    assert shared.tolist() == [True, True, True, False, False, True, True, True]
    assert o[0] == pytest.approx(k[2])
    assert o[5] == pytest.approx((k[6] + k[7]) / 2)


def test_who_is_right_on_a_rare_class_is_not_constant() -> None:
    """With 2 % of truths, a worker nearly always right says 0 to all: nobody of 60 crowds."""
    rng, found = np.random.default_rng(9), []
    for _ in range(60):
        claims, _ = simulated(
            rng, tasks=100, workers=20, truth_shares=[0.98, 0.02], accuracy=(18.0, 2.0)
        )
        found += worker_advice(OneCoin().fit(claims))["advice"].to_pylist()
    assert "CONSTANT" not in found


def test_two_of_one_habit_do_not_copy() -> None:
    """Two that give one label nearly always are alone with it together: that is no copy."""
    for seed in range(5):
        rng = np.random.default_rng([seed, 4])
        rows = []
        truth = rng.integers(0, 4, 400)
        for t in range(400):
            for worker in rng.choice(12, 4, replace=False):
                right = rng.random() < 0.8
                rows.append((t, int(worker), int(truth[t]) if right else int(rng.integers(0, 4))))
            rows += [(t, lazy, 1 if rng.random() < 0.97 else 0) for lazy in (12, 13)]
        columns = zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)
        claims = Claims.from_frame({name: list(column) for name, column in columns})
        found = worker_advice(OneCoin().fit(claims)).to_pylist()
        assert [row for row in found if row["advice"] == "COPYING"] == []


def test_rings_are_not_named_as_pairs() -> None:
    """Three that share their odd labels two by two are readers alike or a ring: nobody copies."""
    rng = np.random.default_rng(5)
    rows = []
    for t in range(900):
        truth, ring = int(rng.integers(0, 4)), rng.choice([10, 11, 12], 2, replace=False)
        for worker in rng.choice(10, 4, replace=False):
            right = rng.random() < 0.9
            rows.append((t, int(worker), truth if right else int(rng.integers(0, 4))))
        shared = truth if rng.random() < 0.7 else (truth + 1) % 4
        rows += [(t, int(worker), shared) for worker in ring]
    columns = zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)
    claims = Claims.from_frame({name: list(column) for name, column in columns})
    assert "COPYING" not in worker_advice(OneCoin().fit(claims))["advice"].to_pylist()


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
    """Behind a mask nobody's reports are all one label by chance; such a worker sends none."""
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
