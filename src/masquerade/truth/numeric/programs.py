"""Programs: methods for numbers, once, for claims in memory, streamed from files or over a cluster.

A method for numbers is a generator that works on a block of tasks. Where it needs a figure of all
claims it yields its own part, a `Request`, and is sent what the parts of all blocks come to; from
there every block goes on alike. Claims in memory are one block, whose part is the total
(`run_in_memory`). Partitions are many (`masquerade.truth.scale`), visited once a request: there a
block takes up its program where it left it, which is what `Section` and `Loop` are for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from masquerade.exact.arrays import Floats

T = TypeVar("T")

_DIGITS = 16  # bits of a number that one pass of a selection settles


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A block's part of figures of all claims; parts of blocks add up to the figures."""

    sums: tuple[Any, ...] = ()  # numbers and arrays that are added
    most: tuple[Any, ...] = ()  # those of which the largest counts
    distinct: NDArray[Any] | None = None  # values that are collected, each once and ascending

    def __add__(self, other: Request) -> Request:
        distinct = self.distinct
        if distinct is not None:
            distinct = np.union1d(distinct, np.asarray(other.distinct))
        return Request(
            tuple(one + another for one, another in zip(self.sums, other.sums, strict=True)),
            tuple(map(np.maximum, self.most, other.most)),
            distinct,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled for every partition at every request, several times as fast as by its fields.
        return Request, (self.sums, self.most, self.distinct)

    @property
    def figures(self) -> tuple[Any, ...]:
        """The sums, then the largest, then the distinct values where they are asked for."""
        return (*self.sums, *self.most, *(() if self.distinct is None else (self.distinct,)))


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A part of a program whose result alone is needed from there on."""

    program: Callable[[], Program[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A part of a program that is repeated; only the state goes from round to round.

    ``body(state)`` returns the next state, and whether it is the last.
    """

    start: Any
    body: Callable[[Any], Program[tuple[Any, bool]]]


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Programs that do not need one another's results; partitions are visited for all at once."""

    programs: tuple[Callable[[], Program[Any]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class MedianOf:
    """A request for the median of the values of all blocks; NaN of none."""

    values: Floats


Program = Generator[Request | Section | Loop | Together | MedianOf, Any, T]


def everywhere(*sums: Any, most: tuple[Any, ...] = ()) -> Program[Any]:
    """Return the sums over all blocks, then the largest of `most`; one figure by itself."""
    figures = yield Request(sums, most)
    return figures if len(figures) > 1 else figures[0]


def at_once(figure: Callable[[], T]) -> Program[T]:
    """Return what follows from a block alone, as a program."""
    yield from ()
    return figure()


def run_in_memory(program: Program[T], after_round: Callable[[], None] | None = None) -> T:
    """Return the result of a program over all claims as one block.

    `after_round` (optional) is called after each round of its loops.
    """
    answer: Any = None
    while True:
        try:
            request = program.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        if isinstance(request, Request):
            answer = request.figures
        elif isinstance(request, Section):
            answer = run_in_memory(request.program(), after_round)
        elif isinstance(request, Together):
            answer = [run_in_memory(start(), after_round) for start in request.programs]
        elif isinstance(request, MedianOf):
            answer = float(np.median(request.values)) if len(request.values) else np.nan
        else:
            answer, done = request.start, False
            while not done:
                answer, done = run_in_memory(request.body(answer), after_round)
                if after_round is not None:
                    after_round()


def exact_median(values: Floats) -> Program[float]:
    """Return the median of the values of all blocks, to the last bit, in four passes.

    Floats as ordered whole numbers are counted by their first 16 bits, then those that share the
    median's by the next 16, and so on: a histogram adds up over blocks, and nothing is rounded.
    """
    words = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    # Negative floats are ordered the other way round; with all their bits turned they are not.
    sign = np.uint64(1 << 63)
    words = np.where(words & sign, ~words, words | sign)
    count = yield from everywhere(len(words))
    if not count:
        return np.nan
    ranks, heads = [(count - 1) // 2, count // 2], [0, 0]
    for shift in range(64 - _DIGITS, -1, -_DIGITS):
        # A section each: what goes on from a pass are two numbers, not its histograms.
        ranks, heads = yield Section(partial(_next_digit, words, shift, count, ranks, heads))
    found = np.array(heads, dtype=np.uint64)
    low, high = np.where(found & sign, found ^ sign, ~found).view(np.float64)
    # Halved before they are added: two values near the largest float have a mean.
    with np.errstate(invalid="ignore"):
        return float(low / 2 + high / 2 if max(abs(low), abs(high)) > 1 else (low + high) / 2)


def _next_digit(
    words: NDArray[np.uint64], shift: int, count: int, ranks: list[int], heads: list[int]
) -> Program[tuple[list[int], list[int]]]:
    """Return the ranks among those that share the heads' next bits, and the heads with these."""
    digits = words >> np.uint64(shift)
    mask = np.uint64((1 << _DIGITS) - 1)
    # One histogram where both have the same bits so far, as nearly always; in half as many bytes
    # where the counts fit. It is written to disk, or sent, for every partition.
    distinct = sorted(set(heads))
    kind = np.int32 if count <= np.iinfo(np.int32).max else np.int64
    rows = [digits[digits >> np.uint64(_DIGITS) == np.uint64(head)] for head in distinct]
    counts = yield from everywhere(
        np.stack(
            [
                np.bincount((row & mask).astype(np.int64), minlength=1 << _DIGITS).astype(kind)
                for row in rows
            ]
        )
    )
    further: tuple[list[int], list[int]] = ([], [])
    for rank, head in zip(ranks, heads, strict=True):
        cumulative = np.cumsum(counts[distinct.index(head)])
        digit = int(np.searchsorted(cumulative, rank, side="right"))
        further[0].append(rank - (int(cumulative[digit - 1]) if digit else 0))
        further[1].append((head << _DIGITS) + digit)
    return further
