"""Losses and privacy levels in words and odds that need no formula.

What people read comes from the loss itself: `tail` bounds what somebody can come to believe, but
for a chance of one in a million that is said in a sentence of its own. A delta is no such chance
and stands in no sentence for people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from masquerade.accounting.shuffling import Published
from masquerade.accounting.trade_off import largest_power
from masquerade.answers.result import Result
from masquerade.errors import NoGuarantee
from masquerade.exact import INFINITE_LOSS, MICRO, Guarantee, Micro
from masquerade.exact.loss import RARE, Loss, pure_loss, rho_loss, tail
from masquerade.exact.number import in_range
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism

#: False-positive rates at which powers are stated.
RATES = (Fraction(1, 100), Fraction(5, 100), Fraction(10, 100))

_NEARLY_ALWAYS = 0.999
#: Probabilities of a suspicion for which an ethics board is told how far it can grow.
SUSPICIONS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
#: After the sentences of everybody who sends masks, and the same to others.
AFTER = "after seeing what you send"
AFTER_A_PERSON = "after seeing what the person sends"

RARELY = f"The chance that what is sent shows more than that is at most 1 in {int(1 / RARE):,}."


@dataclass(frozen=True, slots=True)
class Explanation(Result):
    """A guarantee for a reader without formulas.

    Attributes
    ----------
    one_answer, all_answers : str
        What somebody who knows all your other answers can come to believe about one, and what
        anybody can about all of them together.

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
    """Return an observer's largest possible probability after a report, from their `prior`.

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


def power_in_words(loss: Loss, *, whom: str = "you", after: str = AFTER) -> str:
    """Return how many of 100 people could be told by their reports, in words.

    Parameters
    ----------
    whom : str
        The person of whom it is said: ``"you"``, or ``"a person"`` to others.
    after : str
        What the observer sees, in words.

    Examples
    --------
    >>> power_in_words(pure_loss(Micro(1_000_000)))[-89:]
    'is right about at most 2.8, 13.6 or 27.2 of 100 who gave them after seeing what you send.'
    """
    powers = [largest_power(float(rate), loss=loss) for rate in RATES]
    if powers[0] >= _NEARLY_ALWAYS:
        return f"Somebody may tell the answers of {whom} nearly for certain {after}."
    *first, last = map(_percent, powers)
    rates = [_percent(float(rate)) for rate in RATES]
    return (
        f"Somebody who guesses that {whom} gave certain answers, and is wrong about "
        f"{', '.join(rates[:-1])} or {rates[-1]} of 100 people who gave others, is right about at "
        f"most {', '.join(first)} or {last} of 100 who gave them {after}."
    )


def risk_in_words(
    loss: Loss,
    *,
    priors: Sequence[Fraction] = (Fraction(1, 100),),
    adaptive: bool = False,
    whom: str = "you",
    after: str = AFTER,
) -> str:
    """Return the highest probability that a suspicion can reach after a report, in words.

    Parameters
    ----------
    priors : sequence of Fraction
        Probabilities held before, above 0 and below 1.
    adaptive : bool
        Whether what was sent was chosen on the way; see `tail`.
    whom, after : str
        As by `power_in_words`.

    Examples
    --------
    >>> risk_in_words(pure_loss(Micro(1_000_000)))[42:]
    'you with 1 in 100 can suspect it with at most 1 in 37 after seeing what you send.'
    """
    bound = tail(loss, adaptive=adaptive)
    reached = []
    for prior in priors:
        in_range(prior, "prior", above=0, below=1)
        belief = highest_belief(bound, prior=float(prior))
        reached.append(_one_in(belief) if belief < _NEARLY_ALWAYS else "near certainty")
    most = "" if set(reached) == {"near certainty"} else "at most "
    before = _one_of([_one_in(float(prior)) for prior in priors])
    return (
        f"Somebody who suspected certain answers of {whom} with {before} can suspect "
        f"it with {most}{_one_of(reached)} {after}.{_rarely(loss, bound)}"
    )


def _one_of(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def board_in_words(guarantee: Guarantee, *, after: str = AFTER_A_PERSON) -> tuple[str, ...]:
    """Return a guarantee for an ethics board, in odds: of guesses and of suspicions.

    Parameters
    ----------
    guarantee : Guarantee
        Of all answers of a person.
    after : str
        What the observer sees, in words.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> guesses, suspicions = board_in_words(RandomizedResponse(2, epsilon=1).guarantee())
    >>> suspicions[-79:]
    'at most 1 in 368, 1 in 37, 23.2 % or 73.2 % after seeing what the person sends.'
    """
    loss = losses_of_guarantee(guarantee)[1]
    return (
        power_in_words(loss, whom="a person", after=after),
        risk_in_words(loss, priors=SUSPICIONS, whom="a person", after=after),
    )


def explain(guarantee: Guarantee, *, after: str = AFTER) -> Explanation:
    """Return the meaning of `guarantee`, in odds.

    Parameters
    ----------
    guarantee : Guarantee
        Of a person's answers.
    after : str
        What the observer sees, in words.

    Examples
    --------
    >>> import textwrap
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> said = explain(RandomizedResponse(2, epsilon=1).guarantee(answers=2))
    >>> print(textwrap.fill(said.one_answer, 80))
    Somebody who knows all your other answers and thought it 50:50 that you gave a
    certain answer to one question can be at most 73.2 % sure after seeing what you
    send.
    >>> print(textwrap.fill(said.all_answers, 80))
    Answers can go together. Whatever somebody suspects about all of them together:
    who thought it 50:50 can be at most 88.1 % sure after seeing what you send.
    """
    event, user = losses_of_guarantee(guarantee)
    if guarantee.answers <= 1:
        one = _belief_in_words(
            user, "Somebody who thought it 50:50 that you gave a certain answer", after
        )
        return Explanation(one, one)
    return Explanation(
        _belief_in_words(
            event,
            "Somebody who knows all your other answers and thought it 50:50 that you gave a "
            "certain answer to one question",
            after,
        ),
        "Answers can go together. Whatever somebody suspects about all of them together: "
        + _belief_in_words(user, "who thought it 50:50", after),
    )


def losses_of_guarantee(guarantee: Guarantee) -> tuple[Loss, Loss]:
    """Return the losses of one changed answer and of all answers that a guarantee is known by.

    Where nothing is promised, nothing bounds them, whatever its amounts are.

    Raises
    ------
    NoGuarantee
        It is an epsilon at a delta alone, which bounds no belief.
    """
    if guarantee.status == "none":
        return pure_loss(INFINITE_LOSS), pure_loss(INFINITE_LOSS)
    if guarantee.loss_event is not None and guarantee.loss_user is not None:
        return guarantee.loss_event, guarantee.loss_user
    if guarantee.rho_event is not None and guarantee.rho_user is not None:
        amounts = (guarantee.rho_event, guarantee.rho_user)
        event, user = (rho_loss(Fraction(int(rho.micro), MICRO)) for rho in amounts)
        return event, user
    if guarantee.delta:
        raise NoGuarantee(
            "an epsilon at a delta bounds no belief: nothing is said of what is sent with the "
            "chance delta. State the noise, or a pure epsilon."
        )
    return pure_loss(guarantee.epsilon_event), pure_loss(guarantee.epsilon_user)


def page_in_words(published: Published | None, alone: Loss, *, whom: str = "a person") -> str:
    """Return the belief about one person that published counts can lead to, in words.

    Parameters
    ----------
    published : Published or None
        None where nothing is promised.
    alone : Loss
        Of what the person sends.
    whom : str

    Examples
    --------
    >>> from masquerade.accounting import published_loss
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> mask = RandomizedResponse(2, epsilon=1)
    >>> page_in_words(published_loss([(mask, 1000)]), mask.loss())[:71]
    'Somebody who thought it 50:50 that a person gave certain answers can be'
    """
    who = f"Somebody who thought it 50:50 that {whom} gave certain answers"
    if published is None or alone.in_clear:
        return f"{who} may tell it for certain: answers were sent as they are."
    sent = highest_belief(tail(alone))
    seen = min(highest_belief(published.suspicion), sent)
    if seen >= _NEARLY_ALWAYS:
        return f"{who} may tell it nearly for certain after reading this page alone."
    with_reports = (
        "nearly certain" if sent >= _NEARLY_ALWAYS else f"at most {_percent(sent)} % sure"
    )
    return (
        f"{who} can be at most {_percent(seen)} % sure after reading this page alone, where the "
        f"reports of others hide theirs, and {with_reports} after seeing what {whom} sent. The "
        f"chance that the page shows more is at most 1 in {int(1 / published.delta):,}."
    )


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
    keep = [(m.symbols, _of_100(float(m.keep_probability))) for m in kinds]
    (symbols, (first, rest)), *more = dict.fromkeys(keep)
    other = "the other one" if symbols == 2 else "one of the others, by chance"
    sentence = (
        f"Where there are {symbols} options, {first} of 100 people send the answer they gave "
        f"and {rest} send {other}"
    )
    if more:
        shares = ", ".join(f"{share} with {count} options" for count, (share, _) in more)
        sentence += f"; {shares} send their own"
    return f"{sentence}."


def _belief_in_words(loss: Loss, who: str, after: str) -> str:
    bound = tail(loss)
    if loss.in_clear:
        return f"{who} may tell it for certain {after}."
    if not bound.micro:
        return f"{who} learns nothing of it {after}."
    belief = highest_belief(bound)
    if belief >= _NEARLY_ALWAYS:
        return f"{who} may tell it nearly for certain {after}."
    return f"{who} can be at most {_percent(belief)} % sure {after}.{_rarely(loss, bound)}"


def _rarely(loss: Loss, bound: Micro) -> str:
    """Return the sentence on the chance of more; empty where the pure epsilon is the bound."""
    return f" {RARELY}" if bound.micro < loss.pure else ""


def _of_100(share: float) -> tuple[str, str]:
    """Return how many of 100 people send their answer, and how many another, in words."""
    if share == 1:
        return "all", "none"
    shown = round(100 * share)
    if shown == 100:
        return "more than 99", "fewer than 1"
    if shown == 0:
        return "fewer than 1", "more than 99"
    return f"about {shown}", f"{100 - shown}"


def _percent(share: float) -> str:
    """Return a share in percent, rounded upwards: words never promise more than the guarantee."""
    return f"{math.ceil(1000 * share) / 10:g}"


def _one_in(probability: float) -> str:
    """Return a probability as odds, never below it; in percent where it is not small."""
    if probability > 0.1:
        return f"{_percent(probability)} %"
    return f"1 in {math.floor(1 / probability * (1 + 1e-12)):,}"


_EXAMPLE = 10  # where the scale of the example ends


def odds_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return how far reports lie from answers.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One for each question. Of other masks than responses and Gaussian noise nothing is said.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> odds_in_words([RandomizedResponse(2, flip_probability=0.25)])
    'Where there are 2 options, about 75 of 100 people send the answer they gave and 25 send \
the other one.'
    """
    if all(map(_is_clear, mechanisms)):
        return "Everybody sends the answers they gave."
    responses = [one for m in mechanisms if (one := m.as_categorical)]
    sentences = [keep_in_words(responses)] if responses else []
    several = [sets for m in mechanisms if (sets := m.as_sets)]
    if several:
        low, high = (end(float(m.bit.keep_probability) for m in several) for end in (min, max))
        shown, most = _of_100(low)[0], _of_100(high)[0].removeprefix("about ")
        shown = shown if shown.removeprefix("about ") == most else f"{shown} to {most}"
        sentences.append(
            "Where several options can be ticked, each of them is sent as it is by "
            f"{shown} of 100 people, and turned round by the others."
        )
    for subsets in dict.fromkeys(drawn for m in mechanisms if (drawn := m.as_subsets)):
        held, rest = _of_100(float(subsets.inside_probability))
        sentences.append(
            f"Where there are {subsets.options} options, {subsets.size} of them are sent; the one "
            f"that was picked is among them for {held} of 100 people, and for {rest} it is not."
        )
    orders = [order for m in mechanisms if (order := m.as_orders)]
    if orders:
        kept, rest = _of_100(min(float(one.response.keep_probability) for one in orders))
        sentences.append(
            "Of a ranking, the order of a few items that are drawn is sent, as it was given by "
            f"{kept} of 100 people and another one by {rest}."
        )
    noisy = [noise for m in mechanisms if (noise := m.as_gaussian)]
    if noisy:
        sentences.append(
            "Numbers are sent with noise in proportion to their range: at least 4 times in 5, a "
            f"number between 0 and {_EXAMPLE} is sent within ±{max(map(_reach, noisy))} of the "
            "answer."
        )
    return " ".join(sentences)


def blur_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return an example of how far a report may be from its answer: that of the first question.

    Examples
    --------
    >>> from masquerade.mechanisms import DiscreteGaussian
    >>> blur_in_words([DiscreteGaussian(1, 5, sigma=3)])
    'Somebody who answers 5 on a scale from 0 to 10 sends a number between -5 and 15, at least 4 \
times in 5.'
    """
    first = mechanisms[0]
    if all(map(_is_clear, mechanisms)):
        return "Nothing is blurred: what you answer is what is sent."
    if noise := first.as_gaussian:
        low, high = (_EXAMPLE // 2 + sign * _reach(noise) for sign in (-1, 1))
        return (
            f"Somebody who answers {_EXAMPLE // 2} on a scale from 0 to {_EXAMPLE} sends a number "
            f"between {low} and {high}, at least 4 times in 5."
        )
    if sets := first.as_sets:
        keep, rest = _of_100(float(sets.bit.keep_probability))
        return f"Of 100 people who tick the first option, {keep} send it ticked and {rest} do not."
    if subsets := first.as_subsets:
        keep, rest = _of_100(float(subsets.inside_probability))
        return (
            f"Of 100 people who pick the first answer, {keep} send {subsets.size} answers with it "
            f"and {rest} send {subsets.size} others."
        )
    if order := first.as_orders:
        keep, rest = _of_100(float(order.response.keep_probability))
        return (
            f"Of 100 people who rank the items alike, {keep} send the order of {order.size} of "
            f"them as they ranked them and {rest} another order."
        )
    if response := first.as_categorical:
        keep, rest = _of_100(float(response.keep_probability))
        return f"Of 100 people who pick the first answer, {keep} send it and {rest} do not."
    return ""


def _is_clear(mechanism: Mechanism) -> bool:
    return mechanism.loss().in_clear


def _reach(mechanism: DiscreteGaussian) -> int:
    """Return how far from the answer at least 4 of 5 reports lie, on the scale of the example."""
    return math.ceil(Fraction(_EXAMPLE * _steps_of_most(mechanism), mechanism.lattice.points - 1))


@lru_cache(maxsize=1024)
def _steps_of_most(mechanism: DiscreteGaussian) -> int:
    """Return the least number of steps within which at least 4 of 5 draws of the noise lie."""
    v = float(mechanism.noise_variance)
    if v > _FINE:
        return math.ceil(_MOST_OF_NOISE * math.sqrt(v)) + 1
    weights = [math.exp(-(x**2) / (2 * v)) for x in range(math.ceil(40 * math.sqrt(v)) + 2)]
    total, within = 2 * math.fsum(weights) - weights[0], weights[0]
    steps = 0
    while within < total * (0.8 + 1e-9):
        steps += 1
        within += 2 * weights[steps]
    return steps


# Four of five draws lie within so many sigmas, where steps are so fine that sums are integrals.
_MOST_OF_NOISE, _FINE = 1.2816, 1e6
