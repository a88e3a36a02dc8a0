"""Words and odds never promise more than the guarantee they explain."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import partial

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.accounting import (
    compose,
    explain,
    highest_belief,
    keep_in_words,
    largest_power,
    power_in_words,
    risk_in_words,
)
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Guarantee, Micro
from masquerade.mechanisms import LEVELS, RandomizedResponse, TwoLayer

MILLIONTH = Fraction(1, 10**6)


def promise(event: Micro, user: Micro, answers: int = 2) -> Guarantee:
    """Return a guarantee of these amounts."""
    return Guarantee(event, event, user, answers, ())


def percentages(text: str) -> list[Fraction]:
    """Return the percentages in a sentence, as they are written."""
    return [Fraction(number) for number in re.findall(r"([\d.]+) %", text)]


@pytest.mark.parametrize("flip", [Fraction(1, 4), Fraction(1, 10), Fraction(2, 5), Fraction(9, 10)])
@pytest.mark.parametrize("symbols", [2, 3, 5])
def test_exact_highest_belief_is_the_posterior_of_randomized_response(
    flip: Fraction, symbols: int
) -> None:
    """The bound is the worst posterior by Bayes' rule between two answers, for any prior."""
    mechanism = RandomizedResponse(symbols, flip_probability=flip)
    table = mechanism.channel().table
    for prior in (Fraction(1, 2), Fraction(1, 100), Fraction(9, 10)):
        worst = max(
            prior * table[a][r] / (prior * table[a][r] + (1 - prior) * table[b][r])
            for a in range(symbols)
            for b in range(symbols)
            for r in range(symbols)
        )
        bound = highest_belief(mechanism.guarantee().epsilon_event, prior=float(prior))
        assert float(worst) - 1e-12 <= bound <= float(worst) + 1e-6


@given(
    micro=st.integers(0, 10**10),
    prior=st.floats(1e-300, 1, exclude_max=True, allow_subnormal=False),
)
def test_prop_highest_belief_is_bayes_rule(micro: int, prior: float) -> None:
    """The bound is prior odds times e**epsilon, from none to huge losses and extreme priors."""
    with mpmath.workdps(60):
        odds = mpmath.mpf(prior) / (1 - mpmath.mpf(prior)) * mpmath.exp(mpmath.mpf(micro) / 10**6)
        expected = odds / (1 + odds)
        assert abs(highest_belief(Micro(micro), prior=prior) - expected) <= 1e-12 * expected


def test_highest_belief_at_the_ends() -> None:
    """No loss leaves a belief as it was, an infinite one makes it certain, whatever it was."""
    for prior in (0.001, 0.5, 0.999999, 1.0):
        assert highest_belief(NO_LOSS, prior=prior) == pytest.approx(prior, rel=1e-15)
        assert highest_belief(INFINITE_LOSS, prior=prior) == 1
        assert highest_belief(Micro(10**12), prior=prior) == 1


@pytest.mark.parametrize("prior", [0.0, -0.1, 1.1, math.nan])
def test_impossible_priors_are_refused(prior: float) -> None:
    """A prior that no report can change, or that is no probability, is an error."""
    with pytest.raises(ParameterError, match="prior"):
        highest_belief(Micro(1), prior=prior)


@given(event=st.integers(1, 9 * 10**6), more=st.integers(0, 10**7))
def test_prop_percentages_are_never_rounded_down(event: int, more: int) -> None:
    """Each percentage is at least the true bound, and less than a tenth of a percent above it."""
    words = explain(promise(Micro(event), Micro(event + more)))
    for text, micro in ((words.one_answer, event), (words.all_answers, event + more)):
        with mpmath.workdps(60):
            true = 100 / (1 + mpmath.exp(-mpmath.mpf(micro) / 10**6))
            shown = [mpmath.mpf(p.numerator) / p.denominator for p in percentages(text)]
            if shown:
                assert true <= shown[0] <= true + mpmath.mpf("0.1000001")
                assert shown[0] < 100 or "nearly 100 %" in text


def test_one_answer_and_all_answers_are_told_apart() -> None:
    """The sentence on one answer uses the event loss, the one on all answers the user loss."""
    words = explain(promise(Micro(1_098_613), Micro(2_197_225), answers=7))
    assert percentages(words.one_answer) == [Fraction("75.1")]
    assert percentages(words.all_answers) == [Fraction("90.1")]
    assert "all 7 questions" in words.all_answers
    single = explain(promise(Micro(5), Micro(5), answers=1))
    assert single.one_answer == single.all_answers


def test_nothing_and_everything_in_words() -> None:
    """No loss says nothing was learnt; an infinite one warns; a huge one never shows 100 %."""
    none, all_ = explain(promise(NO_LOSS, INFINITE_LOSS)), explain(promise(Micro(1), Micro(10**8)))
    assert "says nothing" in none.one_answer
    assert "for certain" in none.all_answers
    assert percentages(all_.all_answers) == [100]
    assert "nearly 100 %" in all_.all_answers


@pytest.mark.parametrize("micro", [1, 999, 1000, 1001])
def test_only_no_loss_at_all_says_nothing(micro: int) -> None:
    """A thousandth of epsilon, and a millionth, is a loss that is stated in odds."""
    words = explain(promise(Micro(micro), Micro(micro)))
    for text in (words.one_answer, words.all_answers):
        assert "nothing" not in text
        [shown] = percentages(text)
        assert shown > 50


@given(micro=st.integers(0, 10**7), power=st.integers(0, 9))
def test_prop_powers_in_words_are_never_rounded_down(micro: int, power: int) -> None:
    """Each of the three numbers is at least the largest power, and less than 0.1 above it."""
    delta = Fraction(1, 10**power) if power else Fraction(0)
    text = power_in_words(partial(largest_power, loss=Micro(micro), delta=delta))
    shown = re.search(r"at most ([\d.]+), ([\d.]+) or ([\d.]+) of 100", text)
    d = mpmath.mpf(delta.numerator) / delta.denominator
    for place, rate in enumerate((mpmath.mpf("0.01"), mpmath.mpf("0.05"), mpmath.mpf("0.1"))):
        with mpmath.workdps(40):
            grown = mpmath.exp(mpmath.mpf(micro) / 10**6)
            exact = 100 * min(1, grown * rate + d, 1 - (1 - d - rate) / grown)
            if shown is None:
                assert "nearly for certain" in text
                assert exact >= 99
            else:
                assert (
                    exact - 1e-9 <= mpmath.mpf(shown[place + 1]) <= exact + mpmath.mpf("0.1000001")
                )


def test_a_sentence_of_powers() -> None:
    """The sentence holds rates and powers, and an unbounded loss is called one."""
    assert power_in_words(lambda rate: rate) == (
        "Somebody who guesses that you gave certain answers, and is wrong about 1, 5 or 10 of 100 "
        "people who gave others, is right about at most 1, 5 or 10 of 100 who gave them."
    )
    assert "nearly for certain" in power_in_words(partial(largest_power, loss=INFINITE_LOSS))


@given(micro=st.integers(0, 10**7), one_in=st.integers(2, 10**6))
def test_prop_risks_are_never_rounded_down(micro: int, one_in: int) -> None:
    """The risk in words is at least the belief that Bayes' rule allows."""
    text = risk_in_words(Micro(micro), prior=Fraction(1, one_in))
    belief = highest_belief(Micro(micro), prior=1 / one_in)
    shown = text.split("with at most ")[-1] if "at most" in text else ""
    if percentages(shown):
        assert percentages(shown)[0] / 100 >= Fraction(belief) - Fraction(1, 10**12)
    elif shown:
        odds = int(shown.split(" after")[0].removeprefix("1 in ").replace(",", ""))
        assert 1 / odds >= belief * (1 - 1e-11)
    else:
        assert "near certainty" in text


def test_risk_in_words() -> None:
    """The sentence has the odds before and after, and the chance with which it may fail."""
    assert risk_in_words(Micro(1_000_000), prior=Fraction(1, 100)) == (
        "Somebody who suspected a certain answer of you with 1 in 100 can suspect it with at most "
        "1 in 37 after seeing what you send."
    )
    assert risk_in_words(Micro(0), delta=MILLIONTH).endswith(
        "But for a chance of 1 in 1,000,000: with that chance something may be sent to which this "
        "limit does not apply."
    )
    for prior in (Fraction(0), Fraction(1)):
        with pytest.raises(ParameterError, match="prior"):
            risk_in_words(Micro(1), prior=prior)
    with pytest.raises(ParameterError, match="delta"):
        risk_in_words(Micro(1), delta=Fraction(2))


def test_keeping_in_words_tells_equal_sizes_apart() -> None:
    """Two masks for the same number of options are both stated."""
    text = keep_in_words(
        [RandomizedResponse(2, flip_probability=flip) for flip in ("0.1", "0.4", "0.1")]
    )
    assert "about 90 of 100 people" in text
    assert text.endswith("; 60 with 2 options send their own.")


def test_keeping_in_words_agrees_with_the_channel() -> None:
    """The share of people who send their own answer is the channel's, for every size."""
    low = LEVELS[-1]
    two, five = low.randomized_response(2), low.randomized_response(5)
    keep = [round(100 * m.keep_probability) for m in (two, five)]
    text = keep_in_words([two, five, two])
    assert f"about {keep[0]} of 100 people send the answer they gave" in text
    assert f"{100 - keep[0]} send the other one" in text
    assert f"{keep[1]} with 5 options send their own" in text
    assert "by chance" in keep_in_words([five])
    layered = TwoLayer(2, low=0, high=Fraction(1, 2))
    assert "about 75 of 100 people" in keep_in_words([layered])


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_the_words_of_every_level_hold(level: object) -> None:
    """At each level the sentence on one answer holds for the mechanism that is used."""
    for options in (2, 5, 100):
        mechanism = level.randomized_response(options)  # type: ignore[attr-defined]
        [shown] = percentages(explain(compose([mechanism])).one_answer)
        keep, flip = mechanism.keep_probability, mechanism.flip_probability
        assert shown / 100 >= keep / (keep + flip / (options - 1))
