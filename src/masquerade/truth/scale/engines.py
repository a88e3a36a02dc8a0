"""Engines that visit partitions: one after the other here, or many workers of a Dask cluster."""

from __future__ import annotations

import pickle
import secrets
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import WeakValueDictionary

import numpy as np

from masquerade.errors import ClusterError, MissingExtra, ParameterError

_ATTEMPTS = 4  # at a fold, before workers are said to keep dying
_SMALL = 1 << 12  # bytes of a value that is sent with every share
_LARGE = "distributed.admin.large-graph-warning-threshold"

Combine = Callable[[Any, Any], Any]
#: ``task(partition, scratch, *shared)`` returns the result of one partition. It is a function of a
#: module and changes nothing but its own files in `scratch`, so that it may run anywhere, and again
#: after a failure.
Task = Callable[..., Any]


class Piece(Protocol):
    """A partition as engines see it: its name in scratch folders, and its size in bytes."""

    @property
    def key(self) -> str:
        """Another for other contents."""
        ...

    @property
    def size(self) -> int:
        """Bytes, by which a cluster divides its work."""
        ...


class Engine(ABC):
    """Base of engines: they run a task on every partition and join the results.

    Use it in a ``with`` statement.

    Examples
    --------
    >>> from masquerade.truth.scale import Stream
    >>> with Stream() as engine:
    ...     print(isinstance(engine, Engine))
    True
    """

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Return a handle on a value that many folds need; it is sent to everyone once.

        The value is let go with the handle.
        """

    @abstractmethod
    def fold(self, partitions: Sequence[Piece], task: Task, combine: Combine, *shared: Any) -> Any:
        """Return the results of `task`, joined by `combine` in the order of the partitions.

        Parameters
        ----------
        partitions : sequence of Partition
            At least one.
        task : Task
        combine : callable
            Takes two results, the earlier first; associative.
        *shared
            Further arguments of `task`: values, or handles from `share`.
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
    """One partition after the other, in this process: memory for one, at any number.

    Parameters
    ----------
    scratch : str or Path, optional
        Folder for the coded partitions (some 5 to 10 bytes a claim), removed at the end. Default: a
        new one where temporary files go; name a disk if that is small or in memory.

    Raises
    ------
    ParameterError
        `scratch` is not a folder.

    Examples
    --------
    >>> with Stream() as engine:
    ...     isinstance(engine, Engine)
    True
    """

    def __init__(self, *, scratch: str | Path | None = None) -> None:
        if scratch is not None and not Path(scratch).is_dir():
            raise ParameterError(f"scratch is {str(scratch)!r}, expected a folder that is there.")
        self._folder = tempfile.TemporaryDirectory(prefix="masquerade-", dir=scratch)

    def share(self, value: Any) -> Any:
        """Return the value: it is here."""
        return value

    def fold(self, partitions: Sequence[Piece], task: Task, combine: Combine, *shared: Any) -> Any:
        """Return the results of `task`; see `Engine.fold`."""
        return run_here(partitions, task, combine, Path(self._folder.name), *shared)

    def close(self) -> None:
        """Remove the scratch files."""
        self._folder.cleanup()


def run_here(
    partitions: Sequence[Piece], task: Task, combine: Combine, scratch: Path, *shared: Any
) -> Any:
    """Return the joined results of these partitions, one after the other."""
    return reduce(combine, (task(partition, scratch, *shared) for partition in partitions))


class DaskCluster(Engine):
    """The workers of a Dask cluster, each with its own share of the partitions.

    Partitions are read where the workers are; between workers and this process travel, in every
    round, only sums over a worker's whole share, and back what was learnt from them. So the traffic
    of a round does not depend on the number of claims or partitions.

    A share is a run of partitions of about as many bytes as any other, one for each thread of the
    workers. Before every round it is looked which workers there are: those that joined get shares
    of the others', and where nobody joined or left, each keeps what it has coded. A worker that
    dies loses nothing: its share is visited by another, from the files. This process and the
    scheduler have to stay.

    Parameters
    ----------
    scheduler : str or distributed.Client, optional
        Address of a scheduler, such as ``"tcp://10.0.0.5:8786"``, or ``"tls://..."``; or a client
        of yours, which stays open. Its workers need masquerade installed and the partitions under
        the same path, or at an address that fsspec knows. Default: a cluster of processes on this
        machine, closed at the end.
    security : distributed.Security, optional
        Certificates for a scheduler that asks for TLS; by default those that Dask's own settings
        name.
    workers : int, optional
        Number of processes of a cluster on this machine; default: one a core.
    memory_limit : str or int, optional
        Of each process of a cluster on this machine, such as ``"2GiB"``.
    timeout : float
        Seconds to wait for the cluster.

    Raises
    ------
    MissingExtra
        Dask is not installed (the extra ``dask``).
    ClusterError
        No scheduler answers.
    """

    def __init__(
        self,
        scheduler: str | Any | None = None,
        *,
        security: Any = None,
        workers: int | None = None,
        memory_limit: str | int = "auto",
        timeout: float = 30.0,
    ) -> None:
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise MissingExtra("a cluster needs Dask", "dask") from error
        self._cluster: Any = None
        self._distributed, self._timeout = distributed, timeout
        self._is_own = not isinstance(scheduler, distributed.Client)
        if self._is_own:
            self.client: Any = self._connected(scheduler, security, workers, memory_limit)
        else:
            self.client = scheduler
        try:
            self.client.wait_for_workers(1, timeout=timeout)
        except (OSError, TimeoutError) as error:
            if self._is_own:
                self._leave()
            raise self._missing(scheduler, error) from error
        # Worker of each partition's share in the last round, by the partition's key: there it is
        # coded.
        self._homes: dict[str, str] = {}
        # Values that nobody holds a handle on any more are let go, here and by the workers.
        self._handles: WeakValueDictionary[int, Shared] = WeakValueDictionary()
        # A folder of its own on the workers' disks, which other engines may use too.
        self._token = f"masquerade-{secrets.token_hex(8)}"

    def _connected(
        self, scheduler: str | None, security: Any, workers: int | None, memory_limit: str | int
    ) -> Any:
        address: Any = scheduler
        if scheduler is None:
            self._cluster = address = self._distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=memory_limit,
                dashboard_address="127.0.0.1:0",  # this machine only, any free port
            )
        try:
            return self._distributed.Client(
                address,
                timeout=self._timeout,
                security=security,
                set_as_default=False,
                direct_to_workers=False,
            )
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            if self._cluster is not None:
                self._cluster.close()
            raise self._missing(scheduler, error) from error

    @staticmethod
    def _missing(scheduler: Any, error: Exception) -> ClusterError:
        where = "on this machine" if scheduler is None else f"at {scheduler}"
        return ClusterError(
            f"no cluster answers {where}: {error}; start a scheduler and workers, or check the "
            "address and, for tls://, the certificates."
        )

    def share(self, value: Any) -> Shared:
        """Return a handle on the value; it is sent to every worker at its first use."""
        # `Shared` keeps the value alive, so its id cannot be that of another one later.
        handle = self._handles.get(id(value))
        if handle is None:
            handle = self._handles[id(value)] = Shared(value)
        return handle

    def fold(self, partitions: Sequence[Piece], task: Task, combine: Combine, *shared: Any) -> Any:
        """Return the results of `task`; see `Engine.fold`.

        Raises
        ------
        ClusterError
            Workers keep dying.
        """
        # What is small goes with each share: a task of its own takes longer than to send it twice.
        given = [
            value if isinstance(value, Shared) or _is_small(value) else Shared(value)
            for value in shared
        ]
        handles = [value for value in given if isinstance(value, Shared)]
        lost = (
            CancelledError,
            TimeoutError,
            self._distributed.KilledWorker,
            self._distributed.comm.CommClosedError,
            self._distributed.client.FutureCancelledError,
        )
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.client.wait_for_workers(1, timeout=self._timeout)
                sent = [
                    value.sent(self.client) if isinstance(value, Shared) else value
                    for value in given
                ]
                return reduce(combine, self._gathered(partitions, task, combine, sent))
            except lost as error:
                # A task may run again: nothing is changed by it. Shared values may be lost too.
                for handle in handles:
                    handle.future = None
                if attempt == _ATTEMPTS:
                    raise ClusterError(
                        f"workers of the cluster keep dying ({error}); give them more memory, or "
                        "write smaller partitions with partition_by_task."
                    ) from error
        raise AssertionError

    def close(self) -> None:
        """Remove the scratch files, and end a cluster that was started here."""
        try:
            self.client.run(_remove, self._token)
        except (OSError, TimeoutError, RuntimeError):
            pass  # the cluster is gone, and its files with it
        finally:
            if self._is_own:
                self._leave()

    def _leave(self) -> None:
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _gathered(
        self, partitions: Sequence[Piece], task: Task, combine: Combine, sent: list[Any]
    ) -> list[Any]:
        threads: dict[str, int] = self.client.nthreads()
        shares = even_runs([one.size for one in partitions], sum(threads.values()))
        homes = self._homes_of([partitions[first:last] for first, last in shares], threads)
        futures = [
            self.client.submit(
                _run_share,
                list(partitions[first:last]),
                task,
                combine,
                self._token,
                *sent,
                workers=[home],
                # A preference: where the home is gone, any worker reads the files.
                allow_other_workers=True,
                # Each call anew: an earlier round's result must not be taken for it.
                pure=False,
            )
            for (first, last), home in zip(shares, homes, strict=True)
        ]
        gathered: list[Any] = self.client.gather(futures)
        return gathered

    def _homes_of(self, shares: Sequence[Sequence[Piece]], threads: dict[str, int]) -> list[str]:
        """Return a worker for each share: where most of it was coded, one share a thread."""
        free = dict(threads)
        coded = [Counter(self._homes.get(one.key, "") for one in share) for share in shares]
        wishes = sorted(
            (-count, place, home)
            for place, counts in enumerate(coded)
            for home, count in counts.items()
        )
        chosen: dict[int, str] = {}
        for _, place, home in wishes:
            if place not in chosen and free.get(home, 0) > 0:
                chosen[place] = home
                free[home] -= 1
        for place in range(len(shares)):
            if place not in chosen:
                chosen[place] = max(free, key=lambda one: free[one])
                free[chosen[place]] -= 1
        for place, share in enumerate(shares):
            self._homes.update((one.key, chosen[place]) for one in share)
        return [chosen[place] for place in range(len(shares))]


def even_runs(sizes: Sequence[int], count: int) -> list[tuple[int, int]]:
    """Return at most `count` runs of neighbours of about equal sums, each with its first and end.

    Examples
    --------
    >>> even_runs([9, 1, 1, 1, 9], 3)
    [(0, 1), (1, 4), (4, 5)]
    """
    # Each of them costs something besides its bytes.
    ends = np.cumsum(np.maximum(np.asarray(sizes, dtype=np.float64), 1.0))
    # The run in which the middle of each lies, so that none is too long by more than half of one.
    middles = ends - np.diff(ends, prepend=0.0) / 2
    run = np.minimum(middles * count / ends[-1], count - 1).astype(np.int64)
    first = np.flatnonzero(np.diff(run, prepend=-1)).tolist()
    return list(zip(first, [*first[1:], len(sizes)], strict=True))


@dataclass(eq=False)
class Shared:
    """A value on its way to all workers, and the value itself in case it gets lost there."""

    value: Any
    future: Any = field(default=None, repr=False)

    def sent(self, client: Any) -> Any:
        """Return the future of the value, sending it if that was not done yet.

        It is the result of a task, which the scheduler can have done again elsewhere; what is
        scattered is lost with its worker, and scattering waits for ever where one is dying.
        """
        if self.future is None:
            with import_module("dask").config.set({_LARGE: "1 TiB"}):
                self.future = client.submit(_the_same, self.value, pure=False)
        return self.future


def _run_share(
    partitions: list[Piece], task: Task, combine: Combine, token: str, *shared: Any
) -> Any:
    """Run a task on a share of the partitions on a worker of the cluster."""
    worker = import_module("distributed").get_worker()
    scratch = Path(worker.local_directory) / token
    scratch.mkdir(parents=True, exist_ok=True)
    return run_here(partitions, task, combine, scratch, *shared)


def _is_small(value: Any) -> bool:
    try:
        return len(pickle.dumps(value)) <= _SMALL
    except (pickle.PicklingError, AttributeError, TypeError):
        return False  # Dask may send it nevertheless


def _the_same(value: Any) -> Any:
    return value


def _remove(token: str, dask_worker: Any) -> None:
    """Remove the scratch files of one worker, which Dask hands over under this name."""
    shutil.rmtree(Path(dask_worker.local_directory) / token, ignore_errors=True)
