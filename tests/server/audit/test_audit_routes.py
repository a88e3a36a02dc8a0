"""The audit log over HTTP: actors and actions, and the check of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from sqlalchemy import text
from tests.server.routes.test_completion_codes import API, draft, take_part
from tests.surveys.small_surveys import define

from masquerade.server.db.tables import FIRST_TEAM

if TYPE_CHECKING:
    from tests.server.conftest import Site


def test_the_log_says_who_did_what(site: Site) -> None:
    """Every change is an entry with account, day and object, and saving again is one entry."""
    token = draft(site, {"people": 1, "prices": {"high": 7}, "reward": "codes"})
    for title in ("A", "B", "C"):
        etag = site.owner.get(f"{API}/surveys/{token}").headers["etag"]
        changed = {"title": title}
        site.owner.patch(f"{API}/surveys/{token}", json=changed, headers={"If-Match": etag})
    site.owner.post(f"{API}/surveys/{token}/open")
    take_part(site, token)
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})
    site.owner.get(f"{API}/surveys/{token}/reports.csv")
    site.owner.get(f"{API}/surveys/{token}")
    site.owner.post(f"{API}/surveys/{token}/close", json={"grace_days": 0})  # refused: no entry
    told = site.owner.get(f"{API}/audit").json()
    done = [(one["action"], one["object"]) for one in told["entries"]]
    assert done == [
        ("took reports away", token),
        ("closed a survey", token),
        ("opened a survey", token),
        ("changed a draft or survey", token),
        ("made a draft", ""),
        ("signed in by the owner's link", ""),
    ]
    assert {one["login"] for one in told["entries"]} == {"owner"}
    assert told["chain"]["holds"]
    assert told["chain"]["entries"] == len(done)
    assert told["chain"]["head"] == told["entries"][0]["hash"]
    pages = site.owner.get(f"{API}/audit?limit=2").json()
    assert pages["next_before"] == pages["entries"][-1]["sequence"]
    rest = site.owner.get(f"{API}/audit?before={pages['next_before']}").json()
    assert pages["entries"] + rest["entries"] == told["entries"]


def test_the_log_is_not_about_participants(site: Site) -> None:
    """No request of a participant makes an entry."""
    survey = site.services.surveys.open_survey(define())
    phone = site.phone()
    phone.take_part(survey)
    before = site.owner.get(f"{API}/audit").json()
    phone.ask("DELETE", "/me")
    assert site.owner.get(f"{API}/audit").json() == before
    assert {one["login"] for one in before["entries"]} == {"owner"}


def test_who_signs_in_is_logged(site: Site) -> None:
    """Signing in is an entry in the team's log; an attempt that fails is none."""
    password = "four words in a row"
    site.services.teams.add(FIRST_TEAM, role="viewer", login="ann", name="Ann", password=password)
    for typed, status in (("five words in a row", 401), (password, 303)):
        sent = {"login": "ann", "password": typed}
        headers = {"Origin": site.server.url, "Accept": "text/html"}
        with httpx.Client(base_url=site.server.url, trust_env=False, headers=headers) as client:
            assert client.post("/sign-in", data=sent).status_code == status
    told = site.owner.get(f"{API}/audit").json()["entries"]
    signed = [(one["login"], one["action"]) for one in told if one["login"] == "ann"]
    assert signed == [("ann", "signed in")]


def test_integrity_finds_what_was_changed(site: Site) -> None:
    """A changed entry is noticed, and names nobody."""
    draft(site, {})
    assert site.owner.get(f"{API}/audit/integrity").json()["holds"]
    with site.services.engine.execution_options(write=True).begin() as connection:
        connection.execute(text("UPDATE audit_entry SET action = 'did nothing'"))
    found = site.owner.get(f"{API}/audit/integrity").json()
    assert [found[one]["holds"] for one in ("ledger", "audit_log")] == [True, False]
    assert not found["holds"]
    assert not site.owner.get(f"{API}/audit").json()["chain"]["holds"]
    assert "tampered" in site.owner.get("/audit").text
    assert site.owner.get("/audit?check=1").status_code == 200


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/webhooks", {"url": "ftp://example.org", "events": "survey.opened"}, 422),
        ("/webhooks", {"url": "https://10.0.0.1/", "events": "survey.opened"}, 422),
    ],
)
def test_pages_say_what_was_wrong(site: Site, path: str, form: dict[str, str], status: int) -> None:
    """A form that cannot be taken comes back with the reason."""
    answer = site.owner.post(path, data=form)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
