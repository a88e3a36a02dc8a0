"""Codes of names: the same as Arrow's dictionary, for every type and order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masquerade.answers.codes import encode

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def same(names: pa.Array) -> None:
    """Assert that the codes and names are those of Arrow's dictionary."""
    codes, once = encode(names)
    wanted = names.dictionary_encode()
    assert codes.dtype == np.int32
    assert codes.tolist() == wanted.indices.to_pylist()
    assert once.equals(wanted.dictionary)


@given(st.data())
@settings(max_examples=150)
def test_codes_are_those_of_the_dictionary(data: st.DataObject) -> None:
    """Whole numbers of every type, near each other or at the ends of the type, and texts."""
    kind = data.draw(st.sampled_from((*WHOLE, "string", "large_string")))
    values: list[Any]
    if kind in WHOLE:
        limits = np.iinfo(kind)
        low, high = int(limits.min), int(limits.max)
        near = data.draw(st.sampled_from((low, max(low, 0), high - 20)))
        values = data.draw(
            st.lists(st.one_of(st.integers(near, near + 20), st.integers(low, high)), max_size=60)
            if data.draw(st.booleans())
            else st.lists(st.integers(near, near + 20), max_size=60)
        )
    else:
        values = data.draw(st.lists(st.text(max_size=3), max_size=60))
    names = pa.array(values, type=kind)
    same(names)
    same(names[len(names) // 3 :])


@pytest.mark.parametrize("kind", ["int16", "int32", "uint64", "string", "large_string"])
@pytest.mark.parametrize("order", ["together", "mixed", "late"])
def test_codes_of_long_columns(kind: str, order: str) -> None:
    """Runs of equal names, names in any order, and a name that comes first in the last row."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 900, 20_000)
    if order == "together":
        rows = np.repeat(rng.permutation(4000)[:2000], 10)
    elif order == "late":
        rows = np.append(np.arange(20_000) % 7, 9)
    values = rows.tolist() if kind not in ("string", "large_string") else [f"n{r}" for r in rows]
    names = pa.array(values, type=kind)
    same(names)
    same(names[13:-5])


def test_codes_of_other_types() -> None:
    """Numbers with large gaps, truth values and dates take Arrow's own way."""
    same(pa.array([2**62, -5, 2**62, 0]))
    same(pa.array([True, False, True]))
    same(pa.array([1, 2, 1], type=pa.date32()))
    same(pa.array([], type=pa.int64()))
