"""Every number in a sentence is checked against a law that is computed here from probabilities."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from tests.representative import one_in

from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage, compose, explain
from masquerade.accounting.audit_table import pattern_counts
from masquerade.accounting.words import RARELY, SUSPICIONS, board_in_words
from masquerade.exact import MICRO, Micro
from masquerade.exact.arrays import Floats
from masquerade.mechanisms import (
    BitwiseResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    Mechanism,
    QuantisedResponse,
    RandomizedResponse,
    TwoLayer,
)

STEP = 1e-4  # losses are rounded to it
SEEDS = range(72)

#: Losses in steps, with their probabilities under the first of two answers.
Law = tuple[Floats, Floats]


def drawn(rng: np.random.Generator) -> Mechanism:
    """Return a mechanism at random."""
    epsilon = Fraction(int(rng.integers(1, 4000)), 1000)
    points = int(rng.integers(2, 8))
    null = bool(rng.integers(2))
    match int(rng.integers(12)):
        case 0 | 1:
            return RandomizedResponse(points, epsilon=epsilon, null=null)
        case 2 | 3:
            return QuantisedResponse(0, points, epsilon=epsilon, levels=2, null=null)
        case 4 | 5:
            return DiscreteLaplace(0, points, epsilon=epsilon)
        case 6:
            return BitwiseResponse(points, int(rng.integers(1, 3)), epsilon=epsilon)
        case 7 | 8 | 9:
            sigma = (points - 1) * Fraction(int(rng.integers(5, 80)), 10)
            return DiscreteGaussian(0, points - 1, sigma=sigma)
        case _:
            low = Fraction(int(rng.integers(1, 40)), 100)
            return TwoLayer(points, low=low, high=low + Fraction(int(rng.integers(5, 40)), 100))


def rows_of(mechanism: Mechanism) -> list[Floats]:
    """Return the probabilities of all reports of each answer, of the two ends for numbers."""
    if isinstance(mechanism, RandomizedResponse | QuantisedResponse):
        return [np.array([float(p) for p in row]) for row in mechanism.channel().table]
    if isinstance(mechanism, BitwiseResponse):
        keep = float(mechanism.bit.keep_probability)
        size, most = mechanism.options, mechanism.most
        sets = [code for code in range(1 << size) if code.bit_count() <= (most or size)]
        moved = [[(code ^ report).bit_count() for report in range(1 << size)] for code in sets]
        return [(1 - keep) ** np.array(row) * keep ** (size - np.array(row)) for row in moved]
    assert isinstance(mechanism, DiscreteGaussian | DiscreteLaplace)
    lattice = mechanism.lattice
    reach = 700 if isinstance(mechanism, DiscreteGaussian) else 0
    reports = lattice.values(np.arange(-reach, lattice.points + reach))
    ends = lattice.values(np.array([0, lattice.points - 1]))
    rows = [np.asarray(mechanism.probability(end, reports), dtype=np.float64) for end in ends]
    if isinstance(mechanism, DiscreteLaplace):  # all that lies beyond, put onto the ends
        q = math.exp(-1 / mechanism.scale)
        for row in rows:
            row[0], row[-1] = row[0] / (1 - q), row[-1] / (1 - q)
    return rows


def law_of(mechanism: Mechanism) -> Law:
    """Return the law of the loss between the two answers that are told apart best."""
    pairs = itertools.permutations(rows_of(mechanism), 2)

    def told(pair: tuple[Floats, Floats]) -> float:
        seen = (pair[0] > 1e-60) & (pair[1] > 1e-60)
        loss = np.log(pair[0][seen] / pair[1][seen])
        return float(pair[0][seen] @ loss)

    one, other = max(pairs, key=told)
    seen = (one > 1e-60) & (other > 1e-60)
    places = np.rint(np.log(one[seen] / other[seen]) / STEP)
    values, which = np.unique(places, return_inverse=True)
    return values, np.bincount(which, weights=one[seen]).astype(np.float64)


def added(one: Law, other: Law) -> Law:
    """Return the law of the sum of two independent losses."""
    values, which = np.unique((one[0][:, None] + other[0]).ravel(), return_inverse=True)
    both = (one[1][:, None] * other[1]).ravel()
    chances = np.bincount(which, weights=both).astype(np.float64)
    kept = chances > 1e-18
    return values[kept], chances[kept]


def best_power(law: Law, rate: float) -> float:
    """Return the power of the best test of a false-positive rate (Neyman and Pearson)."""
    loss, chance = law[0][::-1] * STEP, law[1][::-1]
    alarms = np.concatenate([[0.0], np.cumsum(chance * np.exp(-loss))])
    return float(np.interp(rate, alarms, np.concatenate([[0.0], np.cumsum(chance)])))


def pure_of(mechanism: Mechanism, count: int) -> float:
    """Return the largest loss of `count` answers; infinite for Gaussian noise."""
    if isinstance(mechanism, TwoLayer):
        form = mechanism.device_form()
        first, last, total, symbols = (
            int(form[key]) for key in ("first", "last", "total", "symbols")
        )
        counts = pattern_counts(first, last, total, symbols, count)
        return math.log(max(counts) / min(counts))
    if isinstance(mechanism, DiscreteGaussian):
        return math.inf
    ratios = [np.log(a / b).max() for a, b in itertools.permutations(rows_of(mechanism), 2)]
    return count * float(max(ratios))


def percents(sentence: str) -> list[float]:
    """Return the percentages of a sentence; 99.9 where somebody may tell nearly for certain."""
    found = [float(one) for one in re.findall(r"([\d.]+) %", sentence)]
    return found or [99.9]


def shown_suspicions(sentence: str) -> list[float | None]:
    """Return the beliefs that suspicions grow to; None where it is near certainty."""
    said = sentence.split("suspect it with ")[1].split(" after")[0].removeprefix("at most ")
    words = re.split(r",? or |, (?=\d+ in|\d|near)", said)
    found: list[float | None] = []
    for word in words:
        if word == "near certainty":
            found.append(None)
        elif word.startswith("1 in "):
            found.append(1 / float(word.removeprefix("1 in ").replace(",", "")))
        else:
            found.append(float(word.removesuffix(" %")) / 100)
    return found


def shown_powers(sentence: str) -> list[float]:
    """Return the expected number of 100 people told at each rate; 100 where all may be."""
    found = re.search(r"at most ([\d.]+), ([\d.]+) or ([\d.]+) of 100", sentence)
    return [float(one) for one in found.groups()] if found else [100.0] * 3


@pytest.mark.parametrize("seed", one_in(2, list(SEEDS)))
def test_exact_what_is_said_of_a_random_response_is_true(seed: int) -> None:
    """Beliefs, suspicions, powers, epsilons and the chance of more, of mixed answers together."""
    rng = np.random.default_rng(seed)
    pool = [drawn(rng) for _ in range(int(rng.integers(1, 4)))]
    mechanisms = [pool[int(place)] for place in rng.integers(len(pool), size=rng.integers(1, 5))]
    groups = Counter(mechanisms)
    promise = compose(mechanisms)
    said, (guesses, suspicions) = explain(promise), board_in_words(promise)
    pure = sum(pure_of(mechanism, count) for mechanism, count in groups.items())
    if not promise.delta:
        assert pure - 1e-9 <= promise.epsilon_user.epsilon <= pure + 1e-5
    [together] = percents(said.all_answers)
    if RARELY not in said.all_answers:
        assert together >= min(99.9, 100 / (1 + math.exp(-pure)) - 1e-9)
    ledger = Ledger(
        MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(400 * MICRO), Caps().delta)
    )
    ledger.charge("p", "one", Cost.of("S", mechanisms))
    statement = ledger.explain("p")
    if any(isinstance(one, TwoLayer) for one in mechanisms):
        return  # whose answers are not independent: its largest loss is compared above
    law = reduce(added, map(law_of, mechanisms))
    slack = STEP * len(mechanisms)
    beliefs: list[tuple[float | None, Fraction]] = [(together / 100, Fraction(1, 2))]
    beliefs += zip(shown_suspicions(suspicions), SUSPICIONS, strict=True)
    for belief, prior in beliefs:
        if belief is not None and belief < 0.999:
            grown = math.log(belief / (1 - belief)) - math.log(float(prior / (1 - prior)))
            assert law[1][law[0] * STEP > grown + slack].sum() <= 1e-6
    for sentence in (guesses, *(one for one in statement if "guesses" in one)):
        for shown, rate in zip(shown_powers(sentence), (0.01, 0.05, 0.1), strict=True):
            assert shown / 100 >= best_power(law, rate) * (1 - 2 * slack)
    spent = ledger.spent("p")
    assert f"epsilon = {spent.epsilon}" in statement[0]
    loss = law[0] * STEP
    above = loss > spent.epsilon.epsilon + slack
    delta = law[1][above] @ -np.expm1(spent.epsilon.epsilon + slack - loss[above])
    assert delta <= float(spent.delta) + 1e-12
    outright = [pure_of(one, 1) for one in groups if not isinstance(one, DiscreteGaussian)]
    alone = max(outright, default=0.0)
    assert percents(said.one_answer)[0] >= min(99.9, 100 / (1 + math.exp(-alone)) - 0.01)


def test_every_assumption_is_printed() -> None:
    """The conditions of a guarantee stand in its JSON."""
    for seed in range(20):
        mechanism = drawn(np.random.default_rng(seed))
        printed = " ".join(mechanism.guarantee().to_json()["assumptions"])
        assert "fresh operating-system randomness" in printed
        assert "which tasks a person answered may be seen" in printed
