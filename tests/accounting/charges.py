"""Random lists of charges, and their cost by dp-accounting: an accountant of others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from masquerade.accounting import Caps, spent
from masquerade.exact import MICRO, Micro
from masquerade.exact.loss import ORDERS, no_loss, tail
from masquerade.exact.pairs import KnownPair, LaplacePair, NoisePair, Pair, ResponsePair

MILLION = Fraction(1, 10**6)
CAPS = (3, 6, 10, 20)
#: Distance of the grid of its losses: coarse, so that its lower bounds lie a little lower.
STEP = 1e-3
#: Chances below it may be rounding of its transforms.
SURE = 1e-10
MOST_CHARGES = 200


def random_list(seed: int) -> tuple[Caps, Counter[Pair]]:
    """Return a cap and charges of four random kinds, in random order, that the cap admits.

    Half of the lists are filled to their cap, the others stop earlier.
    """
    rng = np.random.default_rng(seed)
    caps = Caps(Micro(int(rng.choice(CAPS)) * MICRO), MILLION)
    kinds: list[Pair] = [
        NoisePair.of_number(int(rng.integers(1, 9)), Fraction(int(rng.integers(4, 400)))),
        ResponsePair(int(rng.integers(4, 30)), int(rng.integers(1, 4)), int(rng.integers(2, 12))),
        KnownPair(Micro(int(rng.integers(20_000, 2_500_000)))),
        LaplacePair(int(rng.integers(1, 9)), Fraction(int(rng.integers(2, 60)), 2)),
    ]
    used = [kinds[place] for place in rng.permutation(4)[: int(rng.integers(1, 5))]]
    most = MOST_CHARGES if rng.random() < 0.5 else int(rng.integers(1, 30))
    charges: Counter[Pair] = Counter()
    loss = no_loss()
    for _ in range(most):
        pair = used[int(rng.integers(len(used)))]
        if not caps.admits(loss + pair.loss):
            break
        charges[pair] += 1
        loss += pair.loss
    return caps, charges


def _of_others(pair: Pair, pld: Any) -> Any:
    """Return dp-accounting's distribution of one charge, from its definition, rounded down."""
    options = {"value_discretization_interval": STEP, "pessimistic_estimate": False}
    makers: dict[type[Pair], Callable[[Any], Any]] = {
        NoisePair: lambda one: pld.from_discrete_gaussian_mechanism(
            math.sqrt(one.variance), sensitivity=one.change, **options
        ),
        ResponsePair: lambda one: pld.from_randomized_response(
            # probability with which a report is drawn from all symbols alike
            one.symbols * one.other / (one.keep + (one.symbols - 1) * one.other),
            one.symbols,
            **options,
        ),
        KnownPair: lambda one: pld.from_randomized_response(
            2 / (1 + math.exp(one.epsilon.epsilon)), 2, **options
        ),
        LaplacePair: lambda one: pld.from_discrete_laplace_mechanism(
            float(1 / one.scale), sensitivity=one.steps, **options
        ),
    }
    return makers[type(pair)](pair)


@dataclass(frozen=True, slots=True)
class Compared:
    """Figures of one list, ours and those of dp-accounting, which are lower bounds of the truth.

    Attributes
    ----------
    epsilon : float
        Ours at delta 1e-6 over theirs.
    below : float
        By how much ours is below theirs; at most 0 where it is not.
    delta : float
        Theirs at the cap, over the cap's delta; 0 where the sum of pure epsilons is within the cap.
    tail : float
        Our bound that is exceeded once in a million over their quantile.
    exceeded : float
        Their chance of more than our bound.
    orders : float
        The most by which a Renyi divergence of ours is below theirs; at most 0 where none is.
    """

    epsilon: float
    below: float
    delta: float
    tail: float
    exceeded: float
    orders: float


def compared(caps: Caps, charges: Counter[Pair], pld: Any) -> Compared:
    """Return the figures of a list; `pld` is dp-accounting's module of distributions."""
    parts = [_of_others(pair, pld).self_compose(count) for pair, count in charges.items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    theirs = whole.get_epsilon_for_delta(float(MILLION))
    ours = spent(charges.elements(), MILLION).epsilon.epsilon
    loss = sum((pair.loss * count for pair, count in charges.items()), no_loss())
    dense = whole._pmf_remove.to_dense_pmf()
    chances = np.asarray(dense._probs)
    losses = (dense._lower_loss + np.arange(len(chances))) * STEP
    above = np.cumsum(chances[::-1])[::-1]  # chance of at least each loss
    bound = tail(loss).epsilon
    quantile = losses[np.flatnonzero(above > float(MILLION))[-1]]
    sure = chances > SURE  # to leave some out makes the divergences smaller
    short = -math.inf
    for a, divergence in zip(ORDERS, loss.orders, strict=True):
        terms = np.log(chances[sure]) + (a - 1) * losses[sure]
        top = float(terms.max())
        found = (top + math.log(float(np.exp(terms - top).sum()))) / (a - 1)
        short = max(short, found - divergence / MICRO)
    outright = loss.pure <= caps.epsilon.micro
    return Compared(
        epsilon=ours / max(theirs, STEP),
        below=theirs - ours,
        delta=0.0 if outright else whole.get_delta_for_epsilon(caps.epsilon.epsilon) / 1e-6,
        tail=bound / max(float(quantile), STEP),
        exceeded=float(chances[losses > bound + 1e-9].sum()) / 1e-6,
        orders=short,
    )
