"""Privacy levels of a survey: each fixes a mask for every question, and so a guarantee and a cost.

A participant chooses a level before seeing a question. Server and device derive every number and
sentence of a level from its masks, with the code of this module.

One rule says how many people chose each level, for plans and results: two rules that hide different
levels could be held against each other. While people answer, only the total is shown, whatever the
counts are: who looks after each response would see in which order levels were chosen, and what was
hidden by what was shown before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypedDict

from masquerade.accounting import Caps, Cost, compose_linked, explain
from masquerade.accounting.words import blur_in_words, board_in_words, odds_in_words
from masquerade.errors import InvalidReport, LevelNotAllowed, ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.mechanisms import LEVELS
from masquerade.mechanisms.device_mechanism import DeviceMechanism
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.drawn_blocks import Draw
from masquerade.surveys.question import Question

ALL_LEVELS = tuple(level.name for level in LEVELS)

#: The mechanisms that a survey can use; all of them run in the browser too.
Mask = DeviceMechanism


class BoardWords(TypedDict):
    """The odds of a level, and its protection in words for an ethics board."""

    odds: str
    board: list[str]


@dataclass(frozen=True)
class OfferedLevel:
    """A privacy level that a survey offers."""

    name: str
    mechanisms: tuple[Mask, ...]  # one for each question
    # Indices of questions whose reports can all change with one answer, because some are shown only
    # after certain answers to others.
    linked: tuple[tuple[int, ...], ...] = ()
    # Where each person is asked some of the questions alone.
    draw: Draw | None = None

    def guarantee(self) -> Guarantee:
        """Return the guarantee of one response at this level."""
        return self._guarantee

    def cost(self, survey: str) -> Cost:
        """Return the cost of one response at this level, in the ledger's units."""
        return replace(self._cost, survey=survey)

    @property
    def clear(self) -> bool:
        """Whether some answers are sent as they are, or nothing is proven of them."""
        guarantee = self._guarantee
        return guarantee.epsilon_event == INFINITE_LOSS or guarantee.status != "proven"

    def price(self) -> dict[str, Any]:
        """Return the cost of a response as a JSON object; epsilons hold at ``delta``."""
        guarantee, cost = self._guarantee, self._cost
        return {
            "rho": "inf" if cost.clear else cost.rho.to_json(),
            "epsilon_single": guarantee.epsilon_single.to_json(),
            "epsilon_event": guarantee.epsilon_event.to_json(),
            "epsilon_user": guarantee.epsilon_user.to_json(),
            "delta": float(guarantee.delta),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the level in numbers and sentences, all derived from its masks."""
        words = explain(self._guarantee)
        return {
            "name": self.name,
            "mechanisms": [str(mechanism) for mechanism in self.mechanisms],
            **self.price(),
            "odds": odds_in_words(self.mechanisms),
            "words": words.one_answer,
            "words_all": words.all_answers,
            "blur": blur_in_words(self.mechanisms),
        }

    def for_board(self) -> BoardWords:
        """Return the level in odds, for a surveyor and an ethics board."""
        return {
            "odds": odds_in_words(self.mechanisms),
            "board": list(board_in_words(self._guarantee)),
        }

    def check_reports(self, reports: Sequence[int]) -> None:
        """Raise `InvalidReport` unless `reports` holds one possible report of each mask."""
        if len(reports) != len(self.mechanisms):
            raise InvalidReport(
                f"{len(reports)} reports for {len(self.mechanisms)} questions; send one each."
            )
        places = range(len(reports)) if self.draw is None else self.draw.check(reports)
        for place in places:
            number, report, mechanism = place + 1, reports[place], self.mechanisms[place]
            low, high = mechanism.possible_reports()
            if not low <= report <= high:
                # The range alone: what was sent is not repeated, in answers or in logs.
                raise InvalidReport(
                    f"report {number} is none that its mask gives: {low} to {high}."
                )

    # Asked for with every response, and never changes.
    @cached_property
    def _guarantee(self) -> Guarantee:
        return _composed(self.mechanisms, self.linked, self.draw)

    @cached_property
    def _cost(self) -> Cost:
        return _cost(self.mechanisms, self.draw)


def offered_level(
    levels: Sequence[OfferedLevel], name: str, *, quoted: bool = False
) -> OfferedLevel:
    """Return the level of this name; `LevelNotAllowed` where it is not among them."""
    for level in levels:
        if level.name == name:
            return level
    names = ", ".join(level.name for level in levels)
    # A server must not send back what was sent to it, so only the device quotes the name.
    level_text = repr(name) if quoted else "that level"
    raise LevelNotAllowed(f"this survey does not offer {level_text}; choose one of {names}.")


def check_level(level: OfferedLevel, questions: Sequence[Question]) -> None:
    """Raise unless a level masks exactly the answers to each question, and only "none" is clear."""
    for question, mechanism in zip(questions, level.mechanisms, strict=True):
        if not question.masked_by(mechanism, clear=level.name == CLEAR):
            raise ParameterError(
                f"question {question.id!r} has {question.answer_count} answers and {mechanism} "
                "does not mask exactly these; they must agree.",
                question=question.id,
            )
    if level.name == CLEAR:
        if not all(one.guarantee().epsilon_user == INFINITE_LOSS for one in level.mechanisms):
            raise ParameterError("level 'none' masks some answers; give such a level another name.")
    elif level.guarantee().epsilon_user == INFINITE_LOSS:
        raise ParameterError(
            "a mechanism of this survey gives no privacy at all; a live survey needs one that "
            "does. Choose a level, or a flip probability above 0."
        )


@lru_cache(maxsize=1024)
def _composed(
    mechanisms: tuple[Mask, ...], linked: tuple[tuple[int, ...], ...], draw: Draw | None
) -> Guarantee:
    if draw is not None:
        return draw.guarantee(mechanisms, linked)
    return compose_linked(mechanisms, linked)


@lru_cache(maxsize=1024)
def _cost(mechanisms: tuple[Mask, ...], draw: Draw | None) -> Cost:
    # Without the survey's name, so that surveys with the same masks share it.
    if draw is not None:
        return draw.cost(mechanisms)
    return Cost.of("", mechanisms)


#: A share of a cap is counted in millionths.
_PARTS = 1_000_000


def share_of_cap(offered: OfferedLevel, caps: Caps) -> float:
    """Return the share of a fresh account that a response takes; 0 for answers in clear.

    A cap holds where one of three sums does; it is the smallest share, rounded up, so that it is
    above 1 exactly where masked answers are not `affordable`.
    """
    # The token plays no part in the amounts.
    share = caps.share(offered.cost("").loss)
    return math.inf if share is None else math.ceil(_PARTS * share) / _PARTS


def percent_of_cap(offered: OfferedLevel, caps: Caps) -> float:
    """Return the share of a fresh account in whole percent, rounded up; above 100 if refused."""
    share = share_of_cap(offered, caps)
    # Back to the whole millionths of `share_of_cap`, so that the percentage is rounded up exactly.
    return share if math.isinf(share) else -(-round(share * _PARTS) * 100 // _PARTS)


def too_dear(levels: Sequence[OfferedLevel], caps: Caps) -> list[str]:
    """Return a sentence for each level at which nobody with a fresh account can take part."""
    return [
        f"At level {level.name} nobody can take part with the usual cap: one response takes "
        f"{percent_of_cap(level, caps):,} % of it. Ask fewer questions, or leave the level out."
        for level in levels
        if share_of_cap(level, caps) > 1
    ]


#: People at a level below which levels are not counted apart.
FEWEST_AT_LEVEL = 5

_COARSE = 10


def in_tens(count: int) -> int:
    """Return a count in whole tens, rounded down: what is told of people who come and go.

    Examples
    --------
    >>> in_tens(9), in_tens(10), in_tens(128)
    (0, 10, 120)
    """
    return count // _COARSE * _COARSE


def shown_counts(counts: Mapping[str, int]) -> dict[str, int | None]:
    """Return how many people chose each level; None for all where some, but too few, chose one.

    Then the total alone is known. Every order of the same counts is hidden with it, so that no
    count of a level follows (shown for every table of up to 60 people by enumeration). To hide the
    small ones and another is not enough: of 5, 4 and 4 people with 5 shown and a total of 13 only
    one table is possible.

    Examples
    --------
    >>> shown_counts({"high": 3, "medium": 40, "low": 90})
    {'high': None, 'medium': None, 'low': None}
    >>> shown_counts({"high": 0, "medium": 40})
    {'high': 0, 'medium': 40}
    """
    if len(counts) == 1:  # the level is fixed, so its count is the total
        return {**counts}
    few = any(0 < count < FEWEST_AT_LEVEL for count in counts.values())
    return {name: None if few else count for name, count in counts.items()}
