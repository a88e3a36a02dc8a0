"""Blocks of a page beside its questions: texts, consent and images. None of them is answered."""

from __future__ import annotations

import base64
import binascii
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from masquerade.errors import ParameterError

MOST_TEXT = 5_000
MOST_ALT = 500
#: Length of an image in base64: about 150 kB.
MOST_IMAGE = 200_000
MOST_IMAGES = 20
_IMAGE = re.compile(r"data:image/(png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})")
_NAME = re.compile(r"[a-z0-9-]{1,32}")
_LINK = re.compile(r"\[([^\[\]]+)\]\((https?://[^()\s]+|mailto:[^()\s]+)\)")
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_EMPHASIS = re.compile(r"\*(?=\S)(.+?)(?<=\S)\*", re.DOTALL)


class Block(ABC):
    """A block of a page; each is a frozen dataclass."""

    __slots__ = ()
    #: The name of the block in definitions.
    block: ClassVar[str]

    @abstractmethod
    def texts(self) -> dict[str, str]:
        """Return the texts that people read, by the name of their field."""

    @abstractmethod
    def in_words(self) -> str:
        """Return the block as a terminal shows it."""

    def to_json(self) -> dict[str, object]:
        """Return the block as a JSON object."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"block": self.block} | values


@dataclass(frozen=True, slots=True)
class TextBlock(Block):
    """A text with bold and italic words, lists and links; see `plain`.

    Examples
    --------
    >>> TextBlock("We ask about **last week**.").in_words()
    'We ask about last week.'
    """

    text: str
    block: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        _check_text(self.text, "text", MOST_TEXT)

    def texts(self) -> dict[str, str]:
        """Return the text."""
        return {"text": self.text}

    def in_words(self) -> str:
        """Return the text without marks."""
        return plain(self.text)


@dataclass(frozen=True, slots=True)
class ConsentBlock(TextBlock):
    """A text that a person has to agree to before the survey goes on; the answer is never sent.

    Examples
    --------
    >>> ConsentBlock("I am 18 or older.").in_words()
    'I am 18 or older.'
    """

    block: ClassVar[str] = "consent"


@dataclass(frozen=True, slots=True)
class ImageBlock(Block):
    """An image of the survey.

    Attributes
    ----------
    image : str
        Its name among the survey's images.
    alt : str
        Words for whoever cannot see it.
    """

    image: str
    alt: str
    block: ClassVar[str] = "image"

    def __post_init__(self) -> None:
        if not isinstance(self.image, str) or not _NAME.fullmatch(self.image):
            raise ParameterError(f"the image {self.image!r} has no name.", field="image")
        _check_text(self.alt, "alt", MOST_ALT)

    def texts(self) -> dict[str, str]:
        """Return the words for people without sight of it."""
        return {"alt": self.alt}

    def in_words(self) -> str:
        """Return the words for people without sight of it, in brackets."""
        return f"[{self.alt}]"


BLOCKS: Mapping[str, type[Block]] = {
    one.block: one for one in (TextBlock, ConsentBlock, ImageBlock)
}


def block_from_json(data: Any) -> Block:
    """Return the block that a JSON object describes.

    Examples
    --------
    >>> block_from_json({"block": "text", "text": "Thank you."})
    TextBlock(text='Thank you.')
    """
    name = data.get("block") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in BLOCKS:
        raise ParameterError(
            f"a block is {data!r:.200}, expected one of {', '.join(BLOCKS)}.", field="block"
        )
    kind = BLOCKS[name]
    given = {key: value for key, value in data.items() if key != "block"}
    if set(given) != {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        names = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
        raise ParameterError(f"a block {name!r} has {sorted(given)}, expected {names}.")
    return kind(**given)


def plain(text: str) -> str:
    """Return a text without its marks: ``**bold**``, ``*italic*``, ``[words](address)``.

    Lines that begin with ``- `` are a list, and an empty line begins a paragraph.

    Examples
    --------
    >>> plain("Read **all** of [our page](https://example.org).")
    'Read all of our page (https://example.org).'
    """
    without = _STRONG.sub(r"\1", _LINK.sub(r"\1 (\2)", text))
    return _EMPHASIS.sub(r"\1", without)


def check_image(name: object, data: object) -> None:
    """Raise unless an image is a small PNG, JPEG or WebP without data about place or person."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _image_error(
            f"the name {name!r}, expected 1 to 32 lower-case letters, digits and hyphens."
        )
    if not isinstance(data, str) or len(data) > MOST_IMAGE:
        raise _image_error(f"{name!r}, which is too large; scale it down to 150 kB.")
    read = _IMAGE.fullmatch(data)
    try:
        content = base64.b64decode(read[2], validate=True) if read else b""
    except binascii.Error:
        content = b""
    if read is None or not content.startswith(_STARTS[read[1]]):
        raise _image_error(f"{name!r}, which is no PNG, JPEG or WebP in base64.")
    if _holds_metadata(read[1], content):
        raise _image_error(
            f"{name!r}, which holds data about where or how it was made; save it without, or add "
            "it in the builder, which removes them."
        )


_STARTS = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff", "webp": b"RIFF"}


def _holds_metadata(kind: str, content: bytes) -> bool:
    """Return whether an image has a part for camera, place, author or remarks."""
    if kind == "jpeg":
        return any(one in (0xE1, 0xED, 0xFE) for one in _jpeg_markers(content))
    start, size_first = (8, True) if kind == "png" else (12, False)
    unwanted = (b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME", b"EXIF", b"XMP ")
    return any(one in unwanted for one in _chunks(content, start, png=size_first))


def _jpeg_markers(content: bytes) -> list[int]:
    markers, at = [], 2
    while at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != 0xDA:
        markers.append(content[at + 1])
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return markers


def _chunks(content: bytes, start: int, *, png: bool) -> list[bytes]:
    names, at = [], start
    while at + 8 <= len(content):
        first, second = content[at : at + 4], content[at + 4 : at + 8]
        names.append(second if png else first)
        size = int.from_bytes(first if png else second, "big" if png else "little")
        at += 12 + size if png else 8 + size + size % 2
    return names


def _image_error(wrong: str) -> ParameterError:
    return ParameterError(f"the survey has an image {wrong}", field="images")


def _check_text(text: object, field: str, most: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"the {field} is empty; give it some words.", field=field)
    if len(text) > most:
        raise ParameterError(
            f"the {field} has {len(text)} characters; shorten it to {most:,}.", field=field
        )
