"""Losses in words and odds that need no formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism, Guarantee, Loss

NOTHING_LEARNED = Loss(1_000)
"""Below a thousandth of epsilon, words call the loss nothing."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A guarantee for a reader without formulas.

    Attributes
    ----------
    one_answer, all_answers : str
        What anyone can come to believe about one answer, and about all of them together.
    """

    one_answer: str
    all_answers: str


def highest_belief(loss: Loss, *, prior: float = 0.5) -> float:
    """Return the largest probability an observer who held `prior` can hold after a report.

    The odds grow by at most ``e**epsilon`` (Bayes), whatever else the observer knows.

    Parameters
    ----------
    loss : Loss
    prior : float
        Above 0, at most 1.
    """
    if not 0 < prior <= 1:
        raise ParameterError(f"prior is {prior}, expected above 0 and at most 1.")
    return prior / (prior + (1 - prior) * math.exp(-loss.epsilon))


def explain(guarantee: Guarantee) -> Explanation:
    """Return what `guarantee` means, in odds."""
    count = guarantee.answers
    one = _belief_sentence(guarantee.epsilon_event, "gave one certain answer to a question")
    if count == 1:
        return Explanation(one, one)
    together = _belief_sentence(
        guarantee.epsilon_user, f"gave one certain set of answers to all {count} questions"
    )
    return Explanation(one, together)


def keep_in_words(mechanisms: Sequence[CategoricalMechanism]) -> str:
    """Return how many of 100 people send the answer they gave, for each number of options."""
    keep = {m.symbols: round(100 * float(m.channel().table[0][0])) for m in mechanisms}
    (symbols, first), *more = keep.items()
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


def _belief_sentence(loss: Loss, event: str) -> str:
    if loss <= NOTHING_LEARNED:
        return f"What you send says nothing about whether you {event}."
    if math.isinf(loss.micro):
        return f"What you send may show for certain that you {event}."
    # Upwards, so that the words never promise more than the guarantee.
    percent = math.ceil(1000 * highest_belief(loss)) / 10
    shown = f"{percent:g} %" if percent < 100 else "nearly 100 %"
    return (
        f"Somebody who thought it 50:50 that you {event} can be at most {shown} sure after seeing "
        "what you send."
    )
