"""Large results and many differences are worked out while their pages show the progress."""

from __future__ import annotations

import io
import threading
import time
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest
from sqlalchemy import Connection, delete, or_
from tests.patience import PATIENCE_SECONDS
from tests.server.filled import fill
from tests.server.refusals import problem_of
from tests.surveys.employee_pulse import pulse, pulse_reports

from masquerade.server import Services
from masquerade.server.db.tables import SETTING
from masquerade.server.results import cache, groups
from masquerade.server.results.cache import StoredReports

if TYPE_CHECKING:
    import httpx
    from tests.server.conftest import Site


def wait(client: httpx.Client, path: str) -> httpx.Response:
    """Ask until something is there."""
    for _ in range(20 * PATIENCE_SECONDS):
        answer = client.get(path)
        if answer.status_code != 202 and 'id="working"' not in answer.text:
            return answer
        time.sleep(0.05)
    raise AssertionError("it is never there")


def test_a_large_result_says_how_far_it_is(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows counted people and asks again, programs get 202; then all is as ever."""
    survey = site.services.surveys.open_survey(pulse(("medium",)))
    fill(site.services, survey, pulse_reports(survey.survey, 60))
    monkeypatch.setattr(cache, "LARGE", 60)
    monkeypatch.setattr(cache, "COUNTED_AT_ONCE", 20)
    told, go_on = threading.Event(), threading.Event()
    counted = StoredReports.counted

    def slow(self: Any, codebook: Any, report: Any = None) -> Any:
        def stop(done: int) -> None:
            report(done)
            told.set()
            assert go_on.wait(PATIENCE_SECONDS)

        return counted(self, codebook, stop)

    monkeypatch.setattr(StoredReports, "counted", slow)
    survey = site.services.surveys.close(survey)
    page, results = f"/surveys/{survey.token}", f"/api/v1/surveys/{survey.token}/results"
    assert 'id="working"' in site.owner.get(page).text
    assert told.wait(PATIENCE_SECONDS)
    shown = site.owner.get(page)
    assert shown.status_code == 200
    assert "counting: 20 of 60" in shown.text
    assert '<progress class="working" max="60" value="20"' in shown.text
    assert int(shown.headers["refresh"]) > 0
    answer = site.owner.get(results)
    assert (answer.status_code, answer.json()["done"], answer.json()["of"]) == (202, 20, 60)
    assert int(answer.headers["retry-after"]) > 0
    assert site.owner.get(f"{results}.csv").status_code == 202
    site.services.surveys.publish(survey)
    public = site.visitor.get(f"/r/{survey.token}", headers={"Accept": "text/html"})
    assert (public.status_code, int(public.headers["refresh"]) > 0) == (202, True)
    assert "One moment" in public.text
    assert "<p>This is being worked out" in public.text
    go_on.set()
    text = wait(site.owner, results).text
    assert 'id="question-nps"' in wait(site.owner, page).text
    monkeypatch.undo()
    # the same bytes as of a survey that is computed at once
    assert text == site.services.results._compute(survey, cache.unreported)


def test_many_differences_say_how_far_they_are(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of groups is there at once, with progress; impossible groups are said as before."""
    survey = site.services.surveys.open_survey(pulse(("low",)))
    fill(site.services, survey, pulse_reports(survey.survey, 200))
    survey = site.services.surveys.close(survey)
    assert groups._work(survey.survey, "site") > groups.MOST_AT_ONCE
    path = f"/surveys/{survey.token}?by=site"
    begun = site.owner.get(path)
    assert 'id="working"' in begun.text
    assert 'id="question-nps"' not in begun.text
    assert 'id="groups-words"' in wait(site.owner, path).text
    api = f"/api/v1/surveys/{survey.token}/groups"
    assert site.owner.get(f"{api}?by=site").status_code == 200
    monkeypatch.setattr(groups, "MOST_AT_ONCE", 0)
    refused = wait(site.owner, f"/surveys/{survey.token}?by=pay")
    assert ('role="alert"' in refused.text) != ('id="groups-words"' in refused.text)
    assert wait(site.owner, f"{api}?by=nobody").status_code == 422


VIEWS = (
    "relations?outcome=stay&predictor=lead",
    "relations.csv?outcome=stay&predictor=lead",
    "groups?by=site",
    "cross-table?first=site&second=stay",
)


def forget(services: Services, *forms: str) -> None:
    """Delete the kept texts under keys that begin with these words."""
    rows = delete(SETTING).where(or_(*(SETTING.c.key.startswith(f"{one}:") for one in forms)))

    def deleted(connection: Connection) -> None:
        connection.execute(rows)

    services.transactions.write(deleted)


@pytest.mark.both_databases
def test_views_of_many_people_are_computed_in_the_background(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relations, groups, cross tables, weights, changes: first 202, then what is direct."""
    services = site.services
    monkeypatch.setattr(cache, "LARGE", 200)
    surveys = []
    for seed in (5, 6):
        survey = services.surveys.open_survey(pulse(("low",)))
        fill(services, survey, pulse_reports(survey.survey, 200, seed=seed))
        surveys.append(services.surveys.close(survey))
    first, survey = surveys
    services.over_time.link(survey.token, first.token)
    api, page = f"/api/v1/surveys/{survey.token}", f"/surveys/{survey.token}"
    found = {}
    for view in VIEWS:
        begun = site.owner.get(f"{api}/{view}")
        if not view.startswith("relations.csv"):  # the relation is there already
            assert (begun.status_code, begun.headers["retry-after"]) == (202, "2"), view
        found[view] = wait(site.owner, f"{api}/{view}").text
    table = {"table": "question,answer,share\nlead,Yes,50\nlead,No,50\n", "population": ""}
    sent = table | {"csrf": site.owner.headers["X-CSRF-Token"]}
    weighted = site.owner.post(f"{page}/weights", data=sent)
    wait(site.owner, page)
    key = str(weighted.url).rpartition("=")[2]
    assert 'id="working"' in site.owner.get(f"{page}?weights={key}").text
    assert "People count by" in wait(site.owner, f"{page}?weights={key}").text
    weights = f"weighted?weights={key}"
    found[weights] = site.owner.get(f"{api}/{weights}").text
    wrong = site.owner.post(
        f"{page}/weights", data=sent | {"table": "question,answer,share\nx,y,1"}
    )
    assert "is no question of the survey" in wrong.text
    html = {"Accept": "text/html"}
    for path in (f"{page}/over-time", f"{page}/relations?outcome=stay&predictor=ill"):
        begun = site.owner.get(path, headers=html)
        assert begun.status_code == 202
        assert '<progress class="working"' in begun.text
        assert int(begun.headers["refresh"]) > 0
    changes = wait(site.owner, f"{page}/over-time").text
    assert "<main" in changes
    assert wait(site.owner, f"{page}/relations?outcome=stay&predictor=ill").status_code == 200
    book = wait(site.owner, f"{api}/workbook.xlsx").content
    monkeypatch.setattr(cache, "LARGE", 10**9)
    forget(services, "relation-2", "groups-1", "crossed-1", "weighted-1", "changes-1", "result-4")
    for view, text in found.items():
        if view != "groups?by=site":  # its many differences go the same way also of few people
            assert site.owner.get(f"{api}/{view}").text == text, view
    assert (
        changes.partition("<main")[2]
        == site.owner.get(f"{page}/over-time").text.partition("<main")[2]
    )
    direct = site.owner.get(f"{api}/workbook.xlsx").content
    assert sheets(book) == sheets(direct)


def sheets(book: bytes) -> dict[str, list[Any]]:
    """Return the cells of a workbook."""
    found = openpyxl.load_workbook(io.BytesIO(book))
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in found}


def test_too_many_large_results_at_once_are_asked_for_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs get 503 with the time to come back at, the page says it and looks again."""
    survey = site.services.surveys.open_survey(pulse(("low",)))
    fill(site.services, survey, pulse_reports(survey.survey, 60))
    monkeypatch.setattr(cache, "LARGE", 60)
    survey = site.services.surveys.close(survey)
    monkeypatch.setattr("masquerade.server.db.long_work.MOST_OF_A_TEAM", 0)
    answer = site.owner.get(f"/api/v1/surveys/{survey.token}/results")
    assert problem_of(answer, 503, "busy")["seconds"] == int(answer.headers["retry-after"]) > 0
    page = site.owner.get(f"/surveys/{survey.token}", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["refresh"]) == (503, page.headers["retry-after"])
    assert "wait to be worked out" in page.text
    monkeypatch.undo()
    assert wait(site.owner, f"/surveys/{survey.token}").status_code == 200
