"""The items of all pairwise questions of a survey on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from masquerade.exact.arrays import Floats, Integers
from masquerade.preference import rank_pairs
from masquerade.results.question_result import CONFIDENCE, question_shares
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import ItemStrength
from masquerade.surveys import Question
from masquerade.truth.level_weights import LevelValues, combine
from masquerade.truth.shares_over_levels import LevelShares

FIRST, SECOND, TIE = 1.0, 0.0, 0.5  # what a choice counts for the first item of a pair


def ranking_result(reports: SurveyReports) -> tuple[ItemStrength, ...]:
    """Return the items that pairwise questions compare, each with its strength, best first.

    For each pair the share who prefer the first is estimated at every level, a tie counts half, who
    did not answer is left out; the survey's estimator combines levels, with the same weights for
    all pairs; `rank_pairs` makes one scale of the shares. Groups of items that no pair links are
    ranked each by itself.
    """
    codebook = reports.codebook
    places, pairs, shares = [], [], []
    names = [name for name, n in reports.counts().items() if n]
    for place, question in enumerate(codebook.questions):
        if question.compared is None:
            continue
        sent = {
            name: (reports.at_level(name)[:, place], codebook.levels[name][place]) for name in names
        }
        found = question_shares(sent, None)
        scores = _scores(question)
        if found.score_values(scores) is not None:  # somebody seems to have answered
            places.append(place)
            pairs.append(question.compared)
            shares.append((found, scores))
    if not pairs:
        return ()
    means = [found.mean(scores).levels for found, scores in shares]
    parts = [levels for levels in means if levels is not None]
    # value[level, pair]: one object, so that all pairs weigh the levels alike
    levels = LevelValues(
        parts[0].n,
        np.hstack([part.value for part in parts]),
        np.hstack([part.people for part in parts]),
        np.hstack([part.masks for part in parts]),
        _pool(reports, names),
    )
    used = combine(levels)[codebook.survey.estimator]
    # spread[pair, pair]: what is not known of levels, then the errors of each level's people
    spread = np.diag(used.level)
    for weight, name in zip(used.weights, names, strict=True):
        values = _values(reports.at_level(name)[:, places], shares, names.index(name))
        # Levels are different people, so covariances add up.
        spread = spread + weight**2 * _covariance_of_mean(values, levels, names.index(name))
    found_items = rank_pairs(pairs, used.value, spread)
    reach = float(ndtri(0.5 + CONFIDENCE / 2))
    errors = found_items.standard_errors
    rows = [
        ItemStrength(
            item,
            float(strength),
            float(strength - reach * error),
            float(strength + reach * error),
            float(error),
            int(group),
        )
        for item, strength, error, group in zip(
            found_items.items, found_items.strengths, errors, found_items.group, strict=True
        )
    ]
    return tuple(sorted(rows, key=lambda row: (row.group, -row.strength)))


def _scores(question: Question) -> list[float]:
    return [FIRST, SECOND, TIE][: len(question.labels)]


def _pool(reports: SurveyReports, names: Sequence[str]) -> Floats | None:
    pool = reports.codebook.pool
    return None if pool is None else np.array([pool[name] for name in names], dtype=np.float64)


def _values(
    sent: Integers, shares: Sequence[tuple[LevelShares, list[float]]], level: int
) -> Floats:
    """Return the addend of each report of one level to each pair's share."""
    # columns[pair][person]: what the report is worth, unbiased
    columns = []
    for column, (found, scores) in zip(sent.T, shares, strict=True):
        worth = found.score_values(scores)
        assert worth is not None
        columns.append(worth[level][column])
    return np.stack(columns, axis=1)


def _covariance_of_mean(values: Floats, levels: LevelValues, level: int) -> Floats:
    """Return the covariance of a level's shares: the pairs are answered by the same people.

    Correlations are the reports', variances those of the shares' own intervals.
    """
    n = len(values)
    error = np.sqrt(levels.people[level] + levels.masks[level])
    if n < 2:
        return np.diag(error**2)
    away = values - values.mean(axis=0)
    # Summed in one order whatever the number of threads, so that it is the same everywhere.
    product = np.einsum("pi,pj->ij", away, away)
    size = np.sqrt(np.maximum(np.diag(product), 1e-300))
    correlation = product / np.outer(size, size)
    np.fill_diagonal(correlation, 1.0)
    # Correlations from the reports, errors from the model of the levels.
    covariance: Floats = correlation * np.outer(error, error)
    return covariance
