"""What devices and browsers get from a running server, and what they are refused."""

from __future__ import annotations

import html
import json
import logging
import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.responses import Response as StarletteResponse

from masquerade.answers import Choice, Rating
from masquerade.server import Settings
from masquerade.server.owner import owner_routes
from masquerade.server.security import LARGEST_BODY, SESSION_COOKIE, OwnerSessions
from masquerade.server.template import TEMPLATES

if TYPE_CHECKING:
    from tests.conftest import LiveServers
    from tests.server.conftest import Kit, Site

PROBLEM = "application/problem+json"
POISON = '</script><script>alert("1")</script>&\'"'


def problem_of(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Return the problem details of a response, after checking their form."""
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM
    found: dict[str, Any] = response.json()
    assert (found["type"], found["status"]) == (f"/problems/{slug}", status)
    assert found["title"]
    assert found["detail"]
    return found


def form(**changes: Any) -> dict[str, Any]:
    """Return what the form for a new survey sends."""
    return {
        "template": "pick",
        "title": "Sick leave",
        "description": "",
        "items": "Ever worked while ill?",
        "options": "Yes\nNo",
        "level": "choose",
        "topic": "everyday",
        "masking": "per-answer",
        **changes,
    }


def created(site: Site, **changes: Any) -> str:
    """Create a survey by the form and return its token."""
    response = site.owner.post("/surveys/new", data=form(**changes))
    assert response.status_code == 200, response.text
    return response.url.path.removeprefix("/surveys/")


def island(page: str, name: str) -> Any:
    """Return the JSON data that a page carries."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_not_found_in_two_forms(site: Site) -> None:
    """What is not there is a problem for programs and a page for browsers."""
    for path in ("/nothing", "/s/0000000000000000", "/s/%00", "/static/nothing.js"):
        problem_of(site.visitor.get(path), 404, "not-found")
        page = site.visitor.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        # Of a survey, the participants' app says it, in the person's language.
        assert ("data-build" if path.startswith("/s/") else "That did not work") in page.text


def test_every_response_carries_the_policy(site: Site, kit: Kit) -> None:
    """Pages, data, files, redirects and errors of every kind carry all security headers."""
    survey = site.store.open_survey(kit.define())
    closed = site.store.close_survey(site.store.open_survey(kit.define()).token)
    visitor, owner = site.visitor, site.owner
    answers = [
        visitor.get("/"),
        visitor.get("/healthz"),
        visitor.get("/surveys"),
        visitor.get("/nothing"),
        visitor.get(f"/s/{survey.token}"),
        visitor.get("/static/mask.js"),
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
        owner.get(f"/surveys/{closed.token}/results.csv"),
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
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "style-src 'self';" in page.headers["content-security-policy"]


def test_an_unexpected_error_tells_nothing(
    site: Site, kit: Kit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An unforeseen failure gives a plain 500 with all headers; the log has no text of it."""
    survey = site.store.open_survey(kit.define())

    reports = [3, 1, 4]

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"reports are {reports}")

    monkeypatch.setattr(type(site.store.participations), "_reserve", fail)
    with caplog.at_level(logging.DEBUG):
        answer = site.phone().reserve(survey.token, "medium")
    problem_of(answer, 500, "server-error")
    assert "content-security-policy" in answer.headers
    ours = "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("http"))
    assert "reports are [3" not in answer.text
    assert "reports are [3" not in ours
    assert "RuntimeError" in ours
    assert "in reserve" in ours


def _owner_requests(site: Site, token: str) -> list[tuple[str, str]]:
    """Return method and path of every route of the owner's but the one that starts a session."""
    routes = owner_routes(site.store, Settings("sqlite://"), OwnerSessions("x")).routes
    found = [
        (method, route.path.format(token=token))
        for route in routes
        if isinstance(route, APIRoute) and route.path != "/owner"
        for method in sorted(route.methods or ())
    ]
    assert len(found) == len(routes) - 1 >= 8
    return found


def test_owner_pages_need_a_session(site: Site, kit: Kit) -> None:
    """Without a session, or with a forged one, every owner's page answers 401 and does nothing."""
    survey = site.store.open_survey(kit.define())
    real, elsewhere = site.owner.cookies[SESSION_COOKIE], StarletteResponse()
    OwnerSessions("another secret").start(elsewhere, https=False)
    cookies = [
        "",
        f"{SESSION_COOKIE}=",
        f"{SESSION_COOKIE}=owner",
        f"{SESSION_COOKIE}={real[:-4]}{'BBBB' if real.endswith('AAAA') else 'AAAA'}",
        elsewhere.headers["set-cookie"].partition(";")[0],
    ]
    before = kit.everything(site.store)
    for cookie in cookies:
        for method, path in _owner_requests(site, survey.token):
            accept = "text/html" if cookie else "application/json"
            headers = {"Accept": accept, "Cookie": cookie}
            answer = site.visitor.request(method, path, headers=headers, data=form())
            assert answer.status_code == 401, (method, path)
            assert survey.definition.title not in answer.text
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind == ("text/html" if cookie else PROBLEM)
    assert kit.everything(site.store) == before
    headers = {"Cookie": f"{SESSION_COOKIE}={real}"}
    assert site.visitor.get("/surveys", headers=headers).status_code == 200


def test_a_session_ends_after_a_month(
    site: Site, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session cookie older than 30 days is no session any more."""
    assert site.owner.get("/surveys").status_code == 200
    monkeypatch.setattr("masquerade.server.security.SESSION_SECONDS", -1)
    assert site.owner.get("/surveys").status_code == 401


def test_forms_of_other_sites_are_refused(site: Site, kit: Kit) -> None:
    """A request that changes something and comes from another origin does nothing."""
    survey = site.store.open_survey(kit.define())
    before = kit.everything(site.store)
    foreign = [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1.elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ]
    for headers in foreign:
        for method, path in _owner_requests(site, survey.token):
            if method == "POST":
                answer = site.owner.request(method, path, data=form(), headers=headers)
                assert answer.status_code == 401, headers
    assert kit.everything(site.store) == before


def test_forms_of_our_own_pages_are_accepted(site: Site, kit: Kit) -> None:
    """The owner's own pages, which name their origin, may close a survey."""
    survey = site.store.open_survey(kit.define())
    headers = {"Origin": site.server.url, "Sec-Fetch-Site": "same-origin"}
    assert site.owner.post(f"/surveys/{survey.token}/close", headers=headers).status_code == 200
    assert site.store.survey(survey.token).state == "closed"


def test_the_owner_link_works_once(site: Site, kit: Kit) -> None:
    """The owner's link gives one browser a session cookie that scripts cannot read, then ends."""
    with httpx.Client(base_url=site.server.url, trust_env=False) as browser:
        token = site.store.new_owner_token()
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
    params = {"token": site.store.new_owner_token()}
    proxied = site.visitor.get("/owner", params=params, headers={"X-Forwarded-Proto": "https"})
    assert "; Secure" in proxied.headers["set-cookie"]


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_a_survey_from_each_template(site: Site, template: str) -> None:
    """Each template's form, sent as it is filled in at first, opens a survey to answer."""
    page = site.owner.get("/surveys/new", params={"template": template})
    assert page.status_code == 200
    chosen = TEMPLATES[template]
    assert html.escape(chosen.example_title, quote=False) in html.unescape(page.text)
    token = created(
        site,
        template=template,
        title=chosen.example_title,
        items=chosen.example_items,
        options=chosen.example_options,
    )
    survey = site.store.survey(token)
    assert (survey.state, survey.definition.template) == ("open", template)
    assert chosen.example_title in html.unescape(site.owner.get("/surveys").text)
    share = html.unescape(site.owner.get(f"/surveys/{token}").text)
    assert f"{site.server.url}/s/{token}" in share
    assert 'src="data:image/svg+xml' in share
    assert site.visitor.get(f"/s/{token}").status_code == 200
    assert [level.name for level in survey.definition.levels] == ["high", "medium", "low"]
    for level in ("high", "medium", "low"):
        site.phone().take_part(survey, level=level)
    assert site.owner.get(f"/surveys/{token}/count").json() == {"responses": 3}


def test_an_unknown_template_is_not_found(site: Site) -> None:
    """There is no form for a template that does not exist."""
    assert site.owner.get("/surveys/new", params={"template": "x"}).status_code == 404


FORM_ERRORS: list[Any] = [
    ({"title": " "}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"description": "x" * 2001}, "2001 characters"),
    ({"items": " \n "}, "nothing to ask"),
    ({"items": "x" * 501}, "501 characters"),
    ({"options": "Yes"}, "1 options"),
    ({"options": "Yes\nYes"}, "stands twice"),
    ({"options": "\n".join(map(str, range(101)))}, "101 options"),
    ({"template": "rate", "items": "\n".join(map(str, range(201)))}, "201 questions"),
    ({"level": "none"}, "level is 'none'"),
    ({"topic": "gossip"}, "topic is 'gossip'"),
    ({"masking": "clear"}, "masking is 'clear'"),
    ({"template": "nothing"}, "template is 'nothing'"),
    ({"allow_skip": "true", "masking": "per-person"}, "can be skipped"),
]


def test_one_level_for_everybody(site: Site) -> None:
    """The owner can fix the level, name the topic and list the survey."""
    token = created(site, level="low", topic="sensitive", listed="true")
    survey = site.store.survey(token)
    assert survey.definition.fixed_level == "low"
    assert (survey.definition.topic, survey.definition.reveal) == ("sensitive", "after_send")
    assert survey.listed
    assert not site.store.survey(created(site)).listed


def test_errors_in_the_form_keep_what_was_typed(site: Site) -> None:
    """A form that cannot be used comes back with the reason and everything that was typed."""
    for changes, says in FORM_ERRORS:
        sent = form(**{"title": "A <b>title", "description": "Why & who", **changes})
        answer = site.owner.post("/surveys/new", data=sent)
        assert answer.status_code == 422
        text = html.unescape(answer.text)
        alert = re.search(r'role="alert">(.*?)</p>', text, re.S)
        assert alert is not None
        assert says in alert[1]
        assert f'value="{sent["title"]}"' in text
        for name in ("description", "items", *(["options"] if 'id="options"' in text else [])):
            typed = re.search(rf'<textarea id="{name}"[^>]*>(.*?)</textarea>', answer.text, re.S)
            assert typed is not None
            assert html.unescape(typed[1]) == sent[name]
        assert ("checked" in answer.text) == ("allow_skip" in changes)
    assert site.store.surveys() == []


def test_a_form_that_no_page_sends_is_an_error_page(site: Site) -> None:
    """A form without its template, or with no true or false, is a 422 page in a browser."""
    for sent in ({"title": "x"}, form(allow_skip="perhaps")):
        answer = site.owner.post("/surveys/new", data=sent)
        assert answer.status_code == 422
        assert answer.headers["content-type"].startswith("text/html")
        assert "perhaps" not in answer.text


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_markup_is_shown_and_not_run(site: Site, template: str) -> None:
    """Markup in any text of a survey is escaped on every page that shows it."""
    token = created(
        site,
        template=template,
        title=f"T{POISON}",
        description=f"D{POISON}",
        items=f"I{POISON}",
        options=f"O{POISON}\nP{POISON}",
        allow_skip="true",
    )
    survey = site.store.survey(token)
    for _ in range(6):
        site.phone().take_part(survey)
    pages = [
        site.owner.post("/surveys/new", data=form(title=POISON, description=POISON, items="")).text,
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
    assert island(pages[6], "result")["title"] == f"T{POISON}"


def test_texts_in_addresses_are_not_run(site: Site) -> None:
    """Markup in an address is not part of an error page as markup."""
    for path in (f"/{POISON}", f"/s/{POISON}", f"/surveys/{POISON}"):
        page = site.owner.get(httpx.URL(site.server.url).copy_with(path=path))
        assert page.status_code == 404
        assert "alert" not in page.text


def test_results_come_after_the_close(site: Site, kit: Kit) -> None:
    """Results are refused while a survey is open and the same everywhere once it is closed."""
    survey = site.store.open_survey(kit.define(Rating("r", "How?"), Choice("c", "?", ("A", "B"))))
    for report in (0, 1, 4):
        site.phone().take_part(survey, [report, report % 2])
    for name in ("results.json", "results.csv"):
        url = f"/surveys/{survey.token}/{name}"
        problem_of(site.owner.get(url, headers={"Accept": "*/*"}), 409, "wrong-state")
        assert site.owner.get(url).headers["content-type"].startswith("text/html")
    page = site.owner.get(f"/surveys/{survey.token}").text
    assert 'id="result"' not in page
    assert "Estimated share" not in page
    page = site.owner.post(f"/surveys/{survey.token}/close").text
    found = site.owner.get(f"/surveys/{survey.token}/results.json").json()
    assert island(page, "result") == found
    assert (found["responses"], found["state"]) == (3, "closed")
    table = site.owner.get(f"/surveys/{survey.token}/results.csv")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="results-{survey.token}.csv"' in table.headers["content-disposition"]
    assert len(table.text.split("\r\n")) == 1 + 5 + 1 + 2 + 1


def test_a_survey_that_nobody_answered(site: Site, kit: Kit) -> None:
    """Closing a survey without responses gives a page that says so, and empty files."""
    survey = site.store.open_survey(kit.define())
    page = site.owner.post(f"/surveys/{survey.token}/close")
    assert page.status_code == 200
    assert "Nobody answered" in page.text
    found = site.owner.get(f"/surveys/{survey.token}/results.json").json()
    assert (found["responses"], found["questions"], found["labels"]) == (0, [], [])
    table = site.owner.get(f"/surveys/{survey.token}/results.csv").text
    assert table.count("\r\n") == 1


def test_pages_of_what_is_not_there(site: Site) -> None:
    """Every owner's page of an unknown survey is not found."""
    for method, path in _owner_requests(site, "0123456789abcdef"):
        if "0123456789abcdef" in path:
            assert site.owner.request(method, path).status_code == 404, path


def test_share_links_name_the_public_address(live_server: LiveServers, kit: Kit) -> None:
    """Where a public address is set, share links begin with it."""
    server = live_server(public_url="https://surveys.example")
    survey = server.store.open_survey(kit.define())
    with httpx.Client(trust_env=False, follow_redirects=True) as owner:
        owner.get(server.owner_link)
        page = owner.get(f"{server.url}/surveys/{survey.token}").text
    assert f'href="https://surveys.example/s/{survey.token}"' in page


def test_health(site: Site) -> None:
    """The health check answers without a session and tells nothing of the data."""
    found = site.visitor.get("/healthz").json()
    assert set(found) == {"status", "version"}
    assert found["status"] == "ok"
