"""Randomized response on every option of a question with several answers.

A set of options is a row of bits, each masked by itself: the symmetric unary encoding ("basic
one-time RAPPOR") of Erlingsson, Pihur and Korolova (2014) and of Wang, Blocki, Li and Jha (2017),
whose one-hot rows are sets here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Codes, Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import Micro
from masquerade.exact.number import NumberLike, exact, in_range, whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms.categorical import Channel, require_small
from masquerade.mechanisms.device_mechanism import DeviceMechanism, Sets
from masquerade.mechanisms.mechanism import require_flag
from masquerade.mechanisms.randomized_response import ASSUMPTIONS, RandomizedResponse, move

if TYPE_CHECKING:
    from masquerade.answers import Claims

#: Bits of a report: a browser's numbers are whole up to 2**53.
MOST_BITS = 52


def changed_bits(options: int, most: int | None = None, *, null: bool = False) -> int:
    """Return in how many bits the rows of two answers can differ.

    Two sets of at most m of k options differ in at most min(k, 2m) of them; a set of m and "no
    answer", which has a bit of its own, in m + 1.

    Examples
    --------
    >>> changed_bits(6), changed_bits(6, 2), changed_bits(6, null=True)
    (6, 4, 7)
    """
    held = options if most is None else min(most, options)
    return max(min(options, 2 * held), held + 1 if null else 0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BitwiseResponse(DeviceMechanism):
    """Say of each option whether it is in the answer, and mask each of these bits by itself.

    Answers and reports are whole numbers whose bit i, of value ``2**i``, stands for option i; "no
    answer" is the bit after the last option, alone. A report can be any row of bits.

    Parameters
    ----------
    options : int
        Number of options, 2 to 52 bits together with "no answer".
    most : int, optional
        How many options an answer may hold; default: all.
    epsilon : number
        Loss of one whole answer in nats, at least 0. Each bit is masked with its share of it, by
        as many as can change (`changed_bits`).
    null : bool
        Adds the bit "no answer".

    Privacy
    -------
    Protects each answer of a person, all of its options together, from everyone but the person's
    own device. Neighbours: two people whose answers differ in any way, in one (event) or in all n
    (user). Bits are drawn independently, so an answer loses at most the bits that can change times
    the loss of one, and exactly that for two answers that differ in so many.

    Examples
    --------
    >>> mechanism = BitwiseResponse(6, 2, epsilon=2)
    >>> str(mechanism), mechanism.guarantee(answers=3).epsilon_user.epsilon
    ('bitwise-response:options=6,most=2,epsilon=2', 6.0)
    """

    name = "bitwise-response"
    example = "bitwise-response:options=4,most=2,epsilon=2"
    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    in_surveys = True

    options: int
    most: int | None
    epsilon: Fraction | float
    null: bool = False
    #: What masks one bit.
    bit: RandomizedResponse = field(init=False)

    def __init__(
        self, options: int, most: int | None = None, *, epsilon: NumberLike, null: bool = False
    ) -> None:
        require_flag(null, "null")
        options = whole(options, "options", low=2, high=MOST_BITS - null)
        most = None if most is None else whole(most, "most", low=1, high=options)
        loss = exact(epsilon, "epsilon")
        in_range(loss, "epsilon", low=0)
        share = loss / changed_bits(options, most, null=null)
        bit = RandomizedResponse(2, epsilon=share)
        self._set(options=options, most=most, epsilon=loss, null=null, bit=bit)

    @property
    def bits(self) -> int:
        """Number of bits of a report."""
        return self.options + self.null

    @property
    def symbols(self) -> int:
        """Number of different reports."""
        return 1 << self.bits

    @property
    def domain(self) -> Sets:
        """The sets of options that it masks."""
        return Sets(self.options, self.most, self.null)

    @property
    def codes(self) -> int:
        """Number of rows of bits; `masks` says which are answers."""
        return self.symbols

    def possible_reports(self) -> tuple[int, int]:
        """Return the empty and the full row of bits."""
        return 0, self.symbols - 1

    @property
    def option_response(self) -> RandomizedResponse:
        """The mechanism of one bit: each option is a share by itself."""
        return self.bit

    @property
    def as_sets(self) -> BitwiseResponse:
        """The mechanism itself."""
        return self

    @property
    def changes(self) -> int:
        """How many bits one changed answer can change."""
        return changed_bits(self.options, self.most, null=self.null)

    def masks(self, answer: int) -> bool:
        """Return whether a whole number is an answer: not too many options, or none said."""
        if not 0 <= answer < self.symbols:
            return False
        if self.null and answer >> self.options:
            return answer == 1 << self.options
        return answer.bit_count() <= (self.most or self.options)

    def answers(self) -> tuple[int, ...]:
        """Return all answers, in ascending order; `ParameterError` where there are too many."""
        require_small(1, self.symbols)
        held = range((self.most or self.options) + 1)
        sets = (
            sum(1 << place for place in places)
            for count in held
            for places in itertools.combinations(range(self.options), count)
        )
        return (*sorted(sets), *([1 << self.options] if self.null else []))

    def channel(self) -> Channel:
        """Return P(report | answer) in exact fractions; rows are those of `answers`.

        Raises
        ------
        ParameterError
            The table would have more than 2**22 entries.
        """
        rows = self.answers()
        require_small(len(rows), self.symbols)
        flip = self.bit.flip_probability
        # by how many bits differ: they are drawn independently
        chance = [flip**m * (1 - flip) ** (self.bits - m) for m in range(self.bits + 1)]
        return Channel(
            tuple(
                tuple(chance[(answer ^ report).bit_count()] for report in range(self.symbols))
                for answer in rows
            )
        )

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact guarantee of `answers` answers of one person.

        Cost: constant time.
        """
        answers = whole(answers, "answers", low=0)
        flip = self.bit.flip_probability
        ratio = (1 - flip) / flip if flip else math.inf
        one = Micro.of_ratio(ratio, times=self.changes)
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one * min(answers, 1),
            epsilon_user=Micro.of_ratio(ratio, times=self.changes * answers),
            answers=answers,
            assumptions=ASSUMPTIONS,
        )

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return the pair of a bit, for as many bits as the answers can change."""
        return self.bit.pairs(answers=self.changes * whole(answers, "answers", low=0))

    def variance(self) -> float:
        """Return the variance that the mask adds to the unbiased estimate of an answer.

        The estimate of bit b from its report y is ``(y - q) / (1 - 2 q)``, q the probability of a
        flip; the noise variances ``q (1 - q) / (1 - 2 q)**2`` of all bits add to this amount.
        """
        flip = self.bit.flip_probability
        signal = 1 - 2 * flip
        return float("inf") if signal == 0 else float(self.bits * flip * (1 - flip) / signal**2)

    def device_form(self) -> dict[str, str | int | bool]:
        """Return the whole-number form that a device draws from, as JSON-ready values.

        Each bit is flipped with probability ``other / total``; the two are texts, for they exceed
        2**53. ``most``: how many options an answer may hold.
        """
        other, total = map(str, self.bit.grid)
        return {
            "name": self.name,
            "options": self.options,
            "most": self.most or self.options,
            "null": self.null,
            "other": other,
            "total": total,
        }

    def mask(self, answers: Integers, persons: Codes | Integers, source: WordSource) -> Integers:
        """Return a report for each answer.

        Parameters
        ----------
        answers : int64 array, shape (n,)
            Rows of bits; see `masks`.
        persons : int array, shape (n,)
            Who gives each answer; nothing is shared between answers.
        source : WordSource
            Where randomness comes from. What is drawn never depends on the answers.
        """
        other, total = self.bit.grid
        # one word a bit, those of an answer in a row: as the device draws them
        words = uniform_below(source, total, len(answers) * self.bits).reshape(-1, self.bits)
        places = np.arange(self.bits, dtype=np.int64)
        held = (np.asarray(answers, dtype=np.int64)[:, None] >> places & 1).astype(np.int32)
        sent = move(held, other, total, words, 2).astype(np.int64)
        reports: Integers = (sent << places).sum(axis=1)
        return reports

    def check(self, claims: Claims) -> NoReturn:
        """Refuse claims: each of them is one label, and an answer here is a set of them."""
        raise ParameterError(
            f"{self} masks sets of options, and a claim is one label; mask each option as a task "
            "with two labels, by randomized-response with its share of epsilon."
        )

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
