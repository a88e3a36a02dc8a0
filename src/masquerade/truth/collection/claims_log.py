"""Growing tables of a collection: claims with the mechanism of each, and offers of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims, Frame
from masquerade.errors import DuplicateClaim, MixedTypes, NoGuarantee, ParameterError
from masquerade.exact.arrays import Codes, Flags
from masquerade.mechanisms import Mechanism
from masquerade.truth.report_mechanisms import AnyMechanism, Masks, ReportMechanisms, mechanisms_of


@dataclass(frozen=True, slots=True, eq=False)
class ClaimsLog:
    """Claims on declared tasks, in the order in which they came.

    `claims`: over all declared tasks; workers in order of first appearance.
    `mechanisms`: what masked them; empty where nothing did.
    `mechanism_of` (int32 array, shape (n_claims,)): place of each claim's mechanism; 0 where there
    is none.
    """

    claims: Claims
    mechanisms: tuple[Mechanism, ...]
    mechanism_of: Codes

    @classmethod
    def begun(cls, tasks: Sequence[Any], options: Sequence[Any], *, null: bool) -> Self:
        """Return an empty log on these tasks.

        Raises `ParameterError`, `MissingValue` (a task or an option is there twice or missing, or
        there are none).
        """
        names = {"task": pa.array(tasks), "label": pa.array(options)}
        for name, column in names.items():
            twice = len(pc.unique(column)) < len(column)
            if not len(column) or column.null_count or twice:
                raise ParameterError(f"give some {name}s, each once, none of them missing.")
        empty = np.zeros(0, dtype=np.int32)
        return cls(
            Claims(empty, empty, empty, names["task"], pa.array([]), names["label"], null),
            (),
            empty,
        )

    @property
    def masks(self) -> Masks:
        """The mechanisms of the claims, as methods take them."""
        return ReportMechanisms(self.mechanisms, self.mechanism_of) if self.mechanisms else None

    def with_batch(self, data: Frame, mechanism: AnyMechanism) -> Self:
        """Return the log with more claims; see `Collection.partial_fit` for errors."""
        log, masks = self.claims, mechanisms_of(data, mechanism)
        assert log.options is not None
        tasks, options = log.tasks.to_pylist(), log.options.to_pylist()
        batch = Claims.from_frame(
            data, kind="categorical", options=options, null=log.null, tasks=tasks
        )
        mechanisms, place = self._with_masks(batch, masks)
        workers, code = self._with_workers(batch.workers)
        worker = code[batch.worker]
        # key[claim]: a number for each pair of task and worker
        key = batch.task.astype(np.int64) * len(workers) + worker
        again = np.flatnonzero(np.isin(key, log.task.astype(np.int64) * len(workers) + log.worker))
        if len(again):
            row = int(again[0])
            raise DuplicateClaim(
                f"row {row + 1}: worker {batch.workers[batch.worker[row]].as_py()!r} has answered "
                f"task {batch.tasks[batch.task[row]].as_py()!r} in an earlier batch; a second "
                "report on a task tells more of a person than the promise says. Remove the row."
            )
        self._require_new(batch, mechanisms, place)
        joined = replace(
            log,
            task=np.concatenate([log.task, batch.task]),
            worker=np.concatenate([log.worker, worker]),
            value=np.concatenate([log.value, batch.value]),
            workers=workers,
        )
        return replace(
            self,
            claims=joined,
            mechanisms=mechanisms,
            mechanism_of=np.concatenate([self.mechanism_of, place]),
        )

    def _require_new(self, batch: Claims, mechanisms: Sequence[Mechanism], place: Codes) -> None:
        """Refuse reports with masks drawn anew although they were drawn for good."""
        for number, one in enumerate(self.mechanisms):
            if _separate(one):
                continue
            mine = self.claims.worker[self.mechanism_of == number]
            before = set(self.claims.workers.take(pa.array(np.unique(mine))).to_pylist())
            for row in np.flatnonzero(place == number).tolist():
                worker = batch.workers[batch.worker[row]].as_py()
                if worker in before:
                    raise ParameterError(
                        f"row {row + 1}: worker {worker!r} has answers by {one} in an earlier "
                        "batch. Its promise is for answers that are masked together with one "
                        "private number, and a mask drawn anew tells more of a person than it "
                        "says. Send all answers of a person in one batch, or use a mechanism that "
                        "masks every answer by itself, such as randomized-response."
                    )

    def answered_by(self, worker: Any) -> Flags:
        """Return which tasks a worker has answered, shape (n_tasks,)."""
        code = self.code_of(worker)
        done = np.zeros(self.claims.n_tasks, dtype=np.bool_)
        done[self.claims.task[self.claims.worker == code]] = True
        return done

    def code_of(self, worker: Any) -> int:
        """Return a worker's place among the workers, -1 where the worker is new."""
        if not len(self.claims.workers):
            return -1
        wanted = ids_like(pa.array([worker]), self.claims.workers.type, "workers")[0]
        return int(pc.index(self.claims.workers, wanted).as_py())

    def _with_masks(self, batch: Claims, masks: Masks) -> tuple[tuple[Mechanism, ...], Codes]:
        """Return the mechanisms, the batch's among them, and the place of each of its claims."""
        # Nobody could tell afterwards which of the claims have noise in them.
        if len(self.claims) and bool(self.mechanisms) != (masks is not None):
            raise ParameterError(
                "some batches are masked and others are not; give every claim its mechanism."
            )
        if masks is None:
            return (), np.zeros(len(batch), dtype=np.int32)
        masks.check(batch)
        mine = masks.mechanisms
        known = list(self.mechanisms)
        known += [one for one in mine if one not in known]
        ReportMechanisms(tuple(known), np.zeros(0, dtype=np.int32))  # all mask one question
        place = np.array([known.index(one) for one in mine], dtype=np.int32)
        return tuple(known), place[masks.place(batch)]

    def _with_workers(self, more: pa.Array) -> tuple[pa.Array, Codes]:
        """Return all names of workers, and the codes of the new batch's."""
        before = self.claims.workers
        if not len(before):
            return more, np.arange(len(more), dtype=np.int32)
        more = ids_like(more, before.type, "workers")
        code = pc.index_in(more, value_set=before)
        new = code.is_null().to_numpy(zero_copy_only=False)
        codes = code.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        # New names behind those before, whose codes stand in claims already.
        codes[new] = len(before) + np.arange(new.sum())
        return pa.concat_arrays([before, more.filter(pa.array(new))]), codes


def _separate(mechanism: Mechanism) -> bool:
    try:
        return mechanism.separate
    except NoGuarantee:  # there is no promise that a second draw could break
        return True


def ids_like(ids: pa.Array, kind: pa.DataType, what: str) -> pa.Array:
    """Return ids in the type of earlier ones: text stays text, and numbers stay numbers.

    Raises `MixedTypes` (they are of another kind).
    """
    alike = (
        pa.types.is_integer(ids.type) == pa.types.is_integer(kind)
        and pa.types.is_floating(ids.type) == pa.types.is_floating(kind)
    ) or not len(ids)
    try:
        if alike:
            return ids.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    raise MixedTypes(f"{what} are {ids.type} where earlier ones are {kind}; give ids of one type.")


@dataclass(slots=True, eq=False)
class Offers:
    """Offers of tasks, by their codes, to people.

    An offer of a batch is outstanding until the batch closes; it stands for ever, so that no task
    is offered to a person twice.
    """

    n_tasks: int
    batch: int = 0
    of_worker: dict[Any, dict[int, int]] = field(default_factory=dict)  # worker: {task: batch}

    def add(self, worker: Any, tasks: Iterable[int]) -> None:
        """Offer tasks to a person."""
        self.of_worker.setdefault(worker, {}).update(dict.fromkeys(tasks, self.batch))

    def to(self, worker: Any) -> Flags:
        """Return which tasks a person was ever offered, shape (n_tasks,)."""
        return self._flags(self.of_worker.get(worker, {}))

    def count(self, worker: Any) -> int:
        """Return how many tasks a person was ever offered."""
        return len(self.of_worker.get(worker, {}))

    def outstanding(self, worker: Any) -> int:
        """Return how many offers of this batch a person has."""
        return sum(batch == self.batch for batch in self.of_worker.get(worker, {}).values())

    def in_this_batch(self) -> Flags:
        """Return which tasks were offered to anybody since the last batch closed."""
        return self._flags(
            task
            for tasks in self.of_worker.values()
            for task, batch in tasks.items()
            if batch == self.batch
        )

    def table(self) -> pa.Table:
        """Return ``worker`` (as text of JSON's kinds), ``task`` code and ``batch``."""
        rows = [
            (worker, task, batch)
            for worker, tasks in self.of_worker.items()
            for task, batch in tasks.items()
        ]
        workers, tasks, batches = zip(*rows, strict=True) if rows else ((), (), ())
        return pa.table(
            {
                "worker": pa.array(workers),
                "task": pa.array(tasks, pa.int64()),
                "batch": pa.array(batches, pa.int64()),
            }
        )

    @classmethod
    def of_table(cls, table: pa.Table, n_tasks: int, batch: int) -> Offers:
        """Return the offers of a table that `table` made."""
        offers = cls(n_tasks, batch)
        for row in table.to_pylist():
            offers.of_worker.setdefault(row["worker"], {})[row["task"]] = row["batch"]
        return offers

    def _flags(self, tasks: Iterable[int]) -> Flags:
        flags = np.zeros(self.n_tasks, dtype=np.bool_)
        flags[list(tasks)] = True
        return flags


def require_assignable(masks: Sequence[Mechanism], *, public_answers: bool) -> None:
    """Raise `ParameterError` where assignment would show co-workers more than was promised.

    Privacy
    -------
    What a person is offered depends on others' reports: of clear answers no protection is left.
    """
    if public_answers:
        return
    # Who is asked what follows from reports, so people see a function of their co-workers' reports.
    if not masks or any(math.isinf(one.guarantee().epsilon_event.number) for one in masks):
        raise ParameterError(
            "answers are in clear: people would learn of each other's from the tasks that they "
            "are offered. Mask answers on devices and give the mechanism, or say "
            "public_answers=True (--public-answers) where nothing was promised to anybody."
        )
    for one in masks:
        if not one.separate:
            raise ParameterError(
                f"the promise of {one} is for answers that are masked together, and a person who "
                "is asked in batches is masked anew in each. Use one that masks every answer "
                "by itself, such as randomized-response."
            )
