"""A leader and a helper, on databases of each kind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.parties.pairs import Pair, pair_of


@pytest.fixture
def pair(database_url: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """A leader and a helper, both on the same kind of database."""
    other = request.getfixturevalue("second_database_url")
    with pair_of(database_url, other) as made:
        yield made


@pytest.fixture
def sqlite_pair(tmp_path: Path, migrated_file: Path) -> Iterator[Pair]:
    """A leader and a helper on SQLite, where the kind of database does not matter."""
    files = [shutil.copy(migrated_file, tmp_path / f"{name}.sqlite3") for name in ("l", "h")]
    with pair_of(*(f"sqlite:///{file}" for file in files)) as made:
        yield made


@pytest.fixture
def second_database_url(
    database_url: str, request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path
) -> Iterator[str]:
    """URL of another database of the same kind."""
    if database_url.startswith("sqlite"):
        yield f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'helper.sqlite3')}"
        return
    server: Any = request.getfixturevalue("postgres_server")
    like = request.getfixturevalue("migrated_template")
    name = f"helper_{database_url.rpartition('_')[2]}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
    yield server.url(name)
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")
