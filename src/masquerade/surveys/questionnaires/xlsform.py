"""Questionnaires in XLSForm (.xlsx): a sheet of questions, one of choices, one of settings."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from masquerade.errors import UnreadableFile
from masquerade.surveys.questionnaires.logic import (
    ALWAYS,
    Compared,
    Joined,
    Logic,
    UnreadableLogic,
    join,
    read_logic,
)
from masquerade.surveys.questionnaires.questionnaire import (
    CHOICE,
    CONSENT,
    FREE_TEXT,
    NUMBER,
    OTHER,
    OTHER_NOTE,
    RANKING,
    RATING,
    SEVERAL,
    TEXT,
    Element,
    Option,
    Questionnaire,
    Screen,
    Words,
    language_tag,
)

Row = Mapping[str, str]

_PLACES = "places on a map are not collected here"
_FILES = "pictures, sounds and files cannot be masked"
_DEVICE = "nothing is kept about a person or device beside the masked answers"
_COMPUTED = "nothing is computed from answers here; they leave the device masked"
_WHY_NOT = {
    "text": FREE_TEXT,
    "string": FREE_TEXT,
    "barcode": FREE_TEXT,
    "date": "a date is not offered; ask for a period with a choice",
    "time": "a time is not offered; ask for a part of the day with a choice",
    "datetime": "a date is not offered; ask for a period with a choice",
    "geopoint": _PLACES,
    "geotrace": _PLACES,
    "geoshape": _PLACES,
    "gps": _PLACES,
    "location": _PLACES,
    "start-geopoint": _PLACES,
    "image": _FILES,
    "photo": _FILES,
    "audio": _FILES,
    "video": _FILES,
    "file": _FILES,
    "background-audio": _FILES,
    "calculate": _COMPUTED,
    "hidden": _COMPUTED,
    "csv-external": "its list is in another file",
    "xml-external": "its list is in another file",
} | dict.fromkeys(
    (
        "start",
        "end",
        "today",
        "deviceid",
        "subscriberid",
        "simserial",
        "phonenumber",
        "username",
        "email",
        "audit",
        "imei",
        "phone number",
        "start time",
        "end time",
    ),
    _DEVICE,
)
_GROUPS = re.compile(r"(begin|end)[ _](group|repeat|loop)")
_LOST = {
    "choice_filter": "the filter of options",
    "default": "the answer that is set beforehand",
    "calculation": "the calculation",
    "trigger": "the trigger",
    "media::image": "the picture",
    "media::audio": "the sound",
    "media::video": "the video",
    "image": "the picture",
    "audio": "the sound",
    "video": "the video",
}
_EXTRAS = ("media::", "image::", "audio::", "video::")


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    words: Words
    condition: Logic
    repeated: bool


def is_xlsform(sheets: Mapping[str, list[dict[str, str]]]) -> bool:
    """Return whether a spreadsheet is a form: a sheet named survey with a column type."""
    return any("type" in row for row in sheets.get("survey", []))


def read_xlsform(sheets: Mapping[str, list[dict[str, str]]]) -> Questionnaire:
    """Return the questionnaire of a form's sheets."""
    return _Reader(sheets).read()


class _Reader:
    def __init__(self, sheets: Mapping[str, list[dict[str, str]]]) -> None:
        self._sheets = sheets
        self._found = Questionnaire("XLSForm .xlsx")
        self._settings = (sheets.get("settings") or [{}])[0]
        self._lists: dict[str, list[Option]] = {}
        self._groups: list[_Group] = []

    def read(self) -> Questionnaire:
        found, settings = self._found, self._settings
        self._set_languages()
        first = found.languages[0]
        title = settings.get("form_title") or settings.get("title") or settings.get("form_id") or ""
        found.title = {first: title} if title.strip() else {}
        for row in self._sheets.get("choices", []):
            name = row.get("list_name") or row.get("list name") or ""
            option = Option(row.get("name") or row.get("value") or "", self._words(row, "label"))
            option.words = option.words or {first: option.code}
            self._lists.setdefault(name.strip(), []).append(option)
        screen: Screen | None = None
        for row in self._sheets["survey"]:
            kind = " ".join(row.get("type", "").split())
            if not kind or kind.startswith("#"):
                continue
            group = _GROUPS.fullmatch(kind.lower().replace("_", " "))
            if group is not None:
                self._group(group[1] == "begin", group[2], row)
                screen = None
                continue
            elements = self._elements(kind, row)
            if not elements:
                continue
            # In a group one screen has all; outside, each question has its own, with notes before.
            alone = not self._groups and screen and screen.elements[-1].shape != TEXT
            if screen is None or alone:
                screen = self._screen(row)
                found.screens.append(screen)
            screen.elements += elements
        if not found.screens and not found.lines:
            raise UnreadableFile("the sheet survey has no question.")
        for name in self._sheets:
            if name not in ("survey", "choices", "settings") and self._sheets[name]:
                found.leave_out(name, "sheet", "it is not part of a form here")
        if settings:
            found.leave_out(
                "settings", "settings of the form", "all but its title is set anew here"
            )
        return found

    def _set_languages(self) -> None:
        names: dict[str, str] = {}
        rows = [*self._sheets["survey"], *self._sheets.get("choices", [])]
        for column in dict.fromkeys(name for row in rows for name in row):
            head, mark, language = _split(column)
            if head in ("label", "hint") and mark and language not in names:
                tag = language_tag(language)
                if tag is None or tag in names.values():
                    self._found.leave_out(language, "language", "it is not known, or stands twice")
                else:
                    names[language] = tag
        default = self._settings.get("default_language", "").strip().lower()
        plain = any("label" in row for row in rows)
        first = names.get(default) or language_tag(default) if default else None
        # Labels without a language are of the default one.
        first = first or ("en" if plain or not names else next(iter(names.values())))
        self._languages = names
        self._first = first
        self._found.languages = list(dict.fromkeys([first, *names.values()]))

    def _words(self, row: Row, name: str) -> Words:
        words: Words = {}
        for column, text in row.items():
            head, mark, language = _split(column)
            if head != name or not text.strip():
                continue
            tag = self._languages.get(language) if mark else self._first
            if tag and tag not in words:
                words[tag] = text
        return words

    def _screen(self, row: Row) -> Screen:
        inner = self._groups[-1] if self._groups else None
        condition = join("all", [group.condition for group in self._groups])
        name = inner.name if inner else row.get("name", "")
        return Screen(name, heading=inner.words if inner else {}, condition=condition)

    def _group(self, begins: bool, kind: str, row: Row) -> None:
        if not begins:
            if self._groups:
                self._groups.pop()
            return
        name = row.get("name", "")
        if kind != "group":
            self._found.leave_out(name, kind, "its questions are asked once")
        condition = self._condition(row, "group")
        self._groups.append(_Group(name, self._words(row, "label"), condition, kind != "group"))

    def _condition(self, row: Row, what: str) -> Logic:
        text = row.get("relevant") or row.get("relevance") or row.get("bind::relevant") or ""
        try:
            return read_logic(text)
        except UnreadableLogic as error:
            self._found.leave_out(
                row.get("name", ""),
                f"condition of the {what}",
                f"{error}: “{text[:200]}”; it is shown to everybody, so write the condition anew",
            )
            return ALWAYS

    def _elements(self, kind: str, row: Row) -> list[Element]:
        name, (first, *rest) = row.get("name", ""), kind.split()
        first = first.lower()
        words = self._words(row, "label") or {self._first: name}
        element = Element(name, kind, CHOICE, words)
        reason = _WHY_NOT.get(kind.lower()) or _WHY_NOT.get(first)
        appearance = row.get("appearance", "")
        if reason is None and "hidden" in appearance.split():
            reason = "it is hidden from people"
        if reason is None:
            reason = self._shape(element, first, rest, row)
        if reason is not None:
            self._found.leave_out(name, kind, reason)
            return []
        element.condition = self._condition(row, "question")
        element.required = row.get("required", "").strip().lower() in ("yes", "true", "true()", "1")
        element.shuffle = "randomize=true" in row.get("parameters", "").replace(" ", "")
        element.notes += [
            f"{lost} is left out" for column, lost in _LOST.items() if row.get(column, "").strip()
        ]
        if any(column.startswith(_EXTRAS) and row[column].strip() for column in row):
            element.notes.append("pictures and sounds are left out")
        if row.get("constraint", "").strip() and element.shape != NUMBER:
            element.notes.append("the check of answers is left out")
        hint = self._words(row, "hint")
        help_ = Element(name, f"hint of {kind}", TEXT, hint, condition=element.condition)
        return [help_, element] if hint and element.shape != TEXT else [element]

    def _shape(self, element: Element, first: str, rest: list[str], row: Row) -> str | None:
        """Set shape and options of an element; return why it is left out, if it is."""
        if first == "note":
            element.shape = TEXT
        elif first in ("acknowledge", "trigger"):
            element.shape = CONSENT
            element.notes.append("it is a consent that is never sent")
        elif first in ("select_one", "select_multiple", "rank", "select1", "select") or (
            first in ("select", "add") and rest
        ):
            return self._choices(element, first, rest)
        elif first in ("integer", "decimal", "int", "range"):
            self._range(element, first, row)
        else:
            return (
                "its list is in another file"
                if first.endswith("_from_file")
                else "its type is not known here"
            )
        return None

    def _choices(self, element: Element, first: str, rest: list[str]) -> str | None:
        if rest[:2] in (["one", "from"], ["all", "that"]):  # "select one from LIST"
            first = "select_one" if rest[0] == "one" else "select_multiple"
            rest = [word for word in rest if word not in ("one", "all", "from", "that", "apply")]
        other = "or_other" in rest or rest[-2:] == ["or", "other"]
        listed = self._lists.get(rest[0] if rest else "", [])
        if not listed:
            return "the file has no options for it"
        element.shape = {"select_multiple": SEVERAL, "rank": RANKING}.get(first, CHOICE)
        element.options = [*listed]
        if other:
            element.options.append(Option("other", dict(OTHER)))
            element.notes.append(OTHER_NOTE)
        return None

    def _range(self, element: Element, first: str, row: Row) -> None:
        element.shape = NUMBER
        given = dict(
            part.split("=", 1) for part in row.get("parameters", "").split() if "=" in part
        )
        if first == "range":
            element.low = _float(given.get("start"), 1.0)
            element.high = _float(given.get("end"), 10.0)
            element.step = _float(given.get("step"), 1.0)
            if element.step == 1 and element.high - element.low < 20:
                element.shape = RATING
            return
        element.step = 1 if first != "decimal" else 0.1
        low, high = self._limits(row.get("constraint", ""), element)
        if low is None or high is None or low >= high:
            element.notes.append(
                f"it has no range, so it is {low or 0:g} to {(low or 0) + 100:g}: set the true ends"
            )
            low, high = low or 0, (low or 0) + 100
        if first == "decimal":
            element.notes.append("it is asked in steps of a tenth: set the true steps")
        element.low, element.high = low, high

    def _limits(self, text: str, element: Element) -> tuple[float | None, float | None]:
        """Return the least and the largest number that a constraint allows."""
        try:
            logic = read_logic(text)
        except UnreadableLogic:
            element.notes.append(f"the check “{text[:100]}” is left out")
            return None, None
        parts = logic.parts if isinstance(logic, Joined) and logic.rule == "all" else (logic,)
        low = high = None
        for part in parts:
            if not isinstance(part, Compared) or part.name != ".":
                continue
            value = _float(part.value, math.nan)
            if math.isnan(value):
                continue
            by = element.step if part.sign in ("<", ">") else 0
            if part.sign in (">", ">="):
                low = value + by
            elif part.sign in ("<", "<="):
                high = value - by
        return low, high


def _split(column: str) -> tuple[str, bool, str]:
    """Return the head of a column's name, and the language after it where it has one."""
    head, mark, language = column.partition("::")
    if not mark:
        head, mark, language = column.partition(":")
    return head.strip(), bool(mark), language.strip(": ")


def _float(text: object, default: float) -> float:
    try:
        number = float(str(text))
    except ValueError:
        return default
    return number if abs(number) < 1e9 else default
