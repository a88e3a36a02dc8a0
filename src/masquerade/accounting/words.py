"""Losses and privacy levels in words and odds that need no formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masquerade.accounting.trade_off import NO_CHANCE
from masquerade.answers.result import Result
from masquerade.exact import INFINITE_LOSS, NO_LOSS, Guarantee, Micro
from masquerade.exact.number import in_range
from masquerade.mechanisms import (
    BitwiseResponse,
    CategoricalMechanism,
    DiscreteGaussian,
    Mechanism,
)

#: False-positive rates at which powers are stated.
RATES = (Fraction(1, 100), Fraction(5, 100), Fraction(10, 100))

_NEARLY_ALWAYS = 0.999


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """A guarantee for a reader without formulas.

    Attributes
    ----------
    one_answer, all_answers : str
        What anyone can come to believe about one answer, and about all of them together.

    Examples
    --------
    >>> from masquerade.accounting import explain
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> isinstance(explain(RandomizedResponse(2, epsilon=1).guarantee()), Explanation)
    True
    """

    one_answer: str
    all_answers: str


def highest_belief(loss: Micro, *, prior: float = 0.5) -> float:
    """Return the largest probability an observer who held `prior` can hold after a report.

    The odds grow by at most ``e**epsilon`` (Bayes), whatever else the observer knows.

    Parameters
    ----------
    prior : float
        Above 0, at most 1.

    Examples
    --------
    >>> from masquerade.exact import Micro
    >>> round(highest_belief(Micro(1_000_000)), 3)
    0.731
    """
    in_range(prior, "prior", above=0, high=1)
    # Bayes: posterior odds = prior odds * e**epsilon at most.
    return prior / (prior + (1 - prior) * math.exp(-loss.epsilon))


def power_in_words(power: Callable[[float], float]) -> str:
    """Return how many of 100 people could be told by what they send, in words.

    Parameters
    ----------
    power : callable
        The largest power at a false-positive rate, such as `largest_power`.

    Examples
    --------
    >>> from functools import partial
    >>> from masquerade.accounting import largest_power
    >>> power_in_words(partial(largest_power, loss=Micro(1_000_000)))[-62:]
    'is right about at most 2.8, 13.6 or 27.2 of 100 who gave them.'
    """
    powers = [power(float(rate)) for rate in RATES]
    if powers[0] >= _NEARLY_ALWAYS:
        return "Whoever looks at what you send may tell your answers nearly for certain."
    *first, last = map(_percent, powers)
    rates = [_percent(float(rate)) for rate in RATES]
    return (
        f"Somebody who guesses that you gave certain answers, and is wrong about "
        f"{', '.join(rates[:-1])} or {rates[-1]} of 100 people who gave others, is right about at "
        f"most {', '.join(first)} or {last} of 100 who gave them."
    )


def risk_in_words(
    loss: Micro, *, prior: Fraction = Fraction(1, 100), delta: Fraction = NO_CHANCE
) -> str:
    """Return what somebody who suspects you can come to think, in words.

    Parameters
    ----------
    prior : Fraction
        Probability they held before, above 0 and below 1.
    delta : Fraction
        Probability with which the bound may fail.

    Examples
    --------
    >>> risk_in_words(Micro(1_000_000))[47:]
    'with 1 in 100 can suspect it with at most 1 in 37 after seeing what you send.'
    """
    in_range(prior, "prior", above=0, below=1)
    after = highest_belief(loss, prior=float(prior))
    reached = f"at most {_one_in(after)}" if after < _NEARLY_ALWAYS else "near certainty"
    return (
        f"Somebody who suspected a certain answer of you with {_one_in(float(prior))} can suspect "
        f"it with {reached} after seeing what you send.{_but_for(delta)}"
    )


def explain(guarantee: Guarantee) -> Explanation:
    """Return what `guarantee` means, in odds.

    Examples
    --------
    >>> import textwrap
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> said = explain(RandomizedResponse(2, epsilon=1).guarantee())
    >>> print(textwrap.fill(said.one_answer, 80))
    Somebody who thought it 50:50 that you gave one certain answer to a question can
    be at most 73.2 % sure after seeing what you send.
    """
    count = guarantee.answers
    exception = _but_for(guarantee.delta)
    one = _belief_sentence(guarantee.epsilon_event, "gave one certain answer to a question")
    one += exception
    if count == 1:
        return Explanation(one, one)
    together = _belief_sentence(
        guarantee.epsilon_user, f"gave one certain set of answers to all {count} questions"
    )
    return Explanation(one, together + exception)


def keep_in_words(mechanisms: Sequence[CategoricalMechanism]) -> str:
    """Return how many of 100 people send the answer they gave, for each kind of question.

    Examples
    --------
    >>> import textwrap
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> print(textwrap.fill(keep_in_words([RandomizedResponse(2, epsilon=1)]), 80))
    Where there are 2 options, about 73 of 100 people send the answer they gave and
    27 send the other one.
    """
    kinds = dict.fromkeys(mechanisms)
    keep = [(m.symbols, round(100 * float(m.keep_probability))) for m in kinds]
    (symbols, first), *more = dict.fromkeys(keep)
    rest = 100 - first
    other = "the other one" if symbols == 2 else "one of the others, by chance"
    sentence = (
        f"Where there are {symbols} options, about {first} of 100 people send the answer they gave "
        f"and {rest} send {other}"
    )
    if more:
        shares = ", ".join(f"{share} with {count} options" for count, share in more)
        sentence += f"; {shares} send their own"
    return f"{sentence}."


def _belief_sentence(loss: Micro, event: str) -> str:
    if loss == NO_LOSS:
        return f"What you send says nothing about whether you {event}."
    if math.isinf(loss.micro):
        return f"What you send may show for certain that you {event}."
    belief = highest_belief(loss)
    shown = f"{_percent(belief)} %" if belief <= _NEARLY_ALWAYS else "nearly 100 %"
    return (
        f"Somebody who thought it 50:50 that you {event} can be at most {shown} sure after seeing "
        "what you send."
    )


def _percent(share: float) -> str:
    """Return a share in percent, rounded upwards: words never promise more than the guarantee."""
    return f"{math.ceil(1000 * share) / 10:g}"


def _one_in(probability: float) -> str:
    """Return a probability as odds, never below it; in percent where it is not small."""
    if probability > 0.1:
        return f"{_percent(probability)} %"
    return f"1 in {math.floor(1 / probability * (1 + 1e-12)):,}"


def _but_for(delta: Fraction) -> str:
    in_range(delta, "delta", low=0, high=1)
    if not delta:
        return ""
    return (
        f" But for a chance of 1 in {math.floor(1 / delta):,}: with that chance something may be "
        "sent to which this limit does not apply."
    )


_MOST_OF_NOISE = 1.2816  # four of five draws lie within so many sigmas
_EXAMPLE = 10  # where the scale of the example ends


def odds_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return how far reports lie from answers.

    Parameters
    ----------
    mechanisms : sequence of CategoricalMechanism, BitwiseResponse or DiscreteGaussian
        One for each question.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> odds_in_words([RandomizedResponse(2, flip_probability=0.25)])
    'Where there are 2 options, about 75 of 100 people send the answer they gave and 25 send \
the other one.'
    """
    if all(map(_is_clear, mechanisms)):
        return "Everybody sends the answers they gave."
    responses = [m for m in mechanisms if isinstance(m, CategoricalMechanism)]
    sentences = [keep_in_words(responses)] if responses else []
    several = [m for m in mechanisms if isinstance(m, BitwiseResponse)]
    if several:
        kept = [round(100 * float(m.bit.keep_probability)) for m in several]
        shown = f"{min(kept)}" if min(kept) == max(kept) else f"{min(kept)} to {max(kept)}"
        sentences.append(
            "Where several options can be ticked, each of them is sent as it is by about "
            f"{shown} of 100 people, and turned round by the others."
        )
    noisy = [m for m in mechanisms if isinstance(m, DiscreteGaussian)]
    if noisy:
        sentences.append(
            "Numbers are sent with noise in proportion to their range: 4 times in 5, a number "
            f"between 0 and {_EXAMPLE} is sent within ±{max(map(_reach, noisy))} of the answer."
        )
    return " ".join(sentences)


def blur_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return an example of how far a report may be from its answer: that of the first question.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteGaussian
    >>> blur_in_words([DiscreteGaussian(1, 5, sigma=3)])
    'Somebody who answers 5 on a scale from 0 to 10 sends a number between -5 and 15, 4 times in 5.'
    """
    first = mechanisms[0]
    if all(map(_is_clear, mechanisms)):
        return "Nothing is blurred: what you answer is what is sent."
    if isinstance(first, DiscreteGaussian):
        return (
            f"Somebody who answers {_EXAMPLE // 2} on a scale from 0 to {_EXAMPLE} sends a number "
            f"between {_EXAMPLE // 2 - _reach(first)} and {_EXAMPLE // 2 + _reach(first)}, 4 times "
            "in 5."
        )
    if isinstance(first, BitwiseResponse):
        keep = round(100 * float(first.bit.keep_probability))
        return (
            f"Of 100 people who tick the first option, about {keep} send it ticked and "
            f"{100 - keep} do not."
        )
    assert isinstance(first, CategoricalMechanism)
    keep = round(100 * float(first.keep_probability))
    return f"Of 100 people who pick the first answer, about {keep} send it and {100 - keep} do not."


def _is_clear(mechanism: Mechanism) -> bool:
    return mechanism.guarantee().epsilon_event == INFINITE_LOSS


def _reach(mechanism: DiscreteGaussian) -> int:
    """Return how far from the answer 4 of 5 reports lie at most, on the scale of the example.

    Noise is in proportion to a question's scale, so the sentence is the same for all scales.
    """
    width = mechanism.lattice.high - mechanism.lattice.low
    return math.ceil(_EXAMPLE * _MOST_OF_NOISE * float(mechanism.sigma / width))
