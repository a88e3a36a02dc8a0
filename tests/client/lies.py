"""The form of a lie: changes to an honest answer, or a text in its place."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

from tests.client.honest_server import SURVEYS

Case = dict[str, Any]
LEVEL = ("levels", 0)
"""Where the level that is chosen stands in the invitation."""


def at(*path: str | int, value: Any) -> dict[str, Any]:
    """Return a change to a value."""
    return {"path": list(path), "value": value}


def without(*path: str | int) -> dict[str, Any]:
    """Return a change that leaves something out."""
    return {"path": list(path), "delete": True}


def changed(body: Any, changes: list[dict[str, Any]]) -> Any:
    """Return a body after changes."""
    body = copy.deepcopy(body)
    for change in changes:
        *way, last = change["path"]
        place = body
        for step in way:
            place = place[step]
        if change.get("delete"):
            del place[last]
        else:
            place[last] = change["value"]
    return body


def case(
    name: str,
    expect: str,
    *,
    survey: str = "work",
    consent: bool = False,
    caps: dict[str, float] | None = None,
    **lies: Any,
) -> Case:
    """Return a case; a lie is a list of changes, or a text in place of the honest answer."""
    told = {step: {"change": lie} if isinstance(lie, list) else lie for step, lie in lies.items()}
    found: Case = {"name": name, "survey": survey, "lies": told, "expect": expect}
    if consent:
        found["consent"] = True
    if caps is not None:
        found["caps"] = caps
    return found


def told_at(step: str, lie: Any) -> dict[str, Any]:
    """Return a lie at a step, as `case` takes it."""
    return {step: lie}


def problem(slug: str, status: int = 409, **more: Any) -> dict[str, Any]:
    """Return a refusal."""
    about = {"type": f"/problems/{slug}", "title": slug, "status": status, "detail": "No."}
    return {"status": status, "body": {**about, **more}}


def raw(survey: str, step: str, path: tuple[str | int, ...], text: str) -> dict[str, Any]:
    """Return an honest answer in which a value is a text that JSON values cannot stand for."""
    honest_ = SURVEYS[survey]["steps"][step]
    body = json.dumps(changed(honest_["body"], [at(*path, value="@here@")]))
    return {"status": honest_["status"], "raw": body.replace('"@here@"', text)}


def canonical(content: Any) -> str:
    """Return the canonical text of a survey, or of anything else."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def hashed(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
