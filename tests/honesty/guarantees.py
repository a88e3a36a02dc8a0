"""The table of printed guarantees: the attained amount beside each; a tenth less would show.

A row takes a printed amount times a scale, and returns how far what is attained exceeds it, over
what is allowed: at most 1 as it is printed, above 1 at nine tenths of it. What is attained is
worked out here, by enumeration, from probabilities alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from tests.accounting.test_adversaries import HIGH, worst_delta
from tests.accounting.test_sentences import (
    STEP,
    Law,
    added,
    best_power,
    law_of,
    pure_of,
    shown_powers,
    shown_suspicions,
)
from tests.accounting.test_shuffling import exact_delta

from masquerade.accounting import (
    Caps,
    Cost,
    Ledger,
    MemoryStorage,
    audit,
    charge_all,
    compose,
    compose_linked,
    composed,
    explain,
    gaussian_sigma,
    largest_power,
    pairs_of,
    power_in_words,
    published_loss,
    risk_in_words,
    spent,
    tail,
    trade_off_curve,
    what_a_cap_buys,
)
from masquerade.accounting.words import SUSPICIONS, board_in_words
from masquerade.exact import MICRO, Guarantee, Micro
from masquerade.exact.loss import ORDERS
from masquerade.exact.pairs import NoisePair, Pair
from masquerade.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
    TwoLayer,
)
from masquerade.surveys.two_parties import AFTER_SUMS

CHANCE = 1e-6
VARIANCE = 5  # of the noise of one of two parties
RATING = DiscreteGaussian(1, 5, sigma=12)
CHOICE = RandomizedResponse(5, epsilon=1)
NUMBER = DiscreteLaplace(0, 4, epsilon="0.7")
MIXED = [RATING, RATING, CHOICE, NUMBER]
PRIVATE_NUMBER = TwoLayer(2, low=0, high="0.5379")


@dataclass(frozen=True)
class Printed:
    """A printed guarantee.

    Attributes
    ----------
    name, promise : str
        What a reader sees, and what is said of it.
    outputs : tuple of str
        Public names of `masquerade.accounting` that give it.
    exceeded : callable
        From a scale of the printed amount to what is attained over what is allowed.
    """

    name: str
    promise: str
    outputs: tuple[str, ...]
    exceeded: Callable[[float], float]


def _delta(law: Law, epsilon: float) -> float:
    loss = law[0] * STEP
    above = loss > epsilon
    return float(law[1][above] @ -np.expm1(epsilon - loss[above]))


def _beyond(law: Law, bound: float) -> float:
    """Return the chance of a loss above a bound, but for the rounding of the grid."""
    return float(law[1][law[0] * STEP > bound + len(MIXED) * STEP].sum())


def _together() -> Law:
    return reduce(added, map(law_of, MIXED))


def _pure(scale: float) -> float:
    promise = compose([CHOICE, NUMBER])
    return (pure_of(CHOICE, 1) + pure_of(NUMBER, 1)) / (scale * promise.epsilon_user.epsilon)


def _one_answer(scale: float) -> float:
    promise = compose_linked([CHOICE, NUMBER, CHOICE], linked=[(0, 2)])
    return 2 * pure_of(CHOICE, 1) / (scale * promise.epsilon_event.epsilon)


def _private_number(scale: float) -> float:
    promise = PRIVATE_NUMBER.guarantee(answers=20)
    return pure_of(PRIVATE_NUMBER, 20) / (scale * promise.epsilon_user.epsilon)


def _noise(scale: float) -> float:
    return _delta(law_of(RATING), scale * RATING.guarantee().epsilon_user.epsilon) / CHANCE


def _several(scale: float) -> float:
    epsilon = spent(_pairs(), Fraction(1, 10**6)).epsilon.epsilon
    return _delta(_together(), scale * epsilon + 4 * STEP) / CHANCE


def _published(scale: float) -> float:
    mask = RandomizedResponse(2, flip_probability=Fraction(1, 4))
    found = published_loss([(mask, 60)], delta=Fraction(1, 10**6))
    assert found is not None
    ratio = Fraction(math.exp(scale * found.epsilon.epsilon)).limit_denominator(10**9)
    return max(exact_delta(3, 1, 60, firsts, ratio) for firsts in (0, 30, 59)) / CHANCE


def _pairs() -> list[Pair]:
    return list(pairs_of(MIXED).elements())


def _distribution(scale: float) -> float:
    found = composed(pairs_of(MIXED))
    assert found is not None
    return _delta(_together(), 2.0) / (scale * found.delta(2.0))


def _ledger() -> Ledger:
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=Caps(Micro(20 * MICRO)))
    with charge_all(ledger, [("p", Cost.of("S", MIXED))], result="survey", name="S"):
        pass
    return ledger


def _account(scale: float) -> float:
    [shown] = re.findall(r"epsilon = ([\d.]+) at delta", _ledger().explain("p")[0])
    return _delta(_together(), scale * float(shown) + 4 * STEP) / CHANCE


def _belief(scale: float) -> float:
    said = explain(RATING.guarantee()).all_answers
    [percent] = re.findall(r"([\d.]+) %", said)
    grown = math.log(float(percent) / (100 - float(percent)))
    return _beyond(law_of(RATING), scale * grown) / CHANCE


def _belief_of_choices(scale: float) -> float:
    said = explain(compose([CHOICE] * 2)).all_answers
    [percent] = re.findall(r"([\d.]+) %", said)
    grown = math.log(float(percent) / (100 - float(percent)))
    return 2 * pure_of(CHOICE, 1) / (scale * grown)


def _belief_between_parties(scale: float) -> float:
    # one yes or no: two counts move by one, under the noise of one party
    pair = NoisePair(2, 1, Fraction(VARIANCE))
    amount = Micro.of_amount(pair.rho)
    promise = Guarantee(
        *(Micro(0),) * 3, 1, (), trust="two-parties", rho_event=amount, rho_user=amount
    )
    [percent] = re.findall(r"([\d.]+) %", explain(promise, after=AFTER_SUMS).all_answers)
    grown = math.log(float(percent) / (100 - float(percent)))
    x = np.arange(-200, 201)
    weight = np.exp(-(x**2) / (2 * VARIANCE))
    one = np.rint((1 - 2 * x) / (2 * VARIANCE) / STEP), weight / weight.sum()
    return _beyond(added(one, one), scale * grown) / CHANCE


def _suspicions(scale: float) -> float:
    loss = RATING.loss()
    worst = 0.0
    for said in (board_in_words(RATING.guarantee())[1], risk_in_words(loss, priors=SUSPICIONS)):
        for belief, prior in zip(shown_suspicions(said), SUSPICIONS, strict=True):
            assert belief is not None
            grown = math.log(belief / (1 - belief)) - math.log(float(prior / (1 - prior)))
            worst = max(worst, _beyond(law_of(RATING), scale * grown) / CHANCE)
    return worst


def _guesses(scale: float) -> float:
    law = law_of(CHOICE)
    sentences = (power_in_words(CHOICE.loss()), board_in_words(CHOICE.guarantee())[0])
    curve = trade_off_curve(loss=CHOICE.loss())["power"].to_pylist()
    shown = [
        (rate, power / 100)
        for said in sentences
        for rate, power in zip((0.01, 0.05, 0.1), shown_powers(said), strict=True)
    ]
    shown += [(0.05, curve[5]), (0.05, largest_power(0.05, loss=CHOICE.loss()))]
    return max(best_power(law, rate) * (1 - 2 * STEP) / (scale * power) for rate, power in shown)


def _tail(scale: float) -> float:
    return (
        _beyond(_together(), scale * tail(compose(MIXED).loss_user or RATING.loss()).epsilon)
        / CHANCE
    )


def _divergences(scale: float) -> float:
    loss, law = CHOICE.loss(), law_of(CHOICE)
    attained = [
        math.log(float(law[1] @ np.exp((a - 1) * law[0] * STEP))) / (a - 1) for a in ORDERS[:8]
    ]
    return max(
        found * (1 - 1e-3) / (scale * amount / MICRO)
        for found, amount in zip(attained, loss.orders, strict=False)
    )


def _cap(scale: float) -> float:
    caps = Caps(Micro(6 * MICRO))

    def admits(counts: tuple[int, ...]) -> bool:
        return caps.admits(HIGH.loss * counts[0])

    return worst_delta(6 * scale, [HIGH], step=0.02, admits=admits) / CHANCE


def _sigma(scale: float) -> float:
    sigma = gaussian_sigma(epsilon=1.0, delta=CHANCE) * scale
    upper = 0.5 * math.erfc((sigma - 1 / (2 * sigma)) / math.sqrt(2))
    lower = 0.5 * math.erfc((sigma + 1 / (2 * sigma)) / math.sqrt(2))
    return (upper - math.e * lower) / CHANCE


def _number_of_answers(scale: float) -> float:
    caps = Caps(Micro(10 * MICRO))
    found = what_a_cap_buys(caps, options=(2,))["high, number"]
    count = math.ceil(found.by_method["fixed"] / scale)
    v = 144 * count  # sums of normal noise; the lattice is far finer than a sigma
    mu = 4 * count / math.sqrt(v)
    upper = 0.5 * math.erfc((10 / mu - mu / 2) / math.sqrt(2))
    lower = 0.5 * math.erfc((10 / mu + mu / 2) / math.sqrt(2))
    return (upper - math.exp(10) * lower) / CHANCE


def _audited(scale: float) -> float:
    found = audit(CHOICE, samples=2_000, rng=np.random.default_rng(1))
    assert found.exact_epsilon is not None
    return pure_of(CHOICE, 1) / (scale * found.exact_epsilon.epsilon)


GUARANTEES = (
    Printed("epsilon of several answers", "no report is likelier by more", ("compose",), _pure),
    Printed(
        "epsilon of an answer that decides on others",
        "all of their reports together are not likelier by more",
        ("compose_linked",),
        _one_answer,
    ),
    Printed(
        "epsilon of answers that share a private number",
        "their reports together are not likelier by more",
        ("compose",),
        _private_number,
    ),
    Printed("epsilon of noise", "delta at it is at most 1e-6", ("compose",), _noise),
    Printed("epsilon of a mixed list", "delta at it is at most 1e-6", ("spent", "Spent"), _several),
    Printed("delta of a mixed list", "at epsilon 2 it is not larger", ("composed",), _distribution),
    Printed(
        "epsilon of an account",
        "delta of all that was sent is at most 1e-6",
        ("Ledger", "Cost", "charge_all"),
        _account,
    ),
    Printed(
        "epsilon of a published page",
        "delta of the counts of 60 people at it is at most 1e-6, whatever they answered",
        ("published_loss", "Published"),
        _published,
    ),
    Printed("belief about a number", "exceeded once in a million", ("explain",), _belief),
    Printed("belief about choices", "never exceeded", ("explain",), _belief_of_choices),
    Printed(
        "belief between two parties",
        "exceeded once in a million",
        ("explain",),
        _belief_between_parties,
    ),
    Printed(
        "suspicions, to people and to an ethics board",
        "exceeded once in a million",
        ("risk_in_words",),
        _suspicions,
    ),
    Printed(
        "guesses, to people and to an ethics board",
        "no test is right about more",
        ("power_in_words", "largest_power", "trade_off_curve"),
        _guesses,
    ),
    Printed("tail of a mixed list", "exceeded once in a million", ("tail",), _tail),
    Printed("Renyi divergences", "not larger", ("Loss", "pure_loss", "pairs_of"), _divergences),
    Printed("cap", "holds at 1e-6 whatever is chosen on the way", ("Caps", "Balance"), _cap),
    Printed("noise for an epsilon", "delta is at most 1e-6", ("gaussian_sigma",), _sigma),
    Printed(
        "answers that a cap allows",
        "a fixed list of them has delta 1e-6",
        ("what_a_cap_buys",),
        _number_of_answers,
    ),
    Printed(
        "exact epsilon of an audit",
        "no report is likelier by more",
        ("audit", "AuditReport"),
        _audited,
    ),
)

#: Public names of accounting that print no amount of their own.
NO_AMOUNT = {"Auditable", "Charge", "Entry", "MemoryStorage", "Storage"}
