"""Mechanisms and methods that other installed packages add, by their entry points.

A package names them in its metadata, in the group of their kind. Nothing of it is imported before
its name is asked for, and a name that this package has is never replaced.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from masquerade.errors import ParameterError

MECHANISM_GROUP = "masquerade.mechanisms"
METHOD_GROUP = "masquerade.methods"


@cache
def _entry_points(group: str) -> Any:
    # Loaded when a name is unknown here, for it reads the metadata of each installed package, once.
    from importlib.metadata import entry_points

    return entry_points(group=group)


def plugin_names(group: str) -> list[str]:
    """Return the names that other packages add to a group, sorted; none of them is imported."""
    return sorted({one.name for one in _entry_points(group)})


def load_plugin(group: str, name: str, base: type) -> Any:
    """Return the class of another package's entry point.

    Raises
    ------
    ParameterError
        Two packages add the name, it cannot be imported, or it is no concrete class below `base`
        that has this name.
    """
    found = [one for one in _entry_points(group) if one.name == name]
    packages = sorted({one.dist.name for one in found})
    if len(packages) > 1:
        raise ParameterError(
            f"{name!r} is added by {' and '.join(packages)}; uninstall all of them but one."
        )
    [entry] = found[:1]
    where = f"{name!r} of the package {packages[0]} ({entry.value})"
    try:
        member = entry.load()
    except Exception as error:
        raise ParameterError(
            f"{where} cannot be imported: {type(error).__name__}: {error}. Repair or uninstall "
            "the package."
        ) from error
    if not isinstance(member, type) or not issubclass(member, base):
        raise ParameterError(f"{where} is no class below {base.__module__}.{base.__qualname__}.")
    missing = sorted(getattr(member, "__abstractmethods__", ()))
    if missing:
        raise ParameterError(f"{where} does not define {', '.join(missing)}.")
    if vars(member).get("name") != name:
        raise ParameterError(
            f"{where} calls itself {vars(member).get('name')!r}; its entry point needs that name."
        )
    return member
