"""Write the catalogue of surveyors' pages, and the translations that the server reads.

``locale/surveyors.pot`` lists the messages of the templates, of the scripts, of services, and the
words of the forms in which questions of each kind are written. ``surveyors.po`` in
``locale/<language>/LC_MESSAGES`` has their translations, of which
``src/masquerade/server/web/words/<language>.json`` is made. With ``--check`` nothing is written:
the exit code says whether files are in step, every message is translated, and scripts say their
words through ``said``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from functools import partial
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from masquerade.server.http.page_words import (
    LANGUAGES,
    STATIC,
    TRANSLATED,
    WORDS,
    messages,
    script_messages,
)
from masquerade.server.http.service_messages import MESSAGES
from masquerade.server.surveys.templates import TEMPLATES as TEMPLATES_OF_SURVEYS
from masquerade.surveys.kinds import kinds

ROOT = Path(__file__).parents[1]
CATALOGUES = ROOT / "locale"
TEMPLATES = ROOT / "src/masquerade/server/web/templates"
_EXPRESSION = re.compile(r"\{\{.*?\}\}")
#: Of a text that a script or a form fills: ``{count}``.
_PLACE = re.compile(r"(?<!\{)\{\w+\}(?!\})")


_COMMENT = re.compile(r"/\*.*?\*/|(?:^|\s)//[^\n]*", re.DOTALL | re.MULTILINE)
_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
_VALUE = re.compile(r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_WORDS_FOR_PEOPLE = re.compile(r"[A-Z][a-z]+ [a-z]|[a-z]{2} [a-z]{2}|^[A-Z][a-z]+[.…:]?$")
#: Names of keys of a keyboard, which look like words.
_KEYS = {"Escape"}


def unsaid(source: str) -> list[str]:
    """Return the words for people in a script that are not said through `said`.

    Examples
    --------
    >>> unsaid('button("Remove it"); said("Add"); element("p", { className: "hint block" })')
    ['Remove it']
    >>> unsaid('say(said(words))')
    ['said(words)']
    """
    code = _COMMENT.sub("", source)
    found = [one[0] for one in re.finditer(r"\bsaid\([^\"\s)]+\)?", code)]
    for one in _TEXT.finditer(code):
        before = code[: one.start()]
        words = _VALUE.sub("", one[1] if one[1] is not None else one[2])
        if before.rstrip().endswith(("said(", "className:")) or words in _KEYS:
            continue
        if _WORDS_FOR_PEOPLE.search(words):
            found.append(words)
    return found


def extracted() -> dict[str, list[str]]:
    """Return the messages of all that speaks to surveyors, each with the places that say it."""
    found: dict[str, list[str]] = {}

    def note(message: str, place: str) -> str:
        places = found.setdefault(message, [])
        if place not in places:
            places.append(place)
        return message

    for path in sorted(TEMPLATES.rglob("*.html")):
        name = path.relative_to(TEMPLATES).as_posix()
        if name.startswith(TRANSLATED):
            for message in messages(path.read_text(encoding="utf-8")):
                note(message, name)
    for folder in ("app/kinds", "surveyor"):
        for path in sorted((STATIC / folder).glob("*.js")):
            for message in script_messages(path.read_text(encoding="utf-8")):
                note(message, path.relative_to(STATIC.parent).as_posix())
    for message in MESSAGES:
        note(message, "server/http/service_messages.py")
    for template_ in TEMPLATES_OF_SURVEYS.values():
        note(template_.title, "server/surveys/templates.json")
        for text in (template_.glyph, template_.purpose, *template_.texts.values()):
            if not any(map(str.isalpha, text)):
                continue
            note(text, "server/surveys/templates.json")
    for kind, question in kinds().items():
        question.builder.translated(partial(note, place=f"surveys/kinds/{kind}.py"))
    return found


def template(found: dict[str, list[str]]) -> str:
    """Return the text of the catalogue without translations."""
    import io

    catalogue = Catalog(header_comment="# What surveyors' pages say.", charset="utf-8")
    for message, places in found.items():
        catalogue.add(message, locations=[(place, 1) for place in places])
    file = io.BytesIO()
    write_po(file, catalogue, width=100, omit_header=True, include_lineno=False)
    header = '# What surveyors\' pages say.\nmsgid ""\nmsgstr ""\n'
    header += '"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    return header + '"Content-Transfer-Encoding: 8bit\\n"\n\n' + file.getvalue().decode()


def translations(language: str, found: dict[str, list[str]]) -> tuple[dict[str, str], list[str]]:
    """Return the translations of a language, and the faults: words missing or not in step."""
    path = CATALOGUES / language / "LC_MESSAGES" / "surveyors.po"
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language, abort_invalid=True)
    words, faults = {}, []
    for message in found:
        known = catalogue.get(message)
        text = str(known.string) if known is not None and not known.fuzzy else ""
        if not text:
            faults.append(f"{language}: not translated: {message!r}")
            continue
        given, wanted = (Counter(_EXPRESSION.findall(one)) for one in (text, message))
        # Words in an expression may be translated; how many expressions there are may not differ.
        if sum(given.values()) != sum(wanted.values()):
            faults.append(f"{language}: other expressions: {message!r}")
        if set(_PLACE.findall(text)) != set(_PLACE.findall(message)):
            faults.append(f"{language}: other places: {message!r}")
        words[message] = text
    return words, faults


def main() -> None:
    """Write the files, or say which are not in step."""
    found, check, faults = extracted(), "--check" in sys.argv, []
    files = {CATALOGUES / "surveyors.pot": template(found)}
    for language in LANGUAGES:
        words, missing = translations(language, found)
        faults += missing
        text = json.dumps(words, ensure_ascii=False, indent=0, sort_keys=True) + "\n"
        files[WORDS / f"{language}.json"] = text
    for path, text in files.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            faults.append(f"not in step: {path.name}; run make catalogues")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in sorted((STATIC / "surveyor").glob("*.js")):
        faults += [
            f"{path.name}: not given to said: {one!r}"
            for one in unsaid(path.read_text(encoding="utf-8"))
        ]
    if faults:
        raise SystemExit("\n".join(faults[:40]))


if __name__ == "__main__":
    main()
