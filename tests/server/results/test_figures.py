"""Places on an axis: in order, within the chart, and with round numbers below."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.server.results.figures import Axis

FINITE = st.floats(-1e6, 1e6)


def place(at: str) -> float:
    """Return a place as a number."""
    assert at.endswith("%")
    return float(at[:-1])


def test_golden_places() -> None:
    """The ends keep a margin, the middle is the middle, values outside stand at the end."""
    axis = Axis(0, 80)
    assert [axis.at(x) for x in (0, 40, 80)] == ["2.50%", "50.00%", "97.50%"]
    assert (axis.at(-1e9), axis.at(1e9)) == (axis.at(0), axis.at(80))
    assert axis.outside(80.001)
    assert not axis.outside(80)
    assert axis.width(0, 40) == "47.50%"
    assert axis.width(40, 0) == "0.00%"


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (Axis(1, 5), ["1", "2", "3", "4", "5"]),
        (Axis(0, 10), ["0", "2", "4", "6", "8", "10"]),
        (Axis(0, 1_000_000), ["0", "200000", "400000", "600000", "800000", "1e+06"]),
        (Axis(-0.7, 0.6), ["−0.5", "0", "0.5"]),
        (Axis(0, 1, percent=True), ["0 %", "25 %", "50 %", "75 %", "100 %"]),
    ],
)
def test_golden_ticks(axis: Axis, texts: list[str]) -> None:
    """Numbers below a chart are those that people would write there."""
    assert [text for _, text in axis.ticks()] == texts


@given(FINITE, st.floats(1e-6, 1e6), FINITE, FINITE)
def test_prop_places_keep_the_order(low: float, span: float, one: float, other: float) -> None:
    """For every axis, places are within it and in the order of their values."""
    axis = Axis(low, low + span)
    places = [place(axis.at(x)) for x in sorted((one, other))]
    assert 0 <= places[0] <= places[1] <= 100


@given(FINITE, st.floats(1e-3, 1e6), st.booleans())
def test_prop_there_are_a_few_ticks(low: float, span: float, percent: bool) -> None:
    """Every axis has one to seven ticks, from left to right."""
    ticks = [place(at) for at, _ in Axis(low, low + span, percent).ticks()]
    assert 1 <= len(ticks) <= 7
    assert ticks == sorted(ticks)


@given(st.lists(st.none() | FINITE))
def test_prop_an_axis_around_values_holds_them(values: list[float | None]) -> None:
    """Each value and 0 are on it."""
    axis = Axis.around(values)
    assert axis.low < axis.high
    assert not any(axis.outside(value) for value in (0.0, *values) if value is not None)
