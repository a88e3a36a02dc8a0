"""``masquerade truth``: truths inferred from claims."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from masquerade.cli.options import (
    AsJson,
    DuplicatesChoice,
    KindChoice,
    Names,
    OptionNames,
    choice,
    completion,
    known_method,
    mechanisms,
    methods,
    read_levels,
)
from masquerade.cli.terminal import progress_bar, say, show, show_rows
from masquerade.cli.truth_at_scale import truth_at_scale
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.answers import Claims, Truths
    from masquerade.answers.claims import Duplicates, Kind
    from masquerade.mechanisms import Mechanism
    from masquerade.truth import Estimator
    from masquerade.truth.report_mechanisms import Masks

#: Claims from which a fit shows a bar.
_LONG = 200_000
_ENGINES = ("memory", "stream", "dask")
#: Truths that are printed where no file is named.
_FIRST = 10


def truth(
    claims: Annotated[
        Path,
        typer.Argument(
            help="Table of claims, with the columns task, worker and label (or answer, or "
            "value). A CSV, CSV.gz, Parquet or .xlsx file, or a folder of Parquet files "
            "(see --engine). The name - is standard input.",
            metavar="CLAIMS",
            show_default=False,
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="Inference method. For labels: auto, majority-vote, weighted-vote, "
            "gold-majority-vote, truth-discovery, one-coin, one-coin-dawid-skene, two-coin, "
            "dawid-skene, glad, mace, bayesian-combination, subtypes. For numbers: median, mean, "
            "quality-weighted, confidence-aware, catd, gaussian-truth, reliability, heavy-tail, "
            "moments, channel-em, numeric-auto. Default: auto for labels and numeric-auto for "
            "numbers. With --engine stream or dask, the default for labels is truth-discovery, or "
            "one-coin if the claims are masked.",
            callback=known_method,
            autocompletion=completion(methods),
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="Mechanism that masked the claims, for example "
            "randomized-response:options=2,epsilon=1. Inference then takes its noise into "
            "account. Default: if CLAIMS has a column mechanism, each claim's own mechanism "
            "from there; else the claims are taken as not masked.",
            autocompletion=completion(mechanisms),
        ),
    ] = None,
    levels: Annotated[
        Path | None,
        typer.Option(
            help="Table with the columns level and mechanism: what masked the claims of each "
            "level. CLAIMS must then have a column level. Not together with --mechanism."
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Table of known truths to score the result against, with the columns task and "
            "truth (or label, or value)."
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            help="Table of known truths of some tasks, with the columns task and truth. "
            "Inference takes them as given. For labels only."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the inferred truths, one row for each task (CSV, CSV.gz, Parquet or "
            ".xlsx). The name - prints them as CSV on standard output. With --engine stream "
            "or dask, a name without an ending is a folder."
        ),
    ] = None,
    workers_out: Annotated[
        Path | None,
        typer.Option(
            help="File for the estimated reliability of each worker (CSV, CSV.gz, Parquet or "
            ".xlsx). The name - prints it as CSV on standard output. Only for claims in "
            "memory."
        ),
    ] = None,
    options: OptionNames = None,
    kind: KindChoice = None,
    duplicates: DuplicatesChoice = "error",
    engine: Annotated[
        str | None,
        choice(
            *("memory", "stream", "dask"),
            help="Where the claims are while the method runs. memory: all in memory. stream: in "
            "a folder of Parquet files, read one after the other. dask: the same folder, "
            "read by a Dask cluster. Default: memory for a file, stream for a folder, dask "
            "with --scheduler.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://10.0.0.5:8786, for --engine dask. "
            "Default: processes on this machine.",
            metavar="ADDRESS",
        ),
    ] = None,
    repartition: Annotated[
        Path | None,
        typer.Option(
            help="With --engine stream or dask: first write the claims to this new folder, as "
            "Parquet files in which all claims about a task are in one file."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Infer the truth of each task from the claims of many workers.

    It prints a summary. Without --out, and with the claims in memory, it also prints the truths of
    the first ten tasks.

    Example: masquerade truth claims.csv --out labels.csv
    """
    from masquerade.answers import Truths
    from masquerade.answers.frames import read_table, write_table
    from masquerade.mechanisms import parse_mechanism
    from masquerade.truth import (
        CategoricalEstimator,
        NumericEstimator,
        ReportMechanisms,
        method_named,
    )

    if mechanism is not None and levels is not None:
        raise ParameterError(
            "--mechanism and --levels were both given. Give --mechanism if one mechanism "
            "masked all claims, or --levels if the claims have different levels."
        )
    masked_by = None if mechanism is None else parse_mechanism(mechanism)
    chosen = None if method is None or method == "auto" else method_named(method)
    known = None if truth is None else Truths.read(truth)
    engine = _engine_for(claims, engine, scheduler)
    if workers_out is not None and (engine != "memory" or workers_out == out):
        raise ParameterError(
            "--workers-out needs claims in memory (--engine memory) and another file than "
            "--out. Name another file, or leave it out."
        )
    if engine != "memory":
        at_scale = truth_at_scale(
            claims,
            engine=engine,
            scheduler=scheduler,
            repartition=repartition,
            chosen=chosen,
            auto=method == "auto",
            kind=kind,
            mechanism=masked_by if levels is None else read_levels(levels),
            gold=None if gold is None else Truths.read(gold),
            known=known,
            out=out,
            options=options,
            duplicates=duplicates,
        )
        show(at_scale, as_json=json, title="Truth")
        return
    if repartition is not None:
        raise ParameterError(
            "--repartition works only with --engine stream or dask. Add one of them, or "
            "leave it out."
        )
    table, masks = _claims_and_masks(
        read_table(claims),
        levels,
        masked_by,
        kind=kind,
        likely=None if chosen is None else chosen.kind,
        options=options,
        duplicates=duplicates,
    )
    chosen = chosen or method_named("auto", kind=table.kind)
    anchors = None if gold is None else Truths.read(gold)
    started = time.perf_counter()
    fit = _fitted(chosen(), table, masks, anchors, quiet=json)
    seconds = time.perf_counter() - started
    result: dict[str, Any] = {
        "method": chosen.name,
        "kind": table.kind,
        "tasks": table.n_tasks,
        "workers": table.n_workers,
        "claims": len(table),
        "converged": fit.converged_,
        "iterations": fit.iterations_,
        "seconds": round(seconds, 6),
    }
    if isinstance(masks, ReportMechanisms):
        result["mechanisms"] = {
            str(each): int(rows.sum()) for each, rows in masks.rows() if rows.any()
        }
    if isinstance(fit, CategoricalEstimator):
        result["components"] = fit.components_
        result["orientation_ambiguous"] = fit.orientation_ambiguous_
        result["unanswered"] = len(fit.unanswered_)
        result["remarks"] = [str(remark) for remark in fit.remarks_]
    if isinstance(fit, NumericEstimator):
        result["components"] = fit.components_
        result["unanswered"] = len(fit.unanswered_)
        result["remarks"] = [str(remark) for remark in fit.remarks_]
    if known is not None:
        result |= _scores(fit, table, known)
    if out is not None:
        write_table(fit.truths_, out)
        result["out"] = str(out)
    if workers_out is not None:
        write_table(fit.reliability_, workers_out)
        result["workers_out"] = str(workers_out)
    show(result, as_json=json, title="Truth")
    if not json and out is None:
        _show_first(fit)


def _engine_for(claims: Path, engine: str | None, scheduler: str | None) -> str:
    """Return the engine asked for: memory for a file and stream for a folder, unless told."""
    if engine is None:
        engine = "dask" if scheduler is not None else "stream" if claims.is_dir() else "memory"
    if engine not in _ENGINES:
        raise ParameterError(f"--engine is {engine!r}, expected one of {', '.join(_ENGINES)}.")
    if scheduler is not None and engine != "dask":
        raise ParameterError(
            f"--scheduler was given with --engine {engine}; use --engine dask, or leave it out."
        )
    return engine


def _claims_and_masks(
    frame: Any,
    levels: Path | None,
    mechanism: Mechanism | None,
    *,
    kind: str | None,
    likely: Kind | None,
    options: Names | None,
    duplicates: str,
) -> tuple[Claims, Masks]:
    """Return the checked claims of a table, with their mechanisms.

    That is one mechanism for all; else, of each claim, that of its level in the table of levels, or
    that in its column ``mechanism``, where there is one. Claims without a mask are of `kind`, else
    of the `likely` one, else as their column and values say.
    """
    from masquerade.answers import Claims
    from masquerade.truth import ReportMechanisms

    kept = cast("Duplicates", duplicates)
    if mechanism is not None or (levels is None and "mechanism" not in frame.column_names):
        null = mechanism is not None and mechanism.null
        known = likely if mechanism is None else mechanism.kind
        claims = Claims.from_frame(
            frame,
            kind=cast("Kind | None", kind or known),
            options=options,
            null=null,
            duplicates=kept,
        )
        return claims, mechanism
    masked_by = None if levels is None else read_levels(levels)
    claims, masks = ReportMechanisms.with_claims(frame, masked_by, options=options, duplicates=kept)
    if kind is not None and kind != claims.kind:
        raise ParameterError(
            f"{masks.mechanisms[0]} masks {claims.kind} claims, but {kind} ones are asked for. "
            f"Choose a method for {claims.kind} claims, or leave out --kind."
        )
    return claims, masks


def _show_first(fit: Estimator) -> None:
    """Print the truths of the first tasks, and how sure they are."""
    from rich.console import Console

    from masquerade.truth import CategoricalEstimator

    first = fit.truths_.slice(0, _FIRST)
    heads, columns = first.column_names, [column.to_pylist() for column in first.columns]
    if isinstance(fit, CategoricalEstimator):
        of_options = fit.posteriors_.slice(0, _FIRST).columns[1:]
        shares = zip(*(column.to_pylist() for column in of_options), strict=True)
        columns.append([f"{max(row):.3f}" for row in shares])
        heads = [*heads, "posterior"]
    console = Console()
    rows = [["–" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]
    show_rows(console, heads, rows, lines=False)
    if len(fit.truths_) > _FIRST:
        say(console, f"{len(fit.truths_) - _FIRST} more tasks: --out - prints all.")


def _fitted(
    method: Estimator,
    table: Claims,
    mechanism: Masks,
    gold: Truths | None,
    *,
    quiet: bool,
) -> Estimator:
    """Return the method fitted, with a bar on standard error if it takes long."""
    from masquerade.truth import CategoricalEstimator

    if not isinstance(method, CategoricalEstimator):
        if gold is not None:
            raise ParameterError(
                f"--gold is for categories; {method.name} is for numbers. Leave out --gold."
            )
        if quiet or len(table) < _LONG:
            return method.fit(table, mechanism=mechanism)
        with progress_bar(f"rounds of {method.name}") as tell:
            return method.fit(table, mechanism=mechanism, progress=tell)
    if quiet or len(table) < _LONG:
        return method.fit(table, mechanism=mechanism, gold=gold)
    with progress_bar(method.name) as tell:
        return method.fit(table, mechanism=mechanism, gold=gold, progress=tell)


def _scores(fit: Estimator, table: Claims, known: Truths) -> dict[str, Any]:
    from masquerade.truth import (
        CategoricalEstimator,
        MajorityVote,
        Median,
        NumericEstimator,
        accuracy,
        mean_absolute_error,
        root_mean_squared_error,
        scored,
    )
    from masquerade.truth.scores import hits

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
