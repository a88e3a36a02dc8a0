"""``masquerade truth``: what the crowd knows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from masquerade.cli.output import AsJson, show
from masquerade.cli.reading import (
    ClaimsFile,
    DuplicatesChoice,
    KindChoice,
    OptionNames,
    read_claims,
)

if TYPE_CHECKING:
    from masquerade.answers import Claims, Truths
    from masquerade.truth import Estimator


def truth(
    claims: ClaimsFile,
    method: Annotated[
        str | None,
        typer.Option(
            help="majority-vote, truth-discovery, one-coin; median, mean for numbers. Default: "
            "truth-discovery, one-coin with --mechanism, median for numbers."
        ),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="What masked the claims; inference then knows the noise.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Known truths (task,truth), to score against.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the inferred truths (CSV or Parquet).")
    ] = None,
    options: OptionNames = None,
    kind: KindChoice = None,
    duplicates: DuplicatesChoice = "error",
    json: AsJson = False,
) -> None:
    """Infer the truth of each task from the claims of many workers."""
    from masquerade.answers import Truths
    from masquerade.answers.frames import write_table
    from masquerade.mechanisms import parse_mechanism
    from masquerade.truth import CategoricalEstimator, method_named

    masked_by = None if mechanism is None else parse_mechanism(mechanism)
    chosen = None if method is None else method_named(method)
    if kind is None and (chosen is not None or masked_by is not None):
        kind = "categorical" if chosen is None else chosen.kind
    table = read_claims(
        claims,
        kind=kind,
        options=options,
        null=masked_by is not None and masked_by.null,
        duplicates=duplicates,
    )
    known = None if truth is None else Truths.read(truth)
    if chosen is None:
        default = "one-coin" if masked_by is not None else "truth-discovery"
        chosen = method_named("median" if table.kind == "numeric" else default)
    started = time.perf_counter()
    fit = chosen().fit(table, mechanism=masked_by)
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
    if isinstance(fit, CategoricalEstimator):
        result["components"] = fit.components_
        result["orientation_ambiguous"] = fit.orientation_ambiguous_
        result["unanswered"] = len(fit.unanswered_)
    if known is not None:
        result |= _scores(fit, table, known)
    if out is not None:
        write_table(fit.truths_, out)
        result["out"] = str(out)
    show(result, as_json=json, title="Truth")


def _scores(fit: Estimator, table: Claims, known: Truths) -> dict[str, Any]:
    from masquerade.truth import (
        CategoricalEstimator,
        MajorityVote,
        Median,
        accuracy,
        mean_absolute_error,
        root_mean_squared_error,
        scored,
    )

    if isinstance(fit, CategoricalEstimator):
        return {
            "accuracy": accuracy(fit, known),
            "baseline": accuracy(MajorityVote().fit(table), known),
            "baseline_method": MajorityVote.name,
            "scored": scored(fit, known),
        }
    return {
        "mae": mean_absolute_error(fit, known),
        "rmse": root_mean_squared_error(fit, known),
        "baseline": mean_absolute_error(Median().fit(table), known),
        "baseline_method": Median.name,
        "scored": scored(fit, known),
    }
