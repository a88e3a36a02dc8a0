"""A notebook that begins where the result ends: with the reports, in the reader's own hands."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from masquerade.surveys.codebook import Codebook

_INTRODUCTION = """\
# {title}

The masked reports of this survey, and what they say. Put `{reports}` beside this notebook
(*Reports, Parquet* on the results page); `pip install masquerade=={version}` brings the library.

A report is not an answer: it went through the mask that its row names. Figures that do not take the
masks out are wrong, and the functions below take them out. What is printed first of each estimate
is the possible number nearest to it; compute with `value`, the unbiased one."""

_READ = """\
from masquerade.results import read_reports, survey_result

reports = read_reports("{reports}")
result = survey_result(reports)
print(len(reports), "people at the levels", reports.counts())
print("inputs", result.inputs)"""

_HEADLINES = """\
def line(name, found):
    if found.shown is None:
        return f"  {name}: nothing is known"
    ends = f"{found.low:.3f} to {found.high:.3f}"
    return f"  {name}: {found.shown:.3f}  ({ends}; unbiased {found.value:.3f})"

for question in result.questions:
    print(question.text)
    said = question.headline
    if said.kind == "few":
        print("  too few responses for a headline")
    elif said.kind == "interval":
        print(f"  read the interval: {said.low:.3f} to {said.high:.3f}")
    for option in question.options:
        print(line(option.label, option.share))
    if question.mean is not None:
        print(line("mean", question.mean.mean))
    if question.plausibility.doubtful:
        print("  some reports cannot be trusted:", question.plausibility.reason)
    test = question.heterogeneity
    if test is not None and test.differ:
        print("  people at different levels answer differently; read all three estimates")"""

_ALL_ESTIMATORS = """\
for question in result.questions:
    print(question.text)
    found = question.mean or question.options[0]
    for name, one in found.estimators.items():
        print(line(name, one))
    print(line("eb, levels twice as different", found.sensitivity))"""

_OWN = """\
import numpy as np

from masquerade.truth import level_shares

# One question by hand: counts of reports at each level, and the masks that made them.
own = [q.options and q.kind != "several" for q in result.questions]
place = next((i for i, shares in enumerate(own) if shares), None)
if place is not None:
    groups = {
        name: (
            np.bincount(reports.at_level(name)[:, place], minlength=masks[place].symbols).tolist(),
            masks[place],
        )
        for name, masks in reports.codebook.levels.items()
    }
    shares = level_shares(groups)
    print([round(e.value, 3) for e in shares.estimates("eb")], shares.heterogeneity)"""


def notebook(codebook: Codebook, *, reports: str) -> dict[str, Any]:
    """Return a Jupyter notebook (format 4.5) that computes a survey's result from its reports.

    Parameters
    ----------
    codebook : Codebook
    reports : str
        Name of the Parquet file beside the notebook.

    Examples
    --------
    >>> from masquerade.results import Codebook, SurveyReports
    >>> from masquerade.surveys import Choice
    >>> from masquerade.surveys.survey import Survey
    >>> asked = (Choice("ill", "Have you worked while ill?", ("Yes", "No")),)
    >>> survey = Survey.at_levels(title="Work", questions=asked, levels=("medium",))
    >>> book = Codebook("0123456789abcdef", survey, survey.content_hash())
    >>> people = [f"p{n}" for n in range(40)]
    >>> sent = [[n % 2] for n in range(40)]
    >>> reports = SurveyReports.from_rows(book, people, ["medium"] * 40, sent)
    >>> notebook(book, reports="reports.csv")["nbformat"]
    4
    """
    # Whatever the title holds, it stays a heading and ends with its line.
    title = " ".join(codebook.survey.title.split())
    cells = [
        _words(_INTRODUCTION.format(title=title, reports=reports, version=version("masquerade"))),
        # Not `str.format`: the cells have braces of their own. As JSON the name is a safe literal.
        _code(_READ.replace('"{reports}"', json.dumps(reports))),
        _words(
            f"## What it found\n\nThe headline estimator of this survey is "
            f"`{codebook.survey.estimator}`; it was fixed before anybody answered."
        ),
        _code(_HEADLINES),
        _words(
            "## All three estimators\n\n`respondent`: everybody counts once. `ivw`: who is "
            "masked less counts more. `eb`: between the two."
        ),
        _code(_ALL_ESTIMATORS),
        _words("## Your own analysis"),
        _code(_OWN),
    ]
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        "cells": cells,
    }


def _words(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": text,
    }
