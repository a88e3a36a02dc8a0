"""Public data sets: their authors, their terms and the places of their files."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import logging
import os
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

from masquerade.answers import Claims, Comparisons, Truths
from masquerade.answers.claim_labels import Kind
from masquerade.answers.claims import Duplicates
from masquerade.answers.frames import read_table
from masquerade.errors import DatasetUnavailable, ParameterError, UnreadableFile
from masquerade.lazy import install_command, suggestion

#: Environment variable: the folder that has one folder for each data set.
DATA_VARIABLE = "MASQUERADE_DATA"

_TABLE = 1 << 16

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public data set.

    Attributes
    ----------
    name, title, citation, licence : str
        `licence` says what is known of the terms; it is not advice.
    source : str
        Where the files were taken from.
    kind : {"categorical", "numeric", "comparisons"}
    tasks, workers, answers : int or None
        How many there are.
    repeated : int
        Answers of a worker to a task that the worker had answered before.
    files : mapping of str to str
        SHA-256 of the content of each file (after gunzip).
    address, download : str or None
        Of the archive upstream, and its checksum, ``algorithm:digits``; None where no lasting
        address with a published checksum is known.

    Examples
    --------
    >>> from masquerade.datasets import dataset_named
    >>> found = dataset_named("bluebird")
    >>> found.tasks, found.workers, found.answers
    (108, 39, 4212)
    """

    name: str
    title: str
    kind: str
    citation: str
    licence: str
    source: str
    tasks: int | None = None
    workers: int | None = None
    answers: int | None = None
    repeated: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    download: str | None = None

    def available(self) -> bool:
        """Return whether the files can be read without a download."""
        return self._local_folder() is not None

    def path(self, file: str = "claims.csv.gz", *, check: bool = True) -> Path:
        """Return where a file is, downloading its archive first where that is possible.

        Parameters
        ----------
        file : str
            A key of `files`; for a data set with an `address`, the archive whatever is given.
        check : bool
            Compare the file with its checksum.

        Raises
        ------
        DatasetUnavailable
            The files are not there; the message names every way to get them.
        UnreadableFile
            The file is not the one that the checksum belongs to.
        """
        if self.address is None and file not in self.files:
            raise ParameterError(
                f"{self.name} has no file {file!r}; it has {', '.join(self.files)}."
            )
        folder = self._local_folder()
        if folder is None:
            if self.address is None:
                raise DatasetUnavailable(self._how_to_get())
            return self._download_archive()
        path = folder / (file if self.address is None else self._archive())
        if not path.is_file():
            raise DatasetUnavailable(f"{path} is not there. {self._how_to_get()}")
        if check:
            self._require_checksum(path, file)
        _LOGGER.debug("%s is read from %s", self.name, path)
        return path

    def claims(
        self,
        *,
        kind: Kind | None = None,
        options: Sequence[Any] | None = None,
        duplicates: Duplicates = "error",
        check: bool = True,
    ) -> Claims:
        """Return the claims; see `Claims.read`. By default they are of the data set's `kind`."""
        own: Kind = "numeric" if self.kind == "numeric" else "categorical"
        table = self.table("claims.csv.gz", check=check)
        return Claims.from_frame(table, kind=kind or own, options=options, duplicates=duplicates)

    def truths(self, *, check: bool = True) -> Truths:
        """Return the truths of the tasks that have one."""
        return Truths.read(self.path("truth.csv", check=check))

    def comparisons(
        self, file: str = "comparisons.csv.gz", *, check: bool = True, **options: Any
    ) -> Comparisons:
        """Return pairwise choices; `options` are those of `Comparisons.read`."""
        return Comparisons.read(self.path(file, check=check), **options)

    def table(self, file: str, *, check: bool = True) -> pa.Table:
        """Return any of the files as an Arrow table, ids as text."""
        path = self.path(file, check=check)
        if self.address is None:
            return read_table(path)
        if file not in _MOVIELENS_MEMBERS:
            raise ParameterError(
                f"{self.name} has no table {file!r}; it has {', '.join(_MOVIELENS_MEMBERS)}."
            )
        return _movielens_table(path, file)

    def _archive(self) -> str:
        assert self.address is not None
        return self.address.rsplit("/", 1)[1]

    def _local_folder(self) -> Path | None:
        parent = os.environ.get(DATA_VARIABLE)
        if not parent:
            return None
        folder = Path(parent) / self.name
        return folder if folder.is_dir() else None

    def _download_archive(self) -> Path:
        try:
            pooch = importlib.import_module("pooch")
        except ImportError:
            raise DatasetUnavailable(self._how_to_get()) from None
        cache = Path(pooch.os_cache("masquerade"))
        try:
            path = pooch.retrieve(
                self.address, known_hash=self.download, path=cache, fname=self._archive()
            )
        except Exception as error:  # whatever the network says
            raise DatasetUnavailable(
                f"{self.name} could not be downloaded: {error}. {self._how_to_get()}"
            ) from error
        return Path(path)

    def _require_checksum(self, path: Path, file: str) -> None:
        algorithm, _, expected = (
            (self.download or "").partition(":")
            if self.address is not None
            else ("sha256", "", self.files[file])
        )
        digest = hashlib.new(algorithm)
        # of the content: the same content compressed again has other bytes
        open_file: Any = gzip.open if path.suffix == ".gz" else open
        with open_file(path, "rb") as content:
            while part := content.read(_TABLE):
                digest.update(part)
        digits = digest.hexdigest()
        if digits != expected:
            raise UnreadableFile(
                f"{path} has the {algorithm} {digits}, expected {expected}: it is not the "
                f"{self.name} that results were measured on. Get it again from {self.source}, or "
                "read it all the same with check=False."
            )

    def _how_to_get(self) -> str:
        folder = os.environ.get(DATA_VARIABLE)
        state = f"which is {folder!r}" if folder else "which is not set"
        names = self._archive() if self.address is not None else ", ".join(self.files)
        local = (
            f"put {names} into the folder {self.name} below the one that {DATA_VARIABLE} names "
            f"({state})"
        )
        if self.address is None:
            return (
                f"The data set {self.name} is not here, and cannot be downloaded, for no lasting "
                f"address with a checksum is known: get it from {self.source} (licence: "
                f"{self.licence}) and {local}."
            )
        return (
            f"The data set {self.name} is not here. Either {local}; or have it downloaded from "
            f"{self.address}, for which a network and the extra datasets are needed "
            f"({install_command('datasets')})."
        )


def dataset_named(name: str) -> Dataset:
    """Return a data set by its name.

    Raises
    ------
    ParameterError
        There is none of this name.

    Examples
    --------
    >>> wsd = dataset_named("wsd")
    >>> wsd.tasks, wsd.workers, wsd.kind
    (177, 34, 'categorical')
    """
    if name not in DATASETS:
        raise ParameterError(
            f"there is no data set {name!r}; expected one of {', '.join(sorted(DATASETS))}."
            f"{suggestion(name, DATASETS)}"
        )
    return DATASETS[name]


_YEAR_COLUMN = 2


def _movielens_ratings(lines: list[list[str]]) -> pa.Table:
    user, film, rating = (list(column) for column in zip(*(row[:3] for row in lines), strict=True))
    return pa.table({"task": film, "worker": user, "value": [float(each) for each in rating]})


def _movielens_films(lines: list[list[str]]) -> pa.Table:
    years = [row[_YEAR_COLUMN][-4:] for row in lines]  # 01-Jan-1995
    return pa.table(
        {
            "task": [row[0] for row in lines],
            "title": [row[1] for row in lines],
            "year": pa.array([int(y) if y.isdigit() else None for y in years], pa.int64()),
        }
    )


#: For each table: the member of the archive, what separates its fields, and how it is read.
_MOVIELENS_MEMBERS: dict[str, tuple[str, str, Callable[[list[list[str]]], pa.Table]]] = {
    "claims.csv.gz": ("ml-100k/u.data", "\t", _movielens_ratings),
    "movies.csv": ("ml-100k/u.item", "|", _movielens_films),
}


def _movielens_table(archive: Path, table: str) -> pa.Table:
    """Return ratings (``claims.csv.gz``) or films (``movies.csv``) from MovieLens's archive."""
    member, separator, read = _MOVIELENS_MEMBERS[table]
    try:
        with zipfile.ZipFile(archive) as members:
            text = members.read(member).decode("latin-1")
        return read([line.split(separator) for line in text.splitlines() if line])
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError) as error:
        raise UnreadableFile(
            f"{archive} is not the MovieLens 100K archive: {error}; get it again."
        ) from error


def _read_catalogue() -> dict[str, Dataset]:
    text = files("masquerade.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: Dataset(name=name, **entry) for name, entry in tomllib.loads(text).items()}


#: Every data set that is known, by name.
DATASETS: Mapping[str, Dataset] = _read_catalogue()
