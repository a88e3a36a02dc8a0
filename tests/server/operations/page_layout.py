"""An attack on a stolen SQLite file: the order of people, read off places of cells in pages.

A new cell goes below those that are there; a split lays the cells of a page out by key. So within a
page the cells after a run in key order came one after another, and before them those of the run.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

_LEAF, _INTERIOR = 10, 2
_NAME = re.compile(rb"[0-9a-f]{64}|[0-9a-f]{32}")


class Layout:
    """The leaf pages of all trees without row numbers in a file.

    Parameters
    ----------
    content : bytes
    roots : mapping of str to int
        Name of each tree to its first page.
    """

    def __init__(self, file: Path) -> None:
        with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
            self.roots = dict(
                connection.execute(
                    "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0 ORDER BY name"
                )
            )
        self._content = file.read_bytes()
        self._size = int.from_bytes(self._content[16:18], "big")

    def leaves(self, tree: str) -> Iterator[list[tuple[int, bytes]]]:
        """Yield the cells of each leaf: place in the page, and content there."""
        yield from self._below(self.roots[tree])

    def _below(self, number: int) -> Iterator[list[tuple[int, bytes]]]:
        page = self._content[(number - 1) * self._size : number * self._size]
        count = int.from_bytes(page[3:5], "big")
        if page[0] == _LEAF:
            places = [int.from_bytes(page[8 + 2 * i : 10 + 2 * i], "big") for i in range(count)]
            yield [(place, self._cell(page, place)) for place in places]
        elif page[0] == _INTERIOR:
            places = [int.from_bytes(page[12 + 2 * i : 14 + 2 * i], "big") for i in range(count)]
            children = [int.from_bytes(page[place : place + 4], "big") for place in places]
            for child in [*children, int.from_bytes(page[8:12], "big")]:
                yield from self._below(child)

    def _cell(self, page: bytes, place: int) -> bytes:
        length, at = 0, place
        while True:
            length = length << 7 | page[at] & 127
            at += 1
            if page[at - 1] < 128:
                break
        most = (self._size - 12) * 64 // 255 - 23
        least = (self._size - 12) * 32 // 255 - 23
        if length > most:
            kept = least + (length - least) % (self._size - 4)
            length = kept if kept <= most else least
        return page[at : at + length]


def arrival(file: Path, names: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    """Return when each row of a file came, between 0 and 1, and the variance of that.

    Parameters
    ----------
    file : Path
    names : mapping of str to str
        What stands in cells (an id, a name) to the row that it belongs to.
    """
    layout = Layout(file)
    evidence: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for tree in layout.roots:
        leaves = list(layout.leaves(tree))
        # Each split mixes neighbours anew, so a tree of many pages says little.
        doubt = 0.001 + 0.01 * (len(leaves) - 1) ** 2
        for cells in leaves:
            found = [(place, _row(cell, names)) for place, cell in cells]
            by_key = {place: rank for rank, (place, _) in enumerate(found)}
            rows = sorted(((p, r) for p, r in found if r is not None), reverse=True)
            run, count = 1, len(rows)
            while run < count and by_key[rows[run][0]] > by_key[rows[run - 1][0]]:
                run += 1
            for rank, (_, row) in enumerate(rows, start=1):
                assert row is not None
                if rank <= run:
                    share = run / count
                    evidence[row].append((share / 2, share**2 / 12 + doubt))
                else:
                    share = (rank - 0.5) / count
                    evidence[row].append((share, share * (1 - share) / (count + 1) + doubt))
    moments = dict.fromkeys(names.values(), (0.5, 1 / 12))
    for row, seen in evidence.items():
        weight = sum(1 / variance for _, variance in seen)
        moments[row] = (sum(when / variance for when, variance in seen) / weight, 1 / weight)
    return moments


def joined(
    left: Mapping[str, tuple[float, float]], right: Mapping[str, tuple[float, float]]
) -> dict[str, str]:
    """Return for each row of one side the row of the other that most likely came with it."""
    ours, theirs = sorted(left), sorted(right)
    distance = np.array(
        [
            [(left[a][0] - right[b][0]) ** 2 / (left[a][1] + right[b][1]) for b in theirs]
            for a in ours
        ]
    )
    rows, columns = linear_sum_assignment(distance)
    return {ours[i]: theirs[j] for i, j in zip(rows, columns, strict=True)}


def chance(links: int, sizes: Sequence[int]) -> float:
    """Return the probability of at least so many right links where pairs are drawn at random.

    Of `n` pairs the chance of exactly `k` right ones is that of `n - k` none of which is right.
    """
    total = np.ones(1)
    for size in sizes:
        none = np.cumsum([(-1.0) ** i / _factorial(i) for i in range(size + 1)])
        one = np.array([none[size - k] / _factorial(k) for k in range(size + 1)])
        total = np.convolve(total, one)
    return float(total[links:].sum())


def _factorial(number: int) -> float:
    return float(np.prod(np.arange(1, number + 1, dtype=float)))


def _row(cell: bytes, names: Mapping[str, str]) -> str | None:
    for name in _NAME.findall(cell):
        row = names.get(name.decode())
        if row is not None:
            return row
    return None
