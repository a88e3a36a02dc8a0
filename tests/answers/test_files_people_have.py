"""Files that people have: 35 exports and tables, of which 33 are read as they are.

Each holds the same judgements: two annotators, two tasks. Those that say too little about
themselves are refused with the option that solves it, and it does.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.answers.claim_rows import rows_of

from masquerade.answers import Claims
from masquerade.answers.claim_layouts import ClaimColumns
from masquerade.errors import SchemaError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

#: Task, worker and label of each judgement.
JUDGED = [("a", "x", "cat"), ("a", "y", "dog"), ("b", "x", "cat"), ("b", "y", "cat")]
Make = Callable[[], bytes]


def _table(head: str, rows: list[Any], *, by: str = ",", encoding: str = "utf-8") -> Make:
    lines = [head, *(by.join(map(str, row)) for row in rows)]
    return lambda: ("\n".join(lines) + "\n").encode(encoding)


def _json(rows: list[Any], *, a_line: bool = False, encoding: str = "utf-8") -> Make:
    text = "\n".join(map(json.dumps, rows)) if a_line else json.dumps(rows)
    return lambda: text.encode(encoding)


def _sheet(*lines: Any, merged: str | None = None) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        if merged is not None:
            book.active.merge_cells(merged)
        book.save(path)

    return write


def _parquet(path: Path) -> None:
    columns = zip(*JUDGED, strict=True)
    pq.write_table(
        pa.table(dict(zip(("task", "worker", "label"), map(list, columns), strict=True))), path
    )


def _choice(label: str, by: Any) -> dict[str, Any]:
    part = {"from_name": "animal", "type": "choices", "value": {"choices": [label]}}
    return {"completed_by": by, "result": [part]}


def _by_task(make: Callable[[str, list[tuple[str, str]]], Any]) -> list[Any]:
    """Return the claims on each task with the worker and label of its judgements."""
    return [make(one, [(w, label) for t, w, label in JUDGED if t == one]) for one in ("a", "b")]


PLAIN = "task,worker,label"
MTURK = [(f"h{t}", w, "Approved", t, label) for t, w, label in JUDGED]
STUDIO = _by_task(
    lambda task, judged: {
        "id": task,
        "data": {"text": task},
        "annotations": [_choice(label, {"email": worker}) for worker, label in judged],
    }
)
MIN = [
    {"id": t, "text": t, "animal": label, "annotator": w, "annotation_id": 1}
    for t, w, label in JUDGED
]
PRODIGY = [
    {"text": t, "_task_hash": t, "_annotator_id": w, "answer": "accept", "accept": [label]}
    for t, w, label in JUDGED
]
ARGILLA = _by_task(
    lambda task, judged: {
        "id": task,
        "fields": {"text": task},
        "responses": {"animal": [{"value": label, "user_id": w} for w, label in judged]},
    }
)
ARGILLA_ROWS = _by_task(
    lambda task, judged: {
        "id": task,
        "text": task,
        "animal.responses": [label for _, label in judged],
        "animal.responses.users": [w for w, _ in judged],
    }
)
DOCCANO = _by_task(
    lambda task, judged: {
        "id": task,
        "text": task,
        "annotations": [{"label": label, "user": w} for w, label in judged],
    }
)
OBJECTS = [dict(zip(("task", "worker", "label"), row, strict=True)) for row in JUDGED]
WIDE = [("a", "cat", "dog"), ("b", "cat", "cat")]
STATUS = ("task_id", "worker_id", "status")
TOLOKA = [(t, label, t, w, "APPROVED") for t, w, label in JUDGED]
TOLOKA_HEAD = (
    "INPUT:image\tOUTPUT:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\tASSIGNMENT:status"
)
APPEN = [(t, "false", w, "false", label, "") for t, w, label in JUDGED]
TITLE = ["Study of animals", None, None]

#: Content by the name of the file.
READ: dict[str, Make | Callable[[Path], None]] = {
    "plain.csv": _table(PLAIN, JUDGED),
    "plain.csv.gz": lambda: gzip.compress(_table(PLAIN, JUDGED)()),
    "plain.tsv": _table(PLAIN.replace(",", "\t"), JUDGED, by="\t"),
    "plain.txt": _table(PLAIN.replace(",", "\t"), JUDGED, by="\t"),
    "semicolons.csv": _table(PLAIN.replace(",", ";"), JUDGED, by=";"),
    "bars.txt": _table(PLAIN.replace(",", "|"), JUDGED, by="|"),
    "mark.csv": _table(PLAIN, JUDGED, encoding="utf-8-sig"),
    "utf16.csv": _table(PLAIN, JUDGED, encoding="utf-16"),
    "utf16.txt": _table(PLAIN.replace(",", "\t"), JUDGED, by="\t", encoding="utf-16"),
    "windows.csv": _table(
        "task,worker,label,straße", [(*r, "ß") for r in JUDGED], encoding="cp1252"
    ),
    "plain.parquet": _parquet,
    "plain.json": _json(OBJECTS),
    "plain.jsonl": _json(OBJECTS, a_line=True),
    "plain.xlsx": _sheet(PLAIN.split(","), *JUDGED),
    "title.xlsx": _sheet(TITLE, PLAIN.split(","), *JUDGED, merged="A1:C1"),
    "items.csv": _table("item,annotator,rating", JUDGED),
    "ids.csv": _table("question_id,worker_id,response", JUDGED),
    "rows.csv": _table("id,coder,category", JUDGED),
    "answers.csv": _table("task,worker,answer", JUDGED),
    "mturk.csv": _table("HITId,WorkerId,AssignmentStatus,Input.image,Answer.animal", MTURK),
    "form.csv": _table(
        "HITId,WorkerId,AssignmentStatus,Input.image,Answer.taskAnswers",
        [(*r[:4], f'"[{{""animal"":{{""label"":""{r[4]}""}}}}]"') for r in MTURK],
    ),
    "toloka.tsv": _table(TOLOKA_HEAD, TOLOKA, by="\t"),
    "appen.csv": _table("_unit_id,_golden,_worker_id,_tainted,animal,animal_gold", APPEN),
    "studio.json": _json(STUDIO),
    "studio-min.json": _json(MIN),
    "studio.csv": _table(",".join(MIN[0]), [tuple(row.values()) for row in MIN]),
    "prodigy.jsonl": _json(PRODIGY, a_line=True),
    "argilla.json": _json(ARGILLA),
    "argilla-rows.json": _json(ARGILLA_ROWS),
    "doccano.jsonl": _json(DOCCANO, a_line=True),
    "wide.csv": _table("item,x,y", WIDE),
    "wide.xlsx": _sheet(["item", "x", "y"], *WIDE),
    "wide-semicolons.csv": _table("task;x;y", WIDE, by=";"),
}

#: Content, the words of the refusal and the columns that it asks for.
ASKED: dict[str, tuple[Make, str, ClaimColumns]] = {
    "two-answers.csv": (
        _table(
            "HITId,WorkerId,AssignmentStatus,Input.image,Answer.animal,Answer.colour",
            [(*r, "red") for r in MTURK],
        ),
        "--label-column",
        ClaimColumns(label="Answer.animal"),
    ),
    "own-names.csv": (
        _table("picture,who,animal", JUDGED),
        "--task-column",
        ClaimColumns(task="picture", worker="who", label="animal"),
    ),
}


def _written(path: Path, content: Any) -> Path:
    if content in (_parquet,) or path.suffix == ".xlsx":
        content(path)
    else:
        path.write_bytes(content())
    return path


def _judgements(claims: Claims) -> list[tuple[Any, ...]]:
    return sorted(rows_of(claims))


def test_of_35_files_33_are_read_as_they_are() -> None:
    """The table below has as many files as the trial that it was rebuilt from."""
    assert len(READ) >= 33
    assert len(READ) + len(ASKED) == 35


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    """No option is needed, and the judgements are those that were written."""
    assert _judgements(Claims.read(_written(tmp_path / name, READ[name]))) == JUDGED


@pytest.mark.parametrize("name", ASKED)
def test_what_a_file_does_not_say_is_asked_for(tmp_path: Path, name: str) -> None:
    """The message names the option, and with the value it asks for the file is read."""
    content, words, columns = ASKED[name]
    path = _written(tmp_path / name, content)
    with pytest.raises(SchemaError, match=words):
        Claims.read(path)
    assert _judgements(Claims.read(path, columns=columns)) == JUDGED
