"""Templates of surveys: each is filled in, so that it can be opened as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from masquerade.errors import NotFound
from masquerade.server.surveys.document import Document, read_document

RATE, PICK, COMPARE, LABEL = "rate", "pick", "compare", "label"
LEADERBOARD = "leaderboard"
NUMBER, SENSITIVE, PULSE = "number", "sensitive", "pulse"


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of survey with an example of it."""

    name: str
    title: str
    purpose: str
    glyph: str  # A drawing of its answers, in a few characters
    fields: Mapping[str, object]  # of a `Document`, those that differ from a blank one

    def document(self) -> Document:
        """Return a new document with the example in it."""
        return read_document({"template": self.name, **self.fields})


def _rating(id_: str, text: str, low: str, high: str, **more: Any) -> Mapping[str, object]:
    return {
        "kind": "rating",
        "id": id_,
        "text": text,
        "low": 1,
        "high": 5,
        "low_label": low,
        "high_label": high,
        "allow_skip": False,
        **more,
    }


def _choice(id_: str, text: str, *options: str, **more: Any) -> Mapping[str, object]:
    return {
        "kind": "choice",
        "id": id_,
        "text": text,
        "options": list(options),
        "allow_skip": False,
        "truth": None,
        **more,
    }


def _comparison(id_: str, text: str, first: str, second: str) -> Mapping[str, object]:
    return {
        "kind": "comparison",
        "id": id_,
        "text": text,
        "item_a": first,
        "item_b": second,
        "tie": "",
        "allow_skip": False,
    }


def _number(
    id_: str, text: str, low: int, high: int, unit: str, step: int = 1
) -> Mapping[str, object]:
    return {
        "kind": "number",
        "id": id_,
        "text": text,
        "low": low,
        "high": high,
        "step": step,
        "unit": unit,
    }


TEMPLATES = {
    template.name: template
    for template in (
        Template(
            RATE,
            "Rate items",
            "How good, how hard, how often: each item on a scale from 1 to 5.",
            "1 2 3 4 5",
            {
                "title": "How was this term?",
                "levels": ["high", "medium"],
                "questions": [
                    _rating("q1", "The lectures", "poor", "excellent"),
                    _rating("q2", "The exercises", "poor", "excellent"),
                    _rating("q3", "The workload", "too low", "too high"),
                ],
            },
        ),
        Template(
            PICK,
            "Pick one",
            "One question, one choice among several.",
            "○ ● ○",
            {
                "title": "Where shall we meet?",
                "questions": [
                    _choice(
                        "q1",
                        "Where should the next meeting be?",
                        "In the office",
                        "On the phone",
                        "In the park",
                    ),
                ],
            },
        ),
        Template(
            COMPARE,
            "Which of two",
            "Pairs of things, one preferred each time; a ranking comes out.",
            "A ⇄ B",
            {
                "title": "What shall we build next?",
                "levels": ["high", "medium"],
                "questions": [
                    _comparison("q1", "Which matters more to you?", "Dark mode", "Offline use"),
                    _comparison("q2", "Which matters more to you?", "Offline use", "Faster search"),
                    _comparison("q3", "Which matters more to you?", "Faster search", "Dark mode"),
                ],
            },
        ),
        Template(
            LEADERBOARD,
            "Leaderboard of a list",
            "Up to 500 things: each person votes on a few pairs, and a leaderboard comes out.",
            "1 2 3 ⇄",
            {
                "title": "Which answer helps most?",
                "levels": ["high", "medium", "low"],
                "questions": [
                    {
                        "kind": "pair",
                        "id": "q1",
                        "text": "Which of the two helps more?",
                        "items": [
                            "Ask a colleague",
                            "Read the manual",
                            "Search the web",
                            "Ask a chatbot",
                            "Try it out",
                            "Sleep on it",
                        ],
                        "votes": 5,
                        "tie": "Both alike",
                    }
                ],
            },
        ),
        Template(
            LABEL,
            "Label with a crowd",
            "People label items; the true label of each is inferred from all masked labels.",
            "? → ✓",
            {
                "title": "Is this review positive?",
                "levels": ["high", "medium"],
                "questions": [
                    _choice(f"q{place}", text, "Positive", "Negative", truth=truth)
                    for place, (text, truth) in enumerate(
                        (
                            ("“I would buy it again.”", "Positive"),
                            ("“It broke on day two.”", None),
                            ("“Does what it says.”", None),
                            ("“Never again.”", "Negative"),
                        ),
                        start=1,
                    )
                ],
            },
        ),
        Template(
            NUMBER,
            "Name a number",
            "Hours, costs, distances: an average from numbers that nobody sees.",
            "0 … 40",
            {
                "title": "How much unpaid overtime do we work?",
                "topic": "personal",
                "questions": [
                    _number(
                        "q1",
                        "How many hours of unpaid overtime did you work last week?",
                        0,
                        40,
                        "hours",
                    ),
                ],
            },
        ),
        Template(
            SENSITIVE,
            "Sensitive yes or no",
            "A question that people answer only where their answer stays their own.",
            "Yes / No",
            {
                "title": "A question in confidence",
                "topic": "sensitive",
                "levels": ["high"],
                "questions": [
                    _choice(
                        "q1",
                        "Have you ever worked while you were ill because you feared for your job?",
                        "Yes",
                        "No",
                    ),
                ],
                "plan": {"people": 2000},
            },
        ),
        Template(
            PULSE,
            "Employee pulse",
            "A mixed check-in: mood, workload, and a follow-up that only some are shown.",
            "1–5 + ○ ●",
            {
                "title": "How are we doing?",
                "levels": ["high", "medium"],
                "topic": "personal",
                "questions": [
                    _rating("mood", "How do you feel about work this month?", "bad", "good"),
                    _number("hours", "How many hours a week do you work?", 0, 60, "hours"),
                    _choice("leave", "Do you think about leaving?", "Yes", "No", allow_skip=True),
                    _choice(
                        "why",
                        "What would make you stay?",
                        "More pay",
                        "Less work",
                        "Another team",
                        "Nothing",
                        allow_skip=True,
                        show_if={"question": "leave", "answers": ["Yes"]},
                    ),
                ],
            },
        ),
    )
}


def template_named(name: str) -> Template:
    """Return a template."""
    if name not in TEMPLATES:
        raise NotFound(f"there is no template {name!r}; choose one of {', '.join(TEMPLATES)}.")
    return TEMPLATES[name]
