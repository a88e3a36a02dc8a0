"""Tasks of Label Studio: claims as annotations and inferred labels as predictions, to import there.

What is written here is read back by the layout ``label-studio`` of `ClaimColumns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from masquerade.answers.claims import Claims
from masquerade.answers.frames import Frame
from masquerade.answers.truths import Truths
from masquerade.errors import ParameterError


def to_label_studio(
    claims: Claims | Frame,
    truths: Truths | Frame | None = None,
    *,
    field: str = "label",
    on: str = "text",
    data: Mapping[Any, Mapping[str, Any]] | None = None,
    scores: Mapping[Any, float] | None = None,
    model: str = "masquerade",
) -> list[dict[str, Any]]:
    """Return tasks as Label Studio imports them, for ``json.dump``.

    Parameters
    ----------
    claims : Claims or table
        Become annotations, with the worker in ``completed_by``: Label Studio takes the e-mail
        address or the number of one of its members. An answer that was not given is a skipped task.
    truths : Truths, table or fitted ``truths_``, optional
        Become one prediction a task. The tasks must be among the claims'.
    field, on : str
        Names of the control tag (``<Choices name=...>``, or ``<Number>`` for numbers) and of the
        object tag that it belongs to, in the labelling interface.
    data : mapping of mappings, optional
        What Label Studio shows of each task, such as ``{"t1": {"text": "A good film."}}``; the task
        itself is always beside it, as ``task``.
    scores : mapping, optional
        Scores of predictions by task, such as probabilities of the labels: Label Studio sorts by
        them.
    model : str
        Version of the model that predictions name.

    Raises
    ------
    ParameterError
        `truths`, `data` or `scores` hold a task of which there is no claim.

    Examples
    --------
    >>> claims = {"task": ["t1", "t1"], "worker": ["a@b.example", "7"], "label": ["good", "bad"]}
    >>> [task] = to_label_studio(claims, {"t1": "good"})
    >>> task["predictions"][0]["result"][0]["value"], task["annotations"][1]["completed_by"]
    ({'choices': ['good']}, 7)
    """
    claims = Claims.of(claims)

    def result(value: Any) -> list[dict[str, Any]]:
        kind, held = ("choices", [str(value)]) if claims.options is not None else ("number", value)
        return [{"from_name": field, "to_name": on, "type": kind, "value": {kind: held}}]

    tasks: dict[Any, dict[str, Any]] = {
        name: {"id": name, "data": {**(data or {}).get(name, {}), "task": name}, "annotations": []}
        for name in claims.tasks.to_pylist()
    }
    task, worker, values = (column.to_pylist() for column in claims.to_arrow().columns)
    for name, who, value in zip(task, worker, values, strict=True):
        made: dict[str, Any] = {"completed_by": _member(who), "result": []}
        made |= {"was_cancelled": True} if value is None else {"result": result(value)}
        tasks[name]["annotations"].append(made)
    known: list[tuple[Any, Any]] = []
    if truths is not None:
        columns = (column.to_pylist() for column in Truths.of(truths).to_arrow().columns)
        known = list(zip(*columns, strict=True))
    named = {"truths": [name for name, _ in known], "data": data or (), "scores": scores or ()}
    for what, names in named.items():
        for name in names:
            if name not in tasks:
                raise ParameterError(
                    f"{what} holds task {name!r}, of which there is no claim; give the {what} of "
                    "the same tasks.",
                    field=what,
                )
    for name, truth in known:
        prediction: dict[str, Any] = {"model_version": model, "result": result(truth)}
        if scores is not None and name in scores:
            prediction["score"] = float(scores[name])
        tasks[name]["predictions"] = [prediction]
    return list(tasks.values())


def _member(worker: Any) -> Any:
    """Return a worker as Label Studio names its members: a number, or an e-mail address."""
    text = str(worker)
    # "07" is not written as a number: it would be member 7
    is_number = text.isascii() and text.isdigit() and text == str(int(text))
    return int(text) if is_number else {"email": text}
