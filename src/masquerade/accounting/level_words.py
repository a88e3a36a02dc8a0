"""What a privacy level does to answers, in sentences that tell nothing of the questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from masquerade.accounting.words import keep_in_words
from masquerade.exact import INFINITE_LOSS
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism

_MOST_OF_NOISE = 1.2816  # four of five draws lie within so many sigmas
_EXAMPLE = 10  # where the scale of the example ends


def odds_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return how far reports lie from answers.

    Parameters
    ----------
    mechanisms : sequence of CategoricalMechanism or DiscreteGaussian
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
    noisy = [m for m in mechanisms if isinstance(m, DiscreteGaussian)]
    if noisy:
        sentences.append(
            "Numbers are sent with noise in proportion to their range: 4 times in 5, a number "
            f"between 0 and {_EXAMPLE} is sent within ±{max(map(_reach, noisy))} of the answer."
        )
    return " ".join(sentences)


def blur_in_words(mechanisms: Sequence[Mechanism]) -> str:
    """Return an example of how far a report may be from its answer: that of the first question."""
    first = mechanisms[0]
    if all(map(_is_clear, mechanisms)):
        return "Nothing is blurred: what you answer is what is sent."
    if isinstance(first, DiscreteGaussian):
        return (
            f"Somebody who answers {_EXAMPLE // 2} on a scale from 0 to {_EXAMPLE} sends a number "
            f"between {_EXAMPLE // 2 - _reach(first)} and {_EXAMPLE // 2 + _reach(first)}, 4 times "
            "in 5."
        )
    assert isinstance(first, CategoricalMechanism)
    keep = round(100 * float(first.channel().table[0][0]))
    return f"Of 100 people who pick the first answer, about {keep} send it and {100 - keep} do not."


def _is_clear(mechanism: Mechanism) -> bool:
    return mechanism.guarantee().epsilon_event == INFINITE_LOSS


def _reach(mechanism: DiscreteGaussian) -> int:
    """Return how far from the answer 4 of 5 reports lie at most, on the scale of the example.

    Noise is in proportion to a question's scale, so the sentence is the same for all scales.
    """
    width = mechanism.lattice.high - mechanism.lattice.low
    return math.ceil(_EXAMPLE * _MOST_OF_NOISE * float(mechanism.sigma / width))
