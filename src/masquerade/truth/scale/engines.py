"""Engines that visit partitions: one after the other here, or many workers of a cluster."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from masquerade.errors import ParameterError
from masquerade.truth.scale.partitions import Partition

Found = TypeVar("Found")
Combine = Callable[[Any, Any], Any]
Visit = Callable[..., Any]
"""``visit(partition, scratch, *shared)`` returns what is found in one partition.

It is a function of a module and changes nothing but its own files in `scratch`, so that it may run
anywhere, and again after a failure.
"""


class Engine(ABC):
    """Visits partitions and adds up what is found. Use it in a ``with`` statement."""

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Return a handle on a value that many folds need; it is sent to everyone once."""

    @abstractmethod
    def fold(
        self, partitions: Sequence[Partition], visit: Visit, combine: Combine, *shared: Any
    ) -> Any:
        """Return all that `visit` finds, joined by `combine` in the order of the partitions.

        Parameters
        ----------
        partitions : sequence of Partition
            At least one.
        visit : Visit
        combine : callable
            Takes two results, the earlier first; associative.
        *shared
            Further arguments of `visit`: values, or handles from `share`.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove the scratch files and let go of the cluster."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Stream(Engine):
    """One partition after the other, in this process: memory for one, whatever their number.

    Parameters
    ----------
    scratch : str or Path, optional
        Folder for the coded partitions (some 5 to 10 bytes a claim), removed at the end. Default: a
        new one where temporary files go; name a disk if that is small or in memory.

    Raises
    ------
    ParameterError
        `scratch` is not a folder.
    """

    def __init__(self, *, scratch: str | Path | None = None) -> None:
        if scratch is not None and not Path(scratch).is_dir():
            raise ParameterError(f"scratch is {str(scratch)!r}, expected a folder that is there.")
        self._folder = tempfile.TemporaryDirectory(prefix="masquerade-", dir=scratch)

    def share(self, value: Any) -> Any:
        """Return the value: it is here."""
        return value

    def fold(
        self, partitions: Sequence[Partition], visit: Visit, combine: Combine, *shared: Any
    ) -> Any:
        """Return all that `visit` finds; see `Engine.fold`."""
        return visited(partitions, visit, combine, Path(self._folder.name), *shared)

    def close(self) -> None:
        """Remove the scratch files."""
        self._folder.cleanup()


def visited(
    partitions: Sequence[Partition], visit: Visit, combine: Combine, scratch: Path, *shared: Any
) -> Any:
    """Return what is found in these partitions, one after the other."""
    return reduce(combine, (visit(partition, scratch, *shared) for partition in partitions))
