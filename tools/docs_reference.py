"""The lists of the Python reference: the public names of each room, by their kind."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import masquerade

#: Classes of Python whose methods are not repeated on the pages.
PYTHON = {
    "BaseException",
    "Exception",
    "Protocol",
    "bytes",
    "dict",
    "int",
    "object",
    "str",
    "tuple",
}

#: Patterns in signatures, and what stands for them.
SHORT = (
    (r"~numpy\._typing[\w.]*_Buffer \|.*?complex \| bytes \| str\]", "ArrayLike"),
    (r"~numpy\.ndarray\[.*?, ~numpy\.dtype\[([^\[\]]+)\]\]", r"NDArray[\1]"),
    (r"<[^<>]*>", "..."),
    (r"'0{20,}'", "..."),
)


def public_names(module: Any) -> list[str]:
    """Return the names that a module offers: its `__all__`, or its own definitions."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def is_elsewhere(value: Any, room: str) -> bool:
    """Return whether another room than this offers an object as its own."""
    home = ".".join(str(getattr(value, "__module__", room)).split(".")[:2])
    if home in ("masquerade", room) or not home.startswith("masquerade."):
        return False
    return getattr(value, "__name__", None) in getattr(importlib.import_module(home), "__all__", ())


def sections(room: str) -> list[tuple[str, list[str]]]:
    """Return the public names of a room under the headings of its page.

    Parameters
    ----------
    room : str
        The full name of the room, as ``masquerade.truth``.

    Returns
    -------
    list of (str, list of str)
        Headings with their names; a heading may have none. What another room offers is on the page
        of that room alone.
    """
    module = importlib.import_module(room)
    found: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": []}
    for name in public_names(module):
        value = getattr(module, name)
        if is_elsewhere(value, room):
            continue
        kind = (
            "Classes"
            if inspect.isclass(value)
            else "Functions"
            if inspect.isroutine(value)
            else "Constants"
        )
        found[kind].append(name)
    return list(found.items())


def comment(room: str, name: str) -> str:
    """Return the comment that explains a constant, from the module that sets it."""
    lines = ast.walk(ast.parse(inspect.getsource(importlib.import_module(room))))
    homes = [
        str(line.module)
        for line in lines
        if isinstance(line, ast.ImportFrom) and name in (alias.name for alias in line.names)
    ]
    analyzer = ModuleAnalyzer.for_module(homes[0] if homes else room)
    analyzer.analyze()
    return " ".join(analyzer.attr_docs.get(("", name), [])).strip()


def rooms() -> list[str]:
    """Return the full names of the rooms, packages and public modules both."""
    return [
        f"masquerade.{found.name}"
        for found in pkgutil.iter_modules(masquerade.__path__)
        if not found.name.startswith("_") and found.name not in ("cli", "lazy", "plugins")
    ]


def bases() -> list[str]:
    """Return the names of classes with methods that their own entry shows, and only that."""
    names = set(PYTHON)
    for room in rooms():
        names |= set(dict(sections(room))["Classes"])
    return sorted(names)


def skip_field(
    app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Skip the fields of named tuples: the class explains them."""
    return True if str(getattr(value, "__doc__", "")).startswith("Alias for field") else None


def without_annotations(text: str) -> str:
    """Return a signature with the type alone for each ``Annotated[type, ...]``."""
    found = re.search(r"(~?typing\.)?\bAnnotated\[", text)
    if found is None:
        return text
    depth, first, at = 1, 0, found.end()
    while depth and at < len(text):
        depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(text[at], 0)
        if depth == 1 and text[at] == "," and not first:
            first = at
        at += 1
    kept = text[found.end() : first or at - 1]
    return text[: found.start()] + kept + without_annotations(text[at:])


def short_signature(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str, returns: str
) -> tuple[str | None, str | None]:
    """Write types of numpy by their names, and defaults that are no Python as three dots."""
    texts = []
    for annotated in (signature, returns):
        text = annotated and without_annotations(annotated)
        for pattern, name_of_type in SHORT:
            text = text and re.sub(pattern, name_of_type, text)
        texts.append(text)
    return texts[0], texts[1]


def plain_text(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Keep the colon in the text of an attribute: napoleon takes the text before it for a type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = lines[0].replace(":", "\N{RATIO}")


def colons(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put the colons back that `plain_text` hid."""
    lines[:] = [line.replace("\N{RATIO}", ":") for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the short forms of signatures and entries to Sphinx."""
    app.connect("autodoc-skip-member", skip_field)
    # Napoleon works at 500, between the two.
    app.connect("autodoc-process-docstring", plain_text, priority=400)
    app.connect("autodoc-process-docstring", colons, priority=600)
    app.connect("autodoc-process-signature", short_signature)
    return {"parallel_read_safe": True}
