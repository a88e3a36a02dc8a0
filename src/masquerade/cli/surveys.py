"""``masquerade surveys``: importing, making, opening, closing and reading surveys on a server."""

from __future__ import annotations

import json as json_format
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import progress_bar, say, show, show_rows
from masquerade.errors import ParameterError, UnreadableFile

if TYPE_CHECKING:
    from masquerade.client import Surveyor

FileArgument = Annotated[
    Path,
    typer.Argument(
        help="The questionnaire: LimeSurvey (.lss, or .txt with tabs), Qualtrics (.qsf), "
        "XLSForm (.xlsx), or a survey document of this program (.json)."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the survey document, which the builder reads. Default: the name of the "
        "questionnaire with the ending .masquerade.json, in this folder."
    ),
]
ReportOption = Annotated[
    bool,
    typer.Option("--report", help="Show every element that was changed or left out, and why."),
]


def import_(
    file: FileArgument, out: OutOption = None, report: ReportOption = False, json: AsJson = False
) -> None:
    """Make a survey document of a questionnaire of another tool.

    What can be asked here is taken over in its order, with pages, texts, conditions and languages.
    Free texts and files are left out, because no mask can protect them. The report names every
    element that was changed or left out. Nothing of the file is run, and nothing is loaded from
    elsewhere.

    Example: masquerade surveys import survey.lss --report
    """
    from masquerade.surveys.questionnaires import import_questionnaire

    try:
        content = file.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{file} cannot be read: {error.strerror}.") from error
    try:
        found = import_questionnaire(content)
    except UnreadableFile as error:
        raise UnreadableFile(f"{file}: {error}") from None
    path = out or Path(f"{file.stem}.masquerade.json")
    document = {"masquerade": 1, **found.document}
    path.write_text(
        json_format.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    if json:
        show({**found.report(), "out": str(path)}, as_json=True, title="")
        return
    from rich.console import Console

    console = Console()
    kept, changed, left = (found.count(one) for one in ("kept", "changed", "left out"))
    say(
        console,
        f"{found.format}: {kept} elements were kept, {changed} changed, {left} left out.",
        f"The survey document is in {path}; import it in the builder.",
        *found.too_dear(),
    )
    if report:
        rows = [
            (one.name, one.what, one.outcome, one.why)
            for one in found.lines
            if one.outcome != "kept"
        ]
        show_rows(console, ("element", "type", "outcome", "why"), rows)
    elif changed or left:
        say(console, "See which, and why, with --report.")


surveys = typer.Typer(
    no_args_is_help=True,
    help="Make, open, close and read surveys on a server. The environment variable "
    "MASQUERADE_SERVER or --server names it. The token stands in the environment variable "
    "MASQUERADE_TOKEN or in the file of --token-file, where other people of this computer cannot "
    "see it; masquerade token create makes one.",
)

Server = Annotated[
    str | None,
    typer.Option(
        help="Address of the server, such as https://surveys.example.org.",
        envvar="MASQUERADE_SERVER",
        show_default=False,
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="File whose first line is the token. Default: MASQUERADE_TOKEN."),
]
SpokenIn = Annotated[
    str | None,
    typer.Option(
        help="One of the survey's languages, such as de, for the texts of results. Default: as "
        "they were written."
    ),
]
Name = Annotated[
    str,
    typer.Argument(
        help="Token of the survey: what follows /s/ in its link.",
        metavar="SURVEY",
        show_default=False,
    ),
]

#: In place of an estimate that would mislead.
_NO_POINT = "–"

surveys.command("import")(import_)


@surveys.command("list")
def list_(server: Server = None, token_file: TokenFile = None, json: AsJson = False) -> None:
    """List the team's surveys and drafts.

    Example: masquerade surveys list --server https://surveys.example.org
    """
    with _surveyor(server, token_file) as surveyor:
        found = list(surveyor.surveys())
    if json:
        show({"surveys": found}, as_json=True, title="Surveys")
        return
    from rich.console import Console

    columns = ("token", "state", "title", "responses")
    rows = [tuple(str(one.get(name, "")) for name in columns) for one in found]
    show_rows(Console(), columns, rows, lines=False)


@surveys.command()
def create(
    document: Annotated[
        Path | None,
        typer.Argument(
            help="Survey as the builder exports it (JSON).", metavar="FILE", show_default=False
        ),
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="Name of a template, in place of a file.")
    ] = None,
    copy_of: Annotated[
        str | None, typer.Option(help="Token of a survey to copy, in place of a file.")
    ] = None,
    server: Server = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> None:
    """Make a draft, and say why it cannot be opened yet.

    Example: masquerade surveys create questionnaire.json
    """
    with _surveyor(server, token_file) as surveyor:
        draft = surveyor.create(document, template=template, copy_of=copy_of)
    faults = [f"{one['pointer']}: {one['detail']}" for one in draft["errors"]]
    dear = [one["detail"] for one in draft["warnings"]]
    found = {
        "token": draft["token"],
        "valid": draft["valid"],
        "errors": faults,
        "warnings": dear,
    }
    if not json:
        found["errors"] = "; ".join(faults) or "none"
        found["warnings"] = " ".join(dear) or "none"
    show(found, as_json=json, title="Draft")


@surveys.command("open")
def open_(
    survey: Name, server: Server = None, token_file: TokenFile = None, json: AsJson = False
) -> None:
    """Freeze a draft, let people answer, and print the link.

    Example: masquerade surveys open 5a5a5a5a5a5a5a5a
    """
    with _surveyor(server, token_file) as surveyor:
        opened = surveyor.open(survey)
    show(_of(opened, "token", "state", "link", "hash"), as_json=json, title="Open")


@surveys.command()
def close(
    survey: Name,
    grace_days: Annotated[
        int,
        typer.Option(help="Days in which people who have begun can still finish.", min=0, max=30),
    ] = 0,
    server: Server = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> None:
    """Let nobody begin a survey any more. It cannot be opened again.

    Example: masquerade surveys close 5a5a5a5a5a5a5a5a
    """
    with _surveyor(server, token_file) as surveyor:
        closed = surveyor.close(survey, grace_days=grace_days)
    show(_of(closed, "token", "state", "responses"), as_json=json, title="Closed")


@surveys.command()
def results(
    survey: Name,
    language: SpokenIn = None,
    server: Server = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> None:
    """Print the figures of a closed survey.

    Example: masquerade surveys results 5a5a5a5a5a5a5a5a --language de
    """
    with _surveyor(server, token_file) as surveyor:
        found = surveyor.result(survey, language=language) if json else None
        table = None if json else surveyor.table(survey, language=language)
    if found is not None or table is None:
        show(found or {}, as_json=True, title="Results")
        return
    from rich.console import Console

    # Reports and tests are no figures of people; the file of results and --json have them.
    columns = ("question", "option", "estimator", "level", "value", "low", "high", "n")
    figures = [row for row in table.to_pylist() if row["estimator"] not in ("reported", "test")]
    rows = [tuple(_cell(_point(row)[name]) for name in columns) for row in figures]
    show_rows(Console(), columns, rows, lines=False)
    if any(_NO_POINT in row for row in rows):
        note = (
            "no point is shown of fewer than 20 people, or where the interval is wider than a "
            "quarter of the range."
        )
        Console().print(f"{_NO_POINT} {note}")


def _point(row: Mapping[str, object]) -> Mapping[str, object]:
    """Return a row of figures with the value that the page shows in place of the estimate."""
    if row["low"] is None or row["shown"] is not None:
        return row
    return {**row, "value": _NO_POINT}


@surveys.command()
def export(
    survey: Name,
    out: Annotated[
        Path,
        typer.Option(help="File to write; its ending says the format.", show_default=False),
    ],
    what: Annotated[
        str,
        choice(
            *("results", "reports", "codebook", "document"),
            help="results: .json, .csv, .xlsx, .sav (SPSS) or .pdf. reports, masked: .parquet, "
            ".csv, .jsonl, or .sav with a row a person. codebook of the reports, and document of "
            "the survey: .json. The server needs the extras sheets, sav and pdf for these files.",
        ),
    ] = "results",
    language: SpokenIn = None,
    server: Server = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> None:
    """Write a file of a survey.

    Example: masquerade surveys export 5a5a5a5a5a5a5a5a --what reports --out reports.parquet
    """
    with _surveyor(server, token_file) as surveyor:
        path = surveyor.export(survey, out, what, language=language)
    written = {"file": str(path), "bytes": path.stat().st_size}
    show(written, as_json=json, title="Written")


@surveys.command()
def dossier(
    survey: Name,
    out: Annotated[Path, typer.Option(help="File to write (.md).", show_default=False)],
    language: Annotated[str, choice("en", "de", help="Language of the text.")] = "en",
    server: Server = None,
    token_file: TokenFile = None,
    json: AsJson = False,
) -> None:
    """Write the data protection summary and the record for an ethics board, with the figures.

    Example: masquerade surveys dossier 5a5a5a5a5a5a5a5a --language de --out dossier.md
    """
    with _surveyor(server, token_file) as surveyor:
        path = surveyor.export(survey, out, "dossier", language=language)
    written = {"file": str(path), "bytes": path.stat().st_size}
    show(written, as_json=json, title="Written")


@contextmanager
def _surveyor(server: str | None, token_file: Path | None) -> Iterator[Surveyor]:
    from masquerade.client import Surveyor

    if not server:
        raise ParameterError(
            "no server is named; add --server https://surveys.example.org, or set "
            "MASQUERADE_SERVER."
        )
    token = os.environ.get("MASQUERADE_TOKEN", "")
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").partition("\n")[0]
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{token_file} cannot be read: {error}.") from error
    if not token.strip():
        raise ParameterError(
            "no token is given; set MASQUERADE_TOKEN, or name a file with --token-file. The "
            "server's operator makes one with masquerade token create."
        )
    with (
        progress_bar("the server works it out:", at_once=False) as tell,
        Surveyor(server, token, progress=tell) as surveyor,
    ):
        yield surveyor


def _of(found: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: found.get(name) for name in names}


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
