"""The base of results: one form for tables, figures and files.

A result is a frozen dataclass. Its table, its dictionary, its file and its figure follow from its
fields; a class says more only where its table is another than the one that its fields make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from masquerade.answers.result_file import read_result, write_result
from masquerade.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes

#: The parameter `progress` of functions that may take long: called, now and then, with how much is
#: done and the total (0 where nobody knows it beforehand). What it raises ends the work.
Progress = Callable[[int, int], object]

#: Metadata of a field that is its holder's alone: it is in no table, dictionary or file.
UNPUBLISHED = {"published": False}
#: Letters of a value in the text form of its holder; a longer one is told by its size.
_LONGEST_VALUE = 80
#: Rows that a notebook shows.
_ROWS_SHOWN = 20


class Result:
    """A result: a frozen value that is also a table, a dictionary, a file and a figure.

    Everything that reads Arrow takes a result itself: ``pyarrow.table(result)``,
    ``polars.DataFrame(result)``, duckdb. An interval is always in columns ``low`` and ``high``.

    Examples
    --------
    >>> from masquerade.answers import Truths
    >>> table = Truths.from_frame({"task": ["a", "b"], "truth": ["cat", "dog"]})
    >>> table.to_arrow().num_rows
    2
    """

    __slots__ = ()

    #: The function of `masquerade.plots` that draws it.
    drawing: ClassVar[str] = "estimates"

    def __init_subclass__(cls) -> None:
        """Give a class the short text form, in place of the one that a dataclass writes."""
        if "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = (f"{name}={_short(value)}" for name, value in _published(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_arrow(self) -> pa.Table:
        """Return the result as an Arrow table.

        Fields that hold one value for each of several things are its columns; lists of texts alone
        are none. A result without columns is one row. `to_dict` has what has no place here.
        """
        shown = _published(self)
        lists = {name: value for name, value in shown.items() if _is_column(value)}
        if all(_is_remark(value) for value in lists.values()):
            row = {name: _cell(value) for name, value in shown.items() if _is_cell(value)}
            return pa.Table.from_pylist([row])
        length = len(next(iter(lists.values())))
        columns: dict[str, Any] = {}
        for name, value in lists.items():
            if len(value) == length:
                columns |= _columns(name, value)
        return pa.table(columns)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the result as a pandas DataFrame."""
        _needed("pandas", "to_pandas")
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the result as a polars DataFrame."""
        frame: polars.DataFrame = _needed("polars", "to_polars").from_arrow(self.to_arrow())
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain Python values: texts, numbers, lists and dictionaries."""
        content: dict[str, Any] = (
            self.to_json()
            if hasattr(self, "to_json")
            else {name: _plain(value) for name, value in _published(self).items()}
        )
        return content

    def save(self, path: str | Path) -> None:
        """Write the result to a JSON file (also .gz), from which `load` makes it again.

        Raises
        ------
        ParameterError
            The ending is another. A table is written from `to_arrow` or `to_pandas`.
        """
        write_result(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the result that `save` wrote.

        Raises
        ------
        UnreadableFile
            The file is not there, or holds no result.
        ParameterError
            It holds a result of another kind.
        """
        found = read_result(path)
        if not isinstance(found, cls):
            raise ParameterError(
                f"{path} holds a {type(found).__name__}, expected a {cls.__name__}; use "
                f"{type(found).__name__}.load."
            )
        return found

    def plot(self, *, axes: Axes | None = None, theme: str = "light") -> Axes:
        """Draw the result and return matplotlib's axes; it needs the extra ``plots``.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw. Default: a new figure.
        theme : {"light", "dark"}
            Of a new figure.
        """
        plots = import_module("masquerade.plots")
        drawn: Axes = getattr(plots, self.drawing)(self, axes=axes, theme=theme)
        return drawn

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as an Arrow PyCapsule, through which other libraries read it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return html_table(self.to_arrow(), title=type(self).__name__)


def html_table(table: pa.Table, *, title: str) -> str:
    """Return the first rows of a table as HTML, in the colours of the page that it stands on."""
    first = table.slice(0, _ROWS_SHOWN)
    heads = "".join(f"<th>{escape(name)}</th>" for name in first.column_names)
    rows = "".join(
        "<tr>" + "".join(_html_cell(value) for value in row.values()) + "</tr>"
        for row in first.to_pylist()
    )
    more = len(table) - len(first)
    note = f"<p>{more} more rows: <code>to_pandas()</code> has all.</p>" if more else ""
    return (
        '<table style="font-variant-numeric: tabular-nums; color: inherit">'
        f'<caption style="text-align: start; color: inherit">{escape(title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{note}"
    )


def _short(value: object) -> str:
    """Return the text form of a value, or its type and size where that is long."""
    if isinstance(value, pa.Table):
        return f"<{value.num_rows} rows: {', '.join(value.column_names)}>"
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"<array of {' x '.join(map(str, value.shape))}>"
    text = repr(value)
    if len(text) <= _LONGEST_VALUE and "\n" not in text:
        return text
    if isinstance(value, str):
        return f"{text[:_LONGEST_VALUE]}…"
    if hasattr(value, "__len__"):
        return f"<{type(value).__name__} of {len(value)}>"
    return f"<{type(value).__name__}>"


def _html_cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align: end">{value:.4g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: end">{value:,}</td>'
    return f'<td style="text-align: start">{"–" if value is None else escape(str(value))}</td>'


def _needed(package: str, method: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(f"{method} needs {package}", "frames") from error


def _published(result: object) -> dict[str, Any]:
    """Return the fields that are for everybody, by name."""
    return {
        field.name: getattr(result, field.name)
        for field in fields(result)  # type: ignore[arg-type]
        if is_published(field)
    }


def is_published(field: Field[Any]) -> bool:
    """Return whether a field of a result is shown."""
    return not field.name.startswith("_") and bool(field.metadata.get("published", True))


def _is_column(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, list | tuple | pa.Array | pa.ChunkedArray)


def _is_remark(values: Any) -> bool:
    """Return whether a list is of texts: alone they say something of the whole."""
    return isinstance(values, list | tuple) and all(isinstance(one, str) for one in values)


def _is_cell(value: Any) -> bool:
    return not isinstance(value, Mapping | np.ndarray | pa.Table | list | tuple) and (
        not is_dataclass(value) or hasattr(value, "to_json")
    )


def _cell(value: Any) -> Any:
    """Return a value that a cell of a table can hold."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value):
        said = _plain(value)
        return said if isinstance(said, int | float | str) else str(value)
    return value


def _columns(name: str, values: Any) -> dict[str, Any]:
    """Return the columns of a field: its own, or one for each field of its value."""
    if isinstance(values, tuple | list):
        if values and all(is_dataclass(value) for value in values):
            return dict(pa.Table.from_pylist([_row(value) for value in values]).to_pydict())
        return {name: [_cell(value) for value in values]}
    return {name: values}


def _row(value: Any) -> dict[str, Any]:
    return {name: _cell(part) for name, part in _published(value).items() if _is_cell(part)}


def _plain(value: Any) -> Any:
    """Return a value as texts, numbers, lists and dictionaries."""
    if hasattr(value, "to_json") and not isinstance(value, type):
        return value.to_json()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, pa.Table):
        return value.to_pydict()
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value.to_pylist()
    if isinstance(value, Fraction):
        return float(value)
    if is_dataclass(value):
        return {name: _plain(part) for name, part in _published(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(part) for part in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(part) for part in value]
    return value
