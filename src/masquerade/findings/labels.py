"""The labels of items that a crowd labelled in a survey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masquerade.answers import Choice, Claims
from masquerade.findings.codebook import Codebook
from masquerade.findings.reports import SurveyReports
from masquerade.mechanisms import CategoricalMechanism, Mechanism
from masquerade.truth import BayesianCombination

Floats = NDArray[np.float64]


def label_result(reports: SurveyReports) -> list[dict[str, Any]]:
    """Return the inferred label of each item, from all levels together.

    Each level's people are inferred with that level's mask, by `BayesianCombination`, and held to
    the right labels where the survey has them. Given an item's label, people at different levels
    report independently, so what the levels say multiplies; what was expected beforehand counts
    once.
    """
    codebook = reports.codebook
    items = [question for question in codebook.questions if isinstance(question, Choice)]
    if len(items) < len(codebook.questions) or len({item.options for item in items}) != 1:
        return []  # no labelling task: the items have different labels
    logs, priors, ambiguous = [], [], False
    for name, n in reports.counts().items():
        if n:
            posterior, prior, unsure = _inferred(codebook, name, reports)
            logs.append(np.log(np.maximum(posterior, 1e-300)))
            priors.append(np.log(np.maximum(prior, 1e-300)))
            ambiguous |= unsure
    if not logs:
        return []
    total = np.sum(logs, axis=0) - np.sum(priors, axis=0) + np.mean(priors, axis=0)
    chance = np.exp(total - total.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    if len(logs) == 1:
        chance = np.exp(logs[0])
    labels = list(items[0].options)
    rows = []
    for item, row in zip(items, chance.tolist(), strict=True):
        best = max(range(len(labels)), key=row.__getitem__)
        rows.append(
            {
                "id": item.id,
                "item": item.text,
                "label": labels[best],
                "probability": min(row[best], 1.0),
                "known_label": item.truth,
                "orientation_ambiguous": ambiguous,
            }
        )
    return rows


def _inferred(
    codebook: Codebook, level: str, reports: SurveyReports
) -> tuple[Floats, Floats, bool]:
    """Return one level's posteriors, how often each label was expected, and any ambiguity."""
    sent = reports.at_level(level)
    mechanism: Mechanism = codebook.levels[level][0]
    assert isinstance(mechanism, CategoricalMechanism)
    options = codebook.questions[0].labels
    people, items = sent.shape
    claims = Claims(
        np.tile(np.arange(items, dtype=np.int32), people),
        np.repeat(np.arange(people, dtype=np.int32), items),
        sent.astype(np.int32).ravel(),
        pa.array([question.id for question in codebook.questions]),
        pa.array(range(people)),
        pa.array(options),
        mechanism.null,
    )
    known = {
        question.id: question.truth
        for question in codebook.questions
        if isinstance(question, Choice) and question.truth is not None
    }
    fit = BayesianCombination(ties="first").fit(claims, mechanism=mechanism, gold=known or None)
    solution = fit.solution_
    prior = solution.priors if solution.priors is not None else np.ones(len(options))
    return solution.posteriors, prior / prior.sum(), bool(solution.orientation_ambiguous)
