"""The items of all pairwise questions of a survey on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from masquerade.estimation import Estimate
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference import rank_pairs
from masquerade.results.question_reports import AnswerReports, question_reports
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import ItemStrength

FIRST, SECOND, TIE = 1.0, 0.0, 0.5  # what a choice counts for the first item of a pair

#: Standard error of a pair's share from which on its interval is as wide as the range.
_SAYS_NOTHING = 0.25


def ranking_result(reports: SurveyReports) -> tuple[ItemStrength, ...]:
    """Return the items that pairwise questions compare, each with its strength, best first.

    For each pair the share who prefer the first is estimated over all levels, a tie counts half,
    who did not answer is left out; `rank_pairs` makes one scale of the shares. Groups of items that
    no pair links are ranked each by itself. A pair whose share may be anything is left out: 20
    people through strong masks (epsilon .7) make no ranking, as their intervals would hold in 88 of
    100 where items are far apart.
    """
    pairs = [pair for pair in _pairs(reports) if pair.share.standard_error < _SAYS_NOTHING]
    if not pairs:
        return ()
    share = np.array([min(max(pair.share.value, 0.0), 1.0) for pair in pairs])
    names = [pair.items for pair in pairs]
    found = rank_pairs(names, share, _covariance(pairs))
    reach = float(ndtri(0.5 + CONFIDENCE / 2))
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
            found.items, found.strengths, found.standard_errors, found.group, strict=True
        )
    ]
    return tuple(sorted(rows, key=lambda row: (row.group, -row.strength)))


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """A pair of items, the share who prefer the first, and the part of each response in it."""

    items: tuple[str, str]
    share: Estimate
    influence: Floats  # of each response, level by level
    people: Integers  # who sent it


def _pairs(reports: SurveyReports) -> Iterator[_Pair]:
    codebook = reports.codebook
    names = [name for name, n in reports.counts().items() if n]
    sizes = None if codebook.pool is None else [float(codebook.pool[name]) for name in names]
    responses = [reports.counted(name) for name in names]
    everybody = np.concatenate([people for _, people in responses]) if names else np.zeros(0, int)
    for place, question in enumerate(codebook.questions):
        if question.compared is None:
            continue
        sent = {name: reports.sent(name, place) for name in names}
        codes = [(rows[:, place], people) for rows, people in responses]
        found = question_reports(question, sent, estimator=codebook.survey.estimator, pool=sizes)
        assert isinstance(found, AnswerReports)
        scored = replace(found, scores=(FIRST, SECOND, TIE)[: found.answers])
        figures = scored.mean_figures()
        assert figures is not None
        [share] = figures.estimates(CONFIDENCE)
        yield _Pair(question.compared, share, _influence(scored, share.value, codes), everybody)


def _influence(
    found: AnswerReports, share: float, sent: Sequence[tuple[Integers, Integers]]
) -> Floats:
    """Return how far each report moves the share, as its linear part has it."""
    crowd, scores = found.crowd, found.scores or ()
    answered = (np.arange(crowd.symbols) < found.answers).astype(np.float64)
    away = -share * answered
    away[: found.answers] += scores
    base = float(crowd.values(answered[None, :])[0])
    parts = []
    for group, weight, (rows, people) in zip(crowd.groups, crowd.weights, sent, strict=True):
        worth = group.worths(away[None, :]).worth[0][rows]
        n = people.sum()
        parts.append(weight / n * (worth - people @ worth / n) / base)
    return np.concatenate(parts)


def _covariance(pairs: Sequence[_Pair]) -> Floats:
    """Return the covariance of the pairs' shares, which the same people answer.

    Errors are those of the shares' own intervals, so none is 0, or of the unbiased shares where
    the range cuts the intervals; correlations are the reports'.
    """
    reach = 2 * float(ndtri(0.5 + CONFIDENCE / 2))
    error = np.array(
        [
            max((pair.share.high - pair.share.low) / reach, pair.share.standard_error)
            for pair in pairs
        ]
    )
    away = np.stack([pair.influence for pair in pairs])
    # Summed in one order whatever the number of threads, so that it is the same everywhere.
    product = np.einsum("ip,jp,p->ij", away, away, pairs[0].people)
    size = np.sqrt(np.maximum(np.diag(product), 1e-300))
    correlation = product / np.outer(size, size)
    np.fill_diagonal(correlation, 1.0)
    covariance: Floats = correlation * np.outer(error, error)
    return covariance
