"""The command ``masquerade``.

Exit code 0; 1 for a refused or failed request and for packages that are missing, with the reason on
standard error; 2 for wrong usage.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from masquerade import __version__
from masquerade.cli.terminal import complain, disk_trouble, warnings_as_notes
from masquerade.errors import MasqueradeError, MissingExtra, OperationError
from masquerade.lazy import EXTRAS

if TYPE_CHECKING:
    import typer

    app: typer.Typer

#: The module of each command, by group and name; a module's own command line ends in a colon.
_COMMANDS = {
    "Analyse": {
        "truth": "truth",
        "collect": "collect:",
        "prefer": "prefer",
        "rank": "rank",
        "menus": "menus",
        "release": "release",
        "results": "results",
        "regress": "regress",
        "randomize": "randomize",
        "privacy": "privacy",
        "audit": "privacy",
    },
    "Survey": {
        "plan": "select",
        "select": "select",
        "surveys": "surveys:",
        "answer": "answer",
        "withdraw": "answer",
        "me": "answer",
        "caps": "answer",
    },
    "Operate": {
        "demo": "serve",
        "serve": "serve",
        "backup": "operate",
        "restore": "operate",
        "migrate": "operate",
        "new-key": "operate",
        "doctor": "operate",
        "user": "user:",
        "token": "user:",
        "helper": "helper_party:",
    },
    "Study": {"simulate": "simulate:"},
}

#: Commands that run a server: it writes files for SPSS, which needs pandas.
_WITH_PANDAS = {"demo", "serve"}

#: Modules of numpy that scipy loads and no command uses by itself.
_ON_FIRST_USE = {"numpy.f2py", "numpy.polynomial", "numpy.testing"}

#: How many objects more there have to be before garbage is looked for: by the usual 700, a command
#: looks a hundred times while it loads its modules.
_GARBAGE_THRESHOLDS = (50_000, 20, 20)


def command_line(only: str | None = None) -> typer.Typer:
    """Return the command line with all its commands, or with one of them alone.

    Parameters
    ----------
    only : str, optional
        The command that will run: no other is loaded. Every command where there is none such.
    """
    import typer  # dear to load, and ``masquerade --version`` does without

    from masquerade.cli.versions import root

    line = typer.Typer(
        name="masquerade",
        help="Run surveys and label data with privacy guarantees, and analyse the answers.",
        no_args_is_help=True,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    line.callback()(root)
    known = any(only in commands for commands in _COMMANDS.values())
    for group, commands in _COMMANDS.items():
        for name, home in commands.items():
            if known and name != only:
                continue
            module = import_module(f"masquerade.cli.{home.rstrip(':')}")
            part = getattr(module, name.replace("-", "_"))
            if home.endswith(":"):
                line.add_typer(part, name=name, rich_help_panel=group)
            else:
                line.command(name, rich_help_panel=group)(part)
    _flow(line)
    return line


def _flow(line: typer.Typer) -> None:
    """Let each paragraph of help be broken by the terminal alone, not by its source too."""
    for one in line.registered_commands:
        text = one.help or (one.callback and one.callback.__doc__) or ""
        one.help = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for group in line.registered_groups:
        if group.typer_instance is not None:
            _flow(group.typer_instance)


def __getattr__(name: str) -> Any:
    if name == "app":
        return command_line()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _FewImports(MetaPathFinder):
    """Keep commands from loading modules without need.

    pyarrow would load pandas, to ask of each list whether it is a series. scipy copies all names of
    numpy, among them compilers of Fortran and numpy's own tests: these are loaded on first use.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Say of pandas that it is not installed; formulas with functions alone need it."""
        if fullname == "pandas" and "formulaic" not in sys.modules:
            raise ModuleNotFoundError("commands do without pandas", name=fullname)
        if fullname not in _ON_FIRST_USE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_raised: object) -> None:
        sys.meta_path.remove(self)


def main() -> None:
    """Run the command line; refusals become one line on standard error and exit code 1."""
    # A fifth of a short command's time would be looking for garbage: among modules while they are
    # loaded, where there is next to none, and at the end, when all memory goes back anyway.
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"masquerade {__version__}\n")
        return
    name = next(iter(sys.argv[1:]), None)
    with nullcontext() if name in _WITH_PANDAS else _FewImports():
        run(lambda: command_line(name)())


def run(command: Callable[[], object]) -> None:
    """Run a command; refusals become one line on standard error and exit code 1."""
    try:
        with warnings_as_notes():
            command()
    except MasqueradeError as error:
        complain(error)
        sys.exit(1)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        complain(MissingExtra(f"this command needs {package}", EXTRAS[package]))
        sys.exit(1)
    except Exception as error:
        said = disk_trouble(error)
        if said is None:
            raise
        complain(OperationError(said))
        sys.exit(1)
