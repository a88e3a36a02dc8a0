"""The command without a subcommand: its version, and those that a report of a fault needs."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version

import typer

from masquerade import __version__


def root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    versions: bool = typer.Option(
        False, "--versions", help="Print the versions of all that is used, for reports of faults."
    ),
) -> None:
    """Print the version, or all versions, where that is asked for."""
    if versions:
        typer.echo("\n".join(version_lines()))
        raise typer.Exit
    if version:
        typer.echo(f"masquerade {__version__}")
        raise typer.Exit


def version_lines() -> list[str]:
    """Return the versions of the package, of Python, of the system and of all dependencies.

    Examples
    --------
    >>> version_lines()[0].startswith("masquerade ")
    True
    """
    lines = [
        f"masquerade {__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"{platform.system()} {platform.release()} ({platform.machine()})",
    ]
    try:
        needed = requires("masquerade") or []
    except PackageNotFoundError:  # run from its source, without an installation
        needed = []
    # What tests and documentation need says nothing of a fault.
    used = [one for one in needed if not re.search(r"extra == .(test|docs)\b", one)]
    names = {re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in used} - {"masquerade"}
    return [*lines, *(f"{name} {_installed(name)}" for name in sorted(names))]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
