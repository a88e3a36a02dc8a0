"""The labels of items that a crowd labelled in a survey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats
from masquerade.mechanisms import CategoricalMechanism, Mechanism
from masquerade.results.reports import SurveyReports
from masquerade.surveys import Choice
from masquerade.surveys.codebook import Codebook
from masquerade.truth import BayesianCombination

#: Most inferences a level by which known labels are checked; up to so many, one for each.
PARTS = 50


def label_result(reports: SurveyReports) -> list[dict[str, Any]]:
    """Return the inferred label of each item, from all levels together.

    Each level's people are inferred with that level's mask, by `BayesianCombination`, and held to
    the right labels where the survey has them. Given an item's label, people at different levels
    report independently, so what the levels say multiplies; what was expected beforehand counts
    once.

    A known label is left out while its own item is inferred, so that whether both agree says
    something. Of more than 50 known labels several are left out at a time.
    """
    codebook = reports.codebook
    items = [question for question in codebook.questions if isinstance(question, Choice)]
    if len(items) < len(codebook.questions) or len({item.options for item in items}) != 1:
        return []  # no labelling task: the items have different labels
    levels = [_Level.of(codebook, name, reports) for name, n in reports.counts().items() if n]
    if not levels:
        return []
    known = {item.id: item.truth for item in items if item.truth is not None}
    chance, ambiguous = _combined(levels, known)
    for part in range(min(len(known), PARTS)):
        # Every PARTS-th label together, so there are at most PARTS inferences at each level.
        asked = list(known)[part::PARTS]
        rest = {name: label for name, label in known.items() if name not in asked}
        own, unsure = _combined(levels, rest)
        rows = [row for row, item in enumerate(items) if item.id in asked]
        # Only rows of labels that were left out: elsewhere known labels speak for themselves.
        chance[rows] = own[rows]
        ambiguous[rows] = unsure[rows]
    labels = list(items[0].options)
    found = []
    for item, row, unsure_item in zip(items, chance.tolist(), ambiguous.tolist(), strict=True):
        best = max(range(len(labels)), key=row.__getitem__)
        found.append(
            {
                "id": item.id,
                "item": item.text,
                "label": labels[best],
                # rounding may take a sum of shares above 1
                "probability": min(row[best], 1.0),
                "known_label": item.truth,
                "orientation_ambiguous": unsure_item,
            }
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The reports of one level, ready to be inferred from."""

    claims: Claims
    mechanism: Mechanism

    @classmethod
    def of(cls, codebook: Codebook, level: str, reports: SurveyReports) -> _Level:
        sent = reports.at_level(level)
        # All items have the same options, so the first one's mask is that of all.
        mechanism: Mechanism = codebook.levels[level][0]
        assert isinstance(mechanism, CategoricalMechanism)
        people, items = sent.shape
        claims = Claims(
            np.tile(np.arange(items, dtype=np.int32), people),
            np.repeat(np.arange(people, dtype=np.int32), items),
            sent.astype(np.int32).ravel(),
            pa.array([question.id for question in codebook.questions]),
            pa.array(range(people)),
            pa.array(codebook.questions[0].labels),
            mechanism.null,
        )
        return cls(claims, mechanism)

    def inferred(self, known: dict[str, str]) -> tuple[Floats, Floats, bool]:
        """Return posteriors, how often each label was expected, and any ambiguity."""
        method = BayesianCombination(ties="first")
        solution = method.fit(self.claims, mechanism=self.mechanism, gold=known or None).solution_
        prior = solution.priors
        if prior is None:
            prior = np.ones(solution.posteriors.shape[1])
        return solution.posteriors, prior / prior.sum(), bool(solution.orientation_ambiguous)


def _combined(levels: Sequence[_Level], known: dict[str, str]) -> tuple[Floats, Flags]:
    """Return ``chance[item, label]`` over all levels, and whether labels may be swapped."""
    found = [level.inferred(known) for level in levels]
    # One level whose labels may be swapped may swap the product.
    ambiguous = np.full(len(found[0][0]), any(unsure for _, _, unsure in found))
    if len(found) == 1:
        return found[0][0].copy(), ambiguous
    # ln P(label | all) = sum of ln P(label | level), each level's prior taken out, one put back
    logs = [np.log(np.maximum(posterior, 1e-300)) for posterior, _, _ in found]
    priors = [np.log(np.maximum(prior, 1e-300)) for _, prior, _ in found]
    total = np.sum(logs, axis=0) - np.sum(priors, axis=0) + np.mean(priors, axis=0)
    chance = np.exp(total - total.max(axis=1, keepdims=True))
    return chance / chance.sum(axis=1, keepdims=True), ambiguous
