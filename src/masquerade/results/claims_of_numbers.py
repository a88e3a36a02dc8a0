"""The numeric reports of a survey as claims, for a release."""

from __future__ import annotations

from typing import Any

import numpy as np

from masquerade.errors import EmptyTable, ParameterError
from masquerade.mechanisms import Lattice
from masquerade.release import Domain
from masquerade.release.knots import Ends
from masquerade.results.question_reports import levels_of
from masquerade.results.reports import SurveyReports
from masquerade.surveys import Question
from masquerade.surveys.codebook import Codebook


def numeric_claims(reports: SurveyReports, *, level: str | None = None) -> dict[str, Any]:
    """Return people's reports of numbers and ratings.

    An object is a question, a user a person. Reports are as they were sent, noise and all: a
    release of them has the spread of the masks. Where a level sends answers as they are, `level`
    takes those people alone.

    Parameters
    ----------
    reports : SurveyReports
    level : str, optional
        Default: people of all levels.

    Returns
    -------
    dict of lists
        ``task``, ``worker``, ``value``; the names of people are made up.

    Raises
    ------
    EmptyTable
        Nobody reported a number.
    ParameterError
        There is no such level.
    """
    codebook = reports.codebook
    if level is not None and level not in codebook.levels:
        raise ParameterError(f"level {level!r} is none of {', '.join(codebook.levels)}.")
    asked = _asked(codebook)
    names = [name for name in codebook.levels if level in (None, name)]
    tasks: list[str] = []
    workers: list[str] = []
    values: list[float] = []
    for name in names:
        rows, mechanisms = reports.at_level(name), codebook.levels[name]
        # Names of its own: pseudonyms of the survey do not leave with a release.
        people = [f"{name}-{number}" for number in range(1, len(rows) + 1)]
        for place, question, lattice in asked:
            sent = rows[:, place]
            value, response = levels_of(mechanisms[place], lattice)
            if response is None:
                # Whole steps from the lowest value; noise may take them outside the range.
                value, said = lattice.values(sent), np.ones(len(sent), dtype=bool)
            else:
                said = sent < len(value)  # labels after the numbers are of those who gave none
                value = value[np.where(said, sent, 0)]
            found = value[said]
            values += found.tolist()
            tasks += [question.id] * len(found)
            workers += [person for person, here in zip(people, said, strict=True) if here]
    if not values:
        raise EmptyTable("nobody reported a number here; there is nothing to release.")
    return {"task": tasks, "worker": workers, "value": values}


def numeric_domain(codebook: Codebook) -> Domain:
    """Return the public range of the numbers and ratings of a survey, each question's own.

    Raises
    ------
    EmptyTable
        The survey asks for no numbers.
    """
    # Public: of the questions alone, never of the reports.
    asked = _asked(codebook)
    if not asked:
        raise EmptyTable("this survey asks for no numbers; there is nothing to release.")
    ends: dict[str, Ends] = {
        question.id: (lattice.low, lattice.high) for _, question, lattice in asked
    }
    steps = {lattice.step for _, _, lattice in asked}
    if len(steps) == 1 and len(set(ends.values())) == 1:
        [step], [(low, high)] = steps, set(ends.values())
        return Domain(low, high, step=step)
    low = min((low for low, _ in ends.values()), key=float)
    high = max((high for _, high in ends.values()), key=float)
    return Domain(low, high, of_objects=ends)


def _asked(codebook: Codebook) -> list[tuple[int, Question, Lattice]]:
    return [
        (place, question, question.lattice)
        for place, question in enumerate(codebook.questions)
        if question.lattice is not None
    ]
