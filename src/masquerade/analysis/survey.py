"""Regressions of a survey's exported reports, which carry the mask of each question and level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from masquerade.analysis.design import Design, FitOptions
from masquerade.analysis.formula import Formula
from masquerade.analysis.regression import fit_design
from masquerade.analysis.result import Regression
from masquerade.analysis.variables import Channel, ClearColumns, Variable, masked_numbers, of_codes
from masquerade.analysis.worth import Correlation, correlate
from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.lazy import suggestion
from masquerade.results import SurveyReports

#: The column that says at which level of protection a person answered.
LEVEL = "level"


def survey_variable(reports: SurveyReports, name: str) -> Variable:
    """Return a question of a survey as a variable; each level through its own mask.

    Raises
    ------
    ParameterError
        There is no such question, or it has several answers at once.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> survey_variable(reports, "ill").options
    ('Yes', 'No')
    """
    codebook = reports.codebook
    ids = [one.id for one in codebook.questions]
    if name not in ids:
        raise ParameterError(
            f"the survey has no question {name!r}; it has {ids}.{suggestion(name, ids)}",
            field="formula",
        )
    reports = reports.asked_of(name)
    place = ids.index(name)
    question = codebook.questions[place]
    rows = np.repeat(np.arange(len(reports.level)), reports.people)  # a row for each person
    sent, level = reports.report[rows, place], reports.level[rows]
    masks = {level: mechanisms[place] for level, mechanisms in codebook.levels.items()}
    first = next(iter(masks.values()))
    if any(mask.as_subsets is not None for mask in masks.values()):
        raise ParameterError(
            f"{name!r} has many answers and is sent as a set of some, which no regression here "
            "takes; ask with fewer answers, or at a level that protects less.",
            field="formula",
        )
    if first.as_sets is not None:
        raise ParameterError(
            f"{name!r} has several answers at once, which no regression here takes; ask each as a "
            "question of its own.",
            field="formula",
        )
    if first.as_numbers is not None:
        if first.as_numbers.level_values is not None:
            raise ParameterError(
                f"{name!r} can be skipped and is sent as one of a few levels, which no regression "
                "here takes; ask it as a rating.",
                field="formula",
            )
        lattice = first.as_numbers.lattice
        values: Floats = float(lattice.low) + float(lattice.step) * sent.astype(np.float64)
        return masked_numbers(name, values, masks, level)
    channels: dict[str, Channel | None] = {
        key: _unless_clear(Channel.of(one, name)) for key, one in masks.items()
    }
    options = question.codes
    scores = None if question.scores is None else [float(one) for one in question.scores]
    if scores is not None and len(scores) < len(options):
        scores = None  # "no answer" has no score
    code = sent.astype(np.int32)
    return of_codes(name, code, channels, level, options, scores)


def survey_regression(
    reports: SurveyReports, formula: str, *, model: str = "auto", fitting: FitOptions | None = None
) -> Regression:
    """Return the regression of questions of a survey, by their ids.

    People choose their level, and those of one level may differ from others: the level is a column
    of its own beside the questions of the formula, unless all answered at one.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> [one.name for one in survey_regression(reports, "ill ~ night").terms]
    ['(constant)', 'night[No]']
    """
    ids = [one.id for one in reports.codebook.questions]
    read = Formula.of(formula, columns=ids, masked=ids)
    strange = [one for one in read.clear if one != LEVEL]
    if strange:
        raise ParameterError(
            f"the survey has no question {strange[0]!r}; it has {ids}."
            f"{suggestion(strange[0], ids)}",
            field="formula",
        )
    fitted = survey_relation(reports, read.outcome, read.masked, model=model, fitting=fitting)
    return replace(fitted, formula=formula.strip())


def survey_relation(
    reports: SurveyReports,
    outcome: str,
    predictors: Sequence[str],
    *,
    model: str = "auto",
    fitting: FitOptions | None = None,
) -> Regression:
    """Return the regression of one question of a survey on others, with the level as a term.

    Ids of questions may hold any letters here, also those that no formula takes.

    Raises
    ------
    EmptyTable
        Nobody has answered.
    ParameterError
        There is no such question, or it has several answers at once.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

    >>> [one.name for one in survey_relation(reports, "ill", ["night"]).terms]
    ['(constant)', 'night[No]']
    """
    if not len(reports):
        raise EmptyTable("nobody has answered, so that there is nothing to relate.")
    for name in (outcome, *predictors):
        survey_variable(reports, name)  # refuses what is no question that can be related
    reports = reports.asked_of(outcome, *predictors)
    if not len(reports):
        raise EmptyTable("nobody was asked these questions, so that there is nothing to relate.")
    variables = [survey_variable(reports, name) for name in predictors]
    clear = [_columns(one) for one in variables if not one.masked]
    clear.append(_levels(reports))
    design = Design(
        survey_variable(reports, outcome),
        tuple(one for one in variables if one.masked),
        ClearColumns(
            tuple(name for one in clear for name in one.names),
            np.concatenate([one.values for one in clear], axis=1),
        ),
        formula=f"{outcome} ~ {' + '.join(predictors)}",
    )
    return fit_design(design, model=model, fitting=fitting)


def survey_correlation(
    reports: SurveyReports, first: str, second: str, *, confidence: float = 0.95
) -> Correlation:
    """Return the correlation of two questions of a survey, by their ids.

    Examples
    --------
    >>> from masquerade.results import Codebook
    >>> from masquerade.surveys import Rating
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Rating("stress", "Stress?", 1, 3), Rating("sleep", "Sleep?", 1, 3))
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("none",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(60)]
    >>> sent = [[n % 3, 2 - n % 3] for n in range(60)]
    >>> found = SurveyReports.from_rows(book, people, ["none"] * 60, sent)
    >>> round(survey_correlation(found, "stress", "sleep").value, 3)
    -1.0
    """
    for name in (first, second):
        survey_variable(reports, name)
    pair = [survey_variable(reports.asked_of(first, second), name) for name in (first, second)]
    return correlate(pair[0], pair[1], confidence=confidence)


def _unless_clear(channel: Channel) -> Channel | None:
    """Return a channel, or None where reports are the answers."""
    square = channel.table.shape[0] == channel.table.shape[1]
    clear = square and bool((channel.table == np.eye(len(channel.table))).all())
    return None if clear else channel


def _columns(variable: Variable) -> ClearColumns:
    coding = variable.coding()
    return ClearColumns(coding.names, coding.values[variable.report] + coding.middle)


def _levels(reports: SurveyReports) -> ClearColumns:
    names = list(reports.codebook.levels)
    present = [place for place in range(len(names)) if bool((reports.level == place).any())]
    level = np.repeat(reports.level, reports.people)
    values: Floats = (level[:, None] == np.array(present[1:], dtype=np.int64)).astype(np.float64)
    return ClearColumns(tuple(f"{LEVEL}[{names[place]}]" for place in present[1:]), values)
