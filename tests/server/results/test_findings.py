"""Pages of results in groups, weighted, over time and as files: the library's numbers, in words."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import openpyxl
import pytest
from tests.server.devices import Device
from tests.surveys.small_surveys import define

from masquerade.errors import NotFound, ParameterError, WrongState
from masquerade.results import Weighting, all_differences, group_comparisons, weighted_result
from masquerade.server import Services
from masquerade.server.http.page_words import page_words
from masquerade.server.http.service_messages import in_language
from masquerade.server.results.groups import comparable
from masquerade.server.surveys.forecast import live_margins
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys import Choice, Number, Rating

if TYPE_CHECKING:
    from tests.server.conftest import Site

ASKED = (
    Choice("team", "Do you lead a team?", ("Yes", "No")),
    Choice("=ill", "Worked while ill?", ("No", "Yes", "=cmd()")),
    Rating("r", "How stressful?", 1, 3),
)


def answered(services: Services, people: int = 150, *, shift: int = 0) -> SurveyRecord:
    """Return a closed survey with reports to the first two questions that go together."""
    survey = services.surveys.open_survey(define(*ASKED, levels=("low",)))
    rng = np.random.default_rng(7 + shift)
    for _ in range(people):
        team = int(rng.integers(2))
        ill = team if rng.random() < 0.9 else int(rng.integers(3))
        report = [team, ill, min(2, int(rng.integers(2)) + shift)]
        Device().send(services, survey, report, level="low")
    return services.surveys.close(survey)


def test_groups_are_the_librarys_and_are_kept(sqlite_services: Services) -> None:
    """Stored differences are those of the reports; sure ones have a sentence that says so."""
    survey = answered(sqlite_services)
    stored = json.loads(sqlite_services.groups.text(survey, "team"))
    found = group_comparisons(sqlite_services.results.reports(survey), by="team")
    assert [one["option"] for one in stored] == [one.option for one in found]
    assert stored[0]["differences"][0]["low"] == found[0].differences[0].low
    view = sqlite_services.groups.view(survey, "team")
    table = view.of("=ill")
    assert table is not None
    assert table.sure
    assert all(one.endswith(" *") for one in table.sure)
    family = sum(len(one.differences) for one in found)
    assert f" Of {family} differences that were looked at together" in view.words
    assert f"Von {family} Unterschieden" in in_language(page_words("de"))(view.words)
    mean = view.of("r")
    assert mean is not None
    assert mean.columns == ["Mean"]
    assert all(1 <= float(cells[0].text) <= 3 for _, cells in mean.rows if cells[0].value)
    with pytest.raises(ParameterError, match="none of the survey"):
        sqlite_services.groups.text(survey, "nobody")
    assert [one.id for one in comparable(survey.survey)] == ["team", "=ill"]


def test_weights_count_for_noisy_numbers(site: Site) -> None:
    """A survey with a masked number has a weighted page with it, and nothing is left out."""
    services = site.services
    survey = services.surveys.open_survey(
        define(ASKED[0], Number("hours", "Hours?", 0, 80, "hours"), levels=("low",))
    )
    for number in range(40):
        Device().send(services, survey, [number % 2, number], level="low")
    survey = services.surveys.close(survey)
    table = "question,answer,share\nteam,Yes,50 %\nteam,No,50 %\n"
    key = services.weighted.create(survey, table, None)
    view = services.weighted.view(survey, key)
    assert [one.id for one in view.result.questions] == ["team", "hours"]
    page = site.owner.get(f"/surveys/{survey.token}?weights={key}")
    assert page.status_code == 200
    assert "question-team" in page.text
    assert "question-hours" in page.text
    assert "left out" not in page.text


def test_weights_are_the_librarys_and_are_kept(sqlite_services: Services) -> None:
    """A table gives a key; the view has the library's numbers and says how people count."""
    survey = answered(sqlite_services)
    table = "question,answer,share\nteam,Yes,20 %\nteam,No,80 %\n"
    key = sqlite_services.weighted.create(survey, table, None)
    assert key == sqlite_services.weighted.create(survey, table, None)
    view = sqlite_services.weighted.view(survey, key)
    margins = Weighting({"team": {"Yes": 0.2, "No": 0.8}})
    found = weighted_result(sqlite_services.results.reports(survey), margins)
    assert view.result.question("=ill").options == found.question("=ill").options
    assert view.result.question("team").option("Yes").share.value == pytest.approx(0.2)
    assert view.words == ("“Do you lead a team?” Yes 20 %, No 80 %",)
    with pytest.raises(NotFound, match="give the table again"):
        sqlite_services.weighted.view(survey, "0" * 16)
    with pytest.raises(ParameterError, match="add up to"):
        sqlite_services.weighted.create(survey, table.replace("80 %", "50 %"), None)


def test_surveys_that_repeat_each_other_stand_together(sqlite_services: Services) -> None:
    """The chain has the oldest first, another team's survey ends it, and sure changes are said."""
    first, second = answered(sqlite_services), answered(sqlite_services, shift=1)
    sqlite_services.over_time.link(second.token, first.token)
    assert [one.token for one in sqlite_services.over_time.chain(first)] == [first.token]
    found = sqlite_services.over_time.view(second)
    assert [one.token for one in found.surveys] == [first.token, second.token]
    told = {one.id: one for one in found.questions}
    assert [len(line.rows) for line in told["r"].lines] == [2]
    reports = [sqlite_services.results.reports(one) for one in (second, first)]
    changes = all_differences(*reports)
    assert found.family == len(changes)
    rated = next(one for one in changes if one.option is None)
    assert rated.differ
    assert told["r"].changes[0].startswith("The mean rose, by ")
    assert sum(len(one.changes) for one in found.questions) == sum(one.differ for one in changes)


def test_nothing_is_told_of_an_open_survey(sqlite_services: Services) -> None:
    """Neither groups nor weights nor files of a survey that is open."""
    survey = sqlite_services.surveys.open_survey(define(*ASKED, levels=("low",)))
    for ask in (
        lambda: sqlite_services.groups.text(survey, "team"),
        lambda: sqlite_services.weighted.create(survey, "", None),
        lambda: sqlite_services.results.workbook(survey, crossed=True),
        lambda: sqlite_services.results.paper(survey),
        lambda: sqlite_services.results.chart(survey, "r", "svg"),
    ):
        with pytest.raises(WrongState):
            ask()


def test_margins_of_an_open_survey_are_of_planning_alone() -> None:
    """With nobody there is no margin; more people have a smaller one."""
    survey = define(*ASKED, levels=("high", "low"))
    rows = dict(live_margins(survey, (0, 100, 4000)))
    words = rows["Do you lead a team?"]
    assert words[0] == "–"
    few, many = (float(one.split()[1]) for one in words[1:])
    assert few > many > 0


def test_pages_and_files_over_http(site: Site) -> None:
    """The owner sees groups, weights, repeats and files; a visitor the published part."""
    survey = answered(site.services)
    address, files = f"/surveys/{survey.token}", f"/api/v1/surveys/{survey.token}"
    page = site.owner.get(address, params={"by": "team"})
    assert page.status_code == 200
    assert "that were looked at together" in page.text
    # The bound is of counts of each question by itself, which these pages go beyond.
    reader = "What a reader of this page learns"
    assert reader in site.owner.get(address).text
    assert reader not in page.text
    refused = site.owner.get(address, params={"by": "r2"})
    assert "none of the survey" in refused.text
    data = {"table": "question,answer,share\nteam,Yes,50\nteam,No,50\n", "population": ""}
    token = {"csrf": site.owner.headers["X-CSRF-Token"]}
    weighted = site.owner.post(f"{address}/weights", data=data | token, files={"file": ("", b"")})
    assert "People count by what you gave" in weighted.text
    assert reader not in weighted.text
    wrong = site.owner.post(f"{address}/weights", data=data | token | {"table": "a,b\n1,2\n"})
    assert "expected question, answer" in wrong.text
    assert "There is one survey so far" in site.owner.get(f"{address}/over-time").text
    book = openpyxl.load_workbook(io.BytesIO(site.owner.get(f"{files}/workbook.xlsx").content))
    assert book["Cross tables"].max_row > 6
    assert site.owner.get(f"{files}/persons.sav").content[:4] == b"$FL2"
    assert site.visitor.get(f"{files}/results.xlsx").status_code == 401
    site.owner.post(f"{address}/publish", data=token)
    public = site.visitor.get(f"{files}/results.xlsx")
    assert openpyxl.load_workbook(io.BytesIO(public.content))["Cross tables"].max_row == 1
    assert site.visitor.get(f"{files}/workbook.xlsx").status_code == 401
    assert site.visitor.get(f"{files}/report.pdf").content.startswith(b"%PDF")
    chart = site.visitor.get(f"{files}/chart.svg", params={"question": "=ill"})
    assert "=cmd()" in chart.text
    assert chart.headers["content-disposition"].startswith("attachment")
    assert site.visitor.get(f"{files}/chart.png", params={"question": "r"}).content[1:4] == b"PNG"
    assert site.visitor.get(f"{files}/chart.svg", params={"question": "x"}).status_code == 404
    text = site.visitor.get(f"{files}/results.csv").content
    assert text.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))
    assert {row["option"][0] for row in rows}.isdisjoint("=+-@")
    told = site.visitor.get(f"{files}/results").json()
    by_key = {(row["question"], row["option"], row["estimator"]): row for row in rows}
    for question in told["questions"]:
        for option in question["options"]:
            label = option["label"] if option["label"][0] != "=" else f"'{option['label']}"
            name = question["id"] if question["id"][0] != "=" else f"'{question['id']}"
            assert float(by_key[name, label, "within"]["value"]) == option["value"]
    exact = site.visitor.get(f"/r/{survey.token}/{survey.hash}")
    assert exact.status_code == 303
    assert site.visitor.get(f"/r/{survey.token}/{'0' * 64}").status_code == 404
    shown = site.visitor.get(f"/r/{survey.token}").text
    assert survey.hash[:16] in shown


def test_what_did_not_surely_change_is_folded(site: Site) -> None:
    """Over time the lines of figures that surely changed stand open; all others are one fold."""
    before, last = answered(site.services), answered(site.services, shift=1)
    site.services.over_time.link(last.token, before.token)
    view = site.services.over_time.view(last)
    [moved] = [one for one in view.questions if one.changes]
    assert [line.changed for line in moved.lines] == [True]
    assert not any(line.changed for one in view.questions if one != moved for line in one.lines)
    text = site.owner.get(f"/surveys/{last.token}/over-time").text
    for one in view.questions:
        open_part, fold, _ = text.partition(f'id="question-{one.id}"')[2].partition("<details")
        assert bool(fold and '<ul class="plot"' not in open_part) == (one != moved)
