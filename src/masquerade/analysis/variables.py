"""Variables of a regression as columns of a table hold them: masked reports, and clear columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.analysis.likelihood import Seen
from masquerade.answers.frames import missing_column, plain_column
from masquerade.errors import InputError, MissingValue, ParameterError, UnknownLabel
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of

#: Two texts that are read as no and yes wherever they stand alone.
_NO_YES = (("no", "yes"), ("false", "true"), ("0", "1"))
_MOST_OPTIONS = 64
NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Coding:
    """The columns of a masked predictor.

    Attributes
    ----------
    names : tuple of str
    values : float array, shape (answers, columns)
        Scores less their middle, or 0 and 1.
    half, middle : float array, shape (columns,)
        Half the range of the scores (of two answers the whole), and their middle.
    """

    names: tuple[str, ...]
    values: Floats
    half: Floats
    middle: Floats


@dataclass(frozen=True)
class Variable:
    """A question as it is seen: the likelihood of each person's report under each answer.

    Attributes
    ----------
    name : str
    options : tuple of str
        The answers.
    scores : tuple of float or None
        Of the answers, where these are numbers.
    seen : Seen
    report : int array, shape (people,)
        The answer that is reported, as if there were no mask; -1 where none is.
    mechanisms : tuple of str
        The masks, as texts; none where the question was answered in clear.
    """

    name: str
    options: tuple[str, ...]
    scores: tuple[float, ...] | None
    seen: Seen
    report: Codes
    mechanisms: tuple[str, ...] = ()

    @property
    def masked(self) -> bool:
        """Whether some reports went through a mask."""
        return bool(self.mechanisms)

    @property
    def naive(self) -> Seen:
        """The reports, taken for answers."""
        table = np.vstack([np.eye(len(self.options)), np.ones(len(self.options))])
        return Seen(table, self.report)

    def coding(self) -> Coding:
        """Return the columns that answers become: a score, or one for each option but the first."""
        k = len(self.options)
        if self.scores is not None:
            values = np.array(self.scores)
            middle, half = (values.max() + values.min()) / 2, (values.max() - values.min()) / 2
            if k == 2:
                half *= 2  # as a column of 0 and 1 has it
            column = (values - middle)[:, None]
            return Coding((self.name,), column, np.array([half]), np.array([middle]))
        names = tuple(f"{self.name}[{option}]" for option in self.options[1:])
        return Coding(names, np.eye(k)[:, 1:], np.ones(k - 1), np.zeros(k - 1))

    def take(self, rows: Any) -> Variable:
        """Return the variable of some people."""
        seen = Seen(self.seen.table, self.seen.code[rows])
        return Variable(
            self.name, self.options, self.scores, seen, self.report[rows], self.mechanisms
        )


@dataclass(frozen=True, slots=True)
class Channel:
    """P(report | answer) of one mask, and how reports of a table are read."""

    table: Floats  # [report, answer]
    text: str
    null: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism, name: str) -> Channel:
        """Return the channel of a mechanism of categories.

        Raises
        ------
        ParameterError
            It has no table of few answers.
        """
        channel = getattr(mechanism, "channel", None)
        if mechanism.as_sets is not None or channel is None:
            raise ParameterError(
                f"{name}: {mechanism} masks no single answer out of a list, so that a regression "
                "has no channel for it. Use a mechanism of categories or of a few numbers.",
                field="mechanisms",
            )
        return cls(channel().matrix().T, str(mechanism), mechanism.null)


def read_masked(
    table: pa.Table,
    name: str,
    masks: str | Mechanism | Mapping[Any, str | Mechanism | None],
    *,
    options: Sequence[Any] | None = None,
    levels: str | None = None,
) -> Variable:
    """Return a masked column of a table.

    Parameters
    ----------
    masks : mechanism or its text form, or mapping
        Of everybody, or of each value of the column `levels`; None stands for asked in clear.
    options : sequence, optional
        The answers in the order of the mechanism's codes. Default: the whole numbers in order, or
        no and yes.
    levels : str, optional
        The column that says which of several masks each person's report went through.
    """
    column = _column(table, name)
    if not isinstance(masks, Mapping):
        group = np.zeros(len(column), dtype=np.int64)
        given = {None: masks}
    else:
        given = dict(masks)
        group = _groups(table, name, list(given), levels)
    mechanisms = {key: None if m is None else mechanism_of(m) for key, m in given.items()}
    first = next((one for one in mechanisms.values() if one is not None), None)
    if first is None:
        raise ParameterError(f"{name}: no mechanism masks it; leave it out of mechanisms.")
    if first.as_numbers is not None:
        return masked_numbers(name, numbers_of(column, name), mechanisms, group)
    channels = {k: None if m is None else Channel.of(m, name) for k, m in mechanisms.items()}
    sizes = {one.table.shape for one in channels.values() if one is not None}
    if len({size[1] for size in sizes}) > 1:
        raise ParameterError(f"{name}: its mechanisms are for different numbers of options.")
    null = any(one.null for one in channels.values() if one is not None)
    answers = next(iter(sizes))[1]
    reports = max(size[0] for size in sizes)
    given_options = options if answers == reports else None
    report, labels = _codes(name, column, reports - null, given_options, ordered=answers < reports)
    if answers == reports:
        return of_codes(name, report, channels, group, labels + ([NO_ANSWER] if null else []))
    named = [str(one) for one in options] if options is not None else ["0", "1"]
    found = of_codes(name, report, channels, group, named)
    # with more reports than answers, no report is an answer by itself
    return Variable(
        name,
        found.options,
        found.scores,
        found.seen,
        np.full(len(report), -1, np.int32),
        found.mechanisms,
    )


def of_codes(
    name: str,
    report: Codes,
    channels: Mapping[Any, Channel | None],
    group: Any,
    options: Sequence[str],
    scores: Sequence[float] | None = None,
) -> Variable:
    """Return a variable from codes of reports; -1 is an unknown report."""
    tables, offsets, rows = [], [], 0
    for one in channels.values():
        part = np.eye(len(options)) if one is None else one.table
        offsets.append(rows)
        tables.append(part)
        rows += len(part)
    tables.append(np.ones((1, len(options))))
    code = np.where(report < 0, rows, np.array(offsets)[group] + np.maximum(report, 0))
    if scores is None:
        scores = _scores(options)
    return Variable(
        name,
        tuple(map(str, options)),
        None if scores is None else tuple(map(float, scores)),
        Seen(np.vstack(tables), code.astype(np.int32)),
        report.astype(np.int32),
        tuple(one.text for one in channels.values() if one is not None),
    )


def read_clear(table: pa.Table, name: str, *, number: bool) -> Variable:
    """Return an outcome in clear: a number, or one of a few labels."""
    column = _column(table, name)
    if number:
        values = numbers_of(column, name)
        codes = np.arange(len(values), dtype=np.int32)
        return Variable(name, (), None, Seen(values[:, None], codes), codes)
    labels = sorted(set(column.drop_null().to_pylist()), key=_order)
    if not 2 <= len(labels) <= _MOST_OPTIONS:
        raise InputError(
            f"column {name!r} has {len(labels)} different values; an outcome of categories has 2 "
            f"to {_MOST_OPTIONS}. For a number use model='linear'."
        )
    code = pc.fill_null(pc.index_in(column, pa.array(labels, column.type)), -1)
    return of_codes(name, code.to_numpy(), {None: None}, np.zeros(len(code), np.int64), labels)


@dataclass(frozen=True)
class ClearColumns:
    """Clear columns by name, the constant not among them."""

    names: tuple[str, ...]
    values: Floats  # [person, column]


def encode(table: pa.Table, name: str, *, levels: Sequence[Any] | None) -> ClearColumns:
    """Return a clear column: labels as 0 and 1 against the first; without levels, its numbers."""
    column = _column(table, name)
    kind = column.type
    if pa.types.is_boolean(kind):
        return ClearColumns((name,), column.cast(pa.float64()).to_numpy(False)[:, None])
    if levels is None:
        return ClearColumns((name,), numbers_of(column, name)[:, None])
    labels = list(levels)
    if len(labels) > _MOST_OPTIONS:
        raise InputError(
            f"column {name!r} has {len(labels)} different texts; a column of categories has at "
            f"most {_MOST_OPTIONS}. Join rare ones, or leave it out."
        )
    found = pc.index_in(column, pa.array(labels, column.type))
    if found.null_count:
        row = pc.index(pc.is_null(found), True).as_py()
        raise UnknownLabel(
            f"column {name!r}, row {row + 1}: {column[row].as_py()!r} is none of the labels of the "
            f"fit, {labels[:10]}."
        )
    code = found.to_numpy(False)
    return ClearColumns(
        tuple(f"{name}[{label}]" for label in labels[1:]),
        (code[:, None] == np.arange(1, len(labels))).astype(np.float64),
    )


def labels_of(table: pa.Table, name: str) -> list[Any] | None:
    """Return the categories of a column, the first first; None where it holds numbers."""
    column = _column(table, name)
    if pa.types.is_boolean(column.type) or is_number(column.type) or _reads_as_numbers(column):
        return None
    return sorted(set(column.to_pylist()), key=_order)


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column's type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def numbers_of(column: pa.Array, name: str) -> Floats:
    """Return a column as numbers; the error names row and value."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        values: Floats = column.cast(pa.float64()).to_numpy(False).astype(np.float64)
    except pa.ArrowInvalid:
        row, text = next(
            (row, one) for row, one in enumerate(column.to_pylist(), 1) if not _is_float(one)
        )
        raise UnknownLabel(
            f"column {name!r}, row {row}: {text!r} is not a number; correct it, or use a column of "
            "labels."
        ) from None
    odd = np.flatnonzero(np.isinf(values))
    if odd.size:
        raise UnknownLabel(f"column {name!r}, row {odd[0] + 1}: {values[odd[0]]} is not finite.")
    return values


def missing_rows(table: pa.Table, name: str) -> Flags:
    """Return which rows of a column hold no value."""
    column = _column(table, name)
    return np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(False), dtype=bool)


def require_all(table: pa.Table, names: Sequence[str]) -> None:
    """Raise `MissingValue` where a column that is used lacks a value; it names column and row."""
    for name in names:
        missing = missing_rows(table, name)
        if missing.any():
            raise MissingValue(
                f"column {name!r}, row {int(missing.argmax()) + 1}: the value is missing, and so "
                f"in {int(missing.sum())} of {len(missing)} rows. Leave such rows out with "
                "missing='drop' (--missing drop), or give the values. A missing report of a "
                "masked column can also stay as unknown, with missing='keep'."
            )


def _column(table: pa.Table, name: str) -> pa.Array:
    if name not in table.column_names:
        raise missing_column(name, list(table.column_names))
    column = plain_column(table, name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    return column


def _groups(table: pa.Table, name: str, keys: list[Any], levels: str | None) -> Any:
    if levels is None:
        raise ParameterError(
            f"{name} has several masks {keys}; say which column tells them apart: levels='COLUMN'.",
            field="levels",
        )
    found = _column(table, levels).to_pylist()
    places = {str(key): place for place, key in enumerate(keys)}
    odd = next((row for row, one in enumerate(found) if str(one) not in places), None)
    if odd is not None:
        raise UnknownLabel(
            f"column {levels!r}, row {odd + 1}: {found[odd]!r} has no mask of {name}; expected one "
            f"of {keys}."
        )
    return np.array([places[str(one)] for one in found], dtype=np.int64)


def _codes(
    name: str, column: pa.Array, count: int, options: Sequence[Any] | None, *, ordered: bool
) -> tuple[Codes, list[str]]:
    """Return codes of reports, -1 where none is, and the options.

    `ordered`: whether reports are numbers of cards and the like, which nobody can list.
    """
    texts = column.cast(pa.string()) if not pa.types.is_boolean(column.type) else column
    if pa.types.is_boolean(column.type):
        texts = pc.if_else(column, "1", "0")
    if options is None:
        listed = _guessed(name, texts, column.type, count, ordered=ordered)
    else:
        listed = [str(one) for one in options]
        if len(listed) != count or len(set(listed)) != count:
            raise ParameterError(
                f"{name} has the options {listed}, and its mechanism is for {count} different "
                "ones.",
                field="options",
            )
    code = pc.index_in(texts, pa.array(listed, pa.string()))
    found = pc.fill_null(code, -1).to_numpy(False).astype(np.int32)
    odd = np.flatnonzero((found < 0) & ~np.asarray(pc.is_null(texts).to_numpy(False)))
    if odd.size:
        row = int(odd[0])
        raise UnknownLabel(
            f"column {name!r}, row {row + 1}: {column[row].as_py()!r} is none of the reports "
            f"{listed[:10]}; correct it, or list the options in order, options={{{name!r}: [...]}} "
            f"(--options {name}=A,B on the command line)."
        )
    return found, listed


def _guessed(
    name: str, texts: pa.Array, kind: pa.DataType, count: int, *, ordered: bool
) -> list[str]:
    """Return the options in the order of codes, where the column leaves no doubt of it."""
    there = set(texts.drop_null().to_pylist())
    zero = [str(one) for one in range(count)]
    if not ordered and count > 2 and there and there <= set(zero[1:]):
        return _doubt(name, there)  # from 0, or from 1 where nobody reported the last
    if there <= set(zero):
        return zero
    if pa.types.is_integer(kind) or all(_is_whole(one) for one in there):
        low = min(map(int, there))
        return [str(low + one) for one in range(count)] if low in (0, 1) else _doubt(name, there)
    if count == 2:
        for pair in _NO_YES:
            if {one.lower() for one in there} <= set(pair):
                cased = {one.lower(): one for one in there}
                return [cased.get(one, one) for one in pair]
    return _doubt(name, there)


def _doubt(name: str, there: set[str]) -> list[str]:
    raise ParameterError(
        f"the order of the options of {name} is not clear ({sorted(there)[:10]}), and a mask "
        f"counts them in order; list them, options={{{name!r}: [...]}} "
        f"(--options {name}=A,B on the command line; no before yes).",
        field="options",
    )


def masked_numbers(
    name: str, given: Floats, mechanisms: Mapping[Any, Mechanism | None], group: Any
) -> Variable:
    """Return a masked number: reports on the question's scale, answers the points of a lattice."""
    first = next(one.as_numbers for one in mechanisms.values() if one is not None)
    assert first is not None
    if first.lattice.points > _MOST_OPTIONS:
        raise ParameterError(
            f"{name} has {first.lattice.points} possible answers, and a regression takes at most "
            f"{_MOST_OPTIONS}; use a larger step.",
            field="mechanisms",
        )
    values = first.lattice.values(np.arange(first.lattice.points))
    report = np.full(len(given), -1, dtype=np.int32)
    channels: dict[Any, Channel | None] = {}
    for place, (key, one) in enumerate(mechanisms.items()):
        rows = np.flatnonzero((group == place) & ~np.isnan(given))
        known, code = np.unique(given[rows], return_inverse=True)
        report[rows] = code
        mask = None if one is None else one.as_numbers
        table = (
            (known[:, None] == values).astype(float)
            if mask is None
            else np.array(mask.probability(values[None, :], known[:, None]))
        )
        odd = np.flatnonzero(~(table.sum(axis=1) > 0))
        if odd.size:
            row = int(np.flatnonzero(given == known[odd[0]])[0])
            raise UnknownLabel(
                f"column {name!r}, row {row + 1}: {known[odd[0]]:g} is no report of {one}."
            )
        channels[key] = Channel(table, "" if one is None else str(one))
    options = [f"{value:g}" for value in values]
    found = of_codes(name, report, channels, group, options, values.tolist())
    nearest = np.abs(np.nan_to_num(given)[:, None] - values).argmin(axis=1).astype(np.int32)
    nearest[np.isnan(given)] = -1
    texts = tuple(filter(None, found.mechanisms))
    return Variable(name, found.options, found.scores, found.seen, nearest, texts)


def _scores(options: Sequence[str]) -> list[float] | None:
    return [float(one) for one in options] if all(map(_is_float, options)) else None


def _is_float(text: Any) -> bool:
    if text is None:
        return True
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return str(text).strip().lower() not in ("nan", "inf", "-inf")


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()


def _reads_as_numbers(column: pa.Array) -> bool:
    """Return whether texts, as CSV files have them, are all numbers."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return all(_is_float(one) for one in pc.unique(column).to_pylist())


def _order(value: Any) -> tuple[int, float, str]:
    if value is not None and not isinstance(value, bool) and _is_float(value):
        return (0, float(value), "")
    return (1, 0.0, str(value))
