"""``masquerade truth --engine stream|dask``: claims in partitions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from masquerade.cli.terminal import progress_bar
from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masquerade.answers import Truths
    from masquerade.answers.claims import Duplicates, Kind
    from masquerade.cli.options import Names
    from masquerade.mechanisms import Mechanism
    from masquerade.truth import Estimator
    from masquerade.truth.scale import Engine, NumericPartitionFit, PartitionFit, Partitions


def truth_at_scale(
    claims: Path,
    *,
    engine: str,
    scheduler: str | None,
    repartition: Path | None,
    chosen: type[Estimator] | None,
    auto: bool,
    mechanism: Mechanism | Mapping[str, Mechanism] | None,
    gold: Truths | None,
    known: Truths | None,
    out: Path | None,
    options: Names | None,
    duplicates: str,
    kind: str | None,
) -> dict[str, Any]:
    """Return the result of the fit over partitions as the JSON object of ``truth``."""
    from masquerade.truth import method_named
    from masquerade.truth.scale import (
        PartitionFit,
        Partitions,
        fit_numbers,
        fit_partitions,
        partition_by_task,
    )

    if repartition is not None:
        with progress_bar("writing partitions"):
            partition_by_task(claims, repartition)
        claims = repartition
    partitions = Partitions.at(
        claims,
        options=options,
        null=mechanism is not None and getattr(mechanism, "null", False),
        duplicates=cast("Duplicates", duplicates),
    )
    if chosen is None:
        kind = kind or partitions.likely_kind(mechanism)
        if auto or kind == "numeric":
            chosen = method_named("auto", kind=cast("Kind", kind))
        else:
            masked = mechanism is not None or partitions.masked() is not partitions
            chosen = method_named("one-coin" if masked else "truth-discovery")
    if kind not in (None, chosen.kind) and not getattr(chosen, "ordinal", False):
        raise ParameterError(
            f"{chosen.name} is for {chosen.kind} claims; choose a method for {kind} claims."
        )
    if chosen.kind == "numeric" and gold is not None:
        raise ParameterError(
            f"--gold is for categories; {chosen.name} is for numbers. Leave out --gold."
        )
    started = time.perf_counter()
    with _opened(engine, scheduler) as opened, progress_bar("rounds") as tell:
        fit: PartitionFit | NumericPartitionFit
        if chosen.kind == "numeric":
            fit = fit_numbers(
                partitions, chosen(), engine=opened, mechanism=mechanism, progress=tell
            )
        else:
            fit = fit_partitions(
                partitions,
                chosen(),
                engine=opened,
                mechanism=mechanism,
                gold=gold,
                progress=tell,
            )
        seconds = time.perf_counter() - started
        result: dict[str, Any] = {
            "method": chosen.name,
            "kind": fit.index.kind,
            "engine": engine,
            "partitions": len(partitions),
            "tasks": fit.index.n_tasks,
            "workers": fit.index.n_workers,
            "claims": fit.index.n_claims,
            "converged": fit.converged_,
            "iterations": fit.iterations_,
            "seconds": round(seconds, 6),
            "components": fit.components_,
            "unanswered": len(fit.unanswered_),
            "remarks": [str(remark) for remark in fit.remarks_],
        }
        if fit.index.reports is not None:
            result["mechanisms"] = fit.index.reports
        if isinstance(fit, PartitionFit):
            result["orientation_ambiguous"] = fit.orientation_ambiguous_
        if known is not None:
            result |= _scores(fit, partitions, opened, mechanism, known)
        if out is not None:
            _write(fit, out)
            result["out"] = str(out)
    return result


def _scores(
    fit: PartitionFit | NumericPartitionFit,
    partitions: Partitions,
    engine: Engine,
    mechanism: Mechanism | Mapping[str, Mechanism] | None,
    known: Truths,
) -> dict[str, Any]:
    """Return scores against known truths; a score says little without that of a plain method."""
    from masquerade.truth.scale import PartitionFit, fit_numbers, fit_partitions

    if isinstance(fit, PartitionFit):
        baseline = fit_partitions(partitions, "majority-vote", engine=engine, mechanism=mechanism)
        found, scored = fit.accuracy(known)
        return {
            "accuracy": found,
            "baseline": baseline.accuracy(known)[0],
            "baseline_method": "majority-vote",
            "scored": scored,
        }
    errors = fit.errors(known)
    plain = errors.constant
    numeric = fit.index.kind == "numeric"
    if numeric:
        median = fit_numbers(partitions, "median", engine=engine, mechanism=mechanism)
        plain = median.errors(known).mean_absolute
    return {
        "mae": errors.mean_absolute,
        "rmse": errors.root_mean_squared,
        "constant": errors.constant,
        "baseline": plain,
        "baseline_method": "median" if numeric else "constant",
        "scored": errors.scored,
    }


def _opened(engine: str, scheduler: str | None) -> Engine:
    from masquerade.truth.scale import DaskCluster, Stream

    return DaskCluster(scheduler) if engine == "dask" else Stream()


def _write(fit: PartitionFit | NumericPartitionFit, out: Path) -> None:
    """Write one file where `out` has the ending of one, else a folder of a file a partition."""
    from masquerade.answers.frames import write_table

    if out.suffix:
        write_table(fit.truths_, out)
    else:
        fit.write(out)
