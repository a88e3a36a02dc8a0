"""The one JSON form of a typed value: its fields by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Self, Union, cast, get_args, get_origin, get_type_hints

from masquerade.errors import SchemaError

#: Metadata of a field that holds a value whose fields stand in the JSON object of its holder.
INLINE: Mapping[str, Any] = {"json": "inline"}
#: Metadata of a field that is left out of the JSON object where it is None.
LEFT_OUT: Mapping[str, Any] = {"json": "left out"}


class JsonValue:
    """A frozen dataclass that is written to JSON and read from it by its fields.

    A field of a kind that this room does not own needs `to_json` and `from_json`. Fields that the
    class does not have are ignored when one is read, and those with a default may be missing: so
    what another version wrote can be read.
    """

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object."""
        content: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value, form = getattr(self, field.name), field.metadata.get("json")
            if form == "inline":
                content |= value.to_json()
            elif value is not None or form != "left out":
                content[field.name] = _written(value)
        return content

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the value that a JSON object describes.

        Raises
        ------
        SchemaError
            A field is missing or of another type.
        """
        if not isinstance(data, Mapping):
            raise SchemaError(f"a {cls.__name__} is {data!r}, expected a JSON object.")
        values = {}
        for field, kind in _typed_fields(cast("type", cls)):
            if field.metadata.get("json") == "inline":
                values[field.name] = kind.from_json(data)
            elif field.name in data:
                values[field.name] = _read(kind, data[field.name], f"{cls.__name__}.{field.name}")
            elif field.metadata.get("json") == "left out":
                values[field.name] = None
            elif field.default is MISSING and field.default_factory is MISSING:
                raise SchemaError(f"a {cls.__name__} has no {field.name!r}: it is broken.")
        return cls(**values)


@cache
def _typed_fields(cls: type) -> tuple[tuple[Field[Any], Any], ...]:
    kinds = get_type_hints(cls)
    return tuple((field, kinds[field.name]) for field in fields(cls))


def _written(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _written(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    return value


def _read(kind: Any, value: Any, name: str) -> Any:
    """Return a value of JSON as one of a type: a class, a union, a tuple or a mapping."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        rest = [part for part in parts if part is not NoneType]
        return _read(rest[0], value, name) if len(rest) == 1 else _simple(rest, value, name)
    if origin is tuple and isinstance(value, list):
        kinds = parts[:1] * len(value) if Ellipsis in parts else parts
        return tuple(_read(of, one, name) for of, one in zip(kinds, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, Mapping):
        return {key: _read(parts[1], one, name) for key, one in value.items()}
    if origin is None and hasattr(kind, "from_json"):
        return kind.from_json(value)
    return _simple([kind], value, name)


def _simple(kinds: list[Any], value: Any, name: str) -> Any:
    # JSON has one kind of number: 1 is a float where one is expected.
    expected = [kind for kind in kinds if isinstance(kind, type)]
    if float in expected:
        expected.append(int)
    flags = bool not in expected and isinstance(value, bool)
    if flags or not isinstance(value, tuple(expected)):
        wanted = " or ".join(kind.__name__ for kind in expected)
        raise SchemaError(f"{name} is {value!r}, expected {wanted}.")
    return value
