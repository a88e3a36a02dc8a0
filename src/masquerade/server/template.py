"""Survey templates: from a few lines of text to questions."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from masquerade.answers import Choice, Question, Rating
from masquerade.errors import ParameterError

RATE, PICK, LABEL = "rate", "pick", "label"


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of survey that a form with two text boxes can describe.

    Attributes
    ----------
    name, title, purpose : str
    items_hint, options_hint : str
        What to write into the boxes; an empty `options_hint` means there is one box only.
    example_title, example_items, example_options : str
        What the form is filled with at first.
    """

    name: str
    title: str
    purpose: str
    items_hint: str
    options_hint: str
    example_title: str
    example_items: str
    example_options: str


TEMPLATES = {
    template.name: template
    for template in (
        Template(
            RATE,
            "Rate items",
            "How good, how hard, how often: each item on a scale of 1 to 5.",
            "One item to rate on each line.",
            "",
            "How was this term?",
            "The lectures\nThe exercises\nThe workload",
            "",
        ),
        Template(
            PICK,
            "Pick one",
            "One question, one choice among several.",
            "The question.",
            "One option on each line.",
            "A question in confidence",
            "Have you ever worked while you were ill because you feared for your job?",
            "Yes\nNo",
        ),
        Template(
            LABEL,
            "Label items",
            "A crowd labels items; the true label of each is inferred from all masked labels.",
            "One item on each line. Where you know its label, write: item = label.",
            "One label on each line.",
            "Is this review positive?",
            "“I would buy it again.” = Positive\n“It broke on day two.”\n“Does what it says.”",
            "Positive\nNegative",
        ),
    )
}


def questions_from_text(
    template: str, *, items: str, options: str, allow_skip: bool = False
) -> tuple[Question, ...]:
    """Return the questions that a template's text boxes describe.

    Raises
    ------
    ParameterError
        Naming the line that cannot be used.
    """
    lines = _lines(items)
    labels = tuple(_lines(options))
    if not lines:
        raise ParameterError("there is nothing to ask: write at least one line.")
    if template == RATE:
        return tuple(
            Rating(f"q{i}", line, low_label="not at all", high_label="very", allow_skip=allow_skip)
            for i, line in enumerate(lines, 1)
        )
    if template == PICK:
        return (Choice("q1", " ".join(lines), labels, allow_skip=allow_skip),)
    if template == LABEL:
        return tuple(
            _labelled_item(f"q{i}", line, labels, allow_skip) for i, line in enumerate(lines, 1)
        )
    raise ParameterError(f"template is {template!r}, expected one of {', '.join(TEMPLATES)}.")


def _labelled_item(id_: str, line: str, labels: tuple[str, ...], allow_skip: bool) -> Choice:
    item, equals, truth = (part.strip() for part in line.rpartition("="))
    if not equals or truth not in labels:
        meant = difflib.get_close_matches(truth.casefold(), [o.casefold() for o in labels], n=1)
        if equals and meant:
            raise ParameterError(
                f"line {line!r}: {truth!r} is not one of the labels {list(labels)}; write the "
                "label exactly as it stands there."
            )
        item, truth = line, ""
    return Choice(id_, item, labels, allow_skip=allow_skip, truth=truth or None)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
