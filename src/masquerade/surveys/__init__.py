"""The survey as a value: its questions and conditions, its levels and masks, and its cost.

`kinds` holds the kinds of question, each with a closed public domain; `conditions` say who is
shown which, `pages` what stands on one screen. `survey` is the whole survey as it is asked, with a
mechanism for each question and level; `codebook` is what one has to know of it to make sense of its
reports. `two_party_encoding` lays its responses out as sums for two parties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.surveys.codebook import Codebook
    from masquerade.surveys.condition_tree import Combined, Placed, ShowIf, Within
    from masquerade.surveys.conditions import questions_from_json, visibility
    from masquerade.surveys.kinds import question_from_json
    from masquerade.surveys.kinds.choice import Choice
    from masquerade.surveys.kinds.comparison import Comparison
    from masquerade.surveys.kinds.date import DateQuestion
    from masquerade.surveys.kinds.matrix import Matrix
    from masquerade.surveys.kinds.nps import PromoterScore
    from masquerade.surveys.kinds.number import Number
    from masquerade.surveys.kinds.pair import PairVote
    from masquerade.surveys.kinds.ranking import Ranking
    from masquerade.surveys.kinds.rating import Rating
    from masquerade.surveys.kinds.several import SeveralOf
    from masquerade.surveys.pages import Layout, Page
    from masquerade.surveys.question import Question
    from masquerade.surveys.two_party_encoding import Encoding
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "Choice",
    "Codebook",
    "Combined",
    "Comparison",
    "DateQuestion",
    "Encoding",
    "Layout",
    "Matrix",
    "Number",
    "Page",
    "PairVote",
    "Placed",
    "PromoterScore",
    "Question",
    "Ranking",
    "Rating",
    "SeveralOf",
    "ShowIf",
    "Within",
    "question_from_json",
    "questions_from_json",
    "visibility",
]
