"""Truths of a table or of a folder of partitions, by `InferenceOptions`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masquerade.answers import Claims, Frame, Progress, Truths
from masquerade.answers.frames import column_names
from masquerade.errors import ParameterError
from masquerade.mechanisms.registry import mechanism_of
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import Estimator
from masquerade.truth.inference_options import InferenceOptions
from masquerade.truth.methods import method_named
from masquerade.truth.report_mechanisms import Masks, ReportMechanisms

if TYPE_CHECKING:
    from masquerade.truth.scale import Engine, PartitionFit, Partitions


@dataclass(frozen=True, slots=True, eq=False)
class CheckedTable:
    """The checked claims of a table with their mechanisms, and the unfitted method."""

    claims: Claims
    masks: Masks
    method: Estimator
    gold: Any

    @classmethod
    def read(cls, data: Path | Frame, options: InferenceOptions) -> CheckedTable:
        """Return the claims of a file or table.

        The mechanism is one for all claims; else, of each claim, that of its level in the table of
        levels, or that in its column ``mechanism``, where there is one. Claims without a mask are
        of the kind of the options, else of the method's, else as their column and values say.

        Raises
        ------
        InputError, ParameterError
            A row cannot be used, or the options do not fit the claims.
        """
        columns = options.columns
        frame: Any = columns.read(data) if isinstance(data, Path) else columns.table(data)
        mechanism = None if options.mechanism is None else mechanism_of(options.mechanism)
        likely = None if options.method in (None, "auto") else method_named(options.method).kind
        masks: Masks = None if mechanism is None else ReportMechanisms((mechanism,))
        if mechanism is None and (options.levels is not None or "mechanism" in column_names(frame)):
            claims, masks = ReportMechanisms.with_claims(
                frame, options.levels, options=options.options, duplicates=options.duplicates
            )
            if options.kind not in (None, claims.kind):
                raise ParameterError(
                    f"{masks.mechanisms[0]} masks {claims.kind} claims, but {options.kind} ones "
                    f"are asked for. Choose a method for {claims.kind} claims, or leave out --kind."
                )
        else:
            claims = Claims.from_frame(
                frame,
                kind=options.kind or (likely if mechanism is None else mechanism.kind),
                options=options.options,
                null=mechanism is not None and mechanism.null,
                duplicates=options.duplicates,
            )
        return cls(claims, masks, options.estimator(claims.kind), options.gold)

    def fit(self, progress: Progress | None = None) -> Estimator:
        """Return the method fitted.

        Raises
        ------
        ParameterError
            The method does not fit the claims, or takes no known truths.
        """
        if isinstance(self.method, CategoricalEstimator):
            return self.method.fit(
                self.claims, mechanism=self.masks, gold=self.gold, progress=progress
            )
        if self.gold is not None:
            raise ParameterError(
                f"--gold is for categories; {self.method.name} is for numbers. Leave out --gold."
            )
        return self.method.fit(self.claims, mechanism=self.masks, progress=progress)


@dataclass(frozen=True, slots=True, eq=False)
class PartitionInference:
    """A fit over partitions while its engine is open."""

    partitions: Partitions
    engine: Engine
    options: InferenceOptions
    method: str
    progress: Progress | None = None

    @classmethod
    @contextmanager
    def opened(
        cls, folder: Path, options: InferenceOptions, progress: Progress | None = None
    ) -> Iterator[PartitionInference]:
        """Open the partitions of a folder, and the engine of the options.

        Raises
        ------
        InputError, ParameterError
            The folder holds no labels, or the method is for numbers.
        """
        # Not loaded for claims in memory.
        from masquerade.truth.scale import DaskCluster, Partitions, Stream, partition_by_task

        if options.repartition is not None:
            partition_by_task(folder, options.repartition)
            folder = options.repartition
        mechanism = None if options.mechanism is None else mechanism_of(options.mechanism)
        levels = () if options.levels is None else options.levels.values()
        masks = [one for one in (mechanism, *levels) if one is not None]
        partitions = Partitions.at(
            folder,
            options=options.options,
            null=any(one.null for one in masks),
            duplicates=options.duplicates,
        )
        method = options.method
        if method is None:
            masked = bool(masks) or partitions.masked() is not partitions
            method = "one-coin" if masked else "truth-discovery"
        kinds = {options.kind or "categorical", method_named(method).kind}
        if kinds != {"categorical"}:
            raise ParameterError(
                f"partitions hold labels, and numbers were asked for ({method}); fit numbers in "
                "memory (--engine memory)."
            )
        if not masks:
            partitions.require_labels()
        is_dask = options.engine_for(folder) == "dask"
        with DaskCluster(options.scheduler) if is_dask else Stream() as engine:
            yield cls(partitions, engine, options, method, progress)

    def fit(self, method: str | None = None) -> PartitionFit:
        """Return the fit of the options' method, or of another one."""
        from masquerade.truth.scale import fit_partitions

        return fit_partitions(
            self.partitions,
            method or self.method,
            engine=self.engine,
            mechanism=self.options.mechanism
            if self.options.levels is None
            else self.options.levels,
            gold=None if method or self.options.gold is None else Truths.of(self.options.gold),
            progress=self.progress,
        )
