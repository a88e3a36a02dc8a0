"""Privacy levels: one strength for every kind of question, with the published numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from masquerade.errors import ParameterError
from masquerade.mechanisms import LEVELS, Level, level_named
from masquerade.mechanisms.privacy_level import concentrated_loss

GOLDEN_FLIPS = {
    "low": (0.1915, 0.2917, 0.3559, 0.4016, 0.4638, 0.5212),
    "medium": (0.3364, 0.4775, 0.5577, 0.6104, 0.6765, 0.7323),
    "high": (0.4171, 0.5734, 0.6571, 0.7097, 0.7730, 0.8256),
}
GOLDEN_EPSILONS = {
    "low": (1.4405, 1.785, 2.112),
    "medium": (0.6793, 0.9375, 1.191),
    "high": (0.3349, 0.4923, 0.6428),
}


@pytest.mark.parametrize("name", GOLDEN_FLIPS)
def test_flip_probabilities_are_the_published_ones(name: str) -> None:
    """Each level flips with the published probability for 2, 3, 4, 5, 7 and 10 options."""
    level = level_named(name)
    for options, flip in zip((2, 3, 4, 5, 7, 10), GOLDEN_FLIPS[name], strict=True):
        mechanism = level.randomized_response(options)
        assert float(mechanism.flip_probability) == pytest.approx(flip, abs=5.1e-5)


@pytest.mark.parametrize("name", GOLDEN_EPSILONS)
def test_pure_epsilons_are_the_published_ones(name: str) -> None:
    """The exact pure epsilon of a level's mechanism is the published one."""
    level = level_named(name)
    for options, epsilon in zip((2, 5, 10), GOLDEN_EPSILONS[name], strict=True):
        promised = level.randomized_response(options).guarantee().epsilon_single.epsilon
        assert promised == pytest.approx(epsilon, abs=5.1e-4 if epsilon > 1.5 else 1.1e-4)


def true_concentrated_loss(flip: Fraction, symbols: int) -> mpmath.mpf:
    """Return sup over orders of divergence / order in 40 digits, by two rounds of search."""
    p = mpmath.mpf(flip.numerator) / flip.denominator
    keep, other = 1 - p, p / (symbols - 1)

    def per_order(log_excess: mpmath.mpf) -> mpmath.mpf:
        a = 1 + mpmath.exp(log_excess)
        total = keep**a * other ** (1 - a) + other**a * keep ** (1 - a) + (symbols - 2) * other
        return mpmath.log(total) / (a - 1) / a

    coarse = [mpmath.mpf(k) / 4 for k in range(-40, 20)]
    best = max(coarse, key=per_order)
    fine = max(per_order(best + mpmath.mpf(k) / 2000) for k in range(-500, 501))
    return max(fine, (keep - other) * mpmath.log(keep / other))


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
@pytest.mark.parametrize("options", [2, 3, 5, 10, 20, 100])
def test_no_mechanism_of_a_level_is_weaker_than_the_level(level: Level, options: int) -> None:
    """The zero-concentrated loss is at most mu**2 / 2, and within 1e-4 of it."""
    flip = level.randomized_response(options).flip_probability
    with mpmath.workdps(40):
        loss = true_concentrated_loss(flip, options)
        rho = mpmath.mpf((level.mu**2 / 2).numerator) / (level.mu**2 / 2).denominator
        assert rho * (1 - mpmath.mpf(10) ** -4) < loss <= rho


@pytest.mark.parametrize("options", [2, 3, 5, 10, 50])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.3, 1.0, 3.0, 12.0])
def test_the_concentrated_loss_keeps_below_the_bound_for_every_mechanism(
    options: int, epsilon: float
) -> None:
    """It is at most epsilon * tanh(epsilon / 2), with equality for two options."""
    loss, bound = concentrated_loss(epsilon, options), epsilon * math.tanh(epsilon / 2)
    assert 0 <= loss <= bound + 1e-11
    if options == 2:
        assert loss == pytest.approx(bound, abs=1e-11)


def test_no_answer_counts_as_one_more_symbol() -> None:
    """A level's mechanism for two options with skipping flips like one for three symbols."""
    level = level_named("medium")
    with_skip = level.randomized_response(2, null=True)
    assert with_skip.symbols == 3
    assert with_skip.flip_probability == level.randomized_response(3).flip_probability


def test_levels_are_named_and_ordered_by_strength() -> None:
    """The three levels are found by name, strongest first; another name is an error."""
    assert [level.name for level in LEVELS] == ["high", "medium", "low"]
    assert [level_named(level.name) for level in LEVELS] == list(LEVELS)
    assert [round(level.rho, 4) for level in LEVELS] == [0.0556, 0.2222, 0.8889]
    with pytest.raises(ParameterError, match="level is 'none', expected one of high, medium, low"):
        level_named("none")


def test_a_level_of_one_s_own_may_protect_very_little() -> None:
    """A mu for which keeping is all but certain still gives a mechanism, of finite loss."""
    mechanism = Level("open", Fraction(10)).randomized_response(2)
    loss = mechanism.guarantee().epsilon_single.epsilon
    assert loss == pytest.approx(50, abs=8)
    assert concentrated_loss(59.0, 5) == pytest.approx(59, rel=0.05)
