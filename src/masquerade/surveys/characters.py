"""The one rule on characters of texts that others will read: titles, questions, options, names.

A text of somebody else must not draw over the words around it, turn them round, hide a difference
between two options, or tear a line of a file. So there are no controls, no directions and nothing
invisible in it, and few marks on one letter. Texts are in one form (NFC), so that what looks alike
is alike.
"""

from __future__ import annotations

import unicodedata
from typing import Any, Final

#: How many combining marks one letter may carry: Vietnamese and pointed Hebrew have two.
MOST_MARKS: Final = 2

# The last four are full-width signs, which spreadsheets read as the plain ones.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

_UNSEEN: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_JOINERS: Final = "\u200c\u200d"
# Letters of no width and blank symbols, which Unicode counts among letters and symbols.
_BLANK: Final = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f"


def composed(data: Any) -> Any:
    """Return JSON with all texts in the form NFC."""
    if isinstance(data, str):
        return unicodedata.normalize("NFC", data)
    if isinstance(data, dict):
        return {composed(key): composed(value) for key, value in data.items()}
    return [composed(one) for one in data] if isinstance(data, list) else data


def wrong_character(text: str, *, lines: bool = False) -> str | None:
    """Return the fault of the first forbidden character, in words; None where there is none.

    `lines`: whether line breaks are allowed.

    Examples
    --------
    >>> wrong_character("Work\u202e")
    'character 5 (U+202E) is invisible or changes the text around it; leave it out'
    >>> wrong_character("\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645") is None
    True
    """
    marks = 0
    for place, one in enumerate(text):
        marks = marks + 1 if unicodedata.category(one) in ("Mn", "Me") else 0
        if marks > MOST_MARKS:
            return f"character {place + 1} is one mark too many on a letter; leave it out"
        if (lines and one == "\n") or (one in _JOINERS and _joins(text, place)):
            continue
        if unicodedata.category(one) in _UNSEEN or one in _BLANK:
            return (
                f"character {place + 1} (U+{ord(one):04X}) is invisible or changes the text around "
                "it; leave it out"
            )
    return None


def _joins(text: str, place: int) -> bool:
    """Return whether a joiner stands where Persian, Indic scripts and emoji need it."""
    around = text[place - 1 : place] + text[place + 1 : place + 2]
    return len(around) == 2 and all(
        ord(one) > 0x2FF and unicodedata.category(one)[0] in "LMS" for one in around
    )


def skeleton(text: str) -> str:
    """Return a text without differences that hardly show: case, spaces, widths, hidden characters.

    Examples
    --------
    >>> skeleton(" Yes\u200b, I do ") == skeleton("yes, i\u00a0do")
    True
    """
    seen = (
        one
        for one in unicodedata.normalize("NFKC", text).casefold()
        if unicodedata.category(one) not in _UNSEEN and one not in _BLANK
    )
    return " ".join("".join(seen).split())


def _takes_lines(pointer: str) -> bool:
    last = pointer.rsplit("/", 1)[-1]
    return last in ("description", "thanks", "consent") or ("/items/" in pointer and last == "text")


def safe(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula: put an apostrophe before it."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def wrong_texts(data: Any, pointer: str = "") -> list[tuple[str, str]]:
    """Return the pointers of texts in JSON with forbidden characters, each with its fault.

    Line breaks are allowed in descriptions, consents, in blocks of pages and in the last words.
    """
    if isinstance(data, str):
        fault = wrong_character(data, lines=_takes_lines(pointer))
        return [] if fault is None else [(pointer, f"{fault[0].upper()}{fault[1:]}.")]
    if isinstance(data, dict):
        pairs = [(str(key), value) for key, value in data.items()]
    else:
        pairs = [(str(i), one) for i, one in enumerate(data)] if isinstance(data, list) else []
    return [fault for key, value in pairs for fault in wrong_texts(value, f"{pointer}/{key}")]
