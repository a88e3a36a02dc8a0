"""``masquerade regress``: regressions from reports seen through their masks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import AsJson, choice
from masquerade.cli.terminal import p_value, show_rows
from masquerade.exact.number import quantity

if TYPE_CHECKING:
    from masquerade.analysis import FitOptions, Regression

Data = Annotated[
    Path,
    typer.Argument(
        help="Table of people, one a row (CSV, CSV.gz, Parquet, .xlsx, .json or .jsonl); or the "
        "file of reports that a survey server exported, which carries its masks.",
        metavar="DATA",
        show_default=False,
    ),
]
FormulaText = Annotated[
    str,
    typer.Argument(
        help="OUTCOME ~ PREDICTOR + PREDICTOR, with names of columns, or with ids of questions of "
        "an exported survey. Functions and products of columns in clear, such as age + {age**2}, "
        "need the extra analysis.",
        metavar="FORMULA",
        show_default=False,
    ),
]
MechanismOf = Annotated[
    list[str] | None,
    typer.Option(
        help="The mask of a column, such as reported=forced-response:no=1/6,yes=1/6. Give one for "
        "each masked column. With --levels COLUMN the mask of a value: reported@high=SPEC, and "
        "reported@none=clear for people who were asked in clear.",
        metavar="COLUMN=SPEC",
        show_default=False,
    ),
]
OptionsOf = Annotated[
    list[str] | None,
    typer.Option(
        "--options",
        help="Answers of a masked column in the order of its mask, such as ill=no,yes. Whole "
        "numbers, and no and yes, need none.",
        metavar="COLUMN=A,B",
        show_default=False,
    ),
]


ModelChoice = Annotated[
    str,
    choice(
        *("auto", "logistic", "multinomial", "ordered", "linear"),
        help="Model of the outcome. auto: logistic for two answers, ordered for a masked "
        "scale, linear for numbers in clear, multinomial for other labels.",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(help="Column of clusters, such as villages; errors allow for them."),
]
WeightsOption = Annotated[
    str | None, typer.Option(help="Column of weights above 0; errors are then robust.")
]
LevelsOption = Annotated[
    str | None,
    typer.Option(help="Column that says which of several masks a person's report went through."),
]
MissingChoice = Annotated[
    str,
    choice(
        *("error", "drop", "keep"),
        help="What a row without a value does. keep counts a missing report of a masked "
        "column as unknown.",
    ),
]
PlainOption = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Plain maximum likelihood, to compare with other software. Its intervals miss "
        "too often where masks say little.",
    ),
]
CodebookOption = Annotated[
    Path | None,
    typer.Option(
        help="File with the codebook (JSON) that the server exported beside a .csv or .jsonl "
        "file of reports. A .parquet file contains its codebook."
    ),
]


def regress(
    data: Data,
    formula: FormulaText,
    mechanism: MechanismOf = None,
    options: OptionsOf = None,
    model: ModelChoice = "auto",
    cluster: ClusterOption = None,
    weights: WeightsOption = None,
    levels: LevelsOption = None,
    missing: MissingChoice = "error",
    plain: PlainOption = False,
    codebook: CodebookOption = None,
    json: AsJson = False,
) -> None:
    """Regress an outcome on predictors, each seen through its mask.

    Intervals hold 95 of 100 times, masks and all. The column naive is what one would have said
    without knowing of the masks.

    Example: masquerade regress survey.csv "reported ~ age + female" --mechanism
    reported=forced-response:no=1/6,yes=1/6
    """
    from masquerade.analysis import FitOptions

    fitting = FitOptions(penalty=0 if plain else 0.5, missing=missing, levels=levels)  # type: ignore[arg-type]
    if codebook is not None or _is_export(data):
        fit = _of_survey(data, codebook, formula, model, fitting, mechanism)
    else:
        fit = _of_table(data, formula, mechanism, options, model, (weights, cluster), fitting)
    _print(fit, as_json=json)


def _is_export(data: Path) -> bool:
    """Return whether a file is a survey's export that contains its codebook."""
    if data.suffix != ".parquet" or not data.is_file():
        return False
    from masquerade.errors import SchemaError, UnreadableFile
    from masquerade.results import read_codebook

    try:
        read_codebook(data)
    except (SchemaError, UnreadableFile):
        return False
    return True


def _of_survey(
    data: Path,
    codebook: Path | None,
    formula: str,
    model: str,
    fitting: FitOptions,
    mechanism: list[str] | None,
) -> Regression:
    from masquerade.analysis import survey_regression
    from masquerade.errors import ParameterError
    from masquerade.results import read_reports

    if mechanism:
        raise ParameterError(
            "a survey's export carries its masks; leave out --mechanism.", field="mechanism"
        )
    reports = read_reports(data, codebook=codebook)
    return survey_regression(reports, formula, model=model, fitting=fitting)


def _of_table(
    data: Path,
    formula: str,
    mechanism: list[str] | None,
    options: list[str] | None,
    model: str,
    people: tuple[str | None, str | None],
    fitting: FitOptions,
) -> Regression:
    from masquerade import analysis
    from masquerade.answers.frames import read_table

    weights, clusters = people
    return analysis.regress(
        read_table(data),
        formula,
        mechanisms=_mechanisms(mechanism or []),
        model=model,
        options={name: text.split(",") for name, text in _pairs(options or [], "--options")},
        weights=weights,
        clusters=clusters,
        fitting=fitting,
    )


def _pairs(given: list[str], flag: str) -> list[tuple[str, str]]:
    found = []
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name.strip() or not text.strip():
            raise typer.BadParameter(
                f"{one!r} is not of the form COLUMN=..., such as "
                "reported=forced-response:no=1/6,yes=1/6.",
                param_hint=flag,
            )
        found.append((name.strip(), text.strip()))
    return found


def _mechanisms(given: list[str]) -> dict[str, Any]:
    """Return the mask of each column, or of each value of the column of levels."""
    masks: dict[str, Any] = {}
    for name, text in _pairs(given, "--mechanism"):
        column, at, level = name.partition("@")
        if not at:
            masks[column] = text
        else:
            masks.setdefault(column, {})[level] = None if text == "clear" else text
    return masks


def _print(fit: Regression, *, as_json: bool) -> None:
    import sys
    from json import dumps

    if as_json:
        sys.stdout.write(dumps(fit.to_json(), ensure_ascii=False, allow_nan=False) + "\n")
        return
    from rich.console import Console

    console = Console()
    console.print(fit.sentence(), markup=False, highlight=False)
    heads = ("term", "estimate", "from", "to", "p", "naive")
    rows = []
    for one in fit.terms:
        name = one.name if one.answer is None else f"{one.name}, {one.answer}"
        naive = fit.naive_of(one)
        p = (
            ""
            if one.probability is None or not one.slope
            else p_value(one.probability, 4).removeprefix("= ")
        )
        numbers = (one.shown, one.low, one.high)
        rows.append((name, *map(_number, numbers), p, "" if naive is None else _number(naive)))
    show_rows(console, heads, rows, lines=False)
    unit = _UNITS[fit.model].format(outcome=fit.outcome, answers=fit.answers)
    people = quantity(fit.people, "person", "people")
    console.print(
        f"{fit.model}, {people}; estimates in {unit}, intervals of "
        f"{100 * fit.confidence:.0f} %; a dash: these answers cannot tell the number",
        markup=False,
        highlight=False,
    )
    if fit.naive:
        console.print(
            "naive: the estimate of one who takes the reports for the answers", markup=False
        )
    for note in fit.notes:
        console.print(f"note: {note}", markup=False)


_UNITS = {
    "linear": "units of {outcome}",
    "ordered": "log-odds of a higher {outcome}",
    "logistic": "log-odds of {outcome} {answers[1]} against {answers[0]}",
    "multinomial": "log-odds of each answer to {outcome} against {answers[0]}",
}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:z.3f}"
