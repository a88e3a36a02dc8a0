"""Layouts of claims: each tool's files are recognised, and their rows are the right claims."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.answers.claim_rows import rows_of

from masquerade.answers import Claims
from masquerade.answers.claim_layouts import LAYOUTS, ClaimColumns, layout_names
from masquerade.errors import ParameterError, SchemaError
from masquerade.exact.number import quantity
from masquerade.truth.inference_options import LAYOUTS as NAMED

Rows = list[tuple[str, str, str]]

MTURK = """HITId,WorkerId,AssignmentStatus,Input.url,Answer.category
h1,w1,Approved,a.png,cat
h1,w2,Submitted,a.png,dog
h2,w1,Rejected,b.png,cat
h2,w2,Approved,b.png,dog
"""
CROWD_FORM = """HITId,WorkerId,AssignmentStatus,Input.url,Input.more,Answer.taskAnswers
h1,w1,Approved,a,1,"[{""mood"":{""label"":""Good""}}]"
h1,w2,Approved,a,1,"[{""mood"":{""yes"":true,""no"":false}}]"
"""
TOLOKA = (
    "INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\t"
    "ASSIGNMENT:status\n"
    "a\tcat\t\tt1\tw1\tAPPROVED\na\tdog\t\tt1\tw2\tREJECTED\nb\tcat\tcat\tt2\tw1\tAPPROVED\n"
)
APPEN = """_unit_id,_golden,_worker_id,_trust,_tainted,relevance,relevance_gold,text
1,false,7,1.0,false,yes,,x
1,false,8,0.2,true,no,,x
2,true,7,1.0,false,yes,yes,y
"""


def _choice(name: str, who: object) -> dict[str, Any]:
    part = {"from_name": "mood", "type": "choices", "value": {"choices": [name]}}
    return {"completed_by": who, "result": [part]}


STUDIO = [
    {
        "id": 1,
        "data": {"text": "x"},
        "annotations": [_choice("Good", {"id": 3, "email": "a@b.example"}), _choice("Bad", 4)],
    },
    {
        "id": 2,
        "data": {"text": "y"},
        "annotations": [{"completed_by": 4, "result": [], "was_cancelled": True}],
    },
]
_MIN = {"created_at": "1", "lead_time": 2.5}
STUDIO_MIN = [
    {"id": 1, "text": "x", "mood": "Good", "annotator": 1, "annotation_id": 5, **_MIN},
    {"id": 1, "text": "x", "mood": "Bad", "annotator": 2, "annotation_id": 6, **_MIN},
    {"id": 2, "text": "y", "mood": "Bad", "annotator": 2, "annotation_id": 7, **_MIN},
]
PRODIGY = [
    {"text": "x", "_task_hash": 11, "_annotator_id": "ann", "answer": "accept", "accept": ["CAT"]},
    {"text": "x", "_task_hash": 11, "_session_id": "bob", "answer": "accept", "accept": ["DOG"]},
    {"text": "y", "_task_hash": 12, "_annotator_id": "ann", "answer": "ignore"},
    {"text": "z", "_task_hash": 13, "_annotator_id": "ann", "answer": "reject", "label": "CAT"},
]
ARGILLA = [
    {
        "id": "r1",
        "fields": {"text": "x"},
        "responses": {
            "mood": [
                {"value": "good", "user_id": "u1", "status": "submitted"},
                {"value": "bad", "user_id": "u2", "status": "draft"},
            ]
        },
    },
    {"id": "r2", "fields": {}, "responses": {"mood": [{"value": "bad", "user_id": "u2"}]}},
]
ARGILLA_TABLE = [
    {
        "id": "r1",
        "text": "x",
        "mood.responses": ["good", "bad"],
        "mood.responses.users": ["u1", "u2"],
        "mood.responses.status": ["submitted", "discarded"],
    }
]
DOCCANO = [
    {"id": 1, "text": "x", "annotations": [{"label": 1, "user": 1}, {"label": 2, "user": 2}]},
    {"id": 2, "text": "y", "annotations": []},
]
WIDE = "item,ann,bob,cem\na,yes,no,yes\nb,no,no,\nc,yes,yes,yes\n"

FILES: list[tuple[str, str, Any, Rows]] = [
    (
        "mturk",
        "c.csv",
        MTURK,
        [("a.png", "w1", "cat"), ("a.png", "w2", "dog"), ("b.png", "w2", "dog")],
    ),
    ("mturk", "c.csv", CROWD_FORM, [("h1", "w1", "Good"), ("h1", "w2", "yes")]),
    ("toloka", "c.tsv", TOLOKA, [("t1", "w1", "cat"), ("t2", "w1", "cat")]),
    ("appen", "c.csv", APPEN, [("1", "7", "yes"), ("2", "7", "yes")]),
    ("label-studio", "c.json", STUDIO, [("1", "a@b.example", "Good"), ("1", "4", "Bad")]),
    (
        "label-studio-min",
        "c.json",
        STUDIO_MIN,
        [("1", "1", "Good"), ("1", "2", "Bad"), ("2", "2", "Bad")],
    ),
    (
        "prodigy",
        "c.jsonl",
        PRODIGY,
        [("11", "ann", "CAT"), ("11", "bob", "DOG"), ("13", "ann", "reject")],
    ),
    ("argilla", "c.json", ARGILLA, [("r1", "u1", "good"), ("r2", "u2", "bad")]),
    ("argilla", "c.json", ARGILLA_TABLE, [("r1", "u1", "good")]),
    ("doccano", "c.jsonl", DOCCANO, [("1", "1", "1"), ("1", "2", "2")]),
    (
        "wide",
        "c.csv",
        WIDE,
        [
            ("a", "ann", "yes"),
            ("a", "bob", "no"),
            ("a", "cem", "yes"),
            ("b", "ann", "no"),
            ("b", "bob", "no"),
            ("c", "ann", "yes"),
            ("c", "bob", "yes"),
            ("c", "cem", "yes"),
        ],
    ),
]


def _written(path: Path, content: Any) -> Path:
    if not isinstance(content, str):
        one_a_line = path.suffix == ".jsonl"
        content = "\n".join(map(json.dumps, content)) if one_a_line else json.dumps(content)
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("layout", "name", "content", "claims"), FILES)
def test_files_of_tools_are_read_as_they_are(
    tmp_path: Path, layout: str, name: str, content: Any, claims: Rows
) -> None:
    """Rejected, skipped and drafted answers are left out; the name of the layout gives the same."""
    path = _written(tmp_path / name, content)
    assert rows_of(Claims.read(path)) == claims
    assert rows_of(Claims.read(path, columns=ClaimColumns(layout))) == claims


@pytest.mark.parametrize(("layout", "name", "content", "claims"), FILES)
def test_what_was_taken_is_said(
    tmp_path: Path, layout: str, name: str, content: Any, claims: Rows
) -> None:
    """One warning names the tool and how many claims there are."""
    tool = next(one.tool for one in LAYOUTS if one.name == layout)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Claims.read(_written(tmp_path / name, content))
    (told,) = [str(one.message) for one in said if "is read as separated" not in str(one.message)]
    assert tool in told
    assert quantity(len(claims), "claim") in told


def test_every_layout_is_tried_and_can_be_named() -> None:
    """The command line offers all of them, and each but the plain one is among the files above."""
    assert ("auto", *layout_names()) == NAMED
    assert {layout for layout, *_rest in FILES} == {*layout_names()} - {"long"}
    with pytest.raises(ParameterError, match="layout is 'excel', expected"):
        ClaimColumns("excel")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_can_be_named() -> None:
    """Of a plain table, a tool's table, and one with our own names for something else."""
    frame = {"label": ["x", "y"], "who": ["p", "q"], "doc": ["a", "a"], "code": ["u", "v"]}
    named = ClaimColumns(task="doc", worker="who", label="code")
    assert rows_of(Claims.from_frame(frame, columns=named)) == [("a", "p", "u"), ("a", "q", "v")]
    two = {"HITId": ["h"], "WorkerId": ["w"], "Answer.a": ["1"], "Answer.b": ["2"]}
    assert rows_of(Claims.from_frame(two, columns=ClaimColumns(label="Answer.b"))) == [
        ("h", "w", "2")
    ]


@pytest.mark.parametrize(
    ("frame", "named", "words"),
    [
        (
            {"HITId": ["h"], "WorkerId": ["w"], "Answer.a": ["1"], "Answer.b": ["2"]},
            {},
            "--label-column",
        ),
        ({"item": [1], "question": [2], "rater": [3], "class": [4]}, {}, "could each be the task"),
        ({"a": [1], "b": [2], "c": [3]}, {}, r"layout='wide'"),
        ({"item": [1], "rater": [2], "class": [3]}, {"label": "clas"}, "column 'clas' is missing"),
        ({"OUTPUT:x": ["1"], "INPUT:i": ["1"]}, {}, "no column is the worker"),
    ],
)
def test_what_cannot_be_known_is_asked_for(
    frame: dict[str, list[Any]], named: dict[str, str], words: str
) -> None:
    """The error names the columns that could be meant and the option that decides."""
    with pytest.raises(SchemaError, match=words):
        Claims.from_frame(frame, columns=ClaimColumns(**named))


def test_an_annotation_with_several_results_is_refused() -> None:
    """Claims have one label each; the message names the row and the fields."""
    part = {"from_name": "mood", "value": {"choices": ["a", "b"]}}
    one = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [part]}]}
    with pytest.raises(SchemaError, match=r"row 1: .* holds 2 values"):
        Claims.from_frame({key: [value] for key, value in one.items()})


@pytest.mark.parametrize(
    "rows",
    [
        {"item": ["a", "b"], "length": [3, 4], "colour": ["red", "blue"]},
        {"item": ["a", "b"], "n": [1, 2], "m": [3, 4]},
    ],
)
def test_a_table_of_other_content_is_not_taken_for_annotators(rows: dict[str, list[Any]]) -> None:
    """Columns without a label in common are no annotators."""
    with (
        pytest.warns(UserWarning, match="'item' as task"),
        pytest.raises(SchemaError, match="'worker'"),
    ):
        Claims.from_frame(rows)


CHOICE = {"from_name": "label", "type": "choices", "value": {"choices": ["good"]}}
GOOD = {"id": 1, "annotations": [{"completed_by": 1, "result": [CHOICE]}]}


@pytest.mark.parametrize(
    ("layout", "rows"),
    [
        ("label-studio", [GOOD, {"id": 2, "annotations": [None]}]),
        ("label-studio", [GOOD, {"id": 2, "annotations": {"a": 1}}]),
        ("label-studio", [GOOD, {"id": 2, "annotations": [{"result": 5}]}]),
        ("label-studio", [GOOD, {"id": 2, "annotations": [{"result": ["x"]}]}]),
        ("label-studio", [GOOD, {"annotations": [{"result": [CHOICE]}]}]),
        ("prodigy", [{"_task_hash": 1, "answer": "accept"}, {"answer": "accept"}]),
        ("argilla", [{"id": 1, "responses": {"q": []}}, {"id": 2, "responses": {"q": [3]}}]),
        ("doccano", [{"id": 1, "annotations": []}, {"id": 2, "annotations": [{"label": 1}]}]),
    ],
)
def test_rows_of_another_form_are_named(tmp_path: Path, layout: str, rows: list[Any]) -> None:
    """A null, a text or number in place of an object, and a lacking field, end in a sentence."""
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(SchemaError, match=r"odd\.json, row 2: it is not as "):
        Claims.read(path, columns=ClaimColumns(layout=layout))
