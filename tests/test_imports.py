"""Imports go one way: a room knows itself and the rooms before it, nothing after."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import masquerade

SOURCE = Path(masquerade.__file__).parent

ROOMS = (
    ("errors", "lazy", "plugins"),
    ("exact",),
    ("plots",),
    ("answers",),
    ("mechanisms",),
    ("accounting",),
    ("aggregate",),
    ("estimation",),
    ("surveys",),
    ("selection",),
    ("truth",),
    ("preference",),
    ("release",),
    ("results",),
    ("analysis",),
    ("datasets", "simulate"),
    ("server",),
    ("client",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
FIRST_OUTSIDE_THE_LIBRARY = RANK["server"]

SERVER = (
    *("keys", "settings", "http", "db"),
    *("audit", "webhooks", "accounts", "surveys", "mail", "parties", "results"),
    "participants",
    *("operations", "services", "demo", "routes", "helper_app", "app", "__init__"),
)
"""Rooms of the server: routes over services over the database over HTTP over settings. Each imports
itself and those to its left."""
UPWARD = {
    ("operations", "app"): "each process of a server makes its own application",
    ("operations", "helper_app"): "each process of a helper makes its own application",
}
FRAMEWORK = {"fastapi", "starlette"}
SPEAKS_HTTP = {"http", "routes", "app", "helper_app"}
"""Only these know the web framework."""

SHELF = "masquerade_papers"
"""The papers' package, after everything: it imports the rooms, and no room imports it."""

OUTSIDE_WORLD = {
    *("fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic"),
    *("httpx", "requests", "urllib", "http", "socket", "ssl", "sqlite3"),
    *("datetime", "time"),
}
MATHEMATICS = {"numpy", "scipy"}


def room_of(module: str) -> str:
    """Return the room of a dotted module name below ``masquerade``, or the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in RANK else "masquerade"


def imported(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Yield each import of a module with its line, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            if base == "masquerade":
                for alias in node.names:
                    yield node.lineno, f"masquerade.{alias.name}"
            else:
                yield node.lineno, base
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name | ast.Attribute)
            and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
            in ("import_module", "__import__")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)


def modules() -> list[Path]:
    """Return every module of the package but its own ``__init__``, which loads rooms lazily."""
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def tier_fault(name: str, room: str) -> Iterator[str]:
    """Yield why a room of the server must not import the module `name` of the server."""
    parts = name.split(".")
    other = parts[2] if len(parts) > 2 else "__init__"
    late = SERVER.index(other) > SERVER.index(room)
    if late and (room, other) not in UPWARD:
        yield f"server/{room} imports server/{other}, which comes after it"


def faults(source: str, parts: tuple[str, ...]) -> list[str]:
    """Return the forbidden imports of a module at `parts` below the package."""
    room = parts[0].removesuffix(".py")
    rank = RANK[room]
    package = ".".join(("masquerade", *parts[:-1]))
    found = []
    for line, name in imported(ast.parse(source), package):
        top = name.split(".")[0]
        if top == "masquerade":
            other = room_of(name)
            if other == "masquerade" and rank < FIRST_OUTSIDE_THE_LIBRARY:
                found.append(f"line {line}: a library room must not import the package itself")
            elif other != "masquerade" and RANK[other] > rank:
                found.append(f"line {line}: {room} imports {other}, which comes after it")
            elif room == other == "server" and len(parts) > 1:
                tier = parts[1].removesuffix(".py")
                found += [f"line {line}: {fault}" for fault in tier_fault(name, tier)]
        elif top == SHELF:
            found.append(f"line {line}: the shelf of the papers imports the package: {name}")
        elif top in OUTSIDE_WORLD and rank < FIRST_OUTSIDE_THE_LIBRARY:
            found.append(f"line {line}: the library has no web, database, clock or network: {name}")
        elif top in FRAMEWORK and room == "server" and len(parts) > 1:
            if parts[1].removesuffix(".py") not in SPEAKS_HTTP:
                found.append(f"line {line}: only routes and http know the framework: {name}")
        elif top in MATHEMATICS and room == "server":
            found.append(f"line {line}: the server holds no mathematics: {name}")
    return found


def test_a_module_imports_only_its_room_and_rooms_before_it() -> None:
    """No import, lazy or for types only, goes to a later room or from the library to the world."""
    wrong = []
    for path in modules():
        parts = path.relative_to(SOURCE).parts
        assert parts[0].removesuffix(".py") in RANK, f"{parts[0]} is not in the order of rooms"
        text = path.read_text(encoding="utf-8")
        wrong += [f"{'/'.join(parts)}: {fault}" for fault in faults(text, parts)]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "parts", "count"),
    [
        ("from masquerade.truth import OneCoin", ("answers", "claims.py"), 1),
        ("def f():\n    import masquerade.server.app", ("truth", "votes.py"), 1),
        ("if TYPE_CHECKING:\n    from masquerade import accounting", ("answers", "x.py"), 1),
        ("from ..truth import ties", ("mechanisms", "x.py"), 1),
        ("from .coins import Coins", ("mechanisms", "x.py"), 0),
        ("from masquerade import Claims", ("truth", "x.py"), 1),
        ("from masquerade import Claims, truth", ("cli", "x.py"), 0),
        ("import sqlalchemy.orm, time", ("accounting", "ledger.py"), 2),
        ("from urllib.request import urlopen", ("datasets.py",), 1),
        ("import_module('masquerade.cli')", ("simulate.py",), 1),
        ("import numpy as np", ("server", "results.py"), 1),
        ("import masquerade.server.routes.me", ("server", "accounts", "x.py"), 1),
        ("from masquerade.server.db import tables", ("server", "accounts", "x.py"), 0),
        ("from masquerade.server.app import create_app", ("server", "operations", "x.py"), 0),
        ("from fastapi import Request", ("server", "accounts", "x.py"), 1),
        ("from fastapi import Request", ("server", "routes", "x.py"), 0),
        ("import numpy as np, time", ("cli", "x.py"), 0),
        ("from masquerade import simulate, datasets", ("simulate.py",), 0),
        ("from masquerade_papers import run", ("cli", "x.py"), 1),
        ("import_module('masquerade_papers.run')", ("server", "x.py"), 1),
    ],
)
def test_the_rule_itself_finds_what_it_must(
    source: str, parts: tuple[str, ...], count: int
) -> None:
    """Each way to import too much is found, and no allowed import is."""
    assert len(faults(source, parts)) == count
