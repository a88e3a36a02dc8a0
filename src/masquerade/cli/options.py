"""Arguments and options that several commands share; names are completed, and corrected."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from masquerade.errors import ParameterError
from masquerade.lazy import suggestion
from masquerade.plugins import MECHANISM_GROUP, METHOD_GROUP, plugin_names
from masquerade.truth.methods import method_names, name_of_method

if TYPE_CHECKING:
    from masquerade.mechanisms import Mechanism


def choice(*names: str, help: str, flag: str | None = None, argument: bool = False) -> Any:
    """Return an option, or an argument, that takes one of these names and nothing else.

    Parameters
    ----------
    help : str
        What its page of help says.
    flag : str, optional
        The option, where it is not called as its parameter.
    """

    def checked(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise typer.BadParameter(
                f"{value!r} is not one of {', '.join(names)}.{suggestion(value, names)}"
            )
        return value

    known: dict[str, Any] = {
        "help": help,
        "callback": checked,
        "autocompletion": completion(lambda: names),
    }
    if argument:
        return typer.Argument(**known)
    return typer.Option(*([flag] if flag else []), **known)


def grouped(
    kind: type[Any],
    *,
    help: Mapping[str, str],
    read: Mapping[str, Any],
    made: Callable[[dict[str, Any]], Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that spreads a dataclass of options over a command's own options.

    A command takes one value of `kind`; on the command line each of its fields is an option.

    Parameters
    ----------
    kind : type
        A dataclass.
    help : mapping
        The text of each option, by name of the field.
    read : mapping
        The annotated type on the command line, by name of each field.
    made : callable
        Returns the value from the options' values by name.
    """

    def option(name: str) -> Any:
        plain, *more = get_args(read[name])
        one = copy(more[0])
        one.help = help[name]
        return Annotated[plain, one]

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        (taken,) = (one.name for one in own.values() if one.annotation is kind)
        names = [field.name for field in fields(kind)]

        def run(**values: Any) -> None:
            command(**{taken: made({name: values.pop(name) for name in names})}, **values)

        spread_out = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=option(field.name),
            )
            for field in fields(kind)
        ]
        parameters = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, one in own.items()
            if name != taken
        ]
        first = [one for one in parameters if one.default is inspect.Parameter.empty]
        rest = [one for one in parameters if one.default is not inspect.Parameter.empty]
        run.__signature__ = inspect.Signature([*first, *spread_out, *rest])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in [*first, *spread_out, *rest]}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return spread


def completion(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a shell completion of names, which are looked up at the time of need."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def methods() -> list[str]:
    """Return the names of truth methods."""
    names = (*method_names("categorical"), *method_names("numeric"), *plugin_names(METHOD_GROUP))
    return ["auto", *(name for name in names if name != "auto")]


def known_method(value: str | None) -> str | None:
    """Return the name of a truth method as it was given; wrong usage where there is none."""
    try:
        if value is not None:
            name_of_method(value)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None
    return value


def mechanisms() -> list[str]:
    """Return the beginnings of mechanisms' text forms."""
    from masquerade.mechanisms.registry import MECHANISMS

    return [f"{name}:" for name in sorted([*MECHANISMS, *plugin_names(MECHANISM_GROUP)])]


def preference_mechanisms() -> list[str]:
    """Return the names of the ways of learning a preference."""
    from masquerade.preference import MECHANISMS

    return ["auto", *(name for name in MECHANISMS if name != "auto")]


class Names(tuple[str, ...]):
    """Names that stand in one argument, separated by commas."""

    @classmethod
    def parse(cls, text: str) -> Names:
        """Return the names without the spaces around them."""
        return cls(name.strip() for name in text.split(","))


AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object on standard output, and nothing else there."
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace files that exist. Without it the command stops before anything is drawn.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="Settings file (TOML). Default: the file that the environment variable "
        "MASQUERADE_CONFIG names, else masquerade.toml in the current folder, if it "
        "exists."
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the server's SQLite database. This option wins over the settings. "
        "Default: the database that the settings name, else the folder masquerade-data "
        "in the current folder."
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        help="How many processes answer requests. Default: the setting workers, else 1.",
    ),
]
MechanismText = Annotated[
    str,
    typer.Argument(
        help="A mechanism in its text form, for example "
        "randomized-response:options=4,epsilon=1 or two-layer:options=2,low=0,high=1.",
        metavar="SPEC",
        autocompletion=completion(mechanisms),
        show_default=False,
    ),
]
ClaimsFile = Annotated[
    Path,
    typer.Argument(
        help="Table of claims, with the columns task, worker and label (or answer, or "
        "value). A CSV, CSV.gz, Parquet or .xlsx file. The name - is standard input.",
        metavar="CLAIMS",
        show_default=False,
    ),
]
OptionNames = Annotated[
    Names | None,
    typer.Option(
        "--options",
        parser=Names.parse,
        metavar="TEXT",
        help="All labels that workers can give, separated by commas, such as yes,no. "
        "Default: the labels that occur in CLAIMS.",
    ),
]
DuplicatesChoice = Annotated[
    str,
    choice(
        *("error", "first", "last", "all"),
        flag="--duplicates",
        help="What to do if a worker answered a task more than once: error stops the "
        "command, first or last keeps that one claim, all keeps every claim.",
    ),
]
KindChoice = Annotated[
    str | None,
    choice(
        *("categorical", "numeric"),
        flag="--kind",
        help="Whether the claims are labels (categorical) or numbers (numeric). Default: "
        "decided by the name of the column and its values.",
    ),
]


def refuse_existing(files: Iterable[Path], why: str, *, overwrite: bool) -> None:
    """Refuse to write over the first of these files that exists, unless `overwrite`.

    Parameters
    ----------
    why : str
        What another run costs, as a sentence.
    """
    if overwrite:
        return
    # a device such as /dev/null loses nothing
    there = next((path for path in files if path.is_file()), None)
    if there is not None:
        raise ParameterError(
            f"{there} exists and would be lost. {why} Use the file that is there, name another "
            "file, or replace it with --overwrite."
        )


def read_levels(path: Path) -> dict[str, Mechanism]:
    """Return the mechanism of each level of a table."""
    from masquerade.mechanisms import parse_mechanism

    texts = zip(read_column(path, "level"), read_column(path, "mechanism"), strict=True)
    return {str(name): parse_mechanism(text) for name, text in texts}


def read_column(path: Path, name: str) -> list[Any]:
    """Return a column of a table in a file."""
    from masquerade.answers.frames import plain_column, read_table
    from masquerade.errors import SchemaError

    table = read_table(path)
    if name not in table.column_names:
        raise SchemaError(f"column {name!r} is missing; {path} has {table.column_names}.")
    values: list[Any] = plain_column(table, name).to_pylist()
    return values
