"""Small surveys for tests."""

from __future__ import annotations

import functools
from typing import Any

from masquerade.surveys import Choice, Question, Rating
from masquerade.surveys.question import KEEP_PER_ANSWER
from masquerade.surveys.survey import Survey

QUESTIONS: tuple[Question, ...] = (
    Choice("ill", "Have you worked while ill?", ("Yes", "No")),
    Rating("stress", "How stressful is your work?"),
)


@functools.cache
def define(
    *questions: Question,
    title: str = "Work",
    description: str = "",
    template: str = "pick",
    level: str = "medium",
    levels: tuple[str, ...] | None = None,
    masking: str = KEEP_PER_ANSWER,
    **asked: Any,
) -> Survey:
    """Return a survey of a choice and a rating, or of `questions`."""
    return Survey.at_levels(
        title=title,
        description=description,
        template=template,
        levels=levels or (level,),
        questions=questions or QUESTIONS,
        masking=masking,
        **asked,
    )
