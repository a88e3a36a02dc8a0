"""Large results and many differences are worked out while their pages show the progress."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.server.filled import fill
from tests.surveys.employee_pulse import pulse, pulse_reports

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
    go_on.set()
    text = wait(site.owner, results).text
    assert 'id="question-nps"' in wait(site.owner, page).text
    monkeypatch.undo()
    # the same bytes as of a survey that is computed at once
    assert text == site.services.results._compute(survey, cache._unreported)


def test_many_differences_say_how_far_they_are(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of groups is there at once with its progress; what cannot be is said as before."""
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
