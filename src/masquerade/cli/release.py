"""``masquerade release``: summaries of claims, and synthetic claims that agree, for publication."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from masquerade.cli.options import AsJson, ClaimsFile, Overwrite, choice, refuse_existing
from masquerade.cli.terminal import ask_back, note, show
from masquerade.exact.number import quantity

if TYPE_CHECKING:
    import pyarrow as pa

    from masquerade.release import Aim, Domain, ReleaseParameters
    from masquerade.release.grouped_claims import Duplicates, Missing
    from masquerade.release.published import Release

_AGAIN = "Each run measures the same claims again, and its epsilon adds to that of the run before."

OutOption = Annotated[
    Path,
    typer.Option(
        help="File for the synthetic claims (CSV, CSV.gz, Parquet or .xlsx). Beside it stand "
        "the summary of each object (.summary.csv), the shares of its answers (.shares.csv) "
        "and a codebook (.codebook.json). Standard output (-) is refused."
    ),
]
EpsilonOption = Annotated[
    str,
    typer.Option(
        help="Privacy loss of the whole release, above 0 and at most 1024. A smaller epsilon "
        "protects more."
    ),
]
DomainOption = Annotated[
    tuple[str, str],
    typer.Option(
        metavar="LOW HIGH",
        help="Public range of the values of all objects, such as 0 10. Never take it from "
        "the claims. Claims outside are moved to the nearer end.",
    ),
]
StepOption = Annotated[
    str | None,
    typer.Option(
        help="Public distance between two values that can be answered, such as 1 for whole "
        "numbers. Rows are then such values alone. Default: every number can be answered."
    ),
]
DomainsOption = Annotated[
    Path | None,
    typer.Option(
        help="Table with the columns task, low and high: objects that have a public range of "
        "their own. --domain holds for all others."
    ),
]
AimChoice = Annotated[
    str,
    choice(
        "claims",
        "means",
        flag="--for",
        help="What the release is for. claims: the whole distribution of each object. means: "
        "means and rankings, as good as a direct noisy mean; shapes are then borrowed from "
        "all objects.",
    ),
]
PerUserOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Protect a user with all claims: the claims of one user are used for at most this "
        "many objects, chosen at random. Default: what a user said of one object is "
        "protected.",
    ),
]
ListedOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE[:N]",
        help="Table with the column task: a public list of objects, not derived from the "
        "claims. It hides who made a claim about which object. N is the number of claims "
        "that you expect about each; in place of it, the table can have a column expected.",
    ),
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=A,B",
        help="Release the values together with another column of the claims. Name its "
        "categories here, such as shift=day,night; do not derive them from the claims. Can be "
        "given several times.",
    ),
]
DuplicatesChoice = Annotated[
    str,
    choice(
        *("error", "first", "last", "mean"),
        help="What to do if a user made several claims about an object: error stops the "
        "command, first or last keeps that one, mean takes their mean.",
    ),
]
MissingChoice = Annotated[
    str,
    choice(
        "error",
        "drop",
        help="What to do with claims without a number: error stops the command, drop leaves "
        "them out.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        help="File for an HTML page about the release: the guarantee, what it is good for, and "
        "the summaries. Default: not written."
    ),
]
CompareOption = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Also compute errors against the claims. The guarantee does not cover these; they "
        "are for the holder of the claims alone.",
    ),
]


def release(
    claims: ClaimsFile,
    out: OutOption,
    epsilon: EpsilonOption,
    domain: DomainOption,
    step: StepOption = None,
    domains: DomainsOption = None,
    aim: AimChoice = "claims",
    per_user: PerUserOption = None,
    listed: ListedOption = None,
    attribute: AttributeOption = None,
    duplicates: DuplicatesChoice = "error",
    missing: MissingChoice = "error",
    report: ReportOption = None,
    compare: CompareOption = False,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Publish counts, means and quantiles of each object, and synthetic claims that agree.

    You hold the claims in clear. The guarantee protects against those who see what is written. All
    files are computed from one noisy measurement. What a release costs adds to what earlier
    releases of the same claims cost, so files that exist are kept unless you give --overwrite.

    Example: masquerade release numbers.csv --epsilon 1 --domain 0 10 --out synthetic.csv
    """
    from masquerade.answers.frames import read_table
    from masquerade.release import ReleaseParameters
    from masquerade.release import release as measure

    _require_files(out, report, overwrite=overwrite)
    started, table = time.perf_counter(), read_table(claims)
    names, expected = _listed(listed, table)
    parameters = ReleaseParameters(
        epsilon=epsilon,
        domain=_domain(domain, domains, step),
        aim=cast("Aim", aim),
        per_user=per_user,
        listed=names,
        expected=expected,
        attributes=_attributes(attribute),
    )
    published = measure(
        table,
        parameters,
        missing=cast("Missing", missing),
        duplicates=cast("Duplicates", duplicates),
    )
    _ask_back(published, parameters)
    files = [str(path) for path in published.write(out)]
    result = _facts(published, parameters, as_json=json) | {"files": files, "out": str(out)}
    errors = None
    if compare:
        errors = _errors(published, table, missing, duplicates)
        result["errors"] = errors.to_dict()
    if report is not None:
        _write_page(report, published, errors)
        result["report"] = str(report)
    result["seconds"] = round(time.perf_counter() - started, 3)
    show(result, as_json=json, title="Release")


def _ask_back(published: Release, parameters: ReleaseParameters) -> None:
    """Say where the guarantee protects hardly anything, and where the figures say nothing."""
    ask_back(published.guarantee)
    silent, rows = published.silent_rows(parameters.public_domain), published.summary.num_rows
    if silent:
        of = "every row" if silent == rows else f"{silent:,} of {quantity(rows, 'row')}"
        note(
            f"in {of} of the summary all intervals are the whole range, so that nothing is said "
            "of the answers. More claims of an object, or a larger --epsilon, narrow them."
        )


def _write_page(report: Path, published: Release, errors: Any) -> None:
    from masquerade.release import report_page

    report.write_text(report_page(published, errors=errors), encoding="utf-8")


def _require_files(out: Path, report: Path | None, *, overwrite: bool) -> None:
    from masquerade.answers.frames import STANDARD
    from masquerade.errors import ParameterError
    from masquerade.release.published import files_of_release

    if out == STANDARD:
        raise ParameterError(
            "--out is standard output (-), and the files beside it have no place there. Name a "
            "file in --out."
        )
    written = [*files_of_release(out), *([] if report is None else [report])]
    refuse_existing(written, _AGAIN, overwrite=overwrite)


def _facts(
    published: Release, parameters: ReleaseParameters, *, as_json: bool
) -> dict[str, object]:
    from masquerade.release import guarantee_json, guarantee_sentence

    in_form = guarantee_json if as_json else guarantee_sentence
    return {
        "objects": published.summary.num_rows // parameters.cells,
        "released": published.rows.num_rows,
        "for": parameters.aim,
        "mean_within": published.half_width("mean"),
        "silent_rows": published.silent_rows(parameters.public_domain),
        "guarantee": in_form(published.guarantee),
        "for_the_collector": dict(published.collector),
    }


def _errors(published: Any, table: pa.Table, missing: str, duplicates: str) -> Any:
    from masquerade.release import GroupedClaims, errors_of

    grouped = GroupedClaims.of(
        table, missing=cast("Missing", missing), duplicates=cast("Duplicates", duplicates)
    )
    return errors_of(published, grouped)


def _listed(text: str | None, claims: pa.Table) -> tuple[list[Any] | None, int | None]:
    """Return the public objects and the expected number of claims about each."""
    import pyarrow as pa

    from masquerade.answers.frames import read_table
    from masquerade.errors import ParameterError, SchemaError

    if text is None:
        return None, None
    path, colon, number = text.rpartition(":")
    if not colon or not number.isdigit():
        path, number = text, ""
    table = read_table(Path(path))
    if "task" not in table.column_names:
        raise SchemaError(
            f"{path} has no column task; expected the names of the public objects there."
        )
    names = table["task"].to_pylist()
    # names are texts where one of the claims' objects has a name that is no number
    if "task" in claims.column_names and pa.types.is_string(claims["task"].type):
        names = [str(name) for name in names]
    if number:
        return names, int(number)
    if "expected" not in table.column_names:
        raise ParameterError(
            f"--listed {text} says no number of claims that is expected about an object. Add it, "
            f"as in --listed {path}:20, or as a column expected.",
            field="expected",
        )
    counts = []
    for row, each in enumerate(table["expected"].to_pylist(), 1):
        if not str(each).isdigit() or int(each) < 1:
            raise ParameterError(
                f"{path}, row {row}: expected is {each!r}, expected a whole number of claims, at "
                "least 1; correct it.",
                field="expected",
            )
        counts.append(int(each))
    if not counts:
        raise ParameterError(f"{path} has no row; name the public objects there.", field="listed")
    return names, sorted(counts)[len(counts) // 2]


def _attributes(texts: list[str] | None) -> dict[str, list[str]]:
    from masquerade.errors import ParameterError

    lists = {}
    for text in texts or []:
        name, mark, categories = text.partition("=")
        if not name or not mark:
            raise ParameterError(
                f"--attribute is {text!r}, expected a column as in shift=day,night."
            )
        lists[name] = [one.strip() for one in categories.split(",") if one.strip()]
    return lists


def _domain(ends: tuple[str, str], domains: Path | None, step: str | None) -> Domain:
    from masquerade.answers.frames import read_table
    from masquerade.errors import ParameterError, SchemaError
    from masquerade.release import Domain

    own = None
    if domains is not None:
        table = read_table(domains)
        absent = {"task", "low", "high"} - set(table.column_names)
        if absent:
            raise SchemaError(
                f"{domains} lacks {sorted(absent)}; expected the columns task, low and high."
            )
        columns = (table[name].to_pylist() for name in ("task", "low", "high"))
        own = {}
        for row, (task, low, high) in enumerate(zip(*columns, strict=True), 1):
            try:
                Domain(low, high, step=step)
            except ParameterError as error:
                raise ParameterError(f"{domains}, row {row}: {error}") from error
            own[task] = (low, high)
    return Domain(*ends, step=step, of_objects=own)
