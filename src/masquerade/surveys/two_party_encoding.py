"""From a survey's questions to the blocks of one vector, and from noisy sums back to results."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from masquerade.aggregate.estimates import (
    Quantile,
    bit_estimates,
    mean_estimate,
    mean_of_sum,
    quantile_estimate,
    share_estimates,
)
from masquerade.aggregate.noise import SumNoise
from masquerade.aggregate.score_intervals import Design, SumEstimate
from masquerade.aggregate.survey_circuit import Block, One, Some, Whole
from masquerade.errors import ParameterError
from masquerade.exact.number import finite
from masquerade.surveys.conditions import Conditions, check_conditions, shown
from masquerade.surveys.questions import Number, Question, SeveralOf

MOST_BINS = 64
MOST_CELLS = 256
NO_ANSWER = "prefer not to say"
NOT_ASKED = "not asked"
ANSWERED = "answered"
#: Shares of people below each of a question's `QuestionSums.quartiles`.
QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))

Answers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionSums:
    """A question's result from noisy sums.

    Attributes
    ----------
    question : str
        Its id; of a cross table, both with " x " between.
    symbols : tuple of str
        What could be sent, in order; empty where only a sum was asked for.
    shares : tuple of SumEstimate
        Of each symbol among all responses.
    answered : tuple of SumEstimate
        Of each label among those who answered; the same where everybody had to.
    mean : SumEstimate or None
        Of a rating or a number, among those who answered. Where several numbers share a bin, each
        counts as the bin's middle.
    quartiles : tuple of Quantile or None
        First quartile, median and third quartile of a rating or a number, among those who answered.

    Examples
    --------
    >>> from masquerade.aggregate import Design, SumNoise
    >>> from masquerade.surveys import Choice, Encoding
    >>> encoding = Encoding((Choice("ill", "Have you worked while ill?", ("Yes", "No")),))
    >>> noise = SumNoise.of_rho(encoding.blocks, "0.5")
    >>> found = encoding.estimates([[60, 40]], noise=noise, design=Design(count=100))[0]
    >>> found.symbols, [share.value for share in found.shares]
    (('Yes', 'No'), [0.6, 0.4])
    """

    question: str
    symbols: tuple[str, ...]
    shares: tuple[SumEstimate, ...]
    answered: tuple[SumEstimate, ...]
    mean: SumEstimate | None
    quartiles: tuple[Quantile, ...] | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the answers to a survey become one vector; public, and the same on every device.

    Parameters
    ----------
    questions : sequence of Question
        At least one, with different ids.
    conditions : tuple, optional
        When each is shown; empty where all always are.
    cross : sequence of pairs of str, optional
        Ids of questions whose joint counts are wanted: each is a block of its own, with at most 256
        cells.
    bins : int
        Into how many ranges a number's scale is cut at most, 2 to 64.
    sums : sequence of str, optional
        Ids of numbers of which only the sum is wanted: a mean, and no distribution.

    Examples
    --------
    >>> from masquerade.surveys import Rating
    >>> encoding = Encoding((Rating("mood", "How are you?"),))
    >>> encoding.blocks, encoding.measurement({"mood": 4})
    ((One(options=5),), [3])
    """

    questions: tuple[Question, ...]
    conditions: Conditions = ()
    cross: tuple[tuple[str, str], ...] = ()
    bins: int = 20
    sums: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids = [question.id for question in self.questions]
        if not ids or len(set(ids)) < len(ids):
            raise ParameterError(f"question ids are {ids}; expected one at least, all different.")
        check_conditions(self.questions, self.conditions)
        if not 2 <= self.bins <= MOST_BINS:
            raise ParameterError(f"bins is {self.bins}, expected 2 to {MOST_BINS}.")
        for one in self.sums:
            if not isinstance(self._question(one), Number):
                raise ParameterError(f"sums names {one!r}, which is no number; drop it.")
        for pair in self.cross:
            several = any(isinstance(self._question(one), SeveralOf) for one in pair)
            if len(set(pair)) != 2 or several or any(one in self.sums for one in pair):
                raise ParameterError(
                    f"a cross table of {pair} cannot be made; name two questions of one answer "
                    "each, neither in sums."
                )
            cells = len(self.symbols(pair[0])) * len(self.symbols(pair[1]))
            if cells > MOST_CELLS:
                raise ParameterError(
                    f"a cross table of {pair} has {cells} cells, expected at most {MOST_CELLS}; "
                    "use fewer bins."
                )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block for each question, then one for each cross table, then those of `states`."""
        own: list[Block] = []
        for question in self.questions:
            if isinstance(question, SeveralOf):
                own.append(Some(len(question.options), question.most))
            elif isinstance(question, Number) and question.id in self.sums:
                own.append(Whole(question.points - 1))
            else:
                own.append(One(len(self.symbols(question.id))))
        tables = (One(len(self.symbols(a)) * len(self.symbols(b))) for a, b in self.cross)
        return (*own, *tables, *(One(len(states)) for states in self.states.values()))

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """Questions with several answers that some people do not answer, each with what they say.

        Bits alone do not tell nothing ticked from nothing answered, and so not who the whole are.
        """
        several = [one.id for one in self.questions if isinstance(one, SeveralOf)]
        rest = {name: self._without_answer(self._question(name)) for name in several}
        return {name: (ANSWERED, *words) for name, words in rest.items() if words}

    def symbols(self, question: str) -> tuple[str, ...]:
        """Return what can be sent for a question: its labels, "no answer" and "not asked"."""
        asked = self._question(question)
        labels = self._bin_labels(asked) if isinstance(asked, Number) else asked.labels
        return (*labels, *self._without_answer(asked))

    def _without_answer(self, asked: Question) -> tuple[str, ...]:
        skip = (NO_ANSWER,) if asked.allow_skip else ()
        conditional = self.conditions and self.conditions[self.questions.index(asked)] is not None
        return (*skip, *((NOT_ASKED,) if conditional else ()))

    def measurement(self, answers: Answers) -> list[int | list[bool]]:
        """Return what `Prio3.shard` takes, from a person's answers.

        Parameters
        ----------
        answers : mapping
            By question id: a label, a list of labels, a point of a rating, a number; None or
            missing for "no answer", and for what was not asked.

        Raises
        ------
        ParameterError
            An answer fits no question, is missing where one is needed, or is to a question that
            was not asked.
        """
        unknown = sorted(set(answers) - {question.id for question in self.questions})
        if unknown:
            raise ParameterError(f"answers name {unknown}, which are no questions of the survey.")
        codes: dict[str, int] = {}
        labels: list[int | None] = []
        for question in self.questions:
            labels.append(self._label_code(question, answers.get(question.id)))
        asked = shown(self.questions, self.conditions, labels)
        for question, code, is_asked in zip(self.questions, labels, asked, strict=True):
            if not is_asked:
                if code is not None:
                    raise ParameterError(
                        f"question {question.id!r} was not asked and has an answer; drop it."
                    )
                code = self._code_of(question, NOT_ASKED)
            elif code is None:
                if not question.allow_skip:
                    raise ParameterError(
                        f"question {question.id!r} has no answer, and none may be left out."
                    )
                code = self._code_of(question, NO_ANSWER)
            codes[question.id] = code
        tables = [codes[a] * len(self.symbols(b)) + codes[b] for a, b in self.cross]
        own: list[int | list[bool]] = []
        said: list[int] = []
        for question in self.questions:
            code = codes[question.id]
            if not isinstance(question, SeveralOf):
                own.append(code)
                continue
            # Beyond all sets of labels stand the symbols of who did not answer.
            options, sets = len(question.options), 1 << len(question.options)
            own.append([code < sets and bool(code >> place & 1) for place in range(options)])
            if question.id in self.states:
                said.append(0 if code < sets else 1 + code - sets)
        return [*own, *tables, *said]

    def estimates(
        self, sums: Sequence[Sequence[int]], *, noise: SumNoise, design: Design
    ) -> list[QuestionSums]:
        """Return the results of all questions, then of all cross tables.

        Parameters
        ----------
        sums : sequence
            What `Prio3.unshard` returns, with noise.
        noise : SumNoise
            Of one party; both have added it.
        design : Design
            How many responses, and what is known besides.
        """
        if noise.blocks != self.blocks:
            raise ParameterError("the noise is for other blocks; expected this encoding's.")
        variances = [float(noise.published_variance(i)) for i in range(len(self.blocks))]
        rest = len(self.questions)
        last = rest + len(self.cross)
        states = dict(
            zip(self.states, zip(sums[last:], variances[last:], strict=True), strict=True)
        )
        results = [
            self._several(question, counts, variance, states.get(question.id), design)
            if isinstance(question, SeveralOf)
            else self._result(question, counts, variance, design)
            for question, counts, variance in zip(self.questions, sums, variances, strict=False)
        ]
        tables = zip(self.cross, sums[rest:last], variances[rest:last], strict=True)
        for (a, b), counts, variance in tables:
            cells = tuple(f"{x} x {y}" for x in self.symbols(a) for y in self.symbols(b))
            shares = tuple(share_estimates(counts, variance=variance, design=design))
            results.append(QuestionSums(f"{a} x {b}", cells, shares, shares, None))
        return results

    def _result(
        self, question: Question, counts: Sequence[int], variance: float, design: Design
    ) -> QuestionSums:
        if isinstance(question, Number) and question.id in self.sums:
            mean = mean_of_sum(
                counts[0],
                low=float(question.low),
                step=float(question.step),
                largest=question.points - 1,
                variance=variance,
                design=design,
            )
            return QuestionSums(question.id, (), (), (), mean)
        symbols = self.symbols(question.id)
        scores = self._scores(question)
        labels = len(scores) if scores else len(question.labels)
        among = [place < labels for place in range(len(symbols))]
        shares = tuple(share_estimates(counts, variance=variance, design=design))
        answered = share_estimates(counts, variance=variance, design=design, among=among)
        average, quartiles = None, None
        if scores:
            padded = [*scores, *[0.0] * (len(symbols) - labels)]
            average = mean_estimate(counts, padded, variance=variance, design=design, among=among)
            quartiles = tuple(
                quantile_estimate(
                    counts, self._ends(question), part, variance=variance, design=design
                )
                for part in map(float, QUARTERS)
            )
        return QuestionSums(question.id, symbols, shares, tuple(answered), average, quartiles)

    def _several(
        self,
        question: SeveralOf,
        counts: Sequence[int],
        variance: float,
        state: tuple[Sequence[int], float] | None,
        design: Design,
    ) -> QuestionSums:
        every = bit_estimates(counts, variance=variance, design=design)
        answered = every
        if state is not None:
            said, noise = state
            among = (said[0], noise)
            answered = bit_estimates(counts, variance=variance, design=design, among=among)
            every += share_estimates(said, variance=noise, design=design)[1:]
        symbols = self.symbols(question.id)
        return QuestionSums(question.id, symbols, tuple(every), tuple(answered), None)

    def _question(self, name: str) -> Question:
        for question in self.questions:
            if question.id == name:
                return question
        raise ParameterError(
            f"{name!r} is no question of the survey, expected one of "
            f"{[question.id for question in self.questions]}."
        )

    def _label_code(self, question: Question, answer: Any) -> int | None:
        """Return the place of an answer among the labels, or of a number among bins or points."""
        if answer is None:
            return None
        if isinstance(question, SeveralOf):
            code = question.code(answer) if isinstance(answer, list | tuple) else None
            if code is None:
                most = "" if question.most is None else f" at most {question.most}"
                raise ParameterError(
                    f"question {question.id!r}: the answer is {answer!r}, expected a list of{most} "
                    f"different options of {list(question.labels)}."
                )
            return code
        if not isinstance(question, Number):
            if str(answer) not in question.labels:
                raise ParameterError(
                    f"question {question.id!r}: the answer is {answer!r}, expected one of "
                    f"{list(question.labels)}."
                )
            return question.labels.index(str(answer))
        low, step = question.exact_scale
        point = (finite(answer, question.id) - low) / step
        if point.denominator != 1 or not 0 <= point < question.points:
            raise ParameterError(
                f"question {question.id!r}: the answer is {answer!r}, expected {question.low} to "
                f"{question.high} by {question.step}."
            )
        if question.id in self.sums:
            return int(point)
        # Bin i holds the points from floor(i n / b) to below floor((i + 1) n / b).
        return ((int(point) + 1) * self._bins_of(question) - 1) // question.points

    def _code_of(self, question: Question, without: str) -> int:
        """Return the code of somebody who did not answer: after those of all answers."""
        place = self._without_answer(question).index(without)
        if isinstance(question, SeveralOf):
            return (1 << len(question.options)) + place
        return len(self.symbols(question.id)) - len(self._without_answer(question)) + place

    def _bins_of(self, question: Number) -> int:
        return min(self.bins, question.points)

    def _bin_ends(self, question: Number) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the first and the last number of each bin."""
        return _ends_of_bins(*question.exact_scale, question.points, self._bins_of(question))

    def _bin_labels(self, question: Number) -> tuple[str, ...]:
        return _labels_of_bins(self._bin_ends(question))

    def _ends(self, question: Question) -> list[tuple[float, float]]:
        """Return the first and the last number of each label or bin."""
        if isinstance(question, Number):
            return [(float(first), float(last)) for first, last in self._bin_ends(question)]
        return [(float(score), float(score)) for score in question.scores or ()]

    def _scores(self, question: Question) -> tuple[float, ...] | None:
        if isinstance(question, Number):
            return tuple(float(first + last) / 2 for first, last in self._bin_ends(question))
        return None if question.scores is None else tuple(map(float, question.scores))


@lru_cache(maxsize=1024)
def _ends_of_bins(
    low: Fraction, step: Fraction, points: int, count: int
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return the first and the last number of each of `count` bins of a scale."""
    firsts = [place * points // count for place in range(count + 1)]
    return tuple(
        (low + step * first, low + step * (after - 1))
        for first, after in itertools.pairwise(firsts)
    )


@lru_cache(maxsize=1024)
def _labels_of_bins(ends: tuple[tuple[Fraction, Fraction], ...]) -> tuple[str, ...]:
    return tuple(
        f"{float(first):g}" if first == last else f"{float(first):g} to {float(last):g}"
        for first, last in ends
    )
