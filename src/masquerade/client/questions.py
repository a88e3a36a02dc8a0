"""Questions of a survey, each with its mask: codes of answers, their one draw, reports in words.

A participation is drawn once: masked reports, or a report in two sealed halves, with each a salt
and the commitment that binds the person to it. Whether a draw may be made at all is decided where
the record's lock is held, in `masquerade.client.participation`.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from masquerade.errors import MissingValue, ParameterError
from masquerade.mechanisms import mask_response
from masquerade.surveys import Question, visibility
from masquerade.surveys.condition_tree import Condition
from masquerade.surveys.offered_levels import Mask
from masquerade.surveys.pair_votes import Pairs, shown_questions
from masquerade.surveys.question import Answer, Canonical
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey, commitment_of, split_commitment


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
    show_if: Condition | None = None  # after which answers it is asked at all

    def code(self, answer: Answer) -> int:
        """Return the whole number that stands for an answer; see `Question.code`."""
        return self.question.code(answer)

    @property
    def choices(self) -> str:
        """Possible answers, in words."""
        return self.question.choices

    def answer(self, code: int) -> Canonical:
        """Return the answer that a code stands for, in its one form; None for "no answer"."""
        return self.question.answer(code)

    def in_words(self, report: int) -> str:
        """Return a report as people read it."""
        return self.question.sent_in_words(report, self.mechanism)

    def answer_in_words(self, code: int) -> str:
        """Return the code of an answer as people read it."""
        return self.question.answer_in_words(code)


def codes_of(questions: Sequence[MaskedQuestion], answers: Mapping[str, Answer]) -> list[int]:
    """Return the code of each answer; a question that is not asked has that of "no answer"."""
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
    return visibility([one.question for one in upto], conditions, [*codes, None])[-1]


def masked_questions(
    survey: Survey, level: str, *, pairs: Pairs | None = None
) -> tuple[MaskedQuestion, ...]:
    """Return the questions of a survey with the masks of a level.

    `pairs`: those that the person is shown of its lists.
    """
    conditions = survey.conditions or (None,) * len(survey.questions)
    masks: Sequence[Mask | None] = survey.level(level).mechanisms
    if survey.two_parties is not None:
        masks = (None,) * len(survey.questions)
    questions = shown_questions(survey.questions, pairs)
    return tuple(map(MaskedQuestion, questions, masks, conditions))


def masked_content(
    questions: Sequence[MaskedQuestion],
    codes: Sequence[int],
    *,
    participation: str,
    spread: Callable[[list[int]], list[int]] | None = None,
) -> Mapping[str, object]:
    """Return masked reports with their salt and commitment, for the disk.

    `spread`: puts the reports among all questions, where some alone were drawn.

    Privacy
    -------
    The masks are drawn here, with the operating system's randomness; the answers go no further.
    """
    masks = [one.mechanism for one in questions if one.mechanism is not None]
    places = [one.question.masked_code(code) for one, code in zip(questions, codes, strict=True)]
    reports = mask_response(places, masks)
    if spread is not None:
        reports = spread(reports)
    salt = _salt()
    return {
        "reports": reports,
        "salt": salt,
        "commitment": commitment_of(participation, reports, salt),
    }


def split_content(
    survey: Survey,
    split: SplitTask,
    questions: Sequence[MaskedQuestion],
    codes: Sequence[int],
    *,
    participation: str,
    pairs: Pairs | None = None,
) -> Mapping[str, object]:
    """Return the answers as a sealed report with its salt and commitment, for the disk.

    `pairs`: those of lists that this device drew and showed.
    """
    # As they were understood: what is typed in another way would be refused, and repeated.
    answers = {
        asked.id: (asked if asked.takes_pair else q.question).answer(code)
        for asked, q, code in zip(survey.questions, questions, codes, strict=True)
    }
    measurement = survey.encoding.measurement(answers, pairs)
    report = split.task.report(
        measurement, leader=split.terms.leader, helper=split.terms.helper
    ).encode()
    salt = _salt()
    return {
        "report": base64.b64encode(report).decode(),
        "salt": salt,
        "commitment": split_commitment(participation, report, salt),
    }


def _salt() -> str:
    # Without a salt, the few possible reports could be tried out against the commitment.
    return secrets.token_hex(16)
