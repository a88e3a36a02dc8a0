"""The labels of items that a crowd labelled in a survey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers import Claims
from masquerade.exact.arrays import Flags, Floats
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import ItemLabel
from masquerade.surveys import Question
from masquerade.truth import BayesianCombination, ReportMechanisms

#: Most inferences by which known labels are checked; up to so many, one for each.
PARTS = 50


def label_result(reports: SurveyReports) -> tuple[ItemLabel, ...]:
    """Return the inferred label of each item, from all levels together.

    All people are inferred together by `BayesianCombination`, each report with the mask of its own
    level, and held to the right labels where the survey has them.

    A known label is left out while its own item is inferred, so that whether both agree says
    something. Of more than 50 known labels several are left out at a time.
    """
    items = labelling_items(reports.codebook.questions)
    sent = _sent(reports, items[0].labels) if items else None
    if sent is None:
        return ()
    claims, masks = sent
    known = {item.id: item.right_answer for item in items if item.right_answer is not None}
    chance, ambiguous = _inferred(claims, masks, known)
    for part in range(min(len(known), PARTS)):
        # Every PARTS-th label together, so there are at most PARTS inferences.
        asked = list(known)[part::PARTS]
        rest = {name: label for name, label in known.items() if name not in asked}
        own, unsure = _inferred(claims, masks, rest)
        rows = [row for row, item in enumerate(items) if item.id in asked]
        # Only rows of labels that were left out: elsewhere known labels speak for themselves.
        chance[rows] = own[rows]
        ambiguous[rows] = unsure[rows]
    labels = list(items[0].labels)
    found = []
    for item, row, unsure_item in zip(items, chance.tolist(), ambiguous.tolist(), strict=True):
        best = max(range(len(labels)), key=row.__getitem__)
        found.append(
            ItemLabel(
                id=item.id,
                item=item.text,
                label=labels[best],
                # rounding may take a sum of shares above 1
                probability=min(row[best], 1.0),
                known_label=item.right_answer,
                orientation_ambiguous=unsure_item,
            )
        )
    return tuple(found)


def labelling_items(questions: Sequence[Question]) -> list[Question]:
    """Return the items of a labelling task: choices among the same labels; else none."""
    items = [question for question in questions if question.labelling]
    same = len({item.labels for item in items}) == 1
    return items if same and len(items) == len(questions) else []


def _sent(reports: SurveyReports, labels: Sequence[str]) -> tuple[Claims, ReportMechanisms] | None:
    """Return the reports of all levels as claims, each with its mask; None where there are none."""
    codebook = reports.codebook
    names = [name for name, n in reports.counts().items() if n]
    if not names:
        return None
    tables = [reports.at_level(name) for name in names]
    # All items have the same options, so the first one's mask is that of all.
    masks: list[Any] = [codebook.levels[name][0].option_response for name in names]
    people, items = sum(len(table) for table in tables), len(codebook.questions)
    claims = Claims(
        # Everybody was asked all items: a person's answers stand behind each other.
        np.tile(np.arange(items, dtype=np.int32), people),
        np.repeat(np.arange(people, dtype=np.int32), items),
        np.concatenate([table.astype(np.int32).ravel() for table in tables]),
        pa.array([question.id for question in codebook.questions]),
        pa.array(range(people)),
        pa.array(labels),
        any(mask.null for mask in masks),
    )
    level = np.arange(len(names), dtype=np.int32)
    of_claim = np.repeat(level, [table.size for table in tables])
    return claims, ReportMechanisms(tuple(masks), of_claim)


def _inferred(
    claims: Claims, masks: ReportMechanisms, known: dict[str, str]
) -> tuple[Floats, Flags]:
    """Return ``chance[item, label]``, and whether labels may be swapped."""
    method = BayesianCombination(ties="first")
    # People of one level went through one mask, which asks less of the fit.
    mechanism = masks.mechanisms[0] if len(masks.mechanisms) == 1 else masks
    solution = method.fit(claims, mechanism=mechanism, gold=known or None).solution_
    chance = solution.posteriors.copy()
    return chance, np.full(len(chance), solution.orientation_ambiguous)
