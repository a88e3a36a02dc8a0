"""Lazy rooms: a room's public names are imported when they are first used (PEP 562).

Importing a room then costs next to nothing, and a command loads only what it runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

#: How alike a name must be to be suggested, from 0 to 1.
ALIKE = 0.6

#: The extra that installs a package, by the name under which the package is imported.
EXTRAS = {
    "alembic": "server",
    "argon2": "server",
    "cryptography": "server",
    "fastapi": "server",
    "httptools": "server",
    "itsdangerous": "server",
    "jinja2": "server",
    "prometheus_client": "server",
    "pydantic": "server",
    "pydantic_settings": "server",
    "python_multipart": "server",
    "segno": "server",
    "sqlalchemy": "server",
    "starlette": "server",
    "uvicorn": "server",
    "uvloop": "server",
    "httpx": "client",
    "dask": "dask",
    "distributed": "dask",
    "joserfc": "sso",
    "matplotlib": "plots",
    "formulaic": "analysis",
    "openpyxl": "sheets",
    "pyreadstat": "sav",
    "typst": "pdf",
    "pooch": "datasets",
    "psycopg": "postgres",
    "sqlcipher3": "sealed",
    "webauthn": "passkeys",
    "Crypto": "parties",
    "pyhpke": "parties",
}


def install_command(extra: str) -> str:
    """Return the command that installs an extra, from where this installation came.

    An installation from a file, a folder or a repository says so (PEP 610); else it came from an
    index, which knows the project by its name.

    Examples
    --------
    >>> install_command("plots").startswith("pip install ")
    True
    """
    # When something is missing, and not before.
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = distribution("masquerade").read_text("direct_url.json")
    except PackageNotFoundError:
        origin = None
    return f"pip install {requirement(extra, json.loads(origin) if origin else {})}"


def requirement(extra: str, origin: Mapping[str, Any]) -> str:
    """Return the words for pip, by the origin of an installation; empty where it is an index."""
    url = str(origin.get("url", ""))
    if origin.get("dir_info", {}).get("editable"):
        return f"--editable '.[{extra}]' in the folder of the source"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"'masquerade[{extra}] @ {url}'" if url else f"'masquerade[{extra}]'"


def lazy_room(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a room.

    A room imports its public names under ``if TYPE_CHECKING``, where editors and type checkers read
    them. The same lines are read here, so that each name is written once.

    `room`: the ``__name__`` of the room's package, which has an ``__all__``.
    """
    package = sys.modules[room]
    with open(str(package.__file__), encoding="utf-8") as source:
        homes = dict(_imports(ast.parse(source.read())))

    def attribute(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            hint = suggestion(name, [*package.__all__])
            raise AttributeError(f"module {room!r} has no attribute {name!r}.{hint}")
        if home == room:  # a room of the package
            return import_module(f"{room}.{name}")
        try:
            value = getattr(import_module(home), name)
        except ModuleNotFoundError as error:
            needed = (error.name or "").partition(".")[0]
            if needed not in EXTRAS:
                raise
            from masquerade.errors import MissingExtra  # when something is missing, not before

            raise MissingExtra(f"{room}.{name} needs {needed}", EXTRAS[needed]) from error
        setattr(package, name, value)
        return value

    def names() -> list[str]:
        return sorted(package.__all__)

    return attribute, names


def _imports(tree: ast.Module) -> Iterable[tuple[str, str]]:
    """Yield each name that a module imports for types, and the module that holds it."""
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom):
                    for alias in line.names:
                        yield alias.asname or alias.name, str(line.module)


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with the name that is most alike, or nothing.

    Examples
    --------
    >>> suggestion("majority_vote", ["majority-vote", "glad"])
    " Did you mean 'majority-vote'?"
    >>> suggestion("x", ["majority-vote", "glad"])
    ''
    """
    import difflib  # when a name is wrong, and not before

    folded = {other.lower().replace("_", "-"): other for other in names}
    close = difflib.get_close_matches(name.lower().replace("_", "-"), folded, 1, ALIKE)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""
