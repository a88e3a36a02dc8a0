"""Options that take one of several names: completed by the shell, and corrected where mistyped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import typer

from masquerade.lazy import suggestion


def choice(*names: str, help: str, flag: str | None = None, argument: bool = False) -> Any:
    """Return an option, or an argument, that takes one of these names and nothing else.

    Parameters
    ----------
    help : str
        What its page of help says.
    flag : str, optional
        The option, where it is not called as its parameter.
    """

    def checked(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise typer.BadParameter(
                f"{value!r} is not one of {', '.join(names)}.{suggestion(value, names)}"
            )
        return value

    known: dict[str, Any] = {
        "help": help,
        "callback": checked,
        "autocompletion": completion(lambda: names),
    }
    if argument:
        return typer.Argument(**known)
    return typer.Option(*([flag] if flag else []), **known)


def completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes a name for the shell; the names are looked up when they are needed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def methods() -> list[str]:
    """Return the names of truth methods."""
    from masquerade.truth import METHODS

    return ["auto", *(method.name for method in METHODS if method.name != "auto")]


def mechanisms() -> list[str]:
    """Return the beginnings of mechanisms' text forms."""
    from masquerade.mechanisms.registry import MECHANISMS

    return [f"{name}:" for name in sorted(MECHANISMS)]


def preference_mechanisms() -> list[str]:
    """Return the names of the ways of learning a preference."""
    from masquerade.preference import MECHANISMS

    return ["auto", *(name for name in MECHANISMS if name != "auto")]


def engines() -> list[str]:
    """Return the names of the engines of a release."""
    from masquerade.release import ENGINES

    return [engine.name for engine in ENGINES]
