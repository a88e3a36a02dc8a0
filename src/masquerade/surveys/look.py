"""A survey's own colour and logo, which are part of the document, and so of its hash."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from masquerade.errors import ParameterError

#: The least contrast of text (WCAG 2.2, 1.4.3).
LEAST_CONTRAST: Final = 4.5
#: The lightest ground of the app on which text has the colour (its wash of the colour).
_WASH: Final = 0.1
#: The lightest ground of the dark scheme on which text has the colour.
DARK: Final = "#35223d"
MOST_LOGO: Final = 24_000  # characters of its address: a page stays small
MOST_SIDE: Final = 640
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LOGO: Final = "data:image/png;base64,"
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
#: Parts of a PNG that say how it looks; all others (time, place, author) are refused.
_PARTS: Final = frozenset(
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"sRGB", b"gAMA", b"cHRM", b"pHYs", b"sBIT")
)


@dataclass(frozen=True, slots=True)
class Look:
    """A survey's own colour and logo.

    Attributes
    ----------
    colour : str
        Of buttons and links, such as ``"#5b2368"``; empty for the app's own. Text in it has a
        contrast of at least 4.5 on the app's light ground; on a dark ground devices lighten it.
    logo : str
        A PNG as a ``data:`` address; empty where there is none.
    logo_text : str
        What the logo says, for people who do not see it.

    Examples
    --------
    >>> Look(colour="#005f73").colour
    '#005f73'
    """

    colour: str = ""
    logo: str = ""
    logo_text: str = ""

    def __post_init__(self) -> None:
        for name in ("colour", "logo", "logo_text"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"{name} is no text.", field=f"look/{name}")
        if self.colour:
            _check_colour(self.colour)
        if self.logo:
            _check_logo(self.logo)
            if not self.logo_text.strip() or len(self.logo_text) > 200:
                raise ParameterError(
                    "say what the logo shows, in 1 to 200 characters.", field="look/logo_text"
                )
        elif self.logo_text:
            raise ParameterError("there is no logo to describe.", field="look/logo_text")

    @classmethod
    def from_json(cls, data: dict[str, str]) -> Look:
        """Return the look that a JSON object describes."""
        return cls(**data)

    @property
    def style(self) -> str:
        """The style sheet of a page in the colour: on screens, in the light and the dark scheme."""
        if not self.colour:
            return ""
        dark = on_dark(self.colour)
        return (
            f"@media screen {{ :root {{ --accent: {self.colour}; --accent-strong: "
            f"{mixed(self.colour, 0.2, 0)}; --accent-wash: {wash(self.colour)}; }} }}\n"
            "@media screen and (prefers-color-scheme: dark) { :root { "
            f"--accent: {dark}; --accent-strong: {mixed(dark, 0.4)}; --accent-wash: {DARK}; "
            f"--on-accent: {mixed(self.colour, 0.75, 0)}; }} }}\n"
        )

    def to_json(self) -> dict[str, str]:
        """Return the look as a JSON object, without the app's defaults."""
        fields = {"colour": self.colour, "logo": self.logo, "logo_text": self.logo_text}
        return {name: text for name, text in fields.items() if text}


#: The look of the app itself.
PLAIN: Final = Look()


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2.2).

    Examples
    --------
    >>> round(contrast("#000000", "#ffffff"), 6), round(contrast("#767676", "#ffffff"), 2)
    (21.0, 4.54)
    """
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def wash(colour: str) -> str:
    """Return the light ground that the app makes of a colour."""
    return mixed(colour, 1 - _WASH)


def mixed(colour: str, part: float, other: int = 255) -> str:
    """Return a colour with a part of it replaced by white, or by black (0).

    Examples
    --------
    >>> mixed("#204060", 0.5), mixed("#204060", 0.5, 0)
    ('#90a0b0', '#102030')
    """
    channels = (channel + part * (other - channel) for channel in _channels(colour))
    return "#" + "".join(f"{math.floor(channel + 0.5):02x}" for channel in channels)


def on_dark(colour: str) -> str:
    """Return the colour for the dark scheme: lightened until text in it can be read."""
    lighter = (mixed(colour, part / 100) for part in range(101))
    return next(one for one in lighter if contrast(one, DARK) >= LEAST_CONTRAST)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def _luminance(colour: str) -> float:
    # WCAG 2.2, "relative luminance"
    linear = [
        value / 12.92 if (value := channel / 255) <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for channel in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _check_colour(colour: str) -> None:
    if not _COLOUR.fullmatch(colour):
        raise ParameterError(
            f"the colour is {colour[:40]!r}, expected # and six of 0-9, a-f.", field="look/colour"
        )
    found = contrast(colour, wash(colour))
    if found < LEAST_CONTRAST:
        raise ParameterError(
            f"the colour is too light to be read: its contrast is {found:.1f}, and text needs "
            f"{LEAST_CONTRAST}. Choose a darker one.",
            field="look/colour",
        )


def _check_logo(logo: str) -> None:
    if len(logo) > MOST_LOGO:
        raise ParameterError(
            f"the logo has {len(logo):,} characters; make it smaller than {MOST_LOGO:,}.",
            field="look/logo",
        )
    try:
        data = base64.b64decode(logo.removeprefix(_LOGO), validate=True)
        good = logo.startswith(_LOGO) and _is_plain_png(data)
    except (binascii.Error, struct.error, ValueError):
        good = False
    if not good:
        raise ParameterError(
            f"the logo is no plain PNG of at most {MOST_SIDE} pixels a side; choose the file "
            "again in the builder, which makes one.",
            field="look/logo",
        )


def _is_plain_png(data: bytes) -> bool:
    """Return whether bytes are a whole PNG of moderate size without data about its making."""
    if not data.startswith(_SIGNATURE):
        return False
    names, at = [], len(_SIGNATURE)
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        (check,) = struct.unpack_from(">I", data, at + 8 + length)
        if name not in _PARTS or zlib.crc32(data[at + 4 : at + 8 + length]) != check:
            return False
        names.append(name)
        at += 12 + length
    width, height = struct.unpack_from(">II", data, len(_SIGNATURE) + 8)
    whole = names[:1] == [b"IHDR"] and names[-1:] == [b"IEND"] and at == len(data)
    return whole and 1 <= width <= MOST_SIDE and 1 <= height <= MOST_SIDE
