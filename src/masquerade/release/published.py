"""A release: summaries of objects, shares and synthetic claims, from one measurement."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.frames import write_table
from masquerade.answers.result import UNPUBLISHED, Result
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Floats
from masquerade.release.guarantee import guarantee_json
from masquerade.release.intervals import QUANTILES
from masquerade.release.knots import Domain
from masquerade.release.measurement import Measured
from masquerade.release.parameters import LEVEL, ReleaseParameters
from masquerade.release.summary import Summary, summaries_of

#: Said where rows are: their noise is not in a standard error that is computed from them.
NO_SAMPLE = (
    "The rows are no sample: a standard error that is computed from them leaves out the noise. "
    "Intervals are in the summary."
)


@dataclass(frozen=True, slots=True, eq=False)
class Release(Result):
    """A release: the published rows, summary and shares of claims.

    Attributes
    ----------
    rows : pyarrow.Table
        Synthetic claims: ``task``, attributes, ``worker``, ``value``. As many rows of an object as
        it has claims; the workers are made up.
    summary : pyarrow.Table
        A row an object (and combination of categories): number of claims, mean and quantiles, each
        with the ends of its interval.
    shares : pyarrow.Table
        The whole histogram over the answers, or over even cells: ``task``, ``value``, ``share`` and
        where there is a knot at every answer ``low`` and ``high``.
    guarantee : Guarantee
    parameters : mapping
        Public settings, as they go into the codebook.
    collector : mapping
        Counts for whoever holds the claims, in none of the files.

    Examples
    --------
    >>> from masquerade.release import simulate_release
    >>> claims = {"task": ["a"] * 30, "worker": [f"u{n}" for n in range(30)], "value": [5.0] * 30}
    >>> made = simulate_release(claims, np.random.default_rng(1), epsilon=1, domain=(0, 10), step=1)
    >>> made.rows.num_rows, made.guarantee.status
    (30, 'none')
    """

    rows: pa.Table
    summary: pa.Table
    shares: pa.Table
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    collector: Mapping[str, int] = field(default_factory=dict, metadata=UNPUBLISHED)

    def to_arrow(self) -> pa.Table:
        """Return the summary of each object."""
        return self.summary

    def half_width(self, figure: str) -> float:
        """Return half the width of the typical 95 % interval of a column, such as ``mean``.

        NaN where the release is about no object.
        """
        if not self.summary.num_rows:
            return float("nan")
        low, high = (self.summary[f"{figure}_{end}"].to_numpy() for end in ("low", "high"))
        return float(np.median(high - low)) / 2

    def silent_rows(self, domain: Domain) -> int:
        """Return the number of rows of the summary in which every interval is the whole range."""
        if not self.summary.num_rows:
            return 0
        low, high = domain.ends(self.summary["task"].combine_chunks())
        silent = np.ones(self.summary.num_rows, dtype=bool)
        for name in ("mean", *(f"q{round(100 * one)}" for one in QUANTILES)):
            least, most = (self.summary[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
            silent &= (least <= low) & (most >= high)
        return int(silent.sum())

    def codebook(self) -> dict[str, object]:
        """Return the settings, the guarantee and the meaning of the files, as a JSON object."""
        return {
            "guarantee": guarantee_json(self.guarantee),
            "parameters": dict(self.parameters),
            "level_of_intervals": LEVEL,
            "quantised": True,
            "rows": self.rows.num_rows,
            "note": NO_SAMPLE,
        }

    def write(self, path: str | Path) -> list[Path]:
        """Write rows, summary, shares and codebook, and return their paths.

        `path`: of the rows; the others stand beside it, with endings of their own.
        """
        rows, summary, shares, codebook = files = files_of_release(path)
        write_table(self.rows, rows)
        write_table(self.summary, summary)
        write_table(self.shares, shares)
        text = json.dumps(self.codebook(), ensure_ascii=False, indent=2)
        codebook.write_text(text + "\n", encoding="utf-8")
        return files


def files_of_release(path: str | Path) -> list[Path]:
    """Return the paths of a release's rows, summary, shares and codebook, by that of its rows."""
    path = Path(path)
    name = path.name.split(".")[0]
    endings = ("summary.csv", "shares.csv", "codebook.json")
    return [path, *(path.with_name(f"{name}.{ending}") for ending in endings)]


@dataclass(frozen=True, slots=True, eq=False)
class ObjectSummary:
    """A summary with the object, the categories and the range that it is about."""

    name: Any
    categories: tuple[Any, ...]
    low: float
    high: float
    step: float | None
    summary: Summary

    def value(self, place: float | Floats) -> Any:
        """Return a value of a place from 0 to 1; one that can be answered where there is a step."""
        found = self.low + np.asarray(place) * (self.high - self.low)
        if self.step is not None:
            # a sum of float steps can end beside the decimal that was meant
            found = self.low + np.rint((found - self.low) / self.step) * self.step
            found = np.round(found, 12)
        return float(found) if np.ndim(place) == 0 else found

    def mean(self, place: float) -> float:
        """Return a mean of a place from 0 to 1; between two answers where it lies there."""
        return self.low + place * (self.high - self.low)


def released(
    objects: pa.Array,
    measured: list[Measured],
    parameters: ReleaseParameters,
    guarantee: Guarantee,
    collector: Mapping[str, int],
) -> Release:
    """Return the release of measurements; it reads no claim."""
    domain = parameters.public_domain
    low, high = domain.ends(objects)
    names = objects.to_pylist()
    cells = list(itertools.product(*parameters.attributes.values()))
    found: dict[int, list[ObjectSummary]] = {}
    for part in measured:
        step = float(domain.step) if part.answers and domain.step is not None else None
        for place, summaries in zip(part.objects.tolist(), summaries_of(part), strict=True):
            found[place] = [
                ObjectSummary(names[place], cell, float(low[place]), float(high[place]), step, one)
                for cell, one in zip(cells, summaries, strict=True)
            ]
    told = [one for place in range(len(names)) for one in found[place]]
    kind = objects.type
    attributes = list(parameters.attributes)
    return Release(
        _rows(told, kind, attributes),
        _summary_table(told, kind, attributes, hidden=parameters.hidden),
        _shares_table(told, kind, attributes),
        guarantee,
        _public(parameters, measured),
        collector,
    )


def _public(parameters: ReleaseParameters, measured: list[Measured]) -> dict[str, object]:
    settings: dict[str, object] = {
        "epsilon_of_object": float(parameters.epsilon_of_object),
        "domain": str(parameters.public_domain),
        "for": parameters.aim,
        "pool": float(parameters.pool),
        "knots": [part.knots.count for part in measured],
    }
    if parameters.expected is not None:
        settings["expected"] = parameters.expected
    if parameters.per_user is not None:
        settings["per_user"] = parameters.per_user
    return settings


def _named(
    told: list[ObjectSummary], kind: pa.DataType, attributes: list[str], repeats: list[int]
) -> dict[str, pa.Array]:
    """Return the columns of names and categories of each row."""
    index = pa.array(np.repeat(np.arange(len(told)), repeats))
    columns = {"task": pa.array([one.name for one in told], kind).take(index)}
    for place, name in enumerate(attributes):
        columns[name] = pa.array([one.categories[place] for one in told]).take(index)
    return columns


def _rows(told: list[ObjectSummary], kind: pa.DataType, attributes: list[str]) -> pa.Table:
    repeats = [len(one.summary.rows) for one in told]
    values = [
        one.value(one.summary.rows / (len(one.summary.shares) - 1)) for one in told if repeats
    ]
    workers = [f"s{number + 1}" for count in repeats for number in range(count)]
    columns = _named(told, kind, attributes, repeats)
    columns["worker"] = pa.array(workers, pa.string())
    columns["value"] = pa.array(np.concatenate(values) if values else [], pa.float64())
    return pa.table(columns)


def _summary_table(
    told: list[ObjectSummary], kind: pa.DataType, attributes: list[str], *, hidden: bool
) -> pa.Table:
    columns: dict[str, object] = _named(told, kind, attributes, [1] * len(told))
    columns["claims"] = [one.summary.claims for one in told]
    if hidden or attributes:
        columns["claims_low"] = [one.summary.claims_low for one in told]
        columns["claims_high"] = [one.summary.claims_high for one in told]
    columns["mean"] = [one.mean(one.summary.mean.number) for one in told]
    columns["mean_low"] = [one.mean(one.summary.mean.low) for one in told]
    columns["mean_high"] = [one.mean(one.summary.mean.high) for one in told]
    columns["mean_source_low"] = [one.mean(one.summary.source_low) for one in told]
    columns["mean_source_high"] = [one.mean(one.summary.source_high) for one in told]
    for place, level in enumerate(QUANTILES):
        name = f"q{round(100 * level)}"
        bounded = [(one, one.summary.quantiles[place]) for one in told]
        columns[name] = [one.value(each.number) for one, each in bounded]
        columns[f"{name}_low"] = [one.value(each.low) for one, each in bounded]
        columns[f"{name}_high"] = [one.value(each.high) for one, each in bounded]
    return pa.table(columns)


def _shares_table(told: list[ObjectSummary], kind: pa.DataType, attributes: list[str]) -> pa.Table:
    repeats = [len(one.summary.shares) for one in told]
    columns: dict[str, object] = _named(told, kind, attributes, repeats)
    values = [one.value(np.linspace(0, 1, len(one.summary.shares))) for one in told]
    columns["value"] = np.concatenate(values) if values else np.empty(0)
    columns["share"] = _together([one.summary.shares for one in told])
    ends = [one.summary.share_ends for one in told]
    if not np.isnan(_together([low for low, _ in ends])).all():
        columns["low"] = _together([low for low, _ in ends])
        columns["high"] = _together([high for _, high in ends])
    return pa.table(columns)


def _together(parts: list[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.empty(0)
