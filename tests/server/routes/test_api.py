"""Responses of a running server to devices and browsers, and refusals."""

from __future__ import annotations

import html
import json
import logging
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.server.refusals import problem_of
from tests.surveys.small_surveys import define

from masquerade.server.app import _description
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.http.security import LARGEST_BODY
from masquerade.server.participants.steps import Reserve
from masquerade.server.surveys.document import changed
from masquerade.server.surveys.templates import TEMPLATES
from masquerade.surveys import Choice, Rating

if TYPE_CHECKING:
    from tests.conftest import LiveServers
    from tests.server.conftest import Site

POISON = '</script><script>alert("1")</script>&\'"'


def created(site: Site, template: str, **changes: Any) -> str:
    """Make a survey of a template on the owner's pages, open it, and return its token."""
    page = site.owner.post("/surveys/new", data={"template": template})
    assert page.status_code == 200, page.text
    token = page.url.path.split("/")[2]
    drafts = site.services.drafts
    if changes:
        drafts.change(token, changes, team=FIRST_TEAM, version=1)
    version = drafts.draft(token, team=FIRST_TEAM).version
    opened = site.owner.post(f"/surveys/{token}/open", data={"version": version})
    assert opened.url.path == f"/surveys/{token}", opened.text
    return token


def test_not_found_in_two_forms(site: Site) -> None:
    """A missing address is a problem for programs and a page for browsers."""
    for path in ("/nothing", "/s/0000000000000000", "/s/%00", "/static/nothing.js"):
        problem_of(site.visitor.get(path), 404, "not-found")
        page = site.visitor.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        # Of a survey, the participants' app says it, in the person's language.
        assert ("data-build" if path.startswith("/s/") else "That did not work") in page.text


def test_every_response_carries_the_policy(site: Site) -> None:
    """Pages, data, files, redirects and errors of every kind carry all security headers."""
    survey = site.services.surveys.open_survey(define())
    closed = site.services.surveys.close(site.services.surveys.open_survey(define()))
    visitor, owner = site.visitor, site.owner
    answers = [
        visitor.get("/"),
        visitor.get("/healthz"),
        visitor.get("/surveys"),
        visitor.get("/nothing"),
        visitor.get(f"/s/{survey.token}"),
        visitor.get("/static/mechanisms/mask.js"),
        visitor.get("/me"),
        visitor.get("/static/nothing.js"),
        visitor.get("/api/v1/openapi.json"),
        visitor.get("/api/v1/me"),
        visitor.post("/api/v1/me"),
        visitor.get("/owner", params={"token": "wrong"}),
        visitor.post("/healthz", content=b" " * (LARGEST_BODY + 1)),
        *site.phone().take_part(survey),
        site.phone().reserve(survey.token, "none"),
        site.phone().reserve(survey.token, "x y"),
        site.phone().reserve(closed.token, "medium"),
        owner.get("/surveys"),
        owner.get("/surveys/new"),
        owner.get(f"/surveys/{survey.token}"),
        owner.get(f"/surveys/{closed.token}"),
        owner.get(f"/api/v1/surveys/{closed.token}/results.csv"),
    ]
    for answer in answers:
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] in ("no-referrer", "same-origin")
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert len(headers.get_list("cache-control")) == 1
        static = answer.url.path.startswith("/static/")
        assert headers["cache-control"] == ("no-cache" if static else "no-store")
    page = visitor.get(f"/s/{survey.token}")
    file = visitor.get(re.findall(r'"(/app/[^"]+/main\.js)"', page.text)[0])
    # Opened by itself, a file of the app may do nothing at all.
    assert file.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "style-src 'self';" in page.headers["content-security-policy"]


def test_an_unexpected_error_tells_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An unforeseen failure gives a plain 500 with all headers; the log has no text of it."""
    survey = site.services.surveys.open_survey(define())

    reports = [3, 1, 4]

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"reports are {reports}")

    monkeypatch.setattr(Reserve, "_require_patience", fail)
    with caplog.at_level(logging.DEBUG):
        answer = site.phone().reserve(survey.token, "medium")
    problem_of(answer, 500, "server-error")
    assert "content-security-policy" in answer.headers
    ours = "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("http"))
    assert "reports are [3" not in answer.text
    assert "reports are [3" not in ours
    assert "RuntimeError" in ours
    assert "in reserve" in ours


def test_forms_of_our_own_pages_are_accepted(site: Site) -> None:
    """The owner's own pages, which name their origin, may close a survey."""
    survey = site.services.surveys.open_survey(define())
    headers = {"Origin": site.server.url, "Sec-Fetch-Site": "same-origin"}
    assert site.owner.post(f"/surveys/{survey.token}/close", headers=headers).status_code == 200
    assert site.services.surveys.record(survey.token).state == "closed"


def test_the_owner_link_works_once(site: Site) -> None:
    """The owner's link gives one browser a session cookie that scripts cannot read, then ends."""
    with httpx.Client(base_url=site.server.url, trust_env=False) as browser:
        token = site.services.values.new_owner_token()
        first = browser.get("/owner", params={"token": token})
        assert (first.status_code, first.headers["location"]) == (303, "/surveys")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        assert token not in cookie
        assert browser.get("/surveys").status_code == 200
        assert browser.get("/owner").status_code == 303
        assert browser.get("/owner", params={"token": token}).status_code == 401
    again = site.visitor.get("/owner", params={"token": token})
    assert again.status_code == 401
    assert "set-cookie" not in again.headers
    assert site.visitor.get("/owner").status_code == 401


def test_the_cookie_stays_on_https(site: Site) -> None:
    """Behind a proxy that speaks https, the cookie is sent over https only."""
    params = {"token": site.services.values.new_owner_token()}
    proxied = site.visitor.get("/owner", params=params, headers={"X-Forwarded-Proto": "https"})
    assert "; Secure" in proxied.headers["set-cookie"]


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_a_survey_from_each_template(site: Site, template: str) -> None:
    """Each template, used as it is, opens a survey to answer, on pages that name it."""
    token = created(site, template)
    survey = site.services.surveys.record(token)
    assert (survey.state, survey.survey.template) == ("open", template)
    title = survey.survey.title
    assert title in html.unescape(site.owner.get("/surveys").text)
    share = html.unescape(site.owner.get(f"/surveys/{token}").text)
    assert f"{site.server.url}/s/{token}" in share
    assert 'src="data:image/svg+xml' in share
    assert site.visitor.get(f"/s/{token}").status_code == 200
    for level in survey.survey.levels:
        site.phone().take_part(survey, level=level.name)
    progress = site.owner.get(f"/api/v1/surveys/{token}/progress").json()
    assert progress["responses"] == len(survey.survey.levels)


def test_an_unknown_template_is_not_found(site: Site) -> None:
    """Nothing is made of a template that does not exist."""
    assert site.owner.post("/surveys/new", data={"template": "x"}).status_code == 404
    assert site.owner.post("/surveys/new", data={}).status_code == 422
    assert site.services.surveys.listed(team=FIRST_TEAM) == []


def test_a_file_becomes_a_draft_or_an_error_with_its_place(site: Site) -> None:
    """An exported draft can be imported; a file that cannot tells its faulty place."""
    token = created(site, "pulse", title="Imported")
    file = site.owner.get(f"/api/v1/surveys/{token}/document")
    assert 'filename="imported.json"' in file.headers["content-disposition"]
    page = site.owner.post("/surveys/import", files={"file": ("a.json", file.content)})
    draft = site.services.drafts.draft(page.url.path.split("/")[2], team=FIRST_TEAM)
    assert draft.document.text().encode() == file.content
    for content, says in (
        (b"{", "line 1, column 2"),
        (b"\xff", "no text in UTF-8"),
        (b'{"colour": 5}', "<code>/colour</code>"),
        (POISON.encode(), "no well-formed XML"),
    ):
        page = site.owner.post("/surveys/import", files={"file": ("a.json", content)})
        assert page.status_code == 422
        assert says in page.text
        assert "<script>alert" not in page.text


def test_a_questionnaire_of_another_tool_becomes_a_draft_with_a_report(site: Site) -> None:
    """The page names every element, its fate and the reason, and leads to the builder."""
    path = Path(__file__).parents[2] / "surveys" / "questionnaires" / "small.qsf"
    page = site.owner.post("/surveys/import", files={"file": ("a.qsf", path.read_bytes())})
    assert page.status_code == 200
    assert "no mask can protect it" in page.text
    [token] = set(re.findall(r"/surveys/([0-9a-f]{16})/edit", page.text))
    draft = site.services.drafts.draft(token, team=FIRST_TEAM)
    assert [one["id"] for one in draft.document.questions][:2] == ["smoke", "likely"]


def test_a_draft_that_is_not_finished_is_not_opened(site: Site) -> None:
    """Its review names the missing parts; so does the attempt to open it."""
    page = site.owner.post("/surveys/new", data={"template": "pick"})
    token = page.url.path.split("/")[2]
    site.services.drafts.change(token, {"title": ""}, team=FIRST_TEAM, version=1)
    review = site.owner.get(f"/surveys/{token}/review")
    assert "Give the survey a title." in review.text
    assert "open-it" not in review.text
    for version in (1, 2):
        refused = site.owner.post(f"/surveys/{token}/open", data={"version": version})
        assert refused.status_code == 422
    assert site.services.surveys.records() == []
    gone = site.owner.post(f"/surveys/{token}/delete")
    assert gone.url.path == "/surveys"
    assert site.owner.get(f"/surveys/{token}/edit").status_code == 404


@pytest.mark.parametrize("template", ["rate", "pick", "label"])
def test_markup_is_shown_and_not_run(site: Site, template: str) -> None:
    """Markup in any text of a survey is escaped on every page that shows it."""
    [question, *_] = TEMPLATES[template].document().questions
    poisoned = {**question, "text": f"I{POISON}", "allow_skip": True}
    if "options" in question:
        poisoned |= {"options": [f"O{POISON}", f"P{POISON}"], "truth": None}
    changes = {"title": f"T{POISON}", "description": f"D{POISON}", "questions": [poisoned]}
    draft, _ = site.services.drafts.create(
        changed(TEMPLATES[template].document(), changes), team=FIRST_TEAM
    )
    drafts = [
        site.owner.get(f"/surveys/{draft.token}/{name}").text
        for name in ("edit", "audience", "review")
    ]
    token = created(site, template, **changes)
    survey = site.services.surveys.record(token)
    for _ in range(6):
        site.phone().take_part(survey)
    pages = [
        *drafts,
        site.owner.get("/surveys").text,
        site.owner.get(f"/surveys/{token}").text,
        site.visitor.get(f"/s/{token}").text,
        site.owner.post(f"/surveys/{token}/close").text,
        site.visitor.get(f"/s/{token}").text,
        site.owner.get(f"/surveys/{token}", headers={"Accept": "text/html"}).text,
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert page.count("<script") == page.count("</script>")
    assert site.visitor.get(f"/api/v1/surveys/{token}/invitation").json()["title"] == f"T{POISON}"
    assert f"T{POISON}" in html.unescape(pages[-1])


def test_texts_in_addresses_are_not_run(site: Site) -> None:
    """Markup in an address is not part of an error page as markup."""
    for path in (f"/{POISON}", f"/s/{POISON}", f"/surveys/{POISON}"):
        page = site.owner.get(httpx.URL(site.server.url).copy_with(path=path))
        assert page.status_code == 404
        assert "alert(" not in page.text  # a link may repeat the address, percent-encoded
        assert page.text.count("<script") == page.text.count("</script>")


def test_results_come_after_the_close(site: Site) -> None:
    """Results are refused while a survey is open and the same everywhere once it is closed."""
    survey = site.services.surveys.open_survey(
        define(Rating("r", "How?"), Choice("c", "?", ("A", "B")))
    )
    for report in (0, 1, 4):
        site.phone().take_part(survey, [report, report % 2])
    for name in ("results", "results.csv"):
        url = f"/api/v1/surveys/{survey.token}/{name}"
        problem_of(site.owner.get(url), 409, "wrong-state")
    page = site.owner.get(f"/surveys/{survey.token}").text
    assert 'class="plot"' not in page
    page = site.owner.post(f"/surveys/{survey.token}/close").text
    found = site.owner.get(f"/api/v1/surveys/{survey.token}/results").json()
    assert page.count('class="plot"') >= len(found["questions"])
    assert found["responses"] == 3
    table = site.owner.get(f"/api/v1/surveys/{survey.token}/results.csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="results-{survey.token}.csv"' in table.headers["content-disposition"]
    estimates = 2 * (5 + 2) + 1  # estimated and reported shares; one mean
    assert len(table.text.split("\r\n")) == 1 + estimates + 3 + 2 + 1  # quartiles; tests; the end


def test_a_survey_that_nobody_answered(site: Site) -> None:
    """Closing a survey without responses gives a page that says so, and empty files."""
    survey = site.services.surveys.open_survey(define())
    page = site.owner.post(f"/surveys/{survey.token}/close")
    assert page.status_code == 200
    assert "Nobody answered" in page.text
    found = site.owner.get(f"/api/v1/surveys/{survey.token}/results").json()
    assert (found["responses"], found["questions"], found["labels"]) == (0, [], [])
    table = site.owner.get(f"/api/v1/surveys/{survey.token}/results.csv").text
    assert table.count("\r\n") == 1


def test_share_links_name_the_public_address(live_server: LiveServers) -> None:
    """Where a public address is set, share links begin with it."""
    server = live_server(public_url="https://surveys.example")
    survey = server.services.surveys.open_survey(define())
    with httpx.Client(trust_env=False, follow_redirects=True) as owner:
        owner.get(server.owner_link)
        page = owner.get(f"{server.url}/surveys/{survey.token}").text
    assert f'href="https://surveys.example/s/{survey.token}"' in page


def test_health(site: Site) -> None:
    """The health check answers without a session and tells nothing of the data."""
    found = site.visitor.get("/healthz").json()
    assert set(found) == {"status", "version"}
    assert found["status"] == "ok"


def test_where_faults_are_reported(live_server: LiveServers) -> None:
    """`security.txt` has contact and expiry as RFC 9116 asks; without a contact there is none."""
    settings: dict[str, Any] = {
        "public_url": "https://surveys.example",
        "security_contact": "mailto:security@example.org",
        "security_expires": "2999-12-31",
    }
    found = httpx.get(f"{live_server(**settings).url}/.well-known/security.txt")
    assert found.headers["content-type"].startswith("text/plain")
    assert found.text.splitlines() == [
        "Contact: mailto:security@example.org",
        "Expires: 2999-12-31T23:59:59Z",
        "Preferred-Languages: en",
        "Canonical: https://surveys.example/.well-known/security.txt",
    ]
    settings, before = {"security_contact": "https://example.org/help"}, datetime.now(UTC).date()
    told = httpx.get(f"{live_server(**settings).url}/.well-known/security.txt").text
    expires = re.search(r"^Expires: (.*)T23:59:59Z$", told, re.MULTILINE)
    assert expires is not None
    assert date.fromisoformat(expires[1]) > before


def test_a_generated_client_has_every_response() -> None:
    """Every response names its content, problems by one schema, and no two models share a name.

    A generator leaves a response out whose media types it does not know, or whose model has the
    name of another one.
    """
    document = _description()
    schemas = document["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)):
        assert name in schemas
        assert "__" not in name, "two models have this name"
    known = {"application/json", "application/problem+json", "application/octet-stream"}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                place, content = (path, status), answer.get("content", {})
                if not status.startswith("2"):
                    schema = content["application/problem+json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Problem"}, place
                elif content:
                    readable = [one for one in content if one in known or one.startswith("text/")]
                    assert readable, place
                    assert all("schema" in content[one] for one in readable), place
