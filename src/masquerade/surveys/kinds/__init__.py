"""The kinds of question, one module each; a module that is added is found.

A module holds one class that extends `Question`. The device's half stands in
``server/web/static/app/kinds``, in a module of the same name.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.question import Question

__all__ = ["kinds", "question_from_json"]


@cache
def kinds() -> dict[str, type[Question]]:
    """Return every kind of question by its name, in the order in which surveyors are offered them.

    Examples
    --------
    >>> ", ".join(kinds())
    'rating, matrix, choice, several, nps, comparison, number, pair, date, ranking'
    """
    modules = (import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))
    classes = [
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Question) and member.__module__ == module.__name__
    ]
    return {one.kind: one for one in sorted(classes, key=lambda one: one.builder.place)}


def question_from_json(data: dict[str, Any]) -> Question:
    """Return the question that a JSON object describes.

    Raises
    ------
    ParameterError
        The kind is unknown, or a field is missing, unknown or out of range.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> question_from_json(question.to_json()).labels
    ('Yes', 'No')
    """
    if not isinstance(data, dict):
        raise ParameterError(f"a question is {data!r}, expected a JSON object.")
    values = dict(data)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds():
        raise ParameterError(
            f"question kind {kind!r} is unknown; expected one of {', '.join(kinds())}. Free text "
            "cannot be masked and is not offered.",
            field="kind",
        )
    return kinds()[kind].from_fields(values)
