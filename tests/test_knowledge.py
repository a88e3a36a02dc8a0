"""Knowledge lives on the thing: outside its room, nothing asks for the kind of a thing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import masquerade

SOURCE = Path(masquerade.__file__).parent

#: Names of each family of classes, and the rooms that may tell its members apart.
FAMILIES = {
    "mechanism": ("mechanisms/",),
    "question": ("surveys/kinds/",),
    "loss": ("accounting/kinds.py",),
    # Circuits of two parties have names of engines.
    "engine": ("release/engine.py", "aggregate/"),
}
#: The first class of a family; those below it in the source are its members.
BASES = {"mechanism": "Mechanism", "question": "Question", "engine": "Engine"}
#: Unions and wrappers of a family, which switch on its members as well.
ALIASES = {
    "mechanism": {"Mask", "Masking", "ReportMechanisms"},
    "question": {
        "Choice",
        "SeveralOf",
        "Rating",
        "Number",
        "Comparison",
        "PairVote",
        "PromoterScore",
        "Matrix",
    },
    "loss": {"Loss", "Rho", "Mu", "MaskedChoice", "MaskedNumber", "LaplaceNumber"},
    "engine": set(),
}
#: Text by which a member of a family is named.
NAMES = {
    "question": {
        "choice",
        "several",
        "rating",
        "number",
        "comparison",
        "pair",
        "nps",
        "matrix",
        *("ranking", "date"),
    },
    "mechanism": {
        *("randomized-response", "two-layer", "bitwise-response", "discrete-gaussian"),
        *("discrete-laplace", "quantised-response", "subset-selection", "masked-order"),
    },
}

#: The most switches outside their rooms. A change that removes some lowers it.
MOST = {"mechanism": 1, "question": 0, "loss": 0, "engine": 0}


def classes() -> dict[str, set[str]]:
    """Return the names of the classes of each family."""
    parents: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {name.id for name in node.bases if isinstance(name, ast.Name)}
                parents.setdefault(node.name, set()).update(bases)
    members = {family: set(names) for family, names in ALIASES.items()}
    for family, base in BASES.items():
        below = {base}
        while grown := {name for name, above in parents.items() if above & below} - below:
            below |= grown
        members[family] |= below - {base}
    return members


def named(node: ast.AST) -> set[str]:
    """Return the names in an expression, such as the classes of an ``isinstance``."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def texts(node: ast.AST) -> set[str]:
    """Return the texts in an expression."""
    constants = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {one for one in constants if isinstance(one, str)}


def switches(tree: ast.AST, members: dict[str, set[str]]) -> Iterator[tuple[int, str]]:
    """Yield line and family of each ``isinstance``, class pattern or comparison of a kind."""
    for node in ast.walk(tree):
        asked: set[str] = set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and len(node.args) == 2:
                asked = named(node.args[1])
        elif isinstance(node, ast.MatchClass):
            asked = named(node.cls)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            kind = any(isinstance(x, ast.Attribute) and x.attr in ("kind", "name") for x in sides)
            said = set().union(*(texts(side) for side in sides)) if kind else set()
            for family, names in NAMES.items():
                if said & names:
                    yield node.lineno, family
        for family, classes_ in members.items():
            if isinstance(node, ast.expr | ast.pattern) and asked & classes_:
                yield node.lineno, family


def found() -> dict[str, list[str]]:
    """Return where each family is switched on outside its rooms."""
    members = classes()
    places: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for line, family in switches(ast.parse(path.read_text(encoding="utf-8")), members):
            if not name.startswith(FAMILIES[family]):
                places[family].append(f"{name}:{line}")
    return places


def test_kinds_are_asked_for_in_their_rooms_alone() -> None:
    """Switches on mechanisms, kinds of question, losses and engines do not grow in number."""
    places = found()
    counts = {family: len(lines) for family, lines in places.items()}
    over = {family: places[family] for family, count in counts.items() if count > MOST[family]}
    assert not over, f"give the class a method instead of asking what it is: {over}"


def test_a_switch_is_seen() -> None:
    """The count sees isinstance, patterns and comparisons of kinds, and nothing else."""
    source = """
if isinstance(one, RandomizedResponse | str): ...
if question.kind in ("rating", "choice"): ...
match loss:
    case Loss(): ...
if isinstance(one, str) or one.kind == "reserve" or one == "choice": ...
"""
    seen = [family for _, family in switches(ast.parse(source), classes())]
    assert sorted(seen) == ["loss", "mechanism", "question"]
