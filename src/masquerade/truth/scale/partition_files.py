"""Files of partitions: of this machine, or of a file system that fsspec knows, such as S3."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

from masquerade.errors import MissingExtra, ParameterError, UnreadableFile


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file or folder by its address, such as ``s3://bucket/claims/part-1.parquet``.

    Keys, endpoints and so on are fsspec's own settings, on each worker of a cluster too: its
    configuration files and environment, or those of the file system's library. An address holds
    none.
    """

    address: str

    @property
    def name(self) -> str:
        """Last part of the address."""
        return posixpath.basename(self.address.rstrip("/"))

    @property
    def suffix(self) -> str:
        """Ending of the name, with its dot."""
        return posixpath.splitext(self.name)[1]

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> RemoteFile:
        return RemoteFile(f"{self.address.rstrip('/')}/{name}")


#: A file here, or elsewhere.
FilePath: TypeAlias = Path | RemoteFile


@dataclass(frozen=True, slots=True)
class FileState:
    """The fingerprint of a file's content, without reading it."""

    file: FilePath
    size: int
    version: str  # time of change, or what a file system has in its place


def file_path(path: str | Path | RemoteFile) -> FilePath:
    """Return a path, or an address where there is a scheme before it.

    Examples
    --------
    >>> file_path("s3://bucket/claims").name
    'claims'
    """
    if isinstance(path, RemoteFile) or (isinstance(path, str) and "://" in path):
        return path if isinstance(path, RemoteFile) else RemoteFile(path)
    return Path(path)


@contextmanager
def opened(file: FilePath, mode: str = "rb") -> Iterator[Any]:
    """Open a file for pyarrow: its path here, a stream elsewhere."""
    if isinstance(file, Path):
        yield file
        return
    system, path = _system(file)
    stream: IO[bytes]
    with _said(file), system.open(path, mode) as stream:
        yield stream


def files_at(root: FilePath, suffixes: tuple[str, ...]) -> list[FileState] | None:
    """Return the files in a folder and in folders below, by name, or a file alone.

    None where nothing is there. Names that begin with ``_`` or ``.`` are left out, in folders of
    such names too, and so are files without one of the `suffixes`.
    """
    if isinstance(root, Path):
        if root.is_file():
            return [_state(root)]
        if not root.is_dir():
            return None
        inside = [(one.relative_to(root).parts, one) for one in root.rglob("*")]
        chosen = sorted(one for parts, one in inside if _is_chosen(parts, suffixes))
        return [_state(one) for one in chosen]
    system, path = _system(root)
    with _said(root):
        system.invalidate_cache()  # of what was listed before
        if not system.exists(path):
            return None
        scheme = root.address.partition("://")[0]
        found = []
        start = path.rstrip("/") + "/"
        for name, about in system.find(path, detail=True).items():
            parts = tuple(name.removeprefix(start).split("/")) if name != path else ()
            if name == path or _is_chosen(parts, suffixes):
                version = system.ukey(name)
                file = RemoteFile(f"{scheme}://{name.lstrip('/')}")
                found.append(FileState(file, int(about["size"]), str(version)))
    return sorted(found, key=lambda one: str(one.file))


def make_folder(folder: FilePath) -> None:
    """Make a folder, which must not be there with anything in it."""
    if isinstance(folder, Path):
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    else:
        system, path = _system(folder)
        with _said(folder):
            taken = system.exists(path) and bool(system.find(path))
    if taken:
        raise ParameterError(f"{folder} is there and not an empty folder; name a new one.")
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)


def _state(file: Path) -> FileState:
    about = file.stat()
    return FileState(file.absolute(), about.st_size, str(about.st_mtime_ns))


def _is_chosen(parts: tuple[str, ...], suffixes: tuple[str, ...]) -> bool:
    plain = not any(part[:1] in ("_", ".") for part in parts)
    return plain and posixpath.splitext(parts[-1])[1].lower() in suffixes


def _system(file: RemoteFile) -> tuple[Any, str]:
    try:
        fsspec = import_module("fsspec")
    except ImportError as error:
        raise MissingExtra(f"{file} needs fsspec", "dask") from error
    try:
        system, path = fsspec.core.url_to_fs(file.address)
    except ImportError as error:  # the file system's own library
        raise UnreadableFile(f"{file} cannot be read: {error}") from error
    except ValueError as error:  # an unknown scheme
        raise ParameterError(f"{file} cannot be read: {error}") from error
    return system, str(path)


@contextmanager
def _said(file: RemoteFile) -> Iterator[None]:
    """Name the file where its file system fails."""
    try:
        yield
    except (OSError, PermissionError) as error:
        raise UnreadableFile(f"{file} cannot be read: {error}") from error
