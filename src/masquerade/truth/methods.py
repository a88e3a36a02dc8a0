"""The registry of truth methods: one module each in this room or in its folder of numbers.

A module that holds a method says its name in a line ``name: ClassVar[str] = "..."``, and nothing
else has to be told of it: commands, documentation and the common tests read what the class says.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import masquerade.truth
from masquerade.errors import ParameterError
from masquerade.lazy import suggestion
from masquerade.plugins import METHOD_GROUP, load_plugin, plugin_names

if TYPE_CHECKING:
    from masquerade.truth.estimator import Estimator, Kind


_NAME = re.compile(r'^    name: ClassVar\[str\] = "(.+)"$', re.MULTILINE)
_ALIASES = {
    "mv": "majority-vote",
    "td": "truth-discovery",
    "ca": "one-coin",
    "channelaware": "one-coin",
    "ds": "dawid-skene",
    "wawa": "weighted-vote",
}
#: Folder of the modules of methods, in the room, by the kind of claims.
FOLDERS = {"categorical": "", "numeric": "numeric"}


def method_names(kind: str) -> dict[str, str]:
    """Return the module of each method for claims of this kind, by the method's name, sorted.

    Modules are read and not imported, so that help costs little.
    """
    package = ".".join(filter(None, ("masquerade.truth", FOLDERS[kind])))
    found = {}
    for folder in masquerade.truth.__path__:
        for file in (Path(folder) / FOLDERS[kind]).glob("*.py"):
            for name in _NAME.findall(file.read_text(encoding="utf-8")):
                found[name] = f"{package}.{file.stem}"
    return dict(sorted(found.items()))


def name_of_method(text: str) -> str:
    """Return the name of a method as its class has it; no method is imported.

    A name that no method has here is looked up among those of other packages (entry points
    ``masquerade.methods``).

    Raises
    ------
    ParameterError
        The name is unknown; the message lists the names.

    Examples
    --------
    >>> name_of_method("MajorityVote"), name_of_method("ds")
    ('majority-vote', 'dawid-skene')
    """
    names = [name for kind in FOLDERS for name in method_names(kind)]
    known = {bare_name(name): name for name in names} | _ALIASES
    if bare_name(text) not in known:
        added = plugin_names(METHOD_GROUP)
        known |= {bare_name(name): name for name in added}
        listed = [*dict.fromkeys(["auto", *names, *added])]
    if bare_name(text) not in known:
        raise ParameterError(
            f"method {text!r} is unknown; expected one of {', '.join(listed)}."
            f"{suggestion(text, listed)}"
        )
    return known[bare_name(text)]


def bare_name(text: str) -> str:
    """Return a name in small letters, without "-", "_" and spaces."""
    return text.lower().translate({ord(letter): None for letter in "-_ "})


#: All methods, by kind and name; loaded when it is first asked for.
METHODS: tuple[type[Estimator], ...]
#: The method that the name ``"auto"`` stands for, by the kind of claims.
AUTO: dict[Kind, str] = {"categorical": "auto", "numeric": "numeric-auto"}


def registered() -> dict[str, type[Estimator]]:
    """Return all methods by their names, those for labels before those for numbers."""
    return {name: _loaded(name, module) for name, module in _modules().items()}


def _modules() -> dict[str, str]:
    return {name: module for kind in FOLDERS for name, module in method_names(kind).items()}


def _loaded(name: str, module: str) -> type[Estimator]:
    for one in vars(import_module(module)).values():
        if isinstance(one, type) and vars(one).get("name") == name:
            method: type[Estimator] = one
            return method
    raise LookupError(f"{module} holds no method {name!r}.")


def __getattr__(name: str) -> tuple[type[Estimator], ...]:
    if name == "METHODS":
        return tuple(registered().values())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def method_named(text: str, *, kind: Kind = "categorical") -> type[Estimator]:
    """Return the method of this name; case, "-", "_" and spaces do not matter.

    Parameters
    ----------
    text : str
        ``"auto"`` stands for the best single choice for claims of `kind`.
    kind : {"categorical", "numeric"}

    Raises
    ------
    ParameterError
        The name is unknown; the message lists the names.

    Examples
    --------
    >>> method_named("MajorityVote").name, method_named("truth_discovery").name
    ('majority-vote', 'truth-discovery')
    """
    if not isinstance(text, str):
        raise ParameterError(f"method is {text!r}, expected a name such as 'majority-vote'.")
    if bare_name(text) == "auto":
        if kind not in AUTO:
            raise ParameterError(f"kind is {kind!r}, expected 'categorical' or 'numeric'.")
        text = AUTO[kind]
    name, modules = name_of_method(text), _modules()
    if name in modules:
        return _loaded(name, modules[name])
    from masquerade.truth.estimator import Estimator  # loads numpy: help does without

    method: type[Estimator] = load_plugin(METHOD_GROUP, name, Estimator)
    return method
