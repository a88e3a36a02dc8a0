"""What a survey says before it is begun, without a question's text, and what it asks once it is."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Any

from masquerade.accounting import Rho, explain, keep_in_words
from masquerade.answers import Question, Rating, ShowIf
from masquerade.mechanisms import CategoricalMechanism, DiscreteGaussian, Mechanism
from masquerade.server.definition import CLEAR, Definition, OfferedLevel
from masquerade.server.desk.rewards import Reward
from masquerade.server.padding import encoded
from masquerade.server.surveys import Asked

_MOST_OF_NOISE = 1.2816  # four of five draws lie within so many sigmas
_EXAMPLE = 10  # where the scale of the example ends


def invitation(asked: Asked, *, state: str) -> dict[str, Any]:
    """Return what everybody may know of a survey."""
    return {**_fixed(asked), "state": state}


@lru_cache(maxsize=1024)
def _fixed(asked: Asked) -> dict[str, Any]:
    return introduction(
        asked.definition,
        token=asked.token,
        hash_=asked.hash,
        simulated=asked.simulated,
        reward=asked.reward,
    )


def introduction(
    definition: Definition,
    *,
    token: str,
    hash_: str,
    simulated: bool = False,
    reward: Reward | None = None,
) -> dict[str, Any]:
    """Return what everybody may know of a survey whatever its state, open or to be opened."""
    return {
        "token": token,
        "title": definition.title,
        "description": definition.description,
        "topic": definition.topic,
        "hash": hash_,
        "reveal": definition.reveal,
        "simulated": simulated,
        "questions": len(definition.questions),
        "kinds": dict(Counter(question.kind for question in definition.questions)),
        "levels": [level_json(level, token) for level in definition.levels],
        "fixed_level": definition.fixed_level,
        "reward": _reward(reward),
    }


def _reward(reward: Reward | None) -> dict[str, Any] | None:
    if reward is None:
        return None
    amounts = {name: reward.paid(name) for name in reward.prices} if reward.pays else {}
    return {"kind": reward.kind, "currency": reward.currency, "amounts": amounts}


def level_json(level: OfferedLevel, survey: str) -> dict[str, Any]:
    """Return what a level means for a survey, in numbers and in words."""
    guarantee = level.guarantee()
    words = explain(guarantee)
    return {
        "name": level.name,
        "rho": "inf" if level.name == CLEAR else Rho(level.cost(survey).micro_rho).to_json(),
        "epsilon_event": guarantee.epsilon_event.to_json(),
        "epsilon_user": guarantee.epsilon_user.to_json(),
        "delta": float(guarantee.delta),
        "odds": _odds(level),
        "words": words.one_answer,
        "words_all": words.all_answers,
        "blur": _blur(level),
    }


def _odds(level: OfferedLevel) -> str:
    if level.name == CLEAR:
        return "Everybody sends the answers they gave."
    responses = [m for m in level.mechanisms if isinstance(m, CategoricalMechanism)]
    sentences = [keep_in_words(responses)] if responses else []
    noisy = [m for m in level.mechanisms if isinstance(m, DiscreteGaussian)]
    if noisy:
        sentences.append(
            "Numbers are sent with noise in proportion to their range: 4 times in 5, a number "
            f"between 0 and {_EXAMPLE} is sent within ±{max(map(_reach, noisy))} of the answer."
        )
    return " ".join(sentences)


def _blur(level: OfferedLevel) -> str:
    """Return an example of how far a report may be from its answer."""
    first = level.mechanisms[0]
    if level.name == CLEAR:
        return "Nothing is blurred: what you answer is what is sent."
    if isinstance(first, DiscreteGaussian):
        return (
            f"Somebody who answers {_EXAMPLE // 2} on a scale from 0 to {_EXAMPLE} sends a number "
            f"between {_EXAMPLE // 2 - _reach(first)} and {_EXAMPLE // 2 + _reach(first)}, 4 times "
            "in 5."
        )
    assert isinstance(first, CategoricalMechanism)
    keep = round(100 * float(first.channel().table[0][0]))
    return f"Of 100 people who pick the first answer, about {keep} send it and {100 - keep} do not."


def _reach(mechanism: DiscreteGaussian) -> int:
    """Return how far from the answer 4 of 5 reports lie at most, on the scale of the example.

    A question's own scale is not told before it is opened, and noise is in proportion to it.
    """
    width = mechanism.lattice.high - mechanism.lattice.low
    return math.ceil(_EXAMPLE * _MOST_OF_NOISE * float(mechanism.sigma / width))


def questions_json(asked: Asked, level: str) -> list[dict[str, Any]]:
    """Return the questions with the masks of a level, as a device needs them."""
    return _questions(asked, level)


@lru_cache(maxsize=4096)
def _questions(asked: Asked, level: str) -> list[dict[str, Any]]:
    definition = asked.definition
    mechanisms = definition.level(level).mechanisms
    conditions = definition.conditions or (None,) * len(mechanisms)
    return [
        question_json(question, mechanism, condition)
        for question, mechanism, condition in zip(
            definition.questions, mechanisms, conditions, strict=True
        )
    ]


def question_json(
    question: Question, mechanism: Mechanism, condition: ShowIf | None = None
) -> dict[str, Any]:
    """Return one question with its mask; what does not apply to its kind is null or empty."""
    assert isinstance(mechanism, CategoricalMechanism | DiscreteGaussian)

    def own(name: str, otherwise: Any) -> Any:
        return getattr(question, name, otherwise)

    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "labels": list(question.labels),
        "allow_skip": question.allow_skip,
        "low_label": own("low_label", ""),
        "high_label": own("high_label", ""),
        "min": own("low", None),
        "max": own("high", None),
        "step": own("step", 1 if isinstance(question, Rating) else None),
        "unit": own("unit", ""),
        "item_a": own("item_a", None),
        "item_b": own("item_b", None),
        "show_if": None if condition is None else condition.to_json(),
        "mechanism": str(mechanism),
        "device": mechanism.device_form(),
    }


@lru_cache(maxsize=1024)
def longest_mechanisms(asked: Asked) -> int:
    """Return the length in bytes of the mechanisms' names at the level where they are longest."""
    return max(len(encoded([str(m) for m in one.mechanisms])) for one in asked.definition.levels)


@lru_cache(maxsize=1024)
def longest_questions(asked: Asked) -> int:
    """Return the length in bytes of the questions at the level where they are longest."""
    return max(len(encoded(_questions(asked, level.name))) for level in asked.definition.levels)
