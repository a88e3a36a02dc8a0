"""What a person says: claims, comparisons, and the questions of a survey with their domains."""

from masquerade.answers.claims import Claims
from masquerade.answers.comparisons import Comparisons
from masquerade.answers.features import Feature
from masquerade.answers.frames import Frame, like_frame, to_arrow
from masquerade.answers.questions import (
    Choice,
    Comparison,
    Number,
    Question,
    Rating,
    question_from_json,
)
from masquerade.answers.truths import Truths

__all__ = [
    "Choice",
    "Claims",
    "Comparison",
    "Comparisons",
    "Feature",
    "Frame",
    "Number",
    "Question",
    "Rating",
    "Truths",
    "like_frame",
    "question_from_json",
    "to_arrow",
]
