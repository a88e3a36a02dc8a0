"""The traffic of a device, watched in a real browser: every kind of question at every level."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from masquerade.server.http.app_files import app_build
from masquerade.surveys import Choice, Number, Rating, ShowIf
from masquerade.surveys.question import KEEP_PER_PERSON
from masquerade.surveys.survey import commitment_of

from .conftest import (
    ANSWERS,
    NUMBER_ANSWER,
    QUESTIONS,
    SENTINELS,
    NewVisitor,
    Person,
    Visitor,
    open_survey,
    text_of,
)

pytestmark = pytest.mark.browser

HEX = {n: re.compile(f"[0-9a-f]{{{n}}}") for n in (32, 64)}
BODIES = {
    "participations": {"survey", "level", "padding"},
    "seal": {"commitment", "padding"},
    "response": {"reports", "salt", "level", "survey_hash", "padding"},
}
OURS = {"masquerade-participant", "idempotency-key"}
THE_BROWSERS = {
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "host",
    "origin",
    "pragma",
    "priority",
    "user-agent",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
}
ALL_LEVELS = ("high", "medium", "low")


def sent_by(visitor: Visitor) -> dict[str, Any]:
    """Return the parsed body of each request that changes something, by the end of its path."""
    bodies = {}
    for request in visitor.requests:
        if request.method != "GET":
            bodies[request.url.rpartition("/")[2]] = json.loads(request.post_data or "{}")
    return bodies


def everything_of(visitor: Visitor) -> list[str]:
    """Return all that each request of a device carried, as text."""
    return [
        " ".join(
            [request.url, request.post_data or "", *map(" ".join, request.all_headers().items())]
        )
        for request in visitor.requests
    ]


def take_part(server: Any, visitor: Visitor, level: str, **changes: Any) -> tuple[Any, Person]:
    """Answer a survey about beasts from beginning to end."""
    survey = open_survey(server, **changes)
    visitor.page.goto(f"{server.url}/s/{survey.token}")
    person = Person(visitor.page, level=level)
    person.finish()
    return survey, person


@pytest.mark.parametrize(
    ("level", "reveal"),
    [
        pytest.param(level, reveal, marks=[] if (number + order) % 2 else [pytest.mark.exhaustive])
        for number, level in enumerate(ALL_LEVELS)
        for order, reveal in enumerate(("after_send", "before_send"))
    ],
)
def test_no_true_answer_leaves_the_device(
    generous: Any, new_visitor: NewVisitor, level: str, reveal: str
) -> None:
    """Every request is one we know, to this server, and holds masked reports and nothing else.

    All eight reports equal the answers with probability below 1e-6: that of the number does with at
    most sqrt(1 / 2 pi) / 750,000.
    """
    visitor = new_visitor()
    # A surveyor who is signed in on this device answers like everybody else.
    visitor.context.add_cookies([{"name": "owner", "value": "planted", "url": generous.url}])
    survey, person = take_part(generous, visitor, level, reveal=reveal)

    bodies = sent_by(visitor)
    assert set(bodies) == {*BODIES, "open"}
    for name, keys in BODIES.items():
        assert set(bodies[name]) == keys
        assert not bodies[name]["padding"].strip(" ")
    assert bodies["open"] == {}
    response, [accepted] = bodies["response"], generous.services.reports.of_survey(survey.token)
    assert list(accepted.reports) == response["reports"]
    assert response["reports"] != list(ANSWERS)
    assert response["survey_hash"] == survey.hash
    assert response["level"] == bodies["participations"]["level"] == level
    assert HEX[32].fullmatch(response["salt"])

    seal = next(r for r in visitor.requests if r.url.endswith("/seal"))
    participation = seal.url.split("/")[-2]
    assert HEX[32].fullmatch(participation)
    expected = commitment_of(participation, response["reports"], response["salt"])
    assert bodies["seal"]["commitment"] == expected

    for text in everything_of(visitor):
        assert not any(sentinel in text for sentinel in SENTINELS)
        assert not re.search(rf"(?<![0-9a-f]){NUMBER_ANSWER}(?![0-9a-f])", text)
    for request in visitor.requests:
        assert request.url.startswith(generous.url + "/"), "a third party was asked"
        assert "?" not in request.url
        headers = request.all_headers()
        if "/api/" in request.url:
            assert set(headers) <= OURS | THE_BROWSERS  # no cookie, no referrer, nothing of ours
            made = (headers[name].removeprefix("w") for name in OURS & set(headers))
            assert all(map(HEX[32].fullmatch, made))
    secrets = {r.all_headers().get("masquerade-participant") for r in visitor.requests} - {None}
    assert len(secrets) == 1
    assert visitor.complaints == []

    for mine, sent in person.shown:
        assert list(mine) == [text_of(q, a) for q, a in zip(QUESTIONS, ANSWERS, strict=True)]
        assert list(sent) == [
            text_of(q, r) for q, r in zip(QUESTIONS, response["reports"], strict=True)
        ]


def test_noisy_ratings_and_one_private_coin_are_masked_too(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Ratings with Gaussian noise, numbers in tenths and two-layer masks go all the way."""
    rating, number = (
        Rating("r", "How wild?", low=-2, high=2),
        Number("n", "How big?", -1, 1, "m", 0.1),
    )
    visitor = new_visitor()
    survey = open_survey(
        generous, questions=(rating, number), rating_mask="gaussian", levels=("low",)
    )
    visitor.page.goto(f"{generous.url}/s/{survey.token}")
    person = Person(visitor.page, answers=(4, "-0.3"))
    person.finish()
    [(mine, sent)] = person.shown
    assert mine == ("2", "−0.3 m")
    [response] = generous.services.reports.of_survey(survey.token)
    values = [float(text.removesuffix(" m").replace("−", "-")) for text in sent]
    assert values == pytest.approx([-2 + response.reports[0], -1 + response.reports[1] / 10])

    choices = tuple(Choice(f"q{i}", f"Beast {i}?", SENTINELS[:2]) for i in range(5))
    joint = open_survey(generous, questions=choices, masking=KEEP_PER_PERSON, levels=("low",))
    visitor.page.goto(f"{generous.url}/s/{joint.token}")
    Person(visitor.page, answers=[0] * 5).finish()
    assert len(generous.services.reports.of_survey(joint.token)) == 1


def test_bodies_are_as_long_at_every_level(generous: Any, new_visitor: NewVisitor) -> None:
    """Neither requests nor answers of the protocol tell a level by their length."""
    lengths: dict[str, set[tuple[int, int]]] = {}
    for level in ALL_LEVELS:
        visitor = new_visitor()
        take_part(generous, visitor, level)
        for request in visitor.requests:
            name = request.url.rpartition("/")[2]
            if request.method == "GET" or name not in {*BODIES, "open"}:
                continue
            answer = request.response()
            assert answer is not None
            size = (len(request.post_data or ""), len(answer.body()))
            lengths.setdefault(name, set()).add(size)
            assert size[1] % 1024 == size[0] % 1024 == 0
    assert set(lengths) == {*BODIES, "open"}
    assert all(len(sizes) == 1 for sizes in lengths.values()), lengths


def test_whether_a_question_was_asked_does_not_show(generous: Any, new_visitor: NewVisitor) -> None:
    """People with and without a follow-up send the same requests, bodies as long, in full."""
    lead = Choice("lead", "Seen one?", SENTINELS[:2])
    survey = open_survey(
        generous,
        questions=(lead, Choice("more", "Which?", SENTINELS[:3], allow_skip=True)),
        conditions=(None, ShowIf("lead", SENTINELS[:1])),
    )
    seen = []
    for answers in ([0, 2], [1]):
        visitor = new_visitor()
        visitor.page.goto(f"{generous.url}/s/{survey.token}")
        Person(visitor.page, answers=answers).finish()
        changing = [r for r in visitor.requests if r.method != "GET"]
        seen.append([(r.url.rpartition("/")[2], len(r.post_data or "")) for r in changing])
        assert len(sent_by(visitor)["response"]["reports"]) == 2
        for text in everything_of(visitor):
            assert not any(sentinel in text for sentinel in SENTINELS)
    assert seen[0] == seen[1]
    assert [name for name, _ in seen[0]] == ["participations", "open", "seal", "response"]


def test_nothing_is_sent_before_the_person_says_so(generous: Any, new_visitor: NewVisitor) -> None:
    """Between the questions and Send there is one request: the commitment, which tells nothing."""
    visitor = new_visitor()
    survey = open_survey(generous)
    visitor.page.goto(f"{generous.url}/s/{survey.token}", wait_until="networkidle")
    person = Person(visitor.page)
    person.finish("question")
    visitor.page.wait_for_timeout(300)
    opened = len(visitor.requests)
    person.finish("seal")
    assert len(visitor.requests) == opened
    person.finish("reveal")
    assert [r.url.rpartition("/")[2] for r in visitor.requests[opened:]] == ["seal"]
    assert generous.services.reports.of_survey(survey.token) == []


def test_answers_in_clear_need_consent_and_are_sent_as_they_are(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """Level "none" is never chosen beforehand, asks for consent, and is counted apart."""
    visitor = new_visitor()
    page = visitor.page
    survey = open_survey(generous, levels=("none", "high"))
    page.goto(f"{generous.url}/s/{survey.token}")
    assert page.locator('input[name="level"]:checked').get_attribute("value") == "high"
    page.locator('input[name="level"][value="none"]').check()
    assert not page.locator("#accept-clear").is_checked()
    expect(page.locator(".leaves")).to_contain_text("as you give them")
    expect(page.locator(".stays")).not_to_contain_text("true answers")
    page.locator("#start").click()
    expect(page.locator("#announcement")).to_contain_text("confirm")
    assert Person(page).view() == "intro"
    person = Person(page, level="none")
    for view in ("seal", "reveal", "done"):
        person.finish(view)
        assert "without a mask" in page.locator("main").inner_text().lower()
        assert "masked" not in page.locator("main").inner_text()
    [response] = generous.services.reports.of_survey(survey.token)
    assert list(response.reports) == list(ANSWERS)
    page.goto(f"{generous.url}/me/ledger")
    expect(page.locator("main .warning", has_text="without a mask")).to_contain_text(
        f"({len(QUESTIONS)})"
    )
    expect(page.locator(".timeline .clear .warning")).to_have_text(
        f"{len(QUESTIONS)} answers in clear"
    )


def test_the_device_forgets_the_answers_once_sent(generous: Any, new_visitor: NewVisitor) -> None:
    """After the acknowledgement no storage of the browser holds an answer, a report or a salt."""
    visitor = new_visitor()
    take_part(generous, visitor, "high")
    stored = visitor.page.evaluate(
        """async () => {
          const {openDatabase} = await import(
            document.querySelector('link[href$="/database.js"]').href);
          const database = await openDatabase();
          return JSON.stringify([
            await database.readAll("participations"), await database.readAll("device"),
            await database.readAll("charges"), {...localStorage}, {...sessionStorage}]);
        }"""
    )
    assert "Beasts" in stored
    kept_words = ('"answers":', '"reports":', '"salt":', str(NUMBER_ANSWER))
    assert not any(word in stored for word in kept_words)
    assert not any(sentinel in stored for sentinel in SENTINELS)
    cached = visitor.page.evaluate(
        "async () => Promise.all((await caches.keys()).map(async (name) =>"
        " (await (await caches.open(name)).keys()).map(({url}) => new URL(url).pathname)))"
    )
    assert all(not path.startswith(("/api", "/s/")) for paths in cached for path in paths)


def test_a_mask_weaker_than_promised_is_not_used(generous: Any, new_visitor: NewVisitor) -> None:
    """Where the server shows weaker masks than the level it promised, nothing is answered."""
    visitor = new_visitor()
    survey = open_survey(generous)
    weaker = generous.services.surveys.open_survey(survey.survey)

    def cheat(route: Any) -> None:
        answer = route.fetch()
        content = answer.json()
        for device in content["masks"].values():
            if device["name"] == "randomized-response":
                less = str(int(device["first"]) // 2)
                device.update(first=less, last=less)
        route.fulfill(response=answer, json=content)

    visitor.page.route("**/open", cheat)
    visitor.page.goto(f"{generous.url}/s/{weaker.token}")
    person = Person(visitor.page)
    person.step()
    assert person.view() == "cannot"
    assert "promised" in visitor.page.locator("main").inner_text()


def test_the_browser_runs_no_module_but_the_published_one(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """A module that was changed on its way is not run, as the page names the hash of each."""
    for name in ("mechanisms/mask.js", "app/main.js"):
        visitor = new_visitor(service_workers="block")

        def tamper(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, body=answer.text() + "\n// changed")

        visitor.page.route(f"**/{name}", tamper)
        visitor.page.goto(f"{generous.url}/me", wait_until="networkidle")
        assert visitor.page.locator("main").get_attribute("data-view") == "loading"
        assert any("integrity" in text for text in visitor.complaints), visitor.complaints


def test_the_build_shown_is_the_hash_of_the_files_served(
    generous: Any, new_visitor: NewVisitor
) -> None:
    """The downloaded files of the app have the number in the settings: sha256sum, twice."""
    visitor = new_visitor(service_workers="block")
    visitor.page.goto(f"{generous.url}/me/settings")
    shown = visitor.page.locator("#build").inner_text()
    names = visitor.page.evaluate(
        "async () => (await (await fetch('/sw.js')).text())"
        '.match(/(?<="\\/app\\/[0-9a-f]+\\/)[^"]+\\.(js|css|svg|png)(?=")/g)'
    )
    lines = []
    for name in sorted({*names, "app/service_worker.js"}):
        answer = visitor.context.request.get(f"{generous.url}/app/{shown}/{name}")
        assert answer.ok
        lines.append(f"{hashlib.sha256(answer.body()).hexdigest()}  {name}\n")
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == shown


@pytest.mark.parametrize("changed", [None, "aggregate/prio3.js", "aggregate/task.js"])
def test_the_browser_splits_by_no_module_but_the_published_one(
    generous: Any, new_visitor: NewVisitor, changed: str | None
) -> None:
    """The modules of a survey between two parties are loaded on demand, each file by its hash."""
    visitor = new_visitor(service_workers="block")

    def tamper(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text() + "\n// changed")

    if changed is not None:
        visitor.page.route(f"**/{changed}", tamper)
    visitor.page.goto(f"{generous.url}/me", wait_until="networkidle")
    assert not any("/aggregate/" in request.url for request in visitor.requests)
    loaded = visitor.page.evaluate(
        "async () => {"
        " const fragment = document.getElementById('two-parties').content.cloneNode(true);"
        " const links = [...fragment.children];"
        " document.head.append(fragment);"
        " try { return (await Promise.all(links.map(({ href }) => import(href)))).length; }"
        " catch { return 'refused'; } }"
    )
    modules = len(app_build().on_demand["two-parties"])
    assert loaded == (modules if changed is None else "refused")
