"""Half truth: a coin decides between the answer and an even draw; a test adds the mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from masquerade.exact.arrays import Codes
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.number import whole
from masquerade.mechanisms.categorical import CategoricalMechanism, Channel, FlipMixture
from masquerade.mechanisms.randomized_response import ASSUMPTIONS, RandomizedResponse, move


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HalfTruth(CategoricalMechanism):
    """Report the answer where a coin shows heads, else one of all options, evenly.

    `options`: number of options, at least 2.
    """

    name = "half-truth"
    null = False
    in_surveys = False
    example = "half-truth:options=3"

    options: int

    def __init__(self, options: int) -> None:
        self._set(options=whole(options, "options", low=2, high=1000))

    @property
    def mean_flip_probability(self) -> Fraction:
        """P(report differs from the answer)."""
        return Fraction(self.options - 1, 2 * self.options)

    def channel(self) -> Channel:
        """Return P(report | answer)."""
        return Channel.symmetric(symbols=self.options, flip_probability=self.mean_flip_probability)

    def flip_mixture(self, nodes: int = 24) -> FlipMixture:
        """Return the one flip probability that everybody has."""
        same = RandomizedResponse(self.options, flip_probability=self.mean_flip_probability)
        return same.flip_mixture(nodes)

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact promise: P(report | answer) differs by options + 1 times at most."""
        ratio = Fraction(self.options + 1)
        return Guarantee(
            epsilon_single=Micro.of_ratio(ratio),
            epsilon_event=Micro.of_ratio(ratio, times=min(answers, 1)),
            epsilon_user=Micro.of_ratio(ratio, times=answers),
            answers=answers,
            assumptions=ASSUMPTIONS,
        )

    def device_form(self) -> dict[str, str | int]:
        """Return the whole-number form."""
        total = str(2 * self.options)
        return {
            "name": self.name,
            "symbols": self.options,
            "first": "1",
            "last": "1",
            "total": total,
        }

    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer."""
        words = uniform_below(source, 2 * self.options, len(answers))
        return move(answers, 1, 2 * self.options, words, self.options)
