"""One tree of exceptions, drawn as it is."""

from __future__ import annotations

import builtins
import inspect
import re

import pytest

from masquerade import errors

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and value.__module__ == errors.__name__
}


def drawn_tree() -> dict[str, tuple[str | None, str | None]]:
    """Return each drawn name with its parent and the builtin class in brackets."""
    drawing = (errors.__doc__ or "").split("::\n")[1].split("\n\nRows")[0]
    path: list[str] = []
    tree: dict[str, tuple[str | None, str | None]] = {}
    for line in filter(str.strip, drawing.splitlines()):
        match = re.match(r"    ([│├└─ ]*)(\w+)(?: \((\w+)\))?", line)
        assert match, line
        branch, name, builtin = match.groups()
        depth = len(branch) // 4
        path = [*path[:depth], name]
        assert name not in tree, f"{name} is drawn twice"
        tree[name] = (path[depth - 1] if depth else None, builtin)
    return tree


def test_every_exception_is_drawn_and_every_drawn_name_exists() -> None:
    """The drawing at the top of the module has all exceptions and no others."""
    assert set(drawn_tree()) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_an_exception_is_what_the_drawing_says(name: str) -> None:
    """Each class has the parent it is drawn below, the builtin in brackets, and a docstring."""
    parent, builtin = drawn_tree()[name]
    bases = (
        [Exception]
        if parent is None
        else [CLASSES[parent], *([getattr(builtins, builtin)] if builtin else [])]
    )
    assert list(CLASSES[name].__bases__) == bases
    assert CLASSES[name].__doc__
    assert issubclass(CLASSES[name], errors.MasqueradeError)


def test_callers_can_catch_the_builtin_kind() -> None:
    """Bad input and parameters are ValueErrors, wrong randomness a TypeError."""
    assert issubclass(errors.DuplicateClaim, ValueError)
    assert issubclass(errors.MechanismSyntaxError, ValueError)
    assert issubclass(errors.InsecureRandomness, TypeError)
    assert issubclass(errors.NotFitted, AttributeError)
