"""Where an error comes from, and what more people would do about it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.results import outlook

ERRORS = st.floats(0, 1e3, allow_subnormal=False)


def numbers(people: float, masks: float, levels: float) -> dict[str, float]:
    """Return an estimate with these errors."""
    return {"sampling_error": people, "mechanism_error": masks, "level_error": levels}


def test_golden_values() -> None:
    """Errors of 3 and 4 make an interval of 1.96 times 5; four times the people halve it."""
    found = outlook(numbers(3, 4, 0), 1000)
    assert found is not None
    assert found["margin"] == pytest.approx(1.959964 * 5)
    assert found["parts"] == {"sampling": 0.36, "mechanism": 0.64, "level": 0.0}
    assert [people for people, _ in found["more"]] == [2000, 4000, 10_000]
    assert found["more"][1][1] == pytest.approx(1.959964 * 2.5)
    assert found["unmasked"] == 360


def test_levels_do_not_shrink() -> None:
    """What is not known of levels stays, however many people there are."""
    found = outlook(numbers(3, 4, 12), 10, factors=(10**9,))
    assert found is not None
    assert found["more"][0][1] == pytest.approx(1.959964 * 12, rel=1e-6)


@pytest.mark.parametrize("missing", ["sampling_error", "mechanism_error", "level_error"])
def test_what_is_not_known_is_not_told(missing: str) -> None:
    """Without one of the parts, or without any error, there is nothing to say."""
    assert outlook({**numbers(1, 1, 1), missing: None}, 10) is None
    assert outlook(numbers(0, 0, 0), 10) is None


@given(ERRORS, ERRORS, ERRORS, st.integers(1, 10**6))
def test_prop_parts_sum_to_one_and_margins_fall(
    people: float, masks: float, levels: float, n: int
) -> None:
    """Parts are the whole, and more people never widen an interval."""
    found = outlook(numbers(people, masks, levels), n)
    if found is None:
        return
    assert math.isclose(sum(found["parts"].values()), 1)
    margins = [found["margin"], *(margin for _, margin in found["more"])]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(margins))
    assert found["unmasked"] is None or 0 <= found["unmasked"] <= n
