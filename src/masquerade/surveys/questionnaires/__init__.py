"""Questionnaires of other tools, read into survey documents with a report of every element.

Read are LimeSurvey's .lss and .txt, Qualtrics' .qsf and XLSForm's .xlsx; each module has one
format. `questionnaire` is the neutral form between them and `building`, which makes a document.
"""

from __future__ import annotations

from masquerade.errors import UnreadableFile
from masquerade.surveys.questionnaires.building import build
from masquerade.surveys.questionnaires.limesurvey import is_lss, read_lss, read_tab_table
from masquerade.surveys.questionnaires.qualtrics import is_qsf, read_qsf
from masquerade.surveys.questionnaires.questionnaire import KEPT, Imported, Line
from masquerade.surveys.questionnaires.safe_files import (
    decoded,
    read_json,
    read_sheets,
    read_tabs,
    read_xml,
    require_size,
)
from masquerade.surveys.questionnaires.xlsform import is_xlsform, read_xlsform

__all__ = ["Imported", "Line", "import_questionnaire"]

OWN = "masquerade .json"


def import_questionnaire(content: bytes) -> Imported:
    """Return the survey document that a file of another tool describes, with its report.

    Raises
    ------
    UnreadableFile
        It is none of the formats, or breaks their limits; the message says what to do.
    """
    require_size(content)
    if content[:4] == b"PK\x03\x04":
        sheets = read_sheets(content)
        if "survey" not in sheets and len(sheets) == 1:
            sheets = {"survey": next(iter(sheets.values()))}
        if not is_xlsform(sheets):
            raise UnreadableFile(
                "the spreadsheet is no XLSForm: it needs a sheet “survey” with a column “type”."
            )
        return build(read_xlsform(sheets))
    if content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise UnreadableFile("the file is an old spreadsheet (.xls); save it as .xlsx.")
    # Behind a mark of UTF-8 or UTF-16.
    start = content.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1]
    if start == b"<":
        root = read_xml(content)
        if not is_lss(root):
            raise UnreadableFile(
                "the XML is no survey of LimeSurvey; export the survey structure (.lss)."
            )
        return build(read_lss(root))
    if start in (b"{", b"["):
        data = read_json(content)
        if is_qsf(data):
            return build(read_qsf(data))
        if isinstance(data, dict) and isinstance(data.get("questions"), list):
            lines = tuple(
                Line(str(one.get("id", "")), str(one.get("kind", "")), KEPT)
                for one in data["questions"]
                if isinstance(one, dict)
            )
            return Imported(OWN, data, lines)
        raise UnreadableFile(
            "the JSON is no survey: neither one of this program nor a .qsf of Qualtrics."
        )
    rows = read_tabs(decoded(content))
    if not rows or not {"class", "type/scale", "name"} <= set(rows[0]):
        raise UnreadableFile(
            "the file is none that can be read: LimeSurvey (.lss, or .txt with tabs), Qualtrics "
            "(.qsf), XLSForm (.xlsx), or JSON of this program."
        )
    return build(read_tab_table(rows))
