"""What a survey offers before it is begun, worked out on this device from the masks themselves.

A server says numbers and sentences of its levels. None of them is shown: they are worked out here
from the mechanisms, and where the server's number is missing, is none, or promises more privacy
than the masks give, the survey is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from masquerade.accounting import (
    Cost,
    Rho,
    blur_in_words,
    compose_linked,
    explain,
    odds_in_words,
)
from masquerade.client.questions import Mask
from masquerade.client.survey_text import MOST_QUESTIONS, REVEALS, SurveyText, hash_of
from masquerade.errors import BrokenPromise, LevelNotAllowed, MasqueradeError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.mechanisms import (
    CategoricalMechanism,
    DiscreteGaussian,
    RandomizedResponse,
    TwoLayer,
    parse_mechanism,
)
from masquerade.surveys.questions import MOST_OPTIONS

CLEAR = "none"
"""Name of the level at which answers are sent as they are; no other may do that."""

_COVERED = ("title", "description", "topic", "template", "reveal", "estimator", "hash")
_KINDS = ("choice", "rating", "number", "comparison")
_HASH = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_LONGEST_MECHANISM = 1000  # characters
# Amounts are exact to a millionth; another version may round its last digit differently.
_SLACK = 2e-6


# Asked for in every step of a participation, and never changes.
_promise = lru_cache(maxsize=1024)(compose_linked)
_mechanism = lru_cache(maxsize=1024)(parse_mechanism)


@lru_cache(maxsize=1024)
def _cost(mechanisms: tuple[Mask, ...]) -> Cost:
    return Cost.of("", mechanisms)


@dataclass(frozen=True, slots=True)
class OfferedMasks:
    """A level that a survey offers.

    Attributes
    ----------
    name : str
    mechanisms : tuple of CategoricalMechanism or DiscreteGaussian
        One for each question.
    linked : tuple of tuple of int
        Places of questions whose reports can all change with one answer.
    guarantee : Guarantee
        Derived: what a response at this level promises.
    """

    name: str
    mechanisms: tuple[Mask, ...]
    linked: tuple[tuple[int, ...], ...] = ()
    guarantee: Guarantee = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "guarantee", _promise(self.mechanisms, self.linked))

    @property
    def clear(self) -> bool:
        """Whether some answers are sent as they are, or nothing is proven of them."""
        promise = self.guarantee
        return promise.epsilon_event == INFINITE_LOSS or promise.status != "proven"

    def cost(self, survey: str) -> Cost:
        """Return what a response costs, in the units of a ledger."""
        return replace(_cost(self.mechanisms), survey=survey)

    def price(self) -> dict[str, Any]:
        """Return what a response costs as a JSON object; epsilons hold at ``delta``."""
        promise, cost = self.guarantee, _cost(self.mechanisms)
        return {
            "rho": "inf" if cost.clear else Rho(cost.micro_rho).to_json(),
            "epsilon_single": promise.epsilon_single.to_json(),
            "epsilon_event": promise.epsilon_event.to_json(),
            "epsilon_user": promise.epsilon_user.to_json(),
            "delta": float(promise.delta),
            "clear": cost.clear,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the level in numbers and sentences, all of them worked out here."""
        words = explain(self.guarantee)
        return {
            "name": self.name,
            "mechanisms": list(map(str, self.mechanisms)),
            **self.price(),
            "odds": odds_in_words(self.mechanisms),
            "words": words.one_answer,
            "words_all": words.all_answers,
            "blur": blur_in_words(self.mechanisms),
        }


@dataclass(frozen=True, slots=True)
class Offer:
    """What a survey says of itself before it is begun, as far as its hash will cover it.

    Attributes
    ----------
    covered : dict
        ``title``, ``description``, ``topic``, ``template``, ``reveal``, ``estimator``, ``hash``.
    questions : int
    kinds : dict of str to int
        How many questions there are of each kind.
    linked : tuple of tuple of int
    levels : tuple of OfferedMasks
        The strongest first: their order is in no hash.
    masks : dict
        The device form of each mechanism, by its text form.
    """

    covered: dict[str, str]
    questions: int
    kinds: dict[str, int]
    linked: tuple[tuple[int, ...], ...]
    levels: tuple[OfferedMasks, ...]
    masks: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, invitation: Mapping[str, Any], *, kept: bool = False) -> Offer:
        """Return what an invitation offers.

        Parameters
        ----------
        invitation : mapping
        kept : bool
            Whether it was read before and kept, by this version or another: then its numbers were
            this device's own.

        Raises
        ------
        BrokenPromise
            Something is missing, cannot be, or is better than the masks are.
        """
        try:
            return cls._read(invitation, kept=kept)
        except BrokenPromise:
            raise
        except (
            MasqueradeError,
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            AttributeError,
        ) as error:
            raise BrokenPromise(
                f"the invitation cannot be read ({error}); nothing was begun."
            ) from error

    @classmethod
    def _read(cls, invitation: Mapping[str, Any], *, kept: bool) -> Offer:
        covered = {name: _text(invitation[name], name) for name in _COVERED}
        if not _HASH.fullmatch(covered["hash"]) or covered["reveal"] not in REVEALS:
            raise BrokenPromise("the invitation has no hash, or says not when reports are shown.")
        count, kinds = invitation["questions"], dict(invitation["kinds"])
        if not _is_whole(count) or not 1 <= count <= MOST_QUESTIONS:
            raise BrokenPromise(f"the invitation is to {count!r} questions.")
        if not all(kind in _KINDS and _is_whole(n) and n > 0 for kind, n in kinds.items()):
            raise BrokenPromise("the invitation is to kinds of questions that cannot be.")
        if sum(kinds.values()) != count:
            raise BrokenPromise(f"the invitation is to {count} questions, and other kinds.")
        groups, masks = _groups(invitation["linked"], count), dict(invitation["masks"])
        given = list(invitation["levels"])
        levels = [_level(one, count, groups, masks) for one in given]
        names = [level.name for level in levels]
        if not names or len(set(names)) < len(names):
            raise BrokenPromise(f"the invitation has the levels {names}.")
        if invitation.get("fixed_level") != (names[0] if len(names) == 1 else None):
            raise BrokenPromise("the invitation names a level for everybody that is not the one.")
        if not kept:
            for level, one in zip(levels, given, strict=True):
                _require_said(level, one)
        levels.sort(key=_strength)
        return cls(covered, count, kinds, groups, tuple(levels), masks)

    @property
    def fixed_level(self) -> str | None:
        """Name of the level where everybody has the same."""
        return self.levels[0].name if len(self.levels) == 1 else None

    def level(self, name: str) -> OfferedMasks:
        """Return one of the levels.

        Raises
        ------
        LevelNotAllowed
            The survey does not offer it.
        """
        for level in self.levels:
            if level.name == name:
                return level
        names = ", ".join(level.name for level in self.levels)
        raise LevelNotAllowed(f"this survey does not offer {name!r}; choose one of {names}.")

    def to_json(self) -> dict[str, Any]:
        """Return the offer as an invitation, with this device's own numbers and sentences."""
        return {
            **self.covered,
            "questions": self.questions,
            "kinds": self.kinds,
            "linked": [list(group) for group in self.linked],
            "masks": self.masks,
            "levels": [level.to_json() for level in self.levels],
            "fixed_level": self.fixed_level,
        }

    def require_opening(
        self, opening: Mapping[str, Any], *, participation: str, level: str
    ) -> SurveyText:
        """Return the survey that was opened where it is, word by word, the one invited to.

        Parameters
        ----------
        opening : mapping
            The server's answer.
        participation, level : str
            What was asked for.

        Raises
        ------
        BrokenPromise
            It is another; nothing may be answered.
        """
        said = tuple(opening.get(name) for name in ("id", "state", "level", "hash"))
        if said != (participation, "opened", level, self.covered["hash"]):
            raise BrokenPromise("the server opened something else than was asked for.")
        text = opening.get("survey")
        if not isinstance(text, str) or hash_of(text) != self.covered["hash"]:
            raise BrokenPromise("the survey is another than the one you were invited to.")
        if opening.get("masks") != self.masks:
            raise BrokenPromise("the masks are others than those you were invited to.")
        found = SurveyText.read(text)
        for name in _COVERED[:-1]:
            if getattr(found, name) != self.covered[name]:
                raise BrokenPromise(f"the {name} is another than in the invitation.")
        if found.levels != {one.name: list(map(str, one.mechanisms)) for one in self.levels}:
            raise BrokenPromise("the levels are others than those you were invited to.")
        if (found.kinds, found.linked) != (self.kinds, sorted(map(list, self.linked))):
            raise BrokenPromise("the questions are others than those you were invited to.")
        return found


def _level(
    given: Mapping[str, Any], count: int, groups: tuple[tuple[int, ...], ...], masks: dict[str, Any]
) -> OfferedMasks:
    name, texts = _text(given["name"], "level"), given["mechanisms"]
    if not _NAME.fullmatch(name) or not isinstance(texts, list) or len(texts) != count:
        raise BrokenPromise(f"level {name!r} has not one mask for each question.")
    known = {text: _mask(_text(text, "mask"), masks[text]) for text in dict.fromkeys(texts)}
    level = OfferedMasks(name, tuple(known[text] for text in texts), groups)
    if level.clear and name != CLEAR:
        raise BrokenPromise(f"level {name!r} sends some answers as they are.")
    large = [
        m
        for m in known.values()
        if isinstance(m, CategoricalMechanism) and m.symbols > MOST_OPTIONS + 1
    ]
    if large and not level.clear:
        raise BrokenPromise(f"level {name!r} has the mask {large[0]}, for which no question is.")
    return level


def _mask(text: str, form: Any) -> Mask:
    """Return a mechanism where its text and its whole numbers say the same."""
    if len(text) > _LONGEST_MECHANISM:
        raise BrokenPromise("the text of a mask is too long.")
    mechanism = _mechanism(text)
    if not isinstance(mechanism, RandomizedResponse | TwoLayer | DiscreteGaussian):
        raise BrokenPromise(f"{mechanism} masks no answers to surveys.")
    if str(mechanism) != text or form != mechanism.device_form():
        raise BrokenPromise(f"the mask {mechanism} comes with the numbers of another.")
    return mechanism


def _require_said(level: OfferedMasks, given: Mapping[str, Any]) -> None:
    """Raise where the server says less of a loss than there is, or nothing that can be read."""
    for name, own in level.price().items():
        if name == "clear":
            continue
        there = math.inf if own == "inf" else own
        said = given.get(name)
        if said == "inf" and math.isinf(there):
            continue
        least = there - _SLACK * (name != "delta")
        number = said if isinstance(said, int | float) and not isinstance(said, bool) else math.nan
        if not least <= number < math.inf:
            raise BrokenPromise(
                f"level {level.name!r} costs {name} {there:g} by its masks, and the server says "
                f"{said!r}; nothing was begun."
            )


def _groups(given: Sequence[Sequence[int]], count: int) -> tuple[tuple[int, ...], ...]:
    if not isinstance(given, list) or not all(isinstance(group, list) for group in given):
        raise BrokenPromise("the invitation does not say which questions hang together.")
    for group in given:
        places = all(_is_whole(place) and 0 <= place < count for place in group)
        if not places or len(set(group)) < len(group) or len(group) < 2:
            raise BrokenPromise(f"the invitation says that questions {group} hang together.")
    return tuple(tuple(sorted(group)) for group in given)


def _strength(level: OfferedMasks) -> tuple[float, float, str]:
    cost = _cost(level.mechanisms)
    return (
        math.inf if cost.clear else cost.micro_rho,
        level.guarantee.epsilon_user.micro,
        level.name,
    )


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise BrokenPromise(f"the invitation's {what} is no text.")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
