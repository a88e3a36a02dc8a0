"""``masquerade truth``: truths inferred from claims."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.options import (
    AsJson,
    DuplicatesChoice,
    KindChoice,
    OptionNames,
    choice,
    completion,
    grouped,
    known_method,
    mechanisms,
    methods,
    read_levels,
)
from masquerade.cli.terminal import progress_bar, say, show, show_rows
from masquerade.errors import ParameterError
from masquerade.truth.inference_options import ENGINES, HELP, LAYOUTS, InferenceOptions
from masquerade.truth.methods import method_names

if TYPE_CHECKING:
    import pyarrow as pa

    from masquerade.answers import Claims, Truths
    from masquerade.truth import Estimator
    from masquerade.truth.inference import CheckedTable
    from masquerade.truth.scale import PartitionFit

#: Claims from which a fit shows a bar.
_LONG = 200_000
#: Truths that are printed where no file is named.
_FIRST = 10

_Column = Annotated[str | None, typer.Option(metavar="COLUMN")]

#: How the options that are no plain text, file or number are read.
_READ: dict[str, Any] = {
    "method": Annotated[
        str | None,
        typer.Option(callback=known_method, autocompletion=completion(methods)),
    ],
    "mechanism": Annotated[str | None, typer.Option(autocompletion=completion(mechanisms))],
    "levels": Annotated[Path | None, typer.Option()],
    "gold": Annotated[Path | None, typer.Option()],
    "options": OptionNames,
    "kind": KindChoice,
    "duplicates": DuplicatesChoice,
    "layout": Annotated[str, choice(*LAYOUTS, help="")],
    "task_column": _Column,
    "worker_column": _Column,
    "label_column": _Column,
    "wide": Annotated[bool, typer.Option("--wide")],
    "engine": Annotated[str | None, choice(*ENGINES, help="")],
    "scheduler": Annotated[str | None, typer.Option(metavar="ADDRESS")],
    "repartition": Annotated[Path | None, typer.Option()],
}


_HELP = {
    **HELP,
    "method": f"{HELP['method']} For labels: {', '.join(method_names('categorical'))}. "
    f"For numbers: {', '.join(method_names('numeric'))}.",
}


def _files(values: dict[str, Any]) -> InferenceOptions:
    """Return the options with the tables that files hold."""
    from masquerade.answers import Truths
    from masquerade.mechanisms import parse_mechanism

    if values["mechanism"] is not None:
        values["mechanism"] = parse_mechanism(values["mechanism"])
    if values["levels"] is not None and values["mechanism"] is None:
        values["levels"] = read_levels(values["levels"])
    if values["gold"] is not None:
        values["gold"] = Truths.read(values["gold"])
    return InferenceOptions(**values)


ClaimsArgument = Annotated[
    Path,
    typer.Argument(
        help="Table of claims, with the columns task, worker and label (or answer, or "
        "value), or the file that a labelling tool exported (see --layout). A CSV, CSV.gz, TSV, "
        "Parquet, .xlsx, .json or .jsonl file, or a folder of Parquet files (see --engine). The "
        "name - is standard input.",
        metavar="CLAIMS",
        show_default=False,
    ),
]
TruthOption = Annotated[
    Path | None,
    typer.Option(
        help="Table of known truths to score the result against, with the columns task and "
        "truth (or label, or value)."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the inferred truths, one row for each task (CSV, CSV.gz, Parquet or "
        ".xlsx). The name - prints them as CSV on standard output. With --engine stream "
        "or dask, a name without an ending is a folder."
    ),
]
WorkersOutOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the estimated reliability of each worker (CSV, CSV.gz, Parquet or "
        ".xlsx). The name - prints it as CSV on standard output. Only for claims in "
        "memory."
    ),
]
ProbabilitiesOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the probability of each label of each task, one column for each label "
        "(CSV, CSV.gz, Parquet or .xlsx). Only for labels in memory."
    ),
]
AdviceOption = Annotated[
    Path | None,
    typer.Option(
        help="File for the workers with odd answers and the evidence: who answers by chance, "
        "always alike, like another, or ever worse (CSV, CSV.gz, Parquet or .xlsx). No row: "
        "nobody to doubt. Only for labels in memory."
    ),
]


@grouped(InferenceOptions, help=_HELP, read=_READ, made=_files)
def truth(
    claims: ClaimsArgument,
    given: InferenceOptions,
    truth: TruthOption = None,
    out: OutOption = None,
    workers_out: WorkersOutOption = None,
    probabilities: ProbabilitiesOption = None,
    advice: AdviceOption = None,
    json: AsJson = False,
) -> None:
    """Infer the truth of each task from the claims of many workers.

    It prints a summary. Without --out, and with the claims in memory, it also prints the truths of
    the first ten tasks.

    Example: masquerade truth claims.csv --out labels.csv
    """
    from masquerade.answers import Truths
    from masquerade.answers.frames import write_table
    from masquerade.truth.inference import CheckedTable

    known = None if truth is None else Truths.read(truth)
    engine = given.engine_for(claims)
    files = {
        "out": out,
        "workers_out": workers_out,
        "probabilities": probabilities,
        "advice": advice,
    }
    named = {name: path for name, path in files.items() if path is not None}
    for name in named.keys() - {"out"}:
        if engine != "memory" or list(named.values()).count(named[name]) > 1:
            raise ParameterError(
                f"--{name.replace('_', '-')} needs claims in memory (--engine memory) and another "
                "file than --out and all others. Name another file, or leave it out."
            )
    if engine != "memory":
        show(_over_partitions(claims, given, known, out), as_json=json, title="Truth")
        return
    table = CheckedTable.read(claims, given)
    if table.claims.kind != "categorical" and (probabilities or advice):
        raise ParameterError("--probabilities and --advice are for labels; these are numbers.")
    fit, result = _in_memory(table, known, quiet=json)
    for name, path in named.items():
        write_table(_table_of(name, fit, table), path)
        result[name] = str(path)
    show(result, as_json=json, title="Truth")
    if not json and out is None:
        _show_first(fit)


def _table_of(name: str, fit: Estimator, table: CheckedTable) -> pa.Table:
    """Return the table of a fit that an option names."""
    from masquerade.truth import CategoricalEstimator, worker_advice

    if name == "out":
        return fit.truths_
    if name == "workers_out":
        return fit.reliability_
    assert isinstance(fit, CategoricalEstimator)
    if name == "probabilities":
        return fit.posteriors_
    return worker_advice(fit, mechanism=table.masks)


def _in_memory(
    table: CheckedTable, known: Truths | None, *, quiet: bool
) -> tuple[Estimator, dict[str, object]]:
    """Return the fit of claims in memory, and the JSON object of ``truth``."""
    claims = table.claims
    bar = nullcontext() if quiet or len(claims) < _LONG else progress_bar(table.method.name)
    started = time.perf_counter()
    with bar as tell:
        fit = table.fit(tell)
    result: dict[str, object] = {
        "method": fit.name,
        "kind": claims.kind,
        "tasks": claims.n_tasks,
        "workers": claims.n_workers,
        "claims": len(claims),
        "converged": fit.converged_,
        "iterations": fit.iterations_,
        "seconds": round(time.perf_counter() - started, 6),
    }
    if table.masks is not None and table.masks.of_claim is not None:
        result["mechanisms"] = {
            str(each): int(rows.sum()) for each, rows in table.masks.rows(claims) if rows.any()
        }
    result |= _diagnostics(fit)
    if known is not None:
        result |= _scores(fit, claims, known)
    return fit, result


def _diagnostics(fit: Estimator | PartitionFit) -> dict[str, object]:
    found: dict[str, object] = {"components": fit.components_}
    if hasattr(fit, "orientation_ambiguous_"):  # of labels
        found["orientation_ambiguous"] = fit.orientation_ambiguous_
    found["unanswered"] = len(fit.unanswered_)
    found["remarks"] = [str(remark) for remark in fit.remarks_]
    return found


def _over_partitions(
    folder: Path, given: InferenceOptions, known: Truths | None, out: Path | None
) -> dict[str, object]:
    """Return the result of the fit over partitions as the JSON object of ``truth``."""
    from masquerade.answers.frames import write_table
    from masquerade.truth.inference import PartitionInference

    started = time.perf_counter()
    with (
        progress_bar("rounds") as tell,
        PartitionInference.opened(folder, given, tell) as inference,
    ):
        fit = inference.fit()
        index = fit.index
        result: dict[str, object] = {
            "method": fit.estimator.name,
            "kind": "categorical",
            "engine": given.engine_for(folder),
            "partitions": len(inference.partitions),
            "tasks": index.n_tasks,
            "workers": index.n_workers,
            "claims": index.n_claims,
            "converged": fit.converged_,
            "iterations": fit.iterations_,
            "seconds": round(time.perf_counter() - started, 6),
        } | _diagnostics(fit)
        if index.reports is not None:
            result["mechanisms"] = index.reports
        if known is not None:
            # a score says little without that of a plain method
            found, scored = fit.accuracy(known)
            baseline = inference.fit("majority-vote").accuracy(known)[0]
            result |= {"accuracy": found, "baseline": baseline}
            result |= {"baseline_method": "majority-vote", "scored": scored}
        if out is not None:
            # one file where `out` has the ending of one, else a folder of a file a partition
            if out.suffix:
                write_table(fit.truths_, out)
            else:
                fit.write(out)
            result["out"] = str(out)
    return result


def _show_first(fit: Estimator) -> None:
    """Print the truths of the first tasks, and how sure they are."""
    from rich.console import Console

    from masquerade.truth import CategoricalEstimator

    first = fit.truths_.slice(0, _FIRST)
    heads, columns = first.column_names, [column.to_pylist() for column in first.columns]
    if isinstance(fit, CategoricalEstimator):
        sure = fit.result_.truths["posterior"].slice(0, _FIRST).to_pylist()
        columns.append([None if one is None else f"{one:.3f}" for one in sure])
        heads = [*heads, "posterior"]
    console = Console()
    rows = [["–" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]
    show_rows(console, heads, rows, lines=False)
    if len(fit.truths_) > _FIRST:
        say(console, f"{len(fit.truths_) - _FIRST} more tasks: --out - prints all.")


def _scores(fit: Estimator, table: Claims, known: Truths) -> dict[str, object]:
    """Return scores against known truths; a score says little without that of a plain method."""
    from masquerade.truth import (
        CategoricalEstimator,
        MajorityVote,
        NumericEstimator,
        accuracy,
        mean_absolute_error,
        root_mean_squared_error,
    )
    from masquerade.truth.numeric import Median
    from masquerade.truth.scores import hits, scored

    if isinstance(fit, CategoricalEstimator):
        right = hits(fit, known)
        return {
            "accuracy": float(right.mean()),
            "baseline": accuracy(MajorityVote().fit(table), known),
            "baseline_method": MajorityVote.name,
            "scored": len(right),
        }
    assert isinstance(fit, NumericEstimator)
    constant = fit.constant_error(known)
    numbers = table.kind == "numeric"
    return {
        "mae": mean_absolute_error(fit, known),
        "rmse": root_mean_squared_error(fit, known),
        "constant": constant,
        "baseline": mean_absolute_error(Median().fit(table), known) if numbers else constant,
        "baseline_method": Median.name if numbers else "constant",
        "scored": scored(fit, known),
    }
