"""A lower confidence bound on epsilon from reports alone, with a stated chance of a false alarm.

The first half of the reports ranks the kinds of reports by their ratio and picks a set of them, the
second half bounds its probability under both answers (Clopper and Pearson, 1934). Each report
becomes a key by itself, from its type and value: nothing depends on the other reports of a batch.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, erfcinv
from scipy.stats import binom

from masquerade.accounting.audit_table import TableLoss, Witness
from masquerade.errors import ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.loss import Loss

#: With more inputs than these, a random sample of them is compared.
MOST_INPUTS = 512
SAMPLED_INPUTS = 256
#: Pairs of answers that the second half of the reports tests.
MOST_TESTED = 24
#: What no audit looks at where a mechanism states its own probabilities.
OWN_WORDS = "whether the table is right: it is what the mechanism says of itself"
#: Events rarer than this number over that of reports are seldom seen.
RARE = 15

_MOST_REPORTS = 2_000_000
_MOST_KINDS = 2_048
_FEWEST_A_KIND = 4
_RANGES = 64
_MOST_NAMED = 5
_MOST_CHANGES = 24
_MOST_WORDS = 6
_MOST_LAWS = 6
_TINY = 1e-300

Vector = NDArray[np.int64]
#: Type and value of a report.
Key = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """The claimed losses of one changed answer, and of all of them."""

    event: Micro
    user: Micro
    delta: Fraction
    status: str
    rho: Micro | None = None
    loss: Loss | None = None  # of all answers, as accounts count it


class Answers(NamedTuple):
    """Answers of a person: the places of these among all inputs, and words."""

    words: str
    places: Vector


class Subject(ABC):
    """A mechanism under audit, and how many answers of a person it masks."""

    name: str
    claim: Claim
    #: How many answers can be given, and how many of them are drawn for.
    inputs: int
    compared: int

    @abstractmethod
    def vectors(self) -> list[Answers]:
        """Return the answers of persons to compare; all of one length."""

    @abstractmethod
    def draw(self, places: Vector, persons: int, rng: np.random.Generator) -> Any:
        """Return the reports of persons with these answers from one call, one entry a person."""

    @abstractmethod
    def table(self) -> TableLoss | None:
        """Return the loss by enumeration; None where there is no table or it is too large."""

    @abstractmethod
    def law(self, places: Vector, place: int) -> Mapping[Any, float] | None:
        """Return the probability of each report of one of these answers, where it is known."""

    def faults(self) -> list[str]:
        """Return where the mechanism contradicts itself."""
        return []


@dataclass(frozen=True, slots=True)
class SampledLoss:
    """A lower bound on the loss that drawn reports prove."""

    epsilon: float  # at most the true epsilon, but for the probability of a false alarm; at least 0
    worst: Witness | None  # None where no set of reports tells the answers apart


@dataclass(frozen=True, slots=True)
class Look:
    """Findings from drawn reports."""

    event: SampledLoss
    user: SampledLoss
    fit: float | None  # p-value of the reports by the table, over all tests; None without a table
    reports: int  # of each vector of answers
    vectors: int
    pairs: int


def look_at_reports(
    subject: Subject, *, samples: int, rng: np.random.Generator, false_alarm: float
) -> Look:
    """Return the findings from reports; half of `false_alarm` is for bounds, half for the table."""
    answers = subject.vectors()
    each = min(samples, max(_MOST_REPORTS // len(answers), 2_000))
    drawn = [keyed(subject.draw(one.places, each, rng)) for one in answers]
    half = each // 2
    first, second, names = _counted(drawn, half)
    apart = _differences(answers)
    words = [one.words for one in answers]
    one = np.argwhere(apart == 1)
    other = np.argwhere(apart > 1)
    share = false_alarm / 2 / (1 + (len(other) > 0))
    delta = float(subject.claim.delta)
    event = _largest(first, second, one, delta=delta, alpha=share, words=words, names=names)
    user = event
    if len(other):
        user = _largest(first, second, other, delta=delta, alpha=share, words=words, names=names)
        user = max(user, event, key=lambda found: found.epsilon)
    fit = _fit(subject, answers, drawn)
    return Look(event, user, fit, each, len(answers), len(one) + len(other))


def key_of(report: Any) -> Key:
    """Return type and value of a report: of floats every bit, of texts and bytes every character.

    Examples
    --------
    >>> key_of(np.float64(0.5)), key_of((1, None)), key_of(True) == key_of(1)
    (('float', '0x1.0000000000000p-1'), ('row', (('int', 1), ('NoneType', None))), False)
    """
    if isinstance(report, np.generic) or (isinstance(report, np.ndarray) and not report.ndim):
        report = report.item()
    if isinstance(report, float):
        return "float", report.hex()
    if isinstance(report, tuple | list | np.ndarray):
        return "row", tuple(key_of(part) for part in report)
    if report is None or isinstance(report, bool | int | str | bytes):
        return type(report).__name__, report
    if repr(report) == object.__repr__(report):
        raise ParameterError(
            f"a report is {report!r}, which shows no value to compare; expected a number, a text, "
            "bytes, None, or a tuple of them."
        )
    return type(report).__name__, repr(report)


def keyed(reports: Any) -> tuple[list[Key], Integers]:
    """Return the different keys of reports, and the place of each report's key among them."""
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biuU" and reports.ndim in (1, 2):
        kinds, codes = np.unique(reports, axis=0, return_inverse=True)
        return [key_of(kind) for kind in kinds], codes.ravel()
    places: dict[Key, int] = {}
    found = [places.setdefault(key_of(report), len(places)) for report in reports]
    return list(places), np.array(found, dtype=np.int64)


def value_of(key: Key) -> Any:
    """Return the value of a key, in which 1, 1.0 and True are alike, to look it up in a table."""
    kind, value = key
    if kind == "row":
        return tuple(value_of(part) for part in value)
    if kind == "float":
        number = float.fromhex(value)
        return "nan" if math.isnan(number) else number
    return value


def _counted(
    drawn: Sequence[tuple[list[Key], Integers]], half: int
) -> tuple[Integers, Integers, list[str]]:
    """Return counts ``[answer, kind]`` of both halves, kinds chosen by the first, and their names.

    Keys that were seen often are kinds by themselves; numbers among the others are put into ranges.
    """
    seen: Counter[Key] = Counter()
    for keys, codes in drawn:
        counts = np.bincount(codes[:half], minlength=len(keys))
        for key, count in zip(keys, counts.tolist(), strict=True):
            seen[key] += count
    often = [key for key, count in seen.most_common(_MOST_KINDS) if count >= _FEWEST_A_KIND]
    places = {key: place for place, key in enumerate(often)}
    rare = [(key, n) for key, n in seen.items() if n and key not in places]
    numbers = [(number, n) for key, n in rare if (number := _number(key)) is not None]
    edges = np.zeros(0)
    if numbers:
        values, weights = np.array(numbers, dtype=np.float64).T
        edges = np.unique(np.quantile(values.repeat(weights.astype(int)), _shares()))
    size = len(often) + len(edges) + 2
    first, second = (np.zeros((len(drawn), size), dtype=np.int64) for _ in range(2))
    for row, (keys, codes) in enumerate(drawn):
        kinds = np.array([_kind(key, places, edges) for key in keys])
        first[row] = np.bincount(kinds[codes[:half]], minlength=size)
        second[row] = np.bincount(kinds[codes[half:]], minlength=size)
    low = [f"from {edge:g} on, seldom seen" for edge in edges]
    return first, second, [*map(_shown, often), "low, seldom seen", *low, "seldom seen"]


def _shares() -> Floats:
    return np.linspace(0, 1, _RANGES + 1)[1:-1]


def _kind(key: Key, places: Mapping[Key, int], edges: Floats) -> int:
    if (place := places.get(key)) is not None:
        return place
    if (number := _number(key)) is None:
        return len(places) + len(edges) + 1
    return len(places) + int(np.searchsorted(edges, number, side="right"))


def _number(key: Key) -> float | None:
    value = value_of(key)
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _shown(key: Key) -> str:
    kind, value = key
    if kind == "row":
        return "(" + ", ".join(_shown(part) for part in value) + ")"
    return str(value_of(key)) if kind in ("float", "int", "str") else repr(value)


def _largest(
    first: Integers,
    second: Integers,
    pairs: Integers,
    *,
    delta: float,
    alpha: float,
    words: Sequence[str],
    names: Sequence[str],
) -> SampledLoss:
    """Return the largest lower confidence bound on epsilon over ordered pairs of answers."""
    best = SampledLoss(0.0, None)
    tested = _promising(first, pairs, alpha)
    each = alpha / (2 * max(1, len(tested)))
    for a, b in tested:
        kinds = _choose(first[a], first[b], delta, each)
        found, seen = _bound(second[a], second[b], kinds, delta, each)
        if found > best.epsilon:
            often = kinds[np.argsort(-second[a][kinds], kind="stable")]
            shown = " or ".join(names[kind] for kind in often[:_MOST_NAMED])
            more = f" or {len(kinds) - _MOST_NAMED} others" if len(kinds) > _MOST_NAMED else ""
            best = SampledLoss(found, Witness(f"{shown}{more} {seen}", (words[a], words[b])))
    return best


def _promising(counts: Integers, pairs: Integers, alpha: float) -> list[tuple[int, int]]:
    """Return the pairs of answers that promise most: by one kind of reports, and by many."""
    if len(pairs) <= MOST_TESTED:
        return [(int(a), int(b)) for a, b in pairs]
    low, high = _wilson(counts, counts.sum(axis=1, keepdims=True), _deviations(alpha))
    log_low, log_high = np.log(np.maximum(low, _TINY)), np.log(high)
    share = counts / counts.sum(axis=1, keepdims=True)
    single = np.array([(log_low[a] - log_high[b]).max() for a, b in pairs])
    several = np.array([np.abs(share[a] - share[b]).sum() for a, b in pairs])
    by_one = np.argsort(-single, kind="stable")[: MOST_TESTED * 2 // 3].tolist()
    by_many = [p for p in np.argsort(-several, kind="stable").tolist() if p not in by_one]
    chosen = [*by_one, *by_many][:MOST_TESTED]
    return [(int(a), int(b)) for a, b in pairs[chosen]]


def _choose(a: Integers, b: Integers, delta: float, alpha: float) -> Integers:
    """Return the kinds of reports that promise the largest bound: one, or the most telling ones."""
    # by likelihood ratio, most telling first; a half, so that kinds never seen have a ratio
    order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
    in_a = np.concatenate([np.cumsum(a[order]), a[order]])
    in_b = np.concatenate([np.cumsum(b[order]), b[order]])
    # A choice needs no exact interval; Wilson's costs a hundredth of that of Clopper and Pearson.
    z = _deviations(alpha)
    low, high = _wilson(in_a, a.sum(), z)[0], _wilson(in_b, b.sum(), z)[1]
    promised = np.log(np.maximum(low - delta, _TINY) / high)
    best = int(np.argmax(promised))
    return order[: best + 1] if best < len(order) else order[best - len(order)][None]


def _bound(
    one: Integers, other: Integers, kinds: Integers, delta: float, alpha: float
) -> tuple[float, str]:
    """Return the loss that counts of some kinds of reports prove, and these counts in words."""
    k, n = int(one[kinds].sum()), int(one.sum())
    k_other, n_other = int(other[kinds].sum()), int(other.sum())
    low, high = _lowest(k, n, alpha), _highest(k_other, n_other, alpha)
    # P(S) <= e**epsilon Q(S) + delta for any set S: ln ((P(S) - delta) / Q(S)) <= epsilon
    loss = math.log((low - delta) / high) if low > delta else -math.inf
    return loss, f"({k} of {n} against {k_other} of {n_other})"


def _fit(
    subject: Subject, answers: Sequence[Answers], drawn: Sequence[tuple[list[Key], Integers]]
) -> float | None:
    """Return the p-value of all reports by the table: exact binomial tests, each kind by itself."""
    least, tests = 1.0, 0
    for one, (keys, codes) in zip(answers, drawn, strict=True):
        counts = np.bincount(codes, minlength=len(keys))
        several = len(one.places) > 1
        for place in range(min(len(one.places), _MOST_LAWS)):
            law = subject.law(one.places, place)
            if law is None:
                continue
            seen: Counter[Any] = Counter()
            for key, count in zip(keys, counts.tolist(), strict=True):
                value = value_of(key)
                seen[value[place] if several else value] += count
            chances = np.array([*law.values(), max(0.0, 1 - sum(law.values()))])
            known = [seen[report] for report in law]
            found = np.array([*known, len(codes) - sum(known)])
            p = 2 * np.minimum(
                binom.cdf(found, len(codes), chances), binom.sf(found - 1, len(codes), chances)
            )
            least, tests = min(least, float(p.min())), tests + len(p)
    return min(1.0, least * tests) if tests else None


def _differences(answers: Sequence[Answers]) -> Integers:
    """Return in how many places each two vectors of answers differ."""
    rows = np.array([one.places for one in answers])
    found = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for column in rows.T:
        found += column[:, None] != column[None, :]
    return found


def vectors_of(places: Sequence[int], answers: int, names: Sequence[str]) -> list[Answers]:
    """Return vectors of answers to compare, as places of inputs.

    For one answer, all inputs. For more: one input each time, and the second in one place, in half
    of them and in all; vectors of unequal answers in which every input stands in every place; and
    one of these with its first answer changed to every other, and each of some later ones to two.
    """
    many = len(places)
    codes = np.array(places, dtype=np.int64)
    if answers == 1:
        return [Answers(name, codes[at : at + 1]) for at, name in enumerate(names)]
    out = [(f"{names[0]} each time", np.zeros(answers, dtype=np.int64))]
    for count in sorted({1, answers // 2, answers}):
        row = (np.arange(answers) < count).astype(np.int64)
        out.append((f"{names[1]} {count} times of {answers}", row))
    for start in range(many):
        row = (start + np.arange(answers)) % many
        out.append((_some([names[place] for place in row[:_MOST_WORDS]], answers), row))
    unequal = np.arange(answers) % many
    for at in sorted({0, 1, answers // 2, answers - 1}):
        others = range(1, many) if at == 0 else {1, many // 2, many - 1} - {0}
        for step in list(others)[:_MOST_CHANGES]:
            row = unequal.copy()
            row[at] = (row[at] + step) % many
            words = _some([names[place] for place in row[:_MOST_WORDS]], answers)
            out.append((words if at < _MOST_WORDS else f"{words}, answer {at + 1} changed", row))
    unlike: dict[tuple[int, ...], Answers] = {}
    for words, row in out:
        unlike.setdefault(tuple(row.tolist()), Answers(words, codes[row]))
    return list(unlike.values())


def chosen_inputs(many: int, rng: np.random.Generator) -> list[int]:
    """Return places of inputs to compare: all, or both ends and some more."""
    if many <= MOST_INPUTS:
        return list(range(many))
    drawn = rng.integers(0, many, 2 * SAMPLED_INPUTS).tolist()
    return sorted(list(dict.fromkeys([0, 1, many - 1, *drawn]))[:SAMPLED_INPUTS])


def _some(names: Sequence[str], answers: int) -> str:
    return ", ".join(names) + (", ..." if answers > len(names) else "")


def _deviations(alpha: float) -> float:
    return float(math.sqrt(2) * erfcinv(2 * min(alpha, 0.5)))


def _wilson(k: ArrayLike, n: ArrayLike, z: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both ends of Wilson's interval of a probability (1927)."""
    k, n = np.asarray(k, dtype=np.float64), np.maximum(np.asarray(n, dtype=np.float64), 1)
    middle, half = k + z**2 / 2, z * np.sqrt(k * (n - k) / n + z**2 / 4)
    return np.maximum(middle - half, 0) / (n + z**2), (middle + half) / (n + z**2)


def _lowest(k: int, n: int, alpha: float) -> float:
    """Return the lower end of a Clopper-Pearson interval."""
    return float(betaincinv(k, n - k + 1, alpha)) if k else 0.0


def _highest(k: int, n: int, alpha: float) -> float:
    """Return the upper end of a Clopper-Pearson interval."""
    return 1 - float(betaincinv(n - k, k + 1, alpha)) if k < n else 1.0
