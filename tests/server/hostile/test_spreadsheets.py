"""Files for spreadsheets: a text that begins like a formula never becomes one."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from tests.surveys.small_surveys import define

from masquerade.surveys import Choice, Number

if TYPE_CHECKING:
    from tests.server.conftest import Site

FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", '=HYPERLINK("//x")', "=cmd|x!A1")
A_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def test_no_cell_of_any_file_is_a_formula(site: Site) -> None:
    """In results and reports every cell that a spreadsheet would compute is a plain number."""
    questions = (
        Choice("=A1", "=1+1", tuple(text.strip() for text in FORMULAS[:4]), allow_skip=True),
        Number("-n", "@x", -5, 5, "+h"),
    )
    levels = ("high", "medium")
    definition = define(*questions, title="=1+1", description="@x", levels=levels)
    survey = site.services.surveys.open_survey(definition)
    for number in range(12):
        site.phone().take_part(survey, [number % 4, -number], level=levels[number % 2])
    site.services.surveys.close(survey)
    texts = ""
    for path in (
        f"/api/v1/surveys/{survey.token}/results.csv",
        f"/api/v1/surveys/{survey.token}/reports.csv",
    ):
        answer = site.owner.get(path)
        assert answer.status_code == 200, (path, answer.text[:300])
        rows = list(csv.reader(io.StringIO(answer.text)))
        assert len(rows) > 1
        texts += answer.text
        for row in rows:
            for cell in row:
                if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
                    assert A_NUMBER.fullmatch(cell), (path, cell)
    assert "1+1" in texts
