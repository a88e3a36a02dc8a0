"""From a survey's questions to the blocks of one vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from masquerade.aggregate.survey_circuit import Block, One
from masquerade.errors import ParameterError
from masquerade.surveys.condition_tree import Conditions
from masquerade.surveys.conditions import check_conditions, visibility
from masquerade.surveys.pair_votes import Pairs, votes_of_lists
from masquerade.surveys.question import NOT_SAID, Question
from masquerade.surveys.question_encoding import QuestionEncoding

MOST_BINS = 64
MOST_CELLS = 256
#: Questions of one cross table.
MOST_CROSSED = 4
NOT_ASKED = "not asked"

Answers = Mapping[str, Any]
#: A question's part of what is split.
Measured = int | list[bool] | list[int] | list[list[int]]


@dataclass(frozen=True)
class Encoding:
    """How the answers to a survey become one vector; public, and the same on every device.

    Parameters
    ----------
    questions : sequence of Question
        At least one, with different ids.
    conditions : tuple, optional
        When each is shown; empty where all always are.
    cross : sequence of tuples of str, optional
        Ids of 2 to 4 questions whose joint counts are wanted: each table is a block of its own,
        with at most 256 cells.
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
    cross: tuple[tuple[str, ...], ...] = ()
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
            if not self.question(one).summable:
                raise ParameterError(f"sums names {one!r}, which is no number; drop it.")
        for table in self.cross:
            size, crossable = len(table), all(self.of(one).crossable for one in table)
            if not 2 <= size <= MOST_CROSSED or len(set(table)) != size or not crossable:
                raise ParameterError(
                    f"a cross table of {table} cannot be made; name two to {MOST_CROSSED} "
                    "questions of one answer each, none in sums."
                )
            cells = prod(self.shape(table))
            if cells > MOST_CELLS:
                raise ParameterError(
                    f"a cross table of {table} has {cells} cells, expected at most {MOST_CELLS}; "
                    "use fewer bins or questions."
                )

    @cached_property
    def parts(self) -> dict[str, QuestionEncoding]:
        """The encoding of each question, by its id; one for all votes on a list."""
        conditions = self.conditions or (None,) * len(self.questions)
        return {
            question.id: question.encoding(
                bins=self.bins,
                summed=question.id in self.sums,
                without=(
                    *((NOT_SAID,) if question.allow_skip else ()),
                    *((NOT_ASKED,) if condition is not None else ()),
                ),
            )
            for question, condition in zip(self.questions, conditions, strict=True)
            if self._leading[question.id] == question.id
        }

    @cached_property
    def _leading(self) -> dict[str, str]:
        """By each question's id that of the question with its block: of a vote, its list's."""
        leading = {one.id: one.id for one in self.questions}
        for first, places in votes_of_lists(self.questions).items():
            leading |= {self.questions[place].id: self.questions[first].id for place in places}
        return leading

    def of(self, question: str) -> QuestionEncoding:
        """Return the encoding of a question."""
        return self.parts[self._leading[self.question(question).id]]

    def place(self, question: str) -> int:
        """Return the place of a question's block among all blocks."""
        return list(self.parts).index(self._leading[self.question(question).id])

    @property
    def tables_from(self) -> int:
        """The place of the first cross table's block."""
        return len(self.parts)

    @property
    def states_from(self) -> int:
        """The place of the first block of `states`."""
        return len(self.parts) + len(self.cross)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block for each question, then one for each cross table, then those of `states`."""
        own = (part.block for part in self.parts.values())
        tables = (One(prod(self.shape(table))) for table in self.cross)
        return (*own, *tables, *(One(len(states)) for states in self.states.values()))

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The symbols of second blocks, by the questions that have one."""
        return {name: part.states for name, part in self.parts.items() if part.states}

    def symbols(self, question: str) -> tuple[str, ...]:
        """Return the symbols of a question: its labels, "no answer" and "not asked"."""
        return self.of(question).symbols

    def shape(self, table: tuple[str, ...]) -> tuple[int, ...]:
        """Return how many symbols each question of a cross table has."""
        return tuple(len(self.symbols(one)) for one in table)

    def cells(self, table: tuple[str, ...]) -> tuple[str, ...]:
        """Return the labels of a cross table's cells; the last question's symbols change first."""
        return tuple(" x ".join(one) for one in product(*map(self.symbols, table)))

    def measurement(self, answers: Answers, pairs: Pairs | None = None) -> list[Measured]:
        """Return the measurement of a person's answers, for `Prio3.shard`.

        Parameters
        ----------
        answers : mapping
            By question id: a label, a list of labels, a point of a rating, a number; None or
            missing for "no answer", and for what was not asked. A vote on a pair of a list is
            "the first", "the second" or the label of a tie.
        pairs : sequence of (int, int), optional
            The pairs of lists that the person was shown, in the order of the votes.

        Raises
        ------
        ParameterError
            An answer is missing where one is needed, or is to a question that was not asked.
        UnknownLabel
            An answer fits no question; no message repeats it.
        """
        unknown = sorted(set(answers) - {question.id for question in self.questions})
        if unknown:
            raise ParameterError(f"answers name {unknown}, which are no questions of the survey.")
        given = [
            None if answers.get(one.id) is None else one.code(answers[one.id])
            for one in self.questions
        ]
        visible = visibility(self.questions, self.conditions, given)
        codes: dict[str, int] = {}
        for question, code, is_asked in zip(self.questions, given, visible, strict=True):
            codes[question.id] = self._code(question, code, is_asked=is_asked)
        tables = [self._cell(table, codes) for table in self.cross]
        shown, own = self._shown(pairs), []
        for name, part in self.parts.items():
            votes = [one.id for one in self._led(name)]
            drawn = [shown[one] for one in votes if one in shown]
            own.append(part.measurement([codes[one] for one in votes], drawn))
        states = [part.state(codes[name]) for name, part in self.parts.items() if part.states]
        return [*own, *tables, *states]

    def _led(self, part: str) -> list[Question]:
        """Return the questions whose answers are in a part."""
        return [one for one in self.questions if self._leading[one.id] == part]

    def _shown(self, pairs: Pairs | None) -> dict[str, tuple[int, int]]:
        """Return the pair of each vote, by its id."""
        votes = [one.id for one in self.questions if one.takes_pair]
        if len(votes) != len(pairs or ()):
            raise ParameterError(
                f"the survey asks {len(votes)} votes on pairs of a list, and {len(pairs or ())} "
                "pairs are given; give the pair that was shown for each vote."
            )
        return dict(zip(votes, pairs or (), strict=True))

    def _cell(self, table: tuple[str, ...], codes: Mapping[str, int]) -> int:
        cell = 0
        for one in table:
            cell = cell * len(self.symbols(one)) + codes[one]
        return cell

    def _code(self, question: Question, code: int | None, *, is_asked: bool) -> int:
        part = self.of(question.id)
        if not is_asked:
            if code is not None:
                raise ParameterError(
                    f"question {question.id!r} was not asked and has an answer; drop it."
                )
            return part.code_without(NOT_ASKED)
        if code is not None:
            return part.code(code)
        if not question.allow_skip:
            raise ParameterError(
                f"question {question.id!r} has no answer, and none may be left out."
            )
        return part.code_without(NOT_SAID)

    def question(self, name: str) -> Question:
        """Return the question of this id."""
        for question in self.questions:
            if question.id == name:
                return question
        raise ParameterError(
            f"{name!r} is no question of the survey, expected one of "
            f"{[question.id for question in self.questions]}."
        )
