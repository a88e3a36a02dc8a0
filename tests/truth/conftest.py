"""Engines of fits over partitions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from masquerade.truth.scale import DaskCluster, Stream

if TYPE_CHECKING:
    from masquerade.truth.scale import Engine


@pytest.fixture(scope="session")
def cluster() -> Iterator[DaskCluster]:
    """A cluster of two processes, for all modules: to start it takes longer than most fits."""
    pytest.importorskip("distributed")
    with DaskCluster(workers=2, memory_limit="1GiB") as both:
        yield both
        # Where it ends, the filters are those of whichever test came last.
        warnings.filterwarnings("default", module="distributed|tornado|asyncio|zict")


@pytest.fixture(params=["stream", "dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn."""
    if request.param == "dask":
        yield request.getfixturevalue("cluster")
    else:
        with Stream() as streamed:
            yield streamed
