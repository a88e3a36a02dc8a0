"""Tests of independence: of reports of two calls, of one batch, of one person, and over time.

All tests are exact (Fisher, 1935): given how often each of two events was seen, how often both were
seen together is hypergeometric where they are independent. Which events are tested is chosen by one
half of the reports and tested by the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.accounting.audit_views import Drawn, Whole, coarse_codes
from masquerade.exact.arrays import Floats, Integers

#: ``draw(answers, persons)`` makes one call; answers are told by their place.
Draw = Callable[[int, int], Drawn]

_LONGEST_PERIOD = 64
_CELLS = 3
_KINDS = 16
_FEWEST = 8
_TINY = 1e-9
_NO_TABLES = np.zeros((0, 4), dtype=np.int64)


def longest_period(calls: int) -> int:
    """Return the longest period that is looked for in a sequence of calls."""
    return min(_LONGEST_PERIOD, calls // 2 // _FEWEST)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One question about dependence.

    `tables`, shape (tables, 4): of each pair of events how often both were seen, of how many
    reports, and how often each was seen. If nothing is wrong the first is hypergeometric given the
    others.
    """

    words: str
    tables: Integers


def p_values(tests: Sequence[Question]) -> Floats:
    """Return for each test how likely tables this clear are where nothing is wrong, at most.

    Twice the smaller tail of the hypergeometric law, times how many tables a test has. All tables
    are computed in one call, for a call costs as much as a hundred tables.
    """
    # Here, for `scipy.stats` takes longer to load than everything else of this package.
    from scipy.stats import hypergeom

    found = np.ones(len(tests))
    if any(len(test.tables) for test in tests):
        tables = np.concatenate([test.tables for test in tests])
        number = np.repeat(np.arange(len(tests)), [len(test.tables) for test in tests])
        # Fisher's exact test: given its margins a cell is hypergeometric.
        both, size, one, other = tables.T
        below = hypergeom.cdf(both, size, one, other)
        above = hypergeom.sf(both - 1, size, one, other)
        # Two-sided, and times the number of tables that a test looks at.
        np.minimum.at(found, number, 2 * np.minimum(below, above) * np.bincount(number)[number])
    return found


def tests_of_calls(
    draw: Draw,
    answers: Sequence[int],
    names: Sequence[str],
    *,
    batch: int,
    calls: int,
    whole: Whole,
) -> list[Question]:
    """Return tests of whether reports depend on other reports, on calls, and on earlier ones.

    `answers`: places of at least 2 answers to draw for. `batch`: reports of a large call. `calls`:
    how many small calls, of two reports each. `whole`: see `coarse_codes`.
    """
    tests: list[Question] = []
    before: list[Drawn] = []
    for place in answers:
        words = f"answer {names[place]}"
        one, again = draw(place, batch), draw(place, batch)
        for a, b in _coded([one, again], whole):
            tests += [
                Question(f"neighbours in one batch, {words}", _pairwise(a[0::2], a[1::2])),
                Question(f"two halves of one batch, {words}", _pairwise(*_halves(a))),
                Question(f"two calls, {words}", _pairwise(a, b)),
                Question(f"reports some places apart, {words}", _at_best_lag(a, b)),
            ]
        if before:
            both = (
                f"calls for answers {names[answers[answers.index(place) - 1]]} and {names[place]}"
            )
            tests += [Question(both, _pairwise(a, b)) for a, b in _coded([before[0], one], whole)]
        before = [one]
    alone = {}
    for place in (answers[0], answers[-1]):
        words = f"answer {names[place]}"
        large = draw(place, batch)
        alone[place] = small = _joined([draw(place, 2) for _ in range(calls)])
        for many, few in _coded([large, small], whole):
            first, second = few[0::2], few[1::2]
            tests += [
                Question(f"two reports of small batches, {words}", _pairwise(first, second)),
                Question(f"calls one after another, {words}", _pairwise(*_ends(first))),
                Question(f"small batches and a large one, {words}", _alike(first, many)),
                Question(f"early and late calls, {words}", _alike(*_halves(first))),
                Question(f"calls that come again and again, {words}", _periodic(first)),
            ]
    return tests + _history(draw, answers, names, alone, calls // 4, whole)


def tests_of_columns(drawn: Sequence[Drawn], names: Sequence[str], whole: Whole) -> list[Question]:
    """Return tests of whether the reports of one person depend on each other."""
    tests = []
    for one, name in zip(drawn, names, strict=True):
        columns = one.reports.shape[1]
        parts = [Drawn.of(one.reports[:, place, None]) for place in range(columns)]
        pairs = [(0, 1), (0, columns - 1), (columns - 2, columns - 1)]
        for a, b in sorted(set(pairs)):
            words = f"reports {a + 1} and {b + 1} of one person, answers {name}"
            if a != b:
                tests += [
                    Question(words, _pairwise(x, y)) for x, y in _coded([parts[a], parts[b]], whole)
                ]
    return tests


def tests_of_time(early: Sequence[Drawn], late: Sequence[Drawn], whole: Whole) -> list[Question]:
    """Return tests of whether the first calls and the last, for the same answers, are alike."""
    tests = []
    for pair in zip(early, late, strict=True):
        if pair[0].reports.dtype.kind == pair[1].reports.dtype.kind:
            coded = _coded(pair, whole)
            tests += [Question("the first call and a late one", _alike(a, b)) for a, b in coded]
    return tests


def _history(
    draw: Draw,
    answers: Sequence[int],
    names: Sequence[str],
    alone: Mapping[int, Drawn],
    rounds: int,
    whole: Whole,
) -> list[Question]:
    """Return tests of whether a report depends on the answer that was masked before it.

    One answer after another is drawn, in a circle in which both ends come before the middle; what
    an end is after itself is known from calls for it `alone`.
    """
    first, last, middle = answers[0], answers[-1], answers[len(answers) // 2]
    circle = (first, last) if middle == last else (first, middle, last, middle, last)
    after: dict[tuple[int, int], list[Drawn]] = {}
    for _ in range(rounds):
        for place, earlier in zip(circle, (circle[-1], *circle), strict=False):
            after.setdefault((place, earlier), []).append(draw(place, 1))
    known = {pair: _joined(drawn) for pair, drawn in after.items()}
    known |= {(place, place): drawn for place, drawn in alone.items()}
    tests = []
    for place in sorted({first, middle, last}):
        one, *others = sorted(earlier for end, earlier in known if end == place)
        for other in others:
            words = f"answer {names[place]} after {names[one]} and after {names[other]}"
            pair = known[place, one], known[place, other]
            tests += [Question(words, _alike(a, b)) for a, b in _coded(pair, whole)]
    return tests


def _coded(drawn: Sequence[Drawn], whole: Whole) -> list[list[Integers]]:
    """Return coarse codes of some draws, alike for all, of their first report and of the rest."""
    columns = sorted({0, drawn[0].reports.shape[1] - 1})
    out = []
    for column in columns:
        ways = coarse_codes([one.reports[:, column] for one in drawn], whole)
        out += [list(way) for way in ways]
    return out


def _joined(drawn: Sequence[Drawn]) -> Drawn:
    return Drawn(
        np.concatenate([one.reports for one in drawn]), np.concatenate([one.sent for one in drawn])
    )


def _pairwise(one: Integers, other: Integers) -> Integers:
    """Return tables of whether two columns of codes are independent, row by row."""
    size = min(len(one), len(other))
    cut = size // 2
    if cut < _FEWEST:
        return _NO_TABLES
    both = one[:size] * _KINDS + other[:size]
    table, tested = (
        np.bincount(half, minlength=_KINDS**2).reshape(_KINDS, _KINDS)
        for half in (both[:cut], both[cut:])
    )
    # table[kind of one, kind of other] of the first half chooses; the second half tests
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / cut
    # Pearson residuals; 0.5 keeps a cell with nothing expected finite.
    distance = np.abs(table - expected) / np.sqrt(expected + 0.5)
    a, b = np.divmod(np.argsort(-distance.ravel(), kind="stable")[:_CELLS], _KINDS)
    sizes = np.full(_CELLS, size - cut)
    return np.stack([tested[a, b], sizes, tested.sum(axis=1)[a], tested.sum(axis=0)[b]], axis=1)


def _alike(one: Integers, other: Integers) -> Integers:
    """Return tables of whether two samples of codes have one law."""
    counts, counts_other = (np.bincount(codes, minlength=_KINDS) for codes in (one, other))
    kinds = np.flatnonzero(counts + counts_other)
    size = np.full(len(kinds), len(one) + len(other))
    seen = (counts + counts_other)[kinds]
    return np.stack([counts[kinds], size, np.full(len(kinds), len(one)), seen], axis=1)


def _periodic(codes: Integers) -> Integers:
    """Return a table of a period in a sequence of calls; period and kind by the first half."""
    cut = len(codes) // 2
    first, second = codes[:cut], codes[cut:]
    share = np.bincount(first, minlength=_KINDS) / max(cut, 1)
    # Standard deviation of one call; a share over n calls has it divided by sqrt(n).
    spread = np.sqrt(share * (1 - share)) + _TINY
    best, period, at, kind = 0.0, 1, 0, 0
    for tried in range(2, longest_period(len(codes)) + 1):
        phase = np.arange(cut) % tried
        seen = np.bincount(phase * _KINDS + first, minlength=tried * _KINDS).reshape(tried, _KINDS)
        many = seen.sum(axis=1, keepdims=True)
        distance = np.abs(seen / many - share) * np.sqrt(many) / spread
        if distance.max() > best:
            best, period = float(distance.max()), tried
            at, kind = divmod(int(distance.argmax()), _KINDS)
    if period == 1:
        return _NO_TABLES
    on, hit = (np.arange(len(second)) + cut) % period == at, second == kind
    return np.array([[(on & hit).sum(), len(second), on.sum(), hit.sum()]])


def _at_best_lag(one: Integers, other: Integers) -> Integers:
    """Return tables of reports some places apart; how far is chosen by another batch."""
    # Wiener-Khinchin: correlations at all lags from one transform, padded against wrapping round.
    waves = np.fft.rfft(one - one.mean(), 2 * len(one))
    correlation = np.abs(np.fft.irfft(np.abs(waves) ** 2))[1 : len(one) // 2]
    if not len(correlation):
        return _NO_TABLES
    # the farther apart, the fewer pairs: the standard deviation grows with their square root
    weight = np.sqrt(np.arange(len(one) - 1, len(one) - 1 - len(correlation), -1))
    lag = int((correlation / weight).argmax()) + 1
    # Disjoint blocks, so that the pairs have no report in common.
    place = np.arange(len(other) - lag)
    place = place[(place // lag) % 2 == 0]
    return _pairwise(other[place], other[place + lag])


def _halves(codes: Integers) -> tuple[Integers, Integers]:
    cut = len(codes) // 2
    return codes[:cut], codes[cut:]


def _ends(codes: Integers) -> tuple[Integers, Integers]:
    """Return each other code and the one after it."""
    even: Any = len(codes) // 2 * 2
    return codes[0:even:2], codes[1:even:2]
