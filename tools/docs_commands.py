"""A Sphinx extension: the reference of the command line, written from the commands themselves.

What a command says of itself with ``--help`` is the only text about it. The page
``docs/reference/command-line.md`` includes what is written here before the site is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from masquerade.cli import command_line

REFERENCE = "reference/commands.inc"
"""The generated part of the page, below the folder of the documentation."""


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command below `command` with its full name, in the order of ``--help``.

    A group that does something without a subcommand is a command too.
    """
    below = getattr(command, "commands", None)
    if below is None or (words and command.invoke_without_command):
        yield " ".join(words), command
    for name, one in (below or {}).items():
        yield from commands(one, (*words, name))


def arguments(command: Any) -> str:
    """Return the arguments of a command as its usage line shows them, with a space before each."""
    found = [one for one in command.params if one.param_type_name == "argument"]
    names = [(one.metavar or one.name).upper() for one in found]
    return "".join(
        f" {name}" if one.required else f" [{name}]" for one, name in zip(found, names, strict=True)
    )


def options(command: Any) -> list[Any]:
    """Return the options of a command without ``--help``."""
    return [
        one
        for one in command.params
        if one.param_type_name == "option" and "--help" not in one.opts and not one.hidden
    ]


def prose(text: str | None) -> str:
    """Return a text of help as Markdown on one line; flags and placeholders become code."""
    line = " ".join((text or "").split())
    line = line.replace("<", "&lt;").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", line)


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a command's help, each on one line; examples become code."""
    found = []
    for part in re.split(r"\n\s*\n", (text or "").replace("\b", "").strip()):
        line = " ".join(part.split())
        example = re.fullmatch(r"(Examples?): (masquerade .*)", line)
        found.append(f"{example[1]}: `{example[2]}`" if example else prose(line))
    return found


def definition(term: str, text: str | None) -> str:
    """Return an entry of a definition list."""
    return f"{term}\n: {prose(text) or 'See above.'}\n"


def entry(name: str, command: Any) -> str:
    """Return the section of one command: its summary, its arguments and its options."""
    lines = [f"### `{name}`\n", f"`masquerade {name}{arguments(command)}`\n"]
    lines += [f"{one}\n" for one in paragraphs(command.help)]
    for one in command.params:
        if one.param_type_name == "argument":
            lines.append(definition(f"`{(one.metavar or one.name).upper()}`", one.help))
    for one in options(command):
        flags = ", ".join(f"`{flag}`" for flag in (*one.opts, *one.secondary_opts))
        lines.append(definition(flags, one.help))
    return "\n".join(lines)


def reference() -> str:
    """Return the reference of all commands: a table, then a section for each."""
    known = list(commands(typer.main.get_command(command_line())))
    rows = [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {prose(paragraphs(command.help)[0])} |"
        for name, command in known
    ]
    table = ["| command | what it does |", "|---|---|", *rows, ""]
    return "\n".join([*table, *(entry(name, command) for name, command in known)])


def write(app: Sphinx) -> None:
    """Write the reference beside the page that includes it, if it is not there as it is."""
    path = Path(app.srcdir) / REFERENCE
    text = reference()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the reference before Sphinx reads the pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
