"""Engines of fits over partitions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from masquerade.truth.scale import DaskCluster, Stream

if TYPE_CHECKING:
    from masquerade.truth.scale import Engine


#: The cluster, while one is running.
_RUNNING: list[DaskCluster] = []


@pytest.fixture
def cluster() -> DaskCluster:
    """A cluster of two processes, for all modules: to start it takes longer than most fits."""
    pytest.importorskip("distributed")
    if not _RUNNING:
        _RUNNING.append(DaskCluster(workers=2, memory_limit="1GiB"))
    return _RUNNING[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the cluster after the folder's last test: at rest it takes a fifteenth of a core."""
    if _RUNNING and (nextitem is None or Path(__file__).parent not in nextitem.path.parents):
        with warnings.catch_warnings():
            warnings.filterwarnings("default", module="distributed|tornado|asyncio|zict")
            _RUNNING.pop().close()


@pytest.fixture(params=["stream", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn."""
    if request.param == "dask":
        yield request.getfixturevalue("cluster")
    else:
        with Stream() as streamed:
            yield streamed
