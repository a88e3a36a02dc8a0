"""Worst pairs of one report: their losses point by point, and their zero-concentrated loss."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from masquerade.exact import INFINITE_LOSS, MICRO, Micro
from masquerade.exact.pairs import (
    KnownPair,
    LaplacePair,
    NoisePair,
    Pair,
    ResponsePair,
    RhoPair,
    rho_of_pure,
    rho_together,
)

EVERY = [
    ResponsePair(3, 1, 2),
    ResponsePair(7, 2, 5),
    ResponsePair(1, 4, 3),
    LaplacePair(1, Fraction(1)),
    LaplacePair(4, Fraction(7, 3)),
    NoisePair.of_number(4, Fraction(36)),
    NoisePair.of_number(1, Fraction(1, 4)),
    KnownPair(Micro(1_000_000)),
]


@pytest.mark.parametrize("pair", EVERY, ids=str)
def test_losses_of_a_pair_are_those_of_two_distributions(pair: Pair) -> None:
    """Shares add to 1, so do those times e**-loss, and no loss is above the pure epsilon."""
    points = pair.points()
    assert points is not None
    loss, share = np.array(points.loss), np.array(points.probability)
    assert share.sum() == pytest.approx(1, abs=1e-12)
    assert (share * np.exp(-loss)).sum() == pytest.approx(1, abs=1e-9)
    if not math.isinf(pair.loss.pure):
        assert loss.max() == pytest.approx(float(pair.loss.pure) / MICRO, abs=1e-6)
        assert loss.max() <= float(pair.loss.pure) / MICRO + 1e-12


def test_exact_the_concentrated_loss_of_an_epsilon_is_rounded_up() -> None:
    """Of 2000 epsilons, epsilon tanh(epsilon / 2) is at most the stated one, by a millionth."""
    with mpmath.workdps(40):
        for micro in range(1, 20_000_000, 10_007):
            epsilon = mpmath.mpf(micro) / MICRO
            exact = epsilon * mpmath.tanh(epsilon / 2) * MICRO
            stated = int(rho_of_pure(Micro(micro)) * MICRO)
            assert exact <= stated <= micro
            assert stated - exact < 1 + mpmath.mpf("1e-3")


def test_rho_of_several_reports_is_rounded_up_once() -> None:
    """Three thirds of a millionth are one; an answer in clear leaves no bound."""
    assert rho_together({RhoPair(Fraction(1, 3 * MICRO)): 3}) == Micro(1)
    assert rho_together({RhoPair(Fraction(1, 3 * MICRO)): 4}) == Micro(2)
    assert rho_together({ResponsePair(1, 0, 2): 1}) == INFINITE_LOSS
