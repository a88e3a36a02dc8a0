"""Values that no field of the builder takes, and the messages of the server about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from masquerade.server.surveys.document import Document, Issue, changed
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.surveys.builder_form import BuilderForm, FormField


def bad_values(form: BuilderForm, field: FormField) -> Iterator[str]:
    """Yield values that cannot stand in a field, by its type."""
    if field.type == "text":
        yield from ["x" * 501, "a\u202eb", "", "  "]
    elif field.type in ("number", "whole"):
        yield from ["abc", "1e999", "12,5", *(["1.5"] if field.type == "whole" else [])]
        if form.blank.get(field.name) is not None:
            yield ""
    elif field.type == "lines":
        yield from ["", "One", "A\nA", "A\nB\n" + "x" * 501, "A\nB\nC\u202e", "Yes\nyes\nNo"]
        yield "\n".join(map(str, range(600)))


def refused(kind: str, fields: dict[str, Any], field: FormField, value: str) -> bool:
    """Return True if the server refuses a field's value that is not bad otherwise."""
    return bool(issues(kind, fields, field, value))


def issues(kind: str, fields: dict[str, Any], field: FormField, value: object) -> list[Issue]:
    """Return the messages of the server about a value of a field."""
    typed = value
    if field.type == "lines" and isinstance(value, str):
        typed = [line.strip() for line in value.split("\n") if line.strip()]
    question = {"kind": kind, "id": "q1", **fields, "text": "Which?", field.name: typed}
    document = changed(Document(title="T"), {"questions": [question]})
    return survey_or_issues(document, allow_clear=False, today="2026-01-01")[1]
