"""Messages that services and the library give, in the language of a surveyor's page.

A message is written in English where it is raised, with its values in it. ``services.txt`` has each
message that a page of the builder can show, with named places for the values; `in_language` finds
the message that a text is, and puts the values into the places of its translation. So the
catalogue has what gettext has of them, and no room above this border knows of languages. A text
that is none of them, or of several, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from masquerade.server.http.page_words import WORDS

#: Messages, one a line, in groups with a heading; parts, which stand in a place, come last.
_FILE = WORDS / "services.txt"
_GROUPS = [
    tuple(group.splitlines()[1:]) for group in _FILE.read_text(encoding="utf-8").split("\n\n")
]
_WHOLE = tuple(line for group in _GROUPS[:-1] for line in group)
#: Each message with its places. ``{count}`` is a number; so are ``{from}``, ``{to}`` and
#: ``{number}``, which may have a sign and a unit.
MESSAGES: tuple[str, ...] = (*_WHOLE, *_GROUPS[-1])
_PLACE = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"[-−+±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?: %)?")
_FIGURE = r"[-−+±]?[\d,.]+(?: %)?"
_NUMERIC = {
    "count": r"[\d,.]+?",
    "from": _FIGURE,
    "number": _FIGURE,
    "to": r"[-−+±]?[\d,.]+(?: \S.*)?",
}
_DIGITS = re.compile(r"^[-−+±]?[\d,.]+")
_SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
_KNOWN = frozenset(MESSAGES)
#: Places of what somebody typed, which is not translated: an option may be called “none”, and a
#: login “1.500”.
_AS_TYPED = frozenset(
    {
        *("group", "login", "measure", "name", "option", "options", "other", "outcome"),
        *("question", "team", "text"),
    }
)
#: Parts of parts of parts of messages.
_DEPTH = 4

Translate = Callable[[str], str]


def in_language(words: Mapping[str, str], *, decimal: str = ",", group: str = ".") -> Translate:
    """Return the function that says a service's text in a language, or leaves it as it is.

    Examples
    --------
    >>> german = in_language({
    ...     "This has {count} characters; shorten it to {most}.":
    ...         "Das sind {count} Zeichen; kürzen Sie es auf {most}.",
    ... })
    >>> german("This has 2,001 characters; shorten it to 2,000.")
    'Das sind 2.001 Zeichen; kürzen Sie es auf 2.000.'
    >>> german("Something else.")
    'Something else.'
    """
    separators = str.maketrans({",": group, ".": decimal})

    def filled(translation: str, match: re.Match[str], depth: int) -> str:
        def value(place: re.Match[str]) -> str:
            found = match[place[1]]
            if place[1] in _NUMERIC:
                return _DIGITS.sub(lambda digits: digits[0].translate(separators), found)
            return found if place[1] in _AS_TYPED else whole(found, depth + 1)

        return _PLACE.sub(value, translation)

    def said(text: str, depth: int) -> str:
        if _NUMBER.fullmatch(text):
            return text.translate(separators)
        # What stands in a place may be anybody's word, such as a name that a page has too.
        if text in words and (not depth or text in _KNOWN):
            return words[text]
        if depth > _DEPTH:
            return text
        for message, pattern in _patterns(MESSAGES if depth else _WHOLE):
            if message in words and (match := pattern.fullmatch(text)):
                return filled(words[message], match, depth)
        return text

    def whole(text: str, depth: int = 0) -> str:
        # Some sentences are put together; and each begins with a capital where it stands alone.
        for one in (_SENTENCE.split(text), [text], [text[:1].upper() + text[1:]]):
            found = [said(sentence, depth) for sentence in one]
            if all(map(str.__ne__, found, one)):
                return " ".join(found)
        return text

    return lambda text: whole(text)


@cache
def _patterns(messages: tuple[str, ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the messages with places as patterns, those with the most words of their own first."""
    placed = [one for one in messages if _PLACE.search(one)]
    placed.sort(key=lambda one: len(_PLACE.sub("", one)), reverse=True)
    return tuple((one, _pattern(one)) for one in placed)


def _pattern(message: str) -> re.Pattern[str]:
    """Return the pattern of a message: each place ends where its next words first stand.

    Words of a place and those after it are an atomic group, so that a text which repeats them is
    read once: going back over the ends of all places takes hours for a text of some kilobytes.
    """
    parts = _PLACE.split(message)  # fixed words and names of places by turns
    seen: set[str] = set()
    found, open_group = re.escape(parts[0]), False
    for name, fixed in zip(parts[1::2], parts[2::2], strict=True):
        if name in seen:
            place = f"(?P={name})"
        elif name in _NUMERIC:
            place = f"(?P<{name}>{_NUMERIC[name]})"
        else:
            # The last of these reaches to the end of the text, so it stands in no group.
            found += ")" if open_group else ""
            place = f"(?>(?P<{name}>.+?)"
            open_group = True
        found += place + re.escape(fixed)
        seen.add(name)
    if open_group:
        at = found.rindex("(?>")
        found = found[:at] + found[at + 3 :]
    return re.compile(found, re.DOTALL)
