"""Names of the truth methods, read from their modules without importing these."""

from __future__ import annotations

import re
from pathlib import Path

import masquerade.truth
from masquerade.errors import ParameterError
from masquerade.lazy import suggestion

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
        listed = [*dict.fromkeys(["auto", *names])]
        raise ParameterError(
            f"method {text!r} is unknown; expected one of {', '.join(listed)}."
            f"{suggestion(text, listed)}"
        )
    return known[bare_name(text)]


def bare_name(text: str) -> str:
    """Return a name in small letters, without "-", "_" and spaces."""
    return text.lower().translate({ord(letter): None for letter in "-_ "})
