"""Waves of a live survey: planned, opened, counted and explained on its page."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.devices import Device

from masquerade.server.surveys.selection_runs import (
    known_levels,
    next_wave,
    planned_wave,
    timeline,
)

if TYPE_CHECKING:
    from tests.server.surveys.conftest import Desk


def run_of(wave: int | None, *, applied: bool, responses: int = 0) -> Any:
    """Return the fields of a selection run that pages read."""
    level = {"asked": 10, "responded": 0}
    return {"wave": wave, "applied": applied, "responses": responses, "levels": [level, level]}


def quotas_of(desk: Desk, token: str) -> dict[str, int]:
    """Return how many may take part at each level, where that is limited."""
    seats = desk.services.surveys.record(token).quotas
    assert seats is not None
    return seats


def press(desk: Desk, token: str, name: str, status: int = 200, **data: Any) -> str:
    """Press a button of a survey's page and return the page that follows."""
    answer = desk.client.post(f"/surveys/{token}/{name}", data={"csrf": desk.csrf, **data})
    assert answer.status_code == status, answer.text
    return answer.text


def plan(desk: Desk, token: str, status: int = 200, **data: Any) -> str:
    """Ask for a wave on the page."""
    sent = {"key": secrets.token_hex(16), "percent": "50", **data}
    return press(desk, token, "waves", status, **sent)


def test_each_wave_counts_who_came_until_the_next() -> None:
    """Only waves that were taken stand in the timeline, each with its own share of comers."""
    runs = [
        run_of(None, applied=True),
        run_of(1, applied=False),
        run_of(1, applied=True, responses=3),
        run_of(2, applied=True, responses=15),
        run_of(3, applied=False, responses=20),
    ]
    found = timeline(runs, responses=21)
    assert [(w["wave"], w["asked"], w["came_before"], w["came"], w["over"]) for w in found] == [
        (1, 20, 3, 12, True),
        (2, 20, 15, 6, False),
    ]
    assert next_wave(runs) == 3
    last = planned_wave(runs)
    assert last is not None
    assert (last["wave"], last["asked"]) == (3, 20)
    assert planned_wave(runs[:4]) is None
    assert timeline([], responses=5) == []
    # Somebody who withdrew is not counted against a wave.
    assert timeline(runs[:3], responses=1)[0]["came"] == 0


def test_waves_from_the_page(desk: Desk) -> None:
    """Worked out, nothing changes; opened, there are so many places; the next counts the comers."""
    draft = desk.make(template="pick")
    desk.change(draft, plan={"people": 60, "prices": {"high": 1, "medium": 1, "low": 1}})
    token = draft["token"]
    desk.ask("POST", f"/{token}/open")
    page = desk.client.get(f"/surveys/{token}").text
    assert "never at what they reported" in page
    assert "Plan wave 1" in page
    page = plan(desk, token, budget="20", alpha="0.25")
    assert "Wave 1, worked out and not opened" in page
    assert desk.services.surveys.record(token).quotas is None
    page = plan(desk, token, budget="20", alpha="0.25", take="true")
    assert "Wave 1, worked out" not in page
    assert "Plan wave 2" in page
    first = desk.services.selection_runs.runs(token)[-1]
    assert (first["budget"], first["alpha"], first["response_rate"]) == (20, 0.25, 0.5)
    assert sum(quotas_of(desk, token).values()) == 24  # 0.6 of 20, for one in two
    assert first["expected"] == 12
    survey = desk.services.surveys.record(token)
    for level, count in (("low", 5), ("medium", 2)):
        for _ in range(count):
            Device().send(desk.services, survey, [0], level=level)
    assert re.search(r'id="came" data-before="0">7<', desk.client.get(f"/surveys/{token}").text)
    plan(desk, token, budget="20", take="true")
    second = desk.services.selection_runs.runs(token)[-1]
    assert (second["wave"], second["responses"]) == (2, 7)
    assert sum(level["asked"] for level in second["levels"]) == 26  # what is left of 20, for half
    assert sum(quotas_of(desk, token).values()) == 7 + 26
    for _ in (3, 4, 5):
        plan(desk, token, budget="200", take="true")
    page = desk.client.get(f"/surveys/{token}").text
    assert "These were all 5 waves" in page
    assert "wave is 6" in plan(desk, token, 422, budget="200")
    desk.become("viewer")
    page = desk.client.get(f"/surveys/{token}").text
    assert "Wave 5" in page
    assert "Work it out" not in page


def test_a_wave_to_which_all_expected_came_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Webhooks are told of each wave once, by the sweep, and not before enough have come."""
    hooks = desk.services.webhooks
    monkeypatch.setattr(hooks, "private", True)
    hook, _ = hooks.create(desk.team, url="http://127.0.0.1:9/hook", events=["wave.finished"])
    draft = desk.make(template="pick")
    desk.change(draft, plan={"people": 60, "prices": {"high": 1, "medium": 1, "low": 1}})
    token = draft["token"]
    desk.ask("POST", f"/{token}/open")
    plan(desk, token, budget="4", percent="100", take="true")
    expected = desk.services.selection_runs.runs(token)[-1]["expected"]
    survey = desk.services.surveys.record(token)
    assert expected == sum(quotas_of(desk, token).values()) > 1
    told = []
    for level, seats in quotas_of(desk, token).items():
        for _ in range(seats):
            desk.services.daily_jobs.run()
            desk.services.daily_jobs.run()
            told.append(len(hooks.log(desk.team, webhook=hook.id)))
            Device().send(desk.services, survey, [0], level=level)
    assert set(told) == {0}
    for _ in range(3):
        desk.services.daily_jobs.run()
    [told_of] = hooks.log(desk.team, webhook=hook.id)
    assert (told_of.event, told_of.survey) == ("wave.finished", token)


def test_a_refused_wave_is_said_on_the_page(desk: Desk) -> None:
    """The page comes back with the reason, and nothing is changed or kept."""
    token = desk.opened(template="pick")["token"]
    survey = desk.services.surveys.record(token)
    for _ in range(6):
        Device().send(desk.services, survey, [0], level="low")
    page = plan(desk, token, 422, budget="6")
    assert "nothing is left of the budget of 6" in page
    assert "Plan wave 1" in page
    assert desk.services.selection_runs.runs(token) == []


def test_where_nobody_is_paid_a_wave_divides_people(desk: Desk) -> None:
    """Without prices the budget counts people, by default those of the plan; it says so."""
    token = desk.opened(template="pick")["token"]
    wish = {"wave": 1, "response_rate": 0.5}
    key = secrets.token_hex(16)
    run = desk.ask("POST", f"/{token}/selection-runs", wish, Idempotency_Key=key).json()
    assert (run["budget"], run["cost"]) == (400, 0)
    assert sum(level["asked"] for level in run["levels"]) == 400  # all who can be reached
    assert run["why"].endswith("Nobody is paid, so the budget counts people.")
    run = desk.ask(
        "POST",
        f"/{token}/selection-runs",
        {**wish, "budget": 100},
        Idempotency_Key=secrets.token_hex(16),
    ).json()
    assert sum(level["asked"] for level in run["levels"]) == 120


def test_a_run_tells_no_more_than_the_page(desk: Desk) -> None:
    """While people answer, levels share the total in the proportions that were expected."""
    token = desk.opened(template="pick")["token"]
    survey = desk.services.surveys.record(token)
    for level, count in (("high", 6), ("medium", 7), ("low", 2)):
        for _ in range(count):
            Device().send(desk.services, survey, [0], level=level)
    progress = desk.lifecycle.progress(survey)
    found = known_levels(survey, progress, {})
    assert sum(found.values()) == 15
    planned = {"high": 0.0, "medium": 0.0, "low": 1.0}
    assert known_levels(survey, progress, planned) == {"high": 0, "medium": 0, "low": 15}
    run = desk.ask(
        "POST", f"/{token}/selection-runs", {}, Idempotency_Key=secrets.token_hex(16)
    ).json()
    assert {one["name"]: one["responded"] for one in run["levels"]} == found
    assert run["responses"] == 15


def test_runs_are_listed_in_their_order(desk: Desk) -> None:
    """All selections of a survey or draft can be read, numbered, with the worth of each level."""
    draft = desk.make(template="pick")
    path = f"/{draft['token']}/selection-runs"
    assert desk.ask("GET", path).json() == {"runs": []}
    made = [
        desk.ask("POST", path, {"alpha": a}, Idempotency_Key=secrets.token_hex(16)).json()
        for a in (0, 0.5, 1)
    ]
    assert desk.ask("GET", path).json() == {"runs": made}
    assert [run["number"] for run in made] == [1, 2, 3]
    high, _, low = made[1]["levels"]
    assert high["precision"] < low["precision"]  # less noise tells more
    assert 0 < high["burden"] < low["burden"]  # and takes more of a person's privacy
    assert high["privacy_share"] < low["privacy_share"]
    other = desk.ask("GET", f"/{'0' * 16}/selection-runs")
    assert other.status_code == 404


def test_places_can_be_changed_while_it_is_open(desk: Desk) -> None:
    """On the page and by the interface: a number for each level, or none for as many as come."""
    token = desk.opened(template="pick")["token"]
    levels: dict[str, Any] = {"level": ["high", "medium", "low"]}
    press(desk, token, "seats", **levels, places=["3", "0", "12"])
    assert desk.services.surveys.record(token).quotas == {"high": 3, "medium": 0, "low": 12}
    page = press(desk, token, "seats", 422, **levels, places=["3", "", "12"])
    assert "expected a number" in page
    press(desk, token, "seats", **levels, places=["", "", ""], limit="false")
    assert desk.services.surveys.record(token).quotas is None
    seats = {"high": 1, "medium": 2, "low": 3}
    assert desk.ask("PATCH", f"/{token}", {"seats": seats}).json()["seats"] == seats
    for wrong in (
        {"high": 1},
        {**seats, "none": 1},
        {**seats, "low": -1},
        {**seats, "low": 1.5},
        7,
    ):
        answer = desk.ask("PATCH", f"/{token}", {"seats": wrong})
        assert answer.status_code == 422, answer.text
    both = desk.ask("PATCH", f"/{token}", {"seats": None, "closes": "2999-01-01"})
    assert both.status_code == 409
    assert desk.ask("PATCH", f"/{token}", {"seats": None}).json()["seats"] is None


@pytest.mark.parametrize("data", [{"percent": "0"}, {"alpha": "2"}, {"key": "x"}, {"budget": "-1"}])
def test_a_form_that_no_page_has_is_refused(desk: Desk, data: dict[str, str]) -> None:
    """Values outside their ranges, which the page's fields do not give, are a 422."""
    token = desk.opened(template="pick")["token"]
    plan(desk, token, 422, **data)
    assert desk.services.selection_runs.runs(token) == []
