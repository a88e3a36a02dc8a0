"""Both halves of the preference mechanisms, Python's and the device's, report the same.

The cases are in ``tests/vectors/preference.json``; ``tests/web/preference.test.mjs`` runs them too.
``python tests/preference/test_vectors.py`` writes them anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from masquerade.answers import Comparisons, Feature
from masquerade.exact.coins import Words
from masquerade.preference.directions import whole_directions_of_integers
from masquerade.preference.mechanisms.choice_response import (
    ChoiceNoise,
    ChoiceResponse,
    orientation,
)
from masquerade.preference.mechanisms.direction_selection import (
    SelectionNoise,
    best_selection,
    select,
)

FILE = Path(__file__).parents[1] / "vectors" / "preference.json"
WORDS = 1 << 64


class Recorded:
    """Words from a seed or a list, remembered."""

    def __init__(self, rng: random.Random, chosen: list[int] | None = None) -> None:
        self.rng, self.left, self.taken = rng, list(chosen or []), list[int]()

    def words(self, size: int) -> Words:
        """Return the next words."""
        some = [self.left.pop(0) if self.left else self.rng.getrandbits(64) for _ in range(size)]
        self.taken += some
        return np.array(some, dtype=np.uint64)


class Given:
    """The words of a case; running out is an error."""

    def __init__(self, words: list[int]) -> None:
        self.left = words

    def words(self, size: int) -> Words:
        """Return the next words."""
        assert size <= len(self.left)
        some, self.left = self.left[:size], self.left[size:]
        return np.array(some, dtype=np.uint64)


def table(records: list[list[int]], features: int) -> Comparisons:
    """Return one voter's records."""
    difference = np.array(records, dtype=np.float64).reshape(len(records), features)
    names = tuple(Feature(f"f{k}") for k in range(features))
    return Comparisons(difference, np.array([0, len(records)]), pa.array([0]), names)


def report(case: dict[str, Any], source: Recorded | Given) -> list[int]:
    """Return the reports of Python in a case."""
    epsilon, features = Fraction(case["epsilon"]), case["features"]
    records = np.array(case["records"], dtype=np.int64).reshape(-1, features)
    if case["mechanism"] == "choice-response":
        given = table(case["records"], features)
        rows = ChoiceResponse(epsilon=epsilon)._report_rows(given, epsilon, source)
        return [int(value) for value in rows[:, 0]]
    own = whole_directions_of_integers(records).sum(axis=0)
    found = select(own, best_selection(epsilon, features, case["candidates"]), source)
    return [int(value) for value in found]


def device(case: dict[str, Any]) -> dict[str, Any]:
    """Return the device form of a case's mechanism."""
    epsilon = Fraction(case["epsilon"])
    if case["mechanism"] == "choice-response":
        return ChoiceNoise().device_form(epsilon)
    return SelectionNoise(case["candidates"]).device_form(epsilon, case["features"])


def make_cases() -> Iterator[dict[str, Any]]:
    """Yield cases: many voters, no records, zero differences, ties, rejected and boundary words."""
    rng = random.Random(20190726)

    def case(
        name: str, given: dict[str, Any], chosen: list[int] | None = None, **more: Any
    ) -> dict[str, Any]:
        made = {"name": f"{given['mechanism']} {given['epsilon']} {name}", **given, **more}
        source = Recorded(rng, chosen)
        made["device"] = device(made)
        made["report"] = report(made, source)
        made["words"] = [str(word) for word in source.taken]
        return made

    def records(count: int, features: int, size: int) -> list[list[int]]:
        return [[rng.randint(-size, size) for _ in range(features)] for _ in range(count)]

    for epsilon in ("0.01", "0.1", "1", "3", "10"):
        for features in (1, 3):
            shared: dict[str, Any] = {
                "mechanism": "choice-response",
                "epsilon": epsilon,
                "features": features,
            }
            yield case(f"{features} features", shared, records=records(12, features, 2))
    shared = {"mechanism": "choice-response", "epsilon": "1", "features": 2}
    grid = device({**shared})
    first, total = int(grid["first"]), int(grid["total"])
    yield case("no records", shared, records=[])
    yield case("zero", shared, records=[[0, 0], [0, -1], [0, 1], [-2, 5]])
    boundary = [first - 1, first, WORDS // total * total - 1, 0]
    yield case("boundary words", shared, boundary, records=[[1, 0]] * 4)
    rejected = [WORDS - 1] if WORDS % total else []
    yield case("rejected words", shared, [*rejected, first - 1], records=[[-1, 0]])
    for epsilon in ("0.1", "1", "4", "10"):
        for features, candidates in ((1, 2), (2, 5), (3, 16), (10, 8)):
            shared = {
                "mechanism": "direction-selection",
                "epsilon": epsilon,
                "features": features,
                "candidates": candidates,
            }
            yield case(
                f"{features} features, {candidates} candidates",
                shared,
                records=records(7, features, 1000),
            )
    shared = {
        "mechanism": "direction-selection",
        "epsilon": "1",
        "features": 2,
        "candidates": 6,
    }
    yield case("no records", shared, records=[])
    yield case("records that cancel", shared, records=[[3, 4], [-3, -4], [0, 0]])
    yield case("equal candidates", shared, [5] * 12, records=[[1, 1]])
    yield case("all ones, no ones", shared, [WORDS - 1, 0] * 6, records=[[1, 2], [5, -1]])
    yield case("large numbers", shared, records=[[1 << 20, -(1 << 20)], [1, 1 << 20]])


def read_cases() -> list[dict[str, Any]]:
    """Return the cases of the file."""
    cases: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return cases


@pytest.mark.parametrize("case", read_cases() if FILE.exists() else [], ids=lambda c: c["name"])
def test_the_shared_vectors_hold_in_python(case: dict[str, Any]) -> None:
    """The device form, the report and the number of words taken are those of the file."""
    assert device(case) == case["device"]
    source = Given([int(word) for word in case["words"]])
    assert report(case, source) == case["report"]
    assert not source.left


def test_the_shared_vectors_are_the_ones_made_here() -> None:
    """No case was lost or edited by hand, and there are at least thirty."""
    cases = read_cases()
    assert cases == list(make_cases())
    assert len(cases) >= 30


def test_the_cases_hold_both_signs() -> None:
    """Orientations of both signs are among the cases."""
    signs = {
        int(sign)
        for case in read_cases()
        for sign in orientation(
            np.array(case["records"], dtype=float).reshape(-1, case["features"])
        )
    }
    assert signs == {-1, 1}


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case) for case in make_cases())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
