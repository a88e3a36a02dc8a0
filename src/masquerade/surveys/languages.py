"""The languages of one survey: its texts by address, each with its translations.

The texts where they stand in a survey are those of its first language. Translations stand beside
them, by address, and are part of the survey's hash. An answer is a code, so that people who read
other languages answer the same question, and there is one result.

An address is a path: ``title``, ``questions/ID/text``, ``questions/ID/options/0``. In an id, ``~``
and ``/`` are written ``~0`` and ``~1``, as in a JSON pointer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.kinds import kinds, question_from_json

#: A survey, a question or languages as JSON.
Json = dict[str, Any]
MOST_LANGUAGES = 20
#: A language's tag, such as ``de`` or ``pt-BR``.
LANGUAGE_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
#: Languages that are offered by name; others are typed as a tag.
LANGUAGE_NAMES = {
    "en": "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "ar": "العربية",
    "it": "Italiano",
    "pt": "Português",
    "nl": "Nederlands",
    "pl": "Polski",
    "tr": "Türkçe",
    "uk": "Українська",
    "ru": "Русский",
    "fa": "فارسی",
    "he": "עברית",
    "hi": "हिन्दी",
    "zh": "中文",
    "ja": "日本語",
    "ko": "한국어",
    "vi": "Tiếng Việt",
    "sw": "Kiswahili",
}
#: Texts that people read before the survey is opened for them.
BEFORE_OPENING = ("title", "description", "asked_by", "contact", "consent")


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of a survey, and its texts in each but the first.

    Attributes
    ----------
    codes : tuple of str
        Language tags such as ``"en"``, ``"de-AT"``, ``"zh-Hans"``, different; the first is that of
        the texts themselves.
    texts : tuple
        For each code but the first the code and its texts, a tuple of pairs (address, text). Where
        a text is missing, that of the first language is shown.

    Examples
    --------
    >>> german = {"title": "Arbeit", "questions/ill/options/0": "Ja"}
    >>> two = Languages.from_json({"languages": ["en", "de"], "texts": {"de": german}})
    >>> two.codes, two.of("de")["title"]
    (('en', 'de'), 'Arbeit')
    """

    codes: tuple[str, ...]
    texts: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.codes) <= MOST_LANGUAGES or len(set(self.codes)) < len(self.codes):
            raise _error(
                f"there are the languages {list(self.codes)}; give 1 to {MOST_LANGUAGES}, each "
                "once."
            )
        for code in self.codes:
            if not isinstance(code, str) or not LANGUAGE_TAG.fullmatch(code):
                raise _error(f"{code!r} is no language tag such as 'en', 'de-AT' or 'zh-Hans'.")
        given = [code for code, _ in self.texts]
        if given != list(self.codes[1:]):
            raise _error(
                f"there are texts in {given}; each language but the first has texts, in order: "
                f"{list(self.codes[1:])}."
            )
        for code, texts in self.texts:
            for address, text in texts:
                if not isinstance(address, str) or not isinstance(text, str) or not text.strip():
                    raise _error(f"the text {text!r} in {code!r} is empty; leave it out.")

    def of(self, code: str) -> dict[str, str]:
        """Return the translated texts of a language by address; none for the first."""
        if code not in self.codes:
            raise ParameterError(
                f"there is no language {code!r}; there are {', '.join(self.codes)}.",
                field="language",
            )
        return dict(dict(self.texts).get(code, ()))

    def best_of(self, wished: Sequence[str]) -> str:
        """Return the language for somebody who wishes for these, the dearest first.

        That is the first of them that there is, or whose variant or base there is, as on a device;
        the survey's first language where there is none of them.

        Examples
        --------
        >>> two = Languages(("en", "pt-BR"), (("pt-BR", ()),))
        >>> two.best_of(("fr", "pt")), two.best_of(("fr",))
        ('pt-BR', 'en')
        """
        for tag in (one.lower() for one in wished):
            same = [code for code in self.codes if code.lower() == tag]
            near = [code for code in self.codes if _base(code) == _base(tag)]
            if found := same or near:
                return found[0]
        return self.codes[0]

    def to_json(self) -> Json:
        """Return the languages as a JSON object."""
        return {
            "languages": list(self.codes),
            "texts": {code: dict(texts) for code, texts in self.texts},
        }

    @classmethod
    def from_json(cls, data: Any) -> Languages:
        """Return the languages that a JSON object describes."""
        if not isinstance(data, dict) or set(data) != {"languages", "texts"}:
            raise _error(
                f'languages is {data!r}, expected {{"languages": [codes], "texts": {{code: '
                "{address: text}}}."
            )
        codes, texts = data["languages"], data["texts"]
        given = isinstance(codes, list) and isinstance(texts, dict)
        if not given or not all(isinstance(one, dict) for one in texts.values()):
            raise _error("languages is a list of codes, and texts an object for each code.")
        order = [code for code in codes if code in texts] + [c for c in texts if c not in codes]
        return cls(tuple(codes), tuple((c, tuple(sorted(texts[c].items()))) for c in order))

    def before_opening(self) -> Json:
        """Return the languages with those texts alone that people read before they begin."""
        texts = {
            code: {address: text for address, text in one if address in BEFORE_OPENING}
            for code, one in self.texts
        }
        return {"languages": list(self.codes), "texts": texts}


def _base(code: str) -> str:
    return code.partition("-")[0].lower()


def path_of(*parts: str | int) -> str:
    """Return an address.

    Examples
    --------
    >>> path_of("questions", "work/home", "options", 0)
    'questions/work~1home/options/0'
    """
    return "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def texts_of(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of a survey's JSON, finished or not, by address in reading order.

    Examples
    --------
    >>> from masquerade.surveys import Choice
    >>> asked = Choice("ill", "Have you worked while ill?", ("Yes", "No")).to_json()
    >>> list(texts_of({"title": "Work", "description": "", "questions": [asked]}))
    ['title', 'questions/ill/text', 'questions/ill/options/0', 'questions/ill/options/1']
    """
    return {address: text for address, text, _ in _places(data)}


def _places(data: Mapping[str, Any]) -> Iterator[tuple[str, str, Callable[[str], None]]]:
    """Yield each text with its address, and a function that puts another one in its place."""
    for name in BEFORE_OPENING:
        yield from _within(data, name, (name,))
    for question in data.get("questions") or []:
        if not isinstance(question, dict) or not isinstance(question.get("id"), str):
            continue
        kind = kinds().get(str(question.get("kind")))
        for name in kind.translatable if kind else ():
            yield from _within(question, name, ("questions", question["id"], name))
    yield from _within(data.get("look"), "logo_text", ("look", "logo_text"))
    pages = data.get("pages")
    for number, page in enumerate(pages if isinstance(pages, list) else []):
        yield from _within(page, "heading", ("pages", number, "heading"))
        items = page.get("items") if isinstance(page, dict) else None
        for place, block in enumerate(items if isinstance(items, list) else []):
            for name in ("text", "alt"):
                yield from _within(block, name, ("pages", number, "items", place, name))
    yield from _within(data, "thanks", ("thanks",))


def _within(
    holder: Any, key: Any, parts: tuple[str | int, ...]
) -> Iterator[tuple[str, str, Callable[[str], None]]]:
    """Yield the texts at a place of JSON and below it."""
    if isinstance(holder, list):
        value = holder[key]
    else:
        value = holder.get(key) if isinstance(holder, dict) else None
    if isinstance(value, str) and value.strip():

        def put(text: str) -> None:
            holder[key] = text

        yield path_of(*parts), value, put
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from _within(value, place, (*parts, place))
    elif isinstance(value, dict):
        for name in value:
            yield from _within(value, name, (*parts, name))


def translated(data: Json, texts: Mapping[str, str]) -> Json:
    """Return a survey's JSON with these texts in the place of its own, and without `languages`.

    Conditions and right answers name labels, so they are renamed too. `data` must be that of a
    survey that can be read; it is changed.

    Raises `ParameterError`: a text is too long for its place, or two labels would be alike.
    """
    data.pop("languages", None)
    questions = data["questions"]
    before = {one["id"]: question_from_json(_plain(one)).labels for one in questions}
    secrets = {one["id"]: kinds()[one["kind"]].secret for one in questions}
    for address, _, put in list(_places(data)):
        if address in texts:
            put(texts[address])
    names: dict[str, dict[str, str]] = {}
    for one in questions:
        hidden = {name: one.pop(name) for name in secrets[one["id"]] if name in one}
        labels = question_from_json(_plain(one)).labels
        names[one["id"]] = dict(zip(before[one["id"]], labels, strict=True))
        for name, value in hidden.items():
            one[name] = names[one["id"]].get(value, value)
    _rename([one.get("show_if") for one in questions], names)
    _rename(data.get("pages"), names)
    return data


def _plain(question: Mapping[str, Any]) -> Json:
    return {name: value for name, value in question.items() if name != "show_if"}


def _rename(node: Any, names: Mapping[str, Mapping[str, str]]) -> None:
    """Give the answers that conditions name their translated labels."""
    if isinstance(node, list):
        for one in node:
            _rename(one, names)
    elif isinstance(node, dict):
        known = names.get(node["question"]) if isinstance(node.get("question"), str) else None
        if known is not None and isinstance(node.get("answers"), list):
            node["answers"] = [known.get(label, label) for label in node["answers"]]
        for value in node.values():
            _rename(value, names)


def _error(wrong: str) -> ParameterError:
    return ParameterError(wrong, field="languages")
