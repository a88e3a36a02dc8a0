"""SQL statements that are compiled once for all databases of a test run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.util import LRUCache

from masquerade.server.db import engine

_MOST = 2000


class _Compiled:
    """Compiled statements of all engines with one driver; an engine's own cache ends with it."""

    def __init__(self) -> None:
        self._kept: LRUCache[Any, Any] = LRUCache(_MOST)

    def get(self, key: tuple[Any, ...]) -> Any:
        """Return a compiled statement, whichever engine compiled it."""
        return self._kept.get(key[1:])  # the first is the engine's own object of its dialect

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        self._kept[key[1:]] = compiled


@contextmanager
def compiled_once() -> Iterator[None]:
    """Let engines share compiled statements: a test's few are else compiled anew.

    A server has one engine, whose statements are compiled once in its life.
    """
    # By driver too: SQLCipher is another SQLite, and what is compiled depends on its version.
    shared: dict[tuple[str, Any], _Compiled] = defaultdict(_Compiled)

    def create(url: str, **options: Any) -> Engine:
        cache = shared[make_url(url).drivername, options.get("module")]
        return create_engine(url, execution_options={"compiled_cache": cache}, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "create_engine", create)
        yield
