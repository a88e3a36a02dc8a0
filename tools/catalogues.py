"""Write the words of the participants' app, one module a language, from the gettext catalogues.

English, which every page loads, has the words of two parties in a module of their own.

``locale/participants.pot`` holds the English texts, and ``participants.po`` of each language in
``locale/<language>/LC_MESSAGES/`` their translations. The context of a message is its place in the
module, with the parameters of those that have some: ``home.questions(count)``. A text takes a
parameter as ``{count}``, as the language writes numbers as ``{count:number}``, and a loss as how
much likelier a guess becomes as ``{epsilon:times}``. A message with plural forms counts by
``count``.

With ``--check`` nothing is written: the exit code says whether the modules are in step.
"""

from __future__ import annotations

import gettext
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babel import Locale
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]
CATALOGUES = ROOT / "locale"
MODULES = ROOT / "src/masquerade/server/web/static/words"
SOURCE = CATALOGUES / "participants.pot"

_CONTEXT = re.compile(r"(?P<path>[^()]+)(?:\((?P<parameters>[\w, ]*)\))?")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_MOST_COUNTED = 1000
#: What English, which all load, has apart: `words().parties`, for surveys between two parties.
APART = "parties"


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the app; numbers and days are written by its `locale`."""

    code: str
    constant: str
    name: str
    direction: str
    locale: str


LANGUAGES = (
    Language("en", "ENGLISH", "English", "ltr", "en-GB"),
    Language("de", "GERMAN", "Deutsch", "ltr", "de-DE"),
    Language("fr", "FRENCH", "Français", "ltr", "fr-FR"),
    Language("es", "SPANISH", "Español", "ltr", "es-ES"),
    # Digits are those of the surveys' own scales (0 to 9).
    Language("ar", "ARABIC", "العربية", "rtl", "ar-u-nu-latn"),
)


def catalogue(code: str) -> Catalog:
    """Return the catalogue of a language; of English, the source of all."""
    path = SOURCE if code == "en" else CATALOGUES / code / "LC_MESSAGES" / "participants.po"
    with path.open("rb") as file:
        return read_po(file, locale=code, abort_invalid=True)


def modules(language: Language) -> dict[str, str]:
    """Return the text of each module of a language, by its file."""
    translated = catalogue(language.code)
    forms = plural_categories(language.code, translated)
    tree: dict[str, Any] = {}
    for source in catalogue("en"):
        if not source.id:
            continue
        message = translated.get(_singular(source), context=source.context)
        texts = _texts(source, message, language.code)
        path, parameters = _read_context(str(source.context))
        known = set(parameters)
        unknown = {name for text in texts for name, _ in _PLACEHOLDER.findall(text)} - known
        if unknown:
            raise SystemExit(
                f"{source.context}: there is no parameter {', '.join(sorted(unknown))}"
            )
        _put(tree, path, _expression(texts, parameters, forms))
    place = (
        "participants.pot"
        if language.code == "en"
        else f"{language.code}/LC_MESSAGES/participants.po"
    )
    header = (
        f"// Everything the participants' app says in {Locale(language.code).english_name}. Made of"
        "\n"
        f"// locale/{place} by `make catalogues`; change it there.\n\n"
        'import { formatsOf } from "./formats.js";\n\n'
        f'const {{ amount, day, number, plural, timesOf }} = formatsOf("{language.locale}");\n'
        f"const times = (epsilon) => timesOf(epsilon, {language.constant}.amounts);\n\n"
    )
    about = {
        name: json.dumps(getattr(language, name), ensure_ascii=False)
        for name in ("code", "name", "direction")
    }
    shared = {name: name for name in ("amount", "number", "day")}
    found = {}
    if language.code == "en":
        body = _written(tree.pop(APART), 0)
        text = f"{header}export const ENGLISH_PARTIES = {body};\n"
        unused = re.search(r"\nconst times = .*\n", text)
        assert unused is not None
        text = text.replace(unused[0], "")
        used = [one for one in ("amount", "day", "number", "plural") if f"{one}(" in body]
        text = re.sub(r"const \{ [^}]* \}", f"const {{ {', '.join(used)} }}", text, count=1)
        found[f"en_{APART}.js"] = text
    body = _written({**about, **shared, **tree}, 0)
    return {f"{language.code}.js": f"{header}export const {language.constant} = {body};\n", **found}


def plural_categories(code: str, translated: Catalog) -> list[str]:
    """Return the language's name for each plural form of a catalogue: one, two, few, ...

    Browsers choose by these names, catalogues count forms; both are the Unicode plural rules.
    """
    form_of = gettext.c2py(translated.plural_expr)
    names: dict[int, set[str]] = {}
    for count in range(_MOST_COUNTED):
        names.setdefault(form_of(count), set()).add(Locale(code).plural_form(count))
    if any(len(found) != 1 for found in names.values()) or len(names) != translated.num_plurals:
        raise SystemExit(f"{code}: Plural-Forms of the catalogue are not those of the language")
    return [names[form].copy().pop() for form in range(translated.num_plurals)]


def _singular(message: Message) -> str:
    return str(message.id if isinstance(message.id, str) else message.id[0])


def _texts(source: Message, message: Message | None, code: str) -> list[str]:
    if code == "en":
        return [source.id] if isinstance(source.id, str) else list(source.id)
    if message is None or message.fuzzy:
        raise SystemExit(f"{code}: {source.context} is not translated")
    string = message.string or ""
    texts = [string] if isinstance(string, str) else list(string)
    if not all(texts) or isinstance(source.id, str) != isinstance(message.id, str):
        raise SystemExit(f"{code}: {source.context} is not translated")
    return texts


def _read_context(context: str) -> tuple[list[str | int], list[str]]:
    """Return the place of a message, ``a.b[1]`` as ``["a", "b", 1]``, and its parameters."""
    match = _CONTEXT.fullmatch(context)
    if match is None:
        raise SystemExit(f"{context!r} is no place of a message")
    parts = re.findall(r"[\w-]+", match["path"])
    path = [int(part) if part.isdigit() else part for part in parts]
    return path, re.findall(r"\w+", match["parameters"] or "")


def _put(tree: dict[str, Any], path: list[str | int], expression: str) -> None:
    """Put a text where it belongs; numbered parts become lists once all are there."""
    node: dict[Any, Any] = tree
    for part in path[:-1]:
        node = node.setdefault(part, {})
    node[path[-1]] = expression


def _expression(texts: list[str], parameters: list[str], forms: list[str]) -> str:
    """Return a message as JavaScript: a text, or a function of its parameters."""
    if not parameters:
        return json.dumps(texts[0], ensure_ascii=False)
    arguments = ", ".join(parameters)
    if len(texts) == 1:
        return f"({arguments}) => {_template(texts[0])}"
    by_form = dict(zip(forms, texts, strict=True))
    special = [form for form in forms if form == "other" or by_form[form] != by_form["other"]]
    if special == ["other"]:
        return f"({arguments}) => {_template(by_form['other'])}"
    written = ", ".join(f"{form}: {_template(by_form[form])}" for form in special)
    return f"({arguments}) => plural(count, {{ {written} }})"


def _template(text: str) -> str:
    def placeholder(match: re.Match[str]) -> str:
        name, function = match.groups()
        return f"${{{function}({name})}}" if function else f"${{{name}}}"

    safe = text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")
    return f"`{_PLACEHOLDER.sub(placeholder, safe)}`"


def _written(node: Any, depth: int) -> str:
    if isinstance(node, str):
        return node
    inner, outer = "  " * (depth + 1), "  " * depth
    if all(isinstance(key, int) for key in node):
        items = [_written(node[key], depth + 1) for key in sorted(node)]
        return "[\n" + "".join(f"{inner}{item},\n" for item in items) + f"{outer}]"
    lines = []
    for key, value in node.items():
        name = key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key)
        text = _written(value, depth + 1)
        lines.append(f"{inner}{name},\n" if name == text else f"{inner}{name}: {text},\n")
    return "{\n" + "".join(lines) + f"{outer}}}"


def main() -> None:
    """Write all modules, or say which are not in step."""
    stale = []
    for language in LANGUAGES:
        for name, text in modules(language).items():
            path = MODULES / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
                if "--check" not in sys.argv:
                    path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        raise SystemExit(
            f"not in step with the catalogues: {', '.join(stale)}; run make catalogues"
        )


if __name__ == "__main__":
    main()
