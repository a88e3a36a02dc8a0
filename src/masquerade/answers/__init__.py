"""What a person says: tables of claims, and the questions of a survey with their domains."""

from masquerade.answers.claims import Claims
from masquerade.answers.frames import Frame, like_frame, to_arrow
from masquerade.answers.questions import (
    Choice,
    Question,
    Rating,
    question_from_json,
)
from masquerade.answers.truths import Truths

__all__ = [
    "Choice",
    "Claims",
    "Frame",
    "Question",
    "Rating",
    "Truths",
    "like_frame",
    "question_from_json",
    "to_arrow",
]
