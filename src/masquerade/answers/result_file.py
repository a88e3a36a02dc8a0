"""Files of results: JSON text from which a result is made again, to the last bit.

A file names classes of this package alone, and values are made of plain data: reading one runs
nothing that it brings along.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.errors import MasqueradeError, ParameterError, UnreadableFile

_FORMAT = "masquerade-result-1"
#: Rooms whose classes a file may name.
_ROOMS = (
    *("exact", "answers", "mechanisms", "accounting", "aggregate", "estimation", "surveys"),
    *("selection", "truth", "preference", "release", "results", "analysis", "datasets", "simulate"),
)


def write_result(result: object, path: str | Path) -> None:
    """Write a result to a file with the ending .json or .json.gz."""
    path = _checked(path)
    content = {"format": _FORMAT, "result": _encoded(result)}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error}") from error


def read_result(path: str | Path) -> Any:
    """Return the result that is in a file."""
    path = _checked(path)
    try:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise UnreadableFile(f"{path} holds no result; expected a file that save() wrote.")
    try:
        return _decoded(content["result"])
    except MasqueradeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise UnreadableFile(
            f"{path} holds a result that cannot be made again: {error!r}; it is broken, or of "
            "another version."
        ) from error


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if not path.name.endswith((".json", ".json.gz")):
        raise ParameterError(
            f"{path} has the ending {path.suffix or '(none)'!r}; a result is saved as .json or "
            ".json.gz (its table: pyarrow.parquet.write_table(result.to_arrow(), path))."
        )
    return path


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [_encoded(part) for part in value]
    for kind, (is_it, encode, _) in _KINDS.items():
        if is_it(value):
            return {kind: encode(value)}
    raise ParameterError(
        f"a {type(value).__name__} cannot be saved; keep the table of the result (to_arrow)."
    )


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return float(content) if kind == "float" else _KINDS[kind][2](content)


def _encode_object(value: Any) -> dict[str, Any]:
    kind = type(value)
    for field in fields(value):
        if not field.metadata.get("published", True) and field.default_factory is MISSING:
            raise ParameterError(
                f"a {kind.__name__} holds numbers that are shown to nobody ({field.name}), so it "
                "is not saved; keep its table (to_arrow)."
            )
    if not _is_of_a_room(kind.__module__):
        raise ParameterError(
            f"a {kind.__name__} of {kind.__module__} cannot be saved, for a file names classes of "
            "this library alone; keep its table (to_arrow)."
        )
    return {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "fields": {
            field.name: _encoded(getattr(value, field.name))
            for field in fields(value)
            if (field.init or not _takes_its_fields(kind)) and field.metadata.get("published", True)
        },
    }


def _decode_object(content: Mapping[str, Any]) -> Any:
    module, _, name = str(content["class"]).partition(":")
    if not _is_of_a_room(module) or not name.isidentifier():
        raise UnreadableFile(f"the file names {module}, which is no part of this library.")
    kind = getattr(import_module(module), name)
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise UnreadableFile(f"the file names {module}.{name}, which is no kind of result.")
    values = {name: _decoded(part) for name, part in content["fields"].items()}
    if _takes_its_fields(kind):
        return kind(**values)
    made = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(made, field.name, values[field.name])
    return made


def _is_of_a_room(module: str) -> bool:
    """Return whether a file may name classes of a module."""
    package, _, path = module.partition(".")
    return package == "masquerade" and path.partition(".")[0] in _ROOMS


def _takes_its_fields(kind: Any) -> bool:
    """Return whether a class is made from its fields; a mechanism is made from fewer."""
    return set(signature(kind).parameters) == {field.name for field in fields(kind) if field.init}


def _encode_array(value: Any) -> dict[str, Any]:
    if value.dtype.kind not in "biufU":
        raise ParameterError(f"an array of {value.dtype} cannot be saved.")
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return {"type": value.dtype.str, "shape": list(value.shape), "data": data}


def _decode_array(content: Mapping[str, Any]) -> Any:
    dtype = np.dtype(content["type"])
    if dtype.kind not in "biufU":
        raise UnreadableFile(f"the file holds an array of {dtype}.")
    flat = np.frombuffer(base64.b64decode(content["data"]), dtype)
    return flat.reshape(content["shape"]).copy()


def _encode_table(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _decode_table(text: str) -> pa.Table:
    with pa.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_all()


def _decode_column(text: str) -> pa.Array:
    column = _decode_table(text)["column"].combine_chunks()
    return column if isinstance(column, pa.Array) else column.chunk(0)


#: Of each kind of value, by the key that holds it: what it is, and how it is written and read.
_KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "number": (lambda x: isinstance(x, np.generic), lambda x: _encoded(x.item()), _decoded),
    "array": (lambda x: isinstance(x, np.ndarray), _encode_array, _decode_array),
    "table": (lambda x: isinstance(x, pa.Table), _encode_table, _decode_table),
    "column": (
        lambda x: isinstance(x, pa.Array | pa.ChunkedArray),
        lambda x: _encode_table(pa.table({"column": x})),
        _decode_column,
    ),
    "fraction": (lambda x: isinstance(x, Fraction), str, Fraction),
    "path": (lambda x: isinstance(x, Path), str, Path),
    "object": (
        lambda x: is_dataclass(x) and not isinstance(x, type),
        _encode_object,
        _decode_object,
    ),
    "tuple": (
        lambda x: isinstance(x, tuple),
        lambda x: [_encoded(part) for part in x],
        lambda x: tuple(_decoded(part) for part in x),
    ),
    "set": (
        lambda x: isinstance(x, set | frozenset),
        lambda x: sorted((_encoded(part) for part in x), key=repr),
        lambda x: frozenset(_decoded(part) for part in x),
    ),
    "mapping": (
        lambda x: isinstance(x, Mapping),
        lambda x: [[_encoded(key), _encoded(part)] for key, part in x.items()],
        lambda x: {_decoded(key): _decoded(part) for key, part in x},
    ),
}
