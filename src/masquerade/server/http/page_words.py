"""Surveyors' pages in other languages: the words of templates are replaced where they stand.

A template is written in English, without marks around its words. Its texts between tags, the words
of a few attributes, and sentences in expressions are messages; `messages` lists them for the
catalogue ``locale/surveyors.pot``, and `translated` puts the translations in their place when a
template is loaded. An expression ``{{ ... }}`` within a message stands in its translation too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from jinja2 import BaseLoader, Environment

#: Translations by language, made of the catalogues by ``make catalogues``.
WORDS = Path(__file__).parents[1] / "web" / "words"
STATIC = WORDS.parent / "static"
#: Languages of surveyors' pages beside English.
LANGUAGES = ("de",)
#: Folders and files whose words are translated.
TRANSLATED = ("surveyor/", "helper/", "result/", "base.html", "error.html")

_EXPRESSION = r"\{\{.*?\}\}"
_PARTS = re.compile(
    r"(\{#.*?#\}|\{%.*?%\}|<!--.*?-->|<(script|style)\b.*?</\2\s*>"
    r"|<[/!]?[A-Za-z](?:[^<>{}]|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\})*>)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r'(\s(?:aria-label|title|placeholder|alt|data-label)=")([^"]*)(?=")')
_LITERAL = re.compile(r'"([^"]*)"')
#: Before or after a literal that is compared, or looked up: no words for people.
_BEFORE_CODE = re.compile(r"(?:[=!]= |\bin |\[|get\()$")
_AFTER_CODE = re.compile(r" *[=!]=|\]")
_CHOICE = re.compile(r'"([a-z][a-z ]*)"(?= if [^"]+ else "([a-z ]*)")|(?<= else )"([a-z][a-z ]*)"')
_SKIPPED = re.compile(r"\{%-? *(extends|import|include|from|block|endblock)\b")

#: Tags of a header that are read.
_MOST_TAGS = 30
_WEIGHT = re.compile(r"q *= *([01](?:\.[0-9]{0,3})?)")

Translate = Callable[[str], str]


def translated(source: str, translate: Translate) -> str:
    """Return a template with its messages translated.

    Examples
    --------
    >>> translated('<p class="hint">All {{ n }} of them</p>', str.upper)
    '<p class="hint">ALL {{ N }} OF THEM</p>'
    >>> translated('{{ "Delete it" if old == "Draft" else "Keep" }}', str.lower)
    '{{ "delete it" if old == "Draft" else "keep" }}'
    """
    parts: list[str] = []
    at = 0
    for match in _PARTS.finditer(source):
        parts.append(_text(source[at : match.start()], translate))
        parts.append(_part(match[0], translate))
        at = match.end()
    parts.append(_text(source[at:], translate))
    return "".join(parts)


def messages(source: str) -> Iterator[str]:
    """Yield the messages of a template, in order, perhaps repeatedly."""
    found: list[str] = []

    def note(message: str) -> str:
        found.append(message)
        return message

    translated(source, note)
    yield from found


def _text(text: str, translate: Translate) -> str:
    """Return a text between tags, translated."""
    words = re.sub(_EXPRESSION, "", text, flags=re.DOTALL)
    if not re.search(r"[A-Za-z]{2}", re.sub(r"&\w+;", "", words)):
        return re.sub(
            _EXPRESSION, lambda one: _literals(one[0], translate, text=True), text, flags=re.DOTALL
        )
    inner = text.strip()
    start = text.index(inner[0])
    message = re.sub(r"\s+", " ", inner)
    return text[:start] + translate(message) + text[start + len(inner) :]


def _part(part: str, translate: Translate) -> str:
    """Return a tag or a statement, its words translated."""
    if part.startswith(("{#", "<!", "<script", "<style")) or _SKIPPED.match(part):
        return part
    if part.startswith("{%"):
        return _literals(part, translate, text=False)

    def attribute(match: re.Match[str]) -> str:
        value = match[2]
        plain = re.sub(_EXPRESSION, "", value)
        whole = value.count("{{") == value.count("}}") and "{%" not in value
        if not whole or not re.search(r"[A-Za-z]{2}", plain):
            return match[0]
        return match[1] + translate(value)

    return _ATTRIBUTE.sub(attribute, part)


def _literals(code: str, translate: Translate, *, text: bool) -> str:
    """Return an expression or a statement with the sentences in it translated."""

    def literal(match: re.Match[str]) -> str:
        words, before = match[1], match.string[max(match.start() - 4, 0) : match.start()]
        if _BEFORE_CODE.search(before) or _AFTER_CODE.match(match.string, match.end()):
            return match[0]
        sentence = bool(re.match(r"[A-Z][a-z]|[A-Z]$", words)) or " " in words.strip()
        if (
            not sentence
            or words.startswith(("/", "#", " ~"))
            or "{" in words
            or "}" in words
            or not re.search("[A-Za-z]{2}", words)
        ):
            return match[0]
        return f'"{translate(words)}"'

    code = _LITERAL.sub(literal, code)
    if not text:
        return code

    def choice(match: re.Match[str]) -> str:
        return f'"{translate(match[1] or match[3])}"'

    return _CHOICE.sub(choice, code)


#: A message of a script: what `said` is given, or words that stand on a kind of question.
_SAID = re.compile(r'(?:\bsaid\(|\b(?:leafWords|cannotDecide):)\s*"((?:[^"\\\n]|\\.)*)"')
_IMPORTED = re.compile(r'(?:\bfrom|^import) "(\.[^"]+)"|\bsrc="/static/([^"]+\.js)"', re.MULTILINE)


def script_messages(source: str) -> Iterator[str]:
    """Yield the messages of a script, in order, perhaps repeatedly.

    Examples
    --------
    >>> list(script_messages('said("Page {place}", { place: 1 }) + other("No")'))
    ['Page {place}']
    """
    for match in _SAID.finditer(source):
        yield json.loads(f'"{match[1]}"')


def script_words(head: str, words: Mapping[str, str]) -> dict[str, str]:
    """Return the translations that the scripts need which the head of a page loads."""
    found = (one for path in _loaded(STATIC, head) for one in _messages_of(path))
    return {message: words[message] for message in found if message in words}


@cache
def _messages_of(path: Path) -> frozenset[str]:
    """Return the messages of a script and of all that it imports."""
    seen, left = set(), [path]
    found: set[str] = set()
    while left:
        if (one := left.pop()) in seen:
            continue
        seen.add(one)
        source = one.read_text(encoding="utf-8")
        found.update(script_messages(source))
        left += _loaded(one.parent, source)
    return frozenset(found)


def _loaded(folder: Path, source: str) -> list[Path]:
    """Return the scripts that a script imports, or a page loads."""
    found = _IMPORTED.findall(source)
    return [(STATIC / loaded if loaded else folder / name).resolve() for name, loaded in found]


class TranslatedLoader(BaseLoader):
    """A loader of templates in another language."""

    def __init__(self, loader: BaseLoader, language: str, words: Mapping[str, str]) -> None:
        self._loader, self._language, self._words = loader, language, words

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        """Return a template's text, its file, and whether that is still the same."""
        source, file, same = self._loader.get_source(environment, template)
        if template.startswith(TRANSLATED):
            source = translated(source, lambda one: self._words.get(one, one))
            source = source.replace('<html lang="en">', f'<html lang="{self._language}">')
        return source, file, same


@lru_cache(maxsize=8)
def page_words(language: str) -> Mapping[str, str]:
    """Return the translations of a language, by message."""
    found: dict[str, str] = json.loads((WORDS / f"{language}.json").read_text(encoding="utf-8"))
    return found


def accepted(header: str) -> list[str]:
    """Return the language tags of a header Accept-Language, the dearest first.

    Examples
    --------
    >>> accepted("de;q=0.8, fr-CH, *;q=0.1, en;q=0"), accepted("")
    (['fr-CH', 'de'], [])
    """
    found = []
    for place, part in enumerate(header.split(",")[:_MOST_TAGS]):
        tag, _, weight = (one.strip() for one in part.partition(";"))
        match = _WEIGHT.fullmatch(weight)
        worth = float(match[1]) if match else 0.0 if weight else 1.0
        if worth and tag and tag != "*":
            found.append((-worth, place, tag))
    return [tag for _, _, tag in sorted(found)]


def language_of(cookie: str, header: str) -> str:
    """Return the language of a page: of the cookie, else the dearest of `Accept-Language`.

    Somebody whose dearest language the pages do not speak reads English, whatever else they accept.

    Examples
    --------
    >>> language_of("", "en;q=0.8, de-AT"), language_of("en", "de"), language_of("", "fr, de;q=0.5")
    ('de', 'en', 'en')
    """
    for tag in (cookie, *accepted(header)[:1]):
        code = tag.strip().lower().partition("-")[0]
        if code in (*LANGUAGES, "en"):
            return code
    return "en"
