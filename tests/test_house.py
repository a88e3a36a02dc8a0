"""The house stays small: functions are short, and dictionaries without types do not spread."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import masquerade

SOURCE = Path(masquerade.__file__).parent

LONGEST_FUNCTION = 60
#: Longer functions outside the commands. A change that splits one lowers it.
MOST_LONG_FUNCTIONS = 44
#: Dictionaries of anything. A change that gives some a type lowers it.
MOST_UNTYPED = 200

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, FUNCTION]]:
    """Yield the module and the definition of each function."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, FUNCTION):
                yield name, node


def test_functions_are_short() -> None:
    """No command is longer than a screen, and the number of other long functions does not grow."""
    long = [
        f"{name}:{node.lineno} {node.name}"
        for name, node in functions()
        if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    commands = [place for place in long if place.startswith("cli/")]
    assert not commands, f"split a command: {commands}"
    assert len(long) <= MOST_LONG_FUNCTIONS, f"split a function: {long}"


def test_services_are_functions_over_a_connection() -> None:
    """No function of the server defines one inside itself only to run it in a transaction."""
    nested = [
        f"{name}:{inner.lineno} {inner.name}"
        for name, node in functions()
        if name.startswith("server/")
        for inner in node.body
        if isinstance(inner, FUNCTION) and [arg.arg for arg in inner.args.args] == ["connection"]
    ]
    assert not nested, f"make it a method with @reads or @writes: {nested}"


def test_dictionaries_of_anything_do_not_spread() -> None:
    """Values that cross rooms are typed: ``dict[str, Any]`` does not grow in number."""
    count = {
        path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8").count(
            "dict[str, Any]"
        )
        for path in SOURCE.rglob("*.py")
    }
    worst = sorted(count.items(), key=lambda one: -one[1])[:10]
    assert sum(count.values()) <= MOST_UNTYPED, f"give values a type; most stand in {worst}"
