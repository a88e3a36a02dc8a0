"""Questionnaires of LimeSurvey: .lss (a dump of its tables) and .txt (a table with tabs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from masquerade.errors import UnreadableFile
from masquerade.surveys.questionnaires.logic import ALWAYS, Logic, UnreadableLogic, join, read_logic
from masquerade.surveys.questionnaires.questionnaire import (
    CHOICE,
    FREE_TEXT,
    MATRIX,
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
from masquerade.surveys.questionnaires.safe_files import Node

Row = Mapping[str, str]

_NAMES = {
    "1": "two arrays side by side",
    "5": "five-point choice",
    "A": "array of five points",
    "B": "array of ten points",
    "C": "array of yes, uncertain, no",
    "D": "date",
    "E": "array of increase, same, decrease",
    "F": "array",
    "G": "gender",
    "H": "array by column",
    "I": "choice of language",
    "K": "several numbers",
    "L": "list",
    "!": "drop-down list",
    "M": "multiple choice",
    "N": "number",
    "O": "list with a comment",
    "P": "multiple choice with comments",
    "Q": "several short texts",
    "R": "ranking",
    "S": "short text",
    "T": "long text",
    "U": "huge text",
    "X": "text",
    "Y": "yes or no",
    ":": "array of numbers",
    ";": "array of texts",
    "|": "upload of files",
    "*": "equation",
}
_TEXTS = ("S", "T", "U", "Q", ";")
_WHY_NOT = {
    "|": "files cannot be masked; ask for them elsewhere, behind a link",
    "*": "nothing is computed from answers here; they leave the device masked",
    "I": "people choose their language on the first screen here",
    ":": "an array of numbers is not offered; ask each number as a question",
    "D": "a date is not offered; ask for a period with a choice",
    "1": "two scales in one array are not offered; make two arrays",
} | dict.fromkeys(_TEXTS, FREE_TEXT)
_YES_NO = (
    ("Y", {"en": "Yes", "de": "Ja", "fr": "Oui", "es": "Sí", "ar": "نعم"}),
    ("N", {"en": "No", "de": "Nein", "fr": "Non", "es": "No", "ar": "لا"}),
)
_UNCERTAIN = (
    "U",
    {"en": "Uncertain", "de": "Unsicher", "fr": "Incertain", "es": "Dudoso", "ar": "غير متأكد"},
)
_GENDER = (
    ("F", {"en": "Female", "de": "Weiblich", "fr": "Femme", "es": "Mujer", "ar": "أنثى"}),
    ("M", {"en": "Male", "de": "Männlich", "fr": "Homme", "es": "Hombre", "ar": "ذكر"}),
)
_CHANGE = (
    (
        "I",
        {"en": "Increase", "de": "Zunahme", "fr": "Augmentation", "es": "Aumentar", "ar": "زيادة"},
    ),
    ("S", {"en": "Same", "de": "Gleich", "fr": "Inchangé", "es": "Igual", "ar": "كما هو"}),
    (
        "D",
        {"en": "Decrease", "de": "Abnahme", "fr": "Diminution", "es": "Disminuir", "ar": "نقصان"},
    ),
)
_FIXED_COLUMNS = {
    "A": [(str(n), {"en": str(n)}) for n in range(1, 6)],
    "B": [(str(n), {"en": str(n)}) for n in range(1, 11)],
    "C": [_YES_NO[0], _UNCERTAIN, _YES_NO[1]],
    "E": list(_CHANGE),
}
#: Attributes that change what is asked, with the words for the report.
_LOST = {
    "array_filter": "the filter by answers to another question",
    "array_filter_exclude": "the filter by answers to another question",
    "em_validation_q": "the check of answers",
    "em_validation_sq": "the check of answers",
    "min_answers": "the least number of answers",
    "exclude_all_others": "the option that excludes others",
    "random_group": "the random group",
    "time_limit": "the time limit",
    "prefix": "the words before the field",
    "suffix": "the words after the field",
    "equals_num_value": "the sum that numbers must have",
    "other_comment_mandatory": "the obligation to comment",
    "scale_export": "the scale in exports",
}
_UNSET = ("", "0", "N", "no", "off")


@dataclass(slots=True)
class _Question:
    code: str
    type: str
    words: Words = field(default_factory=dict)
    help: Words = field(default_factory=dict)
    relevance: str = ""
    required: bool = False
    other: bool = False
    default: str = ""
    rows: list[Option] = field(default_factory=list)
    columns: list[Option] = field(default_factory=list)  # of the second scale
    answers: list[Option] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    name: Words = field(default_factory=dict)
    text: Words = field(default_factory=dict)
    relevance: str = ""
    random: str = ""
    questions: list[_Question] = field(default_factory=list)


def is_lss(root: Node) -> bool:
    """Return whether XML is a survey of LimeSurvey."""
    kind = root.first("LimeSurveyDocType")
    return root.name == "document" and kind is not None and kind.text.strip() == "Survey"


def read_lss(root: Node) -> Questionnaire:
    """Return the questionnaire of a .lss file."""
    tables = {one.name: _table(one) for one in root.children if one.first("rows")}
    settings = (tables.get("surveys") or [{}])[0]
    languages = [row.text.strip() for one in root.all("languages") for row in one.all("language")]
    first = settings.get("language") or (languages[0] if languages else "en")
    found = Questionnaire("LimeSurvey .lss")
    codes = _languages(
        found, [first, *settings.get("additional_languages", "").split(), *languages]
    )
    texts = {name: _Translations(tables.get(name, []), codes, first) for name in _L10N}
    groups: dict[str, _Group] = {}
    for row in sorted(tables.get("groups", []), key=lambda row: _number(row.get("group_order"))):
        group = groups.setdefault(row.get("gid", ""), _Group())
        group.relevance = row.get("grelevance", "")
        group.random = row.get("randomization_group", "")
        group.name |= texts["group_l10ns"].of(row, "gid", "group_name")
        group.text |= texts["group_l10ns"].of(row, "gid", "description")
    questions: dict[str, _Question] = {}
    for row in sorted(
        tables.get("questions", []), key=lambda row: _number(row.get("question_order"))
    ):
        one = questions.get(row.get("qid", ""))
        if one is None:
            one = _Question(row.get("title", ""), row.get("type", ""))
            one.relevance = row.get("relevance", "")
            one.required = row.get("mandatory", "N") in ("Y", "S")
            one.other = row.get("other") == "Y"
            questions[row.get("qid", "")] = one
            groups.setdefault(row.get("gid", ""), _Group()).questions.append(one)
        one.words |= texts["question_l10ns"].of(row, "qid", "question")
        one.help |= texts["question_l10ns"].of(row, "qid", "help")
    _parts(tables, texts, questions)
    for row in tables.get("question_attributes", []):
        if (known := questions.get(row.get("qid", ""))) and row.get("value", "").strip():
            known.attributes.setdefault(row.get("attribute", ""), row["value"].strip())
    for row in tables.get("surveys_languagesettings", []):
        code = _code(codes, row.get("surveyls_language", ""))
        _say(found, code, {name.removeprefix("surveyls_"): value for name, value in row.items()})
    _note_tables(found, tables, questions)
    _settings(found, settings)
    _convert(found, groups.values())
    return found


_L10N = ("group_l10ns", "question_l10ns", "answer_l10ns")


class _Translations:
    """Texts of rows by language: in a table of their own, or in the row itself (older files)."""

    def __init__(self, rows: list[Row], codes: Mapping[str, str], first: str) -> None:
        self._rows, self._codes, self._first = rows, codes, first

    def of(self, row: Row, key: str, name: str) -> Words:
        """Return a field of a row in each language."""
        own = row.get(name, "")
        found = {_code(self._codes, row.get("language", self._first)): own} if own else {}
        for other in self._rows:
            if other.get(key) == row.get(key) and other.get(name):
                found.setdefault(_code(self._codes, other.get("language", "")), other[name])
        return {code: text for code, text in found.items() if code and text.strip()}


def _parts(
    tables: Mapping[str, list[Row]],
    texts: Mapping[str, _Translations],
    questions: Mapping[str, _Question],
) -> None:
    """Put rows and answers into their questions."""
    seen: dict[tuple[str, str], Option] = {}
    for row in sorted(
        tables.get("subquestions", []), key=lambda r: _number(r.get("question_order"))
    ):
        known = questions.get(row.get("parent_qid", ""))
        if known is None:
            continue
        name = ("row", row.get("qid", ""))
        if name not in seen:
            seen[name] = Option(row.get("title", ""), {})
            second = row.get("scale_id", "0") == "1"
            (known.columns if second else known.rows).append(seen[name])
        seen[name].words |= texts["question_l10ns"].of(row, "qid", "question")
    for row in sorted(tables.get("answers", []), key=lambda r: _number(r.get("sortorder"))):
        known = questions.get(row.get("qid", ""))
        if known is None or row.get("scale_id", "0") == "1":
            continue
        name = ("answer", row.get("aid") or f"{row.get('qid')} {row.get('code')}")
        if name not in seen:
            seen[name] = Option(row.get("code", ""), {})
            known.answers.append(seen[name])
        seen[name].words |= texts["answer_l10ns"].of(row, "aid", "answer")


def read_tab_table(rows: list[dict[str, str]]) -> Questionnaire:
    """Return the questionnaire of LimeSurvey's tab-separated .txt file."""
    found = Questionnaire("LimeSurvey .txt")
    settings = {row.get("name", ""): row.get("text", "") for row in rows if row.get("class") == "S"}
    listed = [row.get("language", "") for row in rows]
    first = settings.get("language") or next(filter(None, listed), "en")
    order = [first, *settings.get("additional_languages", "").split(), *listed]
    codes = _languages(found, order)
    groups: list[_Group] = []
    by_code: dict[str, _Question] = {}
    places: dict[str, int] = {}
    group, question = _Group(), None
    for row in rows:
        kind, name, text = row.get("class", ""), row.get("name", ""), row.get("text", "")
        code = _code(codes, row.get("language") or first)
        said = {code: text} if code and text.strip() else {}
        if kind == "SL":
            _say(found, code, {name.removeprefix("surveyls_"): text})
        elif kind == "G":
            # Groups are named in each language; they stand in the same order in each.
            place = places[code or ""] = places.get(code or "", -1) + 1
            if place >= len(groups):
                groups.append(_Group(relevance=row.get("relevance", "")))
                groups[-1].random = row.get("random_group", "")
            group = groups[place]
            if code:
                group.name.setdefault(code, name)
            group.text |= said
        elif kind == "Q":
            question = by_code.get(name)
            if question is None:
                question = by_code[name] = _tab_question(row)
                group.questions.append(question)
                if not groups:
                    groups.append(group)
            question.words |= said
            if code and row.get("help", "").strip():
                question.help.setdefault(code, row["help"])
        elif kind in ("SQ", "A") and question is not None:
            second = row.get("type/scale", "") == "1"
            if kind == "A" and second:
                continue
            holder = question.answers if kind == "A" else question.rows
            holder = question.columns if kind == "SQ" and second else holder
            known = next((one for one in holder if one.code == name), None)
            if known is None:
                known = Option(name, {})
                holder.append(known)
            known.words |= said
        elif kind and kind != "S":
            found.leave_out(
                name or kind,
                f"row of class {kind}",
                "quotas, scores and conditions of "
                "the participants' list are not part of a questionnaire here",
            )
    _settings(found, settings)
    _convert(found, groups)
    return found


def _tab_question(row: dict[str, str]) -> _Question:
    known = {
        *("id", "related_id", "class", "type/scale", "name", "relevance", "text", "help"),
        *("language", "validation", "mandatory", "other", "default", "same_default", ""),
    }
    return _Question(
        row.get("name", ""),
        row.get("type/scale", ""),
        relevance=row.get("relevance", ""),
        required=row.get("mandatory", "").upper() in ("Y", "S"),
        other=row.get("other", "").upper() == "Y",
        default=row.get("default", ""),
        attributes={k: v.strip() for k, v in row.items() if k not in known and v and v.strip()},
    )


def _convert(found: Questionnaire, groups: Iterable[_Group]) -> None:
    """Fill in the screens."""
    for number, group in enumerate(groups, start=1):
        name = next(iter(group.name.values()), f"group {number}")
        screen = Screen(name, heading=group.name)
        if group.text:
            screen.elements.append(Element(name, "text of the group", TEXT, group.text))
        try:
            screen.condition = read_logic(group.relevance)
        except UnreadableLogic as error:
            _shown_to_all(found, name, "group", group.relevance, error)
        screen.moves = bool(group.random.strip())
        for question in group.questions:
            screen.elements += _elements(found, question)
        found.screens.append(screen)


def _shown_to_all(
    found: Questionnaire, name: str, what: str, text: str, error: UnreadableLogic
) -> None:
    found.leave_out(
        name,
        f"condition of the {what}",
        f"{error}: “{text[:200]}”; it is shown to everybody, so write the condition anew",
    )


def _elements(found: Questionnaire, one: _Question) -> list[Element]:
    """Return the elements of a question; the report names it where there are none."""
    what = f"{_NAMES.get(one.type, 'unknown type')} ({one.type})"
    if one.attributes.get("hidden") == "1":
        found.leave_out(one.code, what, "it is hidden from people")
        return []
    if one.type in _WHY_NOT or one.type not in _NAMES:
        found.leave_out(one.code, what, _WHY_NOT.get(one.type, "its type is not known here"))
        return []
    try:
        condition: Logic = read_logic(one.relevance)
    except UnreadableLogic as error:
        _shown_to_all(found, one.code, "question", one.relevance, error)
        condition = ALWAYS
    shown = [Element(one.code, what, TEXT, one.help, condition=condition)] if one.help else []
    if shown:
        shown[0].what = f"help of {what}"
    made = _questions(one, what)
    for element in made:
        element.condition = join("all", [condition])
        element.required = one.required
        element.notes += [
            f"{words} is left out"
            for name, words in _LOST.items()
            if one.attributes.get(name, "") not in _UNSET
        ]
        if one.default.strip():
            element.notes.append("the answer that is set beforehand is left out")
    return [*shown, *made]


def _questions(one: _Question, what: str) -> list[Element]:
    element = Element(one.code, what, CHOICE, one.words)
    orders = ("random_order", "answer_order", "subquestion_order")
    element.shuffle = any(one.attributes.get(name) in ("1", "random") for name in orders)
    if one.type == "X":
        element.shape = TEXT
    elif one.type == "5":
        element.shape, element.low, element.high = RATING, 1, 5
    elif one.type in ("Y", "G"):
        element.options = _fixed(_YES_NO if one.type == "Y" else _GENDER)
    elif one.type in ("L", "!", "O"):
        element.options = [*one.answers]
        if one.type == "O":
            element.notes.append(f"the comment is left out: {FREE_TEXT}")
        _with_other(one, element)
    elif one.type in ("M", "P"):
        element.shape, element.options = SEVERAL, [*one.rows]
        most = one.attributes.get("max_answers", "")
        element.most = int(most) if most.isdigit() else None
        if one.type == "P":
            element.notes.append(f"the comments are left out: {FREE_TEXT}")
        _with_other(one, element)
    elif one.type == "R":
        element.shape = RANKING
        element.options = [*(one.answers or one.rows)]
    elif one.type == "N":
        _with_range(one, element)
    elif one.type == "K":
        return [_single_number(one, row, what) for row in one.rows]
    else:
        element.shape, element.rows = MATRIX, [*one.rows]
        element.options = _fixed(_FIXED_COLUMNS.get(one.type, ())) or [*one.answers]
    return [element]


def _fixed(options: Iterable[tuple[str, Words]]) -> list[Option]:
    return [Option(code, dict(words)) for code, words in options]


def _with_other(one: _Question, element: Element) -> None:
    if one.other:
        element.options.append(Option("-oth-", dict(OTHER)))
        element.notes.append(OTHER_NOTE)


def _with_range(one: _Question, element: Element) -> None:
    element.shape = NUMBER
    ends = [one.attributes.get(name, "") for name in ("min_num_value_n", "max_num_value_n")]
    try:
        element.low, element.high = (float(end) for end in ends)
    except ValueError:
        element.low, element.high = 0, 100
        element.notes.append("it has no range, so it is 0 to 100: set the true ends")
    if element.low >= element.high:
        element.low, element.high = 0, 100


def _single_number(one: _Question, row: Option, what: str) -> Element:
    words = {code: f"{text} {row.words.get(code, '')}" for code, text in one.words.items()}
    element = Element(f"{one.code}_{row.code}", what, NUMBER, words)
    _with_range(one, element)
    element.notes.append("each number is a question of its own")
    return element


def _say(found: Questionnaire, code: str | None, row: Row) -> None:
    if not code:
        return
    if title := row.get("title", "").strip():
        found.title.setdefault(code, title)
    for name in ("description", "welcometext"):
        if text := row.get(name, "").strip():
            known = found.description.get(code, "")
            found.description[code] = f"{known}\n\n{text}" if known else text
    if text := row.get("endtext", "").strip():
        found.thanks.setdefault(code, text)
    if (address := row.get("url", "").strip()) and not found.return_address:
        found.return_address = address


def _settings(found: Questionnaire, settings: Row) -> None:
    if settings:
        found.leave_out(
            "settings",
            "settings of the survey",
            "dates, e-mails, look, privacy and participants' lists are set anew here",
        )


def _note_tables(
    found: Questionnaire, tables: Mapping[str, list[Row]], questions: Mapping[str, _Question]
) -> None:
    """Report the rows of tables that are not read."""
    why = {
        "conditions": "older conditions stand in the relevance of each question too",
        "assessments": "scores are not computed here: answers leave the device masked",
        "quota": "quotas by answers are not possible: they would read answers",
        "quota_members": "quotas by answers are not possible: they would read answers",
        "defaultvalues": "no answer is set beforehand here",
        "defaultvalue_l10ns": "no answer is set beforehand here",
        "surveys_languagesettings": "e-mails and legal notices are written anew here",
    }
    for name, reason in why.items():
        if rows := tables.get(name):
            found.leave_out(
                name, f"table with {len(rows)} {'row' if len(rows) == 1 else 'rows'}", reason
            )
    if any(row.get("scale_id") == "1" for row in tables.get("answers", [])):
        found.leave_out("answers", "second scale", "an array has one scale here")


def _languages(found: Questionnaire, names: list[str]) -> dict[str, str]:
    """Set the languages in their order; return our tag of each of the file's names."""
    codes: dict[str, str] = {}
    for name in dict.fromkeys(filter(None, map(str.strip, names))):
        tag = language_tag(name.split("-")[0] if name.count("-") and len(name) > 7 else name)
        if tag is None or tag in codes.values():
            found.leave_out(name, "language", "it is not known, or stands for another one here")
        else:
            codes[name] = tag
    if not codes:
        raise UnreadableFile("the file names no language; export the survey again.")
    found.languages = list(codes.values())
    return codes


def _code(codes: Mapping[str, str], name: str) -> str | None:
    return codes.get(name.strip())


def _table(node: Node) -> list[Row]:
    rows = node.first("rows")
    return [
        {cell.name: cell.text for cell in row.children} for row in (rows.all("row") if rows else [])
    ]


def _number(text: str | None) -> int:
    return int(text) if text and text.strip().lstrip("-").isdigit() else 0
