"""Names of the truth methods, read from their modules without importing these."""

from __future__ import annotations

import re
from pathlib import Path

import masquerade.truth

_NAME = re.compile(r'^    name: ClassVar\[str\] = "(.+)"$', re.MULTILINE)
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
