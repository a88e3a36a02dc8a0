"""Rare events: reports that one answer gives now and then and another never.

Many more reports are drawn than elsewhere, to find such events, and then reports of the two answers
alone, to test them. A chance of one in 100,000 to send the answer in clear is found by that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from masquerade.accounting.audit_views import Drawn, lowest_bits, row_keys
from masquerade.exact.arrays import Integers

Draw = Callable[[int, int], Drawn]

#: Places of two answers, by value (0) or lowest bit (1), and kinds of reports.
Event = tuple[int, int, int, Integers]

_MOST_EVENTS = 8
_FIRST = 1 << 40
_SHARES = (0.4, 0.6, 0.75, 0.88, 0.96, 1.0)  # of the largest exponent of the bound
_MOST_KINDS = 1 << 12
_ATOM = 3
_CHUNK = 1 << 18
_FIRST_CHUNK = 1 << 12
_SURE = 14.0  # an event expected this often is missed once in a million times at most


@dataclass(frozen=True, slots=True)
class Canary:
    """An event that was tested."""

    # (int, int). Places of the answer that gives it, and of one that does not.
    pair: tuple[int, int]
    kinds: int  # how many kinds of reports it consists of
    counts: tuple[int, int]  # (int, int). How often it was seen in fresh reports.
    size: int  # how many these were, for each answer
    p_value: float  # how likely counts this clear are where the claim is true, at most


@dataclass(frozen=True, slots=True)
class Hunt:
    """The result of a search for rare events."""

    canaries: tuple[Canary, ...]
    rate: float  # A canary with a smaller p-value refutes the claim
    # Events of at least about this probability under one answer and none under another are found
    # and refute the claim; infinite where no event could.
    smallest: float


def hunt(
    draw: Draw,
    check: Callable[[int, Drawn], None],
    seen: Sequence[Drawn],
    *,
    epsilon: float,
    delta: float,
    reports: int,
    most: int,
    false_alarm: float,
) -> Hunt:
    """Return the rare events that tell answers apart, each tested on reports of its own.

    ``draw(answer, persons)`` draws for the answer at a place; ``check(answer, drawn)`` gets the
    `reports` of each answer in which events are looked for, after those `seen` already. To test an
    event at most `most` reports of each of two answers are drawn.
    """
    rate = false_alarm / _MOST_EVENTS
    needed = _needed(epsilon, rate)
    if epsilon == math.inf:
        return Hunt((), rate, math.inf)
    tallies = [_Tally() for _ in seen]
    for place, tally in enumerate(tallies):
        tally.add(seen[place])
        left = reports - len(seen[place])
        while left > 0:
            size = min(left, _CHUNK)
            drawn = draw(place, size)
            check(place, drawn)
            tally.add(drawn)
            left -= size
    if needed > most:
        return Hunt((), rate, math.inf)
    canaries = [_tested(draw, event, epsilon, delta, most, needed) for event in _events(tallies)]
    found_at = _SURE / max(reports, 1)
    sure = (needed + 5 * math.sqrt(needed)) / most + 3 * delta * math.exp(epsilon)
    return Hunt(tuple(canaries), rate, max(found_at, sure))


def p_value_of(k: int, k_other: int, *, epsilon: float, expected: float) -> float:
    """Return how likely counts this far apart are where p <= e**epsilon q + delta, at most.

    `k`, `k_other`: how often the event was seen, of equally many reports under either answer.
    `expected`: delta times the number of reports.

    Notes
    -----
    Chernoff's bound: for 0 < s <= ln(1 + e**-epsilon) and ``1 - e**-u = e**epsilon (e**s - 1)`` the
    mean of ``e**(s k - u k_other)`` is at most ``e**(expected (e**s - 1))`` for any p and q that
    keep the claim. Some s are tried, and counted (Bonferroni).
    """
    largest = math.log1p(math.exp(-epsilon))
    best = 0.0
    for share in _SHARES:
        s = share * largest
        rise = math.expm1(s)
        room = 1 - math.exp(epsilon) * rise
        never = 0.0 if k_other == 0 else math.inf  # for the largest s, u is infinite
        loss = never if share == 1.0 else -math.log(room) * k_other
        best = min(best, -s * k + loss + expected * rise)
    return min(1.0, len(_SHARES) * math.exp(best))


class _Tally:
    """Counts of the reports of one answer, by their value and by their lowest bit."""

    def __init__(self) -> None:
        self._parts: list[list[tuple[Integers, Integers]]] = [[], []]

    def add(self, drawn: Drawn) -> None:
        for way in (0, 1):
            keys = _keys(drawn, way)
            if keys is not None:
                kinds, counts = np.unique(keys, return_counts=True)
                self._parts[way].append((kinds, counts))

    def of(self, way: int) -> tuple[Integers, Integers]:
        """Return kinds of reports in order, and how often each was seen."""
        parts = self._parts[way]
        if not parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        kinds, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([part[1] for part in parts]), len(kinds))
        return kinds, counts.astype(np.int64)


def _keys(drawn: Drawn, way: int) -> Integers | None:
    if way == 0:
        return row_keys(drawn)
    if drawn.reports.dtype.kind == "f" and drawn.reports.shape[1] == 1:
        return lowest_bits(drawn.reports[:, 0])
    return None


def _events(tallies: Sequence[_Tally]) -> list[Event]:
    """Return pairs of answers, each with kinds of reports that only the first has given."""
    found: list[tuple[int, Event]] = []
    for way in (0, 1):
        seen = [tally.of(way) for tally in tallies]
        if sum(len(kinds) for kinds, _ in seen) > _MOST_KINDS * len(seen):
            # Numbers that never repeat: what does repeat is what stands out.
            seen = [(kinds[counts >= _ATOM], counts[counts >= _ATOM]) for kinds, counts in seen]
            if sum(len(kinds) for kinds, _ in seen) > _MOST_KINDS * len(seen):
                continue
        every = np.unique(np.concatenate([kinds for kinds, _ in seen]))
        if not len(every):
            continue
        table = np.zeros((len(seen), len(every)), dtype=np.int64)
        for row, (kinds, counts) in zip(table, seen, strict=True):
            row[np.searchsorted(every, kinds)] = counts
        # Kinds that one answer alone has given: what noise brings, a close answer brings too.
        single = (table > 0).sum(axis=0) == 1
        if len(table) > 2 and single.any():
            rare = np.where(single, table, 0)
            for one in np.argsort(-rare.sum(axis=1), kind="stable")[: _MOST_EVENTS // 2].tolist():
                if rare[one].any():
                    other = int(np.flatnonzero(np.arange(len(table)) != one)[-1])
                    kinds = every[rare[one] > 0]
                    found.append((_FIRST + int(rare[one].sum()), (one, other, way, kinds)))
        # Reports of one answer of kinds that another never gave; in floats, which are exact here
        # and multiplied much faster.
        alone = table.astype(np.float64) @ (table == 0).T.astype(np.float64)
        np.fill_diagonal(alone, 0)
        # Of each answer the other that tells it best; then the answers that are told best.
        others = alone.argmax(axis=1)
        weight = alone[np.arange(len(seen)), others]
        for one in np.argsort(-weight, kind="stable")[: _MOST_EVENTS // 2].tolist():
            if weight[one]:
                other = int(others[one])
                kinds = every[(table[one] > 0) & (table[other] == 0)]
                found.append((int(weight[one]), (one, other, way, kinds)))
    found.sort(key=lambda event: -event[0])
    return [event for _, event in found[:_MOST_EVENTS]]


def _tested(
    draw: Draw, event: Event, epsilon: float, delta: float, most: int, needed: float
) -> Canary:
    """Return counts of an event in fresh reports.

    Drawing ends early where the event does not look as if it could refute the claim; that can only
    lower the number of refutations, for a claim is refuted by the last look alone.
    """
    one, other, way, kinds = event
    counts, size, more = [0, 0], 0, _FIRST_CHUNK
    while size < most:
        more = min(2 * more, _CHUNK, most - size)
        for side, place in enumerate((one, other)):
            keys = _keys(draw(place, more), way)
            assert keys is not None
            counts[side] += int(np.isin(keys, kinds).sum())
        size += more
        # three deviations above what was seen, and a few for events seen hardly ever
        at_most = counts[0] + 3 * math.sqrt(counts[0]) + 6
        hopeless = at_most * most / size < needed
        if size < most and (hopeless or counts[0] < 2 * math.exp(epsilon) * counts[1]):
            return Canary((one, other), len(kinds), (counts[0], counts[1]), size, 1.0)
    p_value = p_value_of(counts[0], counts[1], epsilon=epsilon, expected=delta * size)
    return Canary((one, other), len(kinds), (counts[0], counts[1]), size, p_value)


def _needed(epsilon: float, alpha: float) -> float:
    """Return how often an event must be seen, and never under the other answer, to refute."""
    if epsilon > 30:
        return math.inf
    return (math.log(len(_SHARES)) - math.log(alpha)) / math.log1p(math.exp(-epsilon))
