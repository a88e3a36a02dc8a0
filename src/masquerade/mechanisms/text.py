"""The text form of frozen dataclasses: ``name:key=value,...``, the same everywhere.

A value writes its fields in order and leaves out those at their default; a field that is a
dataclass itself, such as a lattice, writes its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

from masquerade.errors import MechanismSyntaxError, ParameterError
from masquerade.exact.number import exact, text_of
from masquerade.lazy import suggestion


def text_fields(value: Any) -> dict[str, str]:
    """Return the fields of a frozen dataclass as texts, in order.

    A field's key is its name, or the ``"key"`` of its metadata. Fields that are computed
    (``init=False``), None, or at their default are left out.
    """
    texts: dict[str, str] = {}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if not field.init or content is None:
            continue
        if dataclasses.is_dataclass(content):
            texts |= text_fields(content)
        elif content != field.default:
            texts[field.metadata.get("key", field.name)] = _text(content)
    return texts


def _text(content: object) -> str:
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, Fraction | float):
        return text_of(exact(content, "value"))  # a float as the decimal that it shows
    return content.hex() if isinstance(content, bytes) else str(content)


def text_form(name: str, fields: Mapping[str, str]) -> str:
    """Return the text form ``name:key=value,...``."""
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in fields.items())


def read_text_form(
    text: object, known: Mapping[str, Collection[str]], *, what: str = "mechanism"
) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters, as texts, of ``name:key=value,...``.

    `known`: the names that there are, each with its keys. `what`: what is named, for errors.
    """
    if not isinstance(text, str):
        raise MechanismSyntaxError(
            f"a {what} is described by a text, name:key=value,..., not by {type(text).__name__}."
        )
    # values are numbers, flags, words and digits: none holds a separator, so nothing is quoted
    name, _, rest = text.strip().partition(":")
    if name not in known:
        raise MechanismSyntaxError(
            f"{what} {name!r} is unknown; expected one of {', '.join(sorted(known))}."
            f"{suggestion(name, known)}"
        )
    texts: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise MechanismSyntaxError(f"{part!r} in {text!r} is not key=value.")
        if key not in known[name]:
            raise MechanismSyntaxError(
                f"{name} has no parameter {key!r}; it has {', '.join(known[name])}."
                f"{suggestion(key, known[name])}"
            )
        if key in texts:
            raise MechanismSyntaxError(f"{key!r} stands twice in {text!r}; give it once.")
        texts[key] = value
    return name, texts


def read_field(text: str, kind: str, key: str) -> Any:
    """Return `text` as a field annotated `kind`: a number, a flag or the text itself."""
    plain = kind.removesuffix(" | None")
    readers: dict[str, Callable[[str], Any]] = {
        "int": int,
        "float": float,
        "bool": _FLAGS.__getitem__,
    }
    try:
        return readers[plain](text) if plain in readers else text
    except (ValueError, KeyError) as error:
        raise ParameterError(f"{key} is {text!r}, expected {plain}.", field=key) from error


_FLAGS = {"true": True, "false": False}
