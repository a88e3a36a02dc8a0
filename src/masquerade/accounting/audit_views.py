"""Views of reports: the ways in which drawn reports could tell two answers apart.

What kinds of reports a view counts is decided by the first half of the reports alone, so that the
second half can be tested as if the kinds had been fixed beforehand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masquerade.exact.arrays import Floats, Integers

#: Turns reports that are numbers on a lattice into whole steps; gives None of others.
Whole = Callable[[NDArray[Any]], Integers | None]

MOST_KINDS = 1 << 11  # of reports; more are put into ranges
_LARGEST_COUNTS = 1 << 21
_FEWEST_A_KIND = 4
_MOST_RANGES = 256
_COARSE = 16
_MOST_COLUMNS = 6
_LOOK_AHEAD = 20_000
_NO_NUMBER = -(1 << 62)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_OTHERS = "one seldom seen"


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Reports of persons (or calls) with the same answers."""

    reports: NDArray[Any]  # array, shape (persons, columns). Numbers or texts.
    # int array, shape (persons,). 0 where a person sent one report for each answer, in their order;
    # otherwise a code of how many were sent and in which order.
    sent: Integers

    @classmethod
    def of(cls, reports: NDArray[Any]) -> Drawn:
        """Return reports of which each person sent one for each answer."""
        return cls(reports, np.zeros(len(reports), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.sent)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Counts of each kind of report, in both halves."""

    name: str  # what is looked at; empty for the report itself
    # first, second: int array, shape (answers, kinds). Counts in the first and in the second half
    # of the reports.
    first: Integers
    second: Integers
    kinds: tuple[str, ...]


def views_of(drawn: Sequence[Drawn], *, whole: Whole | None = None) -> list[View]:
    """Return all views of reports that were drawn for different answers.

    Of one report: its value, or, where there are too many of them, ranges; each of its bits, its
    last byte, its parity, its lowest bit that is set; of texts also the length and both ends. Of
    several: all of them together where there are few kinds, else each, pairs of them and their
    order. Always: how many reports were sent, and in which order.
    """
    found = []
    if any(one.sent.any() for one in drawn):
        found += _few("number and order of reports", [one.sent for one in drawn])
    columns = drawn[0].reports.shape[1]
    if columns == 1:
        return found + _of_column("", [one.reports[:, 0] for one in drawn], whole)
    places = list(range(columns))
    if columns > _MOST_COLUMNS:
        spread = np.linspace(0, columns - 1, _MOST_COLUMNS).round().astype(int)
        places = sorted(set(spread.tolist()))
    else:
        joint = _joint(drawn, places)
        if joint is not None:
            return [*found, joint]
    # Reports of two places together, each in few codes, so that pairs of codes are seen often.
    coarse = {}
    for place in places:
        column = [one.reports[:, place] for one in drawn]
        found += _of_column(f"report {place + 1}: ", column, whole)
        coarse[place] = coarse_codes(column, whole)[0]
    for a, b in itertools.combinations(places, 2):
        both = [x * _COARSE + y for x, y in zip(coarse[a], coarse[b], strict=True)]
        found.append(_counted(f"reports {a + 1} and {b + 1}: ", both, np.arange(_COARSE**2), str))
        if drawn[0].reports.dtype.kind in "iuf":
            signs = [np.sign(np.nan_to_num(_difference(one.reports, a, b))) for one in drawn]
            found += _few(f"order of reports {a + 1} and {b + 1}: ", signs)
    return found


def coarse_codes(column: Sequence[NDArray[Any]], whole: Whole | None) -> list[list[Integers]]:
    """Return reports as codes below 16, by value (frequent ones or ranges) and by last bits."""
    keys = [keys_of(one) for one in column]
    pooled = np.concatenate([key[: _half(key)] for key in keys])
    kinds, counts = np.unique(pooled, return_counts=True)
    if len(kinds) <= _COARSE or pooled.dtype.kind == "U":
        often = np.sort(kinds[np.argsort(-counts, kind="stable")[: _COARSE - 1]])
        return [[_code(key, often) for key in keys]]
    values = np.concatenate([one[: _half(one)] for one in column])
    # Ranges are cut by first halves alone: the second halves, which test, must not choose.
    edges = np.unique(np.nanquantile(values, np.linspace(0, 1, _COARSE)[1:-1]))
    ranges = []
    for one in column:
        code = np.searchsorted(edges, one, side="right")
        code[np.isnan(one)] = _COARSE - 1
        ranges.append(code)
    return [ranges, [_words(one, whole) & (_COARSE - 1) for one in column]]


def keys_of(reports: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers that differ where reports' bits do (0.0, -0.0); texts as they are."""
    if reports.dtype.kind == "f":
        return reports.astype(np.float64).view(np.int64)
    if reports.dtype.kind in "iub":
        return reports.astype(np.int64)
    return reports


def row_keys(drawn: Drawn) -> NDArray[Any]:
    """Return a key of all reports of each person."""
    if drawn.reports.shape[1] == 1 and not drawn.sent.any():
        return _hashed(drawn.reports[:, 0])
    mixed = drawn.sent.astype(np.uint64)
    for place in range(drawn.reports.shape[1]):
        word = _hashed(drawn.reports[:, place]).view(np.uint64)
        # Multiplied by an odd constant and folded, so that the order of reports matters.
        mixed = (mixed ^ word) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    return mixed.astype(np.int64)


def _hashed(reports: NDArray[Any]) -> Integers:
    """Return whole numbers that differ where reports do; of texts a hash."""
    if reports.dtype.kind != "U":
        return np.asarray(keys_of(reports), dtype=np.int64)
    width = reports.dtype.itemsize // 4
    letters = np.ascontiguousarray(reports).view(np.uint32).reshape(len(reports), width)
    words = np.zeros(len(reports), dtype=np.uint64)
    for place in range(width):  # a letter that is not there adds nothing, however long the others
        words += _SPREAD ** np.uint64(place + 1) * letters[:, place]
    return words.view(np.int64)


def lowest_bits(reports: NDArray[Any]) -> Integers:
    """Return the power of two of the lowest bit that is set in each number."""
    if reports.dtype.kind == "f":
        bits = reports.astype(np.float64).view(np.int64)
        exponent = (bits >> 52) & 0x7FF
        # IEEE 754: normal numbers have a leading bit that is not stored.
        mantissa = (bits & ((1 << 52) - 1)) | np.where(exponent > 0, 1 << 52, 0)
        power = exponent
    else:
        mantissa, power = reports.astype(np.int64), np.zeros(len(reports), dtype=np.int64)
    # x & -x is the lowest bit that is set, a power of two; frexp gives its exponent
    lowest = np.frexp((mantissa & -mantissa).astype(np.float64))[1]
    return np.where(mantissa == 0, _NO_NUMBER, lowest + power).astype(np.int64)


def _of_column(name: str, column: list[NDArray[Any]], whole: Whole | None) -> list[View]:
    keys = [keys_of(one) for one in column]
    kinds = _kinds(keys)
    if kinds is not None:
        floats = column[0].dtype.kind == "f"
        return [_counted(name, keys, kinds, _float_name if floats else str)]
    if column[0].dtype.kind not in "iubf":
        return _of_texts(name, column)
    return [_ranges(name, column), *_of_bits(name, column, whole)]


def _of_texts(name: str, column: list[NDArray[Any]]) -> list[View]:
    lengths = [np.char.str_len(one).astype(np.int64) for one in column]
    ends = [
        [np.array([ord(text[at]) if text else -1 for text in one.tolist()]) for one in column]
        for at in (0, -1)
    ]
    pooled = np.concatenate([one[: _half(one)] for one in column])
    kinds, counts = np.unique(pooled, return_counts=True)
    often = np.sort(kinds[np.argsort(-counts, kind="stable")[:_MOST_RANGES]])
    return [
        _counted(name, column, often, str),
        *_few(f"{name}length ", lengths),
        *_few(f"{name}first character ", ends[0]),
        *_few(f"{name}last character ", ends[1]),
    ]


def _of_bits(name: str, column: list[NDArray[Any]], whole: Whole | None) -> list[View]:
    words = [_words(one, whole) for one in column]
    raw = [keys_of(one) for one in column]
    found = [
        _counted(f"{name}last byte ", [w & 255 for w in words], np.arange(256), str),
        *_few(f"{name}parity of all bits ", [_parity(one) for one in raw]),
        *_few(f"{name}lowest bit set ", [lowest_bits(one) for one in column]),
        *_few(f"{name}last digit ", [w % 10 for w in words]),
    ]
    for kind, many in (("bit", raw), ("bit of steps", words)):
        ones = np.array([_ones(one[: _half(one)]) for one in many])
        # share[answers, bit] of first halves: the two bits that differ most are looked at.
        share = ones / np.array([[max(_half(one), 1)] for one in many])
        for bit in np.argsort(share.min(axis=0) - share.max(axis=0), kind="stable")[:2].tolist():
            found += _few(f"{name}{kind} {bit} ", [(one >> bit) & 1 for one in many])
    return found


def _words(reports: NDArray[Any], whole: Whole | None) -> Integers:
    """Return numbers as whole steps where they are on a lattice, else their bits."""
    steps = None if whole is None else whole(reports)
    if steps is not None:
        return steps
    if reports.dtype.kind == "f":
        known = np.where(np.isfinite(reports), reports, 0)
        if (known == np.rint(known)).all() and np.abs(known).max(initial=0) < 1 << 53:
            return np.where(np.isfinite(reports), known.astype(np.int64), _NO_NUMBER)
    return keys_of(reports)


def _joint(drawn: Sequence[Drawn], places: Sequence[int]) -> View | None:
    """Return the view of all reports of a person together; None where there are many kinds."""
    codes = [np.zeros(len(one), dtype=np.int64) for one in drawn]
    names = [""]
    most = _most(drawn[0].reports[:, 0], len(drawn))
    for place in places:
        column = [one.reports[:, place] for one in drawn]
        keys = [keys_of(one) for one in column]
        kinds = _kinds(keys)
        if kinds is None or len(names) * (len(kinds) + 1) > most:
            return None
        name = _float_name if column[0].dtype.kind == "f" else str
        words = [*(name(kind) for kind in kinds.tolist()), _OTHERS]
        codes = [
            code * len(words) + _code(key, kinds) for code, key in zip(codes, keys, strict=True)
        ]
        names = [f"{left}, {right}" if left else right for left in names for right in words]
    cuts = [_half(one) for one in codes]
    return View(
        "",
        _bins([code[:cut] for code, cut in zip(codes, cuts, strict=True)], len(names)),
        _bins([code[cut:] for code, cut in zip(codes, cuts, strict=True)], len(names)),
        tuple(names),
    )


def _ranges(name: str, column: list[NDArray[Any]]) -> View:
    pooled = np.concatenate([one[: _half(one)] for one in column])
    most = min(_MOST_RANGES, max(2, len(pooled) // (2 * _FEWEST_A_KIND)))
    edges = np.unique(np.nanquantile(pooled, np.linspace(0, 1, most + 1)[1:-1]))
    kinds = [f"below {edges[0]:.4g}"]
    kinds += [f"{a:.4g} to {b:.4g}" for a, b in itertools.pairwise(edges)]
    kinds += [f"from {edges[-1]:.4g}", "'no answer'"]
    codes = []
    for one in column:
        code = np.searchsorted(edges, one, side="right")
        code[np.isnan(one)] = len(kinds) - 1
        codes.append(code)
    cuts = [_half(one) for one in codes]
    first = _bins([code[:cut] for code, cut in zip(codes, cuts, strict=True)], len(kinds))
    second = _bins([code[cut:] for code, cut in zip(codes, cuts, strict=True)], len(kinds))
    return View(name, first, second, tuple(kinds))


def _few(name: str, column: Sequence[NDArray[Any]]) -> list[View]:
    """Return a view of values that are few, none where all are the same."""
    pooled = np.concatenate([one[: _half(one)] for one in column])
    kinds, counts = np.unique(pooled, return_counts=True)
    kinds = np.sort(kinds[np.argsort(-counts, kind="stable")[:_MOST_RANGES]])
    rest = np.concatenate([one[_half(one) :] for one in column])
    if len(kinds) < 2 and bool((rest == kinds[:1]).all()):
        return []
    return [_counted(name, column, kinds, str)]


def _counted(
    name: str, keys: Sequence[NDArray[Any]], kinds: NDArray[Any], word: Callable[[Any], str]
) -> View:
    size = len(kinds) + 1
    codes = [_code(key, kinds) for key in keys]
    first = _bins([code[: _half(code)] for code in codes], size)
    second = _bins([code[_half(code) :] for code in codes], size)
    return View(name, first, second, (*(word(kind) for kind in kinds.tolist()), _OTHERS))


def _bins(codes: Sequence[Integers], size: int) -> Integers:
    return np.array([np.bincount(code, minlength=size) for code in codes], dtype=np.int64)


def _code(key: NDArray[Any], kinds: NDArray[Any]) -> Integers:
    """Return the place of each key among kinds in order; their number where it is not there."""
    if not len(kinds):
        return np.zeros(len(key), dtype=np.int64)
    place = np.minimum(np.searchsorted(kinds, key), len(kinds) - 1)
    return np.where(kinds[place] == key, place, len(kinds)).astype(np.int64)


def _kinds(keys: Sequence[NDArray[Any]]) -> NDArray[Any] | None:
    """Return all keys of the first halves in order; None where there are too many."""
    most = _most(keys[0], len(keys))
    # a few reports first: sorting all of them is slow, and vain where kinds are too many
    ahead = np.concatenate([key[: min(_half(key), _LOOK_AHEAD // len(keys) + 1)] for key in keys])
    if len(np.unique(ahead)) > most:
        return None
    kinds = np.unique(np.concatenate([np.unique(key[: _half(key)]) for key in keys]))
    return kinds if len(kinds) <= most else None


def _most(key: NDArray[Any], answers: int) -> int:
    drawn = _half(key) * answers
    return max(2, min(MOST_KINDS, drawn // _FEWEST_A_KIND, _LARGEST_COUNTS // answers))


def _half(many: NDArray[Any]) -> int:
    return len(many) // 2


def _ones(words: Integers) -> Integers:
    if not len(words):
        return np.zeros(64, dtype=np.int64)
    octets = np.ascontiguousarray(words, dtype="<i8").view(np.uint8).reshape(len(words), 8)
    bits = np.unpackbits(octets, axis=1, bitorder="little")
    counts: Integers = bits.sum(axis=0, dtype=np.int64)
    return counts


def _parity(words: Integers) -> Integers:
    folded: Integers = words
    for shift in (32, 16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    parity: Integers = folded & 1
    return parity


def _difference(reports: NDArray[Any], a: int, b: int) -> Floats:
    return reports[:, a].astype(np.float64) - reports[:, b].astype(np.float64)


def _float_name(bits: int) -> str:
    value = float(np.array([bits], dtype=np.int64).view(np.float64)[0])
    return "'no answer'" if value != value else f"{value:.10g}"
