"""``masquerade surveys import``: a file of another tool becomes a document, with a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from masquerade.server.surveys.document import read_document_text

SMALL = Path(__file__).parents[1] / "surveys" / "questionnaires"
Run = Callable[..., Any]  # of the fixture


@pytest.mark.parametrize("name", ["small.lss", "small.txt", "small.qsf"])
def test_a_questionnaire_becomes_a_document_with_its_report(
    run: Run, tmp_path: Path, name: str
) -> None:
    """The document is one that the builder reads; the report names every element with a reason."""
    out = tmp_path / "survey.json"
    report = run("surveys", "import", SMALL / name, "--out", out, "--json").json
    assert report["kept"] + report["changed"] + report["left_out"] == len(report["elements"])
    assert all(one["why"] for one in report["elements"] if one["outcome"] != "kept")
    document = read_document_text(out.read_text(encoding="utf-8"))
    assert document.questions
    said = run("surveys", "import", SMALL / name, "--out", out, "--report").out
    assert "left out" in said


def test_a_file_that_is_none_is_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    """A file of another form, or none, ends with code 1 and advice."""
    wrong = tmp_path / "a.lss"
    wrong.write_text("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>")
    for path, says in ((wrong, "document type"), (tmp_path / "none", "cannot be read")):
        result = run("surveys", "import", path)
        assert (result.code, says in result.err) == (1, True)
