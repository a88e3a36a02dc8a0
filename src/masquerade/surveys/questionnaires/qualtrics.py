"""Questionnaires of Qualtrics: .qsf, JSON with elements for questions, blocks and the flow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from masquerade.errors import UnreadableFile
from masquerade.surveys.questionnaires.logic import (
    ALWAYS,
    Answered,
    Compared,
    Logic,
    UnreadableLogic,
    join,
    negated,
)
from masquerade.surveys.questionnaires.questionnaire import (
    CHOICE,
    CONSENT,
    FREE_TEXT,
    MATRIX,
    NPS,
    NUMBER,
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

_SINGLE = ("SAVR", "SAHR", "SACOL", "DL", "SB", "SAVRTB")
_MULTIPLE = ("MAVR", "MAHR", "MACOL", "MSB")
_WHY_NOT = {
    "FileUpload": "files cannot be masked; ask for them elsewhere, behind a link",
    "CS": "a constant sum is not offered; ask each part as a number",
    "HotSpot": "places on a picture are not offered",
    "HeatMap": "places on a picture are not offered",
    "Draw": "drawings cannot be masked",
    "Timing": "times are not measured here",
    "Captcha": "each person answers once by their account here",
    "Meta": "data about the browser are not collected here",
    "SBS": "several arrays side by side are not offered; make an array of each",
    "DD": "lists that depend on another are not offered; ask two questions",
    "PGR": "sorting into groups is not offered; ask an array",
    "Highlight": "marking words is not offered",
}
_LOCATOR = re.compile(r"q://(QID\w+)/(\w+)(?:/([\w~.-]+))?(?:/([\w~.-]+))?")
_SIGNS = {
    "EqualTo": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "Is": "=",
}
_FLOW_WORDS = {
    "EmbeddedData": ("embedded data", "nothing is kept about a person beside the masked answers"),
    "WebService": ("web service", "answers are sent to nobody else"),
    "Authenticator": ("sign-in of participants", "people take part by invitation here"),
    "Quota": ("quota", "quotas by answers are not possible: they would read answers"),
    "QuotaCheck": ("quota", "quotas by answers are not possible: they would read answers"),
    "ReferenceSurvey": ("another survey", "open it as a survey of its own"),
    "Conjoint": ("conjoint design", "it is not offered"),
}
_ELEMENT_WORDS = {
    "SO": ("options of the survey", "look, buttons, dates and e-mails are set anew here"),
    "SCO": ("scores", "scores are not computed here: answers leave the device masked"),
    "PROJ": ("project", "it holds settings of the other tool"),
    "STAT": ("statistics", "it holds figures of the other tool"),
    "QC": ("number of questions", "it holds figures of the other tool"),
    "QG": ("group of quotas", "quotas by answers are not possible: they would read answers"),
    "QGO": ("order of quotas", "quotas by answers are not possible: they would read answers"),
    "RS": ("set of responses", "responses of another tool are not taken over"),
    "PL": ("preview", "it holds settings of the other tool"),
    "NT": ("notes", "they are for the authors"),
}


def is_qsf(data: object) -> bool:
    """Return whether JSON is a survey of Qualtrics."""
    return isinstance(data, dict) and isinstance(data.get("SurveyElements"), list)


def read_qsf(data: Mapping[str, Any]) -> Questionnaire:
    """Return the questionnaire of a .qsf file."""
    return _Reader(data).read()


class _Reader:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self._records = [one for one in data["SurveyElements"] if isinstance(one, dict)]
        self._entry = _mapping(data.get("SurveyEntry"))
        self._found = Questionnaire("Qualtrics .qsf")
        self._questions = {
            str(
                _mapping(one.get("Payload")).get("QuestionID") or one.get("PrimaryAttribute")
            ): _mapping(one.get("Payload"))
            for one in self._records
            if one.get("Element") == "SQ"
        }
        self._blocks = {str(block.get("ID")): block for block in self._all_blocks()}
        self._placed: set[str] = set()
        self._shown_blocks: set[str] = set()

    def _all_blocks(self) -> Iterable[Mapping[str, Any]]:
        for one in self._records:
            if one.get("Element") == "BL":
                yield from map(_mapping, _values(one.get("Payload")))

    def read(self) -> Questionnaire:
        found = self._found
        if not self._questions:
            raise UnreadableFile("the file has no question; export the survey again.")
        self._set_languages()
        found.title = self._words(str(self._entry.get("SurveyName") or ""))
        if text := self._entry.get("SurveyDescription"):
            found.description = self._words(str(text))
        flow = next((one for one in self._records if one.get("Element") == "FL"), {})
        steps = _values(_mapping(flow.get("Payload")).get("Flow"))
        if steps:
            self._flow(steps, ALWAYS, moves=False)
        else:
            for block in self._blocks.values():
                if block.get("Type") != "Trash":
                    self._block(block, ALWAYS, moves=False)
        for name, block in self._blocks.items():
            if name not in self._shown_blocks:
                kind = "block of deleted questions" if block.get("Type") == "Trash" else "block"
                why = "it is not in the flow of the survey, so nobody sees it"
                if _values(block.get("BlockElements")):
                    found.leave_out(str(block.get("Description") or name), kind, why)
        for name, question in self._questions.items():
            if name not in self._placed:
                tag = str(question.get("DataExportTag") or name)
                found.leave_out(tag, _type(question), "it is in no block that people see")
        for one in self._records:
            name = str(one.get("Element"))
            if name in _ELEMENT_WORDS:
                found.leave_out(name, *_ELEMENT_WORDS[name])
            elif name not in ("SQ", "BL", "FL"):
                found.leave_out(name, "element", "it is not known here")
        return found

    def _set_languages(self) -> None:
        first = language_tag(str(self._entry.get("SurveyLanguage") or "EN")) or "en"
        self._languages: dict[str, str] = {}
        for question in self._questions.values():
            for name in _mapping(question.get("Language")):
                tag = language_tag(str(name))
                if tag is None:
                    self._found.leave_out(str(name), "language", "it is not known here")
                elif tag != first:
                    self._languages[str(name)] = tag
        self._found.languages = list(dict.fromkeys([first, *self._languages.values()]))

    def _words(self, text: str, others: Mapping[str, str] | None = None) -> Words:
        words = {self._found.languages[0]: text} if text.strip() else {}
        for name, other in (others or {}).items():
            if name in self._languages and other.strip():
                words.setdefault(self._languages[name], other)
        return words

    # --- the flow

    def _flow(self, steps: Iterable[object], condition: Logic, *, moves: bool) -> None:
        for step in map(_mapping, steps):
            kind = str(step.get("Type"))
            if kind in ("Standard", "Block", "Default"):
                block = self._blocks.get(str(step.get("ID")))
                if block is not None:
                    self._block(block, condition, moves=moves)
            elif kind == "Branch":
                self._branch(step, condition)
            elif kind in ("Group", "BlockRandomizer"):
                inner = _values(step.get("Flow"))
                random = kind == "BlockRandomizer"
                self._note_random(step, len(inner)) if random else None
                self._flow(inner, condition, moves=moves or random)
            elif kind == "EndSurvey":
                self._end(step, condition)
            elif kind in _FLOW_WORDS:
                self._found.leave_out(_flow_name(step), *_FLOW_WORDS[kind])
            else:
                self._found.leave_out(_flow_name(step), f"step {kind}", "it is not known here")

    def _note_random(self, step: Mapping[str, Any], count: int) -> None:
        subset = str(step.get("SubSet") or count)
        if subset.isdigit() and int(subset) < count:
            self._found.leave_out(
                _flow_name(step),
                f"draw of {subset} of {count} blocks",
                "everybody is shown all of them, in random order: make a survey for each group of "
                "people, or ask some questions of each person only",
            )

    def _branch(self, step: Mapping[str, Any], condition: Logic) -> None:
        inner = list(map(_mapping, _values(step.get("Flow"))))
        try:
            logic = self._logic(step.get("BranchLogic"))
        except UnreadableLogic as error:
            self._found.leave_out(
                _flow_name(step),
                "condition of a branch",
                f"{error}; what stands in it is shown to everybody, so write the condition anew",
            )
            logic = ALWAYS
            inner = [one for one in inner if one.get("Type") != "EndSurvey"]
        ends = [one for one in inner if one.get("Type") == "EndSurvey"]
        rest = [one for one in inner if one.get("Type") != "EndSurvey"]
        self._flow(rest, join("all", [condition, logic]), moves=False)
        if ends:
            self._end(ends[0], join("all", [condition, logic]))

    def _end(self, step: Mapping[str, Any], condition: Logic) -> None:
        options = _mapping(step.get("Options"))
        address = str(options.get("EOSRedirectURL") or "")
        if condition == ALWAYS:
            if address:
                self._found.return_address = address
            if options.get("EOSMessage"):
                self._found.leave_out(
                    _flow_name(step),
                    "last message",
                    "its text is in the other tool's library, and not in the file",
                )
            return
        consent = self._consent(condition)
        if consent is not None:
            consent.shape = CONSENT
            consent.notes.append(
                "it is a consent that is never sent: who does not tick it cannot go on"
            )
        elif self._found.screens:
            last = self._found.screens[-1]
            last.ends = condition if last.ends is None else join("any", [last.ends, condition])
        else:
            self._found.leave_out(_flow_name(step), "end of the survey", "no question is before it")

    def _consent(self, condition: Logic) -> Element | None:
        """Return the question of two options of which the first lets people go on."""
        part = condition.parts[0] if hasattr(condition, "parts") else condition
        if not isinstance(part, Compared) or not self._found.screens:
            return None
        elements = [one for screen in self._found.screens for one in screen.elements]
        known = next((one for one in elements if one.key == part.name), None)
        if known is None or known.shape != CHOICE or len(known.options) != 2:
            return None
        agreed = known.options[0]
        first = next(iter(agreed.words.values()), "").casefold()
        says = any(word in first for word in ("agree", "consent", "accept", "einverstanden"))
        refused = (
            getattr(condition, "rule", "") == "none" and part.value == agreed.code
        ) or part.value == known.options[1].code
        if not (says and refused and len(getattr(condition, "parts", [1])) == 1):
            return None
        for language, words in agreed.words.items():
            known.words[language] = f"{known.words.get(language, '')}<p><b>{words}</b></p>"
        return known

    # --- blocks and questions

    def _block(self, block: Mapping[str, Any], condition: Logic, *, moves: bool) -> None:
        name = str(block.get("Description") or block.get("ID"))
        if str(block.get("ID")) in self._shown_blocks:
            self._found.leave_out(
                name, "block", "it is shown a second time; questions are asked once"
            )
            return
        self._shown_blocks.add(str(block.get("ID")))
        options = _mapping(block.get("Options"))
        shuffle = str(options.get("RandomizeQuestions")) in (
            "true",
            "RandomWithXPerPage",
            "Advanced",
        )
        screen = Screen(name, condition=condition, moves=moves, shuffle=shuffle)
        self._found.screens.append(screen)
        if options.get("Looping") not in (None, "None", ""):
            self._found.leave_out(name, "loop", "its questions are asked once")
        for item in map(_mapping, _values(block.get("BlockElements"))):
            if item.get("Type") == "Page Break":
                screen = Screen(name, condition=condition, moves=moves, shuffle=shuffle)
                self._found.screens.append(screen)
            elif item.get("Type") == "Question":
                screen.elements += self._question(str(item.get("QuestionID")), item)

    def _question(self, name: str, item: Mapping[str, Any]) -> list[Element]:
        question = self._questions.get(name)
        if question is None or name in self._placed:
            self._found.leave_out(name, "question", "it is not in the file, or shown a second time")
            return []
        self._placed.add(name)
        tag, what = str(question.get("DataExportTag") or name), _type(question)
        reason = self._why_not(question)
        if reason is not None:
            self._found.leave_out(tag, what, reason)
            return []
        made = self._elements(question, tag, what)
        settings = _mapping(_mapping(question.get("Validation")).get("Settings"))
        try:
            condition = self._logic(question.get("DisplayLogic"))
            in_page = self._logic(question.get("InPageDisplayLogic"))
            condition = join("all", [condition, in_page])
        except UnreadableLogic as error:
            made[0].notes.append(f"it is shown to everybody, as its condition says: {error}")
            condition = ALWAYS
        for one in made:
            one.condition = condition
            one.key = one.name.replace(tag, name, 1).replace(f"{name}_", f"{name}/", 1)
            one.required = settings.get("ForceResponse") == "ON"
            one.shuffle = _mapping(question.get("Randomization")).get("Type") in ("All", "Subset")
            if question.get("SkipLogic") or item.get("SkipLogic"):
                one.notes.append("its skip logic is left out: give later pages a condition")
            if question.get("QuestionJS"):
                one.notes.append("its script is left out")
            if question.get("DynamicChoices") or question.get("DynamicChoicesData"):
                one.notes.append("options carried forward from another question are left out")
        return made

    def _why_not(self, question: Mapping[str, Any]) -> str | None:
        kind, selector = str(question.get("QuestionType")), str(question.get("Selector"))
        if kind == "TE":
            content = _mapping(_mapping(question.get("Validation")).get("Settings"))
            numeric = content.get("ContentType") == "ValidNumber" and selector != "FORM"
            return None if numeric else FREE_TEXT
        if kind == "Matrix":
            if selector in ("Likert", "Bipolar", "Profile", "MaxDiff") and selector != "MaxDiff":
                multiple = question.get("SubSelector") == "MultipleAnswer"
                return "an array with several answers in a row is not offered" if multiple else None
            return FREE_TEXT if selector == "TE" else "this array is not offered"
        if kind in ("MC", "DB", "Slider", "RO", "NPS"):
            return None
        return _WHY_NOT.get(kind, "its type is not known here")

    def _elements(self, question: Mapping[str, Any], tag: str, what: str) -> list[Element]:
        kind, selector = str(question.get("QuestionType")), str(question.get("Selector"))
        texts = {
            str(name): str(_mapping(one).get("QuestionText") or "")
            for name, one in _mapping(question.get("Language")).items()
        }
        words = self._words(str(question.get("QuestionText") or ""), texts)
        element = Element(tag, what, TEXT, words)
        if kind == "DB":
            return [element]
        options = self._options(question, "Choices")
        if kind == "TE":
            return [_number(question, element)]
        if kind == "Slider":
            return self._sliders(question, element, options)
        if kind == "Matrix":
            element.shape, element.rows = MATRIX, options
            element.options = self._options(question, "Answers")
            return [element]
        element.options = options
        if kind == "RO":
            element.shape = RANKING
        elif kind == "NPS" or selector == "NPS":
            element.shape = NPS
        else:
            element.shape = SEVERAL if selector in _MULTIPLE else CHOICE
            if selector not in (*_SINGLE, *_MULTIPLE):
                element.notes.append(f"“{selector}” is asked as a plain choice")
            most = _mapping(_mapping(question.get("Validation")).get("Settings")).get("MaxChoices")
            element.most = int(str(most)) if str(most).isdigit() else None
        if any(_mapping(one).get("TextEntry") for one in _pairs(question.get("Choices")).values()):
            element.notes.append(OTHER_NOTE.replace("“Other” is an option", "an option stands"))
        return [element]

    def _options(self, question: Mapping[str, Any], name: str) -> list[Option]:
        given = _pairs(question.get(name))
        order = [str(one) for one in _values(question.get(f"{name[:-1]}Order"))]
        listed = [code for code in order if code in given] + [c for c in given if c not in order]
        found = []
        for code in listed:
            others = {
                str(language): _display(_pairs(_mapping(one).get(name)).get(code))
                for language, one in _mapping(question.get("Language")).items()
            }
            found.append(Option(code, self._words(_display(given[code]), others)))
        return found

    def _sliders(
        self, question: Mapping[str, Any], element: Element, options: list[Option]
    ) -> list[Element]:
        """Return a rating for each slider: its points, or the lines of its grid."""
        setup = _mapping(question.get("Configuration"))
        low, high = _decimal(setup.get("CSSliderMin"), 0), _decimal(setup.get("CSSliderMax"), 100)
        if question.get("Selector") == "STAR":
            low, high = 1, _decimal(setup.get("StarCount"), 5)
        if low >= high:
            low, high = 0, 100
        labels = [option.words for option in self._options(question, "Labels")]
        made = []
        for option in options or [Option("1", {})]:
            one = Element(element.name, element.what, RATING, dict(element.words))
            if len(options) > 1:
                one.name = f"{element.name}_{option.code}"
                one.words = {
                    language: f"{text} <br>{option.words.get(language, '')}"
                    for language, text in element.words.items()
                }
                one.notes.append("each slider is a question of its own")
            elif option.words:
                one.notes.append(
                    f"the word “{next(iter(option.words.values()))[:80]}” beside the slider is "
                    "left out"
                )
            one.low, one.high = low, high
            lines = _decimal(setup.get("GridLines"), 10)
            if high - low > 20 or (high - low) % 1 or low % 1:
                points = lines if 2 <= lines <= 20 and lines % 1 == 0 else 10
                one.low, one.high = 0, points
                one.origin, one.point = low, (high - low) / points
                one.notes.append(
                    f"the slider from {low:g} to {high:g} is a rating from 0 to {points:g}: each "
                    f"point stands for {(high - low) / points:g}"
                )
            if len(labels) > 1:
                one.ends = (labels[0], labels[-1])
            made.append(one)
        return made

    # --- conditions

    def _logic(self, given: object) -> Logic:
        """Return the condition of display or branch logic."""
        sets = [
            _mapping(one)
            for key, one in sorted(_mapping(given).items())
            if str(key).isdigit() and isinstance(one, dict)
        ]
        groups: list[tuple[str, Logic]] = []
        for one in sets:
            parts = [
                _mapping(part)
                for key, part in sorted(one.items(), key=lambda item: str(item[0]).zfill(6))
                if str(key).isdigit()
            ]
            group = _joined([(str(p.get("Conjuction") or "And"), self._leaf(p)) for p in parts])
            groups.append(("Or" if one.get("Type") in ("OrIf", "ElseIf") else "And", group))
        return _joined(groups)

    def _leaf(self, part: Mapping[str, Any]) -> Logic:
        kind, sign = str(part.get("LogicType")), str(part.get("Operator"))
        if kind != "Question":
            raise UnreadableLogic(f"it depends on {kind} and not on a question")
        found = _LOCATOR.fullmatch(str(part.get("LeftOperand") or part.get("ChoiceLocator") or ""))
        if found is None:
            raise UnreadableLogic("it names no question")
        name, where, first, second = found.groups()
        tag = str(self._questions.get(name, {}).get("DataExportTag") or name)
        if where in ("SelectableChoice", "SelectableAnswer") and first:
            # Of an array: a row and a column.
            leaf = Compared(f"{name}/{first}" if second else name, "=", second or first)
            if sign in ("Selected", "Is"):
                return leaf
            if sign in ("NotSelected", "IsNot"):
                return negated(leaf)
        value = str(part.get("RightOperand") or "")
        if sign in _SIGNS and value and "q://" not in value:
            return Compared(f"{name}/{first}" if first else name, _SIGNS[sign], value)
        if sign == "NotEqualTo" and value:
            return negated(Compared(name, "=", value))
        if sign in ("NotEmpty", "Answered", "Displayed"):
            return Answered(name)
        if sign in ("Empty", "Unanswered", "NotDisplayed"):
            return negated(Answered(name))
        raise UnreadableLogic(f"“{sign}” of {tag} cannot be said here")


def _joined(parts: list[tuple[str, Logic]]) -> Logic:
    """Return parts joined by And and Or, where And binds first."""
    groups: list[list[Logic]] = [[]]
    for conjunction, part in parts:
        if conjunction.lower() == "or" and groups[-1]:
            groups.append([])
        groups[-1].append(part)
    return join("any", [join("all", group) for group in groups]) if parts else ALWAYS


def _number(question: Mapping[str, Any], element: Element) -> Element:
    settings = _mapping(_mapping(question.get("Validation")).get("Settings"))
    limits = _mapping(settings.get("ValidNumber"))
    element.shape = NUMBER
    low, high = _decimal(limits.get("Min"), 1.0), _decimal(limits.get("Max"), 0.0)
    element.low, element.high = low, high
    if low >= high:
        element.low, element.high = 0, 100
        element.notes.append("it has no range, so it is 0 to 100: set the true ends")
    return element


def _type(question: Mapping[str, Any]) -> str:
    parts = (question.get("QuestionType"), question.get("Selector"), question.get("SubSelector"))
    return " ".join(str(part) for part in parts if part)


def _flow_name(step: Mapping[str, Any]) -> str:
    return str(step.get("Description") or step.get("FlowID") or step.get("Type"))


def _display(choice: object) -> str:
    return (
        str(_mapping(choice).get("Display") or "")
        if isinstance(choice, dict)
        else str(choice or "")
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _pairs(value: object) -> dict[str, Any]:
    """Return an object of the file, which is written as a list where keys are numbers."""
    if isinstance(value, dict):
        return {str(key): one for key, one in value.items()}
    return {str(n): one for n, one in enumerate(value)} if isinstance(value, list) else {}


def _values(value: object) -> list[Any]:
    return list(_pairs(value).values())


def _decimal(value: object, default: float) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return default
    return number if abs(number) < 1e9 else default
