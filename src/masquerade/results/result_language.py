"""A result in another language of its survey: the labels are replaced, the figures stay.

A published result never changes, so it is not computed again: its texts are looked up in the
definition, and those of the other language are put in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from masquerade.results.question_figures import LevelFigures, QuestionResult
from masquerade.results.typed_result import CountedTable, SurveyResult, VotedLeaderboard
from masquerade.surveys import Question
from masquerade.surveys.survey import Survey

_Label = Callable[[str], str]


def result_in_language(result: SurveyResult, survey: Survey, language: str) -> SurveyResult:
    """Return a result with the texts of a survey's other language.

    Parameters
    ----------
    result : SurveyResult
        In the survey's first language.
    survey : Survey
        Whose result it is.
    language : str
        One of the survey's languages, such as ``"de"``.

    Returns
    -------
    SurveyResult
        The same figures and hashes. A text without a translation stays; so do answers that are
        the same in each survey, such as "Prefer not to say".

    Raises
    ------
    ParameterError
        The survey has no such language.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports, survey_result
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.languages import Languages
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> german = {"questions/ill/options/0": "Ja", "questions/ill/options/1": "Nein"}
    >>> two = Languages.from_json({"languages": ["en", "de"], "texts": {"de": german}})
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("low",), languages=two)
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> found = survey_result(SurveyReports.from_rows(book, people, ["low"] * 40, sent))
    >>> shown = result_in_language(found, survey, "de")
    >>> [option.label for option in shown.question("ill").options]
    ['Ja', 'Nein']
    """
    other = survey.in_language(language)
    names = _names(survey, other)
    asked = {question.id: question for question in other.questions}
    # An item of several comparisons is named as in the first of them.
    pairs = [names[question.id] for question in survey.questions if question.compared]
    items = _lookup({old: new for one in reversed(pairs) for old, new in one.items()})
    return replace(
        result,
        title=other.title,
        questions=tuple(
            _question(one, asked[one.id], _lookup(names[one.id])) for one in result.questions
        ),
        cross_tables=None
        if result.cross_tables is None
        else tuple(_table(one, survey, other) for one in result.cross_tables),
        labels=tuple(
            replace(
                one,
                item=asked[one.id].text,
                label=names[one.id].get(one.label, one.label),
                known_label=one.known_label and names[one.id].get(one.known_label, one.known_label),
            )
            for one in result.labels
        ),
        ranking=tuple(replace(one, item=items(one.item)) for one in result.ranking),
        leaderboards=None
        if result.leaderboards is None
        else tuple(
            _leaderboard(one, asked[one.question], _lookup(names[one.question]))
            for one in result.leaderboards
        ),
    )


def _names(survey: Survey, other: Survey) -> dict[str, dict[str, str]]:
    """Return the translated name of each answer of each question."""
    found = {}
    for one, two in zip(survey.questions, other.questions, strict=True):
        old, new = (
            (*question.codes, *question.labels, *question.listed) for question in (one, two)
        )
        found[one.id] = dict(zip(old, new, strict=True))
        if survey.two_parties is not None:
            symbols = (each.encoding.symbols(one.id) for each in (survey, other))
            found[one.id] |= dict(zip(*symbols, strict=True))
    return found


def _lookup(names: Mapping[str, str]) -> _Label:
    return lambda label: names.get(label, label)


def _question(found: QuestionResult, asked: Question, label: _Label) -> QuestionResult:
    said = found.headline
    return replace(
        found,
        text=asked.whole_text,
        unit=getattr(asked, "unit", ""),
        options=tuple(replace(one, label=label(one.label)) for one in found.options),
        headline=replace(
            said,
            option=None if said.option is None else label(said.option),
            options=tuple(map(label, said.options)),
        ),
        by_level=tuple(_level(one, label) for one in found.by_level),
        ranks=None
        if found.ranks is None
        else tuple(replace(one, item=label(one.item)) for one in found.ranks),
    )


def _level(found: LevelFigures, label: _Label) -> LevelFigures:
    options = tuple(replace(one, label=label(one.label)) for one in found.options)
    return replace(found, options=options)


def _table(found: CountedTable, survey: Survey, other: Survey) -> CountedTable:
    old, new = (one.encoding.cells(found.questions) for one in (survey, other))
    label = _lookup(dict(zip(old, new, strict=True)))
    return replace(
        found, cells=tuple(replace(cell, label=label(cell.label)) for cell in found.cells)
    )


def _leaderboard(found: VotedLeaderboard, asked: Question, label: _Label) -> VotedLeaderboard:
    items = tuple(replace(one, item=label(one.item)) for one in found.items)
    return replace(found, text=asked.text, items=items)
