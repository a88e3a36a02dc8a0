"""Numbers over partitions that cannot be used: errors are those in memory, with the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from tests.truth.test_scale_numbers import (
    LEVELS,
    QUANTISED,
    RATINGS,
    SILENT,
    numbers,
    ratings,
    write,
)

from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    MissingValue,
    MixedTypes,
    ParameterError,
    UnknownLabel,
)
from masquerade.mechanisms import DiscreteLaplace
from masquerade.truth import ChannelEM, MajorityVote, Mean
from masquerade.truth.scale import Partitions, Stream, fit_numbers


def refused(
    folder: Path,
    second: dict[str, Any],
    error: type[Exception],
    message: str,
    method: Any = "mean",
    mechanism: Any = None,
) -> None:
    """A second partition raises the error."""
    first = {"task": [1, 1], "worker": ["x", "y"], "value": [1.0, 2.0]}
    pa_parquet.write_table(pa.table(first), folder / "1.parquet")
    table = {"task": [2, 2], "worker": ["x", "y"], "value": [1.0, 2.0], **second}
    pa_parquet.write_table(pa.table(table), folder / "2.parquet")
    with Stream() as streamed, pytest.raises(error, match=message):
        fit_numbers(Partitions.at(folder), method, engine=streamed, mechanism=mechanism)


@pytest.mark.parametrize(
    ("second", "error", "message", "more"),
    [
        ({"value": [1.0, None]}, MissingValue, r"2\.parquet: .*row 2", {}),
        ({"worker": [1, 2]}, MixedTypes, r"2\.parquet: column 'worker'", {}),
        ({"task": [1, 3]}, DuplicateClaim, r"task 1 has claims in 1\.parquet and", {}),
        ({"value": [1.0, 2.5]}, UnknownLabel, r"2\.parquet: row 2", {"mechanism": QUANTISED}),
        ({}, ParameterError, "is for categories", {"method": "mv"}),
        ({}, ParameterError, "is for categories", {"method": MajorityVote()}),
        ({}, ParameterError, "takes numbers", {"mechanism": RATINGS}),
        ({}, ParameterError, "all tasks at once", {"method": ChannelEM(presence="hidden")}),
        ({}, ParameterError, "has no column 'level'", {"mechanism": LEVELS}),
        (
            {},
            ParameterError,
            "adds noise",
            {"method": "moments", "mechanism": DiscreteLaplace(0, 100, step=1, epsilon=1)},
        ),
    ],
)
def test_what_cannot_be_used_is_refused(
    second: dict[str, Any],
    error: type[Exception],
    message: str,
    more: dict[str, Any],
    tmp_path: Path,
) -> None:
    """Errors are those in memory, with the file's name."""
    refused(tmp_path, second, error, message, **more)


def test_too_many_values_and_no_answers_are_refused(tmp_path: Path) -> None:
    """Levels are counted over all partitions, and so is whether anything was answered."""
    table = numbers(8, tasks=20)
    write(table, tmp_path / "many", 4)
    silent = ratings(SILENT, tasks=6)
    silent = silent.set_column(2, "value", pa.nulls(len(silent), pa.float64()))
    write(silent, tmp_path / "silent", 2)
    with Stream() as streamed:
        with pytest.raises(ParameterError, match="more than 41 different values"):
            fit_numbers(Partitions.at(tmp_path / "many"), "channel-em", engine=streamed)
        found = fit_numbers(
            Partitions.at(tmp_path / "silent"), Mean(), engine=streamed, mechanism=SILENT
        )
        assert len(found.unanswered_) == 6
        plain = Partitions.at(tmp_path / "silent", null=True)
        with pytest.raises(EmptyTable, match="no answer"):
            fit_numbers(plain, "channel-em", engine=streamed)
