"""Battles: pairs of named items of which one was preferred, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers.codes import encode
from masquerade.answers.comparison_columns import listed_items
from masquerade.answers.frames import (
    Frame,
    first_missing,
    id_column,
    missing_column,
    plain_column,
    read_table,
    to_arrow,
    write_table,
)
from masquerade.answers.result import Result
from masquerade.errors import EmptyTable, InvalidRecord, ParameterError, SchemaError
from masquerade.exact.arrays import Codes, Flags, Floats
from masquerade.exact.number import one_of

#: Names of the two columns of items, by layout; the last one holds no outcome column.
PAIRS = (("model_a", "model_b"), ("left", "right"), ("chosen", "rejected"))
#: Names that the column of outcomes may have.
OUTCOMES = ("winner", "label")
#: Names that the column of voters may have.
VOTERS = ("voter", "judge", "user", "session", "worker")
WEIGHT, TIE = "weight", "tie"

#: What a vote that both are bad counts as.
BothBad = Literal["tie", "drop"]

FIRST, EVEN, SECOND = 0, 1, 2  # codes of outcomes
_DROPPED = 3
_WORDS = {
    **dict.fromkeys(("model_a", "left", "a", "1", "1.0"), FIRST),
    **dict.fromkeys(("model_b", "right", "b", "0", "0.0"), SECOND),
    **dict.fromkeys(("tie", "0.5", ".5"), EVEN),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad", "both bad"), _DROPPED),
}
_YES, _NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")


@dataclass(frozen=True, slots=True, eq=False)
class Battles(Result):
    """A table of votes between two named items each, ties among them.

    Attributes
    ----------
    items : tuple of str
        Sorted by text, or the list that was given, in its order.
    first, second : int32 array, shape (n_battles,)
        Codes into `items`.
    outcome : int8 array, shape (n_battles,)
        0 where the first item won, 1 for a tie, 2 where the second won.
    voter : int32 array, shape (n_battles,), optional
        A code a voter; None where no column says who voted.
    voters : int
        Number of voters; 0 where they are not known.
    covariates : float array, shape (n_battles, n_covariates)
        Public numbers of a battle, seen from the first item: swapped sides turn their sign.
    names : tuple of str
        Names of the covariates.
    weight : float array, shape (n_battles,), optional
        How much each battle counts, at least 0. Default: 1 each.
    items_given : bool
        Whether `items` is a public list, not read off the battles.
    chosen : bool
        Whether battles may have been left out for how they ended, so that their number tells of it.
    voter_names : Arrow array, optional
        The voter of each code, where a column names them.

    Examples
    --------
    >>> battles = Battles.from_frame({
    ...     "model_a": ["x", "y", "x"], "model_b": ["y", "z", "z"],
    ...     "winner": ["model_a", "tie", "model_b"], "voter": ["ann", "ann", "bob"]})
    >>> battles
    Battles(3 votes of 2 voters on 3 items, 1 ties)
    """

    items: tuple[str, ...]
    first: Codes
    second: Codes
    outcome: np.ndarray[Any, np.dtype[np.int8]]
    voter: Codes | None
    voters: int
    covariates: Floats
    names: tuple[str, ...] = ()
    weight: Floats | None = None
    items_given: bool = False
    chosen: bool = False
    voter_names: pa.Array | None = None

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        items: Sequence[Any] | None = None,
        voter: str | None = None,
        covariates: Sequence[str] = (),
        both_bad: BothBad = "tie",
    ) -> Battles:
        """Check a table and return it as battles.

        Parameters
        ----------
        frame : pandas, polars, pyarrow or duckdb table, or dict of arrays
            One row a vote. Columns ``model_a``, ``model_b`` (or ``left``, ``right``) and ``winner``
            (or ``label``): ``model_a``, ``left`` or 1; ``model_b``, ``right`` or 0; ``tie`` or .5;
            ``tie (bothbad)`` or ``both_bad``; or the name of one of the two. Or columns ``chosen``
            and ``rejected``, with ``tie`` (1 or 0) where there are ties. A column ``weight`` says
            how much each vote counts. Other columns are not read.
        items : sequence of names, optional
            The public list of all items that could be compared. Default: those in the table.
        voter : str, optional
            The column of voters. Default: ``voter``, ``judge``, ``user``, ``session`` or
            ``worker``, if there is one.
        covariates : sequence of str
            Columns of numbers whose effect is taken out of the strengths, seen from the first item:
            1 where it was shown at the top or played at home, a difference of lengths.
        both_bad : {"tie", "drop"}
            A vote that both are bad is a tie, or is left out.

        Raises
        ------
        SchemaError, EmptyTable, MissingValue, InvalidRecord
            Each names the row (from 1, the header not counted) and what to do.
        """
        one_of(both_bad, "both_bad", get_args(BothBad))
        if isinstance(covariates, str):
            raise ParameterError(f"covariates is {covariates!r}, expected a sequence of columns.")
        table = to_arrow(frame)
        found = table.column_names
        if table.num_rows == 0:
            raise EmptyTable("the table has no rows; expected at least one vote.")
        pair = pair_columns(found)
        names, first, second = _encode_pair(table, pair, items)
        outcome = _outcomes(table, pair)
        known = voters_of(table, voter)
        codes, voters = (None, 0) if known is None else (known[0], len(known[1]))
        table_of_numbers = np.zeros((table.num_rows, len(covariates)))
        for place, name in enumerate(covariates):
            table_of_numbers[:, place] = _numbers(table, name)
        weight = None
        if WEIGHT in found:
            weight = _numbers(table, WEIGHT)
            if (weight < 0).any():
                row = int(np.argmax(weight < 0))
                raise InvalidRecord(
                    f"column {WEIGHT!r}, row {row + 1}: {weight[row]} is below 0; a vote counts 0 "
                    "or more."
                )
        read = cls(
            *(names, first, second, outcome, codes, voters, table_of_numbers, tuple(covariates)),
            weight=weight,
            items_given=items is not None,
            voter_names=None if known is None else known[1],
        )
        bad = outcome == _DROPPED
        if both_bad == "drop":
            return read.keep(~bad)
        read.outcome[bad] = EVEN
        return read

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        items: Sequence[Any] | None = None,
        voter: str | None = None,
        covariates: Sequence[str] = (),
        both_bad: BothBad = "tie",
    ) -> Battles:
        """Read battles from CSV (also .gz), Parquet, .xlsx, .json or .jsonl; see `from_frame`."""
        frame = read_votes(path, voter=voter, covariates=covariates)
        return cls.from_frame(
            frame, items=items, voter=voter, covariates=covariates, both_bad=both_bad
        )

    @property
    def n_ties(self) -> int:
        """Number of ties."""
        return int(np.count_nonzero(self.outcome == EVEN))

    def keep(self, rows: Flags) -> Battles:
        """Return some of the votes; items and voters stay as they are."""
        return replace(
            self,
            chosen=True,
            first=self.first[rows],
            second=self.second[rows],
            outcome=self.outcome[rows],
            voter=None if self.voter is None else self.voter[rows],
            covariates=self.covariates[rows],
            weight=None if self.weight is None else self.weight[rows],
        )

    def in_order_of_items(self) -> Battles:
        """Return the same votes with each pair in the order of `items`, however it was written."""
        swapped = self.first > self.second
        return replace(
            self,
            first=np.where(swapped, self.second, self.first),
            second=np.where(swapped, self.first, self.second),
            outcome=np.where(swapped, SECOND - self.outcome, self.outcome).astype(np.int8),
            covariates=np.where(swapped, -1, 1)[:, None] * self.covariates,
        )

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table that `from_frame` reads."""
        names = pa.array(self.items)
        words = pa.array(["model_a", "tie", "model_b"])
        columns: dict[str, Any] = {
            "model_a": names.take(pa.array(self.first)),
            "model_b": names.take(pa.array(self.second)),
            "winner": words.take(pa.array(self.outcome)),
        }
        if self.voter is not None:
            columns["voter"] = self.voter
        columns |= dict(zip(self.names, self.covariates.T, strict=True))
        if self.weight is not None:
            columns[WEIGHT] = self.weight
        return pa.table(columns)

    def write(self, path: str | Path) -> None:
        """Write the battles as CSV (also .gz), Parquet or .xlsx, by the ending of `path`."""
        write_table(self.to_arrow(), path)

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        of = "" if self.voter is None else f" of {self.voters} voters"
        return f"Battles({len(self)} votes{of} on {len(self.items)} items, {self.n_ties} ties)"


def pair_columns(found: Sequence[str]) -> tuple[str, str]:
    """Return the two columns that name the items of a battle."""
    for pair in PAIRS:
        if all(name in found for name in pair):
            return pair
    raise missing_column("model_a", list(found), table="the table of votes", others=("model_b",))


#: Columns of a table of rankings, which may be in the file instead.
_RANKINGS = ("item", "rank", "choice")


def read_votes(
    path: str | Path, *, voter: str | None = None, covariates: Sequence[str] = ()
) -> pa.Table:
    """Return the table in a file; of Parquet only the columns that battles or rankings have."""
    path = Path(path)
    if not path.name.lower().endswith((".parquet", ".pq")) or not path.is_file():
        return read_table(path)
    import pyarrow.parquet as pa_parquet  # dear to load, and many files are CSV

    try:
        schema = pa_parquet.read_schema(path)
        pairs = (name for pair in PAIRS for name in pair)
        wanted = {*pairs, *OUTCOMES, *VOTERS, WEIGHT, TIE, *_RANKINGS}
        columns = [name for name in schema.names if name in {*wanted, voter, *covariates}]
        texts = [
            name
            for name in columns
            if pa.types.is_string(schema.field(name).type)
            or pa.types.is_large_string(schema.field(name).type)
        ]
        # Not `read_table`, which loads the data sets of pyarrow: they take longer than the file.
        with pa_parquet.ParquetFile(path, read_dictionary=texts) as file:
            return file.read(columns=columns, use_threads=False)
    except (pa.ArrowInvalid, OSError):
        return read_table(path)  # which says what is wrong


def _voter_column(found: Sequence[str], voter: str | None) -> str | None:
    if voter is not None:
        if voter not in found:
            raise missing_column(voter, list(found), table="the table of votes")
        return voter
    there = [name for name in VOTERS if name in found]
    if len(there) > 1:
        raise SchemaError(
            f"the columns {there} could each say who voted; name one with voter=... (--voter on "
            "the command line)."
        )
    return there[0] if there else None


def voters_of(table: pa.Table, voter: str | None) -> tuple[Codes, pa.Array] | None:
    """Return a code for each vote's voter, and the voters; None where no column names them."""
    name = _voter_column(table.column_names, voter)
    return None if name is None else _coded_voters(table, name)


def _coded_voters(table: pa.Table, name: str) -> tuple[Codes, pa.Array]:
    column = table[name] if table.column_names.count(name) == 1 else None
    if column is None or not pa.types.is_dictionary(column.type) or column.null_count:
        codes, known = encode(id_column(table, name, wanted="vote a voter"))
        return codes, known
    values, codes = _dictionary(column)
    if first_missing(values) is not None:
        return _coded_voters(pa.table({name: plain_column(table, name)}), name)
    # A dictionary may have names that no row holds.
    there = np.bincount(codes, minlength=len(values)) > 0
    number = np.cumsum(there).astype(np.int32) - 1
    return number[codes], values.take(pa.array(np.flatnonzero(there)))


def _dictionary(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Return the values of a dictionary column, each once, and the codes of its rows."""
    one = column.unify_dictionaries()
    values = one.chunk(0).dictionary if one.num_chunks else pa.array([], column.type.value_type)
    codes = [_indices(chunk.indices) for chunk in one.chunks]
    return values, np.concatenate(codes) if codes else np.zeros(0, np.int32)


def _indices(indices: pa.Array) -> Codes:
    """Return the indices of a dictionary as codes, -1 where there is none."""
    whole = pc.fill_null(indices, -1) if indices.null_count else indices
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=np.int32)


def _coded_texts(table: pa.Table, name: str, message: str) -> tuple[Codes, list[str]]:
    """Return a column of texts as codes and the texts; the error's text is `message`."""
    if table.column_names.count(name) > 1:
        raise SchemaError(f"column {name!r} stands twice; rename or drop one.")
    column = table[name]
    if pa.types.is_dictionary(column.type):
        values, codes = _dictionary(column)
    else:
        array = plain_column(table, name)
        if pa.types.is_nested(array.type):
            raise SchemaError(f"column {name!r} holds {array.type}; give texts.")
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        coded = array.dictionary_encode()
        values = coded.dictionary
        codes = _indices(coded.indices)
    texts = [None if value is None else str(value) for value in values.to_pylist()]
    empty = [
        place for place, text in enumerate(texts) if text is None or text.strip() in ("", "nan")
    ]
    if empty or codes.min(initial=0) < 0:
        bad = np.isin(codes, [-1, *empty])
        if bad.any():
            raise InvalidRecord(f"column {name!r}, row {int(np.argmax(bad)) + 1}: {message}.")
    return codes, [text or "" for text in texts]


def _encode_pair(
    table: pa.Table, pair: tuple[str, str], declared: Sequence[Any] | None
) -> tuple[tuple[str, ...], Codes, Codes]:
    coded = [_coded_texts(table, name, "the item is missing; name it") for name in pair]
    if declared is None:
        # By text, so that no number depends on the order of rows.
        items = tuple(sorted({text for codes, texts in coded for text in _used(codes, texts)}))
    else:
        items = tuple(listed_items(declared).to_pylist())
    place = {item: code for code, item in enumerate(items)}
    columns = []
    for name, (codes, texts) in zip(pair, coded, strict=True):
        lookup = np.array([place.get(text, -1) for text in texts] or [-1], dtype=np.int32)
        column = lookup[codes]
        if (column < 0).any():
            row = int(np.argmax(column < 0))
            raise InvalidRecord(
                f"column {name!r}, row {row + 1}: {texts[codes[row]]!r} is not among the "
                f"{len(items)} listed items; correct the row, or list the item."
            )
        columns.append(column)
    same = columns[0] == columns[1]
    if same.any():
        row = int(np.argmax(same))
        raise InvalidRecord(
            f"row {row + 1}: {items[columns[0][row]]!r} is compared with itself; remove the row "
            "or correct it."
        )
    return items, columns[0], columns[1]


def _used(codes: Codes, texts: list[str]) -> list[str]:
    return [texts[code] for code in np.flatnonzero(np.bincount(codes, minlength=len(texts)))]


def _outcomes(table: pa.Table, pair: tuple[str, str]) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return the outcome of each row."""
    found = table.column_names
    if pair == PAIRS[-1]:
        outcome = np.zeros(table.num_rows, dtype=np.int8)
        if TIE in found:
            codes, texts = _coded_texts(table, TIE, "1 or 0 is missing")
            known = {**dict.fromkeys(_YES, EVEN), **dict.fromkeys(_NO, FIRST)}
            outcome = _looked_up(TIE, codes, texts, known, "1 (a tie) or 0")
        return outcome
    name = next((name for name in OUTCOMES if name in found), None)
    if name is None:
        raise missing_column("winner", list(found), table="the table of votes")
    codes, texts = _coded_texts(table, name, "the outcome is missing; give it, or drop the row")
    unknown = [text for text in texts if text.strip().lower() not in _WORDS]
    if not unknown:
        expected = "model_a, model_b, tie or both_bad"
        return _looked_up(name, codes, texts, _WORDS, expected)
    # Otherwise it names the item that won.
    outcome = np.full(len(codes), -1, dtype=np.int8)
    for side, word in zip(pair, (FIRST, SECOND), strict=True):
        same = pc.equal(table[side].cast(pa.string()), table[name].cast(pa.string())).to_numpy()
        outcome[same.astype(np.bool_)] = word
    words = np.array([_WORDS.get(text.strip().lower(), -1) for text in texts], dtype=np.int8)
    outcome = np.where(outcome < 0, words[codes], outcome).astype(np.int8)
    if (outcome < 0).any():
        row = int(np.argmax(outcome < 0))
        raise InvalidRecord(
            f"column {name!r}, row {row + 1}: {texts[codes[row]]!r} is neither {pair[0]}, "
            f"{pair[1]}, tie or both_bad, nor one of the two names; correct the row."
        )
    return outcome


def _looked_up(
    name: str, codes: Codes, texts: list[str], known: dict[str, int], expected: str
) -> np.ndarray[Any, np.dtype[np.int8]]:
    lookup = np.array([known.get(text.strip().lower(), -1) for text in texts], dtype=np.int8)
    outcome = lookup[codes]
    if (outcome < 0).any():
        row = int(np.argmax(outcome < 0))
        raise InvalidRecord(
            f"column {name!r}, row {row + 1}: {texts[codes[row]]!r} is not {expected}; correct "
            "the row."
        )
    return outcome


def _numbers(table: pa.Table, name: str) -> Floats:
    if name not in table.column_names:
        raise missing_column(name, table.column_names, table="the table of votes")
    column = plain_column(table, name)
    row = first_missing(column)
    if row is not None:
        raise InvalidRecord(f"column {name!r}, row {row}: the number is missing; give it.")
    try:
        values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidRecord(f"column {name!r} does not hold numbers alone: {error}") from error
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InvalidRecord(f"column {name!r}, row {row + 1}: {values[row]} is not finite.")
    return values
