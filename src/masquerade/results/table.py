"""The numbers of a result as one tidy table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

COLUMNS = (
    "survey", "question", "option", "estimator", "level", "value", "se", "ci_lo", "ci_hi", "n",
    "sampling_error", "mechanism_error", "level_error", "shown",
)  # fmt: skip
MEAN = "(mean)"
EVERYBODY = "all"

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def result_table(result: Mapping[str, Any]) -> str:
    """Return the numbers of a result as CSV (RFC 4180), one a row, safe to open in a spreadsheet.

    ``estimator`` is ``respondent``, ``ivw``, ``eb``, ``likeliest``, ``reported`` (masks and all),
    ``level`` (people at one level), ``label`` (an inferred label with its probability) or
    ``strength`` (of an item of pairwise questions). A row of option ``(mean)`` holds a mean.
    ``value`` is the unbiased estimate, to compute with; ``shown`` is the one that people read, and
    is empty where there is no other.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in _rows(result):
        writer.writerow([result["survey"], *row])
    return out.getvalue()


def safe(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula: put an apostrophe before it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _rows(result: Mapping[str, Any]) -> Iterator[list[Any]]:
    for question in result["questions"]:
        name, n = safe(question["id"]), question["n"]
        for option in question["options"]:
            label = safe(option["label"])
            for estimator, found in option["estimators"].items():
                yield [name, label, estimator, EVERYBODY, *_numbers(found, "value", n)]
            for estimator, key in (
                ("likeliest", "likeliest_share"),
                ("reported", "reported_share"),
            ):
                yield [name, label, estimator, EVERYBODY, *_alone(option[key], n)]
        if question["mean"] is not None:
            for estimator, found in question["mean"]["estimators"].items():
                yield [name, MEAN, estimator, EVERYBODY, *_numbers(found, "value", n)]
        for part in question["by_level"]:
            for option in part["options"]:
                numbers = _numbers(option, "value", part["n"])
                yield [name, safe(option["label"]), "level", part["level"], *numbers]
            if part["mean"] is not None:
                numbers = _numbers(part["mean"], "value", part["n"])
                yield [name, MEAN, "level", part["level"], *numbers]
    for row in result["labels"]:
        numbers = _alone(row["probability"], result["responses"])
        yield [safe(row["id"]), safe(row["label"] or ""), "label", EVERYBODY, *numbers]
    for row in result["ranking"]:
        numbers = _numbers(row, "strength", result["responses"])
        yield ["", safe(row["item"]), "strength", EVERYBODY, *numbers]


def _numbers(found: Mapping[str, Any], value: str, n: int) -> list[Any]:
    parts = ("sampling_error", "mechanism_error", "level_error")
    ends = (found["standard_error"], found["low"], found["high"])
    return [found[value], *ends, n, *(found.get(part) for part in parts), found.get("shown")]


def _alone(value: Any, n: int) -> list[Any]:
    return [value, None, None, None, n, None, None, None, None]
