"""A collection of labels: answers come in batches, and it says which are wanted next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims, Frame
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Codes, Flags
from masquerade.exact.number import whole
from masquerade.mechanisms import Mechanism, parse_mechanism
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.auto import Auto
from masquerade.truth.collection.claims_log import ClaimsLog, Offers, require_assignable
from masquerade.truth.collection.fitted_crowd import FittedCrowd
from masquerade.truth.collection.saved_folder import SavedFolder
from masquerade.truth.collection.task_posteriors import TaskPosteriors
from masquerade.truth.collection.task_rules import (
    StoppingRule,
    TaskState,
    TotalStop,
    accuracy_gain,
    information_gain,
    stopping_rule,
    task_scores,
)
from masquerade.truth.collection.worker_advice import advice_on, advice_table
from masquerade.truth.diagnostics import Remark
from masquerade.truth.problem import gold_codes
from masquerade.truth.ties import digest

_FORMAT = "masquerade-collection"
_SIGNIFICANCE = 0.01


class Collection:
    """A collection of labels in progress: assignment of tasks to workers, and stopping.

    Answers come in batches (`partial_fit`). After each, tasks are ranked by how much another answer
    is wanted; until the next batch closes, each is offered to one person at most. So people learn
    of the answers of others from what they are offered only batch by batch, and behind masks they
    learn of reports alone.

    Parameters
    ----------
    tasks : sequence of ids
        All tasks, each once.
    options : sequence
        All labels that could be given, each once.
    mechanism : CategoricalMechanism or mapping of str to such, optional
        What masks the answers; of several levels, the mechanism of each, named in a batch's column
        ``level``.
    gold : mapping of task to label, optional
        Known truths of some of `tasks`. They are mixed in among the tasks that are offered.
    gold_share : float
        Probability that an offered task is one of these, 0 to 1.
    stop : StoppingRule, optional
        `TotalStop` (the default: 3.5 answers a task in all), `PosteriorStop` or `GainStop`.
    most_per_worker : int, optional
        Answers that one person is asked for, at most: what a promise to a person is counted over.
    public_answers : bool
        Whether nothing was promised to the people who answer. Without a mask, assignment is
        refused unless this is true.
    seed : int
        Decides among tasks that are wanted alike, and where known ones are mixed in.

    Notes
    -----
    Tasks are ranked by sqrt(LU (1 - max posterior)), where LU is the doubt that the two leading
    counts of votes leave (Sheng, Provost and Ipeirotis, KDD 2008). Posteriors are those of workers'
    confusions, refitted from the votes after each batch, through the mask. Where labels come out
    swapped against the plain votes, these stand in, and the remark ``SWAPPED_LABELS`` says so.

    The number of answers on a task depends on answers. So shares over *claims*, and intervals that
    take those numbers for fixed, would be wrong; none are given here.

    Privacy
    -------
    Assignment is a function of reports: nobody's epsilon grows by it. But co-workers see something
    of each other's reports, as if these were published: a promise that counts on few people seeing
    reports (shuffling, sampling of questions, secret participation) does not hold beside it. A task
    is never offered to a person twice.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, epsilon=3)
    >>> names = ["a", "b", "c"]
    >>> collection = Collection(tasks=names, options=["no", "yes"], mechanism=mask)
    >>> first = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["no", "no", "yes"]}
    >>> collection.partial_fit(first).next_tasks("y", count=2)
    ['c', 'b']
    """

    def __init__(
        self,
        *,
        tasks: Sequence[Any],
        options: Sequence[Any],
        mechanism: Mechanism | str | Mapping[str, Mechanism | str] | None = None,
        gold: Mapping[Any, Any] | None = None,
        gold_share: float = 0.1,
        stop: StoppingRule | None = None,
        most_per_worker: int | None = None,
        public_answers: bool = False,
        seed: int = 0,
    ) -> None:
        if not 0 <= gold_share <= 1:
            raise ParameterError(f"gold_share is {gold_share}, expected 0 to 1.")
        if most_per_worker is not None:
            most_per_worker = whole(most_per_worker, "most_per_worker", low=1)
        masks: list[Mechanism] = []
        if isinstance(mechanism, Mapping):
            if not mechanism:
                raise ParameterError("there is no level; give each its mechanism.")
            levels = {name: mechanism_of(one) for name, one in mechanism.items()}
            mechanism, masks = levels, list(levels.values())
        elif mechanism is not None:
            mechanism = mechanism_of(mechanism)
            masks = [mechanism]
        self.mechanism, self.gold_share = mechanism, gold_share
        self.stop = TotalStop() if stop is None else stop
        self.most_per_worker, self.public_answers = most_per_worker, public_answers
        self.seed, self._masks = whole(seed, "seed", low=0), masks
        null = any(one.null for one in self._masks)
        self._log = ClaimsLog.begun(tasks, options, null=null)
        self.gold = dict(gold or {})
        self._known = _codes_of_gold(self.gold, self._log.claims)
        self._offers = Offers(len(self._log.claims.tasks))
        self._closed: TaskPosteriors | None = None
        self._fit: Auto | None = None

    # What comes in

    def partial_fit(self, data: Frame) -> Self:
        """Close a batch: add its answers, and rank all tasks anew.

        Parameters
        ----------
        data : pandas, polars, pyarrow or duckdb table, or dict of arrays
            Columns ``task``, ``worker`` and ``label``, and ``level`` where there are several.

        Raises
        ------
        DuplicateClaim
            Somebody has answered a task before.
        InputError, ParameterError
            A row cannot be used; see `Claims.from_frame`.
        """
        self._log = self._log.with_batch(data, self.mechanism)
        self._offers.batch += 1
        # Both are of the batches before, and are computed again when somebody asks.
        self._closed = self._fit = None
        return self

    # Who is asked what

    def next_tasks(self, worker: Any, *, count: int = 1) -> list[Any]:
        """Return the tasks that a person is to be asked next, the most wanted first.

        They are kept as offered: nobody else is offered them before the next batch, and this person
        never again. Fewer than `count`, or none, where there is nothing (more) to ask this person.

        Raises
        ------
        ParameterError
            What co-workers see of assignment would break the promise: see `Collection`.
        """
        require_assignable(self._masks, public_answers=self.public_answers)
        count = whole(count, "count", low=1)
        count = min(count, self._allowance(worker))
        seen = self._seen(worker)
        # One offer a task and batch: who comes at the same time is given other tasks.
        wanted = ~(seen | self._stopped() | self._offers.in_this_batch())
        order = [task for task in self._ranking() if wanted[task]][: self._room()]
        # Drawn from names, so that a repeated run offers the same.
        rng = np.random.default_rng(digest(pa.array([f"{self.seed} {worker}"])))
        rng = np.random.default_rng([int(rng.integers(1 << 62)), self._offers.count(worker)])
        # Known truths come in a random order and at random places: nobody can tell them from other
        # tasks.
        known = rng.permutation(np.flatnonzero((self._known >= 0) & ~seen)).tolist()
        chosen: list[int] = []
        while len(chosen) < count and (order or known):
            if known and rng.random() < self.gold_share:
                chosen.append(known.pop(0))
            elif order:
                chosen.append(order.pop(0))
            else:
                break  # known truths alone need no answer
        self._offers.add(worker, chosen)
        return [self._log.claims.tasks[task].as_py() for task in chosen]

    def next_workers(
        self,
        task: Any,
        workers: Sequence[Any],
        *,
        count: int = 1,
        prices: Mapping[Any, float] | None = None,
    ) -> list[Any]:
        """Return the workers to ask a task, by the expected information of a report for its price.

        They are kept as offered, as by `next_tasks`.

        Parameters
        ----------
        task : id
        workers : sequence of ids
            Who can be asked. Somebody new counts as the crowd does.
        count : int
        prices : mapping of worker to float, optional
            Above 0; 1 for workers that are not in it.

        Raises
        ------
        ParameterError
            As by `next_tasks`; the task is not known, or a price is not above 0.
        """
        require_assignable(self._masks, public_answers=self.public_answers)
        place = self._task_code(task)
        count = whole(count, "count", low=1)
        price = {worker: float((prices or {}).get(worker, 1.0)) for worker in workers}
        dear = [worker for worker, one in price.items() if not 0 < one < math.inf]
        if dear:
            raise ParameterError(f"the price of {dear[0]!r} is {price[dear[0]]}, expected above 0.")
        free = [
            worker
            for worker in price
            if not self._seen(worker)[place] and self._allowance(worker) > 0
        ]
        if self._stopped()[place] or not free:
            return []
        gain = np.zeros(len(free))
        if self._log.claims.n_workers:
            state = self._state()
            names = pa.array(free)
            tables = state.crowd.confusions_of(names)
            gain = information_gain(state.posterior[place : place + 1], tables)[:, 0]
        # gain[worker]: nats that a report is expected to tell of this task
        cost = np.array([price[worker] for worker in free])
        tie = digest(pa.array([f"{self.seed} {task} {worker}" for worker in free]))
        # Rounded, so that the last bits of a sum cannot decide between people; names do.
        order = np.lexsort((tie, -np.round(gain / cost, 12)))[: min(count, self._room())]
        for i in order:
            self._offers.add(free[i], [place])
        return [free[i] for i in order]

    # What is known

    @property
    def open_tasks_(self) -> list[Any]:
        """Tasks that the stopping rule still wants answers on, the most wanted first."""
        stopped = self._stopped()
        tasks = self._log.claims.tasks
        return [tasks[task].as_py() for task in self._ranking() if not stopped[task]]

    @property
    def claims_(self) -> Claims:
        """All claims so far."""
        return self._log.claims

    @property
    def truths_(self) -> pa.Table:
        """The labels so far, by `Auto`: ``task``, ``label``; null for a task without any answer."""
        return self._final().truths_

    @property
    def posteriors_(self) -> pa.Table:
        """See `CategoricalEstimator.posteriors_`. Those of few answers are too sure."""
        return self._final().posteriors_

    @property
    def reliability_(self) -> pa.Table:
        """See `CategoricalEstimator.reliability_`."""
        return self._final().reliability_

    @property
    def remarks_(self) -> tuple[Remark, ...]:
        """Limits of the labels; ``ADAPTIVE`` is always there."""
        text = "tasks have as many answers as their answers asked for: weight tasks alike"
        remarks = (Remark("ADAPTIVE", text), *self._final().remarks_)
        if self._state().swapped:
            text = "labels came out swapped against the votes, which rank tasks instead"
            remarks = (Remark("SWAPPED_LABELS", text), *remarks)
        return remarks

    @property
    def advice_(self) -> pa.Table:
        """Workers with odd answers, with the evidence; see `worker_advice`."""
        found = advice_on(self.claims_, self._state().crowd, self._log.masks, _SIGNIFICANCE)
        return advice_table(self.claims_, found)

    @property
    def crowd_(self) -> FittedCrowd:
        """The workers as fitted, to label further tasks with; see `FittedCrowd`."""
        posterior = self._final().solution_.posteriors
        return FittedCrowd.judged(self.claims_, posterior, self._log.masks)

    def predict(self, data: Claims | Frame) -> Frame:
        """Return labels of other tasks by the workers as fitted; see `FittedCrowd.predict`."""
        return self.crowd_.predict(data)

    def save(self, folder: str | Path) -> None:
        """Write the collection to a folder: ``masquerade.json``, and Parquet tables beside it.

        Raises
        ------
        UnreadableFile
            The folder cannot be written, or holds something else.
        """
        log, stop = self._log, self.stop
        mechanisms: Any = None if self.mechanism is None else str(self.mechanism)
        if isinstance(self.mechanism, Mapping):
            mechanisms = {name: str(one) for name, one in self.mechanism.items()}
        facts = {
            "mechanisms": mechanisms,
            "stop": {"rule": stop.name, **asdict(stop)},
            "gold_share": self.gold_share,
            "most_per_worker": self.most_per_worker,
            "public_answers": self.public_answers,
            "seed": self.seed,
            "batch": self._offers.batch,
            "claims_mechanisms": [str(one) for one in log.mechanisms],
        }
        claims = log.claims
        tables = {
            "tasks": pa.table({"task": claims.tasks, "gold": self._known}),
            "options": pa.table({"label": claims.options}),
            "workers": pa.table({"worker": claims.workers}),
            "claims": pa.table(
                {
                    "task": claims.task,
                    "worker": claims.worker,
                    "label": claims.value,
                    "mechanism": log.mechanism_of,
                }
            ),
            "offers": self._offers.table(),
        }
        SavedFolder(folder, _FORMAT).write(facts, tables)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the collection that `save` wrote to a folder.

        Raises
        ------
        UnreadableFile
            The folder holds something else, or a later version.
        """
        saved = SavedFolder(folder, _FORMAT)
        facts = saved.read()
        names, options = saved.table("tasks"), saved.table("options")["label"].to_pylist()
        tasks, known = names["task"].to_pylist(), names["gold"].to_pylist()
        masks, stop = facts["mechanisms"], dict(facts["stop"])
        mechanism: Any = None
        if isinstance(masks, dict):
            mechanism = {name: parse_mechanism(text) for name, text in masks.items()}
        elif masks is not None:
            mechanism = parse_mechanism(masks)
        collection = cls(
            tasks=tasks,
            options=options,
            mechanism=mechanism,
            gold={t: options[code] for t, code in zip(tasks, known, strict=True) if code >= 0},
            gold_share=facts["gold_share"],
            stop=stopping_rule(stop.pop("rule"), stop),
            most_per_worker=facts["most_per_worker"],
            public_answers=facts["public_answers"],
            seed=facts["seed"],
        )
        rows = saved.table("claims")
        task, worker, label, place = (
            rows[name].to_numpy().astype(np.int32)
            for name in ("task", "worker", "label", "mechanism")
        )
        log = collection._log
        collection._log = replace(
            log,
            claims=replace(
                log.claims,
                task=task,
                worker=worker,
                value=label,
                workers=saved.table("workers")["worker"].combine_chunks(),
            ),
            mechanisms=tuple(parse_mechanism(text) for text in facts["claims_mechanisms"]),
            mechanism_of=place,
        )
        collection._offers = Offers.of_table(saved.table("offers"), len(tasks), facts["batch"])
        return collection

    # How tasks stand

    def _state(self) -> TaskPosteriors:
        if self._closed is None:
            gold, claims = self.gold or None, self._log.claims
            # Known truths of tasks: those alone decide nothing before there are answers.
            self._closed = (
                TaskPosteriors.of(claims, self._log.masks, gold)
                if len(claims.answered())
                else TaskPosteriors.before(claims)
            )
        return self._closed

    def _final(self) -> Auto:
        if self._fit is None:
            if not len(self.claims_.answered()):
                raise EmptyTable("there is no answer yet; add some with partial_fit(batch).")
            self._fit = Auto().fit(self.claims_, mechanism=self._log.masks, gold=self.gold or None)
        return self._fit

    def _stopped(self) -> Flags:
        """Return which tasks get no further answer; known truths are among them."""
        state, unknown = self._state(), self._known < 0
        answers = state.votes.sum(axis=1)
        crowd = state.crowd.crowd.mean(axis=0)
        stopped = ~unknown
        stopped[unknown] = self.stop.stopped(
            TaskState(
                answers[unknown],
                state.posterior[unknown].max(axis=1),
                accuracy_gain(state.posterior[unknown], crowd),
            )
        )
        return stopped

    def _ranking(self) -> list[int]:
        """Return all tasks, those without an answer first, then by doubt."""
        state = self._state()
        score = task_scores(state.posterior, state.votes)
        # By names, so that the order in which tasks were listed favours none.
        tie = digest(pa.array([f"{self.seed} {name}" for name in self._log.claims.tasks]))
        unanswered = state.votes.sum(axis=1) == 0
        order: list[int] = np.lexsort((tie, -np.round(score, 12), ~unanswered)).tolist()
        return order

    def _seen(self, worker: Any) -> Flags:
        """Return which tasks a person has answered or was offered."""
        return self._log.answered_by(worker) | self._offers.to(worker)

    def _allowance(self, worker: Any) -> int:
        """Return how many more tasks a person may be offered."""
        if self.most_per_worker is None:
            return self._log.claims.n_tasks
        code = self._log.code_of(worker)
        answers = int((self._log.claims.worker == code).sum())
        return max(self.most_per_worker - answers - self._offers.outstanding(worker), 0)

    def _room(self) -> int:
        """Return how many more offers a fixed total leaves; all tasks where there is none."""
        n = self._log.claims.n_tasks
        if not isinstance(self.stop, TotalStop):
            return n
        unknown = self._known < 0
        answers = int(self._state().votes[unknown].sum())
        # Offers of this batch may still be answered: they count as answers, or the total is
        # exceeded.
        outstanding = int((self._offers.in_this_batch() & unknown).sum())
        return max(self.stop.total(int(unknown.sum())) - answers - outstanding, 0)

    def _task_code(self, task: Any) -> int:
        tasks = self._log.claims.tasks.to_pylist()
        if task not in tasks:
            raise ParameterError(f"task {task!r} is none of the {len(tasks)} of this collection.")
        return int(tasks.index(task))


def _codes_of_gold(gold: Mapping[Any, Any], claims: Claims) -> Codes:
    """Return the known truth of each task as a code; -1 where unknown."""
    strange = [task for task in gold if task not in set(claims.tasks.to_pylist())]
    if strange:
        raise ParameterError(f"gold: {strange[0]!r} is none of the tasks of this collection.")
    return gold_codes(gold or None, claims)
