"""Labels while they are collected: the next task and worker, the time to stop, and saving."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims, Truths
from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    InputError,
    MixedTypes,
    ParameterError,
    UnknownLabel,
    UnreadableFile,
)
from masquerade.mechanisms import RandomizedResponse, TwoLayer
from masquerade.simulate import crowd
from masquerade.truth import Collection, PosteriorStop, TotalStop, accuracy
from masquerade.truth.collection.task_posteriors import labels_swapped, posteriors_of_votes
from masquerade.truth.collection.task_rules import (
    GainStop,
    StoppingRule,
    TaskState,
    accuracy_gain,
    information_gain,
    stopping_rule,
    task_scores,
)
from masquerade.truth.report_mechanisms import ReportMechanisms

MASK = RandomizedResponse(2, epsilon=3)
TASKS = list("abcdef")


def begun(**more: Any) -> Collection:
    """Return a collection of six tasks with two options."""
    given: dict[str, Any] = {"tasks": TASKS, "options": ["no", "yes"], "mechanism": MASK, **more}
    return Collection(**given)


def batch(*rows: str, **more: Any) -> dict[str, Any]:
    """Return answers written as ``task worker label``."""
    task, worker, label = zip(*(row.split() for row in rows), strict=True)
    return {"task": list(task), "worker": list(worker), "label": list(label), **more}


def test_disputed_tasks_are_asked_before_agreed_ones() -> None:
    """First come tasks without an answer, then disputed ones, then those where votes agree."""
    rows = [
        f"{task} {worker} {'yes' if task != 'c' or worker == 'x' else 'no'}"
        for task in "abcde"
        for worker in "xy"
    ]
    collection = begun().partial_fit(batch(*rows))
    assert collection.open_tasks_[:2] == ["f", "c"]
    assert collection.next_tasks("z", count=2) == ["f", "c"]


def test_nobody_is_offered_a_task_twice() -> None:
    """No answered task, none declined in an earlier batch, none in both at once."""
    collection = begun().partial_fit(batch("a x yes", "b x no"))
    first = collection.next_tasks("x", count=10)
    assert sorted(first) == ["c", "d", "e", "f"]
    assert collection.next_tasks("x", count=10) == []
    collection.partial_fit(batch("c y no"))
    assert collection.next_tasks("x", count=10) == []
    assert set(collection.next_tasks("z", count=10)) == set(TASKS)


def test_within_a_batch_a_task_is_offered_to_one_person() -> None:
    """A task offered to one is not offered to the next, until the batch is closed."""
    collection = begun()
    first = collection.next_tasks("x", count=4)
    assert set(collection.next_tasks("y", count=10)) == set(TASKS) - set(first)
    assert collection.next_workers(first[0], ["z"]) == ["z"]
    collection.partial_fit(batch(f"{first[0]} x yes"))
    assert len(collection.next_tasks("z", count=10)) == 5  # one was offered before


def test_a_person_is_asked_for_so_many_answers_and_no_more() -> None:
    """The limit counts answers and outstanding offers; offers lapse when the batch closes."""
    collection = begun(most_per_worker=3).partial_fit(batch("a x yes"))
    assert len(collection.next_tasks("x", count=5)) == 2
    assert collection.next_tasks("x") == []
    assert collection.next_workers("f", ["x", "y"], count=2) == ["y"]
    collection.partial_fit(batch("a y yes"))
    assert len(collection.next_tasks("x", count=5)) == 2


def test_a_fixed_total_counts_answers_and_offers() -> None:
    """With a total of 1.5 answers on each of six tasks, nine are asked for in all."""
    collection = begun(stop=TotalStop(answers_per_task=1.5))
    collection.partial_fit(batch(*(f"{task} x yes" for task in TASKS)))
    assert len(collection.next_tasks("y", count=2)) == 2
    assert len(collection.next_tasks("z", count=5)) == 1
    collection.partial_fit(batch("a y yes", "b y yes", "c z no"))
    assert collection.open_tasks_ == []
    assert collection.next_tasks("w") == []


@pytest.mark.parametrize(
    "more",
    [
        {"mechanism": None},
        {"mechanism": RandomizedResponse(2, flip_probability=0)},
        {"mechanism": {"low": MASK, "none": RandomizedResponse(2, flip_probability=0)}},
    ],
)
def test_assignment_from_clear_answers_is_refused(more: dict[str, Any]) -> None:
    """Without a mask nobody is offered anything, unless nothing was promised to anybody."""
    with pytest.raises(ParameterError, match="answers are in clear"):
        begun(**more).next_tasks("x")
    with pytest.raises(ParameterError, match="answers are in clear"):
        begun(**more).next_workers("a", ["x"])
    assert begun(**more, public_answers=True).next_tasks("x")
    assert begun(**more, public_answers=True).next_workers("a", ["x"])


def test_gold_tasks_are_mixed_in_and_ask_for_nothing_else() -> None:
    """Known truths are offered at their share, to each person once, and never hold up a task."""
    gold = {"a": "yes", "b": "no"}
    offered = begun(gold=gold, gold_share=0.5).next_tasks("x", count=6)
    assert set("cdef") < set(offered)
    assert len(set(offered)) == len(offered)
    shares = [
        begun(gold=gold, gold_share=0.5, seed=s).next_tasks("x")[0] in gold for s in range(200)
    ]
    assert 0.3 < np.mean(shares) < 0.7  # standard deviation .035
    assert not {"a", "b"} & set(begun(gold=gold, gold_share=0).next_tasks("x", count=6))
    assert not {"a", "b"} & set(begun(gold=gold).open_tasks_)
    collection = begun(gold=gold).partial_fit(batch("a x no", "b x yes", "c x yes", "c y no"))
    table = {row["task"]: row["label"] for row in collection.truths_.to_pylist()}
    assert (table["a"], table["b"]) == ("yes", "no")


def test_whom_to_ask_follows_what_a_worker_tells_for_the_price() -> None:
    """A good worker is asked before a guesser, and a cheap one before a dear one alike."""
    rng = np.random.default_rng(3)
    names = [f"t{t}" for t in range(201)]
    rows: dict[str, list[Any]] = {"task": [], "worker": [], "label": []}
    for task in range(200):
        for worker, right in (("good", 0.97), ("also", 0.97), ("third", 0.9), ("guess", 0.5)):
            rows["task"].append(names[task])
            rows["worker"].append(worker)
            rows["label"].append("ny"[task % 2 if rng.random() < right else 1 - task % 2])
    collection = Collection(tasks=names, options=["n", "y"], mechanism=MASK)
    collection.partial_fit(rows)
    collection.stop = TotalStop(answers_per_task=9)
    assert collection.next_workers("t200", ["guess", "good"]) == ["good"]
    assert collection.next_workers("t200", ["good"]) == []  # was offered it
    assert collection.next_workers("t200", ["also", "third"], prices={"also": 30.0}) == ["third"]
    with pytest.raises(ParameterError, match="price of 'also'"):
        collection.next_workers("t200", ["also"], prices={"also": 0})
    with pytest.raises(ParameterError, match="'zebra' is none of the 201"):
        collection.next_workers("zebra", ["also"])


def test_batches_are_checked() -> None:
    """A second answer, another task or label, another mask, other ids: each is an error."""
    collection = begun().partial_fit(batch("a x yes"))
    with pytest.raises(DuplicateClaim, match="row 2: worker 'x' has answered task 'a'"):
        collection.partial_fit(batch("b x yes", "a x no"))
    with pytest.raises(InputError, match="'g' is not among the 6 declared tasks"):
        collection.partial_fit(batch("g x yes"))
    with pytest.raises(UnknownLabel, match="'maybe'"):
        collection.partial_fit(batch("b x maybe"))
    with pytest.raises(MixedTypes, match="ids of one type"):
        collection.partial_fit({"task": ["b"], "worker": [7], "label": ["no"]})
    assert len(collection.claims_) == 1  # what was refused left nothing behind
    with pytest.raises(ParameterError, match="each once"):
        begun(tasks=["a", "a"])
    with pytest.raises(ParameterError, match="none of the tasks"):
        begun(gold={"z": "yes"})
    with pytest.raises(UnknownLabel):
        begun(gold={"a": "maybe"})
    with pytest.raises(ParameterError, match="gold_share"):
        begun(gold_share=2)
    with pytest.raises(ParameterError, match="no level"):
        begun(mechanism={})
    with pytest.raises(EmptyTable, match="no answer yet"):
        _ = begun().truths_


def test_levels_may_differ_by_batch_and_person() -> None:
    """Answers of several levels count by their own masks, also where a level comes later."""
    levels = {"low": RandomizedResponse(2, epsilon=5), "high": RandomizedResponse(2, epsilon="0.5")}
    collection = begun(mechanism=levels)
    rows = [f"{task} w{w} {'yes' if task < 'd' else 'no'}" for task in TASKS for w in range(4)]
    collection.partial_fit(batch(*rows, level=["low"] * 24))
    # Seven of nine contradict, others at each task: a majority of votes, and chance by the mask.
    noise = [
        f"{task} v{w} {'no' if (task < 'd') == ((w + place) % 9 < 7) else 'yes'}"
        for place, task in enumerate(TASKS)
        for w in range(9)
    ]
    collection.partial_fit(batch(*noise, level=["high"] * 54))
    labels = dict(zip(*collection.truths_.to_pydict().values(), strict=True))
    assert labels == {task: "yes" if task < "d" else "no" for task in TASKS}
    assert collection.crowd_.confusion.shape == (13, 2, 2)


def test_labels_come_with_their_limits_and_without_intervals() -> None:
    """The remark on adaptive numbers of answers is there; intervals of fixed numbers are not."""
    collection = begun().partial_fit(batch("a x yes", "a y yes", "b x no"))
    assert collection.remarks_[0].code == "ADAPTIVE"
    assert collection.truths_["task"].to_pylist() == TASKS
    assert collection.posteriors_.column_names == ["task", "no", "yes"]
    assert set(collection.reliability_["worker"].to_pylist()) == {"x", "y"}
    assert not hasattr(collection, "solution_")


def test_fewer_answers_reach_the_accuracy_of_more() -> None:
    """On a made-up crowd 3.5 chosen answers a task are as good as 3.5 even ones, and better."""
    gain = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        claims, truths = crowd(rng, tasks=200, workers=40, answers_per_task=12)
        reports = MASK.simulate(claims, rng)
        chosen, even = _replayed(reports), _first(reports, 3.5)
        gain.append(accuracy(chosen, truths) - accuracy(even, truths))
    assert np.mean(gain) > 0.02


def _replayed(reports: Claims) -> Any:
    """Return the collection that asks for 3.5 answers a task, and gets the next recorded."""
    from masquerade.truth import Auto

    tasks = reports.tasks.to_pylist()
    assert reports.options is not None
    collection = Collection(tasks=tasks, options=reports.options.to_pylist(), mechanism=MASK)
    rows = [np.flatnonzero(reports.task == task).tolist() for task in range(len(tasks))]
    table, used, wanted = reports.to_arrow(), [0] * len(tasks), list(range(len(tasks)))
    while wanted:
        taken = [rows[task][used[task]] for task in wanted]
        for task in wanted:
            used[task] += 1
        collection.partial_fit(table.take(taken))
        left = min(20, 700 - sum(used))
        wanted = [tasks.index(name) for name in collection.open_tasks_][:left]
    assert sum(used) == 700
    return Auto().fit(collection.claims_, mechanism=MASK)


def _first(reports: Claims, each: float) -> Any:
    """Return a fit of the first answers of each task, on every other task one more."""
    from masquerade.truth import Auto

    rows = [
        row
        for task in range(reports.n_tasks)
        for row in np.flatnonzero(reports.task == task)[: int(each) + task % 2].tolist()
    ]
    return Auto().fit(reports.to_arrow().take(rows), mechanism=MASK)


def test_a_saved_collection_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """After saving and loading, ranking, offers, labels and advice are the same."""
    levels = {"low": RandomizedResponse(2, epsilon=4), "high": RandomizedResponse(2, epsilon=1)}
    one = begun(
        mechanism=levels,
        gold={"f": "yes"},
        stop=PosteriorStop(most=4),
        most_per_worker=5,
        seed=9,
    )
    assert (Collection.load(_saved(one, tmp_path / "new"))).open_tasks_ == one.open_tasks_
    one.partial_fit(batch("a x yes", "b x no", "a y no", level=["low", "low", "high"]))
    one.next_tasks("x", count=2)
    other = Collection.load(_saved(one, tmp_path / "used"))
    assert other.open_tasks_ == one.open_tasks_
    assert other.truths_.equals(one.truths_)
    assert other.stop == one.stop
    assert other.next_tasks("x", count=5) == one.next_tasks("x", count=5)
    more = batch("c x yes", "a z no", level=["high", "low"])
    assert other.partial_fit(more).truths_.equals(one.partial_fit(more).truths_)
    one.save(tmp_path / "used")  # over an earlier state
    assert len(Collection.load(tmp_path / "used").claims_) == 5


def _saved(collection: Collection, folder: Path) -> Path:
    collection.save(folder)
    return folder


def test_a_folder_of_another_kind_or_version_is_refused(tmp_path: Path) -> None:
    """Nothing is read that this version does not know, and nothing of another kind overwritten."""
    begun().save(tmp_path / "a")
    facts = json.loads((tmp_path / "a" / "masquerade.json").read_text("utf-8"))
    for change, message in (({"version": 2}, "of version 2"), ({"format": "x"}, "holds 'x'")):
        (tmp_path / "a" / "masquerade.json").write_text(json.dumps({**facts, **change}), "utf-8")
        with pytest.raises(UnreadableFile, match=message):
            Collection.load(tmp_path / "a")
    with pytest.raises(UnreadableFile, match="holds 'x'"):
        begun().save(tmp_path / "a")
    with pytest.raises(UnreadableFile, match="name the folder"):
        Collection.load(tmp_path / "b")


def test_stopping_rules_stop_what_they_say() -> None:
    """The posterior rule by certainty, the gain rule by worth and price, each at the most."""
    state = TaskState(
        np.array([1.0, 2.0, 2.0, 10.0]),
        np.array([0.999, 0.99, 0.6, 0.6]),
        np.array([0.0, 0.001, 0.1, 0.1]),
    )
    assert PosteriorStop(probability=0.98).stopped(state).tolist() == [False, True, False, True]
    assert GainStop(worth=1, price=0.02).stopped(state).tolist() == [False, True, False, True]
    assert GainStop(worth=1, price=0.2).stopped(state).tolist() == [False, True, True, True]
    assert TotalStop(answers_per_task=3.75).stopped(state).all()


@pytest.mark.parametrize(
    ("rule", "more", "message"),
    [
        (PosteriorStop, {"probability": 1.0}, "probability"),
        (GainStop, {"worth": 1, "price": 0}, "price"),
        (TotalStop, {"answers_per_task": 0}, "answers_per_task"),
        (TotalStop, {"most": 0}, "most"),
    ],
)
def test_stopping_rules_check_what_they_are_given(
    rule: type[StoppingRule], more: dict[str, Any], message: str
) -> None:
    """A number outside its range is an error that names it."""
    with pytest.raises(ParameterError, match=message):
        rule(**more)
    with pytest.raises(ParameterError, match="'best' is unknown"):
        stopping_rule("best", {})
    with pytest.raises(ParameterError, match="gain"):
        stopping_rule("gain", {"worth": 1})


def test_the_disputed_task_is_asked_about_first() -> None:
    """A task split two to two has doubt 1/2, one of four equal votes sqrt(1/32 x .01)."""
    posterior, votes = np.array([[0.5, 0.5], [0.99, 0.01]]), np.array([[2.0, 2.0], [4.0, 0.0]])
    assert task_scores(posterior, votes) == pytest.approx([0.5, np.sqrt(0.01 / 32)])


def test_gains_are_what_they_are_by_hand() -> None:
    """One report of a binary symmetric channel tells ln 2 less its entropy, and .3 of accuracy."""
    half, crowd = np.array([[0.5, 0.5]]), np.array([[0.8, 0.2], [0.2, 0.8]])
    entropy = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2))
    assert information_gain(half, crowd)[0] == pytest.approx(np.log(2) - entropy)
    assert accuracy_gain(half, crowd)[0] == pytest.approx(0.3)
    assert accuracy_gain(np.array([[0.99, 0.01]]), crowd)[0] == pytest.approx(0)


def test_swapped_labels_are_seen() -> None:
    """A fit that another naming of labels brings nearer to the votes is swapped, with three too."""
    votes = np.repeat(np.eye(3) * 3, 5, axis=0)
    posterior = np.repeat(np.eye(3), 5, axis=0) * 0.8 + 0.1
    assert not labels_swapped(posterior, votes)
    assert labels_swapped(posterior[:, [1, 0, 2]], votes)
    plain = posteriors_of_votes(votes, None)
    assert not labels_swapped(plain, votes)
    masked = posteriors_of_votes(votes, ReportMechanisms((RandomizedResponse(3, epsilon="0.1"),)))
    assert masked.max() < plain.max()  # masked votes say less


def test_truths_of_a_collection_can_be_scored() -> None:
    """Its claims are ordinary claims, with all tasks, answered or not."""
    collection = begun().partial_fit(batch("a x yes", "a y yes", "b x no"))
    truths = Truths.from_frame({"task": ["a", "b"], "truth": ["yes", "no"]})
    assert truths.codes(collection.claims_)[:2].tolist() == [1, 0]


def test_a_mask_that_is_drawn_once_a_person_is_not_assigned_in_batches() -> None:
    """Each batch would draw a flip probability anew, and cost more than the promise says."""
    mask = TwoLayer(2, low=0, high="0.5")
    collection = Collection(tasks=["a", "b"], options=["no", "yes"], mechanism=mask)
    with pytest.raises(ParameterError, match="masked anew in each"):
        collection.next_tasks("x")


def test_a_mask_that_is_drawn_once_a_person_is_not_drawn_again_in_a_later_batch() -> None:
    """A person's second batch behind a two-layer mask is refused, somebody else's is taken.

    Twenty answers in one draw cost 13.147 here, in twenty draws 20.
    """
    mask = TwoLayer(2, low=0, high="0.5379")
    collection = Collection(tasks=["a", "b", "c"], options=["no", "yes"], mechanism=mask)
    collection.partial_fit(batch("a x yes", "b x no"))
    for rows in (("c x yes",), ("a y yes", "c x yes")):
        with pytest.raises(ParameterError, match=rf"row {len(rows)}: worker 'x' .* earlier batch"):
            collection.partial_fit(batch(*rows))
    assert len(collection.partial_fit(batch("c y yes", "a z no")).claims_) == 4
    apart = Collection(tasks=["a", "b"], options=["no", "yes"], mechanism=MASK)
    assert len(apart.partial_fit(batch("a x yes")).partial_fit(batch("b x no")).claims_) == 2
