"""Translations of a survey that is written: side by side, and as files (.csv, .po) out and in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from masquerade.errors import UnreadableFile
from masquerade.surveys.characters import FORMULA_STARTS, safe
from masquerade.surveys.languages import Json, path_of, texts_of

MOST_FILE = 3_000_000
_PLACES = {
    "title": "Title",
    "description": "Description",
    "thanks": "Last text",
    "look": "Logo",
    "pages": "Page",
}
_PARTS = {
    "text": "Question",
    "options": "Option",
    "items": "Item",
    "rows": "Row",
    "words": "Word of point",
    "unit": "Unit",
    "low_label": "Word for the lowest",
    "high_label": "Word for the highest",
}
_PO_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Translation:
    """A text with its address, the words for its place, and its translations by language."""

    address: str
    place: str
    text: str
    others: Mapping[str, str]


def translations(document: Json) -> list[Translation]:
    """Return each text of a survey that is written, in reading order."""
    spoken = document.get("languages") or {}
    texts = spoken.get("texts", {})
    others = spoken.get("languages", [])[1:]
    numbers = {path_of(one["id"]): at for at, one in enumerate(document["questions"], 1)}
    return [
        Translation(
            address,
            _place(address, numbers),
            text,
            {code: texts.get(code, {}).get(address, "") for code in others},
        )
        for address, text in texts_of(document).items()
    ]


def missing(rows: Iterable[Translation]) -> dict[str, int]:
    """Return for each language but the first the number of texts without a translation."""
    counts: dict[str, int] = {}
    for row in rows:
        for code, text in row.others.items():
            counts[code] = counts.get(code, 0) + (not text.strip())
    return counts


def _place(address: str, numbers: Mapping[str, int]) -> str:
    parts = address.split("/")
    if parts[0] != "questions":
        return _PLACES.get(parts[0], parts[0])
    if parts[2:] == ["text"]:
        return f"{_PARTS['text']} {numbers[parts[1]]}"
    name = _PARTS.get(parts[2], parts[2].replace("_", " ").capitalize())
    return f"{name} {int(parts[3]) + 1}" if len(parts) > 3 and parts[3].isdigit() else name


# --- files


def to_csv(rows: Iterable[Translation], codes: list[str]) -> str:
    """Return a table: the address, then a column for each language."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["address", *codes])
    for row in rows:
        writer.writerow([row.address, *map(safe, (row.text, *row.others.values()))])
    return out.getvalue()


def to_po(rows: Iterable[Translation], code: str) -> str:
    """Return a gettext catalogue of one language; the context of a message is its address."""
    parts = [
        'msgid ""\nmsgstr ""\n'
        f'"Language: {code}\\n"\n"MIME-Version: 1.0\\n"\n'
        '"Content-Type: text/plain; charset=UTF-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n'
    ]
    parts += [
        f"#. {row.place}\n"
        f"msgctxt {_po(row.address)}\nmsgid {_po(row.text)}\nmsgstr {_po(row.others[code])}\n"
        for row in rows
    ]
    return "\n".join(parts)


def read_file(content: bytes, codes: list[str]) -> dict[str, dict[str, str]]:
    """Return the translations of a .csv or .po file by language and address.

    `codes`: languages of the survey; those of the file must be among them.

    Raises `UnreadableFile`.
    """
    if len(content) > MOST_FILE:
        raise UnreadableFile(f"the file is above {MOST_FILE / 1e6:.0f} MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"the file is no text in UTF-8 (byte {error.start + 1}); save it in UTF-8."
        ) from None
    read = _from_po if re.search(r"^msgid ", text, re.MULTILINE) else _from_csv
    return read(text, codes)


def _from_csv(text: str, codes: list[str]) -> dict[str, dict[str, str]]:
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    except csv.Error as error:
        raise UnreadableFile(f"the file is no table: {error}.") from None
    names = [name.strip() for name in rows[0]] if rows else []
    if "address" not in names:
        raise UnreadableFile(
            "the table has no column “address”; export the texts, and fill in that file."
        )
    known = [code for code in codes[1:] if code in names]
    if not known:
        raise UnreadableFile(
            f"the table has none of the languages {', '.join(codes[1:])} as a column."
        )
    at = names.index("address")
    found: dict[str, dict[str, str]] = {code: {} for code in known}
    for row in rows[1:]:
        for code in known:
            place = names.index(code)
            if at < len(row) and place < len(row) and row[place].strip():
                found[code][row[at].strip()] = _uncell(row[place]).strip()
    return found


def _from_po(text: str, codes: list[str]) -> dict[str, dict[str, str]]:
    messages = [_message(part) for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n"))]
    header = next((one for one in messages if one.get("msgid") == ""), {})
    named = re.search(r"^Language: *(\S+)", header.get("msgstr", ""), re.MULTILINE)
    code = named[1].replace("_", "-") if named else ""
    if code not in codes[1:]:
        raise UnreadableFile(
            f"the catalogue is of the language {code or '(none)'}; the survey is translated into "
            f"{', '.join(codes[1:]) or 'none'}. Correct the line “Language:”."
        )
    return {
        code: {
            one["msgctxt"]: one["msgstr"].strip()
            for one in messages
            # What a translator has marked as not certain is not taken.
            if one.get("msgctxt") and one.get("msgstr", "").strip() and "fuzzy" not in one
        }
    }


def _message(part: str) -> dict[str, str]:
    """Return the fields of one message of a catalogue."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in part.split("\n"):
        line = line.strip()
        if line.startswith("#,") and "fuzzy" in line:
            found["fuzzy"] = ["yes"]
        if line.startswith("#") or not line:
            continue
        name, _, rest = line.partition(" ")
        if name in ("msgctxt", "msgid", "msgstr"):
            key, line = name, rest
            found[key] = []
        if key:
            found[key] += map(_unescaped, _PO_STRING.findall(line))
    return {name: "".join(pieces) for name, pieces in found.items()}


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _po(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    lines = escaped.replace("\r", "").split("\n")
    if len(lines) == 1:
        return f'"{lines[0]}"'
    whole = [f"{line}\\n" for line in lines[:-1]] + [lines[-1]]
    return '""\n' + "\n".join(f'"{line}"' for line in whole if line)


def _uncell(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA_STARTS) else text


# --- while the survey is changed


def carried(old: Json, new: Json) -> dict[str, dict[str, str]]:
    """Return the translations after a change: a text that has moved takes its own along.

    A text that was rewritten keeps its translations; those of a text that is gone are kept too.
    """
    texts = (old.get("languages") or {}).get("texts", {})
    before, after = texts_of(old), texts_of(new)
    sources: dict[str, str] = {}
    places: dict[tuple[str, str], list[str]] = {}
    for address, text in before.items():
        places.setdefault((_part(address), text), []).append(address)
    for address, text in after.items():
        if before.get(address) != text:
            known = places.get((_part(address), text))
            if known:
                sources[address] = known[0]
    moved_away = {one for one in sources.values() if after.get(one) != before.get(one)}
    return {
        code: {
            **{address: text for address, text in given.items() if address not in moved_away},
            **{address: given[one] for address, one in sources.items() if one in given},
        }
        for code, given in texts.items()
    }


def _part(address: str) -> str:
    """Return the part of a survey within which a text can move: its question, or the pages."""
    parts = address.split("/")
    return "/".join(parts[:2]) if parts[0] == "questions" else parts[0]
