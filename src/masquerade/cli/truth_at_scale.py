"""``masquerade truth --engine stream|dask``: claims in partitions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from masquerade.cli.terminal import progress_bar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masquerade.answers import Truths
    from masquerade.answers.claims import Duplicates
    from masquerade.cli.options import Names
    from masquerade.mechanisms import Mechanism
    from masquerade.truth import Estimator
    from masquerade.truth.scale import Engine, PartitionFit


def truth_at_scale(
    claims: Path,
    *,
    engine: str,
    scheduler: str | None,
    repartition: Path | None,
    chosen: type[Estimator] | None,
    mechanism: Mechanism | Mapping[str, Mechanism] | None,
    gold: Truths | None,
    known: Truths | None,
    out: Path | None,
    options: Names | None,
    duplicates: str,
) -> dict[str, Any]:
    """Return what the fit over partitions found, as the JSON object of ``truth``."""
    from masquerade.truth import method_named
    from masquerade.truth.scale import Partitions, fit_partitions, partition_by_task

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
        masked = mechanism is not None or partitions.masked() is not partitions
        chosen = method_named("one-coin" if masked else "truth-discovery")
    started = time.perf_counter()
    with _opened(engine, scheduler) as opened, progress_bar("rounds") as tell:
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
            "kind": chosen.kind,
            "engine": engine,
            "partitions": len(partitions),
            "tasks": fit.index.n_tasks,
            "workers": fit.index.n_workers,
            "claims": fit.index.n_claims,
            "converged": fit.converged_,
            "iterations": fit.iterations_,
            "seconds": round(seconds, 6),
            "components": fit.components_,
            "orientation_ambiguous": fit.orientation_ambiguous_,
            "unanswered": len(fit.unanswered_),
            "remarks": [str(remark) for remark in fit.remarks_],
        }
        if fit.index.masked is not None:
            result["mechanisms"] = fit.index.masked.reports
        if known is not None:
            # the votes on the same claims: an accuracy says little without them
            baseline = fit_partitions(
                partitions, "majority-vote", engine=opened, mechanism=mechanism
            )
            found, scored = fit.accuracy(known)
            result |= {
                "accuracy": found,
                "baseline": baseline.accuracy(known)[0],
                "baseline_method": "majority-vote",
                "scored": scored,
            }
        if out is not None:
            _write(fit, out)
            result["out"] = str(out)
    return result


def _opened(engine: str, scheduler: str | None) -> Engine:
    from masquerade.truth.scale import DaskCluster, Stream

    return DaskCluster(scheduler) if engine == "dask" else Stream()


def _write(fit: PartitionFit, out: Path) -> None:
    """Write one file where `out` has the ending of one, else a folder of a file a partition."""
    from masquerade.answers.frames import write_table

    if out.suffix:
        write_table(fit.truths_, out)
    else:
        fit.write(out)
