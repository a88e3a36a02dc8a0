"""``masquerade surveys import``: questionnaires of other tools become survey documents."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from masquerade.cli.options import AsJson
from masquerade.cli.terminal import say, show, show_rows
from masquerade.errors import UnreadableFile

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
