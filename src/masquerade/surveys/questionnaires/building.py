"""A survey document made of a questionnaire: questions, pages, conditions, languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from masquerade.errors import ParameterError
from masquerade.surveys.blocks import MOST_TEXT, plain
from masquerade.surveys.condition_tree import check_written, condition_from_json
from masquerade.surveys.conditions import check_leaf, questions_from_json
from masquerade.surveys.kinds import kinds, question_from_json
from masquerade.surveys.kinds.matrix import MOST_ROWS
from masquerade.surveys.languages import path_of
from masquerade.surveys.pages import MOST_HEADING, MOST_ITEMS, Layout
from masquerade.surveys.question import Question
from masquerade.surveys.question_checks import MOST_CHARACTERS
from masquerade.surveys.questionnaires.logic import (
    ALWAYS,
    Answered,
    Compared,
    Fixed,
    Json,
    Logic,
    Target,
    UnreadableLogic,
    grouped,
    leaf_of,
    names_in,
    plain_number,
)
from masquerade.surveys.questionnaires.marked_text import read_text
from masquerade.surveys.questionnaires.questionnaire import (
    CHANGED,
    CHOICE,
    CONSENT,
    KEPT,
    LEFT_OUT,
    MATRIX,
    NO_RANKING,
    NPS,
    NUMBER,
    RANKING,
    RATING,
    SEVERAL,
    TEXT,
    Element,
    Imported,
    Line,
    Questionnaire,
    Screen,
    Words,
)
from masquerade.surveys.survey import MOST_DESCRIPTION, MOST_QUESTIONS, MOST_TITLE

_RETURN = re.compile(r"https://[^\s<>\"'\\]{1,490}")
_OTHER_CODES = ("-oth-", "other")


class _Said(dict[str, str]):
    """A text by language, which stands in JSON until it has its place."""


class _Refused(ValueError):
    """An element that cannot be asked here; its message says why."""


def build(found: Questionnaire) -> Imported:
    """Return the survey document of a questionnaire, and its report."""
    return _Builder(found).build()


class _Builder:
    def __init__(self, found: Questionnaire) -> None:
        self._found, self._first = found, found.languages[0]
        self._lines: list[Line] = []
        self._texts: dict[str, dict[str, str]] = {code: {} for code in found.languages[1:]}
        self._questions: list[Json] = []
        self._pages: list[Json] = []
        self._ids: set[str] = set()
        self._shuffled: list[str] = []  # questions with options in random order
        logics = [
            *(screen.condition for screen in found.screens),
            *(screen.ends for screen in found.screens),
            *(one.condition for screen in found.screens for one in screen.elements),
        ]
        self._named = {name for logic in logics for name in names_in(logic)}
        self._partial = False  # whether not everybody is shown what comes now
        self._targets: dict[str, Target] = {}
        self._earlier: dict[str, Question] = {}

    def build(self) -> Imported:
        found = self._found
        for screen in found.screens:
            self._screen(screen)
        document: Json = {
            "title": self._short(found.title, MOST_TITLE, "title"),
            "description": self._description(),
            "template": "blank",
            "questions": self._questions,
            "pages": self._pages,
        }
        if not found.title:
            self._line("title", "title", CHANGED, "the file has none: give the survey one")
        if found.thanks:
            document["thanks"] = _Said(
                self._read(found.thanks, "last text", MOST_TEXT, marked=True)
            )
        if found.return_address:
            self._return(document)
        self._settle(document)
        document = self._resolve(document, ())
        document["languages"] = {"languages": found.languages, "texts": self._texts}
        return Imported(found.format, document, (*self._lines, *found.lines))

    # --- texts

    def _read(self, words: Words, name: str, most: int, *, marked: bool = False) -> Words:
        """Return plain texts by language, cut to a length; each loss is reported."""
        found: Words = {}
        for language, html in words.items():
            text, lost = read_text(html, marked=marked)
            if len(text) > most:
                text = text[: most - 1].rstrip() + "…"
                lost = [*lost, f"what comes after {most:,} characters"]
            if lost:
                self._line(name, f"text in {language}", CHANGED, f"left out: {', '.join(lost)}")
            if text:
                found[language] = text
        return found

    def _short(self, words: Words, most: int, name: str) -> _Said | str:
        found = self._read(words, name, most)
        return _Said(found) if found else ""

    def _description(self) -> _Said | str:
        found = self._read(self._found.description, "description", MOST_DESCRIPTION, marked=True)
        return _Said({code: plain(text) for code, text in found.items()}) if found else ""

    def _resolve(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """Return JSON with texts of the first language; the others are kept by their address."""
        if isinstance(value, _Said):
            text = value.get(self._first) or next(iter(value.values()))
            for code, texts in self._texts.items():
                if other := value.get(code, "" if self._first in value else text):
                    texts[path_of(*path)] = other
            return text
        if isinstance(value, dict):
            return {name: self._resolve(one, (*path, name)) for name, one in value.items()}
        if isinstance(value, list):
            named = path == ("questions",)
            return [
                self._resolve(one, (*path, one["id"] if named else place))
                for place, one in enumerate(value)
            ]
        return value

    # --- screens

    def _screen(self, screen: Screen) -> None:
        condition = self._condition(screen.condition, screen.name, "group")
        if condition is False:
            for element in screen.elements:
                self._line(element.name, element.what, LEFT_OUT, "it is never shown")
            return
        ended = self._partial
        self._partial = self._partial or condition is not None
        items: list[object] = []
        for element in screen.elements:
            items += self._element(element)
        self._partial = ended
        if items:
            self._line(screen.name, "page", KEPT)
        else:
            self._line(screen.name, "page", LEFT_OUT, "nothing of it is asked or shown here")
        heading = self._short(screen.heading, MOST_HEADING, screen.name)
        ends = self._condition(screen.ends, screen.name, "end of the survey")
        for start in range(0, len(items), MOST_ITEMS):
            page: Json = {
                "heading": heading if start == 0 else "",
                "shuffle": screen.shuffle,
                "items": items[start : start + MOST_ITEMS],
            }
            if screen.moves:
                page["moves"] = True
            if condition is not None:
                page["show_if"] = condition
            self._pages.append(page)
        if ends and self._pages:
            self._pages[-1]["ends"] = ends
            self._partial = True

    def _element(self, element: Element) -> list[object]:
        """Return the items of a page that an element becomes, and report it."""
        before = len(self._lines)
        condition = self._condition(element.condition, element.name, "question")
        if condition is False:
            self._line(element.name, element.what, LEFT_OUT, "it is never shown")
            return []
        try:
            if element.shape in (TEXT, CONSENT):
                items = self._block(element)
                if condition is not None:
                    element.notes.append("it is shown to everybody who sees the page")
            else:
                items = self._asked(element, condition)
        except (_Refused, ParameterError) as error:
            self._line(element.name, element.what, LEFT_OUT, str(error))
            return []
        changed = element.notes or len(self._lines) > before
        outcome = CHANGED if changed else KEPT
        self._line(element.name, element.what, outcome, *dict.fromkeys(element.notes))
        return items

    def _line(self, name: str, what: str, outcome: str, *reasons: str) -> None:
        self._lines.append(Line(name, what, outcome, reasons))

    def _block(self, element: Element) -> list[object]:
        most = MOST_TEXT
        said = self._read(element.words, element.name, most, marked=True)
        if not said:
            raise _Refused("it has no words that can be shown")
        kind = "consent" if element.shape == CONSENT else "text"
        return [{"block": kind, "text": _Said(said)}]

    # --- questions

    def _asked(self, element: Element, condition: object) -> list[object]:
        if element.shape == RANKING and "ranking" not in kinds():
            raise _Refused(NO_RANKING)
        if element.shape == MATRIX:
            return self._matrix(element, condition)
        if element.shape == CHOICE and len(element.options) == 1 and element.required:
            return self._agreement(element, condition)
        text, before = self._text(element, element.words)
        fields, labels = self._fields(element)
        return [*before, self._question(element, text, fields, labels, condition)]

    def _agreement(self, element: Element, condition: object) -> list[object]:
        """Return the consent that a question with one option, which has to be chosen, is."""
        element.shape = CONSENT
        element.notes.append("with one option it is a consent, which is never sent")
        if condition is not None:
            element.notes.append("it is shown to everybody who sees the page")
        only = element.options[0].words
        for language, text in only.items():
            element.words[language] = f"{element.words.get(language, '')}<p><b>{text}</b></p>"
        return self._block(element)

    def _matrix(self, element: Element, condition: object) -> list[object]:
        """Return a matrix; where it is none of ours, a question for each row, of one scale."""
        if not element.rows:
            raise _Refused("it has no rows")
        text, before = self._text(element, element.words)
        key = element.key or element.name
        # Conditions name whole questions, so a row that decides is one.
        decides = any(name.startswith((f"{key}_", f"{key}/")) for name in self._named)
        if decides or not 2 <= len(element.rows) <= MOST_ROWS:
            element.notes.append("each row is a question of its own, all on one page")
            return [*before, *self._rows(element, text, condition)]
        options = self._options(element)
        rows = self._options(replace(element, options=element.rows, notes=element.notes))
        fields: Json = {"kind": "matrix", "rows": rows, **_scale(options, self._first)}
        return [*before, self._question(element, text, fields, {}, condition)]

    def _rows(self, element: Element, text: _Said, condition: object) -> list[object]:
        items: list[object] = []
        key = element.key or element.name
        for row in element.rows:
            name = self._read(row.words, f"{element.name} {row.code}", 200)
            said = {
                language: f"{text.get(language, '')} {words}".strip()[:MOST_CHARACTERS]
                for language, words in name.items()
            }
            one = Element(f"{element.name}_{row.code}", element.what, CHOICE, said)
            one.options, one.required, one.key = (
                element.options,
                element.required,
                f"{key}_{row.code}",
            )
            fields, labels = self._fields(one)
            items.append(self._question(one, _Said(said), fields, labels, condition))
            self._targets[f"{key}/{row.code}"] = self._targets[one.key]
            element.notes += [note for note in one.notes if note not in element.notes]
        return items

    def _text(self, element: Element, words: Words) -> tuple[_Said, list[object]]:
        """Return the text of a question; one that is too long stands in a block before it."""
        whole = {code: read_text(html)[0] for code, html in words.items()}
        if all(len(text) <= MOST_CHARACTERS for text in whole.values()):
            said = self._read(words, element.name, MOST_CHARACTERS)
            return _Said(said or {self._first: element.name}), []
        block = self._block(Element(element.name, element.what, TEXT, words))
        element.notes.append("its long text stands before it")
        short = {code: _last_sentence(text) for code, text in whole.items()}
        return _Said(short), block

    def _fields(self, element: Element) -> tuple[Json, dict[str, str]]:
        """Return kind and fields of a question, and its labels by the codes of the file."""
        if element.shape == NUMBER:
            low, high, step = map(plain_number, (element.low, element.high, element.step))
            element.notes.append("its unit is not in the file: give it one")
            return {"kind": "number", "low": low, "high": high, "step": step, "unit": "units"}, {}
        if element.shape == NPS and "nps" in kinds():
            return {"kind": "nps", **self._ends(element)}, {}
        if element.shape == RATING:
            low, high = int(element.low), int(element.high)
            labels = {str(n): str(n) for n in range(low, high + 1)}
            return {"kind": "rating", "low": low, "high": high, **self._ends(element)}, labels
        options = self._options(element)
        firsts = [one.get(self._first) or next(iter(one.values())) for one in options]
        codes = [option.code for option in element.options]
        labels = dict(zip(codes, firsts, strict=True))
        scale = _scale(options, self._first)
        if element.shape in (CHOICE, NPS) and len(options) > 2 and "words" not in scale:
            return {"kind": "rating", **scale}, labels
        fields: Json = {"kind": "choice", "options": options}
        if element.shape == CHOICE and codes[-1] in _OTHER_CODES and len(options) > 2:
            fields = {"kind": "choice", "options": options[:-1], "other": options[-1]}
        if element.shape == SEVERAL:
            most = element.most
            whole = most is None or not 1 <= most < len(options)
            fields = {"kind": "several", "options": options, "most": None if whole else most}
        elif element.shape == RANKING:
            fields = {"kind": "ranking", "items": options}
        return fields, labels

    def _ends(self, element: Element) -> Json:
        names = zip(("low_label", "high_label"), element.ends, strict=True)
        said = {name: self._read(words, element.name, 100) for name, words in names}
        return {name: _Said(words) for name, words in said.items() if words}

    def _options(self, element: Element) -> list[_Said]:
        """Return the options' texts; of two that are alike the second has a number."""
        found: list[_Said] = []
        seen: dict[str, set[str]] = {}
        for option in element.options:
            said = self._read(option.words, f"{element.name} {option.code}", 200)
            said = said or {self._first: option.code or "–"}
            for code, text in list(said.items()):
                known, other, number = seen.setdefault(code, set()), text, 2
                while other in known:
                    other, number = f"{text} ({number})", number + 1
                if other != text:
                    element.notes.append(f"the option “{text}” stands twice")
                known.add(other)
                said[code] = other
            # A language without a word for it shows that of the first one.
            first = said.get(self._first) or next(iter(said.values()))
            for code in self._texts:
                if code not in said:
                    seen.setdefault(code, set()).add(first)
            found.append(_Said(said))
        if len(found) < 2:
            raise _Refused(f"it has {len(found)} options; a question needs two")
        return found

    def _question(
        self, element: Element, text: _Said, fields: Json, labels: dict[str, str], condition: object
    ) -> str:
        """Add a question of a kind; return its id."""
        if len(self._questions) >= MOST_QUESTIONS:
            raise _Refused(f"a survey has at most {MOST_QUESTIONS} questions")
        name = self._id(element.name)
        blank = kinds()[fields["kind"]].builder.blank
        data: Json = {**_without_texts(blank), **fields, "id": name, "text": text}
        skips = "allow_skip" in blank
        if skips:
            data["allow_skip"] = not element.required or condition is not None or self._partial
        elif not element.required:
            element.notes.append("it has to be answered")
        if skips and element.required and data["allow_skip"]:
            element.notes.append("it can be left out, as not everybody is shown it")
        if condition is not None and skips:
            data["show_if"] = condition
        elif condition is not None:
            element.notes.append(
                "it is shown to everybody: a question of its kind has no condition"
            )
        probe = _first_texts(data, self._first)
        probe.pop("show_if", None)
        question = question_from_json(probe)
        self._ids.add(name)
        self._questions.append(data)
        self._earlier[name] = question
        if element.shuffle and question.shuffles:
            self._shuffled.append(name)
        elif element.shuffle:
            element.notes.append("its random order is left out")
        self._remember(element, question, labels)
        return name

    def _remember(self, element: Element, question: Question, labels: dict[str, str]) -> None:
        key = element.key or element.name
        self._targets[key] = Target(question, labels, "", element.origin, element.point)
        if element.shape == SEVERAL:
            for code, label in labels.items():
                for alias in (f"{key}_{code}", f"{key}/{code}"):
                    self._targets[alias] = Target(question, labels, tick=label)

    def _id(self, name: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "q"
        found, number = base, 2
        while found in self._ids:
            found, number = f"{base}_{number}", number + 1
        return found

    # --- conditions

    def _condition(self, logic: Logic | None, name: str, what: str) -> Any:
        """Return a condition as JSON; None where all are shown it, False where nobody is."""
        if logic is None or logic == ALWAYS:
            return None
        try:
            found = self._said(logic)
            if isinstance(found, bool):
                return None if found else False
            tree = condition_from_json(found, of=name)
            check_written(tree, of=name)
            for leaf in tree.leaves():
                check_leaf(name, leaf, self._earlier)
        except (UnreadableLogic, ParameterError) as error:
            why = f"{error}; it is shown to everybody, so write the condition anew"
            self._line(name, f"condition of the {what}", LEFT_OUT, why)
            return None
        return found

    def _said(self, logic: Logic) -> Json | bool:
        if isinstance(logic, Fixed):
            return logic.holds
        if isinstance(logic, Compared | Answered):
            short = (logic.name.split(".")[-1], logic.name.split("/")[0])
            names = (name for name in (logic.name, *short) if name in self._targets)
            target = self._targets.get(next(names, ""))
            if target is None:
                raise UnreadableLogic(f"it depends on {logic.name!r}, which is not asked here")
            return leaf_of(logic, target)
        parts = [self._said(part) for part in logic.parts]
        if logic.rule == "all":
            if False in parts:
                return False
            kept: list[Any] = [part for part in parts if part is not True]
            return grouped("all", kept) if kept else True
        if True in parts:
            return logic.rule == "any"
        kept = [part for part in parts if part is not False]
        if not kept:
            return logic.rule == "none"
        return {"none": kept} if logic.rule == "none" else grouped("any", kept)

    # --- the whole

    def _return(self, document: Json) -> None:
        address = self._found.return_address
        if _RETURN.fullmatch(address):
            document["return_address"] = address
            self._line("return address", "address", KEPT)
        else:
            why = f"“{address[:100]}” is no fixed address that begins with https://"
            self._line("return address", "address", LEFT_OUT, why)

    def _settle(self, document: Json) -> None:
        """Give up parts of the layout, one after the other, until the survey can have it."""
        if self._shuffled:
            document["order"] = list(self._shuffled)
        steps = (
            ("moves", "random order of pages"),
            ("shuffle", "random order on a page"),
            ("ends", "early end"),
            ("show_if", "condition of a page"),
            ("pages", "pages"),
        )
        fault = None
        for name, words in (("", ""), *steps):
            if name == "pages":
                document["pages"] = []
            elif name:
                for page in document["pages"]:
                    page.pop(name, None)
                    page.setdefault("shuffle", False)
            if words:
                why = f"{fault}; set it anew in the builder"
                self._line(name, words, LEFT_OUT, why)
            fault = self._fault(document)
            if fault is None:
                return

    def _fault(self, document: Json) -> str | None:
        if not document["questions"]:
            return None
        data = _first_texts(document, self._first)
        try:
            questions, conditions = questions_from_json(data["questions"])
            layout, _ = Layout.written(data, questions, conditions)
            layout.check(questions, _)
        except ParameterError as error:
            return str(error)
        return None


def _scale(options: list[_Said], first: str) -> Json:
    """Return the fields of a scale with these points: numbers, or words on points from 1 on."""
    texts = [one.get(first) or next(iter(one.values())) for one in options]
    points = [int(text) for text in texts if re.fullmatch(r"-?\d{1,4}", text)]
    if len(points) == len(texts) and points == [*range(points[0], points[-1] + 1)]:
        return {"low": points[0], "high": points[-1]}
    return {"low": 1, "high": len(options), "words": options}


def _first_texts(value: Any, first: str) -> Any:
    """Return JSON with the texts of the first language."""
    if isinstance(value, _Said):
        return value.get(first) or next(iter(value.values()))
    if isinstance(value, dict):
        return {name: _first_texts(one, first) for name, one in value.items()}
    return [_first_texts(one, first) for one in value] if isinstance(value, list) else value


def _without_texts(blank: Mapping[str, Any]) -> Json:
    """Return the fields of a new question without its example texts."""
    return {
        name: "" if isinstance(value, str) else [] if isinstance(value, list | tuple) else value
        for name, value in blank.items()
    }


def _last_sentence(text: str) -> str:
    """Return the last sentence of a text, which asks; at most as long as a question."""
    sentences = re.split(r"(?<=[.!?:])\s+", text.strip())
    last = sentences[-1] if sentences[-1].strip() else text
    if len(last) < 10 and len(sentences) > 1:
        last = " ".join(sentences[-2:])
    return last if len(last) <= MOST_CHARACTERS else last[: MOST_CHARACTERS - 1] + "…"
