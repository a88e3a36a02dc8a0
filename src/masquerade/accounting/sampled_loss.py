"""A lower confidence bound on epsilon from reports alone, without trust in the mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, erfcinv

from masquerade.accounting.audit_report import Witness
from masquerade.accounting.audit_views import View
from masquerade.exact.arrays import Integers

#: Pairs of answers that one view of their reports tests.
MOST_TESTED = 24

_MOST_KINDS = 512  # of reports; more are put into ranges, as are numbers that hardly repeat
_MOST_RANGES = 256
_FEWEST_A_KIND = 4
_MOST_NAMED = 5
_LARGEST_SCORES = 1 << 22
_EXTREMES = 2
_TINY = 1e-300
_MANY = 256


@dataclass(frozen=True, slots=True)
class SampledLoss:
    """A lower bound on the loss that drawn reports prove."""

    epsilon: float  # at most the true epsilon, but for the probability of a false alarm; at least 0
    # The reports that show it, how many were seen, and between which answers; None where no set of
    # reports tells the answers apart.
    worst: Witness | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Reports of two answers (or vectors of answers), for comparison."""

    words: tuple[str, str]  # (str, str)
    # one, other: array, shape (n,). Reports of each: numbers or texts.
    one: NDArray[Any]
    other: NDArray[Any]
    # Whether reports mean something to a reader; otherwise they are counted, not named.
    named: bool = True


def lower_bound(pairs: Sequence[Pair], *, delta: float, false_alarm: float) -> SampledLoss:
    """Return the largest lower confidence bound on epsilon over pairs, in both directions.

    The first half of the reports chooses a set of reports, the second half bounds its
    probabilities under both answers (Clopper and Pearson, 1934), so that the choice costs nothing.
    The confidence is shared among all pairs and directions (Bonferroni).

    `false_alarm`: probability with which the bound may exceed the true epsilon.
    """
    alpha = false_alarm / (4 * len(pairs))  # two directions, two probabilities
    best = SampledLoss(0.0, None)
    for pair in pairs:
        # The reports that choose the event do not test it: a bound on the best of many would be too
        # high.
        choose, check = _halves(pair)
        for swap in (False, True):
            (a, b), (a2, b2) = (
                (half[1], half[0]) if swap else half for half in (choose.counts, check.counts)
            )
            kinds = _choose(a, b, delta, alpha)
            found, seen = _bound(a2, b2, kinds, delta, alpha)
            if found > best.epsilon:
                event = check.name(kinds, a2, named=pair.named)
                one, other = pair.words[::-1] if swap else pair.words
                best = SampledLoss(found, Witness(f"{event} {seen}", (one, other)))
    return best


def fit_p_value(counts: ArrayLike, probability: ArrayLike) -> float:
    """Return at most how likely such counts are: the least exact binomial p-value (Bonferroni)."""
    seen = np.asarray(counts, dtype=np.int64).ravel()
    expected = np.clip(np.asarray(probability, dtype=np.float64).ravel(), 0.0, 1.0)
    n, tests = int(seen.sum()), len(seen)
    if tests > _MANY:  # the smallest p-value is among the largest deviations
        spread = np.sqrt(n * expected * (1 - expected)) + _TINY
        far = np.argsort(-np.abs(seen - n * expected) / spread, kind="stable")[:_MANY]
        seen, expected = seen[far], expected[far]
    # P(count <= seen) and P(count >= seen), as incomplete beta integrals
    below = np.where(seen < n, betainc(np.maximum(n - seen, 1), seen + 1, 1 - expected), 1.0)
    above = np.where(seen > 0, betainc(np.maximum(seen, 1), n - seen + 1, expected), 1.0)
    return float(min(1.0, 2 * np.minimum(below, above).min() * tests))


@dataclass(frozen=True, slots=True)
class _Half:
    """Counts of kinds of reports in one half, for both answers."""

    counts: tuple[Integers, Integers]
    names: list[str]

    def name(self, kinds: Integers, seen: Integers, *, named: bool) -> str:
        if not named:
            return f"of {len(kinds)} of {len(self.names) - 1} kinds"
        often = kinds[np.argsort(-seen[kinds], kind="stable")]
        shown = " or ".join(self.names[kind] for kind in often[:_MOST_NAMED])
        more = len(kinds) - _MOST_NAMED
        return shown + (f" or {more} others" if more > 0 else "")


def _halves(pair: Pair) -> tuple[_Half, _Half]:
    """Return counts in both halves, by kinds of reports that the first half fixes."""
    # one half chooses, the other is counted: an event picked from its own counts proves nothing
    cut, cut_other = len(pair.one) // 2, len(pair.other) // 2
    first = np.concatenate([pair.one[:cut], pair.other[:cut_other]])
    values = np.unique(first)
    floats = np.issubdtype(first.dtype, np.floating)
    if floats:
        values = values[~np.isnan(values)]
    most = min(_MOST_KINDS, len(first) // _FEWEST_A_KIND)
    ranges = np.issubdtype(first.dtype, np.number) and len(values) > max(most, 2)
    if ranges:
        shares = np.linspace(0, 1, min(_MOST_RANGES, max(2, most // 2)) + 1)[1:-1]
        edges = np.unique(np.nanquantile(first, shares))
        names = [f"below {edges[0]:.4g}"]
        names += [f"{a:.4g} to {b:.4g}" for a, b in itertools.pairwise(edges)]
        names += [f"from {edges[-1]:.4g}", "'no answer'"]
    else:
        edges = values
        names = [
            *(str(value) for value in values.tolist()),
            "'no answer'" if floats else "one seldom seen",
        ]

    def counted(reports: NDArray[Any]) -> Integers:
        if ranges:
            kind = np.searchsorted(edges, reports, side="right")
            kind[np.isnan(reports)] = len(names) - 1
        else:
            kind = np.minimum(np.searchsorted(edges, reports), max(len(edges) - 1, 0))
            same = edges[kind] == reports if len(edges) else np.zeros(len(reports), dtype=bool)
            kind = np.where(same, kind, len(names) - 1)
        return np.bincount(kind, minlength=len(names)).astype(np.int64)

    return (
        _Half((counted(pair.one[:cut]), counted(pair.other[:cut_other])), names),
        _Half((counted(pair.one[cut:]), counted(pair.other[cut_other:])), names),
    )


def of_view(view: View, pairs: Integers, *, delta: float, false_alarm: float) -> SampledLoss:
    """Return the largest lower confidence bound on epsilon over pairs of answers, of one view.

    The first half of the reports chooses a few pairs of answers and for each a set of reports, the
    second half bounds its probabilities (Clopper and Pearson, 1934), so that neither choice costs
    anything. The confidence is shared among the pairs that are tested (Bonferroni).

    `pairs` (pairs, 2): ordered pairs of answers to compare: the first more likely than the second.
    `false_alarm`: probability with which the bound may exceed the true epsilon.
    """
    alpha = false_alarm / (2 * MOST_TESTED)  # of each pair two probabilities
    best = SampledLoss(0.0, None)
    for one, other in _promising(view.first, pairs, alpha):
        kinds = _choose(view.first[one], view.first[other], delta, alpha)
        found, seen = _bound(view.second[one], view.second[other], kinds, delta, alpha)
        if found > best.epsilon:
            often = kinds[np.argsort(-view.second[one][kinds], kind="stable")]
            shown = " or ".join(f"{view.name}{view.kinds[kind]}" for kind in often[:_MOST_NAMED])
            more = f" or {len(kinds) - _MOST_NAMED} others" if len(kinds) > _MOST_NAMED else ""
            best = SampledLoss(found, Witness(f"{shown}{more} {seen}", (str(one), str(other))))
    return best


def _promising(counts: Integers, pairs: Integers, alpha: float) -> list[tuple[int, int]]:
    """Return the pairs of answers that promise most: by one kind of reports, and by many."""
    if len(pairs) <= MOST_TESTED:
        return [(int(a), int(b)) for a, b in pairs]
    z = _deviations(alpha)
    low, high = _wilson(counts, counts.sum(axis=1, keepdims=True), z)
    log_low = np.log(np.maximum(low, _TINY))
    log_high = np.log(high)
    if len(pairs) * counts.shape[1] > _LARGEST_SCORES:
        # Of each kind: the answers under which it is most and least likely.
        allowed = np.zeros((len(counts), len(counts)), dtype=np.bool_)
        allowed[pairs[:, 0], pairs[:, 1]] = True
        often = np.argsort(-log_low, axis=0, kind="stable")[:_EXTREMES]
        seldom = np.argsort(log_high, axis=0, kind="stable")[:_EXTREMES]
        some = {(a, b) for a in range(_EXTREMES) for b in range(_EXTREMES)}
        ends = np.concatenate([np.stack([often[a], seldom[b]], axis=1) for a, b in sorted(some)])
        pairs = np.unique(np.concatenate([ends, pairs[:: len(pairs) // MOST_TESTED]]), axis=0)
        pairs = pairs[allowed[pairs[:, 0], pairs[:, 1]]]
    single, several = np.empty(len(pairs)), np.empty(len(pairs))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    block = max(1, _LARGEST_SCORES // counts.shape[1])
    for start in range(0, len(pairs), block):
        a, b = pairs[start : start + block].T
        single[start : start + block] = (log_low[a] - log_high[b]).max(axis=1)
        several[start : start + block] = np.abs(share[a] - share[b]).sum(axis=1)
    by_one = np.argsort(-single, kind="stable")[: MOST_TESTED * 2 // 3]
    by_many = np.setdiff1d(np.argsort(-several, kind="stable")[:MOST_TESTED], by_one)
    chosen = [*by_one.tolist(), *by_many.tolist()][:MOST_TESTED]
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
