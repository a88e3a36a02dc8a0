"""Pictures of the options or items of a question: small images, within the survey's hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.errors import ParameterError
from masquerade.surveys.blocks import check_image

if TYPE_CHECKING:
    from masquerade.surveys.question import Question

#: Characters of a picture, in base64: about 30 kB.
MOST_PICTURE = 40_000
#: Characters of all pictures of a list, of which every device loads all.
MOST_PICTURES = 160_000


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
            question,
            "",
            f"{len(pictures)} pictures for {count} {of}s; give one for each, or none.",
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
