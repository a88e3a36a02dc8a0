"""What devices and browsers get from a running server, and what they are refused."""

from __future__ import annotations

import html
import json
import logging
import re
import secrets
from collections.abc import Iterator
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
        "level": "medium",
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


def test_a_submission_is_accepted_once(site: Site, kit: Kit) -> None:
    """The first submission gives 201 and a bill, the same one again 200 and the same bill."""
    survey = site.store.open_survey(kit.define())
    url, sent = f"/api/v1/surveys/{survey.token}/responses", kit.body(survey)
    first, again = site.visitor.post(url, json=sent), site.visitor.post(url, json=sent)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    spent = survey.definition.guarantee().epsilon_user.to_json()
    day = site.store.ledger(sent["participant"])[0].charge.day
    assert first.json() == {
        "accepted": True,
        "bill": {"survey_epsilon": spent, "total_epsilon": spent, "surveys": 1, "day": day},
    }
    assert site.store.survey(survey.token).responses == 1


def test_the_ledger_of_a_device(site: Site, kit: Kit) -> None:
    """A device reads its own ledger by its secret in a header; another device sees nothing."""
    surveys = [site.store.open_survey(kit.define()) for _ in range(2)]
    participant = secrets.token_hex(16)
    for survey in surveys:
        assert site.post(survey, participant=participant).status_code == 201
    headers = {"Masquerade-Participant": participant}
    found = site.visitor.get("/api/v1/ledger", headers=headers).json()
    one = surveys[0].definition.guarantee().epsilon_user
    assert found["unit"] == "worker"
    assert found["total_epsilon"] == (one + one).to_json()
    assert [entry["survey"] for entry in found["entries"]] == [s.token for s in surveys]
    assert participant not in json.dumps(found)
    stranger = {"Masquerade-Participant": secrets.token_hex(16)}
    empty = site.visitor.get("/api/v1/ledger", headers=stranger).json()
    assert (empty["total_epsilon"], empty["entries"]) == (0, [])
    for wrong in ({}, {"Masquerade-Participant": "xyzzy"}):
        answer = site.visitor.get("/api/v1/ledger", headers=wrong)
        problem_of(answer, 422, "validation-error")
        assert "xyzzy" not in answer.text


OTHER_FORMS: list[Any] = [
    {"answers": "SECRET"},
    {"answer": ["SECRET"]},
    {"reports": ["SECRET", 0]},
    {"reports": "SECRET"},
    {"reports": [[31337], 0]},
    {"reports": [31337.0, 0]},
    {"reports": [1.0, 0]},
    {"reports": ["1", "0"]},
    {"reports": [True, False]},
    {"reports": [None, 0]},
    {"reports": [-31337, 0]},
    {"reports": [2**20 + 31337, 0]},
    {"reports": [10**400, 0]},
    {"reports": [0] * 201},
    {"reports": {"0": 31337}},
    {"reports": None},
    {"participant": "SECRET"},
    {"participant": "A" * 32},
    {"participant": "a" * 31},
    {"participant": "a" * 33},
    {"participant": "a" * 32 + "\n"},
    {"participant": 31337},
    {"participant": None},
    {"response_id": "SECRET"},
    {"response_id": "g" * 32},
    {"response_id": ["a" * 32]},
    {"survey_hash": "SECRET"},
    {"survey_hash": "a" * 63},
]


def test_a_submission_of_another_form_is_refused(site: Site, kit: Kit) -> None:
    """Unknown fields, other types and other ids are refused, and their values are not repeated."""
    survey = site.store.open_survey(kit.define())
    for changes in OTHER_FORMS:
        answer = site.post(survey, **changes)
        found = problem_of(answer, 422, "validation-error")
        assert all(set(error) == {"pointer", "detail"} for error in found["errors"]), changes
        assert found["errors"][0]["pointer"].startswith(f"body/{next(iter(changes))}")
        assert "SECRET" not in answer.text
        assert "31337" not in answer.text
    assert site.store.survey(survey.token).responses == 0


def test_a_submission_without_a_field_is_refused(site: Site, kit: Kit) -> None:
    """No field of a submission may be missing."""
    survey = site.store.open_survey(kit.define())
    url = f"/api/v1/surveys/{survey.token}/responses"
    for field in ("participant", "response_id", "survey_hash", "reports"):
        sent = {name: value for name, value in kit.body(survey).items() if name != field}
        found = problem_of(site.visitor.post(url, json=sent), 422, "validation-error")
        assert [error["pointer"] for error in found["errors"]] == [f"body/{field}"]


def test_what_the_store_refuses_is_a_problem(site: Site, kit: Kit) -> None:
    """Each refusal of the store has its own status and problem type, and says what is wrong."""
    survey, other = (site.store.open_survey(kit.define(title=t)) for t in ("One", "Other"))
    closed = site.store.close_survey(site.store.open_survey(kit.define()).token)
    sent = kit.body(survey)
    url = f"/api/v1/surveys/{survey.token}/responses"
    assert site.visitor.post(url, json=sent).status_code == 201
    changed = site.visitor.post(url, json={**sent, "reports": [1, 1]})
    problem_of(changed, 409, "already-participated")
    again = site.visitor.post(url, json={**sent, "response_id": secrets.token_hex(16)})
    problem_of(again, 409, "already-participated")
    problem_of(site.post(closed), 409, "wrong-state")
    problem_of(site.post(survey, survey_hash=other.hash), 422, "invalid-report")
    problem_of(site.post(survey, reports=[0]), 422, "invalid-report")
    problem_of(site.post(survey, reports=[0, 5]), 422, "invalid-report")
    for token in ("0" * 16, "%00", "%ff", "..", "ü"):
        answer = site.visitor.post(f"/api/v1/surveys/{token}/responses", json=kit.body(survey))
        problem_of(answer, 404, "not-found")
    assert site.store.survey(survey.token).responses == 1


NO_SUBMISSIONS: list[Any] = [
    (b"", 422),
    (b"{", 422),
    (b"null", 422),
    (b"[]", 422),
    (b"SECRET", 422),
    (b'{"participant": "SECRET"', 422),
    (b"\xff\xfe", 422),
    (b'{"\\ud800": "SECRET"}', 422),
    (b'{"reports": [NaN, Infinity]}', 422),
    (b"[" * 100_000, 400),
    (b'{"reports": [' + b"9" * 10_000 + b"]}", 400),
]


def test_a_body_that_is_no_submission_is_refused(site: Site, kit: Kit) -> None:
    """Bytes that are no JSON object of the right form give problem details and are not repeated."""
    survey = site.store.open_survey(kit.define())
    for content, status in NO_SUBMISSIONS:
        answer = site.visitor.post(
            f"/api/v1/surveys/{survey.token}/responses",
            content=content,
            headers={"Content-Type": "application/json"},
        )
        problem_of(answer, status, "validation-error" if status == 422 else "refused")
        assert "SECRET" not in answer.text


@pytest.mark.parametrize("announced", [True, False])
def test_a_large_body_is_refused(site: Site, kit: Kit, announced: bool) -> None:
    """Bodies above 256 KiB are refused whether or not they announce their length."""
    survey = site.store.open_survey(kit.define())
    url = f"/api/v1/surveys/{survey.token}/responses"
    sent = json.dumps(kit.body(survey)).encode()
    most = sent + b" " * (LARGEST_BODY - len(sent))

    def parts(content: bytes) -> Iterator[bytes]:
        for start in range(0, len(content), 50_000):
            yield content[start : start + 50_000]

    headers = {"Content-Type": "application/json"}
    for content, status in ((most, 201), (most + b" ", 413)):
        given = content if announced else parts(content)
        answer = site.visitor.post(url, content=given, headers=headers)
        assert answer.status_code == status
    problem_of(answer, 413, "body-too-large")
    assert site.store.survey(survey.token).responses == 1


def test_methods_that_are_not_there(site: Site, kit: Kit) -> None:
    """A wrong method gives 405 and names the right one."""
    survey = site.store.open_survey(kit.define())
    answer = site.visitor.get(f"/api/v1/surveys/{survey.token}/responses")
    problem_of(answer, 405, "refused")
    assert answer.headers["allow"] == "POST"


def test_not_found_in_two_forms(site: Site) -> None:
    """What is not there is a problem for programs and a page for browsers."""
    for path in ("/nothing", "/s/0000000000000000", "/s/%00", "/static/nothing.js"):
        problem_of(site.visitor.get(path), 404, "not-found")
        page = site.visitor.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert page.headers["content-type"].startswith("text/html")
        assert "That did not work" in page.text


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
        visitor.get("/static/nothing.js"),
        visitor.get("/api/v1/openapi.json"),
        visitor.get("/api/v1/ledger"),
        visitor.delete("/api/v1/ledger"),
        visitor.get("/owner", params={"token": "wrong"}),
        visitor.post("/healthz", content=b" " * (LARGEST_BODY + 1)),
        site.post(survey),
        site.post(survey, reports=["x"]),
        site.post(closed),
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

    monkeypatch.setattr(site.store, "submit", fail)
    with caplog.at_level(logging.DEBUG):
        answer = site.post(survey)
    problem_of(answer, 500, "server-error")
    assert "content-security-policy" in answer.headers
    ours = "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("http"))
    assert "reports are [3" not in answer.text
    assert "reports are [3" not in ours
    assert "RuntimeError" in ours
    assert "in submit" in ours


def test_the_participant_page_tells_no_right_answer_and_no_count(site: Site, kit: Kit) -> None:
    """The page of a labelling survey has neither the known labels nor how many answered."""
    questions = [
        Choice("a", "First", ("Cat", "Dog"), truth="Dog"),
        Choice("b", "Second", ("Cat", "Dog"), truth="Cat"),
    ]
    survey = site.store.open_survey(kit.define(*questions, template="label"))
    before = site.visitor.get(f"/s/{survey.token}").text
    assert "truth" not in before
    for _ in range(3):
        assert site.post(survey).status_code == 201
    after = site.visitor.get(f"/s/{survey.token}").text
    assert after == before
    shown = island(after, "survey")
    assert shown["hash"] == survey.hash
    assert "responses" not in {*shown, *(key for q in shown["questions"] for key in q)}
    swapped = [
        Choice(q.id, q.text, q.options, truth=q.options[q.truth == "Cat"]) for q in questions
    ]
    assert kit.define(*swapped, template="label").content_hash() == survey.hash


def test_the_participant_page_is_for_everybody(site: Site, kit: Kit) -> None:
    """The page needs no session, sets no cookie, and is the same for the owner."""
    survey = site.store.open_survey(kit.define())
    page = site.visitor.get(f"/s/{survey.token}", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    assert site.owner.get(f"/s/{survey.token}").text == page.text
    shown = island(page.text, "survey")
    assert shown["submit_url"] == f"/api/v1/surveys/{survey.token}/responses"
    guarantee = survey.definition.guarantee()
    assert shown["guarantee"]["epsilon_user"] == guarantee.epsilon_user.to_json()
    for question, mechanism in zip(shown["questions"], survey.definition.mechanisms, strict=True):
        assert question["device"] == mechanism.device_form()
        assert question["mechanism"] == str(mechanism)


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
    assert site.post(survey).status_code == 201
    assert site.owner.get(f"/surveys/{token}/count").json() == {"responses": 1}


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
    ({"masking": "clear"}, "masking is 'clear'"),
    ({"template": "nothing"}, "template is 'nothing'"),
    ({"allow_skip": "true", "masking": "per-person"}, "can be skipped"),
]


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
        assert site.post(survey).status_code == 201
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
    assert island(pages[3], "survey")["title"] == f"T{POISON}"
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
        assert site.post(survey, reports=[report, report % 2]).status_code == 201
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
    assert len(table.text.split("\r\n")) == 1 + 5 + 2 + 1


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


def test_the_interface_describes_itself(site: Site) -> None:
    """The OpenAPI document is valid in form and lists the two routes for devices, no others."""
    document = site.visitor.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert {(path, *item) for path, item in document["paths"].items()} == {
        ("/api/v1/surveys/{token}/responses", "post"),
        ("/api/v1/ledger", "get"),
    }
    submission = document["components"]["schemas"]["Submission"]
    assert submission["additionalProperties"] is False
    assert set(submission["required"]) == set(submission["properties"])

    def references(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            yield from ([part["$ref"]] if "$ref" in part else [])
            for inner in part.values():
                yield from references(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from references(inner)

    for reference in references(document):
        target = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]


def test_nothing_about_participants_is_logged(
    site: Site, kit: Kit, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """No log line and no output of the server holds anything of what devices send."""
    with caplog.at_level(logging.DEBUG):
        survey = site.store.open_survey(kit.define())
        sent = kit.body(survey, reports=[1, 4])
        url = f"/api/v1/surveys/{survey.token}/responses"
        assert site.visitor.post(url, json=sent).status_code == 201
        assert site.visitor.post(url, json=sent).status_code == 200
        assert site.visitor.post(url, json={**sent, "reports": [0, 4]}).status_code == 409
        assert site.visitor.post(url, json={**sent, "reports": ["x"]}).status_code == 422
        headers = {"Masquerade-Participant": sent["participant"]}
        assert site.visitor.get("/api/v1/ledger", headers=headers).status_code == 200
        site.visitor.get(f"/s/{survey.token}")
        site.owner.post(f"/surveys/{survey.token}/close")
    [response] = site.store.responses(survey.token)
    person = site.store.persons()[0]
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    output = capfd.readouterr()
    for text in (*ours, output.out, output.err):
        for private in (sent["participant"], sent["response_id"], response.pseudonym, person):
            assert private not in text
        assert "[1, 4]" not in text


def test_health(site: Site) -> None:
    """The health check answers without a session and tells nothing of the data."""
    found = site.visitor.get("/healthz").json()
    assert set(found) == {"status", "version"}
    assert found["status"] == "ok"
