"""Claims in many files, none of which need fit in memory together with the others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.answers import Claims
from masquerade.answers.claim_layouts import LABEL_COLUMNS
from masquerade.answers.claims import Duplicates
from masquerade.answers.frames import plain_column, read_table, to_arrow
from masquerade.errors import (
    EmptyTable,
    InputError,
    MissingValue,
    ParameterError,
    SchemaError,
    UnreadableFile,
)
from masquerade.mechanisms import Mechanism
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.report_mechanisms import ReportMechanisms
from masquerade.truth.scale.partition_files import (
    FilePath,
    file_path,
    files_at,
    make_folder,
    opened,
)
from masquerade.truth.ties import digest

MaskColumn = Literal["mechanism", "level"]

COLUMNS = ("task", "worker", *LABEL_COLUMNS)
#: Columns that name the mechanism of each report.
MASKS: tuple[MaskColumn, ...] = ("mechanism", "level")
PARQUET = (".parquet", ".pq")
_BUFFERED_ROWS = 1 << 18  # held at a time while claims are written anew
_ROWS = 1_000_000  # of a new partition, where nothing else is said
_CSV_BYTES_A_ROW = 20  # roughly, to choose the number of partitions


@dataclass(frozen=True, slots=True)
class Partition:
    """One file of claims.

    Examples
    --------
    >>> from pathlib import Path
    >>> Partition(0, Path("claims.parquet"), "task").number
    0
    """

    number: int  # place among the partitions, from 0
    path: FilePath
    # Names the partition in scratch folders: another for other contents or other neighbours.
    key: str
    # Declared labels; see `Claims.from_frame`, also for `null` and `duplicates`.
    options: tuple[Any, ...] | None = None
    null: bool = False
    duplicates: Duplicates = "error"  # {"error", "first", "last", "all"}
    # Column of each report's own mechanism, or of its level with the mechanism of each; or None.
    masked_by: MaskColumn | None = None
    levels: tuple[tuple[str, Mechanism], ...] = ()
    size: int = 0  # bytes of the file, by which a cluster divides its work

    def read(self) -> tuple[Claims, ReportMechanisms | None]:
        """Return the claims, checked row by row, and the mechanism of each where it has its own.

        Raises
        ------
        InputError, ParameterError
            As `Claims.from_frame` and `ReportMechanisms.read`; the message begins with the name of
            the file.
        """
        try:
            table = _columns_of(self.path)
            if self.masked_by is None:
                claims = Claims.from_frame(
                    table,
                    kind="categorical",
                    options=self.options,
                    null=self.null,
                    duplicates=self.duplicates,
                )
                return claims, None
            claims, masks = ReportMechanisms.with_claims(
                table,
                dict(self.levels) if self.masked_by == "level" else None,
                options=self.options,
                duplicates=self.duplicates,
            )
            if claims.kind != "categorical":
                raise ParameterError(
                    f"{masks.mechanisms[0]} masks numbers, and partitions hold labels; fit numbers "
                    "in memory."
                )
            return claims, masks
        except UnreadableFile:
            raise
        except (InputError, ParameterError) as error:
            raise type(error)(f"{self.path.name}: {error}") from error


@dataclass(frozen=True, slots=True)
class Partitions:
    """Claims as several files. Each task's claims stand in one file; workers may be in all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from masquerade.simulate import crowd
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=20, workers=5, answers_per_task=3)
    >>> with TemporaryDirectory() as folder:
    ...     claims.write(Path(folder) / "claims.parquet")
    ...     print(len(Partitions.at(folder).files))
    1
    """

    files: tuple[Partition, ...]

    @classmethod
    def at(
        cls,
        path: str | Path,
        *,
        options: Sequence[Any] | None = None,
        null: bool = False,
        duplicates: Duplicates = "error",
    ) -> Partitions:
        """Return the partitions in a folder: its Parquet files, also in folders below, by name.

        Parameters
        ----------
        path : str or Path
            A folder of Parquet files, or one Parquet or CSV file: then that is the only partition.
            Also an address that fsspec knows, such as ``s3://bucket/claims`` (Parquet only).
            Files and folders whose names begin with ``_`` or ``.`` are left out, as is usual.
        options, null, duplicates
            See `Claims.from_frame`. Undeclared options are the labels that any partition holds.

        Raises
        ------
        UnreadableFile
            There is no such file or folder.
        EmptyTable
            The folder holds no Parquet file with rows.
        ParameterError
            `duplicates` is unknown.
        """
        root = file_path(path)
        if duplicates not in ("error", "first", "last", "all"):
            raise ParameterError(
                f"duplicates is {duplicates!r}, expected 'error', 'first', 'last' or 'all'."
            )
        # By name, so that codes and ties are the same on every file system.
        states = files_at(root, PARQUET)
        if states is None:
            raise UnreadableFile(f"{root} is neither a file nor a folder; check the path.")
        if [str(one.file) for one in states] != [str(_absolute(root))]:
            # Writers leave empty ones behind.
            states = [one for one in states if _rows(one.file)]
            if not states:
                raise EmptyTable(f"the folder {root} holds no Parquet file with rows in it.")
        declared = None if options is None else tuple(options)
        # Size and time of change: other contents get another key, so no stale cache is read.
        state = [(str(one.file), one.size, one.version) for one in states]
        what = hashlib.sha256(repr((state, declared, null, duplicates)).encode()).hexdigest()
        return cls(
            tuple(
                Partition(
                    number,
                    one.file,
                    f"{what[:16]}-{number}",
                    declared,
                    null,
                    duplicates,
                    size=one.size,
                )
                for number, one in enumerate(states)
            )
        )

    def __len__(self) -> int:
        return len(self.files)

    def require_labels(self) -> None:
        """Raise unless the first file has a column of labels.

        Raises
        ------
        ParameterError
            It has a column ``value`` instead: numbers are fitted in memory.
        """
        columns = _column_names(self.files[0].path)
        if [name for name in LABEL_COLUMNS if name in columns] == ["value"]:
            raise ParameterError(
                f"{self.files[0].path.name} has a column 'value', which holds numbers; partitions "
                "hold labels. Fit numbers in memory, or name the column 'label'."
            )

    def masked(self, levels: Mapping[str, Mechanism | str] | None = None) -> Partitions:
        """Return the partitions as reports that went each through its own mechanism.

        Parameters
        ----------
        levels : mapping of str to Mechanism or its text form, optional
            The mechanism of each level in the column ``level``. By default a column ``mechanism``
            of text forms is read, and claims without one are as they are.

        Raises
        ------
        ParameterError
            Some files have the column and others have not.
        """
        column = MASKS[levels is not None]
        named = {file.path.name: column in _column_names(file.path) for file in self.files}
        if levels is None and not any(named.values()):
            return self
        for name, has in named.items():
            if not has:
                raise ParameterError(
                    f"{name} has no column {column!r}; name the {column} of every report in all "
                    "files, or give one mechanism for all (--mechanism on the command line)."
                )
        pairs = tuple((name, mechanism_of(one)) for name, one in (levels or {}).items())
        # Other masks are other contents: what was coded for one fit must not be read by another.
        mark = hashlib.sha256(repr([(name, str(one)) for name, one in pairs]).encode()).hexdigest()
        return Partitions(
            tuple(
                replace(file, masked_by=column, levels=pairs, key=f"{file.key}-{mark[:16]}")
                for file in self.files
            )
        )


def partition_by_task(
    source: str | Path, destination: str | Path, *, partitions: int | None = None
) -> tuple[Path, ...]:
    """Write claims anew so that each task's claims are in one file, and return the files.

    What claims need that were collected over time, where a task's claims are spread over files.
    The file of a task follows from its name alone. Rows keep their order.

    Parameters
    ----------
    source : str or Path
        As for `Partitions.at`; also one file too large for memory.
    destination : str or Path
        A folder that does not exist yet or is empty.
    partitions : int, optional
        Number of files, at least 1: so many that one of them fits in memory several times. Default:
        one for each million rows (of CSV: for each 20 MB).

    Raises
    ------
    ParameterError
        `partitions` is below 1, or the destination is not empty.
    InputError
        A file cannot be read, or lacks a column.

    Notes
    -----
    **Cost**: reads the source once, in pieces; memory for some 2**18 rows, whatever the size.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from masquerade.simulate import crowd
    >>> claims, truths = crowd(np.random.default_rng(1), tasks=20, workers=5, answers_per_task=3)
    >>> with TemporaryDirectory() as folder:
    ...     claims.write(Path(folder) / "all.parquet")
    ...     print(len(partition_by_task(Path(folder), Path(folder) / "parts", partitions=2)))
    2
    """
    target = Path(destination)
    unsplit = Partitions.at(source)
    if partitions is None:
        partitions = sum(_about_rows(one) for one in unsplit.files) // _ROWS + 1
    if partitions < 1:
        raise ParameterError(f"partitions is {partitions}, expected at least 1.")
    # Only an empty folder: files of an earlier run would be read as claims of this one.
    make_folder(target)
    # Zeros in front, so that names sort as numbers do.
    width = max(4, len(str(partitions - 1)))
    paths = [target / f"part-{number:0{width}}.parquet" for number in range(partitions)]
    writers: dict[int, pa_parquet.ParquetWriter] = {}
    waiting: dict[int, list[pa.Table]] = {}
    buffered = 0
    schema: pa.Schema | None = None

    def empty() -> None:
        for number, tables in waiting.items():
            if number not in writers:
                writers[number] = pa_parquet.ParquetWriter(paths[number], schema)
            writers[number].write_table(pa.concat_tables(tables))
        waiting.clear()

    try:
        for file, table in _pieces(unsplit):
            schema = schema or table.schema
            if table.schema != schema:
                raise SchemaError(
                    f"{file.name}: the columns are {table.schema.to_string()!r}, in files before "
                    f"they are {schema.to_string()!r}; give all files the same columns and types."
                )
            # By the task's name alone: its rows find one file wherever they stood.
            bucket = (digest(plain_column(table, "task")) % np.uint64(partitions)).astype(np.int64)
            order = np.argsort(bucket, kind="stable")  # rows keep their order in a file
            ends = np.cumsum(np.bincount(bucket, minlength=partitions))
            table = table.take(pa.array(order))
            for number in np.unique(bucket).tolist():
                start = int(ends[number - 1]) if number else 0
                piece = table.slice(start, int(ends[number]) - start)
                waiting.setdefault(number, []).append(piece)
            buffered += table.num_rows
            if buffered >= _BUFFERED_ROWS:
                empty()
                buffered = 0
        empty()
    finally:
        for writer in writers.values():
            writer.close()
    return tuple(paths[number] for number in sorted(writers))


def _absolute(path: FilePath) -> FilePath:
    return path.absolute() if isinstance(path, Path) else path


@contextmanager
def _parquet(path: FilePath) -> Iterator[pa_parquet.ParquetFile]:
    """Open a Parquet file, and name it where it cannot be read."""
    try:
        with opened(path) as source, pa_parquet.ParquetFile(source) as file:
            yield file
    except (pa.ArrowInvalid, OSError) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from error


def _table(path: FilePath) -> pa.Table:
    if not isinstance(path, Path):
        raise ParameterError(f"{path} is no Parquet file; other files are read here only.")
    return read_table(path)


def _column_names(path: FilePath) -> list[str]:
    """Return the names of a file's columns, of a Parquet file from its footer alone."""
    if path.suffix.lower() not in PARQUET:
        return list(_table(path).column_names)
    with _parquet(path) as file:
        return list(file.schema_arrow.names)


def _rows(path: FilePath) -> int:
    with _parquet(path) as file:
        return int(file.metadata.num_rows)


def _about_rows(partition: Partition) -> int:
    if partition.path.suffix.lower() in PARQUET:
        return _rows(partition.path)
    return partition.size // _CSV_BYTES_A_ROW


def _columns_of(path: FilePath) -> pa.Table:
    """Return a file's columns that hold claims."""
    if path.suffix.lower() not in PARQUET:
        return _table(path)
    with _parquet(path) as file:
        names = file.schema_arrow.names
        return file.read(columns=[name for name in (*COLUMNS, *MASKS) if name in names])


def _pieces(partitions: Partitions) -> Iterator[tuple[FilePath, pa.Table]]:
    """Yield each file's rows, a piece at a time, with the file's path."""
    for partition in partitions.files:
        path = partition.path
        parquet = path.suffix.lower() in PARQUET
        for table in _batches(path) if parquet else [_table(path)]:
            if "task" not in table.column_names:
                raise SchemaError(
                    f"{path.name}: column 'task' is missing; the table has {table.column_names}."
                )
            plain = to_arrow(table)
            if table["task"].null_count:
                raise MissingValue(f"{path.name}: a task is missing; remove such rows.")
            yield path, plain


def _batches(path: FilePath) -> Iterator[pa.Table]:
    with _parquet(path) as file:
        names = [name for name in (*COLUMNS, *MASKS) if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=_BUFFERED_ROWS, columns=names):
            yield pa.Table.from_batches([batch])
