"""Options of an inference of truths, which the library and the command line share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from masquerade.errors import ParameterError

if TYPE_CHECKING:
    from masquerade.answers.claim_labels import Kind
    from masquerade.answers.claim_layouts import ClaimColumns
    from masquerade.answers.claims import Duplicates
    from masquerade.mechanisms import Mechanism
    from masquerade.truth.estimator import Estimator

ENGINES = ("memory", "stream", "dask")
#: As `masquerade.answers.claim_layouts` has them, without loading Arrow.
LAYOUTS = (
    *("auto", "mturk", "toloka", "appen", "label-studio", "label-studio-min", "prodigy"),
    *("argilla", "doccano", "wide", "long"),
)


#: Texts of the options, for the command line.
HELP = {
    "method": (
        "Inference method. Default: auto for labels and numeric-auto for numbers. With "
        "--engine stream or dask, the default is truth-discovery, or one-coin if the claims "
        "are masked."
    ),
    "mechanism": (
        "Mechanism that masked the claims, for example randomized-"
        "response:options=2,epsilon=1. Inference then takes its noise into account. Default: "
        "if CLAIMS has a column mechanism, each claim's own mechanism from there; else the "
        "claims are taken as not masked."
    ),
    "levels": (
        "Table with the columns level and mechanism: what masked the claims of each level. "
        "CLAIMS must then have a column level. Not together with --mechanism."
    ),
    "gold": (
        "Table of known truths of some tasks, with the columns task and truth (or label). "
        "Inference takes them as given. For labels only."
    ),
    "options": (
        "All labels that workers can give, separated by commas, such as yes,no. Default: the "
        "labels that occur in CLAIMS."
    ),
    "kind": (
        "Whether the claims are labels (categorical) or numbers (numeric). Default: decided "
        "by the name of the column and its values."
    ),
    "duplicates": (
        "What to do if a worker answered a task more than once: error stops the command, "
        "first or last keeps that one claim, all keeps every claim."
    ),
    "layout": (
        "Whose tool wrote CLAIMS, or how the table is laid out. Default: auto, which knows it by "
        "the columns and says what it took."
    ),
    "task_column": "The column of tasks, where it has another name.",
    "worker_column": "The column of workers, where it has another name.",
    "label_column": (
        "The column of labels or numbers, or the question of which the answers are read, where "
        "there are several."
    ),
    "wide": "CLAIMS has a row for each task, and a column for each worker. As --layout wide.",
    "engine": (
        "Where the claims are while the method runs. memory: all in memory. stream: in a "
        "folder of Parquet files, read one after the other. dask: the same folder, read by a "
        "Dask cluster. Numbers are fitted in memory. Default: memory for a file, stream for a"
        " folder, dask with --scheduler."
    ),
    "scheduler": (
        "Address of a Dask scheduler, such as tcp://10.0.0.5:8786, for --engine dask. "
        "Default: processes on this machine."
    ),
    "repartition": (
        "With --engine stream or dask: first write the claims to this new folder, as Parquet "
        "files in which all claims about a task are in one file."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceOptions:
    """Options of an inference of truths; the command ``masquerade truth`` has the same.

    Examples
    --------
    >>> from pathlib import Path
    >>> InferenceOptions(method="one-coin").engine_for(Path("claims.csv"))
    'memory'
    """

    method: str | None = None
    mechanism: Mechanism | str | None = None
    levels: Mapping[str, Mechanism] | None = None
    gold: Any = None
    options: tuple[Any, ...] | None = None
    kind: Kind | None = None
    duplicates: Duplicates = "error"
    layout: str = "auto"
    task_column: str | None = None
    worker_column: str | None = None
    label_column: str | None = None
    wide: bool = False
    engine: str | None = None
    scheduler: str | None = None
    repartition: Path | None = None

    def __post_init__(self) -> None:
        if self.mechanism is not None and self.levels is not None:
            raise ParameterError(
                "--mechanism and --levels were both given. Give --mechanism if one mechanism "
                "masked all claims, or --levels if the claims have different levels."
            )
        if self.engine not in (None, *ENGINES):
            raise ParameterError(
                f"--engine is {self.engine!r}, expected one of {', '.join(ENGINES)}."
            )

    def engine_for(self, claims: object) -> str:
        """Return the engine: memory for tables and files, stream for folders, by default.

        Raises
        ------
        ParameterError
            A scheduler or a folder of new partitions is named for an engine without.
        """
        engine = self.engine
        if engine is None:
            folder = isinstance(claims, Path) and claims.is_dir()
            engine = "dask" if self.scheduler is not None else "stream" if folder else "memory"
        if self.scheduler is not None and engine != "dask":
            raise ParameterError(
                f"--scheduler was given with --engine {engine}; use --engine dask, or leave it out."
            )
        if self.repartition is not None and engine == "memory":
            raise ParameterError(
                "--repartition works only with --engine stream or dask. Add one of them, or leave "
                "it out."
            )
        named = (self.task_column, self.worker_column, self.label_column)
        if engine != "memory" and (self.wide or self.layout != "auto" or any(named)):
            raise ParameterError(
                f"layouts and names of columns were given with --engine {engine}, which reads the "
                "columns task, worker and label. Use --engine memory, or leave them out."
            )
        return engine

    @property
    def columns(self) -> ClaimColumns:
        """Where the claims of the table are.

        Raises
        ------
        ParameterError
            The layout is not known, or two are asked for.
        """
        from masquerade.answers.claim_layouts import ClaimColumns

        if self.wide and self.layout not in ("auto", "wide"):
            raise ParameterError(
                f"--wide was given with --layout {self.layout}; leave one of them out."
            )
        return ClaimColumns(
            "wide" if self.wide else self.layout,
            self.task_column,
            self.worker_column,
            self.label_column,
        )

    def estimator(self, kind: Kind) -> Estimator:
        """Return the unfitted method for claims of this kind."""
        from masquerade.truth.methods import method_named

        return method_named(self.method or "auto", kind=kind)()
