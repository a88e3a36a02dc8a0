"""The leaderboard of votes on pairs of a list, and items of pairwise questions on one scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from masquerade.estimation import Estimate
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference import Leaderboard, rank_pairs
from masquerade.preference.masked_votes import (
    OUTCOMES,
    MaskedVotes,
    SummedVotes,
    leaderboard_of_masked,
    leaderboard_of_sums,
    masked_votes_of,
)
from masquerade.preference.next_pair import next_pairs, top_is_known
from masquerade.results.question_reports import AnswerReports, question_reports
from masquerade.results.question_result import CONFIDENCE
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import ItemStrength, RankedItem, VotedLeaderboard
from masquerade.surveys import Question
from masquerade.surveys.pair_votes import lists_of
from masquerade.surveys.survey import Survey


def leaderboards(reports: SurveyReports) -> tuple[VotedLeaderboard, ...]:
    """Return the leaderboard of each list that people voted on, from all levels together."""
    found = []
    for name, votes in list_votes(reports).items():
        question = next(one for one in reports.codebook.questions if one.id == name)
        board = leaderboard_of_masked(votes)
        shown = np.bincount(votes.first, minlength=len(votes.items))
        shown += np.bincount(votes.second, minlength=len(votes.items))
        times = dict(zip(votes.items, shown.tolist(), strict=True))
        found.append(_voted(question, board, times))
    return tuple(found)


def summed_leaderboards(
    survey: Survey, sums: Sequence[Sequence[int]], people: int
) -> tuple[VotedLeaderboard, ...]:
    """Return the leaderboard of each list whose votes two parties added up, from noisy sums.

    `sums`: of each block of the survey's encoding. `people`: responses in them.
    """
    encoding, noise, found = survey.encoding, survey.split_noise, []
    for place, items in lists_of(survey.questions).items():
        question = survey.questions[place]
        if not question.votes_asked:
            continue
        own = encoding.place(question.id)
        won, lost = np.split(np.asarray(sums[own], dtype=np.float64), 2)
        votes = SummedVotes(
            tuple(items),
            won,
            lost,
            float(noise.published_variance(own)),
            people,
            question.votes_asked,
            len(question.labels) == len(OUTCOMES),
        )
        board = leaderboard_of_sums(votes)
        each = round(2 * board.votes / len(items))  # expected: who was shown what is in no sum
        found.append(_voted(question, board, dict.fromkeys(items, each)))
    return tuple(found)


def _voted(question: Question, board: Leaderboard, shown: Mapping[str, int]) -> VotedLeaderboard:
    return VotedLeaderboard(
        question=question.id,
        text=question.text,
        votes=round(board.votes),
        ties=board.ties if len(question.labels) == len(OUTCOMES) else None,
        model=board.model,
        notes=board.notes,
        items=tuple(RankedItem.of(one, shown[one.item]) for one in board.standings),
    )


def list_votes(reports: SurveyReports, *, clear: bool = True) -> dict[str, MaskedVotes]:
    """Return the masked votes on each list, by the id of the question that has it.

    `clear`: whether votes of levels that send them in clear are among them.
    """
    book, pairs = reports.codebook, reports.pairs
    places = lists_of(book.questions)
    if pairs is None or not len(reports):
        return {}
    groups: dict[str, list[int]] = {}
    for place in places:
        if book.questions[place].votes_asked:
            groups[book.questions[place].id] = []
        groups[list(groups)[-1]].append(place)
    found = {name: _votes(reports, members, clear=clear) for name, members in groups.items()}
    return {name: votes for name, votes in found.items() if votes is not None}


def _votes(reports: SurveyReports, places: list[int], *, clear: bool) -> MaskedVotes | None:
    book, pairs = reports.codebook, reports.pairs
    assert pairs is not None
    items = lists_of(book.questions)[places[0]]
    rows: list[tuple[Any, Any, Any, Any, int]] = []
    channels: list[Floats] = []
    voters = 0
    for number, (_, masks) in enumerate(book.levels.items()):
        here = np.flatnonzero(reports.level == number)
        mask: Any = masks[places[0]]  # of labels, as the kind has it
        if not here.size or (mask.loss().in_clear and not clear):
            continue
        # Each person by themselves: who sent the same votes did not send them together.
        here = np.repeat(here, reports.people[here])
        people = voters + np.arange(len(here))
        voters += len(here)
        for place in places:
            pair = pairs[here, place]
            first, second = pair // len(items), pair % len(items)
            rows.append((first, second, reports.report[here, place], people, len(channels)))
        channels.append(mask.channel().matrix())
    return masked_votes_of(items, rows, channels) if rows else None


@dataclass(frozen=True, slots=True)
class NextVotes:
    """The evidence of masked votes so far on the votes to come.

    Attributes
    ----------
    pairs : list of (int, int)
        Pairs of the survey's list that best tell the best items from the others.
    top : int
        How many are the best.
    decided : bool
        Whether it is decided which these are; see `top_is_known`.
    """

    pairs: list[tuple[int, int]]
    top: int
    decided: bool


def next_votes(reports: SurveyReports, *, batch: int, top: int, look: int) -> NextVotes | None:
    """Return which pairs of a survey's list to ask about next, and whether more need be asked.

    None where a survey has several lists, or no vote was masked: their pairs are drawn at random.
    `look`: which look at this survey's votes it is, from 1.

    Privacy
    -------
    The pairs follow from masked reports and public numbers alone. Votes in clear do not steer them:
    whoever is shown the pairs would learn of these votes.
    """
    questions = reports.codebook.questions
    lists = list(list_votes(reports, clear=False).values())
    if not lists or sum(questions[place].votes_asked > 0 for place in lists_of(questions)) > 1:
        return None
    board = leaderboard_of_masked(lists[0])
    place = {item: number for number, item in enumerate(board.items)}
    top = min(top, len(place) - 1)
    # The pairs are public, so any generator may draw the part that is random.
    pairs = next_pairs(board, np.random.default_rng(), batch=batch, top=top)
    return NextVotes(
        [(place[first], place[second]) for first, second in pairs],
        top,
        top_is_known(board, top, look=look),
    )


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
    """A pair of items, the share of the first, and the part of each response in it."""

    items: tuple[str, str]
    share: Estimate
    influence: Floats  # of each response, level by level
    people: Integers  # who sent it


def _pairs(reports: SurveyReports) -> Iterator[_Pair]:
    codebook = reports.codebook
    names = [name for name, n in reports.counts().items() if n]
    sizes = None if codebook.pool is None else [float(codebook.pool[name]) for name in names]
    everybody = np.concatenate(
        [reports.counted(name, 0)[1] for name in names] or [np.zeros(0, int)]
    )
    for place, question in enumerate(codebook.questions):
        if question.compared is None:
            continue
        sent = {name: reports.sent(name, place) for name in names}
        responses = [reports.counted(name, place) for name in names]
        codes = [(rows[:, 0], people) for rows, people in responses]
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
