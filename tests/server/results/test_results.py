"""Results and exports over HTTP: the library's bytes, kept for good, for their readers."""

from __future__ import annotations

import csv
import io
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.errors import ParameterError, WrongState
from masquerade.mechanisms import CategoricalMechanism
from masquerade.results import (
    REPORT_FORMATS,
    Codebook,
    SurveyResult,
    read_codebook,
    read_reports,
    result_bytes,
    result_table,
    survey_result,
)
from masquerade.server import Services
from masquerade.server.db.tables import PUBLISHED
from masquerade.server.results import cache
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Comparison, Number, Question, Rating
from masquerade.surveys.survey import Survey

if TYPE_CHECKING:
    from tests.server.conftest import Site

QUESTIONS: tuple[Question, ...] = (
    Choice("=c", "Which, now?", ("A,1", "B", "-C")),
    Rating("r", "How good?", allow_skip=True),
    Number("n", "How long?", -2, 40, "hours", 0.5),
    Comparison("p", "Which?", "X", "Y", "Neither"),
)
LEVELS = ("high", "medium")  # four questions at "low" would exceed everybody's cap


def answered(services: Services, people: int = 24, **asked: Any) -> SurveyRecord:
    """Return an open survey with responses at every level, drawn from a fixed seed."""
    survey = services.surveys.open_survey(define(*QUESTIONS, levels=LEVELS, **asked))
    rng = np.random.default_rng(3)
    for number in range(people):
        level = survey.survey.levels[number % 2]
        reports = [
            int(rng.integers(m.symbols))
            if isinstance(m, CategoricalMechanism)
            else int(rng.integers(-20, 60))
            for m in level.mechanisms
        ]
        Device().send(services, survey, reports, level=level.name)
    return survey


def publish(services: Services, survey: SurveyRecord) -> None:
    """Publish a closed survey."""
    services.surveys.publish(services.surveys.record(survey.token))
    assert services.surveys.record(survey.token).state == PUBLISHED


@pytest.mark.parametrize("kind", list(REPORT_FORMATS))
def test_files_give_the_servers_result(services: Services, tmp_path: Path, kind: str) -> None:
    """The result computed from a downloaded file is the server's, to the last byte."""
    survey = services.surveys.close(answered(services))
    results = services.results
    path = tmp_path / f"reports.{kind}"
    path.write_bytes(b"".join(results.file(survey, kind)))
    book = tmp_path / "codebook.json"
    book.write_text(json.dumps(results.codebook(survey).to_json()))
    reports = read_reports(path, codebook=None if kind == "parquet" else read_codebook(book))
    assert len(reports) == 24
    assert result_bytes(survey_result(reports)).decode() == results.result_text(survey)


def test_a_result_is_computed_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computed result is kept: it does not change when the program would compute it otherwise."""
    survey = services.surveys.close(answered(services))
    first = services.results.result_text(survey)

    def other(_reports: object) -> dict[str, Any]:
        raise AssertionError("computed again")

    monkeypatch.setattr("masquerade.results.survey_result", other)
    assert services.results.result_text(survey) == first


def test_files_are_read_in_pieces(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of any size make the same file, and nobody is lost or twice between them."""
    survey = services.surveys.close(answered(services))
    results = services.results
    whole = b"".join(results.file(survey, "csv"))
    for size in (1, 5, 24, 25):
        monkeypatch.setattr(cache, "CHUNK", size)
        assert b"".join(results.file(survey, "csv")) == whole
    assert len(whole.splitlines()) == 24 * 4 + 1


def test_an_open_survey_has_neither(sqlite_services: Services) -> None:
    """Before the close there are no results, files, codebook, notebook or cross-table."""
    survey = answered(sqlite_services, 3)
    results = sqlite_services.results
    for ask in (
        results.result_text,
        results.codebook,
        results.notebook,
        lambda s: results.file(s, "csv"),
        lambda s: results.cross_table(s, "=c", "r"),
    ):
        with pytest.raises(WrongState, match="is open"):
            ask(survey)


def test_the_estimator_is_fixed_by_the_definition(sqlite_services: Services) -> None:
    """The headline is that of the definition; it is part of the hash that devices saw."""
    survey = answered(sqlite_services, 12, estimator="respondent")
    assert survey.survey.to_json()["estimator"] == "respondent"
    assert survey.hash != define(*QUESTIONS, levels=LEVELS).content_hash()
    found = sqlite_services.results.result(sqlite_services.surveys.close(survey)).to_json()
    assert found["estimator"] == "own"


@pytest.mark.parametrize("estimator", ["eb", "respondent", "ivw"])
def test_an_estimator_reads_back(estimator: str) -> None:
    """A definition keeps its estimator through JSON; by default older hashes stay as they are."""
    definition = define(*QUESTIONS, estimator=estimator)
    told = definition.to_json()
    assert Survey.from_json(told) == definition
    assert ("estimator" in told) == (estimator != "eb")
    same = define(*QUESTIONS).content_hash() == definition.content_hash()
    assert same == (estimator == "eb")


def test_an_unknown_estimator_is_refused() -> None:
    """A definition cannot name an estimator that there is not."""
    with pytest.raises(ParameterError, match="median"):
        define(*QUESTIONS, estimator="median")


def test_withdrawn_reports_are_in_nothing(services: Services) -> None:
    """A person that withdrew before the close is in no file and no result."""
    survey = answered(services, 6)
    device = Device()
    device.send(services, survey, [0, 0, 0, 0], level="high")
    who = services.identity(device.participant)
    begun, _ = services.participations.reserve(
        who, survey.token, "high", idempotency_key=secrets.token_hex(16)
    )
    services.participations.withdraw(who, begun.id)
    survey = services.surveys.close(survey)
    assert services.results.result(survey).responses == 6
    assert len(b"".join(services.results.file(survey, "jsonl")).splitlines()) == 24


@pytest.fixture
def closed(site: Site) -> tuple[Site, str]:
    """A running server with a closed survey, and its address."""
    survey = site.services.surveys.close(answered(site.services))
    return site, f"/api/v1/surveys/{survey.token}"


def test_results_over_http(closed: tuple[Site, str]) -> None:
    """The result has the same bytes each time, the table is that of the result."""
    site, address = closed
    answers = [site.owner.get(f"{address}/results") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["content-type"] == "application/json"
    assert answers[0].headers["cache-control"] == "no-store"
    table = site.owner.get(f"{address}/results.csv")
    assert table.text == "\ufeff" + result_table(SurveyResult.of(answers[0].json()))
    assert "attachment" in table.headers["content-disposition"]


def test_downloads_over_http(closed: tuple[Site, str], tmp_path: Path) -> None:
    """Every file comes with its type and name, and together they give the result."""
    site, address = closed
    result = site.owner.get(f"{address}/results").content
    book = Codebook.from_json(site.owner.get(f"{address}/codebook").json())
    for kind, media_type in REPORT_FORMATS.items():
        answer = site.owner.get(f"{address}/reports.{kind}")
        assert answer.headers["content-type"] == media_type
        name = answer.headers["content-disposition"].split('"')[1]
        (tmp_path / name).write_bytes(answer.content)
        assert result_bytes(survey_result(read_reports(tmp_path / name, codebook=book))) == result
    made = site.owner.get(f"{address}/notebook").json()
    assert made["nbformat"] == 4
    assert name.replace(kind, "parquet") in json.dumps(made)
    cells = list(csv.reader(io.StringIO(site.owner.get(f"{address}/reports.csv").text)))
    assert {len(row) for row in cells} == {6}


def test_cross_tables_over_http(closed: tuple[Site, str]) -> None:
    """Two questions can be crossed; small cells are null; other pairs are refused."""
    site, address = closed
    found = site.owner.get(f"{address}/cross-table", params={"first": "=c", "second": "p"})
    assert found.status_code == 200
    assert all(cell is None for row in found.json()["cells"] for cell in row)
    wrong = site.owner.get(
        f"{address}/cross-table",
        params={"first": "=c", "second": "n"},
        headers={"Accept": "*/*"},
    )
    assert wrong.status_code == 422
    assert "masked one by one" in wrong.json()["detail"]


def test_only_results_of_published_surveys_are_public(closed: tuple[Site, str]) -> None:
    """A stranger sees results once they are published, and never a single report."""
    site, address = closed
    files = [f"{address}/reports.{kind}" for kind in REPORT_FORMATS]
    files += [f"{address}/{name}" for name in ("codebook", "notebook")]
    files += [f"{address}/cross-table?first=%3Dc&second=p"]
    for path in (f"{address}/results", f"{address}/results.csv", *files):
        assert site.visitor.get(path).status_code == 401
    publish(site.services, site.services.surveys.record(address.rpartition("/")[2]))
    assert site.visitor.get(f"{address}/results").status_code == 200
    assert site.visitor.get(f"{address}/results.csv").status_code == 200
    for path in files:
        assert site.visitor.get(path).status_code == 401


def test_the_page_shows_the_result(closed: tuple[Site, str]) -> None:
    """The page has a part for each question, warns where levels differ, and links all files."""
    site, address = closed
    page = site.owner.get(address.removeprefix("/api/v1")).text
    found = site.owner.get(f"{address}/results").json()
    for name in ("results.csv", "results", "codebook", "notebook"):
        assert f'href="{address}/{name}"' in page
    for kind in REPORT_FORMATS:
        assert f'href="{address}/reports.{kind}"' in page
    tests = [q["heterogeneity"] for q in found["questions"]]
    differ = any(test["differ"] for test in tests)
    assert ("answered differently" in page) == differ
    for question in found["questions"]:
        assert f'id="question-{question["id"]}"' in page
    assert ('id="ranking"' in page) == bool(found["ranking"])


Ask = Callable[[str], httpx.Response]


def test_what_is_not_there(site: Site) -> None:
    """An unknown survey is 404, an unknown kind of file 422, an open survey 409."""
    survey = answered(site.services, 3)
    headers = {"Accept": "*/*"}
    ask: Ask = lambda path: site.owner.get(f"/api/v1/surveys/{path}", headers=headers)  # noqa: E731
    assert ask("0123456789abcdef/results").status_code == 404
    assert ask("0123456789abcdef/reports.csv").status_code == 404
    assert ask(f"{survey.token}/reports.xls").status_code == 422
    for name in ("results", "results.csv", "reports.csv", "codebook", "notebook"):
        answer = ask(f"{survey.token}/{name}")
        assert answer.status_code == 409, name
        assert answer.json()["type"] == "/problems/wrong-state"
