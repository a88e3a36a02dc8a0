"""Engines of fits over partitions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from masquerade.truth.scale import DaskCluster, Stream

if TYPE_CHECKING:
    from masquerade.truth.scale import Engine


#: The cluster, while one is running. A fixture of the folder would keep it to the session's end.
_RUNNING: list[DaskCluster] = []


@pytest.fixture
def cluster() -> DaskCluster:
    """A cluster of two processes, for all modules: to start it takes longer than most fits."""
    pytest.importorskip("distributed")
    if not _RUNNING:
        _RUNNING.append(DaskCluster(workers=2, memory_limit="1GiB"))
    # A test before may have killed one.
    _RUNNING[0].client.wait_for_workers(2, timeout=PATIENCE_SECONDS)
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
