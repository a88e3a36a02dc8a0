"""Pairs that a person is shown of a list: which questions take them, and how reports name them.

Pairs are drawn before the person answers anything, of public numbers and of masked reports of
others. So they tell of nobody's answer, and stand beside the masked vote in clear. Between two
parties the device draws them (`disjoint_pairs`), and they never leave it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from masquerade.errors import BrokenPromise, InvalidReport, ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import WordSource, uniform_below
from masquerade.surveys.question import Question

#: The places in a list of the two items of each pair, one for each vote, in order.
Pairs = Sequence[tuple[int, int]]
Condition = TypeVar("Condition")
#: Draws so many different pairs of a list with so many items.
Drawing = Callable[[int, int], list[tuple[int, int]]]


def parts_of(
    questions: Sequence[Question], conditions: Sequence[Condition | None]
) -> tuple[tuple[Question, ...], tuple[Condition | None, ...]]:
    """Return the questions as they are asked: one for each vote; and the condition of each."""
    split: list[tuple[Question, ...]] = []
    for place, one in enumerate(questions):
        after = questions[place + 1] if place + 1 < len(questions) else None
        # Further votes that are written out already are not added again.
        whole = after is not None and after.takes_pair and not after.votes_asked
        split.append((one,) if whole else one.parts())
    flat = tuple(part for parts in split for part in parts)
    if not conditions:
        return flat, ()
    spread = zip(conditions, split, strict=True)
    return flat, tuple(condition for condition, parts in spread for _ in parts)


@lru_cache(maxsize=1024)
def lists_of(questions: tuple[Question, ...]) -> Mapping[int, tuple[str, ...]]:
    """Return the list of each question that takes a pair, by its place in the survey.

    Raises `ParameterError` where a vote stands without the question that has its list.
    """
    found: dict[int, tuple[str, ...]] = {}
    items: tuple[str, ...] = ()
    left = 0  # votes on the list that are still to come
    for place, question in enumerate(questions):
        if left and (question.votes_asked or not question.takes_pair):
            break
        if question.votes_asked:
            items, left = question.listed, question.votes_asked
        if question.takes_pair:
            if not left:
                raise ParameterError(
                    f"question {question.id!r} is a further vote, and no list stands before it.",
                    question=question.id,
                )
            found[place] = items
            left -= 1
    if left:
        raise ParameterError("a list has fewer votes than it says; add the further votes.")
    return found


def drawn_pairs(questions: tuple[Question, ...], draw: Drawing) -> list[tuple[int, int]] | None:
    """Return pairs for one person, in order; None for a survey without lists."""
    found: list[tuple[int, int]] = []
    for place, items in lists_of(questions).items():
        votes = questions[place].votes_asked
        if votes:
            found += draw(len(items), votes)
    return found or None


def votes_of_lists(questions: tuple[Question, ...]) -> dict[int, range]:
    """Return the places of all votes on each list, by the place of the question that has it."""
    return {
        place: range(place, place + questions[place].votes_asked)
        for place in lists_of(questions)
        if questions[place].votes_asked
    }


def disjoint_pairs(source: WordSource) -> Drawing:
    """Return a drawing of pairs without an item in common, all such draws equally likely.

    For two parties, whose sums one person then moves by 1 each at most. The device draws; nobody
    else sees which pairs a person was shown.
    """

    def draw(items: int, votes: int) -> list[tuple[int, int]]:
        order = list(range(items))
        for place in range(2 * votes):  # Fisher and Yates, as far as is needed
            other = place + int(uniform_below(source, items - place, 1)[0])
            order[place], order[other] = order[other], order[place]
        return list(itertools.pairwise(order[: 2 * votes]))[::2]

    return draw


def require_pairs(questions: tuple[Question, ...], pairs: object) -> list[tuple[int, int]]:
    """Return the pairs that a server shows, each a pair of its list, none twice.

    Raises `BrokenPromise`.
    """
    lists = lists_of(questions)
    known = isinstance(pairs, list) and len(pairs) == len(lists)
    if not isinstance(pairs, list) or not known:
        raise BrokenPromise("the server shows other pairs than the survey asks about.")
    seen: set[tuple[int, int]] = set()
    for (place, items), pair in zip(lists.items(), pairs, strict=True):
        if questions[place].votes_asked:
            seen = set()
        whole = isinstance(pair, list | tuple) and len(pair) == 2
        if not whole or not all(type(one) is int and 0 <= one < len(items) for one in pair):
            raise BrokenPromise("the server shows a pair that is none of the survey's list.")
        ends = (min(pair), max(pair))
        if ends[0] == ends[1] or ends in seen:
            raise BrokenPromise("the server shows a pair twice, or an item beside itself.")
        seen.add(ends)
    return [(first, second) for first, second in pairs]


def shown_questions(questions: tuple[Question, ...], pairs: Pairs | None) -> tuple[Question, ...]:
    """Return the questions with these pairs in place of their lists."""
    lists = lists_of(questions)
    if not lists or pairs is None:
        return questions
    shown = list(questions)
    for (place, items), pair in zip(lists.items(), pairs, strict=True):
        shown[place] = questions[place].of_pair(items, pair)
    return tuple(shown)


def folded(
    questions: tuple[Question, ...], pairs: Pairs | None, reports: Sequence[int]
) -> list[int]:
    """Return reports as they are kept: of a vote, the pair and the masked vote in one number.

    Of the pair (a, b) in a list of n items and k answers it is ``(a n + b) k + report``.
    """
    lists = lists_of(questions)
    kept = list(reports)
    if not lists:
        return kept
    if pairs is None or len(pairs) != len(lists):
        raise InvalidReport("these reports are of votes, and no pairs were shown.")
    for (place, items), (first, second) in zip(lists.items(), pairs, strict=True):
        kept[place] += (first * len(items) + second) * questions[place].answer_count
    return kept


def unfolded(questions: tuple[Question, ...], kept: Integers) -> tuple[Integers, Integers | None]:
    """Return reports and pairs of reports as `folded` keeps them.

    `kept`: shape (n_people, n_questions). A pair (a, b) is ``a n + b``, -1 where none was shown;
    None where the survey has no lists.

    Raises `InvalidReport` where a report names no pair of the list.
    """
    lists = lists_of(questions)
    if not lists:
        return kept, None
    kept = kept.astype(np.int64)  # counted reports come in few bytes
    reports, pairs = kept.copy(), np.full_like(kept, -1)
    for place, items in lists.items():
        count, n = questions[place].answer_count, len(items)
        pair = kept[:, place] // count
        bad = (pair < 0) | (pair >= n * n) | (pair // n == pair % n)
        if bad.any():
            raise InvalidReport(
                f"question {questions[place].id!r}, row {int(np.argmax(bad)) + 1}: report "
                f"{kept[int(np.argmax(bad)), place]} names no pair of its {n} items."
            )
        reports[:, place], pairs[:, place] = kept[:, place] % count, pair
    return reports, pairs
