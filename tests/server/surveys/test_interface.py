"""The surveyors' interface: drafts, versions, life cycle, plans, selections."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.devices import Device, all_at_once

from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys.survey import Survey, commitment_of

if TYPE_CHECKING:
    from tests.server.surveys.conftest import Desk


def problem_of(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Return the problem details of a response, after checking their form."""
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"/problems/{slug}"
    return found


def test_a_draft_has_a_place_a_version_and_a_forecast(desk: Desk) -> None:
    """Making one answers 201 with its address and ETag; reading it gives the same."""
    key = secrets.token_hex(16)
    answer = desk.ask("POST", "", {"template": "rate"}, Idempotency_Key=key)
    assert answer.status_code == 201
    draft = answer.json()
    assert answer.headers["location"] == f"/api/v1/surveys/{draft['token']}"
    assert answer.headers["etag"] == '"v1"'
    assert (draft["state"], draft["valid"], draft["errors"]) == ("draft", True, [])
    assert [q["kind"] for q in draft["forecast"]["questions"]] == ["mean"] * 3
    again = desk.ask("GET", f"/{draft['token']}")
    assert again.json() == draft
    assert again.headers["etag"] == '"v1"'


def test_the_same_request_makes_one_draft(desk: Desk) -> None:
    """Sent again it gives the first draft; another body under its key is a conflict."""
    key = secrets.token_hex(16)
    first = desk.make(key=key, template="rate")
    again = desk.ask("POST", "", {"template": "rate"}, Idempotency_Key=key)
    assert (again.status_code, again.json()["token"]) == (200, first["token"])
    other = desk.ask("POST", "", {"template": "pick"}, Idempotency_Key=key)
    problem_of(other, 409, "idempotency-conflict")
    assert len(desk.lifecycle.listed(team=desk.team)) == 1
    without = desk.ask("POST", "", {"template": "rate"})
    assert without.status_code == 422


def test_changes_need_the_version_that_was_read(desk: Desk) -> None:
    """Without If-Match, or with that of an older version, a change is refused with 412."""
    draft = desk.make(template="pick")
    path = f"/{draft['token']}"
    problem_of(desk.ask("PATCH", path, {"title": "A"}), 412, "stale-version")
    changed = desk.ask("PATCH", path, {"title": "A"}, If_Match='"v1"')
    assert changed.headers["etag"] == '"v2"'
    assert changed.json()["document"]["title"] == "A"
    problem_of(desk.ask("PATCH", path, {"title": "B"}, If_Match='"v1"'), 412, "stale-version")
    problem_of(desk.ask("DELETE", path, If_Match='"v1"'), 412, "stale-version")
    problem_of(desk.ask("POST", f"{path}/open", If_Match='"v1"'), 412, "stale-version")
    assert desk.ask("GET", path).json()["document"]["title"] == "A"
    assert desk.ask("DELETE", path, If_Match='"v2"').status_code == 204
    problem_of(desk.ask("GET", path), 404, "not-found")


def test_an_unfinished_draft_is_kept_and_says_what_is_missing(desk: Desk) -> None:
    """Empty texts are kept, each with its place; such a draft cannot be opened."""
    draft = desk.make(template="pick")
    [question] = draft["document"]["questions"]
    draft = desk.change(
        draft, title="", questions=[{**question, "text": "", "options": ["A", "A"]}]
    )
    assert not draft["valid"]
    assert draft["forecast"] is None
    assert {e["pointer"] for e in draft["errors"]} == {"/title", "/questions/0/text"}
    problem = problem_of(desk.ask("POST", f"/{draft['token']}/open"), 422, "validation-error")
    assert problem["errors"] == draft["errors"]
    validated = desk.ask("POST", f"/{draft['token']}/validate").json()
    assert validated == {"valid": False, "errors": draft["errors"], "warnings": []}
    draft = desk.change(draft, title="T", questions=[{**question, "options": ["A", "A"]}])
    assert [e["pointer"] for e in draft["errors"]] == ["/questions/0/options"]


def test_what_is_open_is_frozen(desk: Desk) -> None:
    """Opening freezes the definition by its hash; only a later last day can still be set."""
    survey = desk.opened(template="rate")
    token = survey["token"]
    definition = desk.services.surveys.record(token).survey
    assert survey["hash"] == definition.content_hash()
    path = f"/{token}"
    problem_of(desk.ask("PATCH", path, {"title": "B"}, If_Match='"v1"'), 409, "wrong-state")
    problem_of(desk.ask("DELETE", path), 409, "wrong-state")
    problem_of(desk.ask("POST", f"{path}/open"), 404, "not-found")
    assert desk.ask("PATCH", path, {"closes": "2999-01-02"}).json()["closes"] == "2999-01-02"
    for earlier in ("2999-01-01", "soon", 5):
        problem_of(desk.ask("PATCH", path, {"closes": earlier}), 422, "validation-error")
    assert desk.services.surveys.record(token).hash == survey["hash"]


def test_the_whole_life(desk: Desk) -> None:
    """Open, closing while somebody answers, closed, published; other orders are refused."""
    survey = desk.opened(template="pick")
    token = survey["token"]
    kept = desk.services.surveys.record(token)
    problem_of(desk.ask("POST", f"/{token}/publish"), 409, "wrong-state")
    waiting, late = Device(), Device()
    begun = waiting.open(desk.services, kept, level="high")
    reserved = late.reserve(desk.services, kept, level="high")
    answer = desk.ask("POST", f"/{token}/close", {})
    assert answer.json()["state"] == "closing"
    # What was only reserved is given back; what was opened can be finished; nobody can begin.
    with pytest.raises(Exception, match="expired"):
        desk.services.participations.open(desk.services.identity(late.participant), reserved.id)
    with pytest.raises(Exception, match="closed"):
        Device().reserve(desk.services, kept, level="high")
    who, salt = desk.services.identity(waiting.participant), "ab" * 16
    desk.services.participations.seal(who, begun.id, commitment_of(begun.id, [0], salt))
    waiting.respond(desk.services, begun, [0], salt)
    invitation = desk.client.get(f"/api/v1/surveys/{token}/invitation").json()
    assert invitation["state"] == "closing"
    answer = desk.ask("POST", f"/{token}/close", {"grace_days": 0})
    assert (answer.json()["state"], answer.json()["responses"]) == ("closed", 1)
    problem_of(desk.ask("POST", f"/{token}/close", {}), 409, "wrong-state")
    problem_of(desk.ask("POST", f"/{token}/cancel"), 409, "wrong-state")
    assert desk.ask("POST", f"/{token}/publish").json()["state"] == "published"
    assert desk.ask("POST", f"/{token}/publish").status_code == 200
    assert desk.client.get(f"/api/v1/surveys/{token}/invitation").json()["state"] == "closed"


def test_nothing_to_wait_for_closes_at_once(desk: Desk) -> None:
    """Where nobody is answering, the time to finish is not waited for."""
    token = desk.opened(template="pick")["token"]
    assert desk.ask("POST", f"/{token}/close", {"grace_days": 3}).json()["state"] == "closed"


def test_a_cancelled_survey_has_no_results(desk: Desk) -> None:
    """It takes nothing more, charges stay, and nothing is worked out."""
    token = desk.opened(template="pick")["token"]
    device = Device()
    device.send(desk.services, desk.services.surveys.record(token), [0], level="high")
    assert desk.ask("POST", f"/{token}/cancel").json()["state"] == "cancelled"
    assert len(desk.services.ledger.entries(desk.services.identity(device.participant).person)) == 2
    problem_of(desk.ask("GET", f"/{token}/results"), 409, "wrong-state")
    with pytest.raises(Exception, match="closed"):
        Device().reserve(desk.services, desk.services.surveys.record(token), level="high")


def test_pages_of_surveys(desk: Desk) -> None:
    """All drafts and surveys come once, by token, however long a page is."""
    made = {desk.make(template=name)["token"] for name in TEMPLATES}
    made.add(desk.opened(template="pick")["token"])
    for limit in (3, 50):
        seen: list[str] = []
        cursor = ""
        while True:
            page = desk.ask("GET", f"?limit={limit}&cursor={cursor}").json()
            seen += [one["token"] for one in page["surveys"]]
            if page["next_cursor"] is None:
                break
            cursor = page["next_cursor"]
        assert seen == sorted(made)


def test_progress_is_counts_alone(desk: Desk) -> None:
    """While people answer, the total alone is told; then levels, where none has fewer than 5."""
    token = desk.opened(template="pick")["token"]
    survey = desk.services.surveys.record(token)
    for level, count in (("high", 6), ("medium", 7), ("low", 2)):
        for _ in range(count):
            Device().send(desk.services, survey, [0], level=level)
    found = desk.ask("GET", f"/{token}/progress").json()
    assert found["responses"] == 15
    shown = {one["name"]: one["responses"] for one in found["levels"]}
    assert shown == {"high": None, "medium": None, "low": None}
    for _ in range(3):
        Device().send(desk.services, survey, [0], level="low")
        found = desk.ask("GET", f"/{token}/progress").json()
        assert {one["responses"] for one in found["levels"]} == {None}
    desk.services.surveys.close(survey)
    found = desk.ask("GET", f"/{token}/progress").json()
    assert {one["name"]: one["responses"] for one in found["levels"]} == {
        "high": 6,
        "medium": 7,
        "low": 5,
    }
    assert "reports" not in json.dumps(found)


def test_a_plan_can_be_tried_without_keeping_it(desk: Desk) -> None:
    """A preview with less money asks fewer people and expects wider intervals."""
    draft = desk.make(template="pick")
    prices = {"high": 1, "medium": 2, "low": 3}
    path = f"/{draft['token']}"
    costs, margins = [], []
    for budget in (100, 300, None):
        found = desk.ask("POST", f"{path}/preview", {"prices": prices, "budget": budget}).json()
        costs.append(found["cost"])
        margins.append(found["questions"][0]["margin"])
        assert budget is None or found["cost"] <= budget
    assert costs == sorted(costs)
    assert margins == sorted(margins, reverse=True)
    assert desk.ask("GET", path).json() == draft
    points = desk.ask("POST", f"{path}/curve", {"prices": prices}).json()["points"]
    assert [p["asked"] for p in points] == sorted(p["asked"] for p in points)
    wrong = problem_of(desk.ask("POST", f"{path}/preview", {"alpha": 2}), 422, "validation-error")
    assert wrong["errors"][0]["pointer"] == "/plan/alpha"


def test_a_selection_is_kept_and_explained(desk: Desk) -> None:
    """A run says how many of each level to ask and why; applied, it holds people to it."""
    draft = desk.make(template="pick")
    draft = desk.change(draft, plan={"people": 60, "prices": {"high": 1, "medium": 1, "low": 1}})
    path = f"/{draft['token']}/selection-runs"
    key = secrets.token_hex(16)
    answer = desk.ask("POST", path, {"budget": 30}, Idempotency_Key=key)
    run = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/v1/surveys{path}/{run['id']}"
    assert run["cost"] == sum(level["seats"] for level in run["levels"]) == 30
    assert "by level alone" in run["why"]
    assert desk.ask("GET", f"{path}/{run['id']}").json() == run
    assert desk.ask("POST", path, {"budget": 30}, Idempotency_Key=key).json() == run
    problem_of(desk.ask("GET", f"{path}/{'0' * 32}"), 404, "not-found")
    refused = desk.ask("POST", path, {"apply": True}, Idempotency_Key=secrets.token_hex(16))
    problem_of(refused, 409, "wrong-state")
    desk.ask("POST", f"/{draft['token']}/open")
    wave = {"budget": 20, "wave": 1, "response_rate": 0.5, "apply": True}
    run = desk.ask("POST", path, wave, Idempotency_Key=secrets.token_hex(16)).json()
    seats = desk.services.surveys.record(draft["token"]).quotas
    assert seats == {level["name"]: level["seats"] for level in run["levels"]}
    assert sum(seats.values()) == 24  # 0.6 of the money, twice as many as are expected to come
    assert desk.services.surveys.record(draft["token"]).survey == Survey.from_json(
        desk.services.surveys.record(draft["token"]).survey.to_json()
    )


def test_seats_are_never_taken_twice(desk: Desk) -> None:
    """Of ten people at once at a level with three seats, three begin; the others pay nothing."""
    draft = desk.make(template="pick")
    survey = desk.services.drafts.open(
        draft["token"], team=desk.team, quotas={"high": 3, "medium": 0, "low": 9}
    )
    devices = [Device() for _ in range(10)]
    outcomes = all_at_once(
        *(lambda d=d: d.reserve(desk.services, survey, level="high") for d in devices)
    )
    assert sum(not isinstance(one, Exception) for one in outcomes) == 3
    assert {str(one) for one in outcomes if isinstance(one, Exception)} == {
        "as many people as this survey asks for at this level have begun it. Nothing was "
        "charged; another level may still be open."
    }
    assert (
        sum(
            len(desk.services.ledger.entries(desk.services.identity(d.participant).person))
            for d in devices
        )
        == 3
    )
    answer = desk.client.post(
        "/api/v1/participations",
        json={"survey": survey.token, "level": "medium"},
        headers={
            "Masquerade-Participant": secrets.token_hex(16),
            "Idempotency-Key": secrets.token_hex(16),
        },
    )
    problem_of(answer, 409, "budget-exhausted")


def test_a_plan_with_quotas_opens_with_its_seats(desk: Desk) -> None:
    """The seats are those of the forecast that was shown."""
    draft = desk.make(template="pick")
    draft = desk.change(draft, plan={"quotas": True, "people": 50})
    asked = {level["name"]: level["asked"] for level in draft["forecast"]["levels"]}
    assert desk.ask("POST", f"/{draft['token']}/open").json()["seats"] == asked


def test_a_survey_can_be_copied(desk: Desk) -> None:
    """A copy of a survey, open or not, is a draft that asks the same."""
    survey = desk.opened(template="pulse")
    copy = desk.make(copy_of=survey["token"])
    assert copy["state"] == "draft"
    assert copy["document"] == survey["document"]
    assert copy["token"] != survey["token"]
    wrong = desk.ask(
        "POST", "", {"template": "pick", "copy_of": "x"}, Idempotency_Key=secrets.token_hex(16)
    )
    problem_of(wrong, 422, "validation-error")


def test_who_may_only_look_sees_a_draft_and_cannot_change_it(desk: Desk) -> None:
    """Without the right to write, a draft's page is its review, without a way to open it."""
    token = desk.make(template="pulse")["token"]
    editor = desk.client.get(f"/surveys/{token}")
    assert editor.url.path == f"/surveys/{token}/edit"
    assert "open-it" in desk.client.get(f"/surveys/{token}/review").text
    desk.become("viewer")
    page = desk.client.get(f"/surveys/{token}")
    assert page.status_code == 200
    assert "What you can expect to learn" in page.text
    assert "open-it" not in page.text
    assert f'href="/surveys/{token}"' in desk.client.get("/surveys").text
    assert desk.ask("PATCH", f"/{token}", {"title": "A"}, If_Match='"v1"').status_code == 403


def test_closing_pages_lead_on(desk: Desk) -> None:
    """The buttons of a live survey's page: a last day, time to finish, the end, a copy."""
    token = desk.opened(template="pick")["token"]
    Device().open(desk.services, desk.services.surveys.record(token), level="high")

    def press(name: str, **data: str) -> str:
        answer = desk.client.post(f"/surveys/{token}/{name}", data={"csrf": desk.csrf, **data})
        assert answer.status_code == 200, answer.text
        return answer.text

    assert "Open until the end of 2999-01-01" in press("extend", closes="2999-01-01")
    assert "Open until you close it" in press("extend", closes="")
    assert "still answering" in press("close", grace_days="1")
    press("close", grace_days="0")
    assert desk.services.surveys.record(token).state == "closed"
    press("publish")
    assert desk.services.surveys.record(token).state == "published"
    assert 'id="outline"' in press("copy")
    token = desk.opened(template="pick")["token"]
    assert "cancelled" in press("cancel")
    assert desk.services.surveys.record(token).state == "cancelled"


def test_the_review_tells_what_it_costs(desk: Desk) -> None:
    """In all and by level; whether that is a limit, and that codes tell levels."""
    draft = desk.make(template="pick")
    page = f"/surveys/{draft['token']}/review"
    assert "nobody is paid for taking part" in desk.client.get(page).text
    plan = {"people": 100, "prices": {"high": 1, "medium": 2, "low": 3}}
    draft = desk.change(draft, plan=plan)
    cost = draft["forecast"]["cost"]
    assert cost == sum(one["asked"] * one["price"] for one in draft["forecast"]["levels"]) > 100
    text = desk.client.get(page).text
    assert f'{cost} <small class="muted">credits as planned' in text
    assert "Places are not limited" in text
    draft = desk.change(draft, plan={"quotas": True})
    text = desk.client.get(page).text
    assert "credits at most" in text
    assert "Places are not limited" not in text
    desk.change(draft, plan={"quotas": False, "reward": "codes"})
    assert "which levels their owners chose" in desk.client.get(page).text
