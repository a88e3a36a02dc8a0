"""A notebook that begins where the result ends: with the reports, in the reader's own hands."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

from masquerade.surveys.codebook import Codebook

_INTRODUCTION = """\
# {title}

The masked reports of this survey, and what they say. Put `{reports}` beside this notebook
(*Reports, Parquet* on the results page). It needs masquerade, version {version} or later.

A report is not an answer: it went through the mask that its row names. Figures that do not take the
masks out are wrong, and the functions below take them out. What is printed of each estimate is the
possible number nearest to the unbiased one."""

_READ = """\
from masquerade.results import read_reports, sentence, survey_result

reports = read_reports("{reports}")
result = survey_result(reports)
print(len(reports), "people at the levels", reports.counts())
print("inputs", result.inputs)"""

_HEADLINES = """\
def line(name, found):
    if found.value is None:
        return f"  {name}: nothing is known"
    ends = f"{found.low:.3f} to {found.high:.3f}"
    point = "" if found.shown is None else f"{found.shown:.3f} "
    return f"  {name}: {point}({ends})"

for question in result.questions:
    print(question.text)
    print(" ", sentence(question))
    for option in question.options:
        print(line(option.label, option.share))
    if question.mean is not None:
        print(line("mean", question.mean.mean))
    if question.plausibility.doubtful:
        print("  some reports cannot be trusted:", question.plausibility.reason)
    test = question.heterogeneity
    if test is not None and test.differ:
        print("  people at different levels answer differently")"""

_OWN = """\
import numpy as np

from masquerade.estimation import WITHIN, Counts, Crowd, shown_shares

# One question by hand: counts of reports at each level, and the masks that made them.
own = [q.options and q.kind != "several" for q in result.questions]
place = next((i for i, shares in enumerate(own) if shares), None)
if place is not None:
    groups = [
        Counts.of(np.bincount(reports.at_level(name)[:, place], minlength=mask.symbols), mask)
        for name, masks in reports.codebook.levels.items()
        for mask in [masks[place]]
    ]
    shares = Crowd.of(groups, bound=WITHIN).shares()
    print([round(estimate.shown, 3) for estimate in shown_shares(shares.estimates())])"""


_RELATIONS = """\
from masquerade.analysis import survey_relation

# Who says what: one question explained by another. Each further look finds something by chance
# more often than one look alone, so decide before looking.
asked = [q.id for q in result.questions if q.options and q.kind != "several"]
if len(asked) > 1 and len(reports) >= 20:
    fit = survey_relation(reports, asked[0], asked[1:2])
    print(fit.formula)
    print(fit.sentence())
    for term in fit.terms:
        print(" ", term.name, term.answer or "", term.shown, (term.low, term.high))"""


def notebook(codebook: Codebook, *, reports: str) -> dict[str, Any]:
    """Return a Jupyter notebook (format 4.5) that computes a survey's result from its reports.

    Parameters
    ----------
    codebook : Codebook
    reports : str
        Name of the Parquet file beside the notebook.

    Examples
    --------
    After the example of `masquerade.results.survey_result`:

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
            "## What it found\n\nNo point is printed of fewer than 20 people, or where the "
            "interval is wider than a quarter of the range: read the interval there."
        ),
        _code(_HEADLINES),
        _words("## Your own analysis"),
        _code(_OWN),
        _code(_RELATIONS),
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


def _words(text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, object]:
    return {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": text,
    }
