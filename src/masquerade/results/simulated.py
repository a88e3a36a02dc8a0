"""Reports of made-up people to a survey, as their devices would send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import SimulatedCoins
from masquerade.results.reports import SurveyReports
from masquerade.surveys.codebook import Codebook
from masquerade.surveys.conditions import visibility
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.pair_votes import lists_of
from masquerade.surveys.question import Answer
from masquerade.surveys.survey import Survey

_TOKEN = "0" * 16


def simulate_reports(
    survey: Survey,
    answers: Mapping[str, Sequence[Answer]],
    rng: np.random.Generator,
    *,
    levels: Sequence[str] | None = None,
) -> SurveyReports:
    """Return the masked reports of people with these answers.

    Conditions of questions and pages are followed: who is not shown a question has no answer to
    it, whatever is given here. Where each person is asked some of the questions, blocks are drawn.

    Parameters
    ----------
    survey : Survey
    answers : mapping of str to sequence
        By question id the answer of each person, as `Participation.answer` takes them; None for
        "no answer". Of a question that some are not shown, theirs are not looked at.
    rng : numpy.random.Generator
        For studies: a seed draws masks, which never protect anybody.
    levels : sequence of str, optional
        Level of each person; by default the first for everybody.

    Raises
    ------
    ParameterError
        Answers are missing or of different numbers, people vote on pairs of a list, or two parties
        add up the answers.

    Examples
    --------
    >>> from masquerade.surveys import Choice, Rating, ShowIf
    >>> asked = (Choice("ill", "Ill?", ("Yes", "No")), Rating("bad", "How?", allow_skip=True))
    >>> conditions = (None, ShowIf("ill", ("Yes",)))
    >>> survey = Survey.at_levels(
    ...     title="T", questions=asked, levels=("low",), conditions=conditions
    ... )
    >>> answers = {"ill": ["Yes", "No"] * 50, "bad": [4] * 100}
    >>> len(simulate_reports(survey, answers, np.random.default_rng(1)))
    100
    """
    people = _people(survey, answers)
    names = [survey.levels[0].name] * people if levels is None else list(levels)
    known = {level.name: level for level in survey.levels}
    if len(names) != people or not set(names) <= set(known):
        raise ParameterError(
            f"levels has {len(names)} names for {people} people; give each one of {list(known)}.",
            field="levels",
        )
    codes, source = _codes(survey, answers, people), SimulatedCoins(rng)
    rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    rows = np.full((people, len(survey.questions)), NOT_DRAWN, dtype=np.int64)
    for name, level in known.items():
        here = np.flatnonzero(np.array(names) == name)
        for place, mask in enumerate(level.mechanisms):
            # Each person's mask is their own: no two reports share coins.
            rows[here, place] = mask.mask(codes[here, place], here, source)
    if (draw := survey.draw) is not None:
        for person in range(people):
            asked = draw.places(draw.draw(source))
            rows[person, [at for at in range(rows.shape[1]) if at not in asked]] = NOT_DRAWN
    book = Codebook(_TOKEN, survey, survey.content_hash())
    return SurveyReports.from_rows(book, [f"p{n}" for n in range(people)], names, rows.tolist())


def _people(survey: Survey, answers: Mapping[str, Sequence[Answer]]) -> int:
    """Return how many people have answers."""
    if survey.two_parties is not None or lists_of(survey.questions):
        raise ParameterError(
            "reports can be simulated of answers that are masked on the device, and of no votes on "
            "pairs of a list; simulate sums with SumNoise.simulate."
        )
    ids = [question.id for question in survey.questions]
    if set(ids) != set(answers):
        raise ParameterError(f"answers are given to {list(answers)}; the survey asks {ids}.")
    counts = {len(column) for column in answers.values()}
    if len(counts) != 1:
        raise ParameterError(f"questions have {sorted(counts)} answers; give each one a person.")
    return counts.pop()


def _codes(survey: Survey, answers: Mapping[str, Sequence[Answer]], people: int) -> Integers:
    """Return what masks take for each person's answers, shape (n_people, n_questions)."""
    questions = survey.questions
    found = np.empty((people, len(questions)), dtype=np.int64)
    for person in range(people):
        given: list[int | None] = []
        for question in questions:
            # What is not shown is not read: each answer follows those before it.
            last = len(given) + 1
            flags = visibility(questions[:last], survey.conditions[:last], [*given, None])
            shown = flags[-1]
            answer = answers[question.id][person]
            given.append(question.code(answer) if shown else question.no_answer_code)
        found[person] = [
            question.masked_code(code or 0) for question, code in zip(questions, given, strict=True)
        ]
    return found
