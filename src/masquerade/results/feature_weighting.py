"""Weights of features in people's choices between two items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.special import ndtri

from masquerade.errors import EmptyTable, ParameterError
from masquerade.exact.arrays import Floats
from masquerade.preference.masked_choices import fit_masked_choices
from masquerade.results.json_form import JsonValue
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.surveys.question import Question


@dataclass(frozen=True, slots=True)
class FeatureWeight(JsonValue):
    """The weight of a feature of items in choices between them.

    Attributes
    ----------
    feature : str
    weight, low, high, standard_error : float
        The error holds masks and people, clustered by person.
    width : float
        Range of the feature among the items.

    Examples
    --------
    >>> FeatureWeight("price", -0.5, -0.7, -0.3, 0.1, 2.0).weight
    -0.5
    """

    feature: str
    weight: float
    low: float
    high: float
    standard_error: float
    width: float


def feature_weights(
    reports: SurveyReports, features: Mapping[str, Mapping[str, float]]
) -> tuple[FeatureWeight, ...]:
    """Return how much each feature of an item counts in a survey's pairwise questions.

    A person prefers a to b with probability ``Phi(sum of weight * (a - b) / width)``, the width of
    a feature being its range among the items (Thurstone's model). Masked choices of all levels are
    fitted together, each as far as its mask lets it through.

    Parameters
    ----------
    reports : SurveyReports
    features : mapping of str to mapping of str to float
        For each item its features, all items with the same ones.

    Returns
    -------
    tuple of FeatureWeight

    Raises
    ------
    EmptyTable
        Nobody answered.
    ParameterError
        There is no pairwise question, one has ties or can be skipped, an item has no or other
        features, or a feature is the same for all items.
    """
    codebook = reports.codebook
    pairs = _pairs(codebook.questions)
    names, table = _described(dict.fromkeys(chain(*pairs.values())), features)
    if not len(reports):
        raise EmptyTable("there are no reports; weights need some.")
    stacked = np.stack(list(table.values()))
    width = stacked.max(axis=0) - stacked.min(axis=0)
    if not (np.isfinite(stacked).all() and (width > 0).all()):
        raise ParameterError(f"of {names}, one is not finite or the same for all items; drop it.")
    # shown[question, feature]: the first item less the second, in widths
    shown = np.stack([(table[first] - table[second]) / width for first, second in pairs.values()])
    signs, contrast = [], []
    for name, n in reports.counts().items():
        if not n:
            continue
        sent = reports.at_level(name)
        # code 0, the first item, is 1; code 1 is -1
        signs.append(1 - 2 * sent[:, list(pairs)])
        row = []
        for place in pairs:
            mechanism = codebook.levels[name][place]
            assert mechanism.option_response is not None
            # P(report = answer) - P(report = the other answer)
            row.append(float(mechanism.option_response.signal))
        contrast.append(np.tile(row, (n, 1)))
    people = len(reports)
    fit = fit_masked_choices(
        # One row a choice, person by person within a level.
        np.concatenate(signs).ravel(),
        np.tile(shown, (people, 1)),
        np.ones(people * len(pairs)),
        np.concatenate(contrast).ravel(),
        # Choices of one person depend on one another: errors are clustered.
        voter=np.repeat(np.arange(people), len(pairs)),
    )
    # by masking again, by other people, and by what the ridge took from the weights
    spread = np.diag(fit.noise) + np.diag(fit.sampling) + np.diag(fit.shrinkage)
    errors = np.sqrt(np.maximum(spread, 0.0))
    reach = float(ndtri(0.5 + CONFIDENCE / 2))
    return tuple(
        FeatureWeight(
            name,
            float(weight),
            float(weight - reach * error),
            float(weight + reach * error),
            float(error),
            float(extent),
        )
        for name, weight, error, extent in zip(names, fit.weights, errors, width, strict=True)
    )


def _pairs(questions: Sequence[Question]) -> dict[int, tuple[str, str]]:
    """Return the two items of each pairwise question, by its place."""
    asked = [(place, one, one.compared) for place, one in enumerate(questions)]
    pairs = {place: pair for place, _, pair in asked if pair is not None}
    if not pairs:
        raise ParameterError("the survey has no pairwise question; weights are learnt from these.")
    for place in pairs:
        if len(questions[place].labels) > 2 or questions[place].allow_skip:
            raise ParameterError(
                f"question {questions[place].id!r} has a third answer; weights are learnt from "
                "choices of two."
            )
    return pairs


def _described(
    items: Iterable[str], features: Mapping[str, Mapping[str, float]]
) -> tuple[list[str], dict[str, Floats]]:
    """Return the names of the features, sorted, and the features of each item."""
    items = list(items)
    names = sorted({name for item in items for name in features.get(item, {})})
    for item in items:
        if sorted(features.get(item, {})) != names or not names:
            raise ParameterError(
                f"item {item!r} has the features {sorted(features.get(item, {}))}, expected "
                f"{names}; describe every item by the same ones."
            )
    return names, {item: np.array([float(features[item][n]) for n in names]) for item in items}
