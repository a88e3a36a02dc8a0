"""A folder that keeps a fitted crowd or a collection: one JSON file, and Parquet tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from masquerade.errors import UnreadableFile
from masquerade.exact.arrays import Floats

#: Version of the layout. Readers refuse later ones, and read all earlier ones.
VERSION = 1
_HEAD = "masquerade.json"


class SavedFolder:
    """A folder with ``masquerade.json``, which names its format, and tables beside it.

    Raises `UnreadableFile` (the folder holds something else, a later version, or is broken).
    """

    def __init__(self, path: str | Path, kind: str) -> None:
        self.path, self.kind = Path(path), kind

    def write(self, facts: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
        """Write everything, the JSON file last: a folder without it was not finished."""
        head = self.path / _HEAD
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if head.exists():
                self.read()  # never writes over something of another kind
                head.unlink()
            for name, table in tables.items():
                pa_parquet.write_table(table, self.path / f"{name}.parquet")
            text = json.dumps(
                {"format": self.kind, "version": VERSION, **facts}, ensure_ascii=False, indent=1
            )
            unfinished = head.with_suffix(".part")
            unfinished.write_text(text + "\n", "utf-8")
            unfinished.replace(head)
        except OSError as error:
            raise UnreadableFile(f"{self.path} cannot be written: {error}") from error

    def read(self) -> dict[str, Any]:
        """Return the content of the JSON file."""
        head = self.path / _HEAD
        try:
            facts = json.loads(head.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableFile(
                f"{self.path} holds no {self.kind} ({error}); name the folder that save() wrote."
            ) from error
        found = facts.get("format") if isinstance(facts, dict) else None
        if found != self.kind:
            raise UnreadableFile(f"{self.path} holds {found!r}, expected {self.kind!r}.")
        version = facts.get("version")
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            raise UnreadableFile(
                f"{self.path} is of version {version!r}, this program reads 1 to {VERSION}; "
                "install a later one."
            )
        return dict(facts)

    def table(self, name: str) -> pa.Table:
        """Return one of the tables."""
        file = self.path / f"{name}.parquet"
        try:
            return pa_parquet.read_table(file)
        except (OSError, pa.ArrowInvalid) as error:
            raise UnreadableFile(f"{file} cannot be read: {error}") from error


def rows_of(array: Floats) -> pa.Array:
    """Return an array as a column: a list of numbers for each entry of the first axis."""
    flat = np.ascontiguousarray(array, dtype=np.float64).reshape(len(array), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])


def array_of(column: pa.ChunkedArray, shape: tuple[int, ...]) -> Floats:
    """Return a column of lists as an array, ``shape`` each."""
    values = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64).reshape(-1, *shape)
