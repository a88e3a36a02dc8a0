"""A partition of numbers, or of categories that stand for numbers, coded and cached on disk."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masquerade.answers import Claims
from masquerade.errors import InputError, ParameterError
from masquerade.exact.arrays import Codes, Floats
from masquerade.mechanisms import Mechanism
from masquerade.truth.numeric.estimator import check_reports
from masquerade.truth.report_mechanisms import Masks, ReportMechanisms
from masquerade.truth.scale.coded_partition import (
    Names,
    arrays_in,
    arrays_of,
    sources_among,
    worker_codes,
    write_arrays,
)
from masquerade.truth.scale.partitions import Partition
from masquerade.truth.scale.report_sources import NamedSources

_NOTHING: Mapping[str, list[str]] = {"source": [], "worker": [], "mechanism": []}


@dataclass(frozen=True, slots=True, eq=False)
class NumberPartition:
    """A partition coded by its own names; arrays are read where they lie on disk."""

    claims: Claims
    of_claim: Codes | None  # place of each report's mechanism, where each has its own
    sources: NamedSources | None  # how many reports went through each mechanism, by its name
    folder: Path

    @classmethod
    def of(cls, partition: Partition, scratch: Path) -> NumberPartition:
        """Return the partition, from `scratch` if it was coded before.

        The cache takes 16 bytes a claim, 20 where each has its mechanism, and the names.
        """
        folder = scratch / partition.key
        if not folder.exists():
            _write(*partition.read(), folder)
        return cls._read(folder)

    @property
    def tasks(self) -> pa.Array:
        """Names of the partition's tasks."""
        return self.claims.tasks

    @property
    def workers(self) -> pa.Array:
        """Names of the partition's workers."""
        return self.claims.workers

    @property
    def options(self) -> pa.Array:
        """The partition's options; none of numbers."""
        options = self.claims.options
        return pa.array([], pa.string()) if options is None else options

    @property
    def n_claims(self) -> int:
        """Number of claims, "no answer" included."""
        return len(self.claims)

    @property
    def nulls(self) -> int:
        """Number of claims that are "no answer"."""
        return int(self.claims.unanswered().sum())

    @property
    def of_worker(self) -> Floats:
        """Number of answers of each of the partition's workers."""
        answered = self.claims.answered()
        return np.bincount(answered.worker, minlength=self.claims.n_workers).astype(np.float64)

    def pairs(self) -> tuple[Codes, Codes]:
        """Return task and worker of each answer."""
        answered = self.claims.answered()
        return answered.task, answered.worker

    def among(self, names: Names, mechanism: Mechanism | None) -> tuple[Claims, Masks]:
        """Return the claims, with the workers and options of all partitions, and their masks."""
        codes = worker_codes(self.folder, self.workers, names)
        claims = self.claims
        if claims.options is not None:
            # "No answer" stays the code after all options.
            place = pc.index_in(claims.options, value_set=names.options).to_numpy()
            place = np.append(place, len(names.options)).astype(np.int32)
            claims = replace(claims, value=place[claims.value], options=names.options)
        claims = replace(claims, worker=codes[claims.worker], workers=names.workers)
        masks: Masks = mechanism
        if self.of_claim is not None:
            assert self.sources is not None
            own = pc.index_in(
                self.sources.masks["mechanism"].combine_chunks(),
                value_set=pa.array([str(one) for one in names.mechanisms]),
            ).to_numpy()
            masks = ReportMechanisms(names.mechanisms, own.astype(np.int32)[self.of_claim])
        return claims, masks

    @classmethod
    def _read(cls, folder: Path) -> NumberPartition:
        arrays = arrays_in(folder)
        sources = sources_among(arrays)
        of_claim = arrays["of_claim"].to_numpy() if "of_claim" in arrays else None
        claims = Claims(
            arrays["task"].to_numpy(),
            arrays["worker"].to_numpy(),
            arrays["value"].to_numpy(),
            arrays["tasks"],
            arrays["workers"],
            arrays.get("options"),
            bool(arrays["null"].to_numpy()[0]),
        )
        return cls(claims, of_claim, sources, folder)


def _write(claims: Claims, masks: ReportMechanisms | None, folder: Path) -> None:
    """Write to a folder of another name first: a folder that is there is whole."""
    draft = folder.with_name(f"{folder.name}-{secrets.token_hex(8)}")
    draft.mkdir(parents=True)
    arrays = {name: getattr(claims, name) for name in ("task", "worker", "value")}
    arrays |= {"null": np.array([int(claims.null)]), "tasks": claims.tasks}
    arrays["workers"] = claims.workers
    if claims.options is not None:
        arrays["options"] = claims.options
    if masks is not None:
        masks = masks.distinct()
        arrays["of_claim"] = masks.of_claim
        size, silent = len(masks.mechanisms), claims.unanswered()
        # Workers are one source whatever masked their numbers.
        none = pa.table(_NOTHING).cast(
            pa.schema(
                {"source": pa.string(), "worker": claims.workers.type, "mechanism": pa.string()}
            )
        )
        reports = pa.table(
            {
                "mechanism": [str(one) for one in masks.mechanisms],
                "reports": np.bincount(masks.of_claim, minlength=size),
                "silent": np.bincount(masks.of_claim, silent, size).astype(np.int64),
            }
        )
        arrays |= arrays_of(none, "sources") | arrays_of(reports, "masks")
    write_arrays(draft, arrays)
    try:
        os.replace(draft, folder)
    except OSError:  # somebody else was faster
        shutil.rmtree(draft, ignore_errors=True)
        if not folder.exists():
            raise


def require_reports(partition: Partition, claims: Claims, masks: Masks) -> None:
    """Raise where claims of a partition are not reports of what masked them."""
    if masks is None:
        return
    try:
        if isinstance(masks, ReportMechanisms):
            for each, rows in masks.rows():
                check_reports(claims.among(rows), each, rows=np.flatnonzero(rows))
        else:
            check_reports(claims, masks)
    except (InputError, ParameterError) as error:
        raise type(error)(f"{partition.path.name}: {error}") from error
