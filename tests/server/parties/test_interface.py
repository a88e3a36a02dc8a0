"""The interface of surveys between two parties, over HTTP from the draft to the result's page."""

from __future__ import annotations

import base64
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from tests.patience import wait_until
from tests.server.parties.pairs import OPERATOR, device_report, helper_at
from tests.serving import CERTIFICATES

from masquerade.server.http.security import COOKIE, csrf_token
from masquerade.surveys.survey import split_commitment

if TYPE_CHECKING:
    from tests.conftest import LiveServers

DOCUMENT = {
    "title": "Canteen",
    "trust": "two-parties",
    "questions": [
        {"kind": "choice", "id": "lunch", "text": "Lunch?", "options": ["soup", "salad"]},
        {"kind": "rating", "id": "mood", "text": "Mood?"},
    ],
}
PEOPLE = 6


def test_from_the_draft_to_the_page_of_results(
    live_server: LiveServers, tmp_path: Path, migrated_file: Path
) -> None:
    """A surveyor adds a helper, asks it, opens, and reads results; devices send sealed reports."""
    helper_url = f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'helper.sqlite3')}"
    server = live_server(helper_private=True)
    with (
        helper_at(helper_url) as (helper, address),
        httpx.Client(
            base_url=server.url, verify=CERTIFICATES, trust_env=False, follow_redirects=True
        ) as owner,
    ):
        owner.get(server.owner_link, headers={"Accept": "text/html"})
        owner.headers["X-CSRF-Token"] = csrf_token(owner.cookies[COOKIE])
        mistyped = {"address": address, "token": "mqh_none", "fingerprint": helper.fingerprint}
        refused = owner.post("/api/v1/helpers", json=mistyped)
        assert refused.status_code == 422
        assert "does not know this server's token" in refused.json()["detail"]
        assert owner.get("/api/v1/helpers").json()["helpers"] == []
        added = owner.post(
            "/api/v1/helpers",
            json={
                "address": address,
                "token": helper.access.new_leader_token(),
                "fingerprint": " ".join([helper.fingerprint[:16], helper.fingerprint[16:]]).upper(),
            },
        )
        assert added.status_code == 201, added.text
        assert owner.get("/api/v1/helpers").json()["helpers"] == [added.json()]
        terms = {
            "helper": address,
            "operator": OPERATOR,
            "fingerprint": helper.fingerprint,
            "minimum": 3,
            "cross": [["lunch", "mood"]],
        }
        made = owner.post(
            "/api/v1/surveys",
            json={"document": {**DOCUMENT, "two_parties": terms}},
            headers={"Idempotency-Key": secrets.token_hex(16)},
        )
        assert made.status_code == 201, made.text
        draft = made.json()
        assert draft["errors"] == []
        assert [one["margin"] for one in draft["forecast"]["questions"]]
        token = draft["token"]
        place = f"/api/v1/surveys/{token}"
        assert owner.get(f"{place}/helper").json()["state"] is None
        assert owner.post(f"{place}/open").status_code == 409
        asked = owner.post(f"{place}/helper").json()
        assert asked["state"] == "proposed"
        helper.tasks.decide(asked["task"], approve=True)
        assert owner.post(f"{place}/helper").json()["state"] == "approved"
        led = httpx.get(f"{address}{place}/invitation", trust_env=False)
        assert led.status_code == 404
        assert f"{server.url}/s/{token}" in led.json()["detail"]
        opened = owner.post(f"{place}/open")
        assert opened.status_code == 200, opened.text

        for number in range(PEOPLE):
            _answer(owner, token, {"lunch": ("soup", "salad")[number % 2], "mood": "4"})
        assert owner.get(f"{place}/aggregation").json()["reports"] == PEOPLE
        owner.post(f"{place}/close", json={"grace_days": 0})
        wait_until(
            "it was not added up",
            lambda: owner.get(f"{place}/aggregation").json()["state"] == "collected",
        )
        result = owner.get(f"{place}/results").json()
        assert (result["responses"], result["trust"]) == (PEOPLE, "two-parties")
        [table] = result["cross_tables"]
        assert table["questions"] == ["lunch", "mood"]
        assert len(table["cells"]) == 10
        rows = owner.get(f"{place}/results.csv").text.splitlines()
        assert any(row.split(",")[1:3] == ["lunch", "soup"] for row in rows)
        codebook = owner.get(f"{place}/codebook").json()
        assert codebook["trust"] == "two-parties"
        assert codebook["sums"][0]["symbols"] == ["soup", "salad"]
        assert owner.get(f"{place}/reports.csv").status_code == 409
        assert owner.get(f"{place}/cross-table?first=lunch&second=mood").status_code == 409
        related = owner.get(f"/surveys/{token}/relations", headers={"Accept": "text/html"})
        assert '<option value="lunch"' in related.text
        assert '<option value="mood"' in related.text
        page = owner.get(f"/surveys/{token}", headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert "split into two shares" in page.text
        export = owner.get("/api/v1/openapi.json").json()["paths"]
        assert "/api/v1/participations/{participation}/sealed-report" in export


def test_a_survey_that_waits_for_its_helper_says_so(
    live_server: LiveServers, tmp_path: Path, migrated_file: Path
) -> None:
    """The page of a closed survey is there while the helper is away, and tells why it waits."""
    helper_url = f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'helper.sqlite3')}"
    server = live_server(helper_private=True)
    from tests.server.parties.pairs import Pair

    with helper_at(helper_url) as (helper, address):
        leader_token = helper.access.new_leader_token()
        assert leader_token is not None
        pair = Pair(server.services, helper, address, leader_token)
        record = pair.open()
        pair.crowd(record, 4)
    pair.close(record)
    with httpx.Client(base_url=server.url, trust_env=False, follow_redirects=True) as owner:
        page = owner.get(server.owner_link, headers={"Accept": "text/html"})
        wait_until(
            "it does not wait",
            lambda: bool(server.services.aggregation.progress(record.token)["obstacle"]),
        )
        page = owner.get(f"/surveys/{record.token}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "does not answer: no connection could be made" in page.text
    assert "tried again by itself" in page.text


def _answer(client: httpx.Client, token: str, answers: dict[str, str]) -> None:
    """Take all steps on a device, over HTTP."""
    headers = {"Masquerade-Participant": secrets.token_hex(16)}
    invitation = client.get(f"/api/v1/surveys/{token}/invitation").json()
    parties = invitation["two_parties"]
    assert invitation["trust"] == "two-parties"
    assert parties["operator"] == OPERATOR
    body = {"survey": token, "level": "two-parties"}
    key = {"Idempotency-Key": secrets.token_hex(16), **headers}
    begun = client.post("/api/v1/participations", json=body, headers=key)
    assert begun.status_code == 201, begun.text
    place = f"/api/v1/participations/{begun.json()['id']}"
    opened = client.post(f"{place}/open", headers=headers).json()
    report = device_report(parties["approval"], opened["survey"], answers).encode()
    salt = secrets.token_hex(16)
    commitment = split_commitment(begun.json()["id"], report, salt)
    sealed = client.post(f"{place}/seal", json={"commitment": commitment}, headers=headers)
    assert sealed.status_code == 200
    sent = client.put(
        f"{place}/sealed-report",
        json={
            "report": base64.b64encode(report).decode(),
            "salt": salt,
            "level": "two-parties",
            "survey_hash": opened["hash"],
        },
        headers=headers,
    )
    assert sent.status_code == 201, sent.text
    assert sent.json()["bill"]["survey_rho"] == 0.5
    me = client.get("/api/v1/me/export", headers=headers).json()
    assert len(me["sealed_reports"]) == 1
