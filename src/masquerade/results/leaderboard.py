"""The leaderboard of a survey in which people vote on pairs of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.preference import Leaderboard
from masquerade.preference.masked_votes import (
    OUTCOMES,
    MaskedVotes,
    SummedVotes,
    leaderboard_of_masked,
    leaderboard_of_sums,
    masked_votes_of,
)
from masquerade.preference.next_pair import next_pairs, top_is_known
from masquerade.results.reports import SurveyReports
from masquerade.results.typed_result import RankedItem, VotedLeaderboard
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
