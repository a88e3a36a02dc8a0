"""Privacy levels of a survey: each fixes a mask for every question, and so a guarantee and a cost.

A participant chooses a level before seeing a question. Server and device derive every number and
sentence of a level from its masks, with the code of this module.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from masquerade.accounting import (
    Cost,
    Rho,
    blur_in_words,
    compose_linked,
    explain,
    odds_in_words,
)
from masquerade.errors import InvalidReport, LevelNotAllowed, ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.mechanisms import (
    LEVELS,
    BitwiseResponse,
    CategoricalMechanism,
    DiscreteGaussian,
    Lattice,
    RandomizedResponse,
    TwoLayer,
    level_named,
    parse_mechanism,
)
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.surveys.questions import (
    Choice,
    Comparison,
    Number,
    Question,
    Rating,
    SeveralOf,
)

ALL_LEVELS = tuple(level.name for level in LEVELS)

KEEP_PER_ANSWER, KEEP_PER_PERSON = "per-answer", "per-person"
RESPONSE_MASK, GAUSSIAN_MASK = "randomized-response", "gaussian"

#: The mechanisms that a survey can use; all of them run in the browser too.
Mask = CategoricalMechanism | BitwiseResponse | DiscreteGaussian

# Noise reaches farther than so many sigmas with a probability of 2.3e-19 an answer: no honest
# report is refused in the life of a server. Estimates cut far nearer (`BoundedReport`).
_REACH = 9


@dataclass(frozen=True)
class OfferedLevel:
    """A privacy level that a survey offers."""

    name: str
    mechanisms: tuple[Mask, ...]  # one for each question
    # Indices of questions whose reports can all change with one answer, because some are shown only
    # after certain answers to others.
    linked: tuple[tuple[int, ...], ...] = ()

    def guarantee(self) -> Guarantee:
        """Return what one response at this level promises the person who sends it."""
        return self._guarantee

    def cost(self, survey: str) -> Cost:
        """Return what one response at this level costs, in the ledger's units."""
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
            "rho": "inf" if cost.clear else Rho(cost.micro_rho).to_json(),
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

    def check_reports(self, reports: Sequence[int]) -> None:
        """Raise `InvalidReport` unless `reports` holds one possible report of each mask."""
        if len(reports) != len(self.mechanisms):
            raise InvalidReport(
                f"{len(reports)} reports for {len(self.mechanisms)} questions; send one each."
            )
        for number, (report, mechanism) in enumerate(
            zip(reports, self.mechanisms, strict=True), start=1
        ):
            low, high = possible_reports(mechanism)
            if not low <= report <= high:
                # The range alone: what was sent is not repeated, in answers or in logs.
                raise InvalidReport(
                    f"report {number} is none that its mask gives: {low} to {high}."
                )

    # Asked for with every response, and never changes.
    @cached_property
    def _guarantee(self) -> Guarantee:
        return _composed(self.mechanisms, self.linked)

    @cached_property
    def _cost(self) -> Cost:
        return _cost(self.mechanisms)


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


@lru_cache(maxsize=4096)
def parse_mask(text: str) -> Mask:
    """Return the mask of a text form; surveys share few, so each is read once."""
    mechanism = parse_mechanism(text)
    if not isinstance(mechanism, Mask):
        raise ParameterError(f"{mechanism} masks no answers to surveys.")
    return mechanism


def possible_reports(mechanism: Mask) -> tuple[int, int]:
    """Return the least and the largest report that is accepted of a mask."""
    if isinstance(mechanism, CategoricalMechanism | BitwiseResponse):
        return 0, mechanism.symbols - 1
    reach = int(_REACH * (mechanism.sigma / mechanism.lattice.step)) + 1
    return -reach, mechanism.lattice.points - 1 + reach


def answers_of(question: Question) -> int:
    """Return how many different answers a question has, "no answer" not counted."""
    return question.points if isinstance(question, Number) else len(question.labels)


def lattice_of(question: Question) -> Lattice:
    """Return the numbers that can be answered to a number or a rating."""
    assert not isinstance(question, Choice | SeveralOf | Comparison)
    step = question.step if isinstance(question, Number) else 1
    return Lattice(question.low, question.high, step)


def check_level(level: OfferedLevel, questions: Sequence[Question]) -> None:
    """Raise unless a level masks exactly the answers to each question, and only "none" is clear."""
    for question, mechanism in zip(questions, level.mechanisms, strict=True):
        if not _masks(mechanism, question, clear=level.name == CLEAR):
            raise ParameterError(
                f"question {question.id!r} has {answers_of(question)} answers and {mechanism} does "
                "not mask exactly these; they must agree.",
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


def mask_of(question: Question, level: str, *, masking: str, rating_mask: str) -> Mask:
    """Return a question's mask at one of `ALL_LEVELS` or ``"none"``, as in `Survey.at_levels`."""
    if isinstance(question, SeveralOf):
        return _bitwise(question, level)
    if level == CLEAR:
        return RandomizedResponse(
            answers_of(question), flip_probability=0, null=question.allow_skip
        )
    mu = level_named(level).mu
    gaussian = isinstance(question, Rating) and rating_mask == GAUSSIAN_MASK
    if isinstance(question, Number) or gaussian:
        lattice = lattice_of(question)
        sigma = (lattice.high - lattice.low) / mu
        return DiscreteGaussian(lattice.low, lattice.high, lattice.step, sigma=sigma)
    response = _randomized(level, len(question.labels), question.allow_skip)
    if masking == KEEP_PER_ANSWER:
        return response
    if question.allow_skip:
        raise ParameterError(
            f"question {question.id!r} can be skipped, which one flip probability a person does "
            f"not protect; use masking {KEEP_PER_ANSWER!r}.",
            question=question.id,
        )
    # The mean of the person's flip probability is the level's, so a single report loses as much.
    mean = response.flip_probability.limit_denominator(10**9)
    # the widest range around the mean that stays within 0 and 1
    width = min(mean, 1 - mean)
    return TwoLayer(response.options, low=mean - width, high=mean + width)


def _masks(mechanism: Mask, question: Question, *, clear: bool) -> bool:
    """Return whether a mechanism masks exactly the answers to a question."""
    number = isinstance(question, Number)
    if isinstance(question, SeveralOf):
        return isinstance(mechanism, BitwiseResponse) and (
            (mechanism.options, mechanism.most, mechanism.null)
            == (len(question.options), question.most, question.allow_skip)
        )
    if isinstance(mechanism, CategoricalMechanism):
        fits = mechanism.symbols == answers_of(question) + question.allow_skip
        return fits and (clear or not number)
    if not isinstance(mechanism, DiscreteGaussian) or question.allow_skip:
        return False
    # Noise on a scale has no report for "prefer not to say".
    return (number or isinstance(question, Rating)) and mechanism.lattice == lattice_of(question)


@lru_cache(maxsize=1024)
def _composed(mechanisms: tuple[Mask, ...], linked: tuple[tuple[int, ...], ...]) -> Guarantee:
    return compose_linked(mechanisms, linked)


@lru_cache(maxsize=1024)
def _cost(mechanisms: tuple[Mask, ...]) -> Cost:
    # Without the survey's name, so that surveys with the same masks share it.
    return Cost.of("", mechanisms)


def _bitwise(question: SeveralOf, level: str) -> BitwiseResponse:
    options, skip = len(question.options), question.allow_skip
    if level == CLEAR:
        return BitwiseResponse(options, question.most, epsilon=math.inf, null=skip)
    return level_named(level).bitwise_response(options, question.most, null=skip)


@functools.cache
def _randomized(name: str, options: int, null: bool) -> RandomizedResponse:
    return level_named(name).randomized_response(options, null=null)
