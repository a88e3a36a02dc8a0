"""Texts of other tools, which are HTML, as plain texts or as texts with our marks."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

from masquerade.surveys.characters import wrong_character

MOST_HTML = 200_000
_SILENT = ("script", "style", "head", "title")
_BREAKS = ("p", "div", "br", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table")
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_LOST = {
    "img": "a picture",
    "video": "a video",
    "audio": "a sound",
    "iframe": "an embedded page",
    "script": "a script",
    "object": "an embedded object",
    "input": "a field",
}
_DECLARATION = re.compile(r"<[!?][^<>]*>")
_OPEN = re.compile(r"<(?=[!?])")
_PIPED = re.compile(r"\$\{[^{}]*\}|\{(?=[^{}\s])[^{}]*\}")


class _Reader(HTMLParser):
    def __init__(self, *, marked: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.lost: list[str] = []
        self._marked, self._silent = marked, 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in _LOST and _LOST[tag] not in self.lost:
            self.lost.append(_LOST[tag])
        if tag in _SILENT:
            self._silent += 1
        elif tag == "img" and (values.get("alt") or "").strip():
            self.parts.append(f" {values['alt']} ")
        elif tag == "li":
            self.parts.append("\n- " if self._marked else "\n")
        elif tag in _BREAKS:
            self.parts.append("\n" if tag == "br" else "\n\n")
        elif tag == "a":
            address = values.get("href") or ""
            usable = self._marked and re.fullmatch(r"https?://[^()\s]+|mailto:[^()\s]+", address)
            self._links.append(address if usable else "")
            self.parts.append("[" if usable else "")
        elif self._marked and tag in _MARKS:
            self.parts.append(_MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "a" and self._links:
            address = self._links.pop()
            self.parts.append(f"]({address})" if address else "")
        elif tag in _BREAKS:
            self.parts.append("\n")
        elif self._marked and tag in _MARKS:
            self.parts.append(_MARKS[tag])

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data.replace("\r", ""))


def read_text(html: str, *, marked: bool = False) -> tuple[str, list[str]]:
    r"""Return the text of HTML, and names of the parts that cannot be shown here.

    `marked`: whether bold and italic words, lists and links keep marks (of several lines); else the
    text is one line.

    Examples
    --------
    >>> read_text("<p>How <b>well</b> did you&nbsp;sleep?</p>")
    ('How well did you sleep?', [])
    >>> read_text("Read <b>all</b>:<ul><li>one</li></ul>", marked=True)[0]
    'Read **all**:\n\n- one'
    >>> read_text("Hello {TOKEN:FIRSTNAME}<img src=x>")
    ('Hello …', ['a picture', 'text that the other tool fills in'])
    """
    reader = _Reader(marked=marked)
    reader.feed(_without_declarations(html[:MOST_HTML]))
    reader.close()
    text = unicodedata.normalize("NFC", "".join(reader.parts))
    lost = reader.lost
    if len(html) > MOST_HTML:
        lost.append(f"what comes after {MOST_HTML:,} characters")
    if _PIPED.search(text):
        text = _PIPED.sub("…", text)
        lost.append("text that the other tool fills in")
    text = _allowed(text)
    if not marked:
        return " ".join(text.split()), lost
    lines = [" ".join(line.split()) for line in text.split("\n")]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return re.sub(r"\*\*\s*\*\*|(?<!\*)\*\s+\*(?!\*)", "", whole), lost


def _without_declarations(html: str) -> str:
    """Return HTML without comments, document types and the like, of which nothing is shown.

    The parser looks for the end of each that is not closed in all that follows, which takes a time
    that grows with the square of the length, and some it cannot read at all.
    """
    first, *others = html.split("<!--")
    # What follows a beginning and has no end is within the comment still.
    text = first + "".join(piece.partition("-->")[2] for piece in others)
    return _OPEN.sub("&lt;", _DECLARATION.sub("", text))


def _allowed(text: str) -> str:
    """Return a text without characters that no text of a survey may have."""
    text = text.replace("\t", " ")
    if wrong_character(text, lines=True) is None:
        return text
    kept: list[str] = []
    for one in text:
        # Each judged after those before it, as marks are counted from their letter on.
        tail = "".join(kept[-4:]) + one
        if one in "\n " or wrong_character(tail, lines=True) is None:
            kept.append(one)
    return "".join(kept)
