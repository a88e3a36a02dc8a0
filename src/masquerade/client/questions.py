"""Questions of a survey, each with its mask: codes of answers, and reports in words."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from masquerade.errors import MissingValue, ParameterError, UnknownLabel
from masquerade.mechanisms import DiscreteGaussian, Lattice
from masquerade.surveys import Number, Question, Rating, SeveralOf, ShowIf, shown
from masquerade.surveys.offered_levels import Mask, lattice_of
from masquerade.surveys.questions import no_answer_code
from masquerade.surveys.survey import Survey

#: A label, several labels, a point of a scale, a number, or None for "prefer not to say".
Answer = str | Sequence[str] | int | float | Decimal | None

NOT_SAID = "prefer not to say"
NONE_OF_THESE = "none of these"


@dataclass(frozen=True, slots=True)
class MaskedQuestion:
    """A question with its mask.

    Examples
    --------
    >>> from masquerade.mechanisms import RandomizedResponse
    >>> from masquerade.surveys import Choice
    >>> question = Choice("ill", "Have you worked while ill?", ("Yes", "No"))
    >>> MaskedQuestion(question, RandomizedResponse(2, epsilon=1)).code("No")
    1
    """

    question: Question
    mechanism: Mask | None  # None where two parties add up the answers as they are
    show_if: ShowIf | None = None  # after which answers it is asked at all

    def code(self, answer: Answer) -> int:
        """Return the whole number that stands for an answer.

        Raises
        ------
        UnknownLabel, MissingValue
            It is none that can be given. No message repeats it: messages end up in logs.
        """
        question = self.question
        if answer is None:
            if not question.allow_skip:
                raise MissingValue(
                    f"question {question.id!r} has no answer and cannot be left out; give one of "
                    f"{self.choices}."
                )
            return no_answer_code(question)
        # to Python True is 1, which would be read as a point of a scale
        if isinstance(answer, bool):
            code = None
        elif isinstance(question, Number | Rating):
            code = _index(answer, lattice_of(question))
        elif isinstance(question, SeveralOf):
            several = isinstance(answer, list | tuple) and all(isinstance(x, str) for x in answer)
            code = question.code(answer) if several else None  # type: ignore[arg-type]
        else:
            labels = question.labels
            code = labels.index(answer) if answer in labels else None
        if code is None:
            raise UnknownLabel(
                f"question {question.id!r}: the answer is not one of {self.choices}; correct it."
            )
        return code

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        question = self.question
        if isinstance(question, Number):
            return f"{question.low} to {question.high} in steps of {question.step}"
        if isinstance(question, SeveralOf):
            most = "" if question.most is None else f", at most {question.most}"
            return f"several of {', '.join(question.labels)}{most}"
        return ", ".join(question.labels)

    def answer(self, code: int) -> str | tuple[str, ...] | Fraction | None:
        """Return the answer that a code stands for, in its one form; None for "no answer"."""
        question = self.question
        if isinstance(question, Number):
            lattice = lattice_of(question)
            return lattice.low + lattice.step * code
        if code == no_answer_code(question):
            return None
        if isinstance(question, SeveralOf):
            return question.ticked(code)
        return question.labels[code]

    def in_words(self, report: int) -> str:
        """Return a report, or the code of an answer, as people read it."""
        question = self.question
        if isinstance(question, SeveralOf):
            # The mask can leave "no answer" beside options.
            skip = (NOT_SAID,) if report >= no_answer_code(question) else ()
            return ", ".join((*question.ticked(report), *skip)) or NONE_OF_THESE
        if report == no_answer_code(question) and question.allow_skip:
            return NOT_SAID
        if isinstance(question, Number):
            return f"{_point(lattice_of(question), report)} {question.unit}"
        if isinstance(self.mechanism, DiscreteGaussian):
            return _point(self.mechanism.lattice, report)
        return question.labels[report]


def codes_of(questions: Sequence[MaskedQuestion], answers: Mapping[str, Answer]) -> list[int]:
    """Return the code of the answer to each question; what is not asked has that of "no answer"."""
    ids = [one.question.id for one in questions]
    if extra := [name for name in answers if name not in ids]:
        raise ParameterError(f"there is no question {extra[0]!r}; the ids are {', '.join(ids)}.")
    codes: list[int] = []
    for one in questions:
        name = one.question.id
        if not is_asked(questions, codes):
            if answers.get(name) is not None:
                raise ParameterError(
                    f"question {name!r} is not asked after these answers; leave it out."
                )
            codes.append(one.code(None))
            continue
        if name not in answers:
            raise MissingValue(f"question {name!r} has no answer; give one to each question.")
        codes.append(one.code(answers[name]))
    return codes


def is_asked(questions: Sequence[MaskedQuestion], codes: Sequence[int]) -> bool:
    """Return whether the question after those answered is asked.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> question = MaskedQuestion(Choice("ill", "Have you worked while ill?", ("Yes", "No")), None)
    >>> is_asked([question], [])
    True
    """
    upto = questions[: len(codes) + 1]
    conditions = tuple(one.show_if for one in upto)
    return shown([one.question for one in upto], conditions, [*codes, None])[-1]


def masked_questions(survey: Survey, level: str) -> tuple[MaskedQuestion, ...]:
    """Return the questions of a survey with the masks of a level."""
    conditions = survey.conditions or (None,) * len(survey.questions)
    masks: Sequence[Mask | None] = survey.level(level).mechanisms
    if survey.two_parties is not None:
        masks = (None,) * len(survey.questions)
    return tuple(map(MaskedQuestion, survey.questions, masks, conditions))


def _index(answer: object, lattice: Lattice) -> int | None:
    """Return which point of a lattice a number is, or None."""
    if not isinstance(answer, str | Decimal | numbers.Real) or len(str(answer)) > 40:
        return None
    try:
        # by its digits: 0.1 is a tenth here, and not the float nearest to it
        steps = (Fraction(str(answer)) - lattice.low) / lattice.step
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    whole = steps.denominator == 1 and 0 <= steps < lattice.points
    return int(steps) if whole else None


def _point(lattice: Lattice, steps: int) -> str:
    value = lattice.low + lattice.step * steps
    if value.denominator == 1:
        return str(value.numerator)
    return str(float(value))
