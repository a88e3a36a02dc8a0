"""Questionnaires of other tools become surveys here, and every element is accounted for."""

from __future__ import annotations

import io
import json
import os
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.errors import UnreadableFile
from masquerade.server.surveys.document import read_document
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.surveys.questionnaires import Imported, import_questionnaire
from masquerade.surveys.questionnaires.logic import UnreadableLogic, read_logic
from masquerade.surveys.questionnaires.marked_text import read_text
from masquerade.surveys.questionnaires.safe_files import MOST_BYTES
from masquerade.surveys.survey import Survey

SMALL = Path(__file__).parent / "questionnaires"
DATA = os.environ.get("MASQUERADE_DATA")


def opened(found: Imported) -> Survey:
    """Return the survey that an imported document opens as."""
    document = read_document({"masquerade": 1, **found.document})
    survey, issues = survey_or_issues(document, allow_clear=False, today="2026-01-01")
    assert survey is not None, issues
    return survey


def outcomes(found: Imported) -> dict[str, str]:
    """Return the fate of each element, by its name."""
    # A page may be called as the first question on it, which stands before it.
    return {line.name: line.outcome for line in reversed(found.lines)}


def sheet(rows: list[list[str]]) -> str:
    """Return the XML of a sheet with cells of text."""
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in row) + "</row>"
        for row in rows
    )
    return f'<worksheet xmlns="urn:x"><sheetData>{cells}</sheetData></worksheet>'


def workbook(sheets: dict[str, str], *, named: tuple[str, ...] = ()) -> bytes:
    """Return a spreadsheet with these sheets; of more names than sheets the rest name the last."""
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{min(n, len(sheets))}"/>'
        for n, name in enumerate(named or sheets, 1)
    )
    relations = "".join(
        f'<Relationship Id="rId{n}" Target="worksheets/sheet{n}.xml"/>'
        for n, _ in enumerate(sheets, 1)
    )
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="urn:x" xmlns:r="urn:r"><sheets>{names}</sheets></workbook>',
        )
        book.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relations}</Relationships>")
        for n, text in enumerate(sheets.values(), 1):
            book.writestr(f"xl/worksheets/sheet{n}.xml", text)
    return content.getvalue()


FORM = {
    "survey": sheet(
        [
            [
                "type",
                "name",
                "label::English (en)",
                "label::Deutsch (de)",
                "relevant",
                "required",
                "constraint",
                "parameters",
                "hint::English (en)",
            ],
            ["note", "intro", "Welcome", "Willkommen", "", "", "", "", ""],
            [
                "select_one yn",
                "pet",
                "Do you have a pet?",
                "Haben Sie ein Tier?",
                "",
                "yes",
                "",
                "",
                "Any animal",
            ],
            ["begin_group", "pets", "Your pets", "Ihre Tiere", "${pet} = 'y'", "", "", "", ""],
            ["select_multiple kinds or_other", "which", "Which?", "Welche?", "", "", "", "", ""],
            [
                "integer",
                "many",
                "How many?",
                "Wie viele?",
                "selected(${which}, 'cat')",
                "",
                ". &gt;= 1 and . &lt; 20",
                "",
                "",
            ],
            ["text", "names", "Their names?", "", "", "", "", "", ""],
            ["end_group", "", "", "", "", "", "", "", ""],
            [
                "range",
                "mood",
                "Mood?",
                "Laune?",
                "${many} &gt; 3 or not(${pet} = 'y')",
                "",
                "",
                "start=0 end=10 step=1",
                "",
            ],
            ["calculate", "sum", "", "", "", "", "", "", ""],
            ["acknowledge", "ok", "I agree.", "Ich stimme zu.", "", "yes", "", "", ""],
        ]
    ),
    "choices": sheet(
        [
            ["list_name", "name", "label::English (en)", "label::Deutsch (de)"],
            ["yn", "y", "Yes", "Ja"],
            ["yn", "n", "No", "Nein"],
            ["kinds", "cat", "Cat", "Katze"],
            ["kinds", "dog", "Dog", "Hund"],
        ]
    ),
    "settings": sheet([["form_title", "default_language"], ["Pets", "English (en)"]]),
}


def test_a_form_of_xlsform_becomes_a_survey() -> None:
    """Choices, several, ranges, groups, conditions and two languages arrive in their order."""
    found = import_questionnaire(workbook(FORM))
    survey = opened(found)
    assert survey.title == "Pets"
    assert [question.id for question in survey.questions] == ["pet", "which", "many", "mood"]
    assert [question.kind for question in survey.questions] == [
        *("choice", "several", "number", "rating"),
    ]
    number = survey.questions[2]
    assert number.lattice is not None
    assert [int(number.lattice.low), int(number.lattice.high)] == [1, 19]
    shown = [None if one is None else one.to_json() for one in survey.conditions]
    pet = {"question": "pet", "answers": ["Yes"]}
    cat = {"question": "which", "answers": ["Cat"]}
    assert shown == [
        None,
        pet,
        {"all": [pet, cat]},
        {"any": [{"question": "many", "from": 4, "to": 19}, {"none": [pet]}]},
    ]
    assert survey.in_language("de").questions[1].labels == ("Katze", "Hund", "Anderes")
    assert survey.layout.pages[1].heading == "Your pets"
    said = outcomes(found)
    assert (said["names"], said["sum"], said["ok"]) == ("left out", "left out", "changed")
    assert {"intro", "pet", "which", "many", "names", "mood", "sum", "ok"} <= set(said)


def test_a_survey_of_limesurvey_becomes_one_here() -> None:
    """Questions of all sorts, two languages, relevance and arrays of a small .lss arrive."""
    found = import_questionnaire((SMALL / "small.lss").read_bytes())
    survey = opened(found)
    assert survey.languages is not None
    assert survey.languages.codes == ("en", "de")
    kinds = {question.id: question.kind for question in survey.questions}
    assert kinds == {
        "commute": "choice",
        "modes": "several",
        "rate": "rating",
        "agree": "matrix",
        "agree-2": "matrix",
        "hours": "number",
    }
    by_id = {question.id: question for question in survey.questions}
    assert by_id["commute"].labels == ("Yes", "No", "Other")
    condition = dict(zip(kinds, survey.conditions, strict=True))
    assert condition["modes"] is not None
    assert condition["modes"].to_json() == {"question": "commute", "answers": ["Yes"]}
    assert condition["rate"] is not None
    assert condition["rate"].to_json() == {"question": "modes", "answers": ["Train"]}
    german = survey.in_language("de")
    assert german.title == "Weg zur Arbeit"
    assert german.questions[0].text == "Pendeln Sie?"
    said = outcomes(found)
    assert said["why"] == "left out"
    assert said["commute"] == "changed"


def test_a_table_with_tabs_says_the_same_as_the_other_file() -> None:
    """The .txt of LimeSurvey with the same questions opens as the same questions."""
    one = opened(import_questionnaire((SMALL / "small.txt").read_bytes()))
    other = opened(import_questionnaire((SMALL / "small.lss").read_bytes()))
    assert one.questions_json() == other.questions_json()
    assert one.in_language("de").questions_json() == other.in_language("de").questions_json()


def test_a_survey_of_qualtrics_becomes_one_here() -> None:
    """Blocks, display logic, an early end, a consent, sliders and arrays of a .qsf arrive."""
    found = import_questionnaire((SMALL / "small.qsf").read_bytes())
    survey = opened(found)
    kinds = {question.id: question.kind for question in survey.questions}
    assert kinds == {
        "smoke": "choice",
        "likely": "nps",
        "warm": "rating",
        "fair": "matrix",
        "fair-2": "matrix",
        "age": "number",
    }
    conditions = dict(zip(kinds, survey.conditions, strict=True))
    likely = conditions["likely"]
    assert likely is not None
    assert likely.to_json() == {"question": "smoke", "answers": ["Yes", "Sometimes"]}
    age = conditions["age"]
    assert age is not None
    assert age.to_json() == {"none": [{"question": "warm", "answers": ["0", "1"]}]}
    blocks = [block.block for page in survey.layout.pages for block in page.blocks]
    assert blocks == ["consent", "text"]
    assert survey.layout.return_address == "https://example.org/done"
    said = outcomes(found)
    assert (said["name"], said["consent"], said["warm"]) == ("left out", "changed", "changed")


@pytest.mark.skipif(not DATA, reason="MASQUERADE_DATA names no folder with data")
@pytest.mark.parametrize(
    ("name", "questions", "pages"),
    [
        ("limesurvey_survey.lss", 2, 2),
        ("limesurvey_answers.lss", 6, 1),
        ("qualtrics_classroom_study.qsf", 27, 7),
    ],
)
def test_real_files_go_in_and_every_element_is_accounted_for(
    name: str, questions: int, pages: int
) -> None:
    """Each question of the file, by its code, stands in the report, and the survey opens."""
    content = (Path(DATA or "") / "questionnaires" / name).read_bytes()
    found = import_questionnaire(content)
    survey = opened(found)
    assert (len(survey.questions), len(survey.layout.pages)) == (questions, pages)
    named = set(outcomes(found))
    if name.endswith(".qsf"):
        elements = json.loads(content)["SurveyElements"]
        codes = {e["Payload"]["DataExportTag"] for e in elements if e["Element"] == "SQ"}
        kept_apart = {e["Element"] for e in elements} - {"SQ", "BL", "FL"}
        assert kept_apart <= named
    else:
        text = content.decode()
        questions_part = text[text.index("<questions>") : text.index("</questions>")]
        codes = {
            part.split("]]")[0].removeprefix("<![CDATA[")
            for part in questions_part.split("<title>")[1:]
        }
    assert codes <= named
    assert all(line.why for line in found.lines if line.outcome != "kept")


DOCTYPE = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def bomb() -> bytes:
    """Return a spreadsheet of some kilobytes that unpacks to a hundred megabytes."""
    return workbook({"survey": "<worksheet>" + " " * 100_000_000 + "</worksheet>"})


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\x00\x01\x02", "NUL"),
        (b"\xff\xfe\xff", "no text in UTF-8"),
        (b"caf\xe9\tclass", "no text in UTF-8"),
        (b"hello", "none that can be read"),
        (b"<a", "no well-formed XML"),
        (b"<a/>", "no survey of LimeSurvey"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "encoding"),
        (f"{DOCTYPE}<document>&b;</document>".encode(), "document type"),
        (f"{OUTSIDE}<document>&x;</document>".encode(), "document type"),
        (f"{DOCTYPE}<document/>".encode("utf-16"), "document type"),
        (b"<a>" * 300 + b"</a>" * 300, "deeply nested"),
        (b"{", "no JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": 1}', "no survey"),
        (b'{"SurveyElements": []}', "no question"),
        (b"PK\x03\x04 and nothing", "cannot be read as a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old spreadsheet"),
        (workbook({"data": sheet([["a"], ["b"]])}), "no XLSForm"),
        (workbook({"survey": f"{DOCTYPE}<worksheet/>"}), "document type"),
        (b" " * (MOST_BYTES + 1) + b"x", "MB"),
    ],
)
def test_hostile_files_are_refused_with_a_message(content: bytes, wrong: str) -> None:
    """Entities, depth, wrong encodings and other files end in a sentence, and in nothing else."""
    with pytest.raises(UnreadableFile, match=wrong):
        import_questionnaire(content)


def test_a_small_file_that_unpacks_to_much_is_refused() -> None:
    """A spreadsheet that would fill the memory is refused before it is unpacked."""
    content = bomb()
    assert len(content) < 1_000_000
    with pytest.raises(UnreadableFile, match="unpacks to more than"):
        import_questionnaire(content)


def test_a_sheet_that_is_named_many_times_is_refused() -> None:
    """A spreadsheet of some kilobytes whose many sheets are one part is not read as often."""
    names = ("survey", *(f"s{n}" for n in range(1, 2_000)))
    content = workbook({"survey": sheet([["type", "name"], ["note", "n"]])}, named=names)
    with pytest.raises(UnreadableFile, match="two of its sheets are one part"):
        import_questionnaire(content)


def test_a_long_text_that_many_cells_name_is_refused() -> None:
    """Cells that all name one long text are counted with its letters, as often as they name it."""
    cells = '<row><c t="str"><v>type</v></c><c t="str"><v>name</v></c></row>'
    cells += '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>' * 200
    content = workbook({"survey": f"<worksheet><sheetData>{cells}</sheetData></worksheet>"})
    texts = f"<sst><si><t>{'a' * 100_000}</t></si></sst>"
    with pytest.raises(UnreadableFile, match="10 million letters"):
        import_questionnaire(with_part(content, "xl/sharedStrings.xml", texts.encode()))


@pytest.mark.parametrize("piece", ["<!--", "<![", "<!", "<?", "<!<!---->--", "<a ", "</"])
def test_html_that_never_ends_is_read_in_one_pass(piece: str, monkeypatch: Any) -> None:
    """What is not closed is looked for once, and not from each beginning to the end."""
    looked: list[int] = []
    own = HTMLParser.parse_html_declaration

    def counted(self: Any, at: int) -> int:
        looked.append(at)
        return int(own(self, at))

    monkeypatch.setattr(HTMLParser, "parse_html_declaration", counted)
    text, _ = read_text("before" + piece * 20_000, marked=True)
    assert text.startswith("before")
    assert not looked


def test_comments_and_declarations_are_left_out() -> None:
    """Nothing of them is shown, what stands between them is; an open comment hides the rest."""
    html = "<!DOCTYPE html><!-- a > b --><p>one <![if !mso]>two<![endif]--><?xml x?> three</p>"
    assert read_text(html)[0] == "one two three"
    assert read_text("5 < 6 <!-- x <!-- y --> and <!-- z")[0] == "5 < 6 and"


def with_part(content: bytes, name: str, part: bytes) -> bytes:
    """Return a spreadsheet with one more part."""
    made = io.BytesIO(content)
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr(name, part)
    return made.getvalue()


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    field=st.sampled_from(
        [
            *("QuestionType", "Selector", "Choices", "Answers", "ChoiceOrder", "Configuration"),
            *("Language", "Validation", "DisplayLogic", "QuestionText", "Randomization", "Labels"),
            "QuestionID",
        ]
    ),
    value=values,
    place=st.integers(0, 8),
)
def test_prop_a_broken_qsf_ends_in_a_report_or_a_message(
    field: str, value: object, place: int
) -> None:
    """With every value in a field of a question, the file is read or refused in words."""
    data: dict[str, Any] = json.loads((SMALL / "small.qsf").read_text(encoding="utf-8"))
    questions = [one for one in data["SurveyElements"] if one["Element"] == "SQ"]
    questions[place % len(questions)]["Payload"][field] = value
    try:
        found = import_questionnaire(json.dumps(data).encode())
    except UnreadableFile:
        return
    read_document({"masquerade": 1, **found.document})


@pytest.mark.parametrize(
    "text",
    [
        "Q1 + 2 > 3",
        "sum(Q1, Q2) > 3",
        "Q1 == Q2",
        "strlen(Q1) > 2",
        "Q1 ==",
        "(Q1 == 1",
        "; drop",
        "(" * 100 + "Q1" + ")" * 100,
        "Q1 == 1 " * 5000,
    ],
)
def test_conditions_that_cannot_be_said_are_named(text: str) -> None:
    """Arithmetic, functions and broken expressions raise an error, which the report quotes."""
    with pytest.raises(UnreadableLogic):
        read_logic(text)


def test_the_survey_document_of_this_program_is_read_as_it_is() -> None:
    """A document that was exported here comes back unchanged."""
    document = {"masquerade": 1, "title": "T", "questions": [{"kind": "choice", "id": "a"}]}
    found = import_questionnaire(json.dumps(document).encode())
    assert found.document == document
    assert outcomes(found) == {"a": "kept"}
