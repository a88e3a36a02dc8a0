"""Lists of e-mail addresses, as people paste or upload them, and returned messages."""

from __future__ import annotations

import csv
import email
import email.policy
import io
import re
from collections.abc import Sequence
from email.message import EmailMessage

from masquerade.errors import ParameterError
from masquerade.surveys.characters import safe

#: How many addresses a survey has at most.
MOST_ADDRESSES = 10_000

_ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)
_SEPARATORS = re.compile(r"[,;\s]+")
_NAMED = re.compile(r"<([^<>]*)>")
_FINAL = re.compile(r"(?i)(?:rfc822\s*;)?\s*(\S+@\S+)")
# Whatever has an @ in it, also where it is no address of ours: senders are written in many ways.
_QUOTED = re.compile(r"[^\s<>()\[\]\"',;:]*(?:@|%40)[^\s<>()\[\]\"',;:]*", re.IGNORECASE)
_HIDDEN = "(address)"
_LONGEST_OUTCOME = 200


def read_addresses(text: str) -> tuple[list[str], int]:
    r"""Return the addresses of a text, each once, and how many came again.

    One a line, or with commas, semicolons or spaces between them; names before ``<address>`` and
    other columns of a CSV file are left out.

    Raises `ParameterError`, which names the line.

    Examples
    --------
    >>> read_addresses("Ada <ada@example.org>; bob@example.org\nADA@Example.org")
    (['ada@example.org', 'bob@example.org'], 1)
    """
    found: dict[str, str] = {}
    again = 0
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        named = _NAMED.findall(line)
        rest = _NAMED.sub(" ", line)
        words = [*named, *(w.strip("\"'") for w in _SEPARATORS.split(rest) if "@" in w)]
        # A line of words alone is the head of a file, but only the first line is.
        if not words and line.strip() and number > 1:
            raise ParameterError(
                f"line {number}: there is no e-mail address in {line.strip()[:60]!r}."
            )
        for word in words:
            if not is_address(word):
                raise ParameterError(
                    f"line {number}: {word[:80]!r} is no e-mail address such as name@example.org."
                )
            local, _, domain = word.rpartition("@")
            address = f"{local}@{domain.lower()}"
            again += address.lower() in found
            found.setdefault(address.lower(), address)
    if not 1 <= len(found) <= MOST_ADDRESSES:
        raise ParameterError(f"there are {len(found)} addresses; give 1 to {MOST_ADDRESSES}.")
    return list(found.values()), again


def is_address(text: str) -> bool:
    """Return whether a text is one e-mail address, of letters that every mail server takes."""
    return len(text) <= 254 and _ADDRESS.fullmatch(text) is not None and ".." not in text


def merged(text: str, links: Sequence[str]) -> str:
    """Return a CSV file with one more column, ``link``: one link for each of its rows.

    Raises `ParameterError` (it has another number of rows).
    """
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=_comma(text)))
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    if len(filled) != len(links) + 1:
        raise ParameterError(f"the file has {len(filled) - 1} rows, not one for each link.")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=_comma(text))
    writer.writerow([*filled[0], "link"])
    writer.writerows([*row, link] for row, link in zip(filled[1:], links, strict=True))
    return out.getvalue()


def rows_of(text: str) -> int:
    """Return how many rows a CSV file has below its head; empty ones do not count.

    Raises `ParameterError` (there is none).
    """
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=_comma(text))
    try:
        rows = sum(1 for row in reader if any(cell.strip() for cell in row)) - 1
    except csv.Error as error:
        raise ParameterError(f"line {reader.line_num} is no CSV: {error}.") from None
    if rows < 1:
        raise ParameterError("the file has no row below its head; give one a person.")
    return rows


def _comma(text: str) -> str:
    head = text.split("\n", 1)[0]
    return max(",;\t", key=head.count)


def bounced_addresses(message: bytes) -> dict[str, str]:
    """Return the addresses that a returned message says cannot be reached, each with why.

    It is read as a delivery status notification (RFC 3464); other messages tell nothing, and
    neither do delays.
    """
    parsed = email.message_from_bytes(message, policy=email.policy.default)
    assert isinstance(parsed, EmailMessage)
    found: dict[str, str] = {}
    for part in parsed.walk():
        if part.get_content_type() != "message/delivery-status":
            continue
        for fields in part.iter_parts() if part.is_multipart() else ():
            action, status = str(fields.get("Action", "")), str(fields.get("Status", ""))
            named = _FINAL.fullmatch(str(fields.get("Final-Recipient", "")).strip())
            if named and action.strip().lower() == "failed" and not status.startswith("4"):
                why = str(fields.get("Diagnostic-Code", status))
                found[named[1]] = in_few_words(why, address=named[1])
    return found


def in_few_words(text: str, *, address: str = "") -> str:
    """Return the words of a mail server, on one line, short, and without addresses.

    Most refusals quote the address that they refuse, or what stands before its ``@``: these words
    are kept beside an address that is sealed, and come into the log.
    """
    words = "".join(one if one.isprintable() else " " for one in text)
    words = _QUOTED.sub(_HIDDEN, words)
    local = address.rpartition("@")[0]
    if local:
        words = re.sub(rf"(?i)(?<!\w){re.escape(local)}(?!\w)", _HIDDEN, words)
    return safe(" ".join(words.split())[:_LONGEST_OUTCOME])
