"""Checks of questions: their texts, options and pictures, and conditions on their answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from masquerade.errors import ParameterError
from masquerade.surveys.blocks import check_image
from masquerade.surveys.condition_tree import Leaf, Placed, ShowIf, Within

if TYPE_CHECKING:
    from masquerade.surveys.question import Question

MOST_OPTIONS = 100
MOST_CHARACTERS = 500
#: Characters of a picture, in base64: about 30 kB.
MOST_PICTURE = 40_000
#: Characters of all pictures of a list, of which every device loads all.
MOST_PICTURES = 160_000


def fault_of_labels(question: Question, leaf: Leaf, *, most: int) -> str | None:
    """Return why a condition does not name some labels of a question, at most so many."""
    labels = question.labels
    if isinstance(leaf, Placed):
        return f"places of {question.id!r}, {question.called}; only a ranking has them."
    if not isinstance(leaf, ShowIf):
        return f"a range of {question.id!r}, {question.called}; name some of its answers."
    unknown = next((one for one in leaf.answers if one not in labels), None)
    if unknown is not None:
        return f"the answer {unknown!r}, and {question.id!r} has {list(labels)}."
    if not 1 <= len(set(leaf.answers)) <= most:
        rest = "" if most == len(labels) else ", and not all"
        return f"{len(leaf.answers)} answers of {question.id!r}; name at least one{rest}."
    return None


def fault_of_range(question: Question, leaf: Within, end: type = int) -> str | None:
    """Return why a condition is no interval of a question's answers, or one that all are in.

    `end`: the type of its ends; floats are whole numbers' kin.
    """
    ends = range_of(question, leaf)
    texts = [isinstance(one, str) for one in (leaf.low, leaf.high)]
    if texts != [end is str] * 2 or ends is None or ends[0] > ends[1]:
        return f"{leaf.low} to {leaf.high} of {question.id!r}, which takes {question.choices}."
    if ends == (0, question.answer_count - 1) and not question.allow_skip:
        return f"all answers of {question.id!r}; leave some out."
    return None


def range_of(question: Question, leaf: Leaf) -> tuple[int, int] | None:
    """Return the codes of the ends of an interval; None where one is no answer."""
    if not isinstance(leaf, Within):
        return None
    low, high = (question.code_of(end) for end in (leaf.low, leaf.high))
    return None if low is None or high is None else (low, high)


def is_in_range(question: Question, code: int, leaf: Leaf) -> bool:
    """Return whether an answer is in an interval; "no answer" is in none."""
    ends = range_of(question, leaf)
    return ends is not None and ends[0] <= code <= ends[1] and code != question.no_answer_code


def stretches(
    question: Question, leaves: Sequence[Leaf], starts: Iterable[int] = (0,)
) -> Iterator[tuple[int, float]]:
    """Yield the first answer of each stretch between ends of intervals, with its length.

    `starts`: where further stretches begin.
    """
    ends = [found for leaf in leaves if (found := range_of(question, leaf)) is not None]
    cuts = {*starts, *(first for first, _ in ends), *(last + 1 for _, last in ends)}
    points = question.answer_count
    order = sorted(start for start in cuts if start < points)
    for first, after in itertools.pairwise([*order, points]):
        yield first, float(after - first)


def check_options(question: Question, lines: object, *, most: int, field: str = "options") -> None:
    """Raise unless the lines of a field are different texts, not too many."""
    one = field.removesuffix("s")
    if not isinstance(lines, tuple):
        raise question._error(field, f": {field} is {lines!r}, expected several texts.")
    if not 2 <= len(lines) <= most:
        raise question._error(field, f": give 2 to {most} {field}, not {len(lines)}.")
    for index, line in enumerate(lines):
        check_text(line, one, question=question.id, field=f"{field}/{index}")
    if len(set(lines)) < len(lines):
        twice = next(line for line in lines if lines.count(line) > 1)
        raise question._error(field, f": {one} {twice!r} stands twice; drop one.")


def check_further(question: Question, field: str, label: str, labels: tuple[str, ...]) -> None:
    """Raise unless a further answer, such as "don't know", is empty or unlike the others."""
    if label == "":
        return
    check_text(label, field, question=question.id)
    if labels.count(label) > 1:
        raise question._error(field, f": {label!r} is one of the other answers; name it otherwise.")


def check_text(
    text: object, name: str, *, question: str | None = None, field: str | None = None
) -> None:
    """Raise unless `text` is one with some words; messages call it `name`."""
    if not isinstance(text, str):
        wrong = f" is {text!r}, expected a text."
    elif not text.strip():
        wrong = " is empty; give it some words."
    elif len(text) > MOST_CHARACTERS:
        wrong = f" has {len(text)} characters; shorten it to {MOST_CHARACTERS}."
    else:
        return
    prefix = "" if question is None else f"question {question!r}: "
    raise ParameterError(f"{prefix}{name}{wrong}", field=field or name, question=question)


def check_pictures(
    question: Question, pictures: object, count: int, *, of: str = "option", together: int = 0
) -> None:
    """Raise unless there is a small image for each of so many options or items, or none at all.

    `of`: their name in messages. `together`: characters of all pictures at most; 0 for no limit.
    """
    if not isinstance(pictures, tuple):
        raise _wrong(question, "", f"pictures is {pictures!r}, expected a list; leave it out.")
    if len(pictures) not in (0, count):
        raise _wrong(
            question, "", f"{len(pictures)} pictures for {count} {of}s; give one for each, or none."
        )
    for place, picture in enumerate(pictures):
        if picture == "":
            raise _wrong(
                question, "", f"{of} {place + 1} has no picture; give it one, or none at all."
            )
        if not isinstance(picture, str) or len(picture) > MOST_PICTURE:
            raise _wrong(
                question,
                f"/{place}",
                f"picture {place + 1} is larger than {MOST_PICTURE // 1000} kB as a text; make it "
                "smaller.",
            )
        try:
            check_image(f"picture-{place + 1}", picture)
        except ParameterError as error:
            raise _wrong(question, f"/{place}", str(error)) from None
    size = sum(map(len, pictures))
    if together and size > together:
        raise _wrong(
            question,
            "",
            f"the pictures have {-(-size // 1000)} kB as a text together, expected at most "
            f"{together // 1000}: every device loads all of them. Make them smaller.",
        )


def _wrong(question: Question, place: str, said: str) -> ParameterError:
    return ParameterError(
        f"question {question.id!r}: {said}", field=f"pictures{place}", question=question.id
    )
