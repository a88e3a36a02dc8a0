"""Layouts of claims: the tables that tools for crowdsourcing and annotation write.

Each `Layout` knows the columns or keys by which its files are recognised, and how their rows are
claims. One that is not here is added by one entry of `LAYOUTS`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from masquerade.answers.frames import (
    Frame,
    column_names,
    is_json,
    json_rows,
    read_table,
    to_arrow,
    with_own_names,
)
from masquerade.errors import MasqueradeError, SchemaError
from masquerade.exact.number import one_of, quantity

#: Names of the column of labels or numbers in a table of claims; the first that is there is read.
LABEL_COLUMNS = ("label", "answer", "value")
ANSWER = "answer"  # the one of which the values say whether they are labels or numbers

#: Other names that people give the columns of a table of claims, in small letters.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": (
        *("task_id", "item", "item_id", "question", "question_id", "unit", "unit_id", "example"),
        *("example_id", "object", "object_id", "document", "image", "instance", "hitid"),
    ),
    "worker": (
        *("worker_id", "workerid", "annotator", "annotator_id", "rater", "rater_id", "coder"),
        *("judge", "labeler", "labeller", "user", "user_id", "participant", "turker", "expert"),
    ),
    "label": (
        *("rating", "annotation", "category", "class", "response", "judgment", "judgement"),
        *("choice", "vote", "score", "label_id"),
    ),
}
_ROW_ID = "id"  # a task's where no other column is

#: Most labels that all columns of a wide table may have together to be recognised as one.
_MOST_WIDE_LABELS = 20

Row = Mapping[str, Any]
Claim = tuple[Any, Any, Any]  # task, worker, label

# Errors of rows whose values are of other types than a layout has, or which lack a field.
_OTHER_FORM = (AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class ClaimColumns:
    """Where the claims of a table are.

    Attributes
    ----------
    layout : str
        A name of `layout_names`, or ``"auto"``: the first by whose columns the table can be known.
    task, worker, label : str, optional
        Columns of the table, where a name is not the layout's own.

    Examples
    --------
    >>> rows = {"item": ["a", "a"], "coder": ["x", "y"], "code": ["yes", "no"]}
    >>> ClaimColumns(task="item", worker="coder", label="code").table(rows).column_names
    ['task', 'worker', 'answer']
    """

    layout: str = "auto"
    task: str | None = None
    worker: str | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        one_of(self.layout, "layout", ("auto", *layout_names()))

    def read(self, path: str | Path) -> Frame:
        """Return the claims of a file as a table; see `table`."""
        path = Path(path)
        if is_json(path) and path.is_file():
            rows = json_rows(path)
            if rows and self._found(_names(rows)) not in (None, *_FLAT):
                return self._converted(rows, _names(rows), path.name)
        return self.table(read_table(path), called=path.name)

    def table(self, frame: Frame, *, called: str = "the table") -> Frame:
        """Return a frame with columns ``task``, ``worker``, and ``label``, ``answer`` or ``value``.

        A frame that has them is returned as it is. What was taken from another layout is said in a
        warning.

        Raises
        ------
        SchemaError
            No layout fits, or several columns could be meant; the message says which option helps.
        """
        names = column_names(frame)
        plain = self.layout == "auto" and self.task is self.worker is self.label is None
        if plain and {"task", "worker"} <= set(names) and set(LABEL_COLUMNS) & set(names):
            return frame
        if self._found(names) in (None, "long"):
            return self._renamed(to_arrow(frame), called)
        return self._converted(to_arrow(frame).to_pylist(), names, called)

    def _found(self, names: Sequence[str]) -> str | None:
        """Return the name of the layout that is asked for, or the first that fits."""
        if self.layout != "auto":
            return self.layout
        there = set(names)
        return next((one.name for one in LAYOUTS if one.marks(there)), None)

    def _read(self, rows: Sequence[Row], layout: Layout, called: str) -> list[Claim]:
        """Return the claims of rows; a row that is not of the layout is named in the error."""
        try:
            return list(layout.claims(rows, self))
        except MasqueradeError:
            raise
        except _OTHER_FORM as error:  # a list, text or number stands where an object is expected
            odd = (n for n, row in enumerate(rows, start=1) if not self._reads(row, layout))
            number = next(odd, None)
            where = "" if number is None else f", row {number}"
            raise SchemaError(
                f"{called}{where}: it is not as {layout.tool} have it ({type(error).__name__}: "
                f"{error}); export it anew, or name the columns with "
                "ClaimColumns(layout='long', ...)."
            ) from error

    def _reads(self, row: Row, layout: Layout) -> bool:
        try:
            list(layout.claims([row], self))
        except MasqueradeError:  # of one row alone some fields cannot be told
            return True
        except _OTHER_FORM:
            return False
        return True

    def _converted(self, rows: Sequence[Row], names: Sequence[str], called: str) -> pa.Table:
        name = self._found(names)
        layout = next(one for one in LAYOUTS if one.name == name)
        claims = self._read(rows, layout, called)
        left = len(rows) - len(claims)
        less = f"; {left} of {len(rows)} rows hold none" if layout.a_row_a_claim and left else ""
        warnings.warn(
            f"{called} is read as {layout.tool}: {quantity(len(claims), 'claim')}{less}.",
            stacklevel=2,
        )
        columns = zip(*claims, strict=True) if claims else ((), (), ())
        return to_arrow(
            {
                key: [None if value is None else str(value) for value in column]
                for key, column in zip(("task", "worker", ANSWER), columns, strict=True)
            }
        )

    def _renamed(self, table: pa.Table, called: str) -> pa.Table:
        """Return a table with a column each for tasks, workers and labels, under our names."""
        found = table.column_names
        chosen = {}
        for ours, named in (("task", self.task), ("worker", self.worker), ("label", self.label)):
            if named is not None:
                chosen[_there(named, found)] = ANSWER if ours == "label" else ours
            elif not ({ours} | (set(LABEL_COLUMNS) if ours == "label" else set())) & set(found):
                other = self._synonym(ours, found, chosen)
                if other is not None:
                    chosen[other] = ANSWER if ours == "label" else ours
        wide = self._wide(table, chosen) if self.layout == "auto" else None
        if wide is not None:
            return self._converted_wide(wide, table, called)
        if not chosen:
            return table  # whoever reads it says what is missing
        known = (self.task, self.worker, self.label)
        said = [
            f"{theirs!r} as {ours}"
            for theirs, ours in chosen.items()
            if theirs != ours and theirs not in known
        ]
        if said:
            warnings.warn(f"{called}: {', '.join(said)}.", stacklevel=2)
        kept = [name for name in found if name in chosen or name not in chosen.values()]
        if self.label is not None:  # no other column of answers is read in its place
            kept = [name for name in kept if name in chosen or name not in LABEL_COLUMNS]
        ours_of = {name: chosen.get(name, name) for name in kept}
        renamed = table.select(kept).rename_columns(list(ours_of.values()))
        return with_own_names(
            renamed, {ours: theirs for theirs, ours in ours_of.items() if theirs != ours}
        )

    def _synonym(self, ours: str, found: Sequence[str], taken: Mapping[str, str]) -> str | None:
        known = [
            name
            for name in found
            if name.strip().lower() in (ours, *SYNONYMS[ours]) and name not in taken
        ]
        if len(known) > 1:
            best = [name for name in known if name.strip().lower() == ours]
            return best[0] if len(best) == 1 else _one(known, ours, ours)
        if not known and ours == "task" and _ROW_ID in found:
            return _ROW_ID
        return known[0] if known else None

    def _wide(self, table: pa.Table, chosen: Mapping[str, str]) -> str | None:
        """Return the column of tasks if every other column is an annotator by its entries."""
        tasks = [name for name in table.column_names if chosen.get(name, name) == "task"]
        others = [name for name in table.column_names if name not in tasks]
        if len(tasks) != 1 or len(others) < 2 or set(chosen.values()) & {"worker", ANSWER}:
            return None
        if set(others) & {"worker", *LABEL_COLUMNS}:
            return None
        entries = [
            {value for value in table[name].to_pylist() if value not in (None, "")}
            for name in others
        ]
        labels = set().union(*entries)
        if not 1 < len(labels) <= min(_MOST_WIDE_LABELS, table.num_rows):
            return None  # before columns of any content are compared in twos
        # Annotators give the same labels; columns of other content have none in common.
        shared = all(
            one & other for one in entries for other in entries if min(len(one), len(other)) > 1
        )
        return tasks[0] if shared and all(entries) else None

    def _converted_wide(self, task: str, table: pa.Table, called: str) -> pa.Table:
        wide = ClaimColumns(layout="wide", task=task)
        return wide._converted(table.to_pylist(), table.column_names, called)


def layout_names() -> tuple[str, ...]:
    """Return the names of all layouts."""
    return tuple(one.name for one in LAYOUTS)


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout of files of claims.

    Attributes
    ----------
    name : str
        What people write for it.
    tool : str
        What is said of a file that has it.
    marks : callable
        Whether a table with these names of columns has the layout.
    claims : callable
        Yields the claims of rows; the columns that people named come with them.
    a_row_a_claim : bool
        Whether a row holds one claim at most.
    """

    name: str
    tool: str
    marks: Callable[[set[str]], bool]
    claims: Callable[[Sequence[Row], ClaimColumns], Iterator[Claim]]
    a_row_a_claim: bool = True


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _there(name: str, found: Sequence[str]) -> str:
    if name not in found:
        raise SchemaError(f"column {name!r} is missing; the table has {list(found)}.")
    return name


def _one(found: Sequence[str], what: str, option: str) -> str:
    """Return the only one of the columns that can be meant."""
    if len(found) == 1:
        return found[0]
    raise SchemaError(
        f"{f'the columns {list(found)} could each be' if found else 'no column is'} the {what}; "
        f"name one with ClaimColumns({option}=...) (--{option}-column on the command line)."
    )


def _prefixed(names: Sequence[str], prefix: str) -> list[str]:
    return [name for name in names if name.startswith(prefix)]


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and value != value)


def _long(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the rows of a table with a column each; `ClaimColumns.table` renames, without rows."""
    task, worker = named.task or "task", named.worker or "worker"
    label = named.label or "label"
    for row in rows:
        yield row[task], row[worker], row[label]


def _wide_rows(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield a claim a cell: a row is a task, and each other column an annotator."""
    names = _names(rows)
    task = _there(named.task, names) if named.task is not None else names[0]
    for row in rows:
        for worker in names:
            if worker != task and not _empty(row.get(worker)):
                yield row[task], worker, row[worker]


def _mturk(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the assignments of a results file; rejected ones are left out."""
    names = _names(rows)
    inputs = _prefixed(names, "Input.")
    task = named.task or (inputs[0] if len(inputs) == 1 else "HITId")
    label = named.label or _one(_prefixed(names, "Answer."), "answer", "label")
    _there(task, names), _there(label, names)
    for row in rows:
        if row.get("AssignmentStatus") != "Rejected" and not _empty(row[label]):
            yield row[task], row[named.worker or "WorkerId"], _mturk_answer(row[label])


def _mturk_answer(text: Any) -> Any:
    """Return the answer in a cell: as it is, or the one choice in its JSON object."""
    if not isinstance(text, str) or not text.startswith(("[", "{")):
        return text
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return text
    while isinstance(held, list | dict) and len(held) == 1:
        value = held[0] if isinstance(held, list) else next(iter(held.values()))
        if isinstance(value, bool) and isinstance(held, dict):
            return next(iter(held)) if value else text
        held = value
    if isinstance(held, dict) and all(isinstance(value, bool) for value in held.values()):
        chosen = [name for name, value in held.items() if value]
        return chosen[0] if len(chosen) == 1 else text
    return text if isinstance(held, list | dict) else held


def _toloka(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the assignments of a pool; control tasks are claims as others are."""
    names = _names(rows)
    inputs = _prefixed(names, "INPUT:")
    own = "ASSIGNMENT:task_id"
    task = named.task or (own if own in names else _one(inputs, "task", "task"))
    worker = named.worker or _one(
        [name for name in ("ASSIGNMENT:worker_id", "ASSIGNMENT:user_id") if name in names],
        "worker",
        "worker",
    )
    label = named.label or _one(_prefixed(names, "OUTPUT:"), "answer", "label")
    for name in (task, worker, label):
        _there(name, names)
    for row in rows:
        if row.get("ASSIGNMENT:status") != "REJECTED" and not _empty(row[label]):
            yield row[task], row[worker], row[label]


def _appen(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the judgements of a full report; tainted ones are left out."""
    names = _names(rows)
    questions = [name for name in names if f"{name}_gold" in names]
    label = named.label or _one(questions, "question that was answered", "label")
    _there(label, names)
    for row in rows:
        if str(row.get("_tainted")).lower() != "true" and not _empty(row[label]):
            yield (row[named.task or "_unit_id"], row[named.worker or "_worker_id"], row[label])


def _label_studio(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the annotations of tasks, with one choice or rating each; skipped ones are left out."""
    for number, row in enumerate(rows, start=1):
        for one in row.get("annotations") or ():
            results = [
                part
                for part in one.get("result") or ()
                if named.label is None or part.get("from_name") == named.label
            ]
            if one.get("was_cancelled") or not results:
                continue
            if len(results) > 1:
                fields = list(dict.fromkeys(str(part.get("from_name")) for part in results))
                raise SchemaError(
                    f"row {number}: an annotation has {len(results)} results, of {fields}; name "
                    "one field with ClaimColumns(label=...) (--label-column on the command line)."
                )
            yield (
                _task_id(row, named, number),
                _person(one),
                _only_value(results[0].get("value"), number),
            )


def _task_id(row: Row, named: ClaimColumns, number: int) -> Any:
    if named.task is None:
        return row["id"]
    data = row.get("data")
    fields = {**(data if isinstance(data, dict) else {}), **row}
    if named.task not in fields:
        raise SchemaError(
            f"row {number}: the task has no field {named.task!r}; it has {list(fields)}. Name the "
            "field that says which task it is with ClaimColumns(task=...) (--task-column on the "
            "command line)."
        )
    return fields[named.task]


def _person(annotation: Row) -> Any:
    by = annotation.get("completed_by")
    return (by.get("email") or by.get("id")) if isinstance(by, dict) else by


def _only_value(value: Any, number: int) -> Any:
    """Return the one value that a result holds: a choice, a rating, a number or a text."""
    held = value
    while isinstance(held, list | dict):
        inner = [
            one for one in (held.values() if isinstance(held, dict) else held) if one is not None
        ]
        if len(inner) != 1:
            raise SchemaError(
                f"row {number}: {value!r:.80} holds {len(inner)} values; claims have one label "
                "each. Export a field with one choice a task."
            )
        held = inner[0]
    return held


def _label_studio_table(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the rows of a JSON-MIN or CSV export; the label is the part that differs in a task."""
    names = _names(rows)
    label = named.label or _one(_differing(rows, names), "field that was annotated", "label")
    for row in rows:
        if not _empty(row.get(label)):
            yield row[named.task or "id"], row[named.worker or "annotator"], row[label]


def _differing(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    own = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time"}
    first: dict[Any, Row] = {}
    differing: dict[str, None] = {}
    for row in rows:
        before = first.setdefault(row["id"], row)
        differing |= dict.fromkeys(
            name for name in names if name not in own and row.get(name) != before.get(name)
        )
    return list(differing)


def _prodigy(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the answers of sessions: the option that was chosen, else accept or reject."""
    people = ("_annotator_id", "_session_id")
    for number, row in enumerate(rows, start=1):
        if row.get("answer") == "ignore":
            continue
        person = row.get(named.worker) if named.worker else None
        worker = person or next((row[key] for key in people if row.get(key)), None)
        chosen = row.get(named.label or "accept")
        label = row.get("answer") if chosen is None else _only_value(chosen, number)
        yield row[named.task or "_task_hash"], worker, label


def _argilla(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the submitted responses to one question of each record."""
    names = _names(rows)
    questions = [name.removesuffix(".responses") for name in names if name.endswith(".responses")]
    if questions:
        question = named.label or _one(questions, "question that was answered", "label")
        for row in rows:
            keys = (f"{question}.responses{end}" for end in ("", ".users", ".status"))
            values, users, status = (row.get(key) or () for key in keys)
            for place, (value, user) in enumerate(zip(values, users, strict=True)):
                if not status or status[place] == "submitted":
                    yield row[named.task or "id"], user, value
        return
    asked = list(dict.fromkeys(name for row in rows for name in row.get("responses") or ()))
    question = named.label or _one(asked, "question that was answered", "label")
    for row in rows:
        for one in (row.get("responses") or {}).get(question) or ():
            if one.get("status", "submitted") == "submitted":
                yield row[named.task or "id"], one.get("user_id"), one.get("value")


def _doccano(rows: Sequence[Row], named: ClaimColumns) -> Iterator[Claim]:
    """Yield the annotations of documents, each with its user and its label."""
    for row in rows:
        for one in row.get("annotations") or ():
            yield row[named.task or "id"], one[named.worker or "user"], one[named.label or "label"]


def _is_label_studio(names: set[str]) -> bool:
    return {"id", "annotations", "data"} <= names


#: All layouts; a file that has the marks of several is the first of them.
LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "mturk", "results of Mechanical Turk", lambda names: {"HITId", "WorkerId"} <= names, _mturk
    ),
    Layout(
        "toloka",
        "assignments of Toloka",
        lambda names: any(name.startswith("OUTPUT:") for name in names),
        _toloka,
    ),
    Layout(
        "appen", "a full report of Appen", lambda names: {"_unit_id", "_worker_id"} <= names, _appen
    ),
    Layout("label-studio", "tasks of Label Studio", _is_label_studio, _label_studio, False),
    Layout(
        "label-studio-min",
        "rows of Label Studio (JSON-MIN or CSV)",
        lambda names: {"id", "annotator", "annotation_id"} <= names,
        _label_studio_table,
    ),
    Layout(
        "prodigy", "answers of Prodigy", lambda names: {"_task_hash", "answer"} <= names, _prodigy
    ),
    Layout(
        "argilla",
        "records of Argilla",
        lambda names: "responses" in names or any(name.endswith(".responses") for name in names),
        _argilla,
        False,
    ),
    Layout(
        "doccano",
        "documents of doccano",
        lambda names: "annotations" in names and "data" not in names and "text" in names,
        _doccano,
        False,
    ),
    Layout("wide", "a column an annotator", lambda _names: False, _wide_rows, False),
    Layout("long", "a row a claim", lambda _names: False, _long),
)
_FLAT = ("long", "wide")
