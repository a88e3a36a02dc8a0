"""Workers by mechanism over partitions, where each report went through its own mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims
from masquerade.errors import MixedTypes, ParameterError
from masquerade.exact.number import quantity
from masquerade.mechanisms import CategoricalMechanism, Mechanism, parse_mechanism
from masquerade.truth.channel_view import Levels
from masquerade.truth.report_mechanisms import ReportMechanisms, Sources


@dataclass(frozen=True, slots=True, eq=False)
class NamedSources:
    """Sources by their names: those of one partition, or of several together."""

    # source, worker, mechanism: columns of equal length. A source is a worker with a mechanism.
    table: pa.Table
    # mechanism, reports, silent: how many claims went through each, and how many are "no answer".
    masks: pa.Table

    @classmethod
    def of(cls, claims: Claims, masks: ReportMechanisms) -> tuple[Claims, NamedSources]:
        """Return claims with sources for workers, and these."""
        split, sources = masks.sources(claims)
        texts = pa.array([str(one) for one in sources.levels.mechanisms])
        table = pa.table(
            {
                "source": split.workers,
                "worker": claims.workers.take(pa.array(sources.worker_of)),
                "mechanism": texts.take(pa.array(sources.levels.of_worker)),
            }
        )
        count = {"mechanism": texts, "reports": sources.reports, "silent": sources.silent}
        return split, cls(table, pa.table(count))

    def joined(self, other: NamedSources, first: str, second: str) -> NamedSources:
        """Return the sources of both; `first` and `second` are names of files, for errors."""
        kinds = [one.table["worker"].type for one in (self, other)]
        if kinds[0] != kinds[1]:
            raise MixedTypes(
                f"{second}: column 'worker' holds {kinds[1]} while {first} holds {kinds[0]}; "
                "write all partitions with the same types."
            )
        table = pa.concat_tables([self.table, other.table]).combine_chunks()
        names = table["source"].combine_chunks()
        # Sources keep the order of their first appearance, as workers do.
        seen = pc.index_in(pc.unique(names), value_set=names)
        masks = pa.concat_tables([self.masks, other.masks])
        total = masks.group_by("mechanism", use_threads=False).aggregate(
            [("reports", "sum"), ("silent", "sum")]
        )
        total = total.select(["mechanism", "reports_sum", "silent_sum"])
        return NamedSources(table.take(seen), total.rename_columns(list(masks.column_names)))

    @property
    def reports(self) -> dict[str, int]:
        """Number of reports that went through each mechanism, by its text form."""
        names, counts = (self.masks[name].to_pylist() for name in ("mechanism", "reports"))
        return dict(zip(names, counts, strict=True))

    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms of all reports, once it is checked that they mask one question.

        Raises
        ------
        ParameterError
            They mask different questions.
        """
        mechanisms = tuple(parse_mechanism(text) for text in self.masks["mechanism"].to_pylist())
        ReportMechanisms(mechanisms, np.zeros(0, dtype=np.int32))
        return mechanisms

    def resolved(self, n_options: int) -> GlobalSources:
        """Return the sources of all partitions as codes, once their mechanisms are checked.

        Raises
        ------
        ParameterError
            The mechanisms mask different questions, or other options than the claims have, or a
            report is "no answer" that its mechanism cannot mask.
        """
        texts = self.masks["mechanism"].to_pylist()
        mechanisms = cast(Any, self.mechanisms())
        reports, silent = (self.masks[name].to_numpy() for name in ("reports", "silent"))
        for mechanism, missing in zip(mechanisms, silent, strict=True):
            check_domain(mechanism, n_options, int(missing))
        workers = pc.unique(self.table["worker"].combine_chunks())
        worker_of, place = (
            pc.index_in(self.table[name].combine_chunks(), value_set=known).to_numpy()
            for name, known in (("worker", workers), ("mechanism", pa.array(texts)))
        )
        levels = Levels(mechanisms, silent / np.maximum(reports, 1), place.astype(np.int32))
        return GlobalSources(workers, Sources(levels, worker_of.astype(np.int32), reports, silent))


@dataclass(frozen=True, slots=True, eq=False)
class GlobalSources:
    """The sources of all partitions, with the workers behind them."""

    workers: pa.Array  # pyarrow.Array. Every worker, in order of first appearance.
    sources: Sources


def check_domain(
    mechanism: CategoricalMechanism, n_options: int, nulls: int, labels: pa.Array | None = None
) -> None:
    """Raise where claims of so many options, `nulls` "no answer", are not of a mechanism's domain.

    `labels` are shown, where they are known.
    """
    if n_options != mechanism.options:
        shown = "" if labels is None else f" ({labels.to_pylist()[:10]})"
        raise ParameterError(
            f"{mechanism} is for {mechanism.options} options, the claims have {n_options}{shown}; "
            "declare all options (--options on the command line), or change options= of the "
            "mechanism."
        )
    if nulls and not mechanism.null:
        said = quantity(nulls, "claim is", "claims are")
        raise ParameterError(
            f"{mechanism} cannot mask 'no answer', which {said}; use null=true, or "
            "remove such rows."
        )
