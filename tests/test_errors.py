"""One tree of exceptions, drawn as it is."""

from __future__ import annotations

import builtins
import inspect
import pickle
import re
from typing import Any

import pytest

from masquerade import errors
from masquerade.exact.number import finite

CLASSES: dict[str, Any] = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and value.__module__ == errors.__name__
}


Drawn = tuple[str | None, str | None, tuple[int, str]]


def drawn_tree() -> dict[str, Drawn]:
    """Return each drawn name with its parent, the builtin in brackets, the status and the slug."""
    drawing = (errors.__doc__ or "").split("::\n")[1].split("\n\nEach class")[0]
    path: list[str] = []
    tree: dict[str, Drawn] = {}
    for line in filter(str.strip, drawing.splitlines()):
        match = re.match(r"    ([│├└─ ]*)(\w+)(?: \((\w+)\))?(?: +(\d{3}) ([a-z-]+))?", line)
        assert match, line
        branch, name, builtin, status, slug = match.groups()
        depth = len(branch) // 4
        path = [*path[:depth], name]
        assert name not in tree, f"{name} is drawn twice"
        parent = path[depth - 1] if depth else None
        tree[name] = (parent, builtin, (int(status or 422), slug or "validation-error"))
    return tree


def test_every_exception_is_drawn_and_every_drawn_name_exists() -> None:
    """The drawing at the top of the module has all exceptions and no others."""
    assert set(drawn_tree()) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_an_exception_is_what_the_drawing_says(name: str) -> None:
    """Each class has the parent it is drawn below, the builtin, status and slug, a docstring."""
    parent, builtin, refusal = drawn_tree()[name]
    assert (CLASSES[name].status, CLASSES[name].slug) == refusal
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


def test_a_wrong_parameter_says_which() -> None:
    """The name of a field is read off an error, and not off its words."""
    with pytest.raises(errors.ParameterError) as caught:
        finite("inf", "epsilon")
    assert (caught.value.field, caught.value.question) == ("epsilon", None)
    assert pickle.loads(pickle.dumps(caught.value)).field == "epsilon"


def test_an_error_knows_the_members_of_its_problem() -> None:
    """Problem details carry the parameters of an error beside its message."""
    refused = errors.InsufficientBudget("no", needed=3, residual=1, unit="rho")
    assert refused.details == {"needed": 3, "residual": 1, "unit": "rho"}
    again = errors.InsufficientBudget.from_problem("no", {"needed": 3, "residual": "x", "unit": 1})
    assert again.details == {"needed": 3.0, "residual": 0.0, "unit": ""}
    assert errors.WrongState("no").details == {}
    assert errors.NotFound("no").details == {}


def test_one_class_has_one_slug() -> None:
    """No two classes name the same slug, and every class is found by its own."""
    named = [one for one in CLASSES.values() if "slug" in vars(one)]
    assert len({one.slug for one in named}) == len(named)
    assert errors.MasqueradeError.by_slug() == {one.slug: one for one in named}
