"""Expected precision, before anybody writes a question: ways to protect answers, side by side.

All margins are forecasts of `results.forecasts`, and so of the one core of estimation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from masquerade.accounting import Caps
from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.results.forecasts import forecast, masked_forecast, people_for, split_people_for
from masquerade.surveys import Choice
from masquerade.surveys.offered_levels import ALL_LEVELS, OfferedLevel
from masquerade.surveys.question import MaskRules
from masquerade.surveys.survey import DEVICE, MOST_QUESTIONS, Survey
from masquerade.surveys.two_parties import TwoParties

#: How much a margin tells, by its part of the whole range.
NOTHING, LITTLE, ENOUGH = "nothing", "little", "enough"
#: An interval over 95 of 100 of the range tells nothing; one over half of it tells little.
_NOTHING_FROM: Final = 0.475
LITTLE_ABOVE: Final = 0.25
#: The cost of two parties that the builder proposes.
USUAL_RHO: Final = "0.5"
#: The question whose margins stand for all: four options, of which half choose one.
TYPICAL: Final = Choice("typical", "A question with four options", ("A", "B", "C", "D"))


def tells(margin: float, width: float) -> str:
    """Return whether a margin tells enough, little or nothing of a range of this width.

    Examples
    --------
    >>> tells(0.05, 1), tells(0.3, 1), tells(0.5, 1), tells(2.0, 4)
    ('enough', 'little', 'nothing', 'nothing')
    """
    part = margin / width
    if part >= _NOTHING_FROM:
        return NOTHING
    return LITTLE if part > LITTLE_ABOVE else ENOUGH


@dataclass(frozen=True, slots=True)
class Way:
    """A way to protect answers, and its precision for a typical question.

    Attributes
    ----------
    trust : str
        ``"device"`` or ``"two-parties"``.
    level : str
        Of masks; of two parties their name.
    margin : float
        Of a share, with the people and questions that were planned.
    most_questions : int
        That can be asked as exactly as was wished and within a person's cap; 0 where none can.
    people_needed : int
        For the wished margin at the planned number of questions.
    fits : bool
        Whether the planned questions are as exact as was wished.
    """

    trust: str
    level: str
    margin: float
    most_questions: int
    people_needed: int
    fits: bool

    @property
    def tells(self) -> str:
        """How much the margin tells."""
        return tells(self.margin, 1)


def ways(people: int, questions: int, margin: float, *, caps: Caps, helper: bool) -> list[Way]:
    """Return the ways to ask so many people so many questions, the recommended one first.

    Parameters
    ----------
    people, questions : int
    margin : float
        That is wished, of a share.
    caps : Caps
        Of a person who has taken part in nothing yet.
    helper : bool
        Whether there is a second party; then two parties are looked at first.

    Examples
    --------
    >>> caps = Caps()
    >>> [way.level for way in ways(400, 10, 0.1, caps=caps, helper=True)][0]
    'two-parties'
    """
    masks = [_masks(level, people, questions, margin, caps) for level in ALL_LEVELS]
    split = _split(people, questions, margin, caps)
    order = [split, *masks] if helper else [*masks, split]
    best = next((way for way in order if way.fits), None)
    if best is None:  # the one that comes nearest, of those that need nobody else if they tell
        alone = [] if helper else [way for way in masks if way.tells != NOTHING]
        best = min(alone or order, key=lambda way: (way.most_questions == 0, way.margin))
    return [best, *(way for way in order if way is not best)]


def _masks(level: str, people: int, questions: int, margin: float, caps: Caps) -> Way:
    mask = TYPICAL.mask(level, MaskRules())
    found = masked_forecast(TYPICAL, {level: mask}, {level: people}).margin

    def affordable(count: int) -> bool:
        return caps.admits(OfferedLevel(level, (mask,) * count).cost("").loss)

    most = _most(affordable)
    needed = people_for(TYPICAL, mask, margin)
    exact = found <= margin
    return Way(DEVICE, level, found, most if exact else 0, needed, exact and questions <= most)


def _split(people: int, questions: int, margin: float, caps: Caps) -> Way:
    if not caps.admits(_of_sums(1).levels[0].cost("").loss):
        most = 0
    else:
        most = _most(lambda count: _split_margin(people, count) <= margin)
    needed = split_people_for(_of_sums(questions), 0, margin, answering=1.0)
    found = _split_margin(people, questions)
    return Way(TWO_PARTIES, TWO_PARTIES, found, most, needed, questions <= most)


@lru_cache(maxsize=4096)
def _split_margin(people: int, questions: int) -> float:
    return forecast(_of_sums(questions), 0, {TWO_PARTIES: people}).margin


@lru_cache(maxsize=256)
def _of_sums(count: int) -> Survey:
    """Return a survey between two parties with so many typical questions."""
    terms = TwoParties.of(
        helper="https://helper.example", operator="-", fingerprint="0" * 32, rho=USUAL_RHO
    )
    asked = tuple(Choice(f"q{place}", "-", TYPICAL.options) for place in range(count))
    level = OfferedLevel(TWO_PARTIES, ())
    return Survey("-", "", "pick", asked, (level,), two_parties=terms)


def _most(fits: Callable[[int], bool]) -> int:
    """Return the largest number of questions that fits, of numbers that fit up to one."""
    if not fits(1):
        return 0
    low, high = 1, MOST_QUESTIONS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
