"""A survey's own colour and logo are part of its hash, readable, and hold nothing hidden."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.surveys import Choice
from masquerade.surveys.look import DARK, LEAST_CONTRAST, Look, contrast, mixed, on_dark, wash
from masquerade.surveys.survey import Survey


def png(*parts: tuple[bytes, bytes], side: int = 2) -> str:
    """Return the address of a small PNG with further parts in it."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x20\x40\x60" * side) * side)
    whole = [(b"IHDR", header), *parts, (b"IDAT", pixels), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in whole
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def asked(look: Look) -> Survey:
    """Return a survey with a look."""
    return Survey.at_levels(title="T", questions=(Choice("a", "?", ("x", "y")),), look=look)


def test_a_look_is_part_of_what_is_asked() -> None:
    """Another colour is another hash; without a look the hash is the one of before."""
    plain, red = asked(Look()), asked(Look("#a3182f"))
    logo = asked(Look("#a3182f", png(), "The club"))
    assert "look" not in plain.to_json()
    assert len({one.content_hash() for one in (plain, red, logo)}) == 3
    for survey in (plain, red, logo):
        assert Survey.from_text(survey.text()).look == survey.look


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"colour": "red"}, "look/colour", "expected #"),
        ({"colour": "#FF0000"}, "look/colour", "expected #"),
        ({"colour": "#ffcc00"}, "look/colour", r"its contrast is 1\.\d, and text needs 4\.5"),
        ({"logo": png()}, "look/logo_text", "say what the logo shows"),
        ({"logo_text": "A cat"}, "look/logo_text", "no logo to describe"),
        ({"logo": "data:image/svg+xml;base64,AAAA"}, "look/logo", "no plain PNG"),
        ({"logo": "https://example.org/x.png"}, "look/logo", "no plain PNG"),
        ({"logo": png()[:-8]}, "look/logo", "no plain PNG"),
        ({"logo": png((b"tEXt", b"Author\0Somebody"))}, "look/logo", "no plain PNG"),
        ({"logo": png((b"eXIf", b"place"))}, "look/logo", "no plain PNG"),
        ({"logo": png(side=641)}, "look/logo", "no plain PNG"),
        ({"logo": "data:image/png;base64," + "A" * 30_000}, "look/logo", "make it smaller"),
        ({"logo": 5}, "look/logo", "no text"),
    ],
)
def test_what_cannot_be_shown_is_refused(fields: dict[str, Any], field: str, says: str) -> None:
    """Colours that cannot be read, and files that hold more than a picture, name their field."""
    with pytest.raises(ParameterError, match=says) as caught:
        Look.from_json(fields)
    assert caught.value.field == field


def test_exact_contrast_is_that_of_the_guideline() -> None:
    """The darkest grey that fails and the lightest that passes are those of WCAG 2.2."""
    assert contrast("#777777", "#ffffff") < LEAST_CONTRAST <= contrast("#767676", "#ffffff")
    assert wash("#000000") == "#e6e6e6"


@pytest.mark.parametrize("colour", ["#a3182f", "#005f73", "#000000", "#5b2368", "#6b6b00"])
def test_a_page_in_the_colour_can_be_read_in_both_schemes(colour: str) -> None:
    """Text in the colour, and on it, has a contrast of 4.5 on light and on dark grounds."""
    style = Look(colour).style
    light, dark = style.splitlines()
    assert f"--accent: {colour};" in light
    assert f"--accent: {on_dark(colour)};" in dark
    for ground in (DARK, "#211926", "#17111a"):
        assert contrast(on_dark(colour), ground) >= LEAST_CONTRAST
    for ground in ("#ffffff", "#faf7f9", wash(colour)):
        assert contrast(colour, ground) >= LEAST_CONTRAST
    assert contrast(mixed(colour, 0.75, 0), on_dark(colour)) >= LEAST_CONTRAST
    assert Look().style == ""
