"""The public surface is exactly `__all__`, in order, and every part of it is explained."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import masquerade
from masquerade.lazy import EXTRAS, install_command, requirement

SOURCE = Path(masquerade.__file__).parent
PACKAGES = sorted(
    f"masquerade.{module.name}"
    for module in pkgutil.iter_modules([str(SOURCE)])
    if module.ispkg and "__all__" in (SOURCE / module.name / "__init__.py").read_text()
)


def sort_key(name: str) -> tuple[int, list[tuple[bool, int | str]]]:
    """Return the key of ruff's rule RUF022: constants, classes, others, each naturally sorted."""
    group = 0 if len(name) > 1 and name.isupper() else 1 if name[0].isupper() else 2
    pieces = [piece for piece in re.split(r"(\d+)", name) if piece]
    return group, [(not p.isdigit(), int(p) if p.isdigit() else p) for p in pieces]


@pytest.mark.parametrize("name", ["masquerade", *PACKAGES])
def test_all_is_sorted_and_every_name_in_it_is_there(name: str) -> None:
    """`__all__` is in order, without repeats, and each of its names can be had."""
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(set(module.__all__), key=sort_key)
    later = {"accounting", "simulate", "truth"} if name == "masquerade" else set()
    for public in set(module.__all__) - later:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", ["masquerade", *PACKAGES])
def test_all_is_the_public_surface(name: str) -> None:
    """A room lists, and imports for type checkers, the names of `__all__` and no others."""
    module = importlib.import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    block = next(part for part in tree.body if isinstance(part, ast.If))
    names = {
        alias.asname or alias.name
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    public = {other for other in module.__all__ if other != "__version__"}
    assert names == public
    assert dir(module) == sorted(module.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_no_module_has_the_name_of_what_its_room_offers(name: str) -> None:
    """A public name never comes to mean a module, in any order of imports."""
    module = importlib.import_module(name)
    assert not {part.name for part in pkgutil.iter_modules(module.__path__)} & set(module.__all__)


def test_a_room_loads_what_is_asked_of_it_and_no_more() -> None:
    """The rooms themselves load nothing, and one name loads its own module."""
    code = (
        f"import sys, {', '.join(PACKAGES)}\n"
        "print({'numpy', 'scipy', 'pyarrow'} & set(sys.modules))\n"
        "from masquerade.exact import Coins\n"
        "print('masquerade.exact.coins' in sys.modules, 'masquerade.exact.micro' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nTrue False\n"


def test_a_server_starts_without_what_it_seldom_needs(tmp_path: Path) -> None:
    """At a start where nothing is to be migrated, SciPy, Alembic and httpx are not loaded."""
    code = (
        "import sys; from masquerade.server import Settings, create_app\n"
        f"create_app(Settings('sqlite:///{tmp_path}/a.sqlite3'))\n"
        "print({'scipy', 'alembic', 'httpx'} & set(sys.modules))"
    )
    for _ in range(2):  # the first one migrates
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    assert done.stdout == "set()\n"


def test_a_name_that_is_almost_right_is_corrected() -> None:
    """A room that has no such name says which one is meant."""
    with pytest.raises(AttributeError, match=r"Did you mean 'MajorityVote'\?"):
        _ = importlib.import_module("masquerade.truth").MajorityVot
    with pytest.raises(AttributeError, match=r"no attribute 'zebra'\.$"):
        _ = importlib.import_module("masquerade.truth").zebra


def test_the_package_loads_its_rooms_when_they_are_used() -> None:
    """The package lists its names, gives them on demand, and knows no others."""
    assert dir(masquerade) == sorted(masquerade.__all__)
    assert masquerade.Claims is importlib.import_module("masquerade.answers").Claims
    assert masquerade.mechanisms is importlib.import_module("masquerade.mechanisms")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = importlib.import_module("masquerade").nonsense


@pytest.mark.parametrize("name", ["masquerade.answers", "masquerade.mechanisms"])
def test_every_exported_object_is_documented_at_run_time(name: str) -> None:
    """``help()`` has something of our own to say about each exported class and function."""
    module = importlib.import_module(name)
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), public
            assert not str(value.__doc__).startswith(f"{public}("), f"{public} has a generated text"


#: Frames that a caller may hand in, and what comes with Dask.
FRAMES = {"cloudpickle", "dask", "pandas", "polars"}


@pytest.mark.parametrize("served", [False, True], ids=["base", "server"])
def test_every_room_loads_where_no_extra_is_installed(served: bool) -> None:
    """Rooms and the command line need no extra, and the server needs `server` alone."""
    absent = FRAMES | {name for name, extra in EXTRAS.items() if not served or extra != "server"}
    absent -= {"httpx"} if served else {"pydantic"}  # which comes with typer
    rooms = ["masquerade.cli", *(set(PACKAGES) - {"masquerade.server"})]
    rooms += ["masquerade.server", "masquerade.server.operations.run"] if served else []
    code = (
        f"import importlib, sys\nfor name in {sorted(absent)}: sys.modules[name] = None\n"
        f"for room in map(importlib.import_module, {rooms}):\n"
        "    for name in getattr(room, '__all__', ()): getattr(room, name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_small_jobs_load_is_small() -> None:
    """Methods and commands load neither frames nor the parts of scipy that take long to load."""
    code = (
        "import sys, masquerade.cli, masquerade\n"
        "for room in (masquerade.truth, masquerade.selection):\n"
        "    for name in dir(room): getattr(room, name)\n"
        "print({'scipy.stats', 'scipy.optimize', 'pandas', 'polars'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_public_objects_show_an_example() -> None:
    """Of the library's public classes and functions at least six in seven have an example.

    What has none needs a server, a cluster or a file of real data to say anything.
    """
    shown, lacking = 0, []
    for name in PACKAGES:
        if name in ("masquerade.server", "masquerade.cli"):
            continue
        module = importlib.import_module(name)
        for public in module.__all__:
            value = getattr(module, public)
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            if ">>>" in (value.__doc__ or ""):
                shown += 1
            else:
                lacking.append(f"{name}.{public}")
    assert 6 * len(lacking) <= shown, f"without an example: {', '.join(lacking)}"


def test_what_needs_an_extra_names_it() -> None:
    """In a base install each name of the server says which extra to install."""
    code = (
        "import sys\n"
        "sys.modules['pydantic_settings'] = None\n"
        "import masquerade\n"
        "from masquerade.errors import MissingExtra\n"
        "try: masquerade.server.Settings\n"
        "except MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_command("server") in done.stdout


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ({}, "'masquerade[plots]'"),
        (
            {"url": "file:///srv/masquerade-1-py3-none-any.whl", "archive_info": {}},
            "'masquerade[plots] @ file:///srv/masquerade-1-py3-none-any.whl'",
        ),
        (
            {"url": "https://example.org/m.git", "vcs_info": {"vcs": "git", "commit_id": "5a5a"}},
            "'masquerade[plots] @ git+https://example.org/m.git@5a5a'",
        ),
        ({"url": "file:///src", "dir_info": {}}, "'masquerade[plots] @ file:///src'"),
        (
            {"url": "file:///src", "dir_info": {"editable": True}},
            "--editable '.[plots]' in the folder of the source",
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_rest_came(origin: Any, words: str) -> None:
    """The pip command in a message works as it stands, for each origin of an installation."""
    assert requirement("plots", origin) == words
