"""Tables out of the archive of MovieLens 100K."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from masquerade.errors import UnreadableFile

_YEAR_COLUMN = 2


def _ratings(lines: list[list[str]]) -> pa.Table:
    user, film, rating = (list(column) for column in zip(*(row[:3] for row in lines), strict=True))
    return pa.table({"task": film, "worker": user, "value": [float(each) for each in rating]})


def _films(lines: list[list[str]]) -> pa.Table:
    years = [row[_YEAR_COLUMN][-4:] for row in lines]  # 01-Jan-1995
    return pa.table(
        {
            "task": [row[0] for row in lines],
            "title": [row[1] for row in lines],
            "year": pa.array([int(y) if y.isdigit() else None for y in years], pa.int64()),
        }
    )


MEMBERS: dict[str, tuple[str, str, Callable[[list[list[str]]], pa.Table]]] = {
    "claims.csv.gz": ("ml-100k/u.data", "\t", _ratings),
    "movies.csv": ("ml-100k/u.item", "|", _films),
}
"""For each table: the member of the archive, what separates its fields, and how it is read."""


def read_member(archive: Path, table: str) -> pa.Table:
    """Return ratings (``claims.csv.gz``) or films (``movies.csv``: task, title, year).

    Raises
    ------
    UnreadableFile
        The archive is broken or has other members.
    """
    member, separator, read = MEMBERS[table]
    try:
        with zipfile.ZipFile(archive) as found:
            text = found.read(member).decode("latin-1")
        return read([line.split(separator) for line in text.splitlines() if line])
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError) as error:
        raise UnreadableFile(
            f"{archive} is not the MovieLens 100K archive: {error}; get it again."
        ) from error
