"""No count of one to four people follows from the shown cells of any table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from masquerade.surveys.offered_levels import FEWEST_AT_LEVEL, shown_counts


def tables(people: int, levels: int) -> Iterator[tuple[int, ...]]:
    """Yield every division of people over levels."""
    if levels == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in tables(people - first, levels - 1):
            yield (first, *rest)


@pytest.mark.parametrize(("levels", "most"), [(2, 60), (3, 60), (4, 24)])
def test_exact_no_table_tells_a_small_count(levels: int, most: int) -> None:
    """Of all tables that look alike, no level has one small count in all of them."""
    names = [str(level) for level in range(levels)]
    for people in range(1, most + 1):
        seen: dict[tuple[int | None, ...], list[set[int]]] = defaultdict(
            lambda: [set() for _ in names]
        )
        for table in tables(people, levels):
            shown = tuple(shown_counts(dict(zip(names, table, strict=True))).values())
            for place, count in enumerate(table):
                seen[shown][place].add(count)
        for possible in seen.values():
            for counts in possible:
                assert len(counts) > 1 or not 0 < min(counts) < FEWEST_AT_LEVEL


@pytest.mark.exhaustive
def test_exact_no_table_of_four_levels_tells_a_small_count() -> None:
    """The same of up to 60 people at four levels."""
    test_exact_no_table_tells_a_small_count(4, 60)


def test_the_tables_that_told_once_tell_no_more() -> None:
    """Tables of which hiding the small ones and another left one possibility."""
    for table in ((6, 6, 6, 4), (5, 4, 4), (1, 1), (1, 0, 0)):
        shown = shown_counts(dict(zip("abcd", table, strict=False)))
        assert set(shown.values()) == {None}


def test_five_people_are_enough_to_be_counted_apart() -> None:
    """A level with five people is shown, one with four hides all, one with nobody hides none."""
    assert FEWEST_AT_LEVEL == 5
    assert shown_counts({"high": 5, "low": 40}) == {"high": 5, "low": 40}
    assert shown_counts({"high": 4, "low": 40}) == {"high": None, "low": None}
    assert shown_counts({"high": 0, "low": 5}) == {"high": 0, "low": 5}
