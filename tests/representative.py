"""Long lists of like cases, of which `make test` runs some and `make test-all` every one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def one_in(
    every: int, cases: Sequence[Any], *, name: Callable[[Any], str] | None = None
) -> list[Any]:
    """Return parameters of a test: the first of each `every` cases for every run.

    Neighbours in such a list are alike: the same field with another wrong value, the same mechanism
    with another amount. So each kind stays in every run.

    Parameters
    ----------
    every : int
        How many cases there are for one that every run has.
    cases : sequence
        What the test takes; tuples are several arguments.
    name : callable, optional
        Gives the name of a case.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=None if name is None else name(case),
            marks=[pytest.mark.exhaustive] if place % every else [],
        )
        for place, case in enumerate(cases)
    ]


def first_of_each(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return parameters of a test: the first case of each first argument for every run."""
    seen: set[Any] = set()
    found = []
    for case in cases:
        found.append(pytest.param(*case, marks=[pytest.mark.exhaustive] if case[0] in seen else []))
        seen.add(case[0])
    return found
