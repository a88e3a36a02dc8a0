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


def first_of_each(
    cases: Sequence[Any],
    *,
    kind: Callable[[Any], Any] = lambda case: case[0],
    name: Callable[[Any], str] | None = None,
) -> list[Any]:
    """Return parameters of a test: the first case of each kind for every run.

    Parameters
    ----------
    cases : sequence
        What the test takes; tuples are several arguments.
    kind : callable, optional
        Gives the kind of a case; by default its first argument.
    name : callable, optional
        Gives the name of a case.
    """
    seen: set[Any] = set()
    found = []
    for case in cases:
        found.append(
            pytest.param(
                *(case if isinstance(case, tuple) else (case,)),
                id=None if name is None else name(case),
                marks=[pytest.mark.exhaustive] if kind(case) in seen else [],
            )
        )
        seen.add(kind(case))
    return found


def on_engines(
    cases: Sequence[tuple[Any, ...]],
    *,
    on_dask: int = 0,
    name: Callable[[Any], str] = lambda case: "-".join(map(str, case)),
) -> list[Any]:
    """Return parameters of a test, engine first: all cases on a stream, one of them on Dask.

    What is summed is the same on both; the others run on Dask in `make test-all`.

    Parameters
    ----------
    cases : sequence
        What the test takes after the engine.
    on_dask : int, optional
        Place of the case that every run has on Dask too.
    name : callable, optional
        Gives the name of a case.
    """
    streamed = [pytest.param("stream", *case, id=f"stream-{name(case)}") for case in cases]
    return streamed + [
        pytest.param(
            "dask",
            *case,
            id=f"dask-{name(case)}",
            marks=[] if place == on_dask else [pytest.mark.exhaustive],
        )
        for place, case in enumerate(cases)
    ]
